"""
Cuts results to size without splitting a character as people see it.

If the session of the call can read kept outputs, the whole text is kept, and the cut text names the call that reads on.
The same holds for a text that the tool has cut itself, if the tool gives the whole one with it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ..content import Part, ResourcePart, TextPart
from ..results import ToolResult
from ..session import Session
from ..values.part_texts import has_text, render_part
from .plan import CallPlan

if TYPE_CHECKING:
    from .kept_outputs import KeptOutputReader  # not loaded here, because few sessions can read what is cut off

__all__ = ["HANDLE_KEY", "keep_full_text", "truncate_resources", "truncate_result", "truncate_text"]

HANDLE_KEY = "output_handle"
"""The key in the metadata of a result whose whole text is kept."""

_HANDLE_CHARS = len("output_0123456789ab")


def truncate_result(
    result: ToolResult,
    max_chars: int,
    plan: CallPlan | None = None,
    session: Session | None = None,
    principal: str | None = None,
) -> None:
    """
    Cut the text of *result* to *max_chars* characters.

    A `value` that is the same text is cut too; any other value stays whole. Texts, JSON values and the texts of
    resources in the parts are limited to *max_chars* characters together.

    *plan* is the plan of the call's tool. If its catalog has a tool that reads kept outputs, and *session* may call it,
    the whole text is kept in *session*, for *principal*. It is `result.full_text` if the tool has set that.
    """
    whole, reader = _render_whole(result), _find_reader(plan, session, principal)
    if plan is None or reader is None or not _has_room_for_handle(whole, max_chars, reader):
        cut = truncate_text(result.text, max_chars)
    else:
        handle = _keep(result, whole, reader, plan)
        cut = _truncate_kept_text(result.text, whole, max_chars, reader, handle)
    result.full_text = None
    if isinstance(result.value, str) and result.value == result.text:
        result.value = cut
    if result.parts:
        result.parts = _truncate_parts(result.parts, max_chars)
    result.text = cut
    result.truncated = True


def keep_full_text(
    result: ToolResult, max_chars: int, plan: CallPlan | None, session: Session | None, principal: str | None
) -> None:
    """
    Keep the `full_text` of *result* if it has one, and add a line to the text that names the call that reads it.

    The arguments are those of `truncate_result`. The text is cut if the line would make it longer than *max_chars*
    characters. If no tool could read the whole text, it is not kept.
    """
    whole, text = result.full_text, result.text
    reader = None if whole is None else _find_reader(plan, session, principal)
    if plan is not None and whole is not None and reader is not None:
        line = _build_full_text_line(text, whole, reader, "x" * _HANDLE_CHARS)
        if len(text) + len(line) <= max_chars:
            handle = _keep(result, whole, reader, plan)
            result.text = text + _build_full_text_line(text, whole, reader, handle)
            result.truncated = True
        elif _has_room_for_handle(whole, max_chars, reader):
            truncate_result(result, max_chars, plan, session, principal)
    result.full_text = None


def truncate_resources(result: ToolResult, max_chars: int) -> None:
    """
    Cut the texts of the resources in *result* if they have more than *max_chars* characters together.

    The text of a result says nothing about the length of its parts if the tool wrote that text itself.
    """
    texts = map(_get_resource_text, result.parts)
    if sum(len(text) for text in texts if text is not None) > max_chars:
        result.parts = _truncate_parts(result.parts, max_chars, lambda part: _get_resource_text(part) is not None)
        result.truncated = True


def _truncate_parts(parts: Iterable[Part], max_chars: int, counts: Callable[[Part], bool] = has_text) -> list[Part]:
    """
    Return *parts* with at most *max_chars* characters in the texts and values of the parts that count.

    A resource whose text has no room becomes a link.
    """
    new_parts: list[Part] = []
    left = max_chars
    for part in parts:
        if not counts(part):
            new_parts.append(part)
            continue
        resource_text = _get_resource_text(part)
        text = render_part(part) if resource_text is None else resource_text
        cut = truncate_text(text, left) if len(text) > left > 0 else None
        if len(text) <= left:
            new_parts.append(part)
        elif isinstance(part, ResourcePart):
            new_parts.append(replace(part, content=cut))
        elif cut is not None:
            new_parts.append(TextPart(cut))
        left -= len(text)
    return new_parts


def _get_resource_text(part: Part) -> str | None:
    return part.content if isinstance(part, ResourcePart) and isinstance(part.content, str) else None


def truncate_text(text: str, max_chars: int) -> str:
    """Return the beginning of *text* and a note of its length, *max_chars* characters together."""
    suffix = f"... [truncated, {len(text)} chars total]"
    return text[: _find_end(text, max(0, max_chars - len(suffix)))] + suffix


def _find_end(text: str, length: int) -> int:
    """Return the end of the last whole character among the first *length* code points of *text*."""
    if length >= len(text):
        return len(text)
    # Search back a limited way for the end of a character. A longer sequence is not a real character.
    for position in range(length, max(0, length - 40), -1):
        if not _is_one_character(text[position - 1], text[position]):
            return position
    return length


# Texts that are kept.


def _keep(result: ToolResult, whole: str, reader: KeptOutputReader, plan: CallPlan) -> str:
    """Keep *whole*, note its handle in *result*, and return the handle."""
    handle = reader.keep(whole, tool=plan.name, max_chars=plan.max_chars)
    result.metadata = {**(result.metadata or {}), HANDLE_KEY: handle}
    return handle


def _find_reader(plan: CallPlan | None, session: Session | None, principal: str | None) -> KeptOutputReader | None:
    """Return the tool by which *session* can read what is cut off; None if there is none, or the tool is that one."""
    if plan is None or plan.catalog is None or not isinstance(session, Session):
        return None
    from .kept_outputs import find_output_reader, is_output_reader

    if is_output_reader(plan.tool):
        return None  # a page that does not fit would be kept as another output, and a page of that again
    return find_output_reader(plan.catalog.table, plan.settings.judges, session, principal)


def _has_room_for_handle(whole: str, max_chars: int, reader: KeptOutputReader) -> bool:
    """Return whether a text of *max_chars* characters can name a handle and still show something of *whole*."""
    return 2 * len(_build_kept_suffix(whole, reader, "x" * _HANDLE_CHARS, len(whole))) <= max_chars


def _truncate_kept_text(text: str, whole: str, max_chars: int, reader: KeptOutputReader, handle: str) -> str:
    longest_suffix = _build_kept_suffix(whole, reader, handle, len(whole))
    end = _find_end(text, max(0, max_chars - len(longest_suffix)))
    # If the tool has cut the text before that place, the model reads on at the first cut.
    return text[:end] + _build_kept_suffix(whole, reader, handle, min(end, _count_common_chars(text, whole)))


def _build_kept_suffix(text: str, reader: KeptOutputReader, handle: str, offset: int) -> str:
    return f"... [truncated, {len(text)} chars total; {reader.call_text(handle, offset)} reads on]"


def _build_full_text_line(text: str, whole: str, reader: KeptOutputReader, handle: str) -> str:
    reading_call = reader.call_text(handle, _count_common_chars(text, whole))
    return f"\n[the whole text has {len(whole)} chars; {reading_call} reads what is left out]"


def _count_common_chars(text: str, whole: str) -> int:
    """Return how many characters *text* and *whole* have in common at their beginning."""
    low, high = 0, min(len(text), len(whole))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if text.startswith(whole[:middle]) else (low, middle - 1)
    return low


def _render_whole(result: ToolResult) -> str:
    """Return the whole text of *result*, and after it the texts and values of the parts that it does not contain."""
    whole = result.text if result.full_text is None else result.full_text
    texts = [render_part(part) for part in result.parts if has_text(part)]
    return "\n".join([whole, *(text for text in texts if text not in whole)])


def _is_one_character(before: str, after: str) -> bool:
    """
    Return whether a person sees two code points as one character.

    Such pairs are accents, variations, joined or coloured emoji, flags, and the line break `\\r\\n`.
    """
    return (
        unicodedata.combining(after) != 0
        or after in "\u200d\ufe0e\ufe0f"
        or "\U0001f3fb" <= after <= "\U0001f3ff"
        or before == "\u200d"
        or ("\U0001f1e6" <= before <= "\U0001f1ff" and "\U0001f1e6" <= after <= "\U0001f1ff")
        or before + after == "\r\n"
    )
