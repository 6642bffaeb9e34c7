"""
The law `concurrent`: calls that may run side by side answer as they do one by one.

Drawn calls run one after the other, and then together, each for a user and in a session of its own. An answer that
differs is a fault, unless it also differs from run to run without a neighbour, as a counter or a clock does. Only that
part of an answer is left out, so a wrong name beside a time stamp is still a fault.
"""

from __future__ import annotations

import contextlib
import json
import math
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from ..._plumbing.wording import format_seconds
from ...errors import DefinitionError
from ...results import ToolCall, ToolResult
from ...spec import Tool
from ..strategies.arguments import arguments
from ..strategies.base import Unsupported, st
from .run_conditions import RunConditions
from .smallest_example import Effort, find_smallest
from .tool_runner import build_trial_call, use_quietly
from .violations import Fault

__all__ = ["find_concurrency_faults"]

_MAX_SECONDS = 20.0
_MAX_CALLS = 4
_MAX_ROUNDS = 20
"""How often suspicious calls are run again one by one, to see whether their answers change by themselves."""
_MAX_SMALLER = 100
"""How many batches are tried to make a fault smaller."""
_GRACE_SECONDS = 0.5
_SWITCH_SECONDS = 1e-5
_REMEDY = (
    "keep what belongs to one call in local variables or in a `ContextVar`, hold a lock from the first use of what "
    "calls share to the last, or state `concurrency_safe=False`"
)
_NO_VALUE = object()

_Call: TypeAlias = tuple[str, Mapping[str, Any]]
_Path: TypeAlias = tuple[Any, ...]
_Answer: TypeAlias = dict[str, Any]


