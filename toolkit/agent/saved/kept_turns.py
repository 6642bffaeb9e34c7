"""
The turns of a run that was ended from outside, from the records of its steps.

A run that is stopped by its deadline, is cancelled or has failed has no process that could say how far it came. The
records of its steps have the replies of the model and the results of the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
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

__all__ = ["KeptTurns"]

Record = Mapping[str, Any]


@dataclass(eq=False)
class KeptTurns:
    """
    The turns of *run* since it last waited or began. A call without a result gets one that says *why*.

    Attributes:
        records: The records of the steps, with those of sub-runs, by their keys; None for a step that has begun only.
        shorten_key: Returns the key of *records* that stands for the key of a step.
    """

    run: Run[Any]
    records: Mapping[str, Record | None]
    why: str
    shorten_key: Callable[[str], str]

    def __post_init__(self) -> None:
        self._key = escape_key(self.run.id)
        self._conversation = RunConversation(self.run.messages, frame_results=False, summary=self.run.summary)

    def add(self, prompt: UserMessage | None) -> Run[Any]:
        """Return the run with these turns and their usage, and with *prompt*, which came later. No call of it waits."""
        number = self.run.reply_count
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
        return replace(self.run, messages=messages, usage=usage, subs=(), reply_count=number)

    def _find_record(self, key: str) -> Record | None:
        return self.records.get(self.shorten_key(key))

    def _find_reply(self, number: int) -> Record | None:
        return self._find_record(f"{self._key}/reply/{number}")

    def _make_call_key(self, number: int, call: ToolCall) -> str:
        return f"{self._key}/call/{number}.{escape_key(call.id)}"

    def _settle_waiting(self, number: int, *, has_more: bool) -> None:
        """Give a result to each call of the last turn that waited. The turn is left out if nothing became of it."""
        if not any(True for _ in self.run.waiting()):
            return
        calls, results = self._conversation.last_turn()
        settled: dict[int, ToolResult] = {}
        for index, (call, result) in enumerate(zip(calls, results, strict=True)):
            if result.kind == "waiting":
                key = self._make_call_key(number, call)
                is_held = result.request is not None and result.request.waits_for is not None
                settled[index] = self._find_result(key, call) if is_held else self._find_answered(result, key, call)
        if not has_more and all(_was_not_run(result) for result in settled.values()):
            del self._conversation.messages[-2:]
            return
        for index, result in settled.items():
            self._conversation.replace_result(index, result)

    def _find_result(self, key: str, call: ToolCall) -> ToolResult:
        record = self._find_record(key)
        if record is None:
            return self._build_unfinished(key, call)
        return self._find_answered(self._read_result(record), key, call)

    def _find_answered(self, result: ToolResult, call_key: str, call: ToolCall) -> ToolResult:
        """Return *result*, or what came of the call if it waited."""
        while result.kind == "waiting" and result.request is not None:
            key = f"{self._key}/resume/{escape_key(result.request.id)}"
            if (pause := read_pause(result)) is not None:
                key = f"{call_key}/again/{pause.number}"
            record = self._find_record(key)
            if record is None:
                return self._build_unfinished(key, call)
            result = self._read_result(record)
        result.call_id = call.id
        return result

    def _build_unfinished(self, key: str, call: ToolCall) -> ToolResult:
        return build_unfinished_result(call, self.why, was_started=self.shorten_key(key) in self.records)

    def _read_result(self, record: Record) -> ToolResult:
        # The session of the run is not changed: it is over.
        return detach_notes(load_call(record, Session()))[0]

    def _sum_usage(self) -> Usage:
        """Return the tokens of all replies, of sub-runs and of summaries too: each is a step."""
        usage = Usage()
        for record in self.records.values():
            if record is not None and "usage" in record:
                usage += load_reply(record).usage
        return usage


def _was_not_run(result: ToolResult) -> bool:
    return result.kind == "cancelled" and result.error is not None and result.error.details.get("happened") == "no"
