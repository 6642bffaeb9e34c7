"""
Rows of the journal as the database keeps them, with their checksums, and the numbers that put them in order.

A row that differs from what was written raises `DamagedRowError`, whatever it contains.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..._plumbing.forks import renew_in_children
from .records import EventRow, RunRow, StepRow
from .row_texts import DamagedRowError, check_number, compute_checksum, dump_json, load_json
from .statements import RUN_COLUMNS

__all__ = [
    "SequenceClock",
    "StoredEvent",
    "StoredRun",
    "StoredStep",
    "check_stored",
    "pack_run",
    "read_event",
    "read_run",
    "read_step",
]

# A clock that is far ahead must leave room for later numbers.
_MAX_SEQUENCE = 2**62


class SequenceClock:
    """A clock whose numbers only grow, and which tells its own numbers from those of others."""

    def __init__(self) -> None:
        self._last = 0
        self.renew_after_fork()
        renew_in_children(self)

    def renew_after_fork(self) -> None:
        """Take another mark, so that the changes of a forked child are not taken for those of its parent."""
        self._nonce = secrets.token_hex(4)
        self._lock = threading.Lock()

    def take(self, now: float) -> int:
        """Return a number above all before it: the time in microseconds, unless the clock stands or has jumped back."""
        microseconds = int(check_number(now, "the time") * 1e6)
        with self._lock:
            self._last = max(self._last + 1, min(microseconds, _MAX_SEQUENCE))
            return self._last

    def advance(self, sequence: int) -> None:
        """Let all later numbers be greater than *sequence*, which another process has written."""
        with self._lock:
            self._last = max(self._last, sequence)

    def mark(self, sequence: int) -> str:
        """Return a text that no other clock makes, for a change with this number."""
        return f"{sequence}-{self._nonce}"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredRun:
    """
    A run, and what only the journal needs to know of it.

    Attributes:
        sequence: The place of its last change among all that happened to it.
        texts: The columns as they were read, by their names. A column that does not change is written as it was.
    """

    number: int
    row: RunRow
    sequence: int
    texts: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredStep:
    """
    A step, and what only the journal needs to know of it.

    A mark is a text that tells the process that has begun the step, or has written its record, from all others.
    """

    row: StepRow
    events: Sequence[StoredEvent]
    data_text: str | None
    began_mark: str | None
    done_mark: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEvent:
    """An event and its place: by the epoch, and within an epoch by *sequence*."""

    mark: str
    sequence: int
    at: float
    epoch: int
    kind: str
    key: str | None
    data: Mapping[str, Any]

    def pack(self, run: int) -> tuple[Any, ...]:
        """Return the values of the columns, for the run with the number *run*."""
        values = (
            self.mark,
            self.sequence,
            self.at,
            self.epoch,
            self.kind,
            self.key,
            dump_json(self.data, f"the data of the event {self.kind!r}"),
        )
        return (run, *values, compute_checksum(run, *values))

    def number(self, place: int) -> EventRow:
        """Return the event as the one at *place* of its run."""
        return EventRow(number=place, at=self.at, epoch=self.epoch, kind=self.kind, key=self.key, data=self.data)


def pack_run(row: RunRow, sequence: int, before: StoredRun | None = None) -> tuple[Any, ...]:
    """
    Return the values of the columns of a run.

    The outcome of an activation that waits is kept apart, because a run that is retried goes on from there.
    """
    texts = {} if before is None else before.texts
    old = None if before is None else before.row
    outcome, paused = texts.get("outcome"), texts.get("paused")
    if row.outcome is None:
        outcome = None
    elif old is None or row.outcome is not old.outcome:
        text = dump_json(row.outcome, f"the outcome of the run {row.id!r}")
        outcome, paused = (None, text) if row.status in ("waiting", "planned") else (text, paused)
    changed = {
        "input": texts["input"] if texts else dump_json(row.input, f"the input of the run {row.id!r}"),
        "outcome": outcome,
        "paused": paused,
        "decisions": dump_json(row.decisions, f"a decision on the run {row.id!r}"),
        "is_open": int(row.is_open),
        "sequence": sequence,
    }
    values = [changed[name] if name in changed else getattr(row, name) for name in RUN_COLUMNS[:-1]]
    return (*values, compute_checksum(*values))


def read_run(stored: Sequence[Any]) -> StoredRun:
    """Return the run that a row of the database states."""
    number, seconds, *values = stored
    columns = dict(zip(RUN_COLUMNS, values, strict=True))
    subject = f"the run {columns['id']!r}"
    check_stored(compute_checksum(*values[:-1]) == values[-1], subject)
    outcome = columns["outcome"] if columns["outcome"] is not None else columns["paused"]
    fields = {name: value for name, value in columns.items() if name not in ("paused", "sequence", "checksum")}
    fields["input"] = load_json(columns["input"], subject)
    fields["outcome"] = None if outcome is None else load_json(outcome, subject)
    fields["decisions"] = load_json(columns["decisions"], subject)
    row = RunRow(**{**fields, "seconds": float(seconds), "is_open": bool(columns["is_open"])})
    return StoredRun(number=number, row=row, sequence=columns["sequence"], texts=columns)


def read_step(run_id: str, stored: Sequence[Any]) -> StoredStep:
    """Return the step of the run *run_id* that a row of the database states."""
    key, epoch, began_at, began_mark, began_checksum, data_text = stored[:6]
    done_epoch, seconds, done_at, done_mark, done_checksum, record_text = stored[6:]
    subject = f"the step {key!r}"
    events: list[StoredEvent] = []
    record: Mapping[str, Any] | None = None
    began = (epoch, began_at, began_mark, began_checksum, data_text)
    done = (done_epoch, seconds, done_at, done_mark, done_checksum, record_text)
    has_began, has_done = any(value is not None for value in began), any(value is not None for value in done)
    check_stored(has_began or has_done, subject)
    if has_began:
        expected = compute_checksum(run_id, key, epoch, began_at, began_mark, data_text)
        check_stored(expected == began_checksum, subject)
        data = load_json(data_text, subject)
        events.append(_derive_event("began", key, began_mark, began_at, epoch, data))
    if has_done:
        expected = compute_checksum(run_id, key, done_epoch, seconds, done_at, done_mark, record_text)
        check_stored(expected == done_checksum, subject)
        record = load_json(record_text, subject)
        data = {"seconds": seconds, "record": record}
        events.append(_derive_event("finished", key, done_mark, done_at, done_epoch, data))
    row = StepRow(
        key=key,
        epoch=done_epoch if has_done else epoch,
        state="done" if has_done else "began",
        record=record,
        seconds=seconds if has_done else 0.0,
        began_at=began_at if has_began else done_at,
        finished_at=done_at,
    )
    return StoredStep(row=row, events=events, data_text=data_text, began_mark=began_mark, done_mark=done_mark)


def _derive_event(kind: str, key: str, mark: str, at: float, epoch: int, data: Mapping[str, Any]) -> StoredEvent:
    sequence = int(mark.partition("-")[0])  # as `SequenceClock.mark` has written it
    return StoredEvent(mark=mark, sequence=sequence, at=at, epoch=epoch, kind=kind, key=key, data=data)


def read_event(run: int, stored: Sequence[Any]) -> StoredEvent:
    """Return the event of the run with the number *run* that a row of the database states."""
    *values, checksum = stored
    mark, sequence, at, epoch, kind, key, data_text = values
    check_stored(compute_checksum(run, *values) == checksum, f"an event of kind {kind!r}")
    data = load_json(data_text, f"an event of kind {kind!r}")
    return StoredEvent(mark=mark, sequence=sequence, at=at, epoch=epoch, kind=kind, key=key, data=data)


def check_stored(is_right: bool, subject: str) -> None:
    """Raise `DamagedRowError` unless the checksum of *subject* is right."""
    if not is_right:
        raise DamagedRowError(f"{subject} differs from what was written there")
