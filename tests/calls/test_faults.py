"""Real clients against a server that really fails: what is tried again, and what must not be."""

import asyncio
import gc
import http.client
import socket
import threading
import urllib.error
import urllib.parse
import urllib.request

import httpx
import pytest

from tests.clocks import Clock
from tests.servers import answer, cut, hang, reset, serving
from toolkit import Catalog
from toolkit.dispatcher import Dispatcher

# urllib leaves its sockets to the garbage collector when a server fails it.
pytestmark = [
    pytest.mark.first_cases(6),
    pytest.mark.anyio,
    pytest.mark.filterwarnings("ignore:.*socket.socket:pytest.PytestUnraisableExceptionWarning"),
]

LIMIT = 0.2  # what clients wait for a server that hangs; nothing else is waited for


POST = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\npay"


def patience(url: str) -> float:
    """Return a short limit where the server will hang, and a long one where only the machine can be slow."""
    return LIMIT if url.endswith("hang") else 30.0


def address(url: str) -> tuple[str, int]:
    parts = urllib.parse.urlsplit(url)
    return parts.hostname, parts.port


# The clients. Each posts to an address and gives back what was answered, or raises what it raises.


async def with_httpx(url: str) -> str:
    """Post with httpx, async."""
    async with httpx.AsyncClient(timeout=patience(url), trust_env=False) as client:
        response = await client.post(url, content=b"pay")
    return response.raise_for_status().text


def with_httpx_sync(url: str) -> str:
    """Post with httpx, sync."""
    with httpx.Client(timeout=patience(url), trust_env=False) as client:
        return client.post(url, content=b"pay").raise_for_status().text


def with_urllib(url: str) -> str:
    """Post with urllib."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(url, data=b"pay", timeout=patience(url)) as response:
            return response.read().decode()
    except urllib.error.HTTPError as error:
        # The error is the answer too. Left to the garbage collector, its file may be closed after what it stands on.
        error.close()
        raise


def with_http_client(url: str) -> str:
    """Post with http.client."""
    connection = http.client.HTTPConnection(*address(url), timeout=patience(url))
    try:
        connection.request("POST", "/", b"pay")
        return connection.getresponse().read().decode()
    finally:
        connection.close()


def with_socket(url: str) -> str:
    """Post with a socket."""
    with socket.create_connection(address(url), timeout=patience(url)) as connection:
        connection.sendall(POST)
        received = b""
        while piece := connection.recv(1000):
            received += piece
    return received.partition(b"\r\n\r\n")[2].decode()


async def with_streams(url: str) -> str:
    """Post with asyncio's streams."""
    reader, writer = await asyncio.open_connection(*address(url))
    try:
        writer.write(POST)
        async with asyncio.timeout(patience(url)):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            return (await reader.readexactly(length)).decode()
    finally:
        writer.close()


CLIENTS = {client.__name__: client for client in (with_httpx, with_httpx_sync, with_urllib)}
LOW = {client.__name__: client for client in (with_http_client, with_socket, with_streams)}
ALL = {**CLIENTS, **LOW}

FACTS = {"reads": {"read_only": True}, "writes": {}, "repeats": {"idempotent": True}, "destroys": {"destructive": True}}


@pytest.fixture
async def server():
    async with serving() as server:
        yield server
    gc.collect()  # what urllib left behind, while the warning about it is expected


@pytest.fixture
def clock():
    return Clock()


async def call_server(client, url, clock, *, facts="reads", **options):
    """Return the result of one call of a tool that uses *client*."""
    catalog = Catalog()
    catalog.tool(name="post", **FACTS[facts], **options)(client)
    async with Dispatcher(catalog, clock=clock, sleep=clock.sleep, chance=lambda: 1.0) as dispatcher:
        return await dispatcher.call("post", {"url": url})


def params(clients):
    return pytest.mark.parametrize("client", clients.values(), ids=clients.keys())


@params(ALL)
async def test_a_server_that_answers_gets_one_request(client, server, clock):
    """This shows that the clients work."""
    result = await call_server(client, server.url, clock)
    assert (result.kind, result.text, result.attempts) == ("ok", "fine", 1)
    assert server.requests == ["POST"]
    assert list(result.retries) == []


