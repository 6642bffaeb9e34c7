"""Calls over HTTP: how a client stops one, and which arguments are repeated in headers."""

from __future__ import annotations

import asyncio
import json

import httpx
import pytest

from tests.mcp.serving.kit import NEW
from toolkit import Catalog, Dispatcher, Tool
from toolkit.mcp import http_app

pytestmark = pytest.mark.anyio

OLD = "2025-11-25"
INFO = {"name": "test", "version": "1"}
META = {
    "io.modelcontextprotocol/protocolVersion": NEW,
    "io.modelcontextprotocol/clientCapabilities": {},
    "io.modelcontextprotocol/clientInfo": INFO,
}
HEADERS = {"accept": "application/json, text/event-stream", "content-type": "application/json"}


class EndlessTool:
    """A tool that waits for ever, with the events of its start and its end."""

    def __init__(self):
        self.started, self.ended = asyncio.Event(), asyncio.Event()
        self.catalog = Catalog()

        @self.catalog.tool(read_only=True)
        async def wait() -> str:
            """Wait."""
            self.started.set()
            try:
                await asyncio.Event().wait()
            finally:
                self.ended.set()
            return ""


def build_call(meta=None):
    """Make one `tools/call` request."""
    params = {"name": "wait", "arguments": {}, **({} if meta is None else {"_meta": meta})}
    return {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}


async def test_a_client_of_the_older_revision_cancels_with_a_message():
    """The response ends, and says no more than that the request was cancelled."""
    tool = EndlessTool()
    app = http_app(Dispatcher(tool.catalog))
    async with (
        app.running(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", headers=HEADERS) as client,
    ):
        params = {"protocolVersion": OLD, "capabilities": {}, "clientInfo": INFO}
        first = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params}
        response = await client.post("/mcp", json=first)
        client.headers.update({"mcp-session-id": response.headers["mcp-session-id"], "mcp-protocol-version": OLD})
        await client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/initialized"})
        call = asyncio.create_task(client.post("/mcp", json=build_call()))
        await tool.started.wait()
        for params in ({"requestId": 8}, {}, {"requestId": 7}):
            assert not tool.ended.is_set()
            await client.post("/mcp", json={"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        await tool.ended.wait()
        assert '"result"' not in (await call).text


async def test_a_client_of_the_newer_revision_that_goes_away_stops_its_call():
    tool, client_left = EndlessTool(), asyncio.Event()
    app = http_app(Dispatcher(tool.catalog))
    parts = [{"type": "http.request", "body": json.dumps(build_call(META)).encode()}]
    headers = {**HEADERS, "host": "localhost", "mcp-protocol-version": NEW, "mcp-method": "tools/call"}
    headers["mcp-name"] = "wait"

    async def receive():
        if parts:
            return parts.pop()
        await client_left.wait()
        return {"type": "http.disconnect"}

    async def send(message):
        pass

    scope = {
        "type": "http",
        "method": "POST",
        "path": "/mcp",
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
    }
    async with app.running():
        request = asyncio.create_task(app(scope, receive, send))
        await tool.started.wait()
        client_left.set()
        await tool.ended.wait()
        assert await request is None
    assert tool.ended.is_set()


@pytest.mark.parametrize(("region", "status"), [("eu", 200), ("us", 400)])
async def test_headers_that_repeat_arguments_are_compared_with_them(region, status):
    """A call whose header differs from its argument is refused."""
    schema = {"type": "object", "properties": {"region": {"type": "string", "x-mcp-header": "Region"}}}
    routed = Tool.from_schema("routed", "Route.", schema, lambda arguments: "routed", read_only=True)
    app = http_app(Dispatcher(Catalog(routed)))
    headers = {**HEADERS, "mcp-protocol-version": NEW, "mcp-method": "tools/call", "mcp-name": "routed"}
    call = build_call(META)
    call["params"].update(name="routed", arguments={"region": "eu"})
    async with (
        app.running(),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost", headers=headers) as client,
    ):
        response = await client.post("/mcp", json=call, headers={"mcp-param-region": region})
    assert response.status_code == status
