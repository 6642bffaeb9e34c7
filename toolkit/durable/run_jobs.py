"""
The jobs of runs: their ids, and the checks of what people ask of a host.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import get_args

from .._option_checks import check_option_types
from .engine import MAX_PRIORITY, RunJob
from .journal.records import RunRow, RunStatus

__all__ = [
    "build_job",
    "check_life_options",
    "check_priority",
    "check_queue_name",
    "check_status",
    "find_deadline",
    "job_ids",
    "run_id_of",
]

_MAX_DEADLINE_SECONDS = 100 * 365 * 86_400.0
"""An engine counts the milliseconds of a timer, and its clock has an end."""
_QUEUE_NAME = re.compile(r"[a-z0-9_-]{3,256}")  # what DBOS takes as the name of an application


def build_job(
    row: RunRow, *, queue: str | None = None, priority: int | None = None, delay_seconds: float = 0.0
) -> RunJob:
    """Return the job of the next activation of the run *row*, which has the same id however often it is made."""
    prefix = _escape(row.id)
    return RunJob(
        id=f"{prefix}/{row.epoch + 1}",
        run_id=row.id,
        priority=priority,
        after=f"{prefix}/{row.epoch}" if row.epoch else None,
        principal=row.principal,
        delay_seconds=max(0.0, delay_seconds),
        queue=queue,
    )


def job_ids(row: RunRow) -> Sequence[str]:
    """Return the ids of all jobs that the run *row* can have had until now."""
    return [f"{_escape(row.id)}/{number}" for number in range(1, row.epoch + 2)]


def run_id_of(job_id: str) -> str:
    """Return the id of the run of a job."""
    return job_id.rpartition("/")[0].replace("%2F", "/").replace("%25", "%")


def _escape(run_id: str) -> str:
    return run_id.replace("%", "%25").replace("/", "%2F")


def find_deadline(deadline_seconds: float | None, now: float) -> float | None:
    """Return when a run has to end that may take *deadline_seconds* from *now* on; raise if they are no such number."""
    if deadline_seconds is None:
        return None
    check_option_types({"deadline_seconds": deadline_seconds}, {"deadline_seconds": ((int, float), "seconds, or None")})
    if not 0 < deadline_seconds <= _MAX_DEADLINE_SECONDS:
        raise ValueError(
            f"deadline_seconds has to be above 0 and at most {_MAX_DEADLINE_SECONDS:.0f}, or None; "
            f"got {deadline_seconds!r}"
        )
    return now + deadline_seconds


def check_life_options(max_lives: int, takeover_seconds: float) -> None:
    """Raise `TypeError` or `ValueError` if these cannot be options of a host."""
    check_option_types(
        {"max_lives": max_lives, "takeover_seconds": takeover_seconds},
        {"max_lives": ((int,), "a whole number"), "takeover_seconds": ((int, float), "seconds")},
    )
    if max_lives < 1:
        raise ValueError(f"max_lives has to be at least 1, got {max_lives}")
    if not 0 < takeover_seconds < math.inf:
        raise ValueError(f"takeover_seconds has to be a number above 0, got {takeover_seconds}")


def check_queue_name(name: str) -> str:
    """Return *name*; raise `ValueError` if no queue can have it."""
    if not isinstance(name, str) or not _QUEUE_NAME.fullmatch(name):
        raise ValueError(
            f"{name!r:.60} cannot be the name of a queue; give 3 to 256 characters of lowercase letters, digits, `-` "
            "and `_`"
        )
    return name


def check_priority(priority: int) -> int:
    """Return *priority*; raise `ValueError` if it is out of range."""
    if type(priority) is not int or abs(priority) > MAX_PRIORITY:
        raise ValueError(f"a priority is a whole number from -{MAX_PRIORITY} to {MAX_PRIORITY}, got {priority!r:.60}")
    return priority


def check_status(status: RunStatus | None) -> None:
    """Raise `ValueError` if no run has the status *status*."""
    if status is not None and status not in get_args(RunStatus):
        raise ValueError(f"a run is never {status!r:.60}; use one of {', '.join(get_args(RunStatus))}")
