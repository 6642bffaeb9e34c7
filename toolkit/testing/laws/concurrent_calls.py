"""
The law `concurrent`: calls that may run side by side answer as they do one by one.

Drawn calls run one after the other, and then together, each for a user and in a session of its own. An answer that
differs is a fault, unless it also differs from run to run without a neighbour, as a counter or a clock does. Only that
part of an answer is left out, so a wrong name beside a time stamp is still a fault.
"""

from __future__ import annotations

import contextlib
import json
import logging
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..._plumbing.wording import format_seconds
from ...catalog import Catalog
from ...dispatcher import Dispatcher
from ...errors import DefinitionError
from ...functions.background_parameter import BACKGROUND
from ...policies.retry import RetryPolicy
from ...results import ToolCall, ToolResult
from ...session import Session
from ...spec import Tool
from ..strategies.arguments import arguments
from ..strategies.base import Strategy, Unsupported, st
from .run_laws import RunConditions
from .schema_laws import Effort
from .smallest_example import find_smallest
from .tool_runner import silence_logger
from .violations import Violation

__all__ = ["find_concurrency_faults"]

_MAX_SECONDS = 20.0
_MAX_CALLS = 4
_MAX_ROUNDS = 20
"""How often suspicious calls are run again one by one, to see whether their answers change by themselves."""
_MAX_SMALLER = 100
"""How many batches are tried to make a fault smaller."""
_GRACE_SECONDS = 0.5
_SWITCH_SECONDS = 1e-5
_UNSTABLE = object()
"""Stands for a part of an answer that differs from run to run."""
_NO_VALUE = object()


@dataclass(frozen=True, slots=True)
class _Fault:
    """What is wrong with the call at *index* of a drawn batch."""

    index: int
    message: str


