"""Test doubles: functions that build calls and results, a clock, and a hook that records calls."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .._plumbing.wording import format_count
from ..decisions import ApprovalRequest
from ..results import Kind, ToolCall, ToolResult
from ..session import Session
from ..values.rendering import as_json, as_text
from ..values.strictjson.checks import copy_json

__all__ = [
    "FakeClock",
    "Recorded",
    "Recorder",
    "assert_called",
    "make_call",
    "make_error",
    "make_result",
    "make_waiting",
]


def make_call(
    name: str = "probe",
    arguments: Any = None,
    *,
    id: str = "call_1",  # noqa: A002 -- `ToolCall` calls the field `id`, as everyone does
    session: Session | None = None,
    principal: str | None = None,
) -> ToolCall:
    """Build a call of the tool *name*."""
    return ToolCall(name, arguments, id, session, principal)


def make_result(value: Any = None, *, tool: str = "probe", call_id: str = "call_1", **fields: Any) -> ToolResult:
    """Build the result of a successful call: *value* in JSON form and its text, and further *fields*."""
    form = as_json(value)
    return ToolResult(fields.pop("text", as_text(form)), form, tool=tool, call_id=call_id, attempts=1, **fields)


def make_error(
    kind: Kind, message: str = "it went wrong", *, tool: str = "probe", call_id: str = "call_1", **fields: Any
) -> ToolResult:
    """Build the result of a call that failed, with the text that the dispatcher would give it, and further *fields*."""
    return ToolResult.failure(kind, message, tool=tool, call_id=call_id, **fields)


def make_waiting(
    reason: str = "a person has to agree", *, tool: str = "probe", call_id: str = "call_1", **request: Any
) -> ToolResult:
    """Build the result of a call that waits for a *reason*; *request* holds further fields of its `ApprovalRequest`."""
    approval_request = ApprovalRequest(tool=tool, call_id=call_id, reason=reason, **request)
    return ToolResult(
        f"waiting for approval: {reason}", None, "waiting", tool=tool, call_id=call_id, request=approval_request
    )


class FakeClock:
    """
    A clock and a `sleep` that moves it forward: `Dispatcher(catalog, clock=clock, sleep=clock.sleep)`.

    Attributes:
        now: The time that the clock shows, in seconds.
        slept: The length of each sleep in seconds, in the order of the sleeps.
    """

    def __init__(self, now: float = 1000.0) -> None:
        self.now = now
        self.slept: list[float] = []

    def __call__(self) -> float:
        return self.now

    async def sleep(self, seconds: float) -> None:
        """Move the clock forward by *seconds*, and return at once."""
        self.slept.append(seconds)
        self.advance(seconds)

    def advance(self, seconds: float) -> None:
        """Move the clock forward by *seconds*; raise `ValueError` if they are negative."""
        if seconds < 0:
            raise ValueError(f"time does not run backwards; got {seconds}")
        self.now += seconds


@dataclass(frozen=True, slots=True)
class Recorded:
    """
    One recorded call and its result.

    Attributes:
        name: The name under which the tool was called.
        arguments: A copy of the call's arguments, after repairs and hooks.
        result: The result of the call.
    """

    name: str
    arguments: Any
    result: ToolResult

    def __str__(self) -> str:
        return f"{self.name}({_to_json_text(self.arguments)}) -> {self.result.kind}"


class Recorder:
    """
    A hook that records every call: `Dispatcher(catalog, hooks=[recorder])`.

    Attributes:
        calls: The recorded calls, in the order in which they ended.
    """

    def __init__(self) -> None:
        self.calls: list[Recorded] = []

    def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        self.calls.append(Recorded(call.name, copy_json(call.arguments), result))
        return result

    def names(self) -> list[str]:
        """Return the names of the tools that were called, one for each call."""
        return [call.name for call in self.calls]

    def of(self, name: str) -> list[Recorded]:
        """Return the calls of the tool *name*."""
        return [call for call in self.calls if call.name == name]

    def clear(self) -> None:
        """Forget all recorded calls."""
        self.calls.clear()

    def __iter__(self) -> Iterator[Recorded]:
        return iter(self.calls)

    def __len__(self) -> int:
        return len(self.calls)


def assert_called(
    recorder: Recorder,
    name: str,
    arguments: Mapping[str, Any] | None = None,
    *,
    partly: bool = False,
    times: int | None = None,
    kind: Kind | None = None,
) -> Recorded | None:
    """
    Raise `AssertionError` unless the tool *name* was called, with *arguments* if the test gives them.

    Args:
        recorder: The hook that recorded the calls.
        name: The name under which the tool was called.
        arguments: The exact arguments of the call, in JSON form. None accepts any arguments.
        partly: Whether the call may have had further arguments besides these.
        times: The exact number of such calls; 0 means that there must be none. None means at least one.
        kind: The result kind with which these calls must have ended. None accepts any kind.

    Returns:
        The first such call; None if *times* is 0.
    """
    __tracebackhide__ = True  # pytest then shows the line of the test, not the lines of this function
    matches = [call for call in recorder.of(name) if _is_match(call, arguments, partly, kind)]
    if len(matches) == times or (times is None and matches):
        return matches[0] if matches else None
    expectation = f"{name}({'...' if arguments is None else _to_json_text(arguments)})" + (
        f" -> {kind}" if kind else ""
    )
    count_text = "" if times is None else f" {format_count(times, 'time')}, but {format_count(len(matches), 'time')}"
    raise AssertionError(
        "\n".join([f"expected {expectation}{count_text}", *_describe_calls(recorder, name, arguments, partly, kind)])
    )


def _is_match(call: Recorded, arguments: Mapping[str, Any] | None, partly: bool, kind: Kind | None) -> bool:
    if kind is not None and call.result.kind != kind:
        return False
    if arguments is None:
        return True
    actual = _select_arguments(call, arguments, partly)
    # The JSON texts are compared, because in Python `1 == True`.
    return _to_json_text(actual) == _to_json_text(dict(arguments))


def _select_arguments(call: Recorded, arguments: Mapping[str, Any], partly: bool) -> Any:
    """Return the arguments of *call* that are compared with *arguments*."""
    if partly and isinstance(call.arguments, dict):
        return {key: value for key, value in call.arguments.items() if key in arguments}
    return call.arguments


def _describe_calls(
    recorder: Recorder, name: str, arguments: Mapping[str, Any] | None, partly: bool, kind: Kind | None
) -> Iterator[str]:
    if not recorder.calls:
        yield "nothing was called"
        return
    yield "what was called:"
    yield from (f"  {number}. {call}" for number, call in enumerate(recorder, 1))
    if arguments is not None and recorder.of(name):
        expected = _to_json_lines(dict(arguments))
        calls = [
            (call.result.kind, _to_json_lines(_select_arguments(call, arguments, partly))) for call in recorder.of(name)
        ]
        actual_kind, called = max(calls, key=lambda pair: difflib.SequenceMatcher(None, expected, pair[1]).ratio())
        if called == expected:
            if kind not in (None, actual_kind):
                yield f"the arguments fit, but it ended as `{actual_kind}`"
            return
        yield f"the nearest call of {name} (- expected, + called):"
        yield from (f"  {line}" for line in difflib.ndiff(expected, called) if line[0] != "?")


def _to_json_text(value: Any) -> str:
    return json.dumps(value, sort_keys=True, default=repr)


def _to_json_lines(value: Any) -> list[str]:
    return json.dumps(value, sort_keys=True, indent=2, default=repr).splitlines()
