"""
The messages of a run. They are a conversation that every provider accepts, except in the middle of a turn.

A turn is the model's message with its calls, and the message with their results. Its results are added together. So a
run that ends between two turns has a result for every call.

Marks tell the model where a tool's output begins and ends, so that it cannot mistake the output for anything else. A
mark is random, and it is made after the output is known. So the output cannot contain its mark, even if the tool has
read the conversation.
"""

from __future__ import annotations

import copy
import secrets
from collections.abc import Callable, Iterable, Sequence

from ...providers.messages import AssistantMessage, Message, MessageCache, ToolMessage, UserMessage
from ...results import ToolCall, ToolResult
from ...steps.notes import with_metadata
from .compaction import Compaction, ResultKeeper, compact_messages, size_of
from .kept_messages import MessageSplit, split_messages
from .summaries import Summary
from .valid_messages import collect_call_ids, is_empty, make_valid

__all__ = ["RunConversation", "frame_message", "mark_result"]

_MARK_KEY = "toolkit.frame"


class RunConversation:
    """
    The growing conversation of a run. If it has a summary, its first message shows it.

    With *frame_results*, which may change, the results that are added are put between marks when they are sent.

    Attributes:
        last_prompt: The text of the user's last message; None if there is none.
    """

    def __init__(self, messages: Iterable[Message], *, frame_results: bool, summary: Summary | None = None) -> None:
        self.messages: list[Message] = list(messages)
        self.summary = summary
        self._next_summary_size = 0
        self.frame_results = frame_results
        prompts = (message.text for message in reversed(self.messages) if isinstance(message, UserMessage))
        self.last_prompt = next(prompts, None)
        self._used_ids = collect_call_ids(self.messages)
        self._message_sizes = MessageCache(size_of)
        self._framed_messages = MessageCache(frame_message)

    def add_prompt(self, prompt: UserMessage) -> None:
        self.messages.append(prompt)
        self.last_prompt = prompt.text

    def add_reply(self, reply: AssistantMessage) -> tuple[ToolCall, ...]:
        """Append the model's message and return the calls in it. The caller passes their results to `add_results`."""
        message, calls = make_valid(reply, self._used_ids)
        self._used_ids.update(call.id for call in calls)
        if not is_empty(message):
            self.messages.append(message)
        return calls

    def add_results(self, results: Sequence[ToolResult]) -> None:
        """Append the results of the calls in the last message, in order."""
        message = self.messages[-1]
        assert isinstance(message, AssistantMessage)  # noqa: S101 -- `add_reply` has appended it
        self.messages.append(ToolMessage(tuple(map(self._copy_result, message.calls, results))))

    def replace_result(self, index: int, result: ToolResult) -> None:
        """Replace the waiting result at *index* of the last turn with *result*."""
        calls, results = self.last_turn()
        self.messages[-1] = ToolMessage(
            (*results[:index], self._copy_result(calls[index], result), *results[index + 1 :])
        )

    def _copy_result(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """
        Return a copy of *result* as the conversation keeps it.

        It has the tool name that the model called, because providers compare the two names. It has no `returned` and no
        `full_text`, so that a long conversation does not keep every object alive that a tool returned.
        """
        result_copy = copy.copy(result)
        result_copy.returned = result_copy.full_text = None
        result_copy.tool = call.name
        # A mark that is there already would come from the tool or a hook.
        return mark_result(result_copy) if self.frame_results else with_metadata(result_copy, _MARK_KEY, None)

    def last_turn(self) -> tuple[tuple[ToolCall, ...], tuple[ToolResult, ...]]:
        message, answer = self.messages[-2:]
        assert isinstance(message, AssistantMessage) and isinstance(answer, ToolMessage)  # noqa: S101, PT018 -- own data
        return message.calls, answer.results

    def cut_old_results(
        self, max_characters: int, keep_result: ResultKeeper = lambda result: None
    ) -> Compaction | None:
        """Cut old results if the conversation is longer than *max_characters*. Return what was cut, or None."""
        sizes = self._message_sizes.values_for(self.messages)
        cut = compact_messages(self.messages, max_characters, sizes, keep_result)
        if cut is not None:
            self.messages[:] = cut.messages
        return cut

    def find_old_messages(self, max_characters: int) -> MessageSplit | None:
        """
        Return which messages to sum up if the conversation is longer than *max_characters*.

        Return None if it is short enough, if too little would be saved, or if a summary has just failed. An earlier
        summary is in neither part.
        """
        sizes = self._message_sizes.values_for(self.messages)
        total_size = sum(sizes)
        if total_size <= max_characters or total_size < self._next_summary_size:
            return None
        start = 0 if self.summary is None or self.messages[:1] != [self.summary.to_message()] else 1
        return split_messages(self.messages[start:], sizes[start:], max_characters)

    def apply_summary(self, summary: Summary, kept_messages: Sequence[Message]) -> int:
        """Continue with *summary* and *kept_messages*. Return the number of characters that this saves."""
        size_before = sum(self._message_sizes.values_for(self.messages))
        self.messages[:] = [summary.to_message(), *kept_messages]
        self.summary = summary
        return size_before - sum(self._message_sizes.values_for(self.messages))

    def postpone_summary(self, max_characters: int) -> None:
        """Find no old messages before the conversation has grown by an eighth of *max_characters*."""
        self._next_summary_size = sum(self._message_sizes.values_for(self.messages)) + max_characters // 8

    def framed_messages(self) -> tuple[Message, ...]:
        """Return the messages as they are sent to the model, with marks around results."""
        return tuple(self._framed_messages.values_for(self.messages))


def mark_result(result: ToolResult, *, make_mark: Callable[[], str] = lambda: secrets.token_hex(8)) -> ToolResult:
    """Return a copy of *result* with a new mark. A mark that *result* already has is dropped."""
    mark = make_mark()
    while mark in result.text:
        mark = make_mark()
    return with_metadata(result, _MARK_KEY, mark)


def frame_message(message: Message) -> Message:
    """
    Return *message* as it is sent to the model, with each marked result between its marks.

    A result without a mark gets none here, so that a message that was sent before stays the same.
    """
    if not isinstance(message, ToolMessage) or not any(map(_find_mark, message.results)):
        return message
    return ToolMessage(tuple(map(_frame_result, message.results)))


def _frame_result(result: ToolResult) -> ToolResult:
    mark = _find_mark(result)
    if mark is None:
        return result
    framed_result = copy.copy(result)
    framed_result.text = f'<result id="{mark}">\n{result.text}\n</result id="{mark}">'
    return framed_result


def _find_mark(result: ToolResult) -> str | None:
    mark = (result.metadata or {}).get(_MARK_KEY)
    return mark if isinstance(mark, str) else None
