"""
A watcher knows what became of each call of a turn, and tells the listener.
"""

from __future__ import annotations

import logging

import pytest

from tests.agent.kit import call
from toolkit.agent.call_watcher import CallWatcher
from toolkit.agent.events import Compacted, Refused, SubRunEvent, ToolFinished, ToolStarted
from toolkit.results import ToolResult

ONE = call("look", what="a")


def summarize(one_call):
    """Sum a call up."""
    return f"calls {one_call.name}"


def test_the_listener_receives_the_start_and_then_the_end_of_a_call():
    events = []
    watcher, result = CallWatcher(events.append), ToolResult("done")
    watcher.record_start(ONE, summarize)
    assert watcher.record_result(ONE, result) is result
    assert events == [ToolStarted(ONE, "calls look"), ToolFinished(ONE, result)]


def test_a_call_is_not_summarized_without_a_listener():
    """The author's summary function may be slow."""
    CallWatcher(None).record_start(ONE, lambda one_call: pytest.fail("there is no reader"))


def test_the_listener_receives_a_refusal_before_the_end_of_the_call():
    events = []
    CallWatcher(events.append).record_result(ONE, ToolResult.failure("safety", "too deep"))
    assert [type(event) for event in events] == [Refused, ToolFinished]
    assert events[0].reason == "too deep"


def test_an_error_of_a_listener_is_logged_and_does_not_end_the_run(caplog):
    def fail(event):
        raise ValueError("no")

    with caplog.at_level(logging.ERROR, logger="toolkit"):
        CallWatcher(fail).publish_event(Compacted(1, 1))
    assert "listener" in caplog.text


def test_a_result_is_recorded_once():
    """A result that was told of while the call ran is not told of again."""
    events, result = [], ToolResult("done")
    watcher = CallWatcher(events.append)
    for _ in range(2):
        assert watcher.record_unless_known(ONE, result) is result
    assert len(events) == 1
    watcher.forget_turn()
    watcher.record_unless_known(ONE, result)
    assert len(events) == 2


@pytest.mark.parametrize(("is_started", "happened"), [(True, "maybe"), (False, "no")])
def test_a_call_without_a_result_gets_one_with_the_reason(is_started, happened):
    """It says whether the call may have happened."""
    watcher = CallWatcher(None)
    if is_started:
        watcher.record_start(ONE, summarize)
    result = watcher.find_or_build_result(ONE, "it was cancelled")
    assert (result.kind, result.error.details["happened"]) == ("cancelled", happened)
    assert "it was cancelled" in result.text


def test_an_overriding_result_counts():
    """It may come before the call ends, and when it ends."""
    watcher, waiting = CallWatcher(None), ToolResult.failure("halted", "stop", call_id=ONE.id)
    watcher.override_result(waiting)
    assert watcher.find_or_build_result(ONE, "it was cancelled") is waiting
    assert watcher.record_result(ONE, ToolResult("done")) is waiting


def test_a_waiting_result_without_a_request_is_not_a_waiting_result():
    """A tool may return any result."""
    result = CallWatcher(None).record_result(ONE, ToolResult("", None, "waiting"))
    assert (result.kind, "does not say for which" in result.text) == ("cancelled", True)


def test_events_of_a_sub_run_name_its_call():
    events = []
    assert CallWatcher(None).build_sub_run_listener("c1") is None
    CallWatcher(events.append).build_sub_run_listener("c1")(Compacted(1, 2))
    assert events == [SubRunEvent("c1", Compacted(1, 2))]
