"""
The ways on which a call reaches a tool: in the process, through a server of each revision, and through a gateway.

A test that takes `column` runs on each of them, so that what holds in the process holds everywhere.
"""

from __future__ import annotations

import asyncio
import contextlib

import pytest
import uvicorn

from tests.clocks import wait_until
from toolkit import Dispatcher, Permissions
from toolkit.mcp import RemoteServer, Servers, build_server, http_app

__all__ = ["every_column", "open_column", "remote_columns"]

REMOTE = ("legacy", "2026-07-28", "http legacy", "http 2026-07-28", "gateway legacy", "gateway 2026-07-28")
remote_columns = pytest.mark.parametrize("column", REMOTE)
every_column = pytest.mark.parametrize("column", ["process", *REMOTE])


@contextlib.asynccontextmanager
async def open_column(catalog, column, **options):
    """Yield a dispatcher whose tools, with the names that they have in *catalog*, are reached by *column*."""
    dispatcher = Dispatcher(catalog, permissions=Permissions("bypass"), **options)
    if column == "process":
        yield dispatcher
        return
    way, _, revision = column.rpartition(" ")
    async with contextlib.AsyncExitStack() as stack:
        if way == "http":
            target = await stack.enter_async_context(_serve_http(dispatcher))
        elif way == "gateway":
            behind = await stack.enter_async_context(_import(build_server(dispatcher), revision))
            inner = Dispatcher(behind, permissions=Permissions("bypass"))
            target = build_server(inner, servers=[behind])
        else:
            target = build_server(dispatcher)
        tools = await stack.enter_async_context(_import(target, revision))
        assert tools.problems == []
        yield Dispatcher(tools, permissions=Permissions("bypass"))


def _import(target, revision):
    server = RemoteServer(target, revision=revision, tool_prefix="", trusted=True, defer=False)
    return Servers(None, {"far": server})


@contextlib.asynccontextmanager
async def _serve_http(dispatcher):
    """Yield the address of a server on loopback, in the running loop."""
    server = uvicorn.Server(uvicorn.Config(http_app(dispatcher), port=0, log_level="critical"))
    task = asyncio.create_task(server.serve())
    try:
        await wait_until(lambda: server.started)
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}/mcp"
    finally:
        server.force_exit = server.should_exit = True
        await task
