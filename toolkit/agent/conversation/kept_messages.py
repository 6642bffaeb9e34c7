"""
Which messages of a long conversation stay as they are, and which are summed up.

These stay: the last two turns, every turn with a call that waits for a person, the last plan that the model handed
over, the user's last message with the answer right before it, and as many of the user's other messages as there is
room for. A turn stays as a whole, the calls with their results, so the conversation stays valid. Messages that follow
a pause of the model belong to one turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from ...providers.messages import AssistantMessage, Message, ToolMessage, UserMessage
from ...results import ToolCall, ToolResult
from ..prompts import EXECUTE_PROMPT, EXIT_PLAN

__all__ = ["MessageSplit", "list_plan_calls", "split_messages"]

_WHOLE_TURNS = 2
_USER_SHARE = 4
_WORTHWHILE_SHARE = 4


@dataclass(frozen=True, slots=True)
class MessageSplit:
    """The messages of a conversation that are summed up, and those that stay, both in their order."""

    old: tuple[Message, ...]
    kept: tuple[Message, ...]


def split_messages(messages: Sequence[Message], sizes: Sequence[int], max_characters: int) -> MessageSplit | None:
    """Return which of *messages* to sum up; None if that would save too little to be worth a request."""
    tail_start = _find_tail_start(messages)
    kept_indexes = {*range(tail_start, len(messages)), *_find_plan(messages)}
    user_indexes = [index for index, message in enumerate(messages) if isinstance(message, UserMessage)]
    if user_indexes:
        kept_indexes |= {user_indexes[-1], *_find_answer_before(messages, user_indexes[-1])}
    room = max_characters // _USER_SHARE
    for index in reversed(user_indexes):
        if index in kept_indexes:
            continue
        room -= sizes[index]
        if room < 0:
            break
        kept_indexes.add(index)
    kept_indexes |= {earlier for index in kept_indexes for earlier in _list_paused_before(messages, index)}
    old_indexes = [index for index in range(len(messages)) if index not in kept_indexes]
    if sum(sizes[index] for index in old_indexes) < max_characters // _WORTHWHILE_SHARE:
        return None
    return MessageSplit(
        tuple(messages[index] for index in old_indexes), tuple(messages[index] for index in sorted(kept_indexes))
    )


def _find_tail_start(messages: Sequence[Message]) -> int:
    """Return the index from which on every message stays."""
    turn_starts = [index for index, message in enumerate(messages) if isinstance(message, AssistantMessage)]
    tail_start = turn_starts[-_WHOLE_TURNS:][0] if turn_starts else 0
    for index, message in enumerate(messages[:tail_start]):
        if isinstance(message, ToolMessage) and any(result.kind == "waiting" for result in message.results):
            return index - 1
    return tail_start


def _list_paused_before(messages: Sequence[Message], index: int) -> Iterator[int]:
    """
    Yield the indexes of the messages in which the model paused before it went on with the message at *index*.

    A result of a provider's own tool may be in a later message than its call, and providers refuse it without the call.
    """
    while index > 0 and isinstance(messages[index], AssistantMessage):
        index -= 1
        if isinstance(messages[index], AssistantMessage):
            yield index


def _find_plan(messages: Sequence[Message]) -> Iterator[int]:
    """Yield the indexes of the last turn in which the model handed over a plan, and of the prompt to carry it out."""
    for index in range(len(messages) - 1, -1, -1):
        message = messages[index]
        if isinstance(message, UserMessage) and message.text.startswith(EXECUTE_PROMPT):
            yield index
            yield from _list_turn_before(messages, index)
            return
        if isinstance(message, ToolMessage) and _has_plan(messages[index - 1], message):
            yield from (index - 1, index)
            return


def _list_turn_before(messages: Sequence[Message], index: int) -> range:
    """Return the indexes of the model's message right before *index*, and of the results of its calls."""
    is_answered = index > 0 and isinstance(messages[index - 1], ToolMessage)
    start = index - 2 if is_answered else index - 1
    return range(start, index) if start >= 0 and isinstance(messages[start], AssistantMessage) else range(0)


def list_plan_calls(calls: Iterable[ToolCall], results: Iterable[ToolResult]) -> list[ToolCall]:
    """Return those of *calls* that have handed over a plan, by their *results*."""
    pairs = zip(calls, results, strict=True)
    return [call for call, result in pairs if call.name == EXIT_PLAN and result.kind == "ok"]


def _has_plan(message: Message, answer: ToolMessage) -> bool:
    return isinstance(message, AssistantMessage) and bool(list_plan_calls(message.calls, answer.results))


def _find_answer_before(messages: Sequence[Message], prompt_index: int) -> Iterator[int]:
    """Yield the index of the model's answer that the prompt follows directly. The prompt may refer to it."""
    before = messages[prompt_index - 1] if prompt_index else None
    if isinstance(before, AssistantMessage) and not before.calls:
        yield prompt_index - 1
