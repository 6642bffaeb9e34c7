"""
Deleting runs that are over, with all that is kept about them.
"""

from __future__ import annotations

from collections.abc import Iterator

from .engine import Engine
from .journal.base import Journal
from .journal.records import RunRow
from .run_jobs import AT_REST, job_ids

__all__ = ["purge_runs"]

_PAGE = 100


def purge_runs(journal: Journal, engine: Engine, *, before: float) -> int:
    """Delete the runs that were over before that time, with their jobs, and return how many. It blocks."""
    jobs = [job_id for row in _iterate_over(journal, before) for job_id in job_ids(row)]
    count = journal.purge(before=before)
    engine.forget(jobs)
    return count


def _iterate_over(journal: Journal, before: float) -> Iterator[RunRow]:
    for status in sorted(AT_REST):
        after: str | None = None
        while rows := journal.list(status=status, limit=_PAGE, after=after):
            yield from (row for row in rows if row.updated_at < before)
            after = rows[-1].id
