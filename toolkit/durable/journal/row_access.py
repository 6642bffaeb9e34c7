"""
Access to the rows of a journal, within a transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...storage.database import Execute, Rows, SQLDialect
from ..errors import DurableError
from .records import DEFAULT_QUEUE, RunRow, WorkerRow
from .row_texts import check_id, load_json
from .statements import adapt
from .stored_rows import StoredEvent, StoredRun, StoredStep, check_stored, pack_run, read_event, read_run, read_step

__all__ = ["RowAccess"]

_AHEAD_SECONDS = 1.0
"""A run that was changed so long after now has the time of a clock that is ahead, and is not waited for."""


class RowAccess:
    """The rows of a journal, as a transaction sees them."""

    def __init__(self, dialect: SQLDialect, execute: Execute) -> None:
        self._dialect = dialect
        self._execute = execute

    def _run(self, statement: str, *values: Any) -> Rows:
        return self._execute(adapt(statement, self._dialect), values)

    def find_run(self, run_id: str) -> StoredRun | None:
        """Return the run with exactly this id; None if there is none."""
        statement = "SELECT number, {seconds}, {columns} FROM toolkit_runs WHERE id = ?"
        stored = self._run(statement, check_id(run_id)).fetchone()
        return None if stored is None else read_run(stored)

    def require_run(self, run_id: str) -> StoredRun:
        """Return the run with exactly this id, or raise `DurableError` if there is none."""
        stored = self.find_run(run_id)
        if stored is None:
            raise DurableError(f"there is no run {run_id!r}", why="unknown")
        return stored

    def lock_run(self, run_id: str) -> StoredRun:
        """Return a run that no other process can change until this transaction ends."""
        if self._dialect.lock_row:
            # The row is read after it is locked, by a statement of its own, which sees what was written until then.
            self._run("SELECT number FROM toolkit_runs WHERE id = ?{lock_row}", check_id(run_id)).fetchone()
        return self.require_run(run_id)

    def list_runs(self, filters: Mapping[str, Any], limit: int) -> Sequence[RunRow]:
        """Return the newest runs for which all *filters* hold: SQL conditions with the value of each."""
        columns, conditions = "number, {seconds}, {columns}", " AND ".join(filters) or "1 = 1"
        statement = f"SELECT {columns} FROM toolkit_runs WHERE {conditions} ORDER BY number DESC LIMIT ?"  # noqa: S608 -- our words
        return [read_run(row).row for row in self._run(statement, *filters.values(), limit).fetchall()]

    def list_due(self, before: float, now: float) -> Sequence[RunRow]:
        """Return the runs that need a worker since *before*, without what they were given and have done."""
        names = ("id", "kind", "status", "epoch", "principal", "worker", "version")
        # Without an order, both indexes are used.
        statement = (
            "SELECT id, kind, status, epoch, principal, worker, version FROM toolkit_runs"
            " WHERE (status IN ('queued', 'running') OR is_open = 1"
            " OR (status = 'waiting' AND (decisions <> '{{}}' OR due_at < ?))) AND (updated_at < ? OR updated_at > ?)"
        )
        rows = self._run(statement, before, before, now + _AHEAD_SECONDS).fetchall()
        return [RunRow(input={}, **dict(zip(names, row, strict=True))) for row in rows]

    def add_run(self, values: Sequence[Any]) -> None:
        """Add a run, unless there is one with its id."""
        self._run("INSERT INTO toolkit_runs ({columns}) VALUES ({column_values}) ON CONFLICT (id) DO NOTHING", *values)

    def change_run(self, stored: StoredRun, row: RunRow, sequence: int) -> None:
        """Write *row* over the run *stored*."""
        values = pack_run(row, sequence, stored)
        self._run("UPDATE toolkit_runs SET {column_changes} WHERE number = ?", *values, stored.number)

    def find_step(self, run: StoredRun, key: str) -> StoredStep | None:
        """Return a step of a run; None if there is none."""
        row = self._run("SELECT {step} FROM toolkit_steps WHERE run = ? AND key = ?", run.number, key).fetchone()
        return None if row is None else read_step(run.row.id, row)

    def begin_again(self, run: StoredRun, key: str, values: Sequence[Any]) -> None:
        """Write over the beginning of a step."""
        changes = "began_epoch = ?, began_at = ?, began_mark = ?, began_checksum = ?"
        self._run(f"UPDATE toolkit_steps SET {changes} WHERE run = ? AND key = ?", *values, run.number, key)  # noqa: S608 -- our words

    def list_steps(self, run: StoredRun) -> Sequence[StoredStep]:
        """Return all steps of a run."""
        rows = self._run("SELECT {step} FROM toolkit_steps WHERE run = ? ORDER BY key", run.number).fetchall()
        return [read_step(run.row.id, row) for row in rows]

    def list_events(self, run: StoredRun) -> Sequence[StoredEvent]:
        """Return the events of a run that have rows of their own."""
        rows = self._run("SELECT {event} FROM toolkit_events WHERE run = ?", run.number).fetchall()
        return [read_event(run.number, row) for row in rows]

    def list_queue_notes(self, run_id: str) -> Sequence[StoredEvent]:
        """Return the events that say in which queue a run is."""
        statement = (
            "SELECT run, {event} FROM toolkit_events WHERE kind IN ('created', 'moved')"
            " AND run = (SELECT number FROM toolkit_runs WHERE id = ?)"
        )
        return [read_event(number, row) for number, *row in self._run(statement, check_id(run_id)).fetchall()]

    def has_event(self, run: StoredRun, mark: str) -> bool:
        """Return whether the change with this *mark* was committed."""
        statement = "SELECT 1 FROM toolkit_events WHERE run = ? AND mark = ?"
        return self._run(statement, run.number, mark).fetchone() is not None

    def add_event(self, run: StoredRun, event: StoredEvent) -> None:
        """Add an event to a run."""
        statement = "INSERT INTO toolkit_events (run, {event}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
        self._run(statement, *event.pack(run.number))

    def purge(self, before: float) -> int:
        """Delete the runs that were over before that time, and return how many."""
        statement = "SELECT number FROM toolkit_runs WHERE {over} AND updated_at < ?{lock_row}"
        numbers = self._run(statement, before).fetchall()
        for number in numbers:
            self._run("DELETE FROM toolkit_steps WHERE run = ?", *number)
            self._run("DELETE FROM toolkit_events WHERE run = ?", *number)
            self._run("DELETE FROM toolkit_runs WHERE number = ?", *number)
        return len(numbers)

    def list_workers(self) -> Sequence[WorkerRow]:
        """Return all workers."""
        rows = self._run("SELECT worker, beats, data FROM toolkit_workers ORDER BY worker").fetchall()
        return [self._read_worker(*row) for row in rows]

    def _read_worker(self, name: Any, beats: Any, text: Any) -> WorkerRow:
        subject = f"the row of the worker {name!r}"
        check_stored(isinstance(name, str) and isinstance(beats, int), subject)
        data = load_json(text, subject)
        return WorkerRow(
            name=name,
            beats=beats,
            host=str(data.get("host", "")),
            beat_at=data.get("beat_at"),
            versions=data.get("versions"),
            queue=str(data.get("queue", DEFAULT_QUEUE)),
        )
