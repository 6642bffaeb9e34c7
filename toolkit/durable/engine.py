"""
The engine of durable runs: it says which worker works on which run, and when.

An engine delivers jobs. A job names a run; the worker that gets it looks at the run's row in the journal, and does what
is to be done. So a job may be delivered twice or late, and an engine needs no knowledge of steps, results or decisions.
It has to deliver each job at least once. The engine in this package is DBOS (`dbos_engine.py`). Another one, such as
Temporal or Celery, implements the same protocol.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from .._option_checks import OptionTypes, check_option_types

__all__ = ["MAX_PRIORITY", "Delivery", "Engine", "Perform", "RunJob", "RunLimits"]

MAX_PRIORITY = 1_000_000
"""Priorities are between minus this number and this number."""

_NUMBER_OR_NONE = ((int, type(None)), "a whole number, or None for no limit")
_OPTION_TYPES: OptionTypes = {
    "concurrency": ((int,), "a whole number"),
    "total_concurrency": _NUMBER_OR_NONE,
    "per_principal": _NUMBER_OR_NONE,
    "rate": ((tuple, type(None)), "a number of runs and a number of seconds, such as (10, 60), or None"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits:
    """
    How many runs may be under way at once. All workers of a database share the limits; those given last hold.

    Attributes:
        concurrency: The most runs at once in one worker.
        total_concurrency: The most runs at once in all workers.
        per_principal: The most runs at once for one principal, in all workers.
        rate: At most this many activations begin within this many seconds, in all workers.
    """

    concurrency: int = 8
    total_concurrency: int | None = None
    per_principal: int | None = None
    rate: tuple[int, float] | None = None

    def __post_init__(self) -> None:
        numbers = {name: getattr(self, name) for name in ("concurrency", "total_concurrency", "per_principal")}
        check_option_types({**numbers, "rate": self.rate}, _OPTION_TYPES)
        for name, number in numbers.items():
            if number is not None and number < 1:
                raise ValueError(f"{name} has to be at least 1, got {number}")
        if self.rate is not None and not (len(self.rate) == 2 and self.rate[0] >= 1 and self.rate[1] > 0):
            raise ValueError(f"rate is a number of runs and a number of seconds, such as (10, 60); got {self.rate!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob:
    """
    Work that a worker has to do on a run.

    Attributes:
        id: The id of the job. A job with the same id that no worker has done yet is the same job.
        run_id: The run.
        priority: Jobs with a higher number are delivered first.
        after: The id of the run's job before, whose priority and queue this job gets if it has none of its own.
        principal: On whose behalf the run acts. It counts for `RunLimits.per_principal`.
        delay_seconds: How long the job waits before it can be delivered; 0 delivers a job that waits at once.
        queue: The queue whose workers do the job; that of the job before, or of this engine, unless given.
    """

    id: str
    run_id: str
    priority: int | None = None
    after: str | None = None
    principal: str | None = None
    delay_seconds: float = 0.0
    queue: str | None = None


Delivery: TypeAlias = Literal["done", "return", "lost"]
"""
What becomes of a job after a worker had it.

"done": it is removed. "return": it goes back to the queue, for another worker. "lost": another worker may have it now,
and if so it stays there.
"""

Perform: TypeAlias = Callable[[str], Delivery]
"""The function of a worker that does a job. It is called in a thread with the id of the run, and blocks."""


class Engine(Protocol):
    """
    Delivers jobs to workers. The methods block; call them in a thread.

    Every method raises `DurableError` with `why="store"` if the engine cannot be reached.
    """

    def enqueue(self, job: RunJob) -> None:
        """Keep *job* until a worker has done it, also if no worker is alive now."""

    def find_missing(self, job_ids: Sequence[str]) -> Sequence[str]:
        """
        Return those of *job_ids* that are not to be delivered now, and that no worker does.

        A job whose delay is not over is among them: it may be the timer of a run that has an answer meanwhile.
        """

    def list_busy_workers(self) -> Collection[str]:
        """Return the names of the workers that have jobs."""

    def withdraw(self, job_ids: Sequence[str]) -> None:
        """Remove those of *job_ids* that no worker has begun."""

    def take_back(self, worker: str) -> Sequence[str]:
        """Put the jobs of a dead worker back into the queue, and return their ids."""

    def forget(self, job_ids: Sequence[str]) -> None:
        """Delete all that is kept about these jobs. Their runs are over."""

    def start_worker(self, worker: str, perform: Perform, limits: RunLimits) -> None:
        """
        Deliver jobs to *perform*, in threads, until `stop_worker` is called.

        Raises:
            DurableError: This process cannot have another worker (`why="busy"`).
        """

    def stop_worker(self) -> None:
        """
        Deliver no more jobs. Calls of `perform` that are under way go on, and what they return counts.

        When they have returned, the caller calls `take_back` for jobs that were taken and not delivered.
        """

    def close(self) -> None:
        """Stop the worker if it has not been stopped, and close all connections."""
