"""
The turns of a run that was ended from outside, from the records of its steps.

A run that is stopped by its deadline, is cancelled or has failed has no process that could say how far it came. The
records of its steps have the replies of the model and the results of the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...providers.base import Usage
from ...providers.messages import UserMessage
from ...results import ToolCall, ToolResult
from ...session import Session
from ...steps.notes import detach_notes, read_pause
from ...steps.records import ReplyToPrompts, load_call, load_reply
from ...steps.run_steps import escape_key
from ..conversation.run_conversation import RunConversation
from ..conversation.valid_messages import build_unfinished_result
from .runs import Run

__all__ = ["KeptSteps", "add_kept_turns"]

Record = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptSteps:
    """
    The records of the steps of a run.

    Attributes:
        find: Returns the record of the step with a key; None if it has none.
        has_begun: Returns whether a step with this key has begun.
        records: All records of the run, with those of its sub-runs.
    """

    find: Callable[[str], Record | None]
    has_begun: Callable[[str], bool]
    records: Iterable[Record]


def add_kept_turns(run: Run[Any], steps: KeptSteps, why: str, *, prompt: UserMessage | None = None) -> Run[Any]:
    """
    Return *run*, as it was when it last waited or began, with the turns and the usage that *steps* have.

    A call without a result gets one that says *why*. No call of the returned run waits.

    Args:
        prompt: What the user said after *run* was saved.

    Raises:
        ValueError: A record cannot be read.
    """
    return _Turns(run, steps, why).add(prompt)


class _Turns:
    """The work of `add_kept_turns`."""

    def __init__(self, run: Run[Any], steps: KeptSteps, why: str) -> None:
        self._run = run
        self._steps = steps
        self._why = why
        self._key = escape_key(run.id)
        self._conversation = RunConversation(run.messages, frame_results=False, summary=run.summary)

    def add(self, prompt: UserMessage | None) -> Run[Any]:
        number = self._run.reply_count
        has_more = self._find_reply(number + 1) is not None
        self._settle_waiting(number, has_more=has_more)
        if prompt is not None and has_more:
            self._conversation.add_prompt(prompt)
        while (record := self._find_reply(number + 1)) is not None:
            number += 1
            reply = load_reply(record)
            for message in reply.said if isinstance(reply, ReplyToPrompts) else ():
                self._conversation.add_prompt(message)
            calls = self._conversation.add_reply(reply.message)
            if calls:
                self._conversation.add_results(
                    [self._find_result(self._make_call_key(number, call), call) for call in calls]
                )
        messages, usage = tuple(self._conversation.messages), self._sum_usage()
        return replace(self._run, messages=messages, usage=usage, subs=(), reply_count=number)

    def _find_reply(self, number: int) -> Record | None:
        return self._steps.find(f"{self._key}/reply/{number}")

    def _make_call_key(self, number: int, call: ToolCall) -> str:
        return f"{self._key}/call/{number}.{escape_key(call.id)}"

    def _settle_waiting(self, number: int, *, has_more: bool) -> None:
        """Give a result to each call of the last turn that waited. The turn is left out if nothing became of it."""
        if not any(True for _ in self._run.waiting()):
            return
        calls, results = self._conversation.last_turn()
        found: dict[int, ToolResult] = {}
        for index, (call, result) in enumerate(zip(calls, results, strict=True)):
            if result.kind == "waiting":
                is_held = result.request is not None and result.request.waits_for is not None
                found[index] = (
                    self._find_result(self._make_call_key(number, call), call)
                    if is_held
                    else (self._find_answered(result, self._make_call_key(number, call), call))
                )
        if not has_more and all(_was_not_run(result) for result in found.values()):
            del self._conversation.messages[-2:]
            return
        for index, result in found.items():
            self._conversation.replace_result(index, result)

    def _find_result(self, key: str, call: ToolCall) -> ToolResult:
        record = self._steps.find(key)
        if record is None:
            return build_unfinished_result(call, self._why, was_started=self._steps.has_begun(key))
        return self._find_answered(self._read_result(record), key, call)

    def _find_answered(self, result: ToolResult, call_key: str, call: ToolCall) -> ToolResult:
        """Return *result*, or what came of the call if it waited."""
        while result.kind == "waiting" and result.request is not None:
            key = f"{self._key}/resume/{escape_key(result.request.id)}"
            if (pause := read_pause(result)) is not None:
                key = f"{call_key}/again/{pause.number}"
            record = self._steps.find(key)
            if record is None:
                return build_unfinished_result(call, self._why, was_started=self._steps.has_begun(key))
            result = self._read_result(record)
        result.call_id = call.id
        return result

    def _read_result(self, record: Record) -> ToolResult:
        # The session of the run is not changed: it is over.
        return detach_notes(load_call(record, Session()))[0]

    def _sum_usage(self) -> Usage:
        """Return the tokens of all replies, of sub-runs and of summaries too: each is a step."""
        usage = Usage()
        for record in self._steps.records:
            if "usage" in record:
                usage += load_reply(record).usage
        return usage


def _was_not_run(result: ToolResult) -> bool:
    return result.kind == "cancelled" and result.error is not None and result.error.details.get("happened") == "no"
