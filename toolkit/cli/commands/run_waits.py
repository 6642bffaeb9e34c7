"""
Why a durable run does not go on now: for whom it waits, since when and until when, and which workers there are.

A worker says in the journal when it last showed that it lives, by its own clock. That is for people: other workers
trust the counters alone.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Iterator, Sequence
from datetime import UTC, datetime

from ..._plumbing.wording import format_count
from ...decisions import ApprovalRequest
from ...durable.journal.records import RunRow, WorkerRow
from ...storage.process_owner import is_alive

__all__ = ["describe_waits", "describe_worker", "describe_worker_row", "format_time"]

_SILENT_SECONDS = 60.0


def describe_waits(row: RunRow, requests: Sequence[ApprovalRequest], workers: Sequence[WorkerRow]) -> Iterator[str]:
    """Yield sentences that say why the run *row* does not go on now."""
    since = f"since {format_time(row.updated_at)} UTC"
    open_requests = [request for request in requests if request.id not in row.decisions]
    if row.status == "running":
        yield f"{describe_worker(row.worker)} works on it, {since}"
    elif row.status == "waiting":
        for request in open_requests:
            until = "" if request.expires_at is None else f", until {format_time(request.expires_at)} UTC"
            whose = "" if request.principal is None else f" on behalf of {request.principal}"
            yield f"a person has to answer request {request.id} of `{request.tool}`{whose}, {since}{until}"
        if row.due_at is not None:
            yield f"it goes on without an answer at {format_time(row.due_at)} UTC"
    if row.status == "queued" or row.decisions:
        yield f"it needs a worker, {since}: {_describe_workers_for(row, [*filter(is_present, workers)])}"


def _describe_workers_for(row: RunRow, workers: Collection[WorkerRow]) -> str:
    """Return which of the *workers* can go on with *row*, and what to do if none can."""
    fitting = [worker for worker in workers if worker.may_work_on(row)]
    if fitting:
        return f"{format_count(len(fitting), 'worker')} can go on with it"
    versions = {worker.versions[row.kind] for worker in workers if worker.versions and row.kind in worker.versions}
    if versions:
        others = ", ".join(sorted(versions))
        return (
            f"it began with version {row.version} of {row.kind!r}, and the workers have {others}; start a worker of "
            f"that version, or let any go on with 'toolkit runs retry {row.id} --any-version'"
        )
    if workers:
        return f"none of the {format_count(len(workers), 'worker')} has {row.kind!r}; start one that has it"
    return "no worker lives; start one with 'toolkit worker'"


def is_present(worker: WorkerRow) -> bool:
    """Return whether *worker* takes runs from the queue, and has shown lately that it lives."""
    if worker.versions is None or is_alive(worker.name.partition(".")[0]) is False:
        return False
    return worker.beat_at is not None and time.time() - worker.beat_at < _SILENT_SECONDS


def describe_worker_row(worker: WorkerRow, run_ids: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of a worker in a table: name, host, state, versions, last sign of life, runs."""
    is_dead = is_alive(worker.name.partition(".")[0]) is False
    state = "dead" if is_dead else "works" if is_present(worker) else "silent" if worker.versions else "here and now"
    versions = ", ".join(f"{kind} {version}".strip() for kind, version in (worker.versions or {}).items())
    beat = "" if worker.beat_at is None else format_time(worker.beat_at)
    return describe_worker(worker.name), worker.host, state, versions, beat, ", ".join(run_ids)


def describe_worker(name: str) -> str:
    """Return the name of a worker in short: its process, and the beginning of the name of its machine."""
    machine, _, rest = name.partition("/")
    process = rest.partition("/")[0]
    return f"process {process} on {machine[:8]}" if process.isdigit() else name


def format_time(seconds: float) -> str:
    """Return a time since 1970 in words, in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
