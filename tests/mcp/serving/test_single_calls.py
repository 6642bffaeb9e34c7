"""A call that is a conversation of its own names nothing that only a later call of the conversation could read."""

from __future__ import annotations

import re

import pytest

from tests.mcp.serving.kit import NEW, OLD, YES, Person, connected, text_of
from toolkit import Catalog, Dispatcher, Permissions
from toolkit.builtin import bash_for, job_output_for, job_stop_for, read_output_for
from toolkit.workspace import Workspace

pytestmark = pytest.mark.anyio

CONVERSATIONS = [(NEW, "ada"), (OLD, None), (OLD, "ada")]
"""The revisions and principals whose calls share a conversation. Of a call of `NEW` without a principal, each has one."""


def build_tools():
    """Return tools that have more to tell later, and those that read it."""
    tools = Catalog(read_output_for(), job_output_for(), job_stop_for())

    @tools.tool(background=True)
    async def build(target: str) -> str:
        """Build a program."""
        return f"{target} is built"

    @tools.tool(read_only=True, max_chars=300)
    def list_lines() -> str:
        """List lines."""
        return "\n".join(f"line {number}" for number in range(100))

    return tools


def connected_to(tools, mode, principal, permissions="bypass", person=None):
    dispatcher = Dispatcher(tools, permissions=Permissions(permissions))
    return connected(dispatcher, mode, person, principal=principal)


@pytest.mark.parametrize(("mode", "principal"), CONVERSATIONS)
async def test_later_calls_of_a_conversation_read_the_rest(mode, principal):
    async with connected_to(build_tools(), mode, principal) as client:
        started = text_of(await client.call_tool("build", {"target": "app", "background": True}))
        assert started.startswith("started job_1")
        job = text_of(await client.call_tool("job_output", {"job": "job_1", "wait_seconds": 60}))
        assert job == "app is built\njob_1: done"
        [handle] = re.findall(r'handle="(\w+)"', text_of(await client.call_tool("list_lines")))
        assert "line 99" in text_of(await client.call_tool("read_output", {"handle": handle, "offset": -20}))


@pytest.mark.parametrize(("permissions", "person"), [("bypass", None), ("default", Person(YES))])
async def test_a_single_call_runs_to_its_end_though_it_asks_for_the_background(permissions, person):
    """So does one that a person has to approve."""
    async with connected_to(build_tools(), NEW, None, permissions, person) as client:
        assert text_of(await client.call_tool("build", {"target": "app", "background": True})) == "app is built"


async def test_the_cut_result_of_a_single_call_names_no_handle():
    async with connected_to(build_tools(), NEW, None) as client:
        *_, last = text_of(await client.call_tool("list_lines")).splitlines()
    assert re.fullmatch(r"\[truncated: \d+ of 100 lines\]", last)


async def test_a_single_call_starts_no_command_in_the_background(tmp_path):
    """The command would run on, and no call could read or stop it."""
    async with connected_to(Catalog(bash_for(Workspace(tmp_path), sandbox="none")), NEW, None) as client:
        result = await client.call_tool("bash", {"command": "touch started", "background": True})
    assert result.is_error
    assert "run the command without `background`" in text_of(result)
    assert not (tmp_path / "started").exists()
