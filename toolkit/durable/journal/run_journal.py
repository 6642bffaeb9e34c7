"""
The journal of durable runs: what each step did, and which process may write.

Every method is one transaction. A change that belongs to an activation names its epoch and raises `RunTakenOver` if a
newer activation has begun. So a process that was frozen, and wakes up after another one took its run over, changes
nothing. The methods block; call them in a thread. A journal may be used from several threads and several processes.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ...storage.postgres_database import PostgresDatabase
from ...storage.sqlite_database import SQLiteDatabase
from ..database_address import find_sqlite_path
from ..errors import DurableError
from .records import DEFAULT_QUEUE, RunRow, RunStatus, WorkerRow, find_queue
from .row_access import RowAccess
from .row_texts import check_id, check_number, check_text, dump_json, escape_text
from .run_changes import (
    activate_run,
    add_decisions,
    cancel_run,
    check_same,
    end_run,
    execute_run,
    give_back_run,
    retry_run,
)
from .statements import BEAT, REMOVE_WORKER, RUNS
from .step_journal import StepJournal, build_event
from .stored_rows import StoredRun, pack_run

__all__ = ["Journal", "open_journal"]

_REMEDY = 'give "sqlite:///runs.sqlite", "sqlite:////absolute/path.sqlite" or "postgresql://user@host/database"'


class Journal(StepJournal):
    """A journal in a database. `DurableError` with `why="store"` says that it cannot be used. Times are since 1970."""

    def create(
        self,
        run_id: str,
        kind: str,
        input: Mapping[str, Any],
        *,
        principal: str | None = None,
        deadline: float | None = None,
        queue: str = DEFAULT_QUEUE,
        now: float,
    ) -> tuple[RunRow, bool]:
        """
        Return the run with this id, and whether it is new. Raise `DurableError` if it is not the same run.

        *queue* is noted for those who go on with the run later. A run that is there already keeps its own.
        """
        now = check_number(now, "the time")
        row = RunRow(
            id=check_id(run_id),
            kind=check_text(kind, "the kind of a run"),
            status="queued",
            input=input,
            secret=secrets.token_hex(16),
            principal=None if principal is None else check_text(principal, "the principal of a run"),
            deadline=None if deadline is None else check_number(deadline, "the deadline of a run"),
            created_at=now,
            updated_at=now,
        )
        sequence = self._clock.take(now)
        mark = self._clock.mark(sequence)
        values = pack_run(row, sequence)

        def work(rows: RowAccess) -> tuple[RunRow, bool]:
            rows.add_run(values)
            stored = rows.require_run(row.id)
            # The secret tells the run that this call has added, now or before it was tried again.
            is_new = stored.row.secret == row.secret
            if not is_new:
                check_same(stored.row, row)
            elif not rows.has_event(stored, mark):
                rows.add_event(stored, build_event("created", mark, sequence, now, 0, {"queue": queue}))
            return stored.row, is_new

        return self._change(work)

    def get(self, run_id: str) -> RunRow | None:
        """Return the run with exactly this id; None if there is none."""
        stored = self._read(lambda rows: rows.find_run(run_id))
        return None if stored is None else stored.row

    def find_queue(self, run_id: str) -> str | None:
        """Return the queue of a run; None if there is no such run, or if it was made before queues were noted."""
        notes = self._read(lambda rows: rows.list_queue_notes(run_id))
        return find_queue([note.number(0) for note in sorted(notes, key=lambda note: (note.epoch, note.sequence))])

    def list(
        self, *, status: RunStatus | None = None, kind: str | None = None, limit: int = 100, after: str | None = None
    ) -> Sequence[RunRow]:
        """Return runs, the newest first; *after* is the id of the last run of the page before."""

        def work(rows: RowAccess) -> Sequence[RunRow]:
            filters: dict[str, Any] = {}
            if status is not None:
                filters["status = ?"] = check_text(status, "the status of a run")
            if kind is not None:
                filters["kind = ?"] = check_text(kind, "the kind of a run")
            if after is not None:
                filters["number < ?"] = rows.require_run(after).number
            return rows.list_runs(filters, max(limit, 0))

        return self._read(work)

    def list_due(self, *, now: float, settle_seconds: float) -> Sequence[RunRow]:
        """
        Return the runs that need a worker for *settle_seconds*, without their input, outcome and decisions.

        A clock that is ahead of this one may have written when they changed. Then they are returned, too.
        """
        now = check_number(now, "the time")
        return self._read(lambda rows: rows.list_due(now - settle_seconds, now))

    def close_requests(self, run_id: str, epoch: int) -> None:
        """Record that the requests of a run that is over were withdrawn. It does nothing if the run goes on again."""

        def work(rows: RowAccess) -> None:
            stored = rows.lock_run(run_id)
            if stored.row.is_open and stored.row.epoch == epoch:
                rows.change_run(stored, replace(stored.row, is_open=False), stored.sequence)

        self._change(work, durable=False)

    def activate(
        self, run_id: str, *, worker: str, version: str = "", now: float, max_lives: int, epoch: int | None = None
    ) -> RunRow:
        """
        Take the next epoch of a run and return the run, which is "running" now.

        If the activation before was cut off, `lives` goes up. At *max_lives* the run ends as "failed" instead. The
        *version* is that of the agent or flow that goes on with the run. `RunTakenOver` is raised if the run has not
        *epoch* any more, because another process has taken it.
        """
        check_text(worker, "the name of a worker")
        change = partial(activate_run, worker=worker, version=version, max_lives=max_lives, epoch=epoch)
        # A power cut ends every process that knows of the new epoch, and `begin` makes it durable.
        return self._change_run(run_id, "activated", change, now, {"worker": worker}, durable=False)

    def end(
        self,
        run_id: str,
        epoch: int,
        status: RunStatus,
        outcome: Mapping[str, Any],
        *,
        used_decisions: Sequence[str],
        problem: str = "",
        due_at: float | None = None,
        now: float,
    ) -> RunRow:
        """
        Record how an activation ended, and remove the decisions that it has used. `lives` goes back to 0.

        If the run is "waiting" and decisions have come meanwhile, the row that is returned has them, and the caller
        enqueues the next activation. At *due_at* a run that waits goes on without an answer.
        """
        text = escape_text(problem)
        change = partial(
            end_run,
            epoch=epoch,
            status=status,
            outcome=outcome,
            used_decisions=used_decisions,
            problem=text,
            due_at=None if due_at is None else check_number(due_at, "the time at which a run is due"),
        )
        data = {"status": status, **({"problem": text} if text else {})}
        return self._change_run(run_id, "waiting" if status == "waiting" else "ended", change, now, data)

    def give_back(self, run_id: str, epoch: int, *, now: float) -> RunRow:
        """Queue a run again whose activation ends before the run does, because its worker ends in good order."""
        return self._change_run(run_id, "given_back", partial(give_back_run, epoch=epoch), now, {})

    def decide(self, run_id: str, decisions: Mapping[str, Any], *, now: float) -> RunRow:
        """Add decisions to a run that waits or is under way. Raise `DurableError` if a request has one already."""
        change = partial(add_decisions, decisions=decisions)
        return self._change_run(run_id, "decided", change, now, {"requests": [*decisions]}, needs_answered=True)

    def cancel(self, run_id: str, reason: str, *, now: float) -> RunRow:
        """Cancel a run that is not over, and take the next epoch, so that a process that works on it cannot go on."""
        text = escape_text(reason)
        return self._change_run(run_id, "cancelled", partial(cancel_run, reason=text), now, {"reason": text})

    def execute(self, run_id: str, order: Mapping[str, Any], *, now: float) -> RunRow:
        """Queue a run again that has planned, and keep the *order* among its decisions. Its outcome stays the plan."""
        return self._change_run(run_id, "executed", partial(execute_run, order=order), now, order)

    def retry(self, run_id: str, *, now: float, deadline: float | None = None, any_version: bool = False) -> RunRow:
        """Queue a run again that has failed, was stopped or was cancelled. Its steps are kept. See `retry_run`."""
        new_deadline = None if deadline is None else check_number(deadline, "the deadline of a run")
        change = partial(retry_run, deadline=new_deadline, any_version=any_version)
        return self._change_run(run_id, "retried", change, now, {"any_version": True} if any_version else {})

    def purge(self, *, before: float) -> int:
        """Delete the runs that were over before that time, with all their rows, and return how many."""
        return self._change(lambda rows: rows.purge(check_number(before, "the time")))

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk, if the database does not do so by itself."""
        self._database.compact()

    def beat(self, worker: str, data: Mapping[str, Any]) -> None:
        """Raise the counter of a worker by one, so that the others see that it lives."""
        text = dump_json(data, "the data of a worker")
        self._change_once(BEAT, (check_text(worker, "the name of a worker"), text), durable=False)

    def read_workers(self) -> Mapping[str, int]:
        """Return the counters of all workers. A worker whose counter does not change any more is dead."""
        return {worker.name: worker.beats for worker in self.list_workers()}

    def list_workers(self) -> Sequence[WorkerRow]:
        """Return all workers, as they describe themselves for people."""
        return self._read(lambda rows: rows.list_workers())

    def remove_worker(self, worker: str) -> None:
        """Remove a worker that has ended, or that is dead."""
        self._change_once(REMOVE_WORKER, (check_text(worker, "the name of a worker"),), durable=False)

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def _change_run(
        self,
        run_id: str,
        kind: str,
        change: Callable[..., RunRow],
        now: float,
        data: Mapping[str, Any],
        *,
        durable: bool = True,
        needs_answered: bool = False,
    ) -> RunRow:
        """
        Change a run, and add an event, unless this very change was committed before it was tried again.

        With *needs_answered*, *change* is also given the ids of the requests that have a decision.
        """
        now = check_number(now, "the time")
        sequence = self._clock.take(now)
        mark = self._clock.mark(sequence)

        def work(rows: RowAccess) -> RunRow:
            stored = rows.lock_run(run_id)
            if rows.has_event(stored, mark):
                return stored.row
            further = {"answered": _find_answered(rows, stored)} if needs_answered else {}
            row = change(stored.row, now=now, **further)
            if row is stored.row:
                return row
            last = max(sequence, stored.sequence + 1)
            rows.change_run(stored, row, last)
            rows.add_event(stored, build_event(kind, mark, last, now, row.epoch, data))
            self._clock.advance(last)
            return rows.require_run(run_id).row if row.outcome is None else row

        return self._change(work, durable=durable)


def _find_answered(rows: RowAccess, stored: StoredRun) -> set[str]:
    """Return the ids of the requests of a run that have a decision."""
    answered: set[str] = set()
    for event in sorted(rows.list_events(stored), key=lambda event: (event.epoch, event.sequence)):
        if event.kind == "decided":
            answered.update(event.data["requests"])
        elif event.kind == "refused":  # the decision was not accepted, so there may be another one
            answered.difference_update(event.data["requests"])
    return answered


def open_journal(database_url: str) -> Journal:
    """Open the journal in a database, and create its tables; raise `DurableError` if the URL names none of ours."""
    scheme = database_url.partition(":")[0]
    if scheme == "sqlite":
        path = find_sqlite_path(database_url)
        if path is None or "?" in path or "#" in path:
            raise DurableError(f"{database_url!r} names no file for runs; {_REMEDY}", why="store")
        return Journal(SQLiteDatabase(path, RUNS))
    if scheme.partition("+")[0].lower() in ("postgresql", "postgres"):
        try:
            return Journal(PostgresDatabase(database_url, RUNS))
        except ValueError as error:
            raise DurableError(str(error), why="store") from None
    raise DurableError(f"{scheme!r} is no database for runs; {_REMEDY}", why="store")
