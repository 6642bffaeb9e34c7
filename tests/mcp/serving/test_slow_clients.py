"""A client that never finishes its request loses its connection, and no other client waits for it."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
import uvicorn

from toolkit import Catalog, Dispatcher
from toolkit.mcp import Auth, http_app
from toolkit.web_server.running import ImpatientProtocol

pytestmark = pytest.mark.anyio

HEAD = b"POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
TOKEN = "a-token-that-is-long-enough"


class HastyProtocol(ImpatientProtocol):
    head_seconds = 0.1


@pytest.fixture
async def port():
    """The port of a server with short limits, whose clients need a token."""
    app = http_app(Dispatcher(Catalog()), auth=Auth.token(TOKEN), body_seconds=0.1)
    config = uvicorn.Config(app, port=0, http=HastyProtocol, log_level="critical", timeout_keep_alive=1)
    server = uvicorn.Server(config)
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 -- the server sets no event
        await asyncio.sleep(0.001)
    yield server.servers[0].sockets[0].getsockname()[1]
    server.should_exit = True
    await task


async def read_to_end(port, start, drip):
    """Send *start* and then *drip* again and again; return what the server answers until it closes the connection."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)

    async def send_without_end():
        writer.write(start)
        while drip:
            await writer.drain()
            await asyncio.sleep(0.01)
            writer.write(drip)

    sender = asyncio.create_task(send_without_end())
    try:
        async with asyncio.timeout(10):
            with contextlib.suppress(ConnectionError):
                return await reader.read()
    finally:
        sender.cancel()
        with contextlib.suppress(asyncio.CancelledError, ConnectionError):
            await sender
        writer.close()
    return b""


AUTHORIZED = HEAD + f"Authorization: Bearer {TOKEN}\r\n".encode()


@pytest.mark.parametrize("drip", [b"", b"x"], ids=["silent", "dripping"])
@pytest.mark.parametrize(
    ("start", "answer"),
    [
        (b"", b""),
        (b"P", b""),
        (HEAD, b""),
        (HEAD + b"X-Long: ", b""),
        (AUTHORIZED + b"Content-Length: 100000\r\n\r\n", b"408"),
        (AUTHORIZED + b"Content-Length: 100000\r\n\r\n{", b"408"),
        (AUTHORIZED + b"Transfer-Encoding: chunked\r\n\r\n", b"4"),
        (HEAD + b"Content-Length: 100000\r\n\r\n", b"401"),
        (AUTHORIZED.replace(b"POST", b"DELETE") + b"Content-Length: 100000\r\n\r\n", b"408"),
    ],
    ids=["nothing", "letter", "head", "header", "body", "part-of-body", "chunks", "no-token", "delete"],
)
async def test_a_request_that_is_never_finished_loses_its_connection(port, start, answer, drip):
    """This holds for the head and for the body, whether the client is silent or sends a byte now and then."""
    text = await read_to_end(port, start, drip)
    # What a client sends to a closed connection resets it, and a reset may overtake the answer.
    assert text.partition(b" ")[2].startswith(answer) or (drip and not text)


async def test_a_request_in_time_is_answered_and_its_connection_goes_on(port):
    """The limits begin anew with each request."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for _ in range(3):
        writer.write(HEAD + b"Content-Length: 0\r\n\r\n")
        assert b"401" in await reader.readline()
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
        await reader.readexactly(length)
        await asyncio.sleep(0.06)
    writer.close()
