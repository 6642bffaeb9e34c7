"""The short ways for plain calls answer as the SDK's own way does."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from tests.clocks import until
from tests.mcp.serving.kit import MODES, NEW, connected
from toolkit import AuthNeeded, AuthRequest, Catalog, Context, Dispatcher, Tool
from toolkit.content import ImagePart
from toolkit.hooks import Proceed
from toolkit.mcp import build_server, http_app
from toolkit.mcp.serving.call_shortcut import CallShortcut
from toolkit.mcp.serving.event_response import ClientGoneError, EventResponse
from toolkit.mcp.serving.header_schemas import HeaderSchemas
from toolkit.mcp.serving.http_shortcut import HttpShortcut

pytestmark = pytest.mark.anyio

OLD_VERSION = "2025-11-25"
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
}
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


@pytest.fixture
def catalog():
    """Tools of every kind that matters to a short way."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    @catalog.tool(read_only=True, thread=False)
    def greet(name: str) -> str:
        """Greet."""
        return f"Hello {name} \ud83d"[:-1]

    @catalog.tool(read_only=True)
    def threaded(a: int) -> dict[str, int]:
        """Work in a thread."""
        return {"a": a}

    @catalog.tool(read_only=True)
    async def fail() -> str:
        """Fail."""
        raise ValueError("no")

    @catalog.tool(read_only=True)
    async def picture() -> ImagePart:
        """Return an image."""
        return ImagePart(b"\x89PNG\r\n\x1a\n", "image/png")

    @catalog.tool
    async def write() -> str:
        """Write."""
        return "written"

    @catalog.tool(read_only=True)
    async def login() -> str:
        """Need credentials."""
        raise AuthNeeded(AuthRequest(provider="github", url="https://github.example"))

    @catalog.tool(read_only=True)
    async def reports(context: Context) -> str:
        """Report."""
        context.report(1, 1)
        return "reported"

    header = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    catalog.add(Tool.from_schema("routed", "Route.", header, lambda arguments: "routed"))
    return catalog


CALLS = [
    ("add", {"a": 1, "b": 2}),
    ("add", {"a": "x"}),
    ("add", {}),
    ("greet", {"name": "Ada"}),
    ("threaded", {"a": 1}),
    ("fail", {}),
    ("picture", {}),
    ("write", {}),
    ("login", {}),
    ("reports", {}),
    ("missing", {}),
    ("routed", {}),
    ("routed", {"region": "eu"}),
    ("add", None),
    ("add", []),
    (5, {}),
]


def message_of(name, arguments, meta=None, **further):
    """One `tools/call` request."""
    params = {"name": name, "arguments": arguments, **further}
    if meta is not None:
        params["_meta"] = meta
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}


