"""
Activations: the work of one process on one run, from taking it to writing how it ended.

An activation runs in the event loop of the caller, in a task of its own. It ends in one of these ways: it is recorded;
it is lost, because another process has the run now; or it is given back, because this process cannot go on with it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, TypeVar

from ..approvals.records import is_temporary
from ..concurrency.futures import retrieve_exception, run_to_end
from ..concurrency.thread_pool import ThreadPool, run_in_thread
from .decisions import decision_from_json, describe_refusals
from .engine import Delivery
from .errors import DurableError, RunTakenOver
from .journal.records import PLAN_ORDER, RunRow, RunStatus
from .journal.run_changes import CUT_SHORT
from .journal.run_journal import Journal
from .journal_steps import JournalSteps, measure_steps
from .run_kinds import Activation, ActivationEnd, RunKinds
from .step_gate import StepGate, WorkerEnds
from .store_retries import persist

__all__ = ["Activations", "Performed"]

_MAX_THREADS = 8
_CLEANUP_SECONDS = 30.0
_CANCEL_AGAIN_SECONDS = 5.0
"""How long the cleanup of a tool may take, before it is cancelled as well."""

_END = "the end of an activation"

_log = logging.getLogger("toolkit")
_runs_log = logging.getLogger("toolkit.runs")  # what a worker does, for the person who runs it
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Performed:
    """
    What became of an activation and its job; *row* is None if it was lost or given back.

    *error* is the exception that ended it, for a caller who works on the run himself.
    """

    delivery: Delivery
    row: RunRow | None = None
    error: Exception | None = None


@dataclass(slots=True, eq=False, kw_only=True)
class _Active:
    """An activation that is under way."""

    row: RunRow
    is_job: bool
    gate: StepGate
    loop: asyncio.AbstractEventLoop
    task: asyncio.Task[ActivationEnd] | None = None
    is_fenced: bool = False
    follows_broken: bool = False  # the activation before did not come to its end

    def cancel(self) -> None:
        if self.task is not None:
            self.task.cancel()


@dataclass(eq=False)
class Activations:
    """
    The activations of one host.

    *on_end* is called with the row of a run whose activation has ended, or that was given back and has no job.
    """

    journal: Journal
    kinds: RunKinds
    _: KW_ONLY
    worker: str
    max_lives: int
    on_end: Callable[[RunRow], Awaitable[None]]
    clock: Callable[[], float] = time.time
    _threads: ThreadPool = field(init=False, default_factory=lambda: ThreadPool(_MAX_THREADS, name="toolkit-durable"))
    _active: dict[str, _Active] = field(init=False, default_factory=dict)
    # Runs whose activation has ended, and of which the journal may still say that they are under way here.
    _unwritten: set[str] = field(init=False, default_factory=set)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Return what *work* returns in a thread, which is a call of the journal or of the engine."""
        result: T = await run_in_thread(self._threads, work, "the journal")
        return result

    def has(self, run_id: str) -> bool:
        """Return whether an activation of the run is under way here."""
        return run_id in self._active

    def list_epochs(self) -> Mapping[str, int]:
        """Return the ids of the runs that are under way here, with their epochs. Any thread may call this."""
        # One without a task has not taken its epoch yet.
        return {run_id: active.row.epoch for run_id, active in list(self._active.items()) if active.task is not None}

    def fence(self, run_id: str, epoch: int) -> None:
        """Stop an activation that is not the newest of its run any more. Any thread may call this."""
        active = self._active.get(run_id)
        if active is not None and active.row.epoch == epoch:
            active.is_fenced = True
            active.loop.call_soon_threadsafe(active.cancel)

    def give_back_stopped(self) -> None:
        """
        Give back the runs that this host does not work on any more, although the journal says so. It blocks.

        The event loop was closed under such a run, or the database was away when its activation ended. To the other
        workers, it would be under way for as long as this process lives. Any thread may call this.
        """
        for run_id, active in list(self._active.items()):
            if active.loop.is_closed() and self._active.get(run_id) is active:
                del self._active[run_id]
                self._unwritten.add(run_id)
        for run_id in list(self._unwritten):
            self._unwritten.discard(run_id)
            try:
                row = self.journal.get(run_id)
                # A later activation would have a later epoch.
                if row is not None and (row.status, row.worker) == ("running", self.worker) and not self.has(run_id):
                    _log.warning("run %r is given back, because its activation was broken off", run_id)
                    self.journal.give_back(run_id, row.epoch, now=self.clock())
            except RunTakenOver:
                continue
            except DurableError:
                self._unwritten.add(run_id)
                raise

    async def give_back_all(self, grace_seconds: float, *, only_jobs: bool) -> None:
        """Give back all activations, or only those of jobs, between two steps. Cancel them after *grace_seconds*."""
        with contextlib.suppress(DurableError):  # others will take them over
            await self.in_thread(self.give_back_stopped)
        latest = time.monotonic() + grace_seconds
        cancelled_at: dict[_Active, float] = {}
        while ending := [active for active in self._active.values() if active.is_job or not only_jobs]:
            for active in ending:
                active.gate.close()
                now = time.monotonic()
                is_due = active not in cancelled_at or now >= cancelled_at[active] + _CANCEL_AGAIN_SECONDS
                if now >= latest and active.task is not None and is_due:
                    cancelled_at[active] = now
                    active.cancel()
            await asyncio.sleep(0.01)  # what comes after a task, such as writing its end, sets no event

    async def perform(
        self, row: RunRow, *, resources: Mapping[Any, Any] | None = None, is_job: bool = False
    ) -> Performed:
        """
        Take the next epoch of the run *row*, and work on it. The run is given back if the caller is cancelled.

        The *resources* are those of the caller. If *is_job*, a job of the engine asks for this, and is given back, too.
        """
        run_id = row.id
        if run_id in self._active:
            return Performed(delivery="lost")
        active = _Active(row=row, is_job=is_job, gate=StepGate(), loop=asyncio.get_running_loop())
        self._active[run_id] = active
        is_written = False
        try:
            task, cancelled = await run_to_end(self._take(active), _CLEANUP_SECONDS)
            performed = task.result()
            if performed is None:
                performed = await self._work(active, resources, cancelled)
            if cancelled is not None:
                raise cancelled
            is_written = True
            return performed
        finally:
            if not is_written:
                self._unwritten.add(run_id)
            if self._active.get(run_id) is active:  # it may have been given back with its event loop
                del self._active[run_id]

    async def _take(self, active: _Active) -> Performed | None:
        """Activate the run. Return None if there is something to do, and what became of it otherwise."""
        row = active.row
        try:
            active.row = await self.in_thread(
                lambda: self.journal.activate(
                    row.id,
                    worker=self.worker,
                    version=self.kinds.list_versions().get(row.kind, ""),
                    now=self.clock(),
                    max_lives=self.max_lives,
                    epoch=row.epoch,
                )
            )
        except RunTakenOver:
            return Performed(delivery="lost")
        except DurableError as error:
            if error.why != "over":
                raise
            return Performed(delivery="done")
        if active.row.status != "running":
            _log.error("run %r: %s", row.id, active.row.problem)
            await self._tell_end(active.row)
            return Performed(delivery="done", row=active.row)
        active.follows_broken = row.epoch > 0 and row.status != "waiting"
        _runs_log.info("run %r begins, activation %d", row.id, active.row.epoch)
        return None

    async def _work(
        self, active: _Active, resources: Mapping[Any, Any] | None, cancelled: asyncio.CancelledError | None
    ) -> Performed:
        """Do the work of the activation, and write how it ended."""
        active.task = asyncio.ensure_future(self._activate(active, resources))
        if cancelled is not None:
            active.task.cancel()
        while not active.task.done():
            try:
                await asyncio.wait({active.task})
            except asyncio.CancelledError as error:
                cancelled = error
                active.gate.close()
                active.task.cancel()
        ending, later = await run_to_end(self._record(active, active.task), _CLEANUP_SECONDS)
        if cancelled is None:
            cancelled = later
        if cancelled is not None:
            retrieve_exception(ending)
            raise cancelled
        return ending.result()

    async def _activate(self, active: _Active, resources: Mapping[Any, Any] | None) -> ActivationEnd:
        row = active.row
        kind = self.kinds.require(row)
        step_rows = await self.in_thread(lambda: self.journal.read_steps(row.id))
        steps = JournalSteps(
            self.journal,
            row,
            step_rows,
            is_ending=lambda: active.gate.is_closed,
            threads=self._threads,
            read_time=self.clock,
        )
        active.gate.open(steps, row.epoch)
        decisions = {
            request: decision_from_json(data) for request, data in row.decisions.items() if request != PLAN_ORDER
        }
        activation = Activation(
            row=row,
            steps=active.gate,
            decisions=decisions,
            now=self.clock(),
            spent_seconds=measure_steps(step_rows.values()),
            resources=resources,
        )
        remaining = None if row.deadline is None else row.deadline - self.clock()
        if remaining is None or remaining > 0:
            try:
                async with asyncio.timeout(remaining) as deadline:
                    ended = await kind.activate(activation)
                    if active.follows_broken:
                        await self.in_thread(lambda: self.journal.check_newest(row.id, row.epoch))
                        await kind.withdraw_forgotten(row, ended)
                    return ended
            except TimeoutError:
                if not deadline.expired():
                    raise
        reason = "the deadline of the run has passed"
        return ActivationEnd(status="stopped", outcome=await self._describe_stop(row, "stopped", reason))

    async def _record(self, active: _Active, task: asyncio.Task[ActivationEnd]) -> Performed:
        """Write how the activation has ended, or give it back if it did not come to an end."""
        if task.cancelled():
            if active.is_fenced:
                return await self._leave(active)
            return await self._give_back(active)
        error = task.exception()
        if isinstance(error, RunTakenOver):
            if isinstance(error, WorkerEnds):
                return await self._give_back(active)
            if not await self._is_newest(active.row):
                return await self._leave(active)
        if isinstance(error, DurableError) and error.why == "store":
            _log.warning("run %r is given back, because the journal cannot be used: %s", active.row.id, error)
            return await self._give_back(active)
        if error is not None and not isinstance(error, Exception):
            raise error
        if is_temporary(error):
            _log.warning("run %r is given back with its decisions: %s", active.row.id, error)
            return replace(await self._give_back(active), error=error)
        try:
            try:
                row = await self._write_end(active, task, error)
            except (TypeError, ValueError, DurableError) as mistake:
                if error is not None or (isinstance(mistake, DurableError) and mistake.why != "value"):
                    raise
                # Such an end can never be written, so the run would stay as it is until the process ends.
                error = mistake
                row = await self._write_end(active, task, error)
        except RunTakenOver:
            return await self._leave(active)
        _runs_log.info("run %r is %s", row.id, row.status)
        await self._tell_end(row)
        return Performed(delivery="done", row=row, error=error)

    async def _write_end(self, active: _Active, task: asyncio.Task[ActivationEnd], error: Exception | None) -> RunRow:
        row, problem = active.row, ""
        status: RunStatus = "failed"
        refused: Mapping[str, Exception] = {}
        if error is None:
            ended = task.result()
            if not isinstance(ended, ActivationEnd):
                raise TypeError(
                    f"a run of kind {row.kind!r} has to end with an `ActivationEnd`, got {type(ended).__name__}"
                )
            status, outcome, refused = ended.status, ended.outcome, ended.refused
        else:
            _log.error("run %r failed: %s", row.id, error, exc_info=error)
            problem = f"{type(error).__name__}: {error}"
            outcome = await self._describe_stop(row, "failed", problem)
        for request_id, reason in refused.items():
            _log.warning("run %r: the decision about the request %r was refused: %s", row.id, request_id, reason)
        # A run that is retried is resumed from where it waited, with the same decisions.
        used = [] if status in CUT_SHORT else list(row.decisions)
        due_at = self.kinds.find_due_time(row, outcome) if status == "waiting" else None

        def write() -> RunRow:
            if refused:
                self.journal.note(row.id, row.epoch, "refused", describe_refusals(refused), now=self.clock())
            return self.journal.end(
                row.id,
                row.epoch,
                status,
                outcome,
                used_decisions=used,
                problem=problem,
                due_at=due_at,
                now=self.clock(),
            )

        return await persist(lambda: self.in_thread(write), _END, is_ending=lambda: active.gate.is_closed)

    async def _describe_stop(self, row: RunRow, status: RunStatus, reason: str) -> Mapping[str, Any]:
        try:
            steps = await self.in_thread(lambda: self.journal.read_steps(row.id))
        except DurableError as error:
            _log.warning("run %r: its steps cannot be read, so its outcome does not have them: %s", row.id, error)
            steps = {}
        return self.kinds.describe_stop(row, status, reason, steps)

    async def _is_newest(self, taken: RunRow) -> bool:
        """Return whether no other process has the run *taken*, so that no other process can write how it ended."""
        row = await persist(lambda: self.in_thread(lambda: self.journal.get(taken.id)), _END)
        return row is not None and (row.epoch, row.status) == (taken.epoch, "running")

    async def _give_back(self, active: _Active) -> Performed:
        run_id, epoch = active.row.id, active.row.epoch
        try:
            row = await persist(
                lambda: self.in_thread(lambda: self.journal.give_back(run_id, epoch, now=self.clock())),
                _END,
                is_ending=lambda: active.gate.is_closed,
            )
        except RunTakenOver:
            return await self._leave(active)
        if not active.is_job:
            await self._tell_end(row)
        return Performed(delivery="return")

    async def _leave(self, active: _Active) -> Performed:
        """Leave the run to the process that has it now. If it was cancelled, this process is the last one."""
        try:
            row = await self.in_thread(lambda: self.journal.get(active.row.id))
        except DurableError as error:
            _log.warning("run %r was taken over, and cannot be read: %s", active.row.id, error)
            row = None
        if row is not None and row.status == "cancelled":
            await self._tell_end(row)  # a request may have been made after the cancellation
        return Performed(delivery="lost")

    async def _tell_end(self, row: RunRow) -> None:
        try:
            await self.on_end(row)
        except DurableError as error:
            _log.warning("run %r: its next job could not be enqueued; a worker will do it: %s", row.id, error)

    def close(self) -> None:
        """End the threads."""
        self._threads.close()
