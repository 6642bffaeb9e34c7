"""Servers that speak the older transport, HTTP with server-sent events, to a server of the SDK on loopback."""

from __future__ import annotations

import contextlib
import gc
import json
import socket
import threading
import warnings

import pytest
import uvicorn
from mcp.server.mcpserver import MCPServer
from starlette.responses import PlainTextResponse

from tests.clocks import block_until
from toolkit import Dispatcher
from toolkit.errors import DefinitionError
from toolkit.mcp import RemoteServer, Servers
from toolkit.mcp.importing.server_file import read_server_file


class Site:
    """The application of a server of the SDK, which can begin to refuse requests."""

    def __init__(self):
        shop = MCPServer("shop")
        shop.tool()(add)
        self._app = shop.sse_app()
        self.status = {}  # what requests of a method are refused with
        self.keys = set()

    async def __call__(self, scope, receive, send):
        """Pass a request on, or refuse it."""
        if scope["type"] == "http":
            self.keys.add(dict(scope["headers"]).get(b"x-key"))
        if scope["type"] == "http" and scope["method"] in self.status:
            headers = {"www-authenticate": "Bearer"}
            await PlainTextResponse("no", self.status[scope["method"]], headers)(scope, receive, send)
        else:
            await self._app(scope, receive, send)


def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@contextlib.contextmanager
def running(site):
    """Serve *site* in a thread, and yield its address."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(site, log_level="critical", lifespan="off", timeout_graceful_shutdown=1))
    thread = threading.Thread(target=server.run, args=([listener],))
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/sse", server
    finally:
        server.should_exit = True
        thread.join()
        with warnings.catch_warnings(action="ignore", category=ResourceWarning):
            gc.collect()  # the SDK leaves streams open if its server is stopped while a client is connected


def test_tools_are_called_over_sse():
    """The headers arrive with every request."""
    site = Site()
    with running(site) as (url, _), Servers(shop=RemoteServer(url, transport="sse", headers={"x-key": "k"})) as tools:
        assert tools.problems == []
        with contextlib.closing(Dispatcher(tools)) as dispatcher:
            assert dispatcher.call_sync("shop_add", {"a": 2, "b": 3}).text == "5"
    assert site.keys == {b"k"}


@pytest.mark.parametrize(("status", "reason"), [(401, "log in"), (500, "500")])
def test_a_server_that_refuses_is_a_problem(status, reason):
    site = Site()
    site.status["GET"] = status
    with running(site) as (url, _), Servers(shop=RemoteServer(url, transport="sse")) as tools:
        [problem] = tools.problems
        assert reason in problem


def test_a_request_that_fails_ends_the_connection_and_a_new_one_follows():
    """The call that it belongs to has no answer, so it may or may not have happened."""
    site = Site()
    with (
        running(site) as (url, _),
        Servers(shop=RemoteServer(url, transport="sse")) as tools,
        contextlib.closing(Dispatcher(tools)) as dispatcher,
    ):
        site.status["POST"] = 500
        result = dispatcher.call_sync("shop_add", {"a": 2, "b": 3})
        assert (result.kind, result.error.details["happened"]) == ("transient", "maybe")
        site.status.clear()
        block_until(lambda: dispatcher.call_sync("shop_add", {"a": 2, "b": 3}).text == "5")


def test_the_end_of_the_stream_is_noticed():
    with running(Site()) as (url, server), Servers(shop=RemoteServer(url, transport="sse")) as tools:
        assert tools.problems == []
        server.should_exit = True
        block_until(lambda: tools.problems != [])


def test_a_file_names_the_transport(tmp_path):
    path = tmp_path / ".mcp.json"
    path.write_text(json.dumps({"mcpServers": {"old": {"type": "sse", "url": "https://a.example/sse"}}}))
    file = read_server_file(path)
    assert (file.problems, file.servers["old"].transport) == ((), "sse")


@pytest.mark.parametrize(("target", "transport"), [(["server"], "sse"), ("https://a.example", "carrier pigeon")])
def test_another_transport_is_refused(target, transport):
    with pytest.raises(DefinitionError, match="`transport` has to be"):
        Servers(shop=RemoteServer(target, transport=transport))
