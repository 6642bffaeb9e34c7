from typing import Any, Literal

from hypothesis import given
from hypothesis import strategies as st
from langchain_core.tools import tool


@tool
def split(cents: int, people: Literal[2, 3, 4]) -> list[int]:
    """Split a bill."""
    share, rest = divmod(cents, people)
    return [share + (number < rest) for number in range(people)]


@given(st.fixed_dictionaries({"cents": st.integers(), "people": st.sampled_from([2, 3, 4])}))
def test_no_cent_is_lost(drawn: dict[str, Any]) -> None:
    assert sum(split.invoke(drawn)) == drawn["cents"]


test_no_cent_is_lost()
