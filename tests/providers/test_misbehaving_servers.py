"""Servers that send bytes for ever, too many of them, or something else than an answer."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import threading
import tracemalloc
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from toolkit import RetryPolicy
from toolkit.providers import ProviderFailure

from .making import NAMES, ask, build_provider, hello
from .protocols import PROTOCOLS, Turn
from .stub import KEY, Answer, serving

pytestmark = pytest.mark.anyio

ONCE = RetryPolicy(attempts=1)
STREAM_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"


@contextlib.asynccontextmanager
async def sending(head: bytes, repeated: bytes):
    """Serve on loopback: send *head* once, then *repeated* until the client has gone. Yield the address."""

    tasks = set()

    def accept(reader, writer):
        tasks.add(asyncio.create_task(serve(reader, writer)))

    async def serve(reader, writer):
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(head)
            while not writer.transport.is_closing():
                writer.write(repeated)
                await writer.drain()
                await asyncio.sleep(0)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.transport.abort()

    async with await asyncio.start_server(accept, "127.0.0.1", 0) as server:
        yield "http://127.0.0.1:{}".format(server.sockets[0].getsockname()[1])
        # A connection that the client gave up at once may still be on its way to `accept`.
        for _ in range(20):
            await asyncio.sleep(0)
    # The client has closed its side by now, so each of them comes to its end.
    await asyncio.gather(*tasks)
    await asyncio.sleep(0)  # a transport closes its socket a turn after it was told to


FOR_EVER = {
    "comments": (STREAM_HEAD, b": still here\n\n"),
    "pings": (STREAM_HEAD, b'event: ping\ndata: {"type": "ping"}\n\n'),
    "keep-alives": (STREAM_HEAD, b'data: {"type": "keepalive"}\n\n'),
    "unknown events": (STREAM_HEAD, b'event: odd\ndata: {"type": "odd", "of": "no known kind"}\n\n'),
    "empty lines": (STREAM_HEAD, b"\r\n"),
    "one line without end": (STREAM_HEAD, b"x"),
    "data without end": (STREAM_HEAD + b"data: ", b"x" * 1000),
    "headers without end": (b"HTTP/1.1 200 OK\r\n", b"X-More: and more\r\n"),
    "one header without end": (b"HTTP/1.1 200 OK\r\nX-More: ", b"x"),
    "a status line without end": (b"HTTP/1.1 200 ", b"x"),
    "chunks of one byte": (STREAM_HEAD[:-2] + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n:\r\n"),
    "100 Continue": (b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "blanks": (b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n\r\n", b"\n"),
    "an error without end": (b"HTTP/1.1 400 Bad Request\r\n\r\n", b"\n"),
}


@pytest.mark.one_case_in(5)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("behaviour", FOR_EVER)
async def test_a_server_that_never_answers_is_given_up(name, is_streamed, behaviour):
    """Bytes that carry no answer do not hold a request open."""
    async with sending(*FOR_EVER[behaviour]) as url:
        provider = build_provider(name, api_key=KEY, base_url=url, timeout_seconds=0.05, retry=ONCE)
        async with asyncio.timeout(20), provider:
            with pytest.raises(ProviderFailure) as failed:
                await ask(provider, hello(), stream=is_streamed)
    assert failed.value.why in ("unavailable", "answer", "request")


@pytest.mark.parametrize("option", ["timeout_seconds", "total_seconds"])
@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan")])
def test_an_invalid_limit_is_refused_with_its_name(option, seconds):
    with pytest.raises(ValueError, match=option):
        build_provider("openai", api_key=KEY, **{option: seconds})


def bomb(encoding: str) -> bytes:
    """Return 80 MB of blanks, compressed to 80 kB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, zlib.MAX_WBITS | 16 if encoding == "gzip" else zlib.MAX_WBITS)
    return b"".join(packer.compress(b" " * 1_000_000) for _ in range(80)) + packer.flush()


@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("is_streamed", "content_type", "encoding"),
    [
        (True, "application/json", "gzip"),
        (True, "text/event-stream", "deflate"),
        (False, "application/json", "deflate"),
        (False, "text/event-stream", "gzip"),
    ],
)
@pytest.mark.long
async def test_a_compressed_bomb_takes_little_memory(is_streamed, content_type, encoding):
    """The size is counted during the decompression."""
    answer = Answer(200, bomb(encoding), {"Content-Encoding": encoding, "Content-Type": content_type})
    async with serving(answer) as stub, build_provider("openai", stub, retry=ONCE) as provider:
        tracemalloc.start()
        try:
            with pytest.raises(ProviderFailure, match="more than|too long") as failed:
                await ask(provider, hello(), stream=is_streamed)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert failed.value.why == "answer"
    assert peak < 30_000_000


async def test_a_compressed_answer_is_read():
    """A server may compress although it was asked not to."""
    body = json.dumps(PROTOCOLS["openai"].whole(Turn(text="Hi"), "gpt-test")).encode()
    answer = Answer(200, zlib.compress(body), {"Content-Encoding": "deflate", "Content-Type": "application/json"})
    async with serving(answer) as stub, build_provider("openai", stub) as provider:
        assert (await provider.reply(hello())).message.text == "Hi"


