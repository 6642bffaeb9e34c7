import asyncio
from typing import Any, Literal

from fastmcp import Client, FastMCP
from hypothesis import given, settings
from hypothesis import strategies as st

server = FastMCP("bills")


@server.tool
def split(cents: int, people: Literal[2, 3, 4]) -> list[int]:
    """Split a bill."""
    share, rest = divmod(cents, people)
    return [share + (number < rest) for number in range(people)]


async def call(arguments: dict[str, Any]) -> list[int]:
    async with Client(server) as client:
        return (await client.call_tool("split", arguments)).data


@settings(deadline=None)
@given(st.fixed_dictionaries({"cents": st.integers(), "people": st.sampled_from([2, 3, 4])}))
def test_no_cent_is_lost(drawn: dict[str, Any]) -> None:
    assert sum(asyncio.run(call(drawn))) == drawn["cents"]


test_no_cent_is_lost()
