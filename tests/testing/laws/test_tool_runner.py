"""Running a tool on a machine that is too busy to begin in time."""

from __future__ import annotations

import pytest

from toolkit import Tool, tool
from toolkit.catalog import Catalog
from toolkit.testing import make_result
from toolkit.testing.laws.run_conditions import RunConditions
from toolkit.testing.laws.tool_runner import ToolRunner, _FunctionWatch, _Overdue, open_tool_runner


class BusyMachine:
    """A dispatcher whose first calls get their turn only when their time is over."""

    def __init__(self, watch, function, *, late):
        self._watch = watch
        self._function = watch.wrap(function)
        self._late = late

    def call_sync(self, call):
        """Begin the call, late or in time."""
        if self._late:
            self._late -= 1
            self._watch.begin(0.0)
        return make_result(self._function(**call.arguments))


@pytest.fixture
def count():
    """Return a tool that counts its calls, and the list of them."""
    calls = []

    @tool(catalog=Catalog())
    def count(step: int) -> int:
        """Count."""
        calls.append(step)
        return len(calls)

    return count, calls


@pytest.mark.parametrize(
    ("late", "calls", "is_overdue"),
    [(0, [1], False), (2, [1], False), (3, [], True)],
    ids=["in time", "late", "too late"],
)
def test_a_call_that_begins_late_is_made_again(count, late, calls, is_overdue):
    """The tool is not blamed for it, unless no call begins; and a call that is over does not begin at all."""
    function, numbers = count
    watch, conditions = _FunctionWatch(), RunConditions(timeout_seconds=30)
    runner = ToolRunner(BusyMachine(watch, function, late=late), Catalog(function).get("count"), watch, conditions)
    ran = runner.run({"step": 1})
    assert (numbers, ran.is_overdue, runner.stuck_arguments) == (calls, is_overdue, {"step": 1} if is_overdue else None)


def test_a_function_does_not_begin_when_its_time_is_over(count):
    """It would go on in the background, where it could not be stopped."""
    function, numbers = count
    watch = _FunctionWatch()
    with pytest.raises(_Overdue):
        watch.wrap(function)(step=1)
    assert numbers == []


def test_a_tool_for_the_background_is_tried_in_the_foreground():
    """The laws look at the result of the tool, so no drawn call starts a job."""
    ran = []

    def work(number: int) -> int:
        """Work."""
        ran.append(number)
        return number

    with open_tool_runner(Tool.described(work, background=True), RunConditions(timeout_seconds=20)) as runner:
        outcome = runner.run({"number": 3, "background": True})
    assert (outcome.result.value, ran) == (3, [3])
