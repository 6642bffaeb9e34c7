"""A store of approvals in memory, which lasts as long as the process."""

from __future__ import annotations

import copy
import json
import threading
import time
from collections.abc import Collection, Mapping
from dataclasses import replace
from types import EllipsisType
from typing import Any

from .._plumbing.forks import renew_in_children
from .._plumbing.wording import format_count
from ..decisions import ApprovalRequest
from .records import ApprovalError, Record, check_arguments, encode_record
from .repeated_calls import is_current
from .store import ApprovalStoreBase, Change, is_pending

__all__ = ["MemoryApprovals", "PackedRecord"]

_OVERHEAD_BYTES = 1_000
"""The bytes that a record takes besides its texts: its place in the store, and the fields that are looked up."""

_MAX_TEXT_CHARS = 2_000
"""The number of characters of an outcome's text that are always kept."""

_CUT = "\n... [the rest was not kept: the approvals in memory have reached max_bytes]"
_ENCODER = json.JSONEncoder(allow_nan=False, separators=(",", ":"))


class MemoryApprovals(ApprovalStoreBase):
    """
    A store that keeps approvals in memory, for the threads and event loops of one process.

    A request that waits or whose call runs is never forgotten. To make room for a new request, the store forgets the
    oldest requests that are over. If that is not enough, the new request is refused. An outcome that is too large for
    the remaining room is shortened: long texts are cut, and other large values are left out.

    Args:
        size: How many requests are kept.
        max_bytes: How much memory they take together: requests, arguments and outcomes as JSON text.
        until_expired: Whether a request that is over is kept for as long as it could have been answered. This is for
            sealed requests that come back from outside, because a forgotten one could be used again. To make room, the
            store then only shortens their outcomes.
    """

    blocking = False

    def __init__(self, *, size: int = 10_000, max_bytes: int = 64 * 2**20, until_expired: bool = False) -> None:
        for name, value in (("size", size), ("max_bytes", max_bytes)):
            if value < 1:
                raise ValueError(f"{name} has to be at least 1, got {value!r}")
        self._size = size
        self._max_bytes = max_bytes
        self._until_expired = until_expired
        self._records: dict[str, PackedRecord] = {}
        # The newest request of each call, and the call of each request. Requests of calls without an id are not here.
        self._ids_by_call: dict[str, str] = {}
        self._calls_by_id: dict[str, str] = {}
        self.renew_after_fork()
        renew_in_children(self)

    def renew_after_fork(self) -> None:
        """
        Create a new lock and count the bytes again, in the child process of a fork.

        A change that another thread was making has stayed in the parent process.
        """
        self._lock = threading.Lock()
        self._bytes = sum(packed.size for packed in self._records.values())

    def add(self, record: Record) -> None:
        """Keep a pending record; raise `ValueError` if its id is already in the store."""
        packed = self._pack_new(record)
        with self._lock:
            self._add(record.request.id, packed)

    def add_call(self, record: Record, key: str | None, *, now: float, replaces: str | None = None) -> Record:
        """Keep *record* as the newest request of its call and return it, or return the record that counts for it."""
        packed, name = self._pack_new(record), record.request.id
        with self._lock:
            if replaces is not None:
                key = self._calls_by_id.get(replaces)
            else:
                known = self._find_call(key)
                if known is not None and is_current(known, now):
                    return known
            self._add(name, packed)
            if key is not None:
                self._ids_by_call[key] = name
                self._calls_by_id[name] = key
        return record

    def find_call(self, key: str) -> Record | None:
        """Return the newest record that was added for the call with this *key*; return None if there is none."""
        with self._lock:
            return self._find_call(key)

    def _find_call(self, key: str | None) -> Record | None:
        packed = None if key is None else self._records.get(self._ids_by_call.get(key, ""))
        return None if packed is None else self._unpack(packed)

    def get(self, request_id: str) -> Record | None:
        """Return the present record with exactly this id; return None if there is none."""
        packed = self._records.get(request_id)
        return None if packed is None else self._unpack(packed)

    def pending(
        self,
        *,
        session: str | EllipsisType | None = ...,
        principal: str | EllipsisType | None = ...,
        now: float | None = None,
    ) -> list[ApprovalRequest]:
        """Return the requests that can still be answered *now*, the oldest first."""
        now = time.time() if now is None else now
        with self._lock:
            records = list(self._records.values())
        waiting = [packed for packed in records if is_pending(packed.fields, session, principal, now)]
        waiting.sort(key=lambda packed: packed.fields.request.created_at)
        return [packed.unpack().request for packed in waiting]

    def purge(self, *, before: float, sessions: Collection[str] | None = None) -> int:
        """
        Forget the records that were denied, done or expired *before* that time, and return how many.

        With *sessions*, only records of these sessions are forgotten.
        If the store was made with `until_expired`, a denied or done record stays until its request has expired.
        """
        with self._lock:
            old = [
                name
                for name, packed in self._records.items()
                if self._may_forget(packed.fields, before)
                and (over_since := packed.fields.over_since()) is not None
                and over_since < before
                and (sessions is None or packed.fields.request.session in sessions)
            ]
            for name in old:
                self._drop(name)
        return len(old)

    def _change(self, request_id: str, change: Change) -> bool:
        with self._lock:
            packed = self._records.get(request_id)
            if packed is None:
                return False
            # A change need not know the arguments, unless they are to be signed.
            is_enough = self._seal is None and packed.fields.outcome is None
            record = packed.fields if is_enough else packed.unpack()
            changed = change(record)
            if changed is None:
                return False
            is_alike = changed.arguments is record.arguments and changed.answers is record.answers
            if is_enough and not is_alike:
                changed = change(packed.unpack()) or changed
            changed = changed if self._seal is None and changed.seal is None else self._sign(changed)
            former = packed if is_alike else None
            replacement = PackedRecord(changed, former=former)
            self._take_out(request_id)
            self._make_room(replacement.size, 0, changed.decided_at or 0.0)
            if changed.outcome is not None and self._bytes + replacement.size > self._max_bytes:
                replacement = self._pack_shortened(changed, former)
            self._put(request_id, replacement)
            if self._seal is not None:
                self._seal.remember(changed)
            return True

    def _unpack(self, packed: PackedRecord) -> Record:
        record = packed.unpack()
        return record if self._seal is None else self._verify(record)

    def _pack_new(self, record: Record) -> PackedRecord:
        if record.state != "pending":
            raise ValueError(f"only a pending request can be added; this one is {record.state}")
        return PackedRecord(record if self._seal is None and record.seal is None else self._sign(record))

    def _add(self, name: str, packed: PackedRecord) -> None:
        if name in self._records:
            raise ValueError(f"there is a request {name!r} already")
        self._make_room(packed.size, 1, packed.fields.request.created_at)
        self._check_room(packed)
        self._put(name, packed)

    def _put(self, name: str, packed: PackedRecord) -> None:
        self._records[name] = packed
        self._bytes += packed.size

    def _take_out(self, name: str) -> None:
        """Take out a record, for another state of it to be put in."""
        self._bytes -= self._records.pop(name).size

    def _drop(self, name: str) -> None:
        """Forget a record, and that it belongs to a call."""
        self._take_out(name)
        key = self._calls_by_id.pop(name, None)
        if key is not None and self._ids_by_call.get(key) == name:
            del self._ids_by_call[key]

    def _make_room(self, size: int, count: int, now: float) -> None:
        """
        Forget or shorten requests that are over, the oldest first.

        Stop when *count* more records with *size* bytes have room, or when no request is left that is over.
        """
        if self._has_room(size, count):
            return
        for name, packed in list(self._records.items()):
            if self._may_forget(packed.fields, now):
                self._drop(name)
            elif packed.fields.state == "done" and not packed.is_short:
                self._take_out(name)
                self._put(name, self._pack_shortened(packed.unpack(), packed))
            if self._has_room(size, count):
                return

    def _pack_shortened(self, record: Record, former: PackedRecord | None) -> PackedRecord:
        return PackedRecord(self._sign(_shorten_outcome(record)), former=former, is_short=True)

    def _has_room(self, size: int, count: int) -> bool:
        return len(self._records) + count <= self._size and self._bytes + size <= self._max_bytes

    def _check_room(self, packed: PackedRecord) -> None:
        if len(self._records) >= self._size:
            raise ApprovalError(
                f"{format_count(self._size, 'call')} wait for an answer or run, and no more are kept; "
                "answer some, give requests a time to expire, or make the store larger with size=",
                why="store",
            )
        if self._bytes + packed.size > self._max_bytes:
            raise ApprovalError(
                f"the request takes {packed.size:,} bytes, and {len(self._records):,} that wait for an answer or run "
                f"take {self._bytes:,} of the {self._max_bytes:,} that are kept; answer some, give requests a time to "
                "expire, make the store larger with max_bytes=, or keep approvals in a file with SQLiteApprovals",
                why="store",
            )

    def _may_forget(self, record: Record, now: float) -> bool:
        is_answered = record.state in ("denied", "done")
        return record.state != "claimed" and (record.is_expired(now) or (is_answered and not self._until_expired))


