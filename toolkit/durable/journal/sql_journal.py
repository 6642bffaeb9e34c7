"""
The journal in a database that speaks SQL.

To begin and to finish a step is one statement each, which is also the fence: it writes only if the activation is the
newest one of its run. What happened to the steps is derived from their rows, so a step costs no further row.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, TypeVar

from ..errors import RunTakenOver
from .base import Journal
from .database import Database
from .records import EventRow, RunRow, RunStatus, StepRow, WorkerRow
from .row_access import RowAccess
from .row_texts import (
    DamagedRowError,
    check_id,
    check_number,
    check_text,
    compute_checksum,
    dump_json,
    escape_text,
    shorten_key,
)
from .run_changes import (
    activate_run,
    add_decisions,
    cancel_run,
    check_newest,
    check_same,
    end_run,
    execute_run,
    give_back_run,
    retry_run,
)
from .sequences import SequenceClock
from .statements import Statements
from .stored_rows import StoredEvent, StoredRun, StoredStep, pack_run

__all__ = ["SQLJournal"]

T = TypeVar("T")


class SQLJournal(Journal):
    """A journal in *database*, whose tables exist."""

    def __init__(self, database: Database, statements: Statements) -> None:
        self._database = database
        self._sql = statements
        self._clock = SequenceClock()

    def create(
        self,
        run_id: str,
        kind: str,
        input: Mapping[str, Any],  # noqa: A002 -- the name of the column
        *,
        principal: str | None = None,
        deadline: float | None = None,
        now: float,
    ) -> tuple[RunRow, bool]:
        """Return the run with this id, and whether it is new."""
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
                rows.add_event(stored, _build_event("created", mark, sequence, now, 0, {}))
            return stored.row, is_new

        return self._change(work)

    def get(self, run_id: str) -> RunRow | None:
        """Return the run with exactly this id; None if there is none."""
        stored = self._read(lambda rows: rows.find_run(run_id))
        return None if stored is None else stored.row

    def list(
        self, *, status: RunStatus | None = None, kind: str | None = None, limit: int = 100, after: str | None = None
    ) -> Sequence[RunRow]:
        """Return runs, the newest first; *after* is the id of the last run of the page before."""

        def work(rows: RowAccess) -> Sequence[RunRow]:
            filters: dict[str, Any] = {}
            if status is not None:
                filters[self._sql.has_status] = check_text(status, "the status of a run")
            if kind is not None:
                filters[self._sql.has_kind] = check_text(kind, "the kind of a run")
            if after is not None:
                filters[self._sql.is_older] = rows.require_run(after).number
            return rows.list_runs(filters, max(limit, 0))

        return self._read(work)

    def list_due(self, *, before: float) -> Sequence[RunRow]:
        """Return the runs that need a worker since that time, without what they were given and have done."""
        return self._read(lambda rows: rows.list_due(check_number(before, "the time")))

    def close_requests(self, run_id: str, epoch: int) -> None:
        """Record that the requests of a run that is over were withdrawn."""

        def work(rows: RowAccess) -> None:
            stored = rows.lock_run(run_id)
            if stored.row.is_open and stored.row.epoch == epoch:
                rows.change_run(stored, replace(stored.row, is_open=False), stored.sequence)

        self._change(work, durable=False)

    def activate(
        self,
        run_id: str,
        *,
        worker: str,
        version: str = "",
        now: float,
        max_lives: int,
        epoch: int | None = None,
    ) -> RunRow:
        """Take the next epoch of a run and return the run, which is "running" now, or "failed"."""
        check_text(worker, "the name of a worker")

        def change(row: RunRow, now: float) -> RunRow:
            return activate_run(row, worker=worker, version=version, now=now, max_lives=max_lives, epoch=epoch)

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
        """Record how an activation ended, and remove the decisions that it has used."""
        text = escape_text(problem)
        due = None if due_at is None else check_number(due_at, "the time at which a run is due")

        def change(row: RunRow, now: float) -> RunRow:
            return end_run(
                row, epoch, status, outcome, used_decisions=used_decisions, problem=text, due_at=due, now=now
            )

        data = {"status": status, **({"problem": text} if text else {})}
        return self._change_run(run_id, "waiting" if status == "waiting" else "ended", change, now, data)

    def give_back(self, run_id: str, epoch: int, *, now: float) -> RunRow:
        """Queue a run again whose activation ends before the run does."""

        def change(row: RunRow, now: float) -> RunRow:
            return give_back_run(row, epoch, now=now)

        return self._change_run(run_id, "given_back", change, now, {})

    def decide(self, run_id: str, decisions: Mapping[str, Any], *, now: float) -> RunRow:
        """Add decisions to a run that waits or is under way."""
        answered: set[str] = set()

        def collect(rows: RowAccess, stored: StoredRun) -> None:
            for event in sorted(rows.list_events(stored), key=lambda event: (event.epoch, event.sequence)):
                if event.kind == "decided":
                    answered.update(event.data["requests"])
                elif event.kind == "refused":  # the decision was not accepted, so there may be another one
                    answered.difference_update(event.data["requests"])

        def change(row: RunRow, now: float) -> RunRow:
            return add_decisions(row, decisions, answered, now=now)

        return self._change_run(run_id, "decided", change, now, {"requests": list(decisions)}, prepare=collect)

    def cancel(self, run_id: str, reason: str, *, now: float) -> RunRow:
        """Cancel a run that is not over, and take the next epoch."""
        text = escape_text(reason)

        def change(row: RunRow, now: float) -> RunRow:
            return cancel_run(row, text, now=now)

        return self._change_run(run_id, "cancelled", change, now, {"reason": text})

    def execute(self, run_id: str, order: Mapping[str, Any], *, now: float) -> RunRow:
        """Queue a run again that has planned, and keep the *order* among its decisions."""

        def change(row: RunRow, now: float) -> RunRow:
            return execute_run(row, order, now=now)

        return self._change_run(run_id, "executed", change, now, order)

    def retry(self, run_id: str, *, now: float, deadline: float | None = None, any_version: bool = False) -> RunRow:
        """Queue a run again that has failed, was stopped or was cancelled. Its steps are kept."""
        new_deadline = None if deadline is None else check_number(deadline, "the deadline of a run")

        def change(row: RunRow, now: float) -> RunRow:
            return retry_run(row, now=now, deadline=new_deadline, any_version=any_version)

        data = {"any_version": True} if any_version else {}
        return self._change_run(run_id, "retried", change, now, data)

    def check_newest(self, run_id: str, epoch: int) -> None:
        """Raise `RunTakenOver` unless *epoch* is the newest activation of the run, and has not ended."""
        self._read(lambda rows: check_newest(rows.require_run(run_id).row, epoch))

    def read_steps(self, run_id: str) -> dict[str, StepRow]:
        """Return all steps of a run by their keys."""

        def work(rows: RowAccess) -> dict[str, StepRow]:
            return {step.row.key: step.row for step in rows.list_steps(rows.require_run(run_id))}

        return self._read(work)

    def begin(self, run_id: str, epoch: int, key: str, data: Mapping[str, Any], *, now: float) -> None:
        """Record that a step is about to take effect."""
        key, now = shorten_key(key), check_number(now, "the time")
        text = dump_json(data, f"the data of the step {key!r}")
        mark = self._clock.mark(self._clock.take(now))
        checksum = compute_checksum(run_id, key, epoch, now, mark, text)
        values = (key, epoch, now, mark, checksum, text, check_id(run_id), epoch)
        if not self._database.change_once(self._sql.begin, values):
            step = self._find_obstacle(run_id, epoch, key)
            if step is None or step.began_mark != mark:
                raise RunTakenOver(f"the step {key!r} was begun already")

    def take_back(self, run_id: str, epoch: int, key: str) -> None:
        """Remove the beginning of a step that this epoch has written, because the step did not take effect."""
        self._database.change_once(self._sql.take_back, (shorten_key(key), epoch, check_id(run_id), epoch))

    def begin_again(self, run_id: str, epoch: int, key: str, *, now: float) -> None:
        """Record that a step that was begun by an earlier epoch, and may be repeated, is begun by this one."""
        key, now = shorten_key(key), check_number(now, "the time")
        new_mark = self._clock.mark(self._clock.take(now))

        def work(rows: RowAccess) -> None:
            run = rows.lock_run(run_id)
            check_newest(run.row, epoch)
            step = rows.find_step(run, key)
            if step is None or step.row.state == "done":
                raise RunTakenOver(f"the step {key!r} {'was not begun' if step is None else 'has a record already'}")
            if step.began_mark == new_mark:
                return
            if step.row.epoch >= epoch:
                raise RunTakenOver(f"the step {key!r} was begun already")
            (earlier,) = step.events
            rows.add_event(run, earlier)
            checksum = compute_checksum(run_id, key, epoch, now, new_mark, step.data_text)
            rows.begin_again(run, key, (epoch, now, new_mark, checksum))

        self._change(work)

    def finish(
        self, run_id: str, epoch: int, key: str, record: Mapping[str, Any], *, seconds: float, now: float
    ) -> None:
        """Keep what came of a step, which need not have begun."""
        key, now = shorten_key(key), check_number(now, "the time")
        text = dump_json(record, f"the record of the step {key!r}")
        seconds = check_number(seconds, "the seconds of a step")
        mark = self._clock.mark(self._clock.take(now))
        checksum = compute_checksum(run_id, key, epoch, seconds, now, mark, text)
        values = (key, epoch, seconds, now, mark, checksum, text, check_id(run_id), epoch)
        # A power cut may undo this, but only with all that came after it. Then the step is one that has begun.
        if not self._database.change_once(self._sql.finish, values, durable=False):
            step = self._find_obstacle(run_id, epoch, key)
            if step is None or step.done_mark != mark:
                raise RunTakenOver(f"the step {key!r} has a record already")

    def note(self, run_id: str, epoch: int, kind: str, data: Mapping[str, Any], *, now: float) -> None:
        """Add an event that is no step."""
        now = check_number(now, "the time")
        sequence = self._clock.take(now)
        event = _build_event(kind, self._clock.mark(sequence), sequence, now, epoch, data)

        def work(rows: RowAccess) -> None:
            run = rows.lock_run(run_id)
            if run.row.epoch != epoch:
                check_newest(run.row, epoch)
            if not rows.has_event(run, event.mark):
                rows.add_event(run, event)

        self._change(work, durable=False)

    def read_events(self, run_id: str) -> Sequence[EventRow]:
        """Return what happened in a run, in order."""

        def work(rows: RowAccess) -> Sequence[EventRow]:
            run = rows.require_run(run_id)
            events = [*rows.list_events(run)]
            for step in rows.list_steps(run):
                events += step.events
            events.sort(key=lambda event: (event.epoch, event.sequence))
            return [event.number(place) for place, event in enumerate(events, 1)]

        return self._read(work)

    def purge(self, *, before: float) -> int:
        """Delete the runs that were over before that time, with all their rows, and return how many."""
        return self._change(lambda rows: rows.purge(check_number(before, "the time")))

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk."""
        self._database.compact()

    def beat(self, worker: str, data: Mapping[str, Any]) -> None:
        """Raise the counter of a worker by one, so that the others see that it lives."""
        text = dump_json(data, "the data of a worker")
        self._database.change_once(self._sql.beat, (check_text(worker, "the name of a worker"), text), durable=False)

    def read_workers(self) -> Mapping[str, int]:
        """Return the counters of all workers."""
        return {worker.name: worker.beats for worker in self.list_workers()}

    def list_workers(self) -> Sequence[WorkerRow]:
        """Return all workers, as they describe themselves."""
        return self._read(lambda rows: rows.list_workers())

    def remove_worker(self, worker: str) -> None:
        """Remove a worker that has ended, or that is dead."""
        self._database.change_once(
            self._sql.remove_worker, (check_text(worker, "the name of a worker"),), durable=False
        )

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    def _change_run(
        self,
        run_id: str,
        kind: str,
        change: Callable[[RunRow, float], RunRow],
        now: float,
        data: Mapping[str, Any],
        *,
        durable: bool = True,
        prepare: Callable[[RowAccess, StoredRun], None] | None = None,
    ) -> RunRow:
        """Change a run, and add an event, unless this very change was committed before it was tried again."""
        now = check_number(now, "the time")
        sequence = self._clock.take(now)
        mark = self._clock.mark(sequence)

        def work(rows: RowAccess) -> RunRow:
            stored = rows.lock_run(run_id)
            if rows.has_event(stored, mark):
                return stored.row
            if prepare is not None:
                prepare(rows, stored)
            row = change(stored.row, now)
            if row is stored.row:
                return row
            last = max(sequence, stored.sequence + 1)
            rows.change_run(stored, row, last)
            rows.add_event(stored, _build_event(kind, mark, last, now, row.epoch, data))
            self._clock.advance(last)
            return rows.require_run(run_id).row if row.outcome is None else row

        return self._change(work, durable=durable)

    def _find_obstacle(self, run_id: str, epoch: int, key: str) -> StoredStep | None:
        """Raise the error that says why a step could not be written, or return the step that is there already."""

        def work(rows: RowAccess) -> StoredStep | None:
            run = rows.require_run(run_id)
            check_newest(run.row, epoch)
            return rows.find_step(run, key)

        return self._read(work)

    def _read(self, work: Callable[[RowAccess], T]) -> T:
        with self._translate_damage():
            return self._database.read(lambda execute: work(RowAccess(self._sql, execute)))

    def _change(self, work: Callable[[RowAccess], T], *, durable: bool = True) -> T:
        with self._translate_damage():
            return self._database.change(lambda execute: work(RowAccess(self._sql, execute)), durable=durable)

    @contextmanager
    def _translate_damage(self) -> Iterator[None]:
        try:
            yield
        except DamagedRowError as error:
            raise self._database.describe_error(f"is damaged: {error}; restore it from a copy") from error


def _build_event(kind: str, mark: str, sequence: int, at: float, epoch: int, data: Mapping[str, Any]) -> StoredEvent:
    check_text(kind, "the kind of an event")
    return StoredEvent(mark=mark, sequence=sequence, at=at, epoch=epoch, kind=kind, key=None, data=data)
