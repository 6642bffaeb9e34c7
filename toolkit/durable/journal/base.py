"""
The journal of durable runs: what each step did, and which process may write.

Every method is one transaction. A change that belongs to an activation names its epoch and raises `RunTakenOver` if a
newer activation has begun. So a process that was frozen, and wakes up after another one took its run over, changes
nothing. The methods block; call them in a thread. A journal may be used from several threads and several processes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from .records import EventRow, RunRow, RunStatus, StepRow, WorkerRow

__all__ = ["Journal"]


class Journal(Protocol):
    """
    A journal in a database. Every method raises `DurableError` with `why="store"` if the database cannot be used.

    The times given as *now* are seconds since 1970.
    """

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
        """
        Return the run with this id, and whether it is new. A new run is "queued".

        Raises:
            DurableError: There is a run with this id of another kind or with another input (`why="changed"`).
        """

    def get(self, run_id: str) -> RunRow | None:
        """Return the run with exactly this id; None if there is none."""

    def list(
        self, *, status: RunStatus | None = None, kind: str | None = None, limit: int = 100, after: str | None = None
    ) -> Sequence[RunRow]:
        """Return runs, the newest first; *after* is the id of the last run of the page before."""

    def list_due(self, *, before: float) -> Sequence[RunRow]:
        """
        Return the runs that need a worker since *before*, without their input, outcome and decisions.

        Those are the runs that are queued or under way, that wait and have an answer or are due, or that are over and
        have requests to be withdrawn.
        """

    def close_requests(self, run_id: str, epoch: int) -> None:
        """Record that the requests of a run that is over were withdrawn. It does nothing if the run goes on again."""

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
        """
        Take the next epoch of a run and return the run, which is "running" now.

        If the activation before was cut off, `lives` goes up. At *max_lives* the run ends as "failed" instead.

        Args:
            version: The version of the agent or flow that goes on with the run from now on.
            epoch: The epoch that the run has as far as the caller knows; None if it does not matter.

        Raises:
            RunTakenOver: The run has another epoch than *epoch*: another process has taken it meanwhile.
            DurableError: There is no such run, or it is over.
        """

    def check_newest(self, run_id: str, epoch: int) -> None:
        """Raise `RunTakenOver` unless *epoch* is the newest activation of the run, and has not ended."""

    def read_steps(self, run_id: str) -> dict[str, StepRow]:
        """Return all steps of a run by their keys."""

    def begin(self, run_id: str, epoch: int, key: str, data: Mapping[str, Any], *, now: float) -> None:
        """
        Record that a step is about to take effect. *data* describes it for people.

        Raises:
            RunTakenOver: The epoch is not the newest, or the step was begun already, also by an earlier epoch.
        """

    def take_back(self, run_id: str, epoch: int, key: str) -> None:
        """
        Remove the beginning of a step that this epoch has written, because the step did not take effect.

        A beginning that is not of the newest epoch, or has a record, stays.
        """

    def begin_again(self, run_id: str, epoch: int, key: str, *, now: float) -> None:
        """Record that a step that was begun by an earlier epoch, and may be repeated, is begun by this one."""

    def finish(
        self, run_id: str, epoch: int, key: str, record: Mapping[str, Any], *, seconds: float, now: float
    ) -> None:
        """
        Keep what came of a step, which need not have begun.

        Raises:
            RunTakenOver: The epoch is not the newest, or the step has a record.
        """

    def note(self, run_id: str, epoch: int, kind: str, data: Mapping[str, Any], *, now: float) -> None:
        """Add an event that is no step."""

    def read_events(self, run_id: str) -> Sequence[EventRow]:
        """Return what happened in a run, in order."""

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
        enqueues the next activation. *problem* says why a run has failed. At *due_at* a run that waits goes on without
        an answer.
        """

    def give_back(self, run_id: str, epoch: int, *, now: float) -> RunRow:
        """Queue a run again whose activation ends before the run does, because its worker ends in good order."""

    def decide(self, run_id: str, decisions: Mapping[str, Any], *, now: float) -> RunRow:
        """
        Add decisions to a run that waits or is under way.

        Raises:
            DurableError: There is no such run, it is over, or a request has a decision already (`why="answered"`).
        """

    def cancel(self, run_id: str, reason: str, *, now: float) -> RunRow:
        """Cancel a run that is not over, and take the next epoch, so that a process that works on it cannot go on."""

    def execute(self, run_id: str, order: Mapping[str, Any], *, now: float) -> RunRow:
        """
        Queue a run again that has planned, and keep the *order* among its decisions. Its outcome stays the plan.

        Raises:
            DurableError: The run has not planned, or its plan was ordered already.
        """

    def retry(self, run_id: str, *, now: float, deadline: float | None = None, any_version: bool = False) -> RunRow:
        """
        Queue a run again that has failed, was stopped or was cancelled. Its steps are kept.

        Args:
            deadline: When the run has to end now; None if that does not change.
            any_version: Let a worker of any version go on. Then a run that is queued or waits may be given too.

        Raises:
            DurableError: The run is not over, or is done, or its deadline has passed.
        """

    def purge(self, *, before: float) -> int:
        """Delete the runs that were over before that time, with all their rows, and return how many."""

    def compact(self) -> None:
        """Give the space of deleted rows back to the disk, if the database does not do so by itself."""

    def beat(self, worker: str, data: Mapping[str, Any]) -> None:
        """Raise the counter of a worker by one, so that the others see that it lives."""

    def read_workers(self) -> Mapping[str, int]:
        """Return the counters of all workers. A worker whose counter does not change any more is dead."""

    def list_workers(self) -> Sequence[WorkerRow]:
        """Return all workers, as they describe themselves for people."""

    def remove_worker(self, worker: str) -> None:
        """Remove a worker that has ended, or that is dead."""

    def close(self) -> None:
        """Close all connections."""
