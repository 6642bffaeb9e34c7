"""The tools of one server: schemas that take long to check cost their own server only."""

from __future__ import annotations

import asyncio
import threading

import pytest

from toolkit.errors import DefinitionError
from toolkit.mcp import RemoteServer, ServerLimits
from toolkit.mcp.importing.remote_server import read_server
from toolkit.mcp.importing.remote_tools import RemoteListing, RemoteTool
from toolkit.mcp.importing.server_tools import ServerTools
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


def build(remote):
    """Return a tool that does nothing."""
    return Tool.from_schema(remote.name, "T.", remote.input_schema, lambda arguments: None)


def list_of(*names, digest="1"):
    """Return a list of tools with these names."""
    return RemoteListing(tuple(RemoteTool(name, "T.", {"type": "object"}, digest=digest) for name in names))


def tools_of(**limits):
    """Return the tools of a server, which has none yet."""
    return ServerTools(read_server("evil", RemoteServer(["x"], limits=ServerLimits(**limits))))


async def test_the_loop_goes_on_while_a_schema_is_checked():
    """A schema that takes long does not hold up the other connections, which share the loop."""
    started, may_end = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def build_slowly(remote):
        loop.call_soon_threadsafe(started.set)
        assert may_end.wait(20)
        return build(remote)

    tools = tools_of()
    update = asyncio.create_task(tools.update(list_of("slow"), build_slowly))
    async with asyncio.timeout(20):
        await started.wait()
        assert not update.done()
        may_end.set()
        await update

    assert list(tools.tools) == ["slow"]


async def test_schemas_that_take_too_long_are_left_out():
    """Tools that were checked in time are there, a problem names the rest, and known tools stay."""
    may_end = threading.Event()

    def build_or_wait(remote):
        if remote.name == "slow":
            assert may_end.wait(20)
        return build(remote)

    tools = tools_of(connect_seconds=0.2)
    await tools.update(list_of("last"), build)
    last_tool = tools.tools["last"]
    await tools.update(list_of("first", "slow", "next", "last"), build_or_wait)
    may_end.set()

    assert list(tools.tools) == ["first", "last"]
    assert tools.tools["last"] is last_tool
    assert tools.list_problems() == [
        "left out, from `slow` on: 2 tools, whose schemas could not be checked within 0.2 s"
    ]


async def test_a_schema_that_was_refused_is_not_checked_again():
    """A server that goes on listing a bad tool costs no more time, until it changes the tool."""
    checked = []

    def refuse(remote):
        checked.append(remote.digest)
        raise DefinitionError("it is bad")

    tools = tools_of()
    for digest in ("1", "1", "2"):
        await tools.update(list_of("bad", digest=digest), refuse)

    assert checked == ["1", "2"]
    assert tools.list_problems() == ["`bad` is left out: it is bad"]


async def test_an_import_that_is_cancelled_does_not_wait_for_a_schema():
    """Closing does not wait for a check that goes on in its thread."""
    started, may_end = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    def build_slowly(remote):
        loop.call_soon_threadsafe(started.set)
        assert may_end.wait(20)
        return build(remote)

    update = asyncio.create_task(tools_of().update(list_of("slow"), build_slowly))
    async with asyncio.timeout(20):
        await started.wait()
        update.cancel()
        await asyncio.wait({update})
    may_end.set()

    assert update.cancelled()
