"""
Exact replacements in a text: all of them or none.

The functions are pure: they take text and return text. Every edit is looked up in the original text, so the order of
the edits does not matter. Two edits that touch the same place are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice, pairwise
from typing import Annotated

from ..._plumbing.wording import format_count
from ...errors import Problem, ToolError
from ...values.codecs.base import Codec
from ...values.codecs.definitions import assemble_schema
from ...values.codecs.limits import apply_limits, iter_length_limits
from ...values.codecs.rules import create_hint_reader
from .encodings import EditableText, why_unwritable
from .near_matches import describe_near_match

__all__ = ["MAX_EDITS", "Edit", "Edits", "apply_edits", "find_problems"]

MAX_EDITS = 100
_MAX_PLACES = 100_000
_MAX_PLACES_NAMED = 10
_MAX_EXPLAINED = 3  # looking for near matches takes long


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """
    One replacement.

    Attributes:
        old: The text to replace, exactly as it is in the file, without line numbers. It must occur once.
        new: What to put in its place; empty to take it out.
        replace_all: Whether every occurrence is replaced, however many there are.
    """

    old: str
    new: str
    replace_all: bool = False


def _edits_codec() -> Codec:
    reader = create_hint_reader()
    codec = reader.codec(list[Edit])
    codec = replace(codec, schema=assemble_schema(codec.schema, reader.definitions))
    return apply_limits(codec, list(iter_length_limits(codec, "max_length", MAX_EDITS)))


Edits = Annotated[list[Edit], _edits_codec()]
"""The edits of one call. The schema states the greatest number of edits."""


def find_problems(edits: Sequence[Edit]) -> list[Problem]:
    """Return the problems of *edits* that do not depend on the content of the file."""
    if not edits:
        return [Problem("there is nothing to do; give at least one edit", ("edits",))]
    if len(edits) > MAX_EDITS:
        remedy = f"{len(edits):,} are too many for one call, which takes {MAX_EDITS}; make several calls"
        return [Problem(remedy, ("edits",))]
    problems = []
    for index, edit in enumerate(edits):
        if not edit.old:
            problems.append(Problem("it is empty; give the text to replace, or use `write`", ("edits", index, "old")))
        elif edit.old == edit.new:
            problems.append(Problem("it is the same as `old`, so nothing would change", ("edits", index, "new")))
        elif _normalize_newlines(edit.old) == _normalize_newlines(edit.new):
            problems.append(
                Problem("it differs from `old` only in line endings, which are kept", ("edits", index, "new"))
            )
        if problem := why_unwritable(edit.new):
            problems.append(Problem(problem, ("edits", index, "new")))
    return problems


def apply_edits(
    text: str,
    edits: Sequence[Edit],
    name: str,
    *,
    max_characters: int,
    before_edit: Callable[[], object] = lambda: None,
) -> tuple[str, int]:
    """
    Return *text* with all *edits* made, and the number of places that changed.

    Call *before_edit* before each edit. Raise `ToolError` with everything that prevents the edits of the file *name*.
    """
    if not text:
        raise ToolError(f"{name} is empty, so there is nothing to replace; write it with `write`")
    source = EditableText(text)
    places: list[tuple[int, int, str, int]] = []
    errors: list[str] = []
    for index, edit in enumerate(edits):
        before_edit()
        prefix = f"edits[{index}]: " if len(edits) > 1 else ""
        room = _MAX_PLACES - len(places)
        starts = list(islice(_find_starts(source.plain, edit), room + 1 if edit.replace_all else _MAX_PLACES_NAMED))
        if not starts:
            errors.append(
                f"{prefix}`old` does not appear in {name}{_explain_missing(source, edits, edit, len(errors))}"
            )
        elif not edit.replace_all and (ambiguous := _describe_ambiguity(source.plain, edit, starts)):
            errors.append(f"{prefix}`old` {ambiguous}")
        elif len(starts) > room:
            limit = f"one call changes {_MAX_PLACES:,} places at most"
            errors.append(f"{prefix}`old` appears more than {format_count(room, 'time')}, and {limit}; use a command")
            break
        length = len(_normalize_newlines(edit.old))
        places += ((start, start + length, edit.new, index) for start in starts)
    places.sort()
    for earlier, later in pairwise(places) if not errors else ():
        if later[0] < earlier[1]:
            line = _line_number(source.plain, later[0])
            errors.append(
                f"edits[{earlier[3]}] and edits[{later[3]}] overlap at line {line} of {name}; make them one edit"
            )
            break
    if errors:
        raise ToolError("\n".join(errors))
    size = len(text) + sum(len(new) - (end - start) for start, end, new, _ in places)
    if size > max_characters:
        raise ToolError(f"{name} would get {size:,} characters, and the limit is {max_characters:,}; write less")
    return source.replace_spans([place[:3] for place in places]), len(places)


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n")


def _find_starts(text: str, edit: Edit) -> Iterator[int]:
    """Yield the positions of `old` in *text*, without overlaps, as `str.replace` counts them."""
    old = _normalize_newlines(edit.old)
    at = text.find(old)
    while at != -1:
        yield at
        at = text.find(old, at + len(old))


def _describe_ambiguity(text: str, edit: Edit, starts: Sequence[int]) -> str | None:
    """Return a description of the places that `old` could mean, or None if there is only one."""
    old, first = _normalize_newlines(edit.old), starts[0]
    if text.find(old, first + 1) == -1:
        return None
    if len(starts) == 1:
        return (
            f"appears 2 times, overlapping, from line {_line_number(text, first)} on; give more of the text around it"
        )
    lines = dict.fromkeys(_line_number(text, start) for start in starts[:_MAX_PLACES_NAMED])
    count = text.count(old)
    more = f" and {count - _MAX_PLACES_NAMED} more" if count > _MAX_PLACES_NAMED else ""
    return (
        f"appears {format_count(count, 'time')}, at lines {', '.join(map(str, lines))}{more}; "
        "give more of the text around the one you mean, or set `replace_all`"
    )


def _explain_missing(source: EditableText, edits: Sequence[Edit], edit: Edit, error_count: int) -> str:
    """Return why `old` was not found, and what the model can do."""
    old = _normalize_newlines(edit.old)
    if any(old in _normalize_newlines(other.new) for other in edits if other is not edit):
        return ", only in what another edit puts in; all are looked up in the file as it is, so make them one edit"
    return describe_near_match(source.plain, old) if error_count < _MAX_EXPLAINED else ""


def _line_number(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
