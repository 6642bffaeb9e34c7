"""
Test a module of tools with properties: a whole suite for pytest and hypothesis, which this file runs.

It needs the extra `testing`. `19_testing.py` shows the parts one by one. In a project the tools and the tests are two
files, and `pytest` finds the tests.
"""

import os
import re
import sys
from itertools import pairwise
from typing import Annotated, Any

import pytest
from annotated_types import Ge, Le
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit import Catalog, Dispatcher, RetryPolicy, ToolError, Transient
from toolkit.testing import FakeClock, arguments, bad_arguments, check_catalog, values

# The tools.

catalog = Catalog()
Minutes = Annotated[int, Ge(0), Le(100_000), "How many minutes."]


@catalog.tool(read_only=True)
def format_duration(minutes: Minutes) -> str:
    """Write a number of minutes as people do: 1h30, 45m."""
    hours, rest = divmod(minutes, 60)
    return f"{hours}h{rest:02}" if hours else f"{rest}m"


@catalog.tool(read_only=True, examples=[{"text": "1h30"}, {"text": "45m"}])
def parse_duration(text: Annotated[str, "A duration, such as 1h30 or 45m."]) -> int:
    """Read a duration, and return the number of minutes."""
    match = re.fullmatch(r"(?:(\d{1,4})h(\d\d))|(?:(\d{1,2})m)", text, flags=re.ASCII)
    if match is None or int(match[2] or 0) > 59 or int(match[3] or 0) > 59:
        raise ToolError("not a duration; write 1h30 or 45m")
    return int(match[1] or 0) * 60 + int(match[2] or match[3] or 0)


@catalog.tool(read_only=True)
def split_shift(minutes: Minutes, people: Annotated[int, Ge(1), Le(1000), "How many share it."]) -> list[int]:
    """Divide a shift among people, as evenly as whole minutes allow."""
    share, rest = divmod(minutes, people)
    return [share + (number < rest) for number in range(people)]


# The tests.

quick = settings(max_examples=10, database=None, deadline=None)
every_tool = pytest.mark.parametrize("name", catalog.names())
strict = Dispatcher(catalog, repair=False, raise_bugs=True)


def test_the_tools_keep_all_laws() -> None:
    """The laws that hold for every tool need no test of their own."""
    check_catalog(catalog, examples=10)


@every_tool
@quick
@given(data=st.data())
def test_every_call_that_fits_ends_in_a_result(name: str, data: st.DataObject) -> None:
    """With `raise_bugs`, an exception that the tool does not declare fails the test, with the smallest call."""
    result = strict.call_sync(name, data.draw(arguments(catalog[name])))
    assert result.kind in ("ok", "failed")  # noqa: S101 -- it is a test


@every_tool
@quick
@given(data=st.data())
def test_a_call_that_does_not_fit_is_refused_and_never_runs(name: str, data: st.DataObject) -> None:
    """There was no attempt, and no repair: every mistake is found before the tool is called."""
    result = strict.call_sync(name, data.draw(bad_arguments(catalog[name])))
    assert (result.kind, result.attempts) == ("bad_args", 0)  # noqa: S101 -- it is a test


@quick
@given(values(format_duration))
def test_reading_undoes_writing(drawn: dict[str, Any]) -> None:
    """The two tools are inverse: `values` draws the arguments as Python values."""
    assert parse_duration(format_duration(**drawn)) == drawn["minutes"]  # noqa: S101 -- it is a test


@quick
@given(values(split_shift))
def test_no_minute_is_lost(drawn: dict[str, Any]) -> None:
    """The shares add up, and no two differ by more than a minute."""
    shares = split_shift(**drawn)
    assert sum(shares) == drawn["minutes"]  # noqa: S101 -- it is a test
    assert max(shares) - min(shares) <= 1  # noqa: S101 -- it is a test


@pytest.mark.parametrize("factor", [1, 3])
def test_a_busy_server_is_asked_again_without_waiting_in_the_test(factor: int) -> None:
    """A fake clock takes the waits of a retry, so the test sees them and takes no time."""
    clock, tries = FakeClock(), []

    def ask_server() -> str:
        """Ask a server that is busy twice."""
        tries.append(clock())
        if len(tries) < 3:
            raise Transient("busy")
        return "answered"

    retry = RetryPolicy(wait_initial=1, factor=factor, wait_jitter=0)
    dispatcher = Dispatcher(Catalog(ask_server), retry=retry, clock=clock, sleep=clock.sleep)
    assert dispatcher.call_sync("ask_server").value == "answered"  # noqa: S101 -- it is a test
    assert [later - earlier for earlier, later in pairwise(tries)] == [1, factor]  # noqa: S101 -- it is a test
    dispatcher.close()


if __name__ == "__main__":
    # The configuration of the project around this folder is left out.
    options = ["-q", "-c", os.devnull, "--rootdir", os.path.dirname(__file__), "-p", "no:cacheprovider"]
    options += ["-W", "ignore::pytest.PytestAssertRewriteWarning"]  # hypothesis is imported above, before pytest starts
    sys.exit(pytest.main([*options, __file__]))
