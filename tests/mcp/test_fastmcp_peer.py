"""The client of FastMCP against our server. Without the package these tests are skipped."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

fastmcp = pytest.importorskip("fastmcp", reason="fastmcp is not installed; it is a peer, and `make bench` installs it")

from fastmcp.client.elicitation import ElicitResult  # noqa: E402
from fastmcp.client.transports import StdioTransport  # noqa: E402

from tests.mcp.serving.processes import balanced  # noqa: E402

pytestmark = [pytest.mark.anyio, pytest.mark.long]

SERVER = Path(__file__).parent / "conformance" / "everything_server.py"


def open_client(**options):
    """Return a client of FastMCP that starts our server."""
    transport = StdioTransport(sys.executable, ["-m", "toolkit", "serve", f"{SERVER}:tools"])
    return fastmcp.Client(transport, **options)


async def test_fastmcp_lists_and_calls_our_tools():
    """The client sees our tools, and gets text, images and errors."""
    async with open_client() as client:
        names = [tool.name for tool in await client.list_tools()]
        text = await client.call_tool("test_simple_text")
        image = await client.call_tool("test_image_content")
        failure = await client.call_tool("test_error_handling", raise_on_error=False)

    assert "test_simple_text" in names
    assert text.content[0].text == "This is a simple text response for testing."
    assert "image" in [block.type for block in image.content]
    assert failure.is_error


async def test_fastmcp_answers_our_questions():
    """A question of our tool reaches the client's user, and the answer reaches the tool."""

    async def answer(message, response_type, params, context):
        return ElicitResult(action="accept", content={"name": "Ada"})

    async with open_client(elicitation_handler=answer) as client:
        result = await client.call_tool("test_input_required_result_elicitation")

    assert result.content[0].text == "Hello, Ada!"


async def test_fastmcp_gets_an_image_that_our_tool_returns_alone():
    """The content has no text beside it that only names the image."""
    async with open_client() as client:
        image = await client.call_tool("test_image_content")

    assert [block.type for block in image.content] == ["image"]


async def test_fastmcp_is_served_by_all_processes_of_a_stateless_server(tmp_path):
    """Eight calls, each of which another process answers, and all have their results."""
    async with balanced(tmp_path, 2, "--stateless") as (address, _), fastmcp.Client(f"{address}/mcp") as client:
        results = [await client.call_tool("add", {"a": number, "b": 1}) for number in range(8)]

    assert [result.data for result in results] == list(range(1, 9))
    assert len(set((tmp_path / "pids").read_text().split())) == 2
