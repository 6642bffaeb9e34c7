import asyncio
import json
from typing import Any, Literal

from agents import function_tool
from agents.tool_context import ToolContext
from hypothesis import given
from hypothesis import strategies as st


@function_tool
def split(cents: int, people: Literal[2, 3, 4]) -> list[int]:
    """Split a bill."""
    share, rest = divmod(cents, people)
    return [share + (number < rest) for number in range(people)]


@given(st.fixed_dictionaries({"cents": st.integers(), "people": st.sampled_from([2, 3, 4])}))
def test_no_cent_is_lost(drawn: dict[str, Any]) -> None:
    context = ToolContext(None, tool_name="split", tool_call_id="1", tool_arguments=json.dumps(drawn))
    assert sum(asyncio.run(split.on_invoke_tool(context, json.dumps(drawn)))) == drawn["cents"]


test_no_cent_is_lost()
