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
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, TypeVar

from .._option_checks import check_option_types
from .._plumbing.distribution import install_hint
from .._plumbing.forks import renew_in_children
from ..concurrency.futures import finish_work
from ..decisions import ApprovalRequest, Decision
from ..errors import ToolkitError
from ..storage.process_owner import owner
from .activations import Activations
from .database_address import resolve_address
from .decisions import add_decisions, find_refusal, order_plan
from .engine import Engine, RunLimits
from .errors import DurableError
from .job_worker import JobWorker
from .journal.records import EventRow, RunRow, RunStatus, StepRow
from .journal.run_journal import Journal, open_journal
from .over_runs import OverRuns
from .run_jobs import check_life_options, check_priority, check_queue_name, check_status, find_deadline
from .run_kinds import Activate, DescribeStop, RunKind, RunKinds, RunRequests
from .run_queue import RunQueue, open_dbos

__all__ = ["DurableHost"]

_CLEANUP_SECONDS = 10.0
"""How long a caller who is cancelled waits: a run that the journal has changed needs a job as well."""

T = TypeVar("T")


class DurableHost:
    """
    The runs of one database.

    Args:
        database: The address of the database, such as "sqlite:///runs.sqlite" or "postgresql://host/name".
        limits: How many runs the workers may have under way at once.
        max_lives: How often in a row a run may be cut off, by the death of its process, before it fails.
        takeover_seconds: After how many seconds without a life sign a worker is taken for dead.
        name: The name of the queue. Workers take runs of their own queue only. A run stays in the queue of the host
            that has made it, also if another host answers or retries it.
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
        self._name = check_queue_name(name)
        if engine is None and importlib.util.find_spec("dbos") is None:
            raise ToolkitError(f"durable runs need the extra; {install_hint('durable')}")
        self.database = resolve_address(database)
        self.limits = limits
        self._max_lives = max_lives
        self._takeover_seconds = takeover_seconds
        self._clock = clock
        self._journal: Journal = open_journal(self.database)
        self._kinds = RunKinds()
        build_engine = engine or (lambda: open_dbos(self.database, name, poll_seconds))
        self._queue = RunQueue(build_engine, self._in_thread, find_queue=self._journal.find_queue, clock=clock)
        self._over_runs = OverRuns(self._journal, self._kinds, self._queue, self._in_thread)
        self._is_closed = self._has_closed = False
        self.renew_after_fork()
        renew_in_children(self)

    def renew_after_fork(self) -> None:
        """Become a host of this process: with a name of its own, and without the threads and connections of another."""
        self._queue.renew_after_fork()
        self._closing = asyncio.Lock()
        self.worker = f"{owner()}.{secrets.token_hex(4)}"
        self._activations = Activations(
            self._journal,
            self._kinds,
            worker=self.worker,
            max_lives=self._max_lives,
            on_end=self._over_runs.follow_up,
            clock=self._clock,
        )
        self._job_worker = JobWorker(
            self._journal,
            self._activations,
            self._kinds,
            name=self.worker,
            queue=self._name,
            takeover_seconds=self._takeover_seconds,
            withdraw_requests=self._over_runs.withdraw_requests,
            clock=self._clock,
        )

    def register(
        self,
        kind: str,
        activate: Activate,
        *,
        find_requests: Callable[[RunRow], Sequence[ApprovalRequest]] | None = None,
        describe_stop: DescribeStop | None = None,
        requests: RunRequests | None = None,
        find_version: Callable[[], str] = lambda: "",
    ) -> None:
        """
        Let *activate* work on the runs of *kind*.

        Args:
            kind: The kind, such as "agent" or "flow:release".
            activate: Works on a run until it is over or waits.
            find_requests: Returns the requests that a run waits for, from its row. With it, requests expire, and a
                decision about another request is refused.
            describe_stop: Returns the outcome of a run that is stopped. By default it is the status and the reason.
            requests: Closes the requests of runs that are over, in the store of approvals.
            find_version: Returns the version of the program. Workers leave a run that began with another version to
                workers of that version.
        """
        own_kind = RunKind(
            activate=activate,
            find_requests=find_requests,
            describe_stop=describe_stop,
            requests=requests,
            find_version=find_version,
        )
        self._kinds.add(kind, own_kind)

    async def run(
        self,
        kind: str,
        id: str,
        input: Mapping[str, Any],
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
        await self._create(kind, id, input, principal, deadline_seconds)
        return await self._bring_to_rest(id, resources)

    async def resume(
        self, id: str, decisions: Mapping[str, Decision], *, resources: Mapping[Any, Any] | None = None
    ) -> RunRow:
        """
        Add *decisions* to a run that waits, work on it here and now, and return its row.

        Raises:
            ApprovalError: One of *decisions* was refused, here or by another process that worked on the run.
        """
        row = await self._go_on(id, self._add_decisions(id, decisions), resources)
        refusal = find_refusal(await self.events(id), decisions) if row.status == "waiting" else None
        if refusal is not None:
            raise refusal
        return row

    async def execute(self, id: str, order: Mapping[str, Any], *, resources: Mapping[Any, Any] | None = None) -> RunRow:
        """
        Carry out the plan of a run here and now, and return its row. *order* says how, for the kind of the run.

        The same order again goes on with the run, or returns its row. The errors are those of `order_plan`.
        """
        change = order_plan(self._journal, self._in_thread, id, order, self._clock())
        return await self._go_on(id, change, resources)

    async def _add_decisions(self, run_id: str, decisions: Mapping[str, Decision]) -> RunRow:
        row = await self.get(run_id)
        return await add_decisions(self._journal, self._kinds, self._in_thread, row, decisions, self._clock())

    async def _bring_to_rest(self, run_id: str, resources: Mapping[Any, Any] | None) -> RunRow:
        return await self._job_worker.bring_to_rest(lambda: self.get(run_id), resources, lambda: self._is_closed)

    async def _go_on(
        self, run_id: str, change: Coroutine[Any, Any, object], resources: Mapping[Any, Any] | None
    ) -> RunRow:
        """Make *change*, and work on the run, which can go on by it. If the caller is cancelled, workers go on."""
        try:
            await finish_work(change, _CLEANUP_SECONDS)
            return await self._bring_to_rest(run_id, resources)
        except asyncio.CancelledError:
            await finish_work(self._leave_to_workers(run_id), _CLEANUP_SECONDS)
            raise

    async def _leave_to_workers(self, run_id: str) -> None:
        """Enqueue a run that can go on, because its caller does not go on with it."""
        row = await self.get(run_id)
        if row.status == "queued" or (row.status == "waiting" and row.decisions):
            await self._queue.enqueue(row)

    async def start(
        self,
        kind: str,
        id: str,
        input: Mapping[str, Any],
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
                await self._queue.enqueue(row, priority=priority)
            return row

        return await finish_work(work(), _CLEANUP_SECONDS)

    async def decide(self, id: str, decisions: Mapping[str, Decision]) -> RunRow:
        """Add *decisions* to a run, and leave it to any worker. This works also if no worker is alive now."""

        async def work() -> RunRow:
            row = await self._add_decisions(id, decisions)
            if row.status == "waiting":  # the activation of one that is running looks for decisions when it ends
                await self._queue.enqueue(row)
            return row

        return await finish_work(work(), _CLEANUP_SECONDS)

    async def retry(self, id: str, *, deadline_seconds: float | None = None, any_version: bool = False) -> RunRow:
        """
        Leave a run that has failed, was stopped or was cancelled to any worker again. Its steps are kept.

        A run whose deadline has passed needs a new one: *deadline_seconds* from now on. With *any_version*, a run that
        is queued or waits can be given too: a worker goes on with it whose agent or flow is of another version.
        """
        now = self._clock()
        deadline = find_deadline(deadline_seconds, now)

        async def work() -> RunRow:
            row = await self._in_thread(
                lambda: self._journal.retry(id, now=now, deadline=deadline, any_version=any_version)
            )
            await self._queue.continue_later(row)
            return row

        return await finish_work(work(), _CLEANUP_SECONDS)

    async def cancel(self, id: str, reason: str = "") -> RunRow:
        """
        Cancel a run that is not over. A process that works on it stops with its next step or its next beat.

        Its requests for approval are withdrawn: here, or by a worker if this host does not have the kind of the run.
        """

        async def work() -> RunRow:
            before = await self.get(id)
            row = await self._in_thread(lambda: self._journal.cancel(id, reason, now=self._clock()))
            self._activations.fence(id, before.epoch)
            if before.status in ("queued", "waiting"):
                await self._queue.withdraw(before)
            await self._over_runs.follow_up(row)
            return row

        return await finish_work(work(), _CLEANUP_SECONDS)

    async def work(self, *, concurrency: int | None = None, grace_seconds: float = 10.0) -> None:
        """
        Work on runs of the queue until this call is cancelled, or the host is closed.

        A run that is under way then is given back between two steps, or when *grace_seconds* have passed. Another
        worker goes on with it at once.

        Raises:
            DurableError: This process has a worker already, or uses DBOS for something else (`why="busy"`).
        """
        limits = self.limits if concurrency is None else replace(self.limits, concurrency=concurrency)
        engine = await self._queue.open_engine()
        await self._job_worker.work(engine, limits, grace_seconds)

    async def get(self, id: str) -> RunRow:
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

    async def events(self, id: str) -> Sequence[EventRow]:
        """Return what happened in a run, in order."""
        return await self._in_thread(lambda: self._journal.read_events(id))

    async def steps(self, id: str) -> Mapping[str, StepRow]:
        """Return the steps of a run by their keys, with what came of them."""
        return await self._in_thread(lambda: self._journal.read_steps(id))

    async def purge(self, *, before: float) -> int:
        """
        Delete the runs that were over before that time, in seconds since 1970, and return how many.

        The records about their requests are deleted too, if this host has the kind of the runs and the store can do it.
        """
        check_option_types({"before": before}, {"before": ((int, float), "seconds since 1970")})
        return await self._over_runs.purge(before)

    async def close(self) -> None:
        """Give back the runs that are under way here, and close all connections. A second call does nothing."""
        self._is_closed = True
        async with self._closing:
            if self._has_closed:
                return
            await self._job_worker.end()
            await self._activations.give_back_all(0.0, only_jobs=False)
            await self._in_thread(self._job_worker.stop)
            await self._queue.close()
            await self._in_thread(self._journal.close)
            self._has_closed = True
            self._activations.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    async def _in_thread(self, work: Callable[[], T]) -> T:
        if self._has_closed:
            raise DurableError("this host was closed; make a new one", why="store")
        return await self._activations.in_thread(work)

    async def _create(
        self, kind: str, run_id: str, data: Mapping[str, Any], principal: str | None, deadline_seconds: float | None
    ) -> RunRow:
        if kind not in self._kinds:
            raise ValueError(f"this host has no runs of kind {kind!r}; register it first")
        now = self._clock()
        deadline = find_deadline(deadline_seconds, now)
        row, _ = await self._in_thread(
            lambda: self._journal.create(
                run_id, kind, data, principal=principal, deadline=deadline, queue=self._name, now=now
            )
        )
        return row
