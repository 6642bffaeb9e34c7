"""
The journal of the steps of runs: what is about to happen, and what came of it.

To begin and to finish a step is one statement each, which is also the fence: it writes only if the activation is the
newest one of its run. What happened to the steps is derived from their rows, so a step costs no further row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, TypeVar

from ...storage.database import Database
from ..errors import RunTakenOver
from .records import EventRow, StepRow
from .row_access import RowAccess
from .row_texts import DamagedRowError, check_id, check_number, check_text, compute_checksum, dump_json, shorten_key
from .run_changes import check_newest
from .statements import BEGIN_STEP, FINISH_STEP, TAKE_BACK_STEP, adapt
from .stored_rows import SequenceClock, StoredEvent, StoredStep

__all__ = ["StepJournal", "build_event"]

T = TypeVar("T")


class StepJournal:
    """The part of a journal that an activation writes while it works on a run."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._clock = SequenceClock()

    def check_newest(self, run_id: str, epoch: int) -> None:
        """Raise `RunTakenOver` unless *epoch* is the newest activation of the run, and has not ended."""
        self._read(lambda rows: check_newest(rows.require_run(run_id).row, epoch))

    def read_steps(self, run_id: str) -> dict[str, StepRow]:
        """Return all steps of a run by their keys."""
        steps = self._read(lambda rows: rows.list_steps(rows.require_run(run_id)))
        return {step.row.key: step.row for step in steps}

    def begin(self, run_id: str, epoch: int, key: str, data: Mapping[str, Any], *, now: float) -> None:
        """Record that a step is about to take effect, with *data* for people; raise `RunTakenOver` if it has begun."""
        key, now = shorten_key(key), check_number(now, "the time")
        text = dump_json(data, f"the data of the step {key!r}")
        mark = self._clock.mark(self._clock.take(now))
        checksum = compute_checksum(run_id, key, epoch, now, mark, text)
        values = (key, epoch, now, mark, checksum, text, check_id(run_id), epoch)
        if not self._change_once(BEGIN_STEP, values):
            step = self._find_obstacle(run_id, epoch, key)
            if step is None or step.began_mark != mark:
                raise RunTakenOver(f"the step {key!r} was begun already")

    def take_back(self, run_id: str, epoch: int, key: str) -> None:
        """Remove the beginning that this epoch has written of a step that did not take effect and has no record."""
        self._change_once(TAKE_BACK_STEP, (shorten_key(key), epoch, check_id(run_id), epoch))

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
        """Keep what came of a step, which need not have begun; raise `RunTakenOver` if it has a record."""
        key, now = shorten_key(key), check_number(now, "the time")
        text = dump_json(record, f"the record of the step {key!r}")
        seconds = check_number(seconds, "the seconds of a step")
        mark = self._clock.mark(self._clock.take(now))
        checksum = compute_checksum(run_id, key, epoch, seconds, now, mark, text)
        values = (key, epoch, seconds, now, mark, checksum, text, check_id(run_id), epoch)
        # A power cut may undo this, but only with all that came after it. Then the step is one that has begun.
        if not self._change_once(FINISH_STEP, values, durable=False):
            step = self._find_obstacle(run_id, epoch, key)
            if step is None or step.done_mark != mark:
                raise RunTakenOver(f"the step {key!r} has a record already")

    def note(self, run_id: str, epoch: int, kind: str, data: Mapping[str, Any], *, now: float) -> None:
        """Add an event that is no step."""
        now = check_number(now, "the time")
        sequence = self._clock.take(now)
        event = build_event(kind, self._clock.mark(sequence), sequence, now, epoch, data)

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

    def _find_obstacle(self, run_id: str, epoch: int, key: str) -> StoredStep | None:
        """Raise the error that says why a step could not be written, or return the step that is there already."""

        def work(rows: RowAccess) -> StoredStep | None:
            run = rows.require_run(run_id)
            check_newest(run.row, epoch)
            return rows.find_step(run, key)

        return self._read(work)

    def _read(self, work: Callable[[RowAccess], T]) -> T:
        with self._translate_damage():
            return self._database.read(lambda execute: work(RowAccess(self._database.dialect, execute)))

    def _change(self, work: Callable[[RowAccess], T], *, durable: bool = True) -> T:
        with self._translate_damage():
            return self._database.change(
                lambda execute: work(RowAccess(self._database.dialect, execute)), durable=durable
            )

    def _change_once(self, statement: str, values: Sequence[Any], *, durable: bool = True) -> int:
        return self._database.change_once(adapt(statement, self._database.dialect), values, durable=durable)

    @contextmanager
    def _translate_damage(self) -> Iterator[None]:
        try:
            yield
        except DamagedRowError as error:
            raise self._database.describe_error(f"is damaged: {error}; restore it from a copy") from error


def build_event(kind: str, mark: str, sequence: int, at: float, epoch: int, data: Mapping[str, Any]) -> StoredEvent:
    """Return an event that is about no step."""
    check_text(kind, "the kind of an event")
    return StoredEvent(mark=mark, sequence=sequence, at=at, epoch=epoch, kind=kind, key=None, data=data)
