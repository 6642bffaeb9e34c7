"""
Cuts results to size without splitting a character as people see it.

If the session of the call can read kept outputs, the whole text is kept, and the cut text names the call that reads on.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._lazy_names import LazyModule
from ..content import JsonPart, Part, TextPart
from ..results import ToolResult
from ..session import Session
from ..values.rendering import as_text
from .plan import CallPlan
from .render_result import render_part

if TYPE_CHECKING:
    import unicodedata

    from .kept_outputs import KeptOutputReader  # not loaded here, because few results are cut
else:
    unicodedata = LazyModule("unicodedata")

__all__ = ["truncate_result", "write_text"]

_HANDLE_CHARS = len("output_0123456789ab")


def write_text(
    result: ToolResult,
    value: Any,
    max_chars: int,
    plan: CallPlan | None = None,
    session: Session | None = None,
    principal: str | None = None,
) -> None:
    """Set the text of *result* to the JSON of *value*, cut to *max_chars* characters as `truncate_result` does."""
    text = as_text(value)
    if len(text) > max_chars:
        text = _cut_text(result, text, text, max_chars, _find_reader(plan, session, principal), plan)
        result.truncated = True
    result.text = text


def truncate_result(
    result: ToolResult,
    max_chars: int,
    plan: CallPlan | None = None,
    session: Session | None = None,
    principal: str | None = None,
) -> None:
    """
    Cut the text of *result* to *max_chars* characters.

    A `value` that is the same text is cut too; any other value stays whole. Texts and JSON values in the parts are
    limited to *max_chars* characters together.

    *plan* is the plan of the call's tool. If its catalog has a tool that reads kept outputs, and *session* may call it,
    the whole text is kept in *session*, for *principal*.
    """
    cut = _cut_text(result, result.text, _render_whole(result), max_chars, _find_reader(plan, session, principal), plan)
    if isinstance(result.value, str) and result.value == result.text:
        result.returned = result.returned  # a result of the fast path would take it from the value, which is cut here
        result.value = cut
    if result.parts:
        result.parts = _truncate_parts(result.parts, max_chars)
    result.text = cut
    result.truncated = True


def _truncate_parts(parts: Iterable[Part], max_chars: int) -> list[Part]:
    """Return *parts* with at most *max_chars* characters in their texts and values. Other parts do not count."""
    new_parts: list[Part] = []
    left = max_chars
    for part in parts:
        if not isinstance(part, (TextPart, JsonPart)):
            new_parts.append(part)
            continue
        text = render_part(part)
        if len(text) <= left:
            new_parts.append(part)
        elif left > 0:
            new_parts.append(TextPart(_truncate_text(text, left)))
        left -= len(text)
    return new_parts


def _truncate_text(text: str, max_chars: int) -> str:
    suffix = f"... [truncated, {len(text)} chars total]"
    return text[: _find_end(text, max(0, max_chars - len(suffix)))] + suffix


def _find_end(text: str, length: int) -> int:
    """Return the end of the last whole character among the first *length* code points of *text*."""
    # Search back a limited way for the end of a character. A longer sequence is not a real character.
    for position in range(length, max(0, length - 40), -1):
        if not _is_one_character(text[position - 1], text[position]):
            return position
    return length


# Texts that are kept.


def _cut_text(
    result: ToolResult, text: str, whole: str, max_chars: int, reader: KeptOutputReader | None, plan: CallPlan | None
) -> str:
    """Return *text* cut to *max_chars* characters. Keep *whole* if it can be read, and note its handle in *result*."""
    if plan is None or reader is None or not _has_room_for_handle(text, max_chars, reader):
        return _truncate_text(text, max_chars)
    handle = reader.keep(whole, tool=plan.name, max_chars=plan.max_chars)
    result.metadata = {**(result.metadata or {}), "output_handle": handle}
    return _truncate_kept_text(text, max_chars, reader, handle)


def _find_reader(plan: CallPlan | None, session: Session | None, principal: str | None) -> KeptOutputReader | None:
    """Return the tool by which *session* can read what is cut off; None if there is none, or the tool is that one."""
    if plan is None or plan.catalog is None or not isinstance(session, Session):
        return None
    from .kept_outputs import find_output_reader, is_output_reader

    if is_output_reader(plan.tool):
        return None  # a page that does not fit would be kept as another output, and a page of that again
    return find_output_reader(plan.catalog.table, plan.settings.judges, session, principal)


def _has_room_for_handle(text: str, max_chars: int, reader: KeptOutputReader) -> bool:
    """Return whether a text of *max_chars* characters can name a handle and still show something of *text*."""
    return 2 * len(_build_kept_suffix(text, reader, "x" * _HANDLE_CHARS, len(text))) <= max_chars


def _truncate_kept_text(text: str, max_chars: int, reader: KeptOutputReader, handle: str) -> str:
    longest_suffix = _build_kept_suffix(text, reader, handle, len(text))
    end = _find_end(text, max(0, max_chars - len(longest_suffix)))
    return text[:end] + _build_kept_suffix(text, reader, handle, end)


def _build_kept_suffix(text: str, reader: KeptOutputReader, handle: str, offset: int) -> str:
    return f"... [truncated, {len(text)} chars total; {reader.call_text(handle, offset)} reads on]"


def _render_whole(result: ToolResult) -> str:
    """Return the text of *result*, and after it the texts and values of its parts that the text does not contain."""
    texts = [render_part(part) for part in result.parts if isinstance(part, (TextPart, JsonPart))]
    return "\n".join([result.text, *(text for text in texts if text not in result.text)])


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