# Answers.


@params(CLIENTS)
@pytest.mark.parametrize("facts", ["reads", "writes", "repeats"])
async def test_too_many_requests_are_repeated_when_the_server_says(client, facts, server, clock):
    """The call had no effect, so any tool that is not destructive tries again, and not sooner than the server asks."""
    server.script = [answer(429, retry_after="7"), answer(200, "fine")]
    result = await call_server(client, server.url, clock, facts=facts)
    assert (result.kind, result.text, result.attempts) == ("ok", "fine", 2)
    assert clock.slept == [7.0]
    assert "429" in result.retries[0]
    assert "tried again after 7.00 s" in result.retries[0]


@params(CLIENTS)
async def test_a_server_that_asks_for_an_hour_is_not_waited_for(client, server, clock):
    """The model is told, and a program finds the seconds."""
    server.script = [answer(429, retry_after="3600")]
    result = await call_server(client, server.url, clock)
    assert (result.kind, result.attempts, clock.slept) == ("transient", 1, [])
    assert result.error.details == {"happened": "no", "retry_after_seconds": 3600.0}
    assert "it asked to wait 3,600 s" in result.retries[0]


@params(CLIENTS)
@pytest.mark.parametrize("status", [500, 502, 503])
async def test_a_call_that_may_be_repeated_is_tried_again_at_a_failing_server(client, status, server, clock):
    """The tool is idempotent."""
    server.script = [answer(status), answer(status), answer(200, "fine")]
    result = await call_server(client, server.url, clock, facts="repeats")
    assert (result.kind, result.text, result.attempts) == ("ok", "fine", 3)
    assert clock.slept == [0.2, 0.4]


@params(CLIENTS)
async def test_a_server_that_goes_on_failing_is_called_three_times(client, server, clock):
    server.script = [answer(500)]
    result = await call_server(client, server.url, clock)
    assert (result.kind, result.attempts, len(server.requests)) == ("transient", 3, 3)
    assert result.retries[-1] == "not tried again: 3 attempts were made"
    assert result.text.startswith("error: transient failure: ")


@params(CLIENTS)
@pytest.mark.parametrize("status", [400, 401, 404, 422])
async def test_a_refusal_is_an_answer(client, status, server, clock):
    """Asking again would not change it."""
    server.script = [answer(status), answer(200)]
    result = await call_server(client, server.url, clock)
    assert (result.kind, result.attempts, len(server.requests)) == ("failed", 1, 1)
    assert str(status) in result.text


# Ambiguous failures: the request left, and no answer came.

FAULTS = {"500": answer(500), "503": answer(503, retry_after="1"), "reset": reset, "cut": cut, "hang": hang}
BROKEN = {"reset": reset, "hang": hang}


def combinations():
    """Return every client with every fault that it can notice."""
    cases = []
    for name, client in ALL.items():
        faults = FAULTS if name in CLIENTS else BROKEN
        if client in (with_http_client, with_streams):
            faults = {**BROKEN, "cut": cut}
        for fault, behaviour in faults.items():
            cases.append(pytest.param(client, behaviour, "hang" if behaviour is hang else "", id=f"{name}-{fault}"))
    return cases


@pytest.mark.parametrize(("client", "fault", "path"), combinations())
async def test_a_read_only_call_is_repeated_after_any_fault(client, fault, path, server, clock):
    """The repetition does no harm, also if the first attempt had its effect."""
    server.script = [fault, answer(200, "fine")]
    result = await call_server(client, server.url + path, clock, facts="reads")
    assert (result.kind, result.text, result.attempts) == ("ok", "fine", 2)
    assert len(server.requests) == 2
    assert len(result.retries) == 1