async def test_a_compression_that_is_not_known_is_named():
    """The message says with what the server answers."""
    async with (
        serving(Answer(200, b"?", {"Content-Encoding": "br"})) as stub,
        build_provider("openai", stub) as provider,
    ):
        with pytest.raises(ProviderFailure, match="'br'") as failed:
            await provider.reply(hello())
    assert failed.value.why == "answer"


@pytest.mark.one_case_in(5)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("is_streamed", [True, False], ids=["streamed", "whole"])
@pytest.mark.parametrize("content_type", ["text/html; charset=utf-8", "text/plain", "text/event-stream"])
async def test_a_page_in_place_of_an_answer_is_shown_and_not_tried_again(name, is_streamed, content_type):
    """A login page answers every request alike, so the message says what it looks like."""
    page = Answer(200, b"\n<!doctype html>\n<title>Log in to the wifi</title>", {"Content-Type": content_type})
    async with serving(page) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderFailure, match=r"page for people.*Log in to the wifi.*base_url") as failed:
            await ask(provider, hello(), stream=is_streamed)
    assert failed.value.why == "answer"
    assert len(stub.heard) == 1


async def test_a_page_that_shows_the_key_is_masked():
    """A proxy may repeat the request in its page."""
    page = Answer(200, f"<p>you sent {KEY}</p>".encode(), {"Content-Type": "text/html"})
    async with serving(page) as stub, build_provider("openai", stub) as provider:
        with pytest.raises(ProviderFailure) as failed:
            await provider.reply(hello())
    assert KEY not in str(failed.value)


@pytest.mark.one_case_in(5)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("data", ["[1]", "5", "null", '"text"', "not JSON at all"])
async def test_an_event_that_is_not_an_object_is_not_tried_again(name, data):
    """An event that came whole and is no object would be none again."""
    events = Answer(200, f"data: {data}\n\ndata: {{}}\n\n".encode(), {"Content-Type": "text/event-stream"})
    async with serving(events) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderFailure) as failed:
            await ask(provider, hello(), stream=True)
    assert failed.value.why == "answer"
    assert len(stub.heard) == 1


@pytest.fixture
def threaded_server():
    """A server in a thread of its own, for tests that have several loops; it keeps connections open."""
    body = json.dumps(PROTOCOLS["openai"].whole(Turn(text="Hi"), "gpt-test")).encode()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    thread.join()
    server.server_close()


def client_sockets(url: str) -> int:
    """Return how many sockets of this process are connected to *url*."""
    port = f"{int(url.rpartition(':')[2]):04X}"
    with open("/proc/net/tcp") as table:
        rows = [line.split() for line in table.readlines()[1:]]
    inodes = {row[9] for row in rows if row[2].endswith(f":{port}")}
    names = []
    for number in os.listdir("/proc/self/fd"):
        with contextlib.suppress(OSError):
            names.append(os.readlink(f"/proc/self/fd/{number}"))
    return sum(name == f"socket:[{inode}]" for name in names for inode in inodes)


@pytest.mark.skipif(not os.path.exists("/proc/net/tcp"), reason="this system does not list its sockets in /proc")
@pytest.mark.long
def test_connections_are_closed_with_their_loop(threaded_server):
    """One provider used from thirty loops keeps no socket of a loop that has ended."""
    provider = build_provider("openai", api_key=KEY, base_url=threaded_server)

    async def request():
        assert (await provider.reply(hello())).message.text == "Hi"
        return client_sockets(threaded_server)

    gc.collect()
    gc.disable()  # or the collector would close them by chance
    try:
        counts = [(asyncio.run(request()), client_sockets(threaded_server)) for _ in range(30)]
    finally:
        gc.enable()
    assert counts == [(1, 0)] * 30
    assert provider._exchange._clients._clients == {}


@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_client_of_a_loop_that_ended_without_notice_is_dropped(threaded_server):
    """A loop that is only closed sends no notice, so the next request drops its client."""
    provider = build_provider("openai", api_key=KEY, base_url=threaded_server)
    for _ in range(5):
        loop = asyncio.new_event_loop()
        loop.run_until_complete(provider.reply(hello()))
        loop.close()
    assert list(provider._exchange._clients._clients) == [loop]
    asyncio.run(provider.reply(hello()))
    assert provider._exchange._clients._clients == {}
    del loop
    gc.collect()


def test_two_loops_at_once_have_a_client_each(threaded_server):
    """A request in one loop does not close the connections of another."""
    provider = build_provider("openai", api_key=KEY, base_url=threaded_server)
    both = threading.Barrier(2)
    texts = []

    async def request():
        texts.extend([(await provider.reply(hello())).message.text for _ in range(20)])
        await asyncio.to_thread(both.wait)

    threads = [threading.Thread(target=asyncio.run, args=(request(),)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts == ["Hi"] * 40
