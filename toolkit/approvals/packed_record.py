"""
A record packed as text, to be kept in memory.

A text takes a known number of bytes, shares nothing with the caller's objects, and is one object for the garbage
collector. Values that occur twice in a record are stored once: the arguments that run are mostly the same as those
that are shown, and the text of a result is mostly its value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from .records import Record, check_arguments, encode_record, load_record

__all__ = ["PackedRecord", "shorten_outcome"]

_OVERHEAD_BYTES = 1_000
"""The bytes that a record takes besides its texts: its place in the store, and the fields that are looked up."""

_MAX_TEXT_CHARS = 2_000
"""The number of characters of an outcome's text that are always kept."""

_CUT = "\n... [the rest was not kept: the approvals in memory have reached max_bytes]"
_encode = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class PackedRecord:
    """
    One record as text, together with the fields that a store looks up.

    Attributes:
        state: The state that the record has reached.
        session: The session of its request.
        principal: The principal of its request.
        created_at: The time when the request was made.
        expires_at: The time until which the request can be answered; None means without a limit.
        over_since: The value of `Record.over_since`.
        size: The number of bytes that the record takes.
        is_short: Whether its outcome was shortened.
    """

    __slots__ = (
        *("created_at", "expires_at", "is_short", "over_since", "principal", "session", "size", "state"),
        *("_arguments", "_is_text_value", "_text"),
    )

    def __init__(self, record: Record, *, is_checked: bool = False, is_short: bool = False) -> None:
        """
        Pack *record*; raise `ValueError` if it is not JSON.

        *is_checked* says that the arguments were checked before.
        """
        self.is_short = is_short
        if not is_checked:
            check_arguments(record)
        request = record.request
        self.state = record.state
        self.session, self.principal = request.session, request.principal
        self.created_at, self.expires_at = request.created_at, request.expires_at
        self.over_since = record.over_since()
        # The values are compared as text, because 1 and true are equal in Python.
        arguments, shown_arguments = _encode(record.arguments), _encode(dict(request.arguments))
        self._arguments = None if arguments == shown_arguments else arguments
        outcome = record.outcome
        self._is_text_value = outcome is not None and _has_text_as_value(outcome)
        if self._is_text_value and outcome is not None:
            outcome = {**outcome, "value": None}
        self._text = encode_record(replace(record, arguments=None, outcome=outcome))
        self.size = len(self._text) + len(self._arguments or "") + _OVERHEAD_BYTES

    def unpack(self) -> Record:
        """Return the record, which shares nothing with any other copy of it."""
        record = load_record(self._text)
        arguments = json.loads(_encode(dict(record.request.arguments)) if self._arguments is None else self._arguments)
        if self._is_text_value and record.outcome is not None:
            record.outcome["value"] = record.outcome["text"]
        return replace(record, arguments=arguments)

    def is_expired(self, now: float) -> bool:
        """Return whether it is too late to answer the request."""
        # With the comparison in this order, a time that is NaN counts as passed.
        return self.expires_at is not None and not now < self.expires_at


def shorten_outcome(record: Record) -> Record:
    """Return *record* with an outcome that tells how the call ended, and only the beginning of what it returned."""
    outcome = {name: _shorten_value(value) for name, value in (record.outcome or {}).items()}
    if "truncated" in outcome:
        outcome["truncated"] = True
    return replace(record, outcome=outcome)


def _shorten_value(value: Any) -> Any:
    if isinstance(value, str) and len(value) > _MAX_TEXT_CHARS:
        return value[:_MAX_TEXT_CHARS] + _CUT
    if isinstance(value, Mapping) and value.keys() == {"message", "details"}:  # the error of a failed call
        return {"message": _shorten_value(value["message"]), "details": _shorten_value(value["details"])}
    if len(_encode(value)) <= _MAX_TEXT_CHARS:
        return value
    return [] if isinstance(value, list) else {} if isinstance(value, dict) else None


def _has_text_as_value(outcome: Mapping[str, Any]) -> bool:
    value = outcome.get("value")
    return type(value) is str and value == outcome.get("text")
