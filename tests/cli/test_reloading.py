"""`toolkit serve --reload`: the target is loaded again when its files change, and connections stay open."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from pathlib import Path

import mcp_types as types
import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from tests.clocks import wait_until

pytestmark = pytest.mark.anyio

REPOSITORY = Path(__file__).parents[2]
TOOLS = """
from toolkit import tool
from prices import PRICE

@tool(read_only=True)
def price() -> int:
    "Return the price."
    return PRICE
"""
FURTHER = """
@tool(read_only=True)
def tax() -> int:
    "Return the tax."
    return PRICE // 5
"""


class Changes:
    """Notes that the server has said that its tools changed."""

    def __init__(self):
        self._told = asyncio.Event()

    async def __call__(self, message):
        """Take a message that the server sends without being asked."""
        if isinstance(message, types.ToolListChangedNotification):
            self._told.set()

    async def wait(self):
        """Wait until the server has told, and forget it."""
        async with asyncio.timeout(60):
            await self._told.wait()
        self._told.clear()


@pytest.fixture
def program(tmp_path):
    """A folder with a module of tools, and one that it imports."""
    (tmp_path / "prices.py").write_text("PRICE = 10\n")
    (tmp_path / "tools.py").write_text(TOOLS)
    return tmp_path


@contextlib.asynccontextmanager
async def open_stdio(folder, changes, target="tools.py"):
    """Open a client of the SDK whose server is a process of `toolkit serve --reload`."""
    parameters = StdioServerParameters(
        command=sys.executable,
        args=["-m", "toolkit", "serve", target, "--reload"],
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        cwd=folder,
    )
    with (folder / "notes").open("w") as notes:
        transport = stdio_client(parameters, errlog=notes)
        async with Client(transport, mode="legacy", message_handler=changes) as client:
            yield client


@contextlib.asynccontextmanager
async def open_http(folder, changes, target="tools.py"):
    """Open a client of the SDK for a process of `toolkit serve --reload --http`."""
    with (folder / "notes").open("wb") as notes:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "toolkit", "serve", target, "--reload", "--http", "127.0.0.1:0"),
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
            stderr=asyncio.subprocess.PIPE,
        )
        try:
            line = b""
            while not (address := re.search(rb"http://127.0.0.1:[1-9]\d*/mcp", line)):
                line = await process.stderr.readline()
            copying = asyncio.create_task(copy_lines(process.stderr, notes))
            async with Client(address[0].decode(), mode="legacy", message_handler=changes) as client:
                yield client
        finally:
            process.terminate()
            await process.wait()
            await copying


async def copy_lines(reader, file):
    """Copy what the server writes, as it comes."""
    while line := await reader.readline():
        file.write(line)
        file.flush()


async def call(client, name):
    """Return the value that a tool without arguments returns."""
    return (await client.call_tool(name, {})).structured_content["result"]


@pytest.mark.parametrize("opened", [open_stdio, pytest.param(open_http, marks=pytest.mark.long)])
async def test_a_change_reaches_the_client_over_its_open_connection(program, opened):
    """A new tool, a changed module that the target imports, a mistake, and its correction."""
    changes = Changes()
    async with opened(program, changes) as client:
        assert await call(client, "price") == 10
        (program / "tools.py").write_text(TOOLS + FURTHER)
        await changes.wait()
        assert [tool.name for tool in (await client.list_tools()).tools] == ["price", "tax"]
        (program / "prices.py").write_text("PRICE = 50\n")
        await changes.wait()
        assert (await call(client, "price"), await call(client, "tax")) == (50, 10)

        (program / "tools.py").write_text(TOOLS + "def (:\n")
        note = "not reloaded, so the tools stay as they were"
        await wait_until(lambda: note in (program / "notes").read_text(), seconds=60)
        assert await call(client, "tax") == 10
        (program / "tools.py").write_text(TOOLS)
        await changes.wait()
        assert [tool.name for tool in (await client.list_tools()).tools] == ["price"]


@pytest.mark.long
async def test_a_renamed_function_may_keep_the_name_of_its_tool(program):
    """The tools of the module leave the default catalog before it is loaded again."""
    module = TOOLS.replace("import tool", "import default_catalog, tool").replace("def price", "def find")
    named = module.replace("read_only=True", "name='price', read_only=True")
    (program / "tools.py").write_text(named)
    changes = Changes()
    async with open_stdio(program, changes, "tools.py:default_catalog") as client:
        (program / "tools.py").write_text(
            named.replace("def find", "def look_up").replace("return PRICE", "return PRICE + 1")
        )
        await changes.wait()
        while "price" not in [tool.name for tool in (await client.list_tools()).tools]:
            await changes.wait()
        assert await call(client, "price") == 11
