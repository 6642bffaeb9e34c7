"""
Makes room in a long conversation: old results are cut, and say so.

The oldest go first, the last turns stay whole. Once the conversation is too
long it is cut to half, and not a little every turn: each cut costs the
provider's cache of the prompt.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from dataclasses import dataclass

from ..providers.messages import Message, ToolMessage
from ..results import ToolResult
from ..values.rendering import as_json

__all__ = ["Cut", "compacted", "size_of"]

_KEPT_TURNS = 2
_LEAST = 200


@dataclass(frozen=True, slots=True)
class Cut:
    """A conversation after the cut: so many results lost so many characters."""

    messages: tuple[Message, ...]
    results: int
    characters: int


def compacted(messages: Sequence[Message], most: int, sizes: Sequence[int] | None = None) -> Cut | None:
    """
    *messages* with old results cut if they have more than *most* characters; None if nothing was cut.

    *sizes* are how many each has, if that is known.
    """
    sizes = [size_of(message) for message in messages] if sizes is None else sizes
    whole = sum(sizes)
    if whole <= most:
        return None
    excess = whole - most // 2
    turns = [index for index, message in enumerate(messages) if isinstance(message, ToolMessage)]
    made, results, characters = list(messages), 0, 0
    for index in turns[:-_KEPT_TURNS]:
        message = messages[index]
        if characters >= excess or not isinstance(message, ToolMessage):
            break
        cut = tuple(map(_cut, message.results))
        made[index] = ToolMessage(cut)
        results += sum(new is not old for new, old in zip(cut, message.results, strict=True))
        characters += sizes[index] - size_of(made[index])
    return Cut(tuple(made), results, characters) if results else None


def size_of(message: Message) -> int:
    """How many characters it has as JSON, about: what a provider is sent."""
    if isinstance(message, ToolMessage):
        return sum(map(_size, message.results))
    return len(json.dumps(as_json(message.to_json())))


def _size(result: ToolResult) -> int:
    # The value is not counted: it is the text once more.
    return len(result.text) + sum(len(json.dumps(as_json(part.to_json()))) for part in result.parts)


def _cut(result: ToolResult) -> ToolResult:
    size = _size(result)
    if size <= _LEAST or result.kind == "waiting":
        return result
    changed = copy.copy(result)
    changed.text = f"[{size:,} characters of `{result.tool}` were cut to save room; call it again if you need them]"
    changed.value, changed.parts, changed.truncated = None, (), True
    return changed
