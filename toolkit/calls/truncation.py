"""
Cuts results to size: between two records of their data, with a note that says how much is left.

If the session of the call can read kept outputs, the whole text is kept, and the note names the call that reads on.
The same holds for a text that the tool has cut itself, if the tool gives the whole one with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..content import Part, ResourcePart, TextPart
from ..results import ToolResult
from ..session import Session
from ..values.part_texts import has_text, render_part
from ..values.text_limits import TextLimit
from .plan import CallPlan
from .record_cuts import CHARACTERS, TextCut, find_cut

if TYPE_CHECKING:
    from .kept_outputs import KeptOutputReader  # not loaded here, because few sessions can read what is cut off

__all__ = ["HANDLE_KEY", "keep_full_text", "truncate_resources", "truncate_result", "truncate_text"]

HANDLE_KEY = "output_handle"
"""The key in the metadata of a result whose whole text is kept."""

_HANDLE_CHARS = len("output_0123456789ab")


def truncate_result(
    result: ToolResult,
    limit: TextLimit,
    plan: CallPlan | None = None,
    session: Session | None = None,
    principal: str | None = None,
    *,
    is_json_of_value: bool = False,
) -> None:
    """
    Cut the text of *result* to *limit*.

    A `value` that is the same text is cut too; any other value stays whole. Texts, JSON values and the texts of
    resources in the parts together are limited in the same way.

    *plan* is the plan of the call's tool. If its catalog has a tool that reads kept outputs, and *session* may call it,
    the whole text is kept in *session*, for *principal*. It is `result.full_text` if the tool has set that.

    *is_json_of_value* says that the text was made of the value, and not changed since.
    """
    whole, reader = _render_whole(result), _find_reader(plan, session, principal)
    value = result.value if is_json_of_value else None
    if plan is None or reader is None or not _has_room_for_handle(whole, limit, reader):
        cut = truncate_text(result.text, limit, value)
    else:
        handle = _keep(result, whole, reader, plan)
        cut = _truncate_kept_text(result.text, whole, limit, reader, handle, value)
    result.full_text = None
    if isinstance(result.value, str) and result.value == result.text:
        result.value = cut
    if result.parts:
        result.parts = _truncate_parts(result.parts, limit)
    result.text = cut
    result.truncated = True


def keep_full_text(
    result: ToolResult, limit: TextLimit, plan: CallPlan | None, session: Session | None, principal: str | None
) -> None:
    """
    Keep the `full_text` of *result* if it has one, and add a line to the text that names the call that reads it.

    The arguments are those of `truncate_result`. The text is cut if the line would make it longer than *limit* allows.
    If no tool could read the whole text, it is not kept.
    """
    whole, text = result.full_text, result.text
    reader = None if whole is None else _find_reader(plan, session, principal)
    if plan is not None and whole is not None and reader is not None:
        if limit.allows(text + _build_full_text_line(text, whole, reader, "x" * _HANDLE_CHARS)):
            handle = _keep(result, whole, reader, plan)
            result.text = text + _build_full_text_line(text, whole, reader, handle)
            result.truncated = True
        elif _has_room_for_handle(whole, limit, reader):
            truncate_result(result, limit, plan, session, principal)
    result.full_text = None


def truncate_resources(result: ToolResult, limit: TextLimit) -> None:
    """
    Cut the texts of the resources in *result* if they are longer than *limit* allows together.

    The text of a result says nothing about the length of its parts if the tool wrote that text itself.
    """
    texts = map(_get_resource_text, result.parts)
    if not limit.allows("".join(text for text in texts if text is not None)):
        result.parts = _truncate_parts(result.parts, limit, lambda part: _get_resource_text(part) is not None)
        result.truncated = True


def _truncate_parts(parts: Iterable[Part], limit: TextLimit, counts: Callable[[Part], bool] = has_text) -> list[Part]:
    """
    Return *parts* with no more than *limit* allows in the texts and values of the parts that count.

    A resource whose text has no room becomes a link.
    """
    new_parts: list[Part] = []
    left = limit
    for part in parts:
        if not counts(part):
            new_parts.append(part)
            continue
        resource_text = _get_resource_text(part)
        text = render_part(part) if resource_text is None else resource_text
        has_room = min(left.max_chars, left.max_bytes) > 0
        if left.allows(text):
            new_parts.append(part)
        elif isinstance(part, ResourcePart):
            new_parts.append(replace(part, content=truncate_text(text, left) if has_room else None))
        elif has_room:
            new_parts.append(TextPart(truncate_text(text, left)))
        left = left.minus(text)
    return new_parts


def _get_resource_text(part: Part) -> str | None:
    return part.content if isinstance(part, ResourcePart) and isinstance(part.content, str) else None


def truncate_text(text: str, limit: TextLimit, value: Any = None) -> str:
    """
    Return the beginning of *text*, and a note of what is left, together as long as *limit* allows.

    If *text* is the JSON of *value*, a list or a dictionary, it need not be parsed.
    """
    cut = find_cut(text, limit.minus(_build_longest_note(text)).find_end(text), value)
    return text[: cut.end] + _build_note(text, cut)


def _build_note(text: str, cut: TextCut, reading_call: str = "") -> str:
    """Return the line that follows *text* up to *cut*."""
    line_end = "...\n" if cut.noun == CHARACTERS else "\n"
    if cut.end == 0 or text[cut.end - 1] == "\n":
        line_end = ""
    rest = f"; {reading_call} has the rest" if reading_call else ""
    return f"{line_end}[truncated: {cut.shown:,} of {cut.total:,} {cut.noun}{cut.place}{rest}]"


def _build_longest_note(text: str, reading_call: str = "") -> str:
    """Return a note that is as long as one about *text* can be, but for the place, which counts where the cut is."""
    return _build_note("x", TextCut(1, len(text), len(text), CHARACTERS), reading_call)


# Texts that are kept.


def _keep(result: ToolResult, whole: str, reader: KeptOutputReader, plan: CallPlan) -> str:
    """Keep *whole*, note its handle in *result*, and return the handle."""
    handle = reader.keep(whole, tool=plan.name, max_chars=plan.limit.page_chars(whole))
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


def _has_room_for_handle(whole: str, limit: TextLimit, reader: KeptOutputReader) -> bool:
    """Return whether *limit* allows a text that names a handle and still shows something of *whole*."""
    return limit.allows(2 * _build_longest_note(whole, reader.call_text("x" * _HANDLE_CHARS, len(whole))))


def _truncate_kept_text(
    text: str, whole: str, limit: TextLimit, reader: KeptOutputReader, handle: str, value: Any
) -> str:
    longest_note = _build_longest_note(whole, reader.call_text(handle, len(whole)))
    cut = find_cut(text, limit.minus(longest_note).find_end(text), value)
    offset = cut.end
    if whole != text:
        # If the tool has cut the text before that place, the model reads on at the first cut.
        offset = min(offset, _count_common_chars(text, whole))
        cut = TextCut(cut.end, offset, len(whole), CHARACTERS)
    return text[: cut.end] + _build_note(text, cut, reader.call_text(handle, offset))


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