@pytest.mark.parametrize(("client", "fault", "path"), combinations())
@pytest.mark.parametrize("facts", ["writes", "destroys"])
async def test_a_call_that_may_have_happened_is_not_repeated(client, fault, path, facts, server, clock):
    """A payment is made once, and the model is told that its outcome is unknown."""
    server.script = [fault, answer(200, "paid twice")]
    result = await call_server(client, server.url + path, clock, facts=facts)
    assert (result.kind, result.attempts, clock.slept) == ("transient", 1, [])
    assert server.requests == ["POST"]
    assert result.error.details["happened"] == "maybe"
    assert "it may or may not have happened" in result.text
    reason = "destructive tools are never run twice" if facts == "destroys" else "it may have happened already"
    assert result.retries == [f"not tried again: {reason}"]


# Certain failures: no request left.


@pytest.fixture
def closed_port():
    """An address without a server."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/"


@params(ALL)
@pytest.mark.parametrize("facts", ["reads", "writes"])
async def test_a_refused_connection_is_tried_again(client, facts, closed_port, clock):
    """The effect cannot have happened."""
    result = await call_server(client, closed_port, clock, facts=facts)
    assert (result.kind, result.attempts, clock.slept) == ("transient", 3, [0.2, 0.4])
    assert result.error.details["happened"] == "no"
    assert "may or may not" not in result.text


@params(CLIENTS)
async def test_a_destructive_call_runs_once_even_if_it_has_not_happened(client, closed_port, clock):
    result = await call_server(client, closed_port, clock, facts="destroys")
    assert (result.attempts, clock.slept) == (1, [])


# Limits of the dispatcher.


async def with_all_patience(url: str) -> str:
    """Post, and wait for as long as it takes."""
    reader, writer = await asyncio.open_connection(*address(url))
    try:
        writer.write(POST)
        return (await reader.read()).decode()
    finally:
        writer.close()


@pytest.mark.parametrize(("facts", "attempts"), [("writes", 1), ("reads", 3)])
async def test_a_tool_that_hangs_is_cancelled(facts, attempts, server, clock):
    """It may have happened. A read-only tool is tried again."""
    server.script = [hang]
    result = await call_server(with_all_patience, server.url, clock, facts=facts, timeout_seconds=0.5)
    assert (result.kind, result.attempts, len(server.requests)) == ("timeout", attempts, attempts)
    assert result.error.details["happened"] == "maybe"


async def test_a_thread_that_hangs_is_abandoned_and_not_joined_by_another(server):
    """The same call is refused while it runs, and runs again once it is over."""
    server.script = [hang, answer(200, "fine")]
    catalog = Catalog()
    workers = []

    @catalog.tool(read_only=True, timeout_seconds=0.5)
    def post(url: str) -> str:
        """Post and wait for as long as it takes."""
        workers.append(threading.current_thread())
        return with_socket(url)

    clock = Clock()
    async with Dispatcher(catalog, sleep=clock.sleep) as dispatcher:
        result = await dispatcher.call("post", {"url": server.url})
        assert (result.kind, result.attempts) == ("timeout", 1)
        assert list(result.retries) == ["not tried again: the last attempt still runs"]
        assert dispatcher.abandoned == 1

        again = await dispatcher.call("post", {"url": server.url})
        assert again.is_error
        assert "still runs" in again.text
        assert len(server.requests) == 1

        server.released.set()
        async with asyncio.timeout(10):
            while dispatcher.abandoned:  # noqa: ASYNC110 -- the count is all there is to see
                await asyncio.sleep(0)
        assert (await dispatcher.call("post", {"url": server.url})).text == "fine"
    assert len(workers) == 2


async def test_a_batch_survives_all_faults_at_once(server, clock):
    """Each call has one result, in order, and its siblings are not affected."""
    catalog = Catalog()
    for name, client in ALL.items():
        catalog.tool(name=name, read_only=True)(client)
    server.script = [reset, hang, cut, answer(500), answer(429, retry_after="1"), answer(200, "fine")]
    async with Dispatcher(catalog, clock=clock, sleep=clock.sleep) as dispatcher:
        results = await dispatcher.call_many([(name, {"url": server.url + "hang"}) for name in ALL])
    assert [result.tool for result in results] == list(ALL)
    assert {result.kind for result in results} <= {"ok", "transient", "failed"}
    assert all(result.attempts >= 1 for result in results)
