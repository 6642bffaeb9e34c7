"""
Check whether the values that a person was shown are the values that would run.

A secret is shown as a mask. A masked place stands for any text. So a mask can hide a value from a person, but cannot
show another value in its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..decisions import ApprovalRequest
from ..policies.redaction import MASK, Redaction
from ..values.strictjson.canonical import encode_canonical

__all__ = ["equals_except_masks", "is_same_request"]


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
