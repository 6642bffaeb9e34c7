"""An inspector on a real server on loopback, and a client that has its address."""

from __future__ import annotations

import asyncio
import contextlib
import json

import httpx
import uvicorn

from toolkit import Catalog, Context, Dispatcher, Permissions
from toolkit.inspector import Inspector
from toolkit.web_server.running import ImpatientProtocol

__all__ = ["Browser", "build_catalog", "build_inspector", "read_events", "serving"]


def build_catalog():
    """Make a catalog with tools of each kind that the page tells apart."""
    catalog = Catalog()

    @catalog.tool(read_only=True, aliases=["sum"], group="numbers", examples=[{"a": 1, "b": 2}])
    def add(a: int, b: int = 2) -> int:
        """Add two numbers.

        Args:
            a: The first number.
            b: The second number.
        """
        return a + b

    @catalog.tool
    def write_note(text: str) -> str:
        """Write a note."""
        return f"noted {text}"

    @catalog.tool(read_only=True)
    def fail(text: str) -> str:
        """Fail with a text."""
        raise ValueError(text)

    @catalog.tool(read_only=True)
    async def greet(context: Context) -> str:
        """Greet the user by name."""
        return f"Hello, {await context.ask('name', 'Your name?', {'type': 'string'})}!"

    return catalog


def build_inspector(catalog=None, *, mode="default", dispatcher=None, **options):
    """Make an inspector of the catalog above, under rules."""
    if dispatcher is None:
        dispatcher = Dispatcher(catalog or build_catalog(), permissions=Permissions(mode))
    return Inspector(dispatcher, name="shop", **options)


class Browser:
    """A client that behaves as the page does: it sends the token, and with each change its own origin."""

    def __init__(self, client, port, token):
        self.client = client
        self.port = port
        self.origin = f"http://127.0.0.1:{port}"
        self.headers = {"authorization": f"Bearer {token}"}

    async def get(self, path, status=200, /, **parameters):
        """Return the JSON at an address of `api/`."""
        response = await self.client.get(f"{self.origin}/api/{path}", params=parameters, headers=self.headers)
        assert response.status_code == status, response.text
        return response.json()

    async def post(self, path, body, status=200, **headers):
        """Send a change, and return the JSON of the answer."""
        response = await self.send("POST", path, json=body, headers=headers)
        assert response.status_code == status, response.text
        return response.json()

    async def send(self, method, path, headers=(), **options):
        """Send any request with the token and the origin, unless *headers* say otherwise, and return the response."""
        names = {**self.headers, "origin": self.origin, **dict(headers)}
        names = {name: value for name, value in names.items() if value is not None}
        return await self.client.request(method, f"{self.origin}/api/{path}", headers=names, **options)

    async def call(self, name, status=200, /, **arguments):
        """Run a call, and return what is known about it."""
        return (await self.post("call", {"tool": name, "arguments": arguments}, status))["call"]


@contextlib.asynccontextmanager
async def serving(inspector, **app_options):
    """Serve *inspector* with uvicorn, and yield a `Browser`."""
    options = {"http": ImpatientProtocol, "log_level": "critical", "timeout_keep_alive": 600}
    server = uvicorn.Server(uvicorn.Config(inspector.app(**app_options), port=0, **options))
    task = asyncio.create_task(server.serve())
    while not server.started:  # noqa: ASYNC110 -- the server sets no event
        await asyncio.sleep(0.001)
    try:
        async with httpx.AsyncClient(timeout=120, trust_env=False) as client:
            yield Browser(client, server.servers[0].sockets[0].getsockname()[1], inspector.token)
    finally:
        inspector.drain()
        server.should_exit = True
        await task
        inspector.close()


async def read_events(browser, count, after=None, **headers):
    """Return the next *count* events: the kind, the data and the id of each."""
    events, lines = [], {}
    parameters = {} if after is None else {"after": after}
    names = {**browser.headers, **headers}
    async with browser.client.stream(
        "GET", f"{browser.origin}/api/events", params=parameters, headers=names
    ) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        async for line in response.aiter_lines():
            if line and not line.startswith(":"):
                name, _, text = line.partition(": ")
                lines[name] = text
            elif lines:
                events.append((lines["event"], json.loads(lines["data"]), lines["id"]))
                lines = {}
                if len(events) == count:
                    return events
    return events
