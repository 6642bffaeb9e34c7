"""
Access to the rows of a journal, within a transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ...storage.database import Execute
from ..errors import DurableError
from .records import RunRow, WorkerRow
from .row_texts import check_id, load_json
from .statements import Statements
from .stored_rows import StoredEvent, StoredRun, StoredStep, check_stored, pack_run, read_event, read_run, read_step

__all__ = ["RowAccess"]


class RowAccess:
    """The rows of a journal, as a transaction sees them."""

    def __init__(self, statements: Statements, execute: Execute) -> None:
        self._sql = statements
        self._execute = execute

    def find_run(self, run_id: str) -> StoredRun | None:
        """Return the run with exactly this id; None if there is none."""
        stored = self._execute(self._sql.read_run, (check_id(run_id),)).fetchone()
        return None if stored is None else read_run(stored)

    def require_run(self, run_id: str) -> StoredRun:
        """Return the run with exactly this id, or raise `DurableError` if there is none."""
        stored = self.find_run(run_id)
        if stored is None:
            raise DurableError(f"there is no run {run_id!r}", why="unknown")
        return stored

    def lock_run(self, run_id: str) -> StoredRun:
        """Return a run that no other process can change until this transaction ends."""
        if self._sql.lock_run:
            self._execute(self._sql.lock_run, (check_id(run_id),)).fetchone()
        return self.require_run(run_id)

    def list_runs(self, filters: Mapping[str, Any], limit: int) -> Sequence[RunRow]:
        """Return the newest runs for which all *filters* hold: SQL conditions with the value of each."""
        conditions = " AND ".join(filters) or "1 = 1"
        rows = self._execute(self._sql.list_runs.format(filters=conditions), [*filters.values(), limit]).fetchall()
        return [read_run(row).row for row in rows]

    def list_due(self, before: float) -> Sequence[RunRow]:
        """Return the runs that need a worker since that time, without what they were given and have done."""
        names = ("id", "kind", "status", "epoch", "principal", "worker", "version")
        rows = self._execute(self._sql.list_due, (before, before)).fetchall()
        return [RunRow(input={}, **dict(zip(names, row, strict=True))) for row in rows]

    def add_run(self, values: Sequence[Any]) -> None:
        """Add a run, unless there is one with its id."""
        self._execute(self._sql.add_run, values)

    def change_run(self, stored: StoredRun, row: RunRow, sequence: int) -> None:
        """Write *row* over the run *stored*."""
        self._execute(self._sql.change_run, (*pack_run(row, sequence, stored), stored.number))

    def find_step(self, run: StoredRun, key: str) -> StoredStep | None:
        """Return a step of a run; None if there is none."""
        row = self._execute(self._sql.read_step, (run.number, key)).fetchone()
        return None if row is None else read_step(run.row.id, row)

    def begin_again(self, run: StoredRun, key: str, values: Sequence[Any]) -> None:
        """Write over the beginning of a step."""
        self._execute(self._sql.begin_again, (*values, run.number, key))

    def list_steps(self, run: StoredRun) -> Sequence[StoredStep]:
        """Return all steps of a run."""
        rows = self._execute(self._sql.read_steps, (run.number,)).fetchall()
        return [read_step(run.row.id, row) for row in rows]

    def list_events(self, run: StoredRun) -> Sequence[StoredEvent]:
        """Return the events of a run that have rows of their own."""
        rows = self._execute(self._sql.read_events, (run.number,)).fetchall()
        return [read_event(run.number, row) for row in rows]

    def has_event(self, run: StoredRun, mark: str) -> bool:
        """Return whether the change with this *mark* was committed."""
        return self._execute(self._sql.has_event, (run.number, mark)).fetchone() is not None

    def add_event(self, run: StoredRun, event: StoredEvent) -> None:
        """Add an event to a run."""
        self._execute(self._sql.add_event, event.pack(run.number))

    def purge(self, before: float) -> int:
        """Delete the runs that were over before that time, and return how many."""
        numbers = self._execute(self._sql.lock_old_runs, (before,)).fetchall()
        for number in numbers:
            for statement in self._sql.delete_run:
                self._execute(statement, number)
        return len(numbers)

    def list_workers(self) -> Sequence[WorkerRow]:
        """Return all workers."""
        return [self._read_worker(*row) for row in self._execute(self._sql.read_workers, ()).fetchall()]

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
        )
