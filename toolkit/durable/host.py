"""
`DurableHost`: the runs of one database, with the journal that keeps them and the engine that delivers them.

    host = DurableHost("sqlite:///runs.sqlite")
    host.register("report", activate, find_requests=..., describe_stop=...)
    row = await host.run("report", "report-7", {"month": "may"})

`run` and `resume` work on a run here and now. `start`, `decide` and `retry` leave it to a worker, which is a process in
which `work` runs. All of them work in the event loop of their caller, so that tools can use what belongs to that loop.
The limits hold for workers, and not for what a caller does here and now. If a process dies, a worker goes on with its
runs, and so does the next call of `run` with the same id.
"""

from __future__ import annotations

import asyncio
import importlib.util
import secrets
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

from .._option_checks import check_option_types
from .._plumbing.distribution import install_hint
from .._plumbing.forks import renew_in_children
from ..approvals.process_owner import owner
from ..concurrency.futures import retrieve_exception
from ..concurrency.uninterrupted import run_to_end
from ..decisions import ApprovalRequest, Decision
from ..errors import ToolkitError
from .activations import Activations
from .database_address import resolve_address
from .decisions_json import decision_to_json
from .engine import Engine, RunLimits
from .errors import DurableError
from .job_worker import JobWorker
from .journal.base import Journal
from .journal.opening import open_journal
from .journal.records import EventRow, RunRow, RunStatus
from .refusals import find_refusal
from .run_jobs import (
    AT_REST,
    build_job,
    check_decided_requests,
    check_life_options,
    check_priority,
    check_queue_name,
    check_status,
    find_deadline,
    find_due_time,
    job_ids,
)
from .run_kinds import Activate, RunKind

__all__ = ["DurableHost"]

_MAX_POLL_SECONDS = 0.5
_PAGE = 100
_CLEANUP_SECONDS = 10.0

T = TypeVar("T")

_engines_of_parents: list[Engine | None] = []


