"""
Comparisons of values that people have seen: whether they are the values that would run, and what a person has changed.

A secret is shown as a mask. A masked place stands for any text. So a mask can hide a value from a person, but cannot
show another value in its place.

A person may change the arguments of a call while approving it. The model has sent other arguments, so the result tells
it what was changed and by whom.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

from ..decisions import ApprovalRequest, ArgumentEdit
from ..policies.redaction import MASK, Redaction
from ..values.strictjson.canonical import encode_canonical
from ..values.visible import make_visible

__all__ = ["build_edit", "describe_edit", "describe_edits", "equals_except_masks", "find_edit", "is_same_request"]

_MAX_ARGUMENTS = 10
_MAX_VALUE_CHARS = 100


def equals_except_masks(shown: Any, actual: Any) -> bool:
    """Return whether *shown*, with its masked places, matches the JSON value *actual*."""
    if isinstance(shown, str) and MASK in shown:
        return any(_fits(shown, text) for text in _texts(actual))
    if isinstance(shown, Mapping) and isinstance(actual, Mapping):
        if shown.keys() == actual.keys():
            return all(equals_except_masks(shown[key], actual[key]) for key in actual)
        pairs = list(zip(shown.items(), actual.items(), strict=False))
        return len(shown) == len(actual) and all(
            equals_except_masks(key, actual_key) and equals_except_masks(shown_value, actual_value)
            for (key, shown_value), (actual_key, actual_value) in pairs
        )
    if isinstance(shown, list) and isinstance(actual, list):
        return len(shown) == len(actual) and all(map(equals_except_masks, shown, actual))
    return encode_canonical(shown) == encode_canonical(actual)


def is_same_request(returned: ApprovalRequest, stored: ApprovalRequest, redaction: Redaction) -> bool:
    """Return whether a request that left the dispatcher says the same as the copy in the store."""
    # A request that leaves a dispatcher is masked once more than the copy that is kept. That dispatcher may know
    # secrets that are not known here.
    try:
        return (
            equals_except_masks(returned.to_json(), stored.to_json())
            or returned.to_json() == redaction.mask_request(stored).to_json()
        )
    except (ValueError, RecursionError):
        return False  # A value that is nested so deeply was never a request.


def _texts(value: Any) -> tuple[str, ...]:
    """Return the texts that a masked value may come from; a whole number may have been written as a float."""
    if isinstance(value, str):
        return (value,)
    return (encode_canonical(value), repr(value)) if isinstance(value, float) else (encode_canonical(value),)


def _fits(masked: str, text: str) -> bool:
    """Return whether *text* consists of the pieces of *masked* in their order, with any text at the masked places."""
    first, *between, last = masked.split(MASK)
    end = len(text) - len(last)
    if not text.startswith(first) or not text.endswith(last) or end < len(first):
        return False
    at = len(first)
    for piece in between:
        place = text.find(piece, at, end)
        if place < 0:
            return False
        at = place + len(piece)
    return True


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


def find_edit(
    request: ApprovalRequest, arguments: Mapping[str, Any], by: str | None, secrets: Collection[str]
) -> ArgumentEdit | None:
    """
    Return what a person has changed in the arguments that *request* shows; None if that is nothing.

    They are *arguments* now, in JSON form. A place that is masked in the request cannot be compared.
    """
    before = dict(request.arguments)
    after = {name: MASK if name in secrets else value for name, value in arguments.items()}
    for name in [name for name in after if name in before and equals_except_masks(before[name], after[name])]:
        del before[name], after[name]
    return build_edit(before, after, by, ())


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