def find_concurrency_faults(
    tools: Sequence[Tool], effort: Effort, conditions: RunConditions
) -> Iterator[tuple[Tool, Fault]]:
    """
    Run calls of *tools* one by one and together, and yield a fault if an answer differs.

    The batches mix the tools. With one tool, its calls run beside each other.
    """
    try:
        calls = st.one_of([st.tuples(st.just(tool.name), arguments(tool)) for tool in tools])
        batches = st.lists(calls, min_size=2, max_size=max(_MAX_CALLS, min(len(tools), 2 * _MAX_CALLS)))
        comparison = _BatchComparison(tools, conditions)
        with use_quietly(comparison.dispatcher, lambda: comparison.is_stuck):
            # One batch takes as long as several calls, and what calls share shows in nearly every batch.
            batch_effort = replace(effort, examples=-(-effort.examples // _MAX_CALLS))
            example = find_smallest(batches, comparison.find_fault, batch_effort)
    except (DefinitionError, Unsupported):
        return  # the laws `runnable` and `callable` report it
    if example is not None:
        batch, (index, message) = example
        name, call_arguments = batch[index]
        (tool,) = (tool for tool in tools if tool.name == name)
        yield tool, Fault("concurrent", message, _REMEDY, arguments=call_arguments)


class _BatchComparison:
    """
    Runs batches one by one and together, and compares the answers.

    Attributes:
        dispatcher: Runs the calls.
        is_stuck: Whether a batch did not end in time. No further batch is run then.
    """

    def __init__(self, tools: Sequence[Tool], conditions: RunConditions) -> None:
        # A call that waits for its turn may take longer than its tool states. That is no wrong answer.
        unlimited = [replace(tool, facts=replace(tool.facts, timeout_seconds=None)) for tool in tools]
        self.dispatcher = conditions.build_dispatcher(*unlimited)
        self.is_stuck = False
        self._timeout_seconds = conditions.timeout_seconds
        self._answers = conditions.answers
        self._ends_at = time.monotonic() + _MAX_SECONDS
        self._rounds = _MAX_ROUNDS
        self._batches_left = math.inf

    def find_fault(self, batch: Sequence[_Call]) -> tuple[int, str] | None:
        """Return the index of a call that is answered in another way beside the others, and what is wrong, or None."""
        if self.is_stuck or self._batches_left <= 0 or time.monotonic() > self._ends_at:
            return None
        self._batches_left -= 1
        alone = self._run_alone(batch)
        self.is_stuck = self.is_stuck or any(answer["kind"] == "timeout" for answer in alone)
        if self.is_stuck or not alone:
            return None  # the other laws report a call that does not end, or ends the program
        limit = self._timeout_seconds * len(batch)
        together = self._run(batch, lambda calls: self.dispatcher.call_many_sync(calls, timeout_seconds=limit))
        for index, answer in enumerate(together or alone):
            if not together or answer["kind"] == "timeout":
                self.is_stuck = True
                return index, f"beside {_describe_others(batch, index)} it did not end within {format_seconds(limit)}"
        difference = self._find_lasting_difference(batch, alone, together)
        if difference is None:
            return None
        # The fault is certain. From here on the batch is only made smaller.
        self._rounds, self._batches_left = 1, min(self._batches_left, _MAX_SMALLER)
        index, path = difference
        return index, _describe_difference(batch, index, path, alone, together)

    def _find_lasting_difference(
        self, batch: Sequence[_Call], alone: Sequence[_Answer], together: Sequence[_Answer]
    ) -> tuple[int, _Path] | None:
        """Return the call and the path of the first difference that stays when the calls run alone several times."""
        unstable: list[set[_Path]] = [set() for _ in batch]
        for round_number in range(self._rounds + 1):
            paths = map(_find_difference, alone, together, unstable)
            difference = next(((index, path) for index, path in enumerate(paths) if path is not None), None)
            if difference is None or round_number == self._rounds:
                return difference
            again = self._run_alone(batch)
            if not again:
                return None
            for changed_paths, first, second in zip(unstable, alone, again, strict=True):
                changed_paths.update(_list_differences(first, second))
        return None

    def _run_alone(self, batch: Sequence[_Call]) -> list[_Answer]:
        def run(calls: Sequence[ToolCall]) -> list[ToolResult]:
            results = [self.dispatcher.call_sync(call, timeout_seconds=self._timeout_seconds) for call in calls]
            for result in results:
                self._answers.add(result)
            return results

        return self._run(batch, run)

    def _run(
        self, batch: Sequence[_Call], run_calls: Callable[[Sequence[ToolCall]], list[ToolResult]]
    ) -> list[_Answer]:
        """Return the answers of *batch*; an empty list if it does not end, or raises what ends a program."""
        tools = self.dispatcher.catalog
        calls = [build_trial_call(tools[name], sent, number) for number, (name, sent) in enumerate(batch, 1)]
        answers: list[_Answer] = []

        def run() -> None:
            with contextlib.suppress(BaseException):  # a tool may raise `SystemExit`
                results = [result.to_json() for result in run_calls(calls)]
                answers.extend({name: data[name] for name in ("kind", "value", "parts", "text")} for data in results)

        # The calls have a thread of their own, because an async function that never awaits blocks the dispatcher.
        thread = threading.Thread(target=run, name="trying calls together", daemon=True)
        switch_seconds = sys.getswitchinterval()
        sys.setswitchinterval(_SWITCH_SECONDS)  # a race between threads shows sooner
        try:
            thread.start()
            thread.join(self._timeout_seconds * len(batch) + _GRACE_SECONDS)
        finally:
            sys.setswitchinterval(switch_seconds)
        self.is_stuck = self.is_stuck or thread.is_alive()
        return [] if thread.is_alive() else answers


def _find_difference(alone: _Answer, together: _Answer, unstable: set[_Path]) -> _Path | None:
    """Return the path of the first difference that is not inside one of the *unstable* parts; None if there is none."""
    if together["kind"] == "transient":
        return None  # a tool that is busy says so, and the dispatcher tries again later
    for path in _list_differences(alone, together):
        if not any(path[:length] in unstable for length in range(len(path) + 1)):
            return path
    return None


def _list_differences(first: _Answer, second: _Answer) -> list[_Path]:
    """Return the paths of the parts of *first* that *second* does not have, or has in another form."""
    others = dict(_list_parts(second))
    return [path for path, part in _list_parts(first) if others.get(path) != part]


def _list_parts(value: Any, path: _Path = ()) -> Iterator[tuple[_Path, str]]:
    """Yield each part of a JSON value by its path: an object or array by its keys, anything else as JSON."""
    members = _list_members(value)
    if members is None:  # in JSON `1` differs from `true`, and NaN is NaN
        yield path, _to_text(value)
        return
    yield path, f"{type(value).__name__} of {sorted(members)}"
    for key, member in members.items():
        yield from _list_parts(member, (*path, key))


def _list_members(value: Any) -> dict[Any, Any] | None:
    """Return the members of a JSON object or array by their keys; None if *value* is neither."""
    if isinstance(value, Mapping):
        return dict(value)
    return dict(enumerate(value)) if isinstance(value, list) else None


def _find_part(answer: Any, path: _Path) -> Any:
    for key in path:
        answer = (_list_members(answer) or {}).get(key, _NO_VALUE)
    return answer


def _describe_difference(
    batch: Sequence[_Call], index: int, path: _Path, alone: Sequence[_Answer], together: Sequence[_Answer]
) -> str:
    usual, actual = _find_part(alone[index], path), _find_part(together[index], path)
    owner = next((number for number, answer in enumerate(alone) if _find_part(answer, path) == actual), None)
    foreign = "" if owner is None else f", which is the answer of {_describe_call(owner, *batch[owner])}"
    place = "".join(f"[{key!r}]" for key in path[1:])
    part = f" at {place}" if place else ""
    beside = _describe_others(batch, index)
    return f"beside {beside} it answered {_shorten(actual)}{part}{foreign}; alone it answers {_shorten(usual)}"


def _describe_others(batch: Sequence[_Call], index: int) -> str:
    return ", ".join(_describe_call(other, *call) for other, call in enumerate(batch) if other != index)


def _describe_call(index: int, name: str, call_arguments: Mapping[str, Any]) -> str:
    return f"`{name}({_shorten(call_arguments)})` of user-{index + 1}"


def _to_text(value: Any) -> str:
    return json.dumps(value, default=repr, ensure_ascii=False)


def _shorten(value: Any) -> str:
    text = _to_text(value)
    return text if len(text) <= 200 else f"{text[:200]}..."