class PackedRecord:
    """
    One record, with the JSON values in it as text.

    A text takes a known number of bytes, shares nothing with the caller's objects, and is one object for the garbage
    collector. Values that occur twice in a record are stored once: the arguments that run are mostly the same as those
    that are shown, and the text of a result is mostly its value.

    Attributes:
        fields: The record without its arguments and its outcome.
        shown: The arguments that the request shows, as JSON text.
        arguments: The arguments that run, as JSON text; None if they are the same.
        request_size: The number of bytes of the record without its arguments, when it was packed first.
        size: The number of bytes that the record takes.
        is_short: Whether its outcome was shortened.
    """

    fields: Record
    shown: str
    arguments: str | None
    request_size: int
    size: int

    def __init__(self, record: Record, *, former: PackedRecord | None = None, is_short: bool = False) -> None:
        """
        Pack *record*; raise `ValueError` if it is not JSON.

        *former* is the record in an earlier state, with the same request, arguments and answers.
        """
        self.is_short = is_short
        request, outcome = record.request, record.outcome
        no_outcome: dict[str, Any] | None = None if outcome is None else {}
        # The JSON values in edits, questions and answers could be changed by a caller.
        self._has_values = bool(request.edits or request.questions or request.answers or record.answers)
        if former is not None:
            request, self.fields = former.fields.request, record
            if outcome is not None or record.request is not request:
                self.fields = replace(record, request=request, arguments=None, outcome=no_outcome)
            self.request_size, self.shown, self.arguments = former.request_size, former.shown, former.arguments
        else:
            check_arguments(record)
            fields = replace(record, request=replace(request, arguments={}), arguments=None, outcome=no_outcome)
            self.fields = copy.deepcopy(fields) if self._has_values else fields
            self.request_size = len(encode_record(self.fields))
            # The values are compared as text, because 1 and true are equal in Python.
            arguments, self.shown = _encode(record, record.arguments), _encode(record, dict(request.arguments))
            self.arguments = None if arguments == self.shown else arguments
        value = None if outcome is None else outcome.get("value")
        self._is_text_value = outcome is not None and type(value) is str and value == outcome.get("text")
        if self._is_text_value and outcome is not None:
            outcome = {**outcome, "value": None}
        self._outcome = _encode(record, outcome)
        decision = _encode(record, [record.decided_by, record.decided_at, record.denial])
        texts = (self.shown, self.arguments or "", self._outcome, decision)
        self.size = self.request_size + sum(map(len, texts)) + _OVERHEAD_BYTES

    def unpack(self) -> Record:
        """Return the record, which shares nothing with any other copy of it."""
        record = copy.deepcopy(self.fields) if self._has_values else self.fields
        arguments, outcome = json.loads(self.arguments or self.shown), json.loads(self._outcome)
        if self._is_text_value:
            outcome["value"] = outcome["text"]
        shown_request = replace(record.request, arguments=json.loads(self.shown))
        return replace(record, request=shown_request, arguments=arguments, outcome=outcome)


def _encode(record: Record, value: Any) -> str:
    try:
        return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the record of `{record.request.tool}` cannot be kept as JSON: {error}") from None


def _shorten_outcome(record: Record) -> Record:
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
    if len(_ENCODER.encode(value)) <= _MAX_TEXT_CHARS:
        return value
    return [] if isinstance(value, list) else {} if isinstance(value, dict) else None