def find_concurrency_faults(tools: Sequence[Tool], effort: Effort, conditions: RunConditions) -> Iterator[Violation]:
    """
    Run calls of *tools* one by one and together, and yield a violation if an answer differs.

    The batches mix the tools. With one tool, its calls run beside each other.
    """
    try:
        strategy = _draw_batches([(tool, arguments(tool)) for tool in tools])
        with _open_comparison(tools, conditions) as comparison:
            # One batch takes as long as several calls, and what calls share shows in nearly every batch.
            examples = -(-effort.examples // _MAX_CALLS)
            example = find_smallest(strategy, comparison.find_fault, examples=examples, seed=effort.seed)
    except (DefinitionError, Unsupported):
        return  # the laws `runnable` and `callable` report it
    if example is not None:
        calls, fault = example
        name, call_arguments = calls[fault.index]
        yield Violation(
            tool=name,
            rule="concurrent",
            message=fault.message,
            remedy="keep what belongs to one call in local variables or in a `ContextVar`, hold a lock from the first "
            "use of what calls share to the last, or state `concurrency_safe=False`",
            arguments=call_arguments,
        )


def _draw_batches(strategies: Sequence[tuple[Tool, Strategy]]) -> st.SearchStrategy[list[tuple[str, Any]]]:
    calls = st.one_of([st.tuples(st.just(tool.name), strategy) for tool, strategy in strategies])
    return st.lists(calls, min_size=2, max_size=max(_MAX_CALLS, min(len(strategies), 2 * _MAX_CALLS)))


@contextlib.contextmanager
def _open_comparison(tools: Sequence[Tool], conditions: RunConditions) -> Iterator[_BatchComparison]:
    """Yield a comparison that has a dispatcher of its own. The logger `toolkit` logs nothing meanwhile."""
    # A call that waits for its turn may take longer than its tool states. That is no wrong answer.
    unlimited = [replace(tool, facts=replace(tool.facts, timeout_seconds=None)) for tool in tools]
    dispatcher = Dispatcher(
        Catalog(*unlimited), resources=conditions.resources, repair=False, retry=RetryPolicy(attempts=1)
    )
    comparison = _BatchComparison(dispatcher, conditions.timeout_seconds)
    with silence_logger(logging.getLogger("toolkit")):
        yield comparison
    if comparison.is_stuck:  # `close` waits for the calls under way, and these may never end
        threading.Thread(target=dispatcher.close, daemon=True).start()
    else:
        dispatcher.close()


class _BatchComparison:
    """
    Runs batches one by one and together, and compares the answers.

    Attributes:
        is_stuck: Whether a batch did not end in time. No further batch is run then.
    """

    def __init__(self, dispatcher: Dispatcher, timeout_seconds: float) -> None:
        self._dispatcher = dispatcher
        self._timeout_seconds = timeout_seconds
        self._ends_at = time.monotonic() + _MAX_SECONDS
        self._rounds = _MAX_ROUNDS
        self._batches_left: int | None = None
        self.is_stuck = False

    def find_fault(self, batch: Sequence[tuple[str, Any]]) -> _Fault | None:
        """Return which call of *batch* is answered in another way beside the others; None if none is."""
        if self.is_stuck or self._batches_left == 0 or time.monotonic() > self._ends_at:
            return None
        if self._batches_left is not None:
            self._batches_left -= 1
        alone = self._run_alone(batch)
        self.is_stuck = self.is_stuck or any(answer["kind"] == "timeout" for answer in alone)
        if self.is_stuck or not alone:
            return None  # the other laws report a call that does not end, or ends the program
        limit = self._timeout_seconds * len(batch)
        together = self._run(batch, lambda calls: self._dispatcher.call_many_sync(calls, timeout_seconds=limit))
        for index, answer in enumerate(together or alone):
            if not together or answer["kind"] == "timeout":
                self.is_stuck = True
                beside = _describe_others(batch, index)
                return _Fault(index, f"beside {beside} it did not end within {format_seconds(limit)}")
        return self._confirm(batch, alone, together)

    def _confirm(self, batch: Sequence[tuple[str, Any]], alone: list[Any], together: list[Any]) -> _Fault | None:
        """Return the first difference that stays when the calls run again one by one, several times."""
        for _ in range(self._rounds):
            if not any(map(_differ, alone, together)):
                return None
            again = self._run_alone(batch)
            if not again:
                return None
            alone = list(map(_keep_stable, alone, again))
        differing = (index for index, answers in enumerate(zip(alone, together, strict=True)) if _differ(*answers))
        index = next(differing, None)
        if index is None:
            return None
        if self._batches_left is None:  # the fault is certain, and from here on it is only made smaller
            self._rounds, self._batches_left = 1, _MAX_SMALLER
        return _describe_difference(batch, index, alone, together)

    def _run_alone(self, batch: Sequence[tuple[str, Any]]) -> list[Any]:
        def run(calls: Sequence[ToolCall]) -> list[ToolResult]:
            return [self._dispatcher.call_sync(call, timeout_seconds=self._timeout_seconds) for call in calls]

        return self._run(batch, run)

    def _run(
        self, batch: Sequence[tuple[str, Any]], run_calls: Callable[[Sequence[ToolCall]], list[ToolResult]]
    ) -> list[Any]:
        """Return the answers of *batch*; an empty list if it does not end, or raises what ends a program."""
        calls = [self._build_call(number, *call) for number, call in enumerate(batch, 1)]
        answers: list[Any] = []

        def run() -> None:
            with contextlib.suppress(BaseException):  # a tool may raise `SystemExit`
                answers.extend(map(_read_answer, run_calls(calls)))

        # The calls have a thread of their own, because an async function that never awaits blocks the dispatcher.
        thread = threading.Thread(target=run, name="trying calls together", daemon=True)
        with _switching_often():
            thread.start()
            thread.join(self._timeout_seconds * len(batch) + _GRACE_SECONDS)
        self.is_stuck = self.is_stuck or thread.is_alive()
        return [] if thread.is_alive() else answers

    def _build_call(self, number: int, name: str, call_arguments: Mapping[str, Any]) -> ToolCall:
        user = f"user-{number}"
        has_background = self._dispatcher.catalog[name].facts.background
        sent = {**call_arguments, BACKGROUND: False} if has_background else dict(call_arguments)
        return ToolCall(name, sent, f"call_{number}", Session(id=f"session-{number}", principal=user), user)


@contextlib.contextmanager
def _switching_often() -> Iterator[None]:
    """Let Python change between threads more often inside the block, so that a race between them shows sooner."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(_SWITCH_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


def _read_answer(result: ToolResult) -> dict[str, Any]:
    data = result.to_json()
    return {name: data[name] for name in ("kind", "value", "parts", "text")}


def _differ(alone: Mapping[str, Any], together: Mapping[str, Any]) -> bool:
    # A tool that is busy says so with `Transient`, and the dispatcher tries again later.
    return together["kind"] != "transient" and _find_difference(alone, together) is not None


def _list_members(value: Any) -> dict[Any, Any] | None:
    """Return the members of a JSON object or array by their keys; None if *value* is neither."""
    if isinstance(value, Mapping):
        return dict(value)
    return dict(enumerate(value)) if isinstance(value, list) else None


def _keep_stable(first: Any, second: Any) -> Any:
    """Return *first* with `_UNSTABLE` in place of each part in which *second* differs."""
    members, others = _list_members(first), _list_members(second)
    if members is None or others is None or members.keys() != others.keys():
        return first if first is _UNSTABLE or _find_difference(first, second) is None else _UNSTABLE
    stable = {key: _keep_stable(value, others[key]) for key, value in members.items()}
    return stable if isinstance(first, Mapping) else list(stable.values())


def _find_difference(alone: Any, together: Any) -> tuple[Any, ...] | None:
    """Return the path to the first part of *alone* that is stable and differs in *together*; None if none does."""
    if alone is _UNSTABLE:
        return None
    members, others = _list_members(alone), _list_members(together)
    if members is None or others is None:
        # In Python `1 == True`, and NaN differs from itself.
        is_same = type(alone) is type(together) and (alone == together or (alone != alone and together != together))  # noqa: PLR0124
        return None if is_same else ()
    if members.keys() != others.keys():
        return ()
    paths = ((key, _find_difference(value, others[key])) for key, value in members.items())
    return next(((key, *path) for key, path in paths if path is not None), None)


def _describe_difference(
    batch: Sequence[tuple[str, Any]], index: int, alone: Sequence[Any], together: Sequence[Any]
) -> _Fault:
    path = _find_difference(alone[index], together[index]) or ()
    usual, actual = _find_part(alone[index], path), _find_part(together[index], path)
    owner = next((other for other in range(len(batch)) if _is_same(_find_part(alone[other], path), actual)), None)
    foreign = "" if owner is None else f", which is the answer of {_describe_call(owner, *batch[owner])}"
    place = "".join(f"[{key!r}]" for key in path[1:])
    part = f" at {place}" if place else ""
    message = (
        f"beside {_describe_others(batch, index)} it answered {_to_text(actual)}{part}{foreign}; "
        f"alone it answers {_to_text(usual)}"
    )
    return _Fault(index, message)


def _is_same(value: Any, other: Any) -> bool:
    return value is not _UNSTABLE and value is not _NO_VALUE and _find_difference(value, other) is None


def _find_part(answer: Any, path: Sequence[Any]) -> Any:
    for key in path:
        answer = (_list_members(answer) or {}).get(key, _NO_VALUE)
    return answer


def _describe_others(batch: Sequence[tuple[str, Any]], index: int) -> str:
    return ", ".join(_describe_call(other, *call) for other, call in enumerate(batch) if other != index)


def _describe_call(index: int, name: str, call_arguments: Mapping[str, Any]) -> str:
    return f"`{name}({_to_text(call_arguments)})` of user-{index + 1}"


def _to_text(value: Any) -> str:
    text = json.dumps(value, default=lambda part: "..." if part is _UNSTABLE else repr(part), ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:200]}..."