class Peer:
    """A client of one HTTP application that keeps its connection of the older revision."""

    def __init__(self, app):
        self._app = app
        self._client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost")
        self._session = {}

    async def open(self):
        """Open a connection of the older revision."""
        info = {"name": "test", "version": "1"}
        params = {"protocolVersion": OLD_VERSION, "capabilities": {}, "clientInfo": info}
        first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        response = await self._client.post("/mcp", json=first, headers=HEADERS)
        self._session = {"mcp-session-id": response.headers["mcp-session-id"], "mcp-protocol-version": OLD_VERSION}
        await self.send({"jsonrpc": "2.0", "method": "notifications/initialized"}, self._session)
        await until(lambda: self._app._shortcut._connections)  # the notification is acknowledged before it is handled

    async def send(self, message, headers):
        """Send one message, and return the status and the message that answers it."""
        response = await self._client.post("/mcp", content=json.dumps(message), headers={**HEADERS, **headers})
        text = response.text
        if response.headers.get("content-type", "").startswith("text/event-stream"):
            events = [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: {")]
            text = events[-1] if events else ""
        return response.status_code, json.loads(text) if text else None

    async def call_old(self, message, **headers):
        """Call in the older revision."""
        return await self.send(message, {**self._session, **headers})

    async def call_new(self, message, **headers):
        """Call in the newer revision."""
        name = str(message["params"].get("name"))
        return await self.send(
            message, {"mcp-protocol-version": NEW, "mcp-method": "tools/call", "mcp-name": name, **headers}
        )

    async def end(self):
        """End the connection of the older revision."""
        return await self._client.delete("/mcp", headers=self._session)


async def answer_nothing(scope, headers, message, receive, send):
    """Leave every request to the SDK."""
    return False


@pytest.mark.long
@pytest.mark.parametrize(("name", "arguments"), CALLS)
async def test_both_ways_over_http_give_the_same_answer(catalog, name, arguments):
    """The same status and the same message, in both revisions."""
    short, long = http_app(Dispatcher(catalog)), http_app(Dispatcher(catalog))
    long._guard._answer_plain_call = answer_nothing
    long.server.middleware.clear()
    answers = []
    for app in (short, long):
        async with app.running():
            peer = Peer(app)
            await peer.open()
            answers.append(
                (
                    await peer.call_old(message_of(name, arguments)),
                    await peer.call_new(message_of(name, arguments, META)),
                )
            )
    assert answers[0] == answers[1]


@pytest.mark.parametrize(
    ("further", "meta", "headers"),
    [
        ({}, {**META, "progressToken": 1}, {}),
        ({}, {**META, "traceparent": "x"}, {}),
        ({}, {}, {}),
        ({}, {**META, "io.modelcontextprotocol/protocolVersion": "2030-01-01"}, {}),
        ({"extra": 1}, META, {}),
        ({"task": {"ttl": 5}}, META, {}),
        ({}, META, {"mcp-name": "greet"}),
        ({}, META, {"mcp-method": "tools/list"}),
        ({}, META, {"mcp-param-region": "eu"}),
        ({}, META, {"accept": "application/json"}),
        ({}, META, {"content-type": "text/plain"}),
        ({}, META, {"mcp-protocol-version": "2030-01-01"}),
    ],
)
async def test_unusual_requests_get_the_answer_of_the_sdk(catalog, further, meta, headers):
    """What is not plain is left to the SDK, with its errors."""
    short, long = http_app(Dispatcher(catalog)), http_app(Dispatcher(catalog))
    long._guard._answer_plain_call = answer_nothing
    long.server.middleware.clear()
    message = message_of("add", {"a": 1}, meta, **further)
    answers = []
    for app in (short, long):
        async with app.running():
            try:
                answers.append(await Peer(app).call_new(message, **headers))
            except json.JSONDecodeError:
                answers.append("no JSON")
    assert answers[0] == answers[1]


async def test_a_plain_call_really_takes_the_short_way(catalog):
    """Plain calls of tools that never wait are answered without the SDK, and others are not."""
    app = http_app(Dispatcher(catalog))
    passed = []
    handle = app._guard._app

    async def note(scope, receive, send):
        passed.append(scope["method"])
        await handle(scope, receive, send)

    app._guard._app = note
    async with app.running():
        peer = Peer(app)
        await peer.open()
        passed.clear()
        await peer.call_old(message_of("add", {"a": 1}))
        await peer.call_new(message_of("greet", {"name": "x"}, META))
        await peer.call_new(message_of("threaded", {"a": 1}, META))
        await peer.call_old(message_of("threaded", {"a": 1}))
        assert passed == []
        await peer.call_new(message_of("reports", {}, META))
        await peer.call_new(message_of("write", {}, META))
        assert passed == ["POST"] * 2
        await peer.end()
        status, _ = await peer.call_old(message_of("add", {"a": 1}))
        assert status == 404
    assert len(passed) == 4


async def test_a_connection_that_is_in_use_does_not_end(catalog):
    """Now and then a call takes the long way, so that the SDK sees that the connection is used."""
    now = [0.0]
    app = http_app(Dispatcher(catalog))
    app._shortcut = HttpShortcut(app.server, clock=lambda: now[0])
    app._guard._answer_plain_call = app._shortcut.answer
    ways = []
    answer = app._shortcut.answer

    async def note(*request):
        ways.append(await answer(*request))
        return ways[-1]

    async with app.running():
        peer = Peer(app)
        await peer.open()
        app._guard._answer_plain_call = note
        for seconds in (0.0, 10.0, 61.0, 62.0):
            now[0] = seconds
            await peer.call_old(message_of("add", {"a": 1}))
    assert ways == [True, True, False, True]


async def test_hooks_take_the_long_way(catalog):
    """A hook may wait or ask, so its calls need what the SDK does."""

    class Hook:
        """Lets every call go on."""

        async def before(self, call):
            """Go on."""
            return Proceed()

    app = http_app(Dispatcher(catalog, hooks=[Hook()]))
    message = message_of("add", {"a": 1}, META)
    headers = {**HEADERS, "mcp-protocol-version": NEW, "mcp-method": "tools/call", "mcp-name": "add"}
    raw = {name.encode(): value.encode() for name, value in headers.items()}
    scope = {"headers": list(raw.items())}
    sent = []

    async def send(part):
        sent.append(part)

    assert not await app._shortcut.answer(scope, raw, message, None, send)
    assert await http_app(Dispatcher(catalog))._shortcut.answer(scope, raw, message, None, send)
    assert sent[0]["status"] == 200


@pytest.mark.long
@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(("name", "arguments"), [call for call in CALLS if isinstance(call[1], dict) and call[0] != 5])
async def test_both_ways_in_memory_give_the_same_answer(catalog, mode, name, arguments):
    """The client sees no difference."""
    answers = []
    for is_short in (True, False):
        async with connected(Dispatcher(catalog), mode) as client:
            if not is_short:
                client.server.middleware.clear()
            try:
                answers.append(await client.call_tool(name, arguments))
            except Exception as error:  # noqa: BLE001 -- errors are compared too
                answers.append(repr(error))
    assert answers[0] == answers[1]


def test_the_short_way_is_installed(catalog):
    """The spans of OpenTelemetry are left out where that package is not used."""
    assert [type(item) for item in build_server(Dispatcher(catalog)).middleware] == [CallShortcut]


def test_schemas_with_headers_are_found(catalog):
    """Only a schema with the keyword is compared with headers; a tool that is replaced is looked at again."""
    schemas = HeaderSchemas(catalog)
    assert schemas.find("add") is schemas.find("missing") is None
    assert schemas.find("routed") == catalog["routed"].schema
    catalog.remove("routed")
    catalog.add(Tool.from_schema("routed", "Route.", {"type": "object"}, lambda arguments: "routed"))
    assert schemas.find("routed") is None


class Wire:
    """One connection of a web server: notes what is sent, and tells when the client goes away."""

    def __init__(self):
        self.sent = []
        self.gone = asyncio.Event()

    async def receive(self):
        """Wait until the client has gone."""
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, message):
        """Note a message."""
        self.sent.append(message)


async def test_a_client_that_goes_away_stops_its_call():
    """The work is cancelled, and nothing is sent."""
    wire, started, ended = Wire(), asyncio.Event(), []

    async def work():
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    task = asyncio.create_task(
        EventResponse(wire.receive, wire.send).wait_for(asyncio.create_task(work()), stops_with_client=True)
    )
    await started.wait()
    wire.gone.set()
    with pytest.raises(ClientGoneError):
        await task
    assert (ended, wire.sent) == ([True], [])


async def test_a_request_that_is_cancelled_stops_its_call():
    """A web server that shuts down cancels the request, and the work ends first."""
    wire, started, ended = Wire(), asyncio.Event(), []

    async def work():
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    task = asyncio.create_task(
        EventResponse(wire.receive, wire.send).wait_for(asyncio.create_task(work()), stops_with_client=True)
    )
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended == [True]


async def test_a_long_call_keeps_its_connection_open():
    """A proxy closes a connection on which nothing comes; the answer is then the last event of a stream."""
    wire, go = Wire(), asyncio.Event()

    async def work():
        await go.wait()
        return "done"

    response = EventResponse(wire.receive, wire.send, ping_seconds=0.001)
    task = asyncio.create_task(response.wait_for(asyncio.create_task(work()), stops_with_client=True))
    await until(lambda: len(wire.sent) >= 3)
    go.set()
    assert await task == "done"
    await response.finish(b"{}")
    assert dict(wire.sent[0]["headers"])[b"content-type"] == b"text/event-stream"
    assert wire.sent[1]["body"].startswith(b": ping")
    assert wire.sent[-1] == {
        "type": "http.response.body",
        "body": b"event: message\r\ndata: {}\r\n\r\n",
        "more_body": False,
    }


async def test_a_client_of_the_older_revision_cancels_with_a_message():
    """The call is stopped, and its response ends without an answer; a client that goes away does not stop it."""
    catalog, started, ended = Catalog(), asyncio.Event(), []

    @catalog.tool(read_only=True)
    async def wait() -> str:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)
        return ""

    app = http_app(Dispatcher(catalog))
    async with app.running():
        peer = Peer(app)
        await peer.open()
        task = asyncio.create_task(peer.call_old(message_of("wait", {})))
        await started.wait()
        assert len(app._shortcut._running) == 1
        for params in ({"requestId": 8}, {}, {"requestId": 7}):
            message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
            await peer.call_old(message)
        assert await task == (200, None)
    assert (ended, app._shortcut._running) == ([True], {})
