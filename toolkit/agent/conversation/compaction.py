"""
Shortens a long conversation by replacing old results with a note that they were cut.

The oldest results are cut first; the last two turns stay whole. A conversation that is too long is cut to about half of
the limit at once. It is not cut a little in every turn, because each cut loses the provider's prompt cache.

What is cut can be kept, so that the model can read it again. The note then names the call that does so.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from ..._plumbing.wording import format_count
from ...formats.result_content import get_found_names
from ...providers.messages import Message, ToolMessage
from ...results import ToolResult
from ...values.part_texts import has_text
from ...values.rendering import as_json

__all__ = ["Compaction", "ResultKeeper", "compact_messages", "size_of"]

ResultKeeper: TypeAlias = Callable[[ToolResult], str | None]
"""A function that keeps the text of a result, and returns how the model reads it again; None if it cannot."""

_WHOLE_TURNS = 2
_MIN_CUT_SIZE = 200


@dataclass(frozen=True, slots=True)
class Compaction:
    """A conversation after the cut, with the number of results that were cut and of characters saved."""

    messages: tuple[Message, ...]
    results: int
    characters: int


def compact_messages(
    messages: Sequence[Message],
    max_characters: int,
    sizes: Sequence[int] | None = None,
    keep_result: ResultKeeper = lambda result: None,
) -> Compaction | None:
    """
    Return *messages* with old results cut if they are longer than *max_characters*; None if nothing was cut.

    *sizes* are the sizes of the messages, if the caller has them. *keep_result* is called with each result that is cut.
    """
    sizes = [size_of(message) for message in messages] if sizes is None else sizes
    total_size = sum(sizes)
    if total_size <= max_characters:
        return None
    excess = total_size - max_characters // 2
    turns = [index for index, message in enumerate(messages) if isinstance(message, ToolMessage)]
    shortened, results, characters = list(messages), 0, 0
    for index in turns[:-_WHOLE_TURNS]:
        message = messages[index]
        if characters >= excess or not isinstance(message, ToolMessage):
            break
        cut = tuple(_cut_result(result, keep_result) for result in message.results)
        shortened[index] = ToolMessage(cut)
        results += sum(new is not old for new, old in zip(cut, message.results, strict=True))
        characters += sizes[index] - size_of(shortened[index])
    return Compaction(tuple(shortened), results, characters) if results else None


def size_of(message: Message) -> int:
    """Return about how many characters *message* has as JSON, which is how a provider receives it."""
    if isinstance(message, ToolMessage):
        return sum(map(_measure_result, message.results))
    return len(json.dumps(as_json(message.to_json())))


def _measure_result(result: ToolResult) -> int:
    # The value is not counted, because the text has the same content.
    return len(result.text) + sum(len(json.dumps(as_json(part.to_json()))) for part in result.parts)


def _cut_result(result: ToolResult, keep_result: ResultKeeper) -> ToolResult:
    size = _measure_result(result)
    if size <= _MIN_CUT_SIZE or result.kind == "waiting":
        return result
    has_media = any(not has_text(part) for part in result.parts)
    # An image or sound is not kept, and the text alone may say no more than the note.
    reading_call = keep_result(result) if len(result.text) > _MIN_CUT_SIZE else None
    advice = "call it again if you need them" if reading_call is None else f"{reading_call} shows them"
    if reading_call is not None and has_media:
        advice += ", without images, sound and files"
    short_result = copy.copy(result)
    count = format_count(size, "character")
    short_result.text = f"[{count} of `{result.tool}` were cut to save room; {advice}]"
    short_result.parts, short_result.truncated = (), True
    # A provider that loads tools itself has to be told again which tools were found.
    names = get_found_names(result)
    short_result.value = {"tools": [{"name": name} for name in names]} if names else None
    return short_result
