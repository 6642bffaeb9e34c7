"""
Changes that a person makes to the arguments of a call while approving it.

The model has sent other arguments, so the result tells it what was changed and by whom.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ..decisions import ArgumentEdit
from ..policies.redaction import MASK
from ..values.strictjson.canonical import encode_canonical
from ..values.visible import make_visible

__all__ = ["build_edit", "describe_edit", "describe_edits"]

_MAX_ARGUMENTS = 10
_MAX_VALUE_CHARS = 100


def build_edit(
    before: Mapping[str, Any], after: Mapping[str, Any], by: str | None, secrets: Collection[str]
) -> ArgumentEdit | None:
    """
    Return what a person has changed in the arguments, in JSON form; None if both are the same.

    The values of the arguments in *secrets* are masked.
    """
    changed = [name for name in {**before, **after} if _encode(before, name) != _encode(after, name)]
    if not changed:
        return None

    def select(arguments: Mapping[str, Any]) -> dict[str, Any]:
        return {name: MASK if name in secrets else arguments[name] for name in changed if name in arguments}

    return ArgumentEdit(by=by, before=select(before), after=select(after))


def describe_edits(edits: Sequence[ArgumentEdit]) -> str:
    """Return what was changed and by whom, in one line for each edit."""
    lines = []
    for edit in edits:
        name = "the user" if edit.by is None else make_visible(edit.by[:_MAX_VALUE_CHARS], keep_lines=False)
        lines.append(f"{name} changed the arguments: {describe_edit(edit)}")
    return "\n".join(lines)


def describe_edit(edit: ArgumentEdit) -> str:
    """Return what was changed, in a few words. Long values are cut."""
    changes = list(_list_changes(edit))
    more = len(changes) - _MAX_ARGUMENTS
    shown = changes[:_MAX_ARGUMENTS] + ([f"and {more} more"] if more > 0 else [])
    return make_visible("; ".join(shown), keep_lines=False)


def _list_changes(edit: ArgumentEdit) -> Iterator[str]:
    for name in {**edit.before, **edit.after}:
        before, after = (_show(values, name) for values in (edit.before, edit.after))
        if after is None:
            yield f"`{name}` was left out (was {before})"
        elif before is None:
            yield f"`{name}` is {after} (was not given)"
        elif before == after:
            yield f"`{name}` is another value, which is not shown"
        else:
            yield f"`{name}` is {after} (was {before})"


def _show(values: Mapping[str, Any], name: str) -> str | None:
    if name not in values:
        return None
    text = json.dumps(values[name], ensure_ascii=False)
    if len(text) <= _MAX_VALUE_CHARS:
        return text
    return f"{text[:_MAX_VALUE_CHARS]}... ({len(text):,} characters)"


def _encode(arguments: Mapping[str, Any], name: str) -> str | None:
    # The values are compared as JSON, because 1 and true are equal in Python.
    return encode_canonical(arguments[name]) if name in arguments else None