class DurableHost:
    """
    The runs of one database.

    Args:
        database: The address of the database, such as "sqlite:///runs.sqlite" or "postgresql://host/name".
        limits: How many runs the workers may have under way at once.
        max_lives: How often in a row a run may be cut off, by the death of its process, before it fails.
        takeover_seconds: After how many seconds without a life sign a worker is taken for dead.
        name: The name of the queue. Workers take runs of their own queue only.
        poll_seconds: How often a worker looks for jobs.
        engine: A function that returns the engine; DBOS unless given. It is called in a thread, when the engine is
            first needed.
        clock: A function that returns seconds since 1970.

    Attributes:
        worker: The name of this host among the workers.
    """

    def __init__(
        self,
        database: str,
        *,
        limits: RunLimits = RunLimits(),  # noqa: B008 -- it is immutable
        max_lives: int = 3,
        takeover_seconds: float = 10.0,
        name: str = "toolkit",
        poll_seconds: float = 0.1,
        engine: Callable[[], Engine] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        check_life_options(max_lives, takeover_seconds)
        check_queue_name(name)
        if engine is None and importlib.util.find_spec("dbos") is None:
            raise ToolkitError(f"durable runs need the extra; {install_hint('durable')}")
        self.database = resolve_address(database)
        self.limits = limits
        self._build_engine = engine or (lambda: _open_dbos(self.database, name, poll_seconds))
        self._max_lives = max_lives
        self._takeover_seconds = takeover_seconds
        self._clock = clock
        self._journal: Journal = open_journal(self.database)
        self._kinds: dict[str, RunKind] = {}
        self._engine: Engine | None = None
        self._is_closed = self._has_closed = False
        self.renew_after_fork()
        renew_in_children(self)

    def renew_after_fork(self) -> None:
        """Become a host of this process: with a name of its own, and without the threads and connections of another."""
        # A connection that is freed in the child would be closed for the parent too.
        _engines_of_parents.append(self._engine)
        self._engine = None
        self._engine_lock = threading.Lock()
        self._closing = asyncio.Lock()
        self.worker = f"{owner()}.{secrets.token_hex(4)}"
        self._activations = Activations(
            self._journal,
            self._kinds,
            worker=self.worker,
            max_lives=self._max_lives,
            on_end=self._continue_later,
            clock=self._clock,
        )
        self._job_worker = JobWorker(
            self._journal,
            self._activations,
            name=self.worker,
            takeover_seconds=self._takeover_seconds,
            find_requests=self._find_requests,
            clock=self._clock,
        )

    def register(
        self,
        kind: str,
        activate: Activate,
        *,
        find_requests: Callable[[RunRow], Sequence[ApprovalRequest]] | None = None,
        describe_stop: Callable[[RunRow, RunStatus, str], Mapping[str, Any]] | None = None,
    ) -> None:
        """
        Let *activate* work on the runs of *kind*.

        Args:
            kind: The kind, such as "agent" or "flow:release".
            activate: Works on a run until it is over or waits.
            find_requests: Returns the requests that a run waits for, from its row. With it, requests expire, and a
                decision about another request is refused.
            describe_stop: Returns the outcome of a run that is stopped: from its row, its new status and the reason. By
                default these are the outcome.
        """
        if kind in self._kinds:
            raise ValueError(f"this host has runs of kind {kind!r} already; give another name")
        self._kinds[kind] = RunKind(
            activate=activate, find_requests=find_requests, describe_stop=describe_stop or _describe_stop
        )

    # Here and now.

    async def run(
        self,
        kind: str,
        id: str,  # noqa: A002 -- the usual name for it
        input: Mapping[str, Any],  # noqa: A002 -- the name in the journal
        *,
        principal: str | None = None,
        deadline_seconds: float | None = None,
        resources: Mapping[Any, Any] | None = None,
    ) -> RunRow:
        """
        Work on a run until it is over or waits, and return its row.

        A run with this id that is not over is continued; if another process works on it, its end is awaited. The row of
        a run that is over or waits is returned as it is.

        Raises:
            DurableError: There is a run with this id and another input (`why="changed"`).
        """
        row = await self._create(kind, id, input, principal, deadline_seconds)
        return await self._bring_to_rest(row.id, resources)

    async def resume(
        self,
        id: str,  # noqa: A002 -- as above
        decisions: Mapping[str, Decision],
        *,
        resources: Mapping[Any, Any] | None = None,
    ) -> RunRow:
        """
        Add *decisions* to a run that waits, work on it here and now, and return its row.

        Raises:
            ApprovalError: One of *decisions* was refused, here or by another process that worked on the run.
        """
        try:
            await _finish(self._decide(id, decisions))
            row = await self._bring_to_rest(id, resources)
        except asyncio.CancelledError:
            await _finish(self._leave_to_workers(id))
            raise
        refusal = find_refusal(await self.events(id), decisions) if row.status == "waiting" else None
        if refusal is not None:
            raise refusal
        return row

    async def _leave_to_workers(self, run_id: str) -> None:
        """Enqueue a run that waits and has decisions, because its caller does not go on with it."""
        row = await self.get(run_id)
        if row.status == "waiting" and row.decisions:
            await self._enqueue(row)

    async def _bring_to_rest(self, run_id: str, resources: Mapping[Any, Any] | None) -> RunRow:
        wait_seconds = 0.05
        while True:
            row = await self.get(run_id)
            if row.status in AT_REST or (row.status == "waiting" and not self._is_due(row)):
                return row
            if await self._job_worker.may_activate(row):
                performed = await self._activations.perform(row, resources=resources)
                if performed.error is not None:
                    raise performed.error
                if performed.delivery == "done":
                    continue
            if self._is_closed:
                raise DurableError(f"the host was closed, and a worker goes on with the run {run_id!r}", why="busy")
            await asyncio.sleep(wait_seconds)
            wait_seconds = min(_MAX_POLL_SECONDS, wait_seconds * 1.5)

    def _is_due(self, row: RunRow) -> bool:
        """Return whether a run that waits can go on: it has decisions, or the time for them is over."""
        due = find_due_time(row, self._find_requests(row))
        return bool(row.decisions) or (due is not None and due <= self._clock())

    # For workers.

    async def start(
        self,
        kind: str,
        id: str,  # noqa: A002 -- as above
        input: Mapping[str, Any],  # noqa: A002 -- as above
        *,
        priority: int = 0,
        principal: str | None = None,
        deadline_seconds: float | None = None,
    ) -> RunRow:
        """Leave a run to any worker, and return its row. A run with this id that is there already is left as it is."""
        check_priority(priority)

        async def work() -> RunRow:
            row = await self._create(kind, id, input, principal, deadline_seconds)
            if row.status == "queued":
                await self._enqueue(row, priority=priority)
            return row

        return await _finish(work())

    async def decide(self, id: str, decisions: Mapping[str, Decision]) -> RunRow:  # noqa: A002 -- as above
        """Add *decisions* to a run, and leave it to any worker. This works also if no worker is alive now."""

        async def work() -> RunRow:
            row = await self._decide(id, decisions)
            if row.status == "waiting":  # the activation of one that is running looks for decisions when it ends
                await self._enqueue(row)
            return row

        return await _finish(work())

    async def retry(self, id: str, *, deadline_seconds: float | None = None) -> RunRow:  # noqa: A002 -- as above
        """
        Leave a run that has failed, was stopped or was cancelled to any worker again. Its steps are kept.

        A run whose deadline has passed needs a new one: *deadline_seconds* from now on.
        """
        now = self._clock()
        deadline = find_deadline(deadline_seconds, now)

        async def work() -> RunRow:
            row = await self._in_thread(lambda: self._journal.retry(id, now=now, deadline=deadline))
            await self._enqueue(row)
            return row

        return await _finish(work())

    async def cancel(self, id: str, reason: str = "") -> RunRow:  # noqa: A002 -- as above
        """Cancel a run that is not over. A process that works on it stops with its next step or its next beat."""
        before = await self.get(id)
        row = await self._in_thread(lambda: self._journal.cancel(id, reason, now=self._clock()))
        self._activations.fence(id, before.epoch)
        if before.status in ("queued", "waiting"):
            engine = await self._in_thread(self._open_engine)
            await self._in_thread(lambda: engine.withdraw([build_job(before).id]))
        return row

    async def work(self, *, concurrency: int | None = None, grace_seconds: float = 10.0) -> None:
        """
        Work on runs of the queue until this call is cancelled, or the host is closed.

        A run that is under way then is given back between two steps, or when *grace_seconds* have passed. Another
        worker goes on with it at once.

        Raises:
            DurableError: This process has a worker already, or uses DBOS for something else (`why="busy"`).
        """
        limits = self.limits if concurrency is None else replace(self.limits, concurrency=concurrency)
        engine = await self._in_thread(self._open_engine)
        await self._job_worker.work(engine, limits, grace_seconds)

    # Looking at runs.

    async def get(self, id: str) -> RunRow:  # noqa: A002 -- as above
        """Return the row of a run; raise `DurableError` with `why="unknown"` if there is none."""
        row = await self._in_thread(lambda: self._journal.get(id))
        if row is None:
            raise DurableError(f"there is no run {id!r}", why="unknown")
        return row

    async def list(
        self, *, status: RunStatus | None = None, kind: str | None = None, limit: int = 100, after: str | None = None
    ) -> Sequence[RunRow]:
        """Return runs, the newest first; *after* is the id of the last run of the page before."""
        check_status(status)
        return await self._in_thread(lambda: self._journal.list(status=status, kind=kind, limit=limit, after=after))

    async def events(self, id: str) -> Sequence[EventRow]:  # noqa: A002 -- as above
        """Return what happened in a run, in order."""
        return await self._in_thread(lambda: self._journal.read_events(id))

    async def purge(self, *, before: float) -> int:
        """Delete the runs that were over before that time, in seconds since 1970, and return how many."""
        check_option_types({"before": before}, {"before": ((int, float), "seconds since 1970")})
        engine = await self._in_thread(self._open_engine)

        def work() -> int:
            jobs = [job_id for row in self._iterate_over(before) for job_id in job_ids(row)]
            count = self._journal.purge(before=before)
            engine.forget(jobs)
            return count

        return await self._in_thread(work)

    def _iterate_over(self, before: float) -> Iterator[RunRow]:
        for status in sorted(AT_REST):
            after: str | None = None
            while rows := self._journal.list(status=status, limit=_PAGE, after=after):
                yield from (row for row in rows if row.updated_at < before)
                after = rows[-1].id

    # The life of a host.

    async def close(self) -> None:
        """Give back the runs that are under way here, and close all connections. A second call does nothing."""
        self._is_closed = True
        async with self._closing:
            if self._has_closed:
                return
            await self._job_worker.end()
            await self._activations.give_back_all(0.0, only_jobs=False)
            await self._in_thread(self._job_worker.stop)
            if self._engine is not None:
                await self._in_thread(self._engine.close)
            await self._in_thread(self._journal.close)
            self._has_closed = True
            self._activations.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._has_closed:
            raise DurableError("this host was closed; make a new one", why="store")
        return await self._activations.in_thread(work)

    def _open_engine(self) -> Engine:
        with self._engine_lock:
            if self._engine is None:
                self._engine = self._build_engine()
            return self._engine

    async def _create(
        self, kind: str, run_id: str, data: Mapping[str, Any], principal: str | None, deadline_seconds: float | None
    ) -> RunRow:
        if kind not in self._kinds:
            raise ValueError(f"this host has no runs of kind {kind!r}; register it first")
        now = self._clock()
        deadline = find_deadline(deadline_seconds, now)
        row, _ = await self._in_thread(
            lambda: self._journal.create(run_id, kind, data, principal=principal, deadline=deadline, now=now)
        )
        return row

    async def _decide(self, run_id: str, decisions: Mapping[str, Decision]) -> RunRow:
        if isinstance(decisions, Decision) or not isinstance(decisions, Mapping):
            raise TypeError("decisions are a dictionary: {request.id: Decision.approve()}")
        row = await self.get(run_id)
        now = self._clock()
        data = {request_id: decision_to_json(decision, decided_at=now) for request_id, decision in decisions.items()}
        kind = self._kinds.get(row.kind)
        if kind is not None and kind.find_requests is not None:
            check_decided_requests(row, data, self._find_requests(row), now)
        if not data:
            return row
        return await self._in_thread(lambda: self._journal.decide(run_id, data, now=now))

    async def _enqueue(self, row: RunRow, *, priority: int | None = None, delay_seconds: float = 0.0) -> None:
        engine = await self._in_thread(self._open_engine)
        job = build_job(row, priority=priority, delay_seconds=delay_seconds)
        await self._in_thread(lambda: engine.enqueue(job))

    async def _continue_later(self, row: RunRow) -> None:
        """Enqueue the next activation of *row*, whose activation has ended or was given back, if there will be one."""
        if row.status == "queued":
            await self._enqueue(row)
        elif row.status == "waiting":
            due = find_due_time(row, self._find_requests(row))
            if row.decisions:
                await self._enqueue(row)
            elif due is not None:
                await self._enqueue(row, delay_seconds=due - self._clock())

    def _find_requests(self, row: RunRow) -> Sequence[ApprovalRequest]:
        kind = self._kinds.get(row.kind)
        if kind is None or kind.find_requests is None or row.outcome is None:
            return ()
        return kind.find_requests(row)


async def _finish(work: Coroutine[Any, Any, T]) -> T:
    """
    Return what *work* returns. A caller who is cancelled waits for its end.

    A run that the journal has changed needs a job of the engine as well.
    """
    task, cancelled = await run_to_end(work, _CLEANUP_SECONDS)
    if cancelled is not None:
        retrieve_exception(task)
        raise cancelled
    return task.result()


def _describe_stop(row: RunRow, status: RunStatus, reason: str) -> Mapping[str, Any]:
    return {"status": status, "reason": reason}


def _open_dbos(database: str, name: str, poll_seconds: float) -> Engine:
    from .dbos_engine import DbosEngine

    return DbosEngine(database, name=name, poll_seconds=poll_seconds)
