"""
The steps of a durable run, kept in a journal.

A step that has a record is not done again. A step that began, and has none, is done again if its tool may be repeated;
otherwise its result says that it may or may not have happened. A process that was replaced by another one learns it
before the next effect, because it has to write that a call begins before the call runs.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, TypeVar

from ..concurrency.futures import finish_work, retrieve_exception, run_to_end
from ..concurrency.thread_pool import ThreadPool
from ..providers.base import Reply
from ..results import ToolCall, ToolResult
from ..session import Session
from ..steps.base import CallWork, Steps, build_cut_off_result
from ..steps.records import dump_call, dump_reply, load_call, load_reply
from ..steps.session_changes import read_state
from .errors import DurableError, RunTakenOver
from .journal.records import RunRow, StepRow
from .journal.row_texts import shorten_key
from .journal.run_journal import Journal
from .store_retries import PERSIST_SECONDS, persist

__all__ = ["JournalSteps", "measure_steps"]

_CLEANUP_SECONDS = 30.0

_log = logging.getLogger("toolkit")
T = TypeVar("T")


@dataclass(eq=False)
class JournalSteps(Steps):
    """
    The steps of one activation of a run, which `Journal.activate` has returned as *row*.

    If *is_ending* says that the process has to end, the database is not waited for any more.

    Attributes:
        failure: The error that stopped these steps, such as `RunTakenOver`; None while they work. Every further step
            raises it, so that nothing happens that is not recorded.
    """

    journal: Journal
    row: RunRow
    steps_read: Mapping[str, StepRow]
    _: KW_ONLY
    is_ending: Callable[[], bool] = lambda: False
    threads: ThreadPool = field(default_factory=lambda: ThreadPool(1, name="toolkit-journal", idle_seconds=5.0))
    read_time: Callable[[], float] = time.time
    failure: DurableError | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self._steps = dict(self.steps_read)

    @property
    def epoch(self) -> int:
        """The number of the activation."""
        return self.row.epoch

    async def reply(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        key = shorten_key(key)
        step = self._steps.get(key)
        if step is not None and step.record is not None:
            return self._load(key, partial(load_reply, step.record))
        self._check_failure()
        started = time.monotonic()
        reply = await ask()
        await self._finish(key, dump_reply(reply), started)
        return reply

    async def call(self, key: str, call: ToolCall, work: CallWork, *, may_repeat: bool, session: Session) -> ToolResult:
        key = shorten_key(key)
        step = self._steps.get(key)
        if step is not None and step.record is not None:
            return self._load(key, partial(load_call, step.record, session))
        self._check_failure()
        if self.row.decisions:
            # A process that was replaced must not use up the answer of a person, and may not know it yet.
            await self._write(lambda now: self.journal.check_newest(self.row.id, self.epoch))
        started = time.monotonic()
        before = read_state(session)
        if step is not None and not may_repeat:
            result = build_cut_off_result(call, "it was cancelled" if step.epoch == self.epoch else "its process ended")
            await self._finish(key, dump_call(result, session, before), started)
            return result
        has_begun = False

        async def begin() -> None:
            nonlocal has_begun
            self._check_failure()
            # A read-only tool has no effect that could be doubled.
            if not has_begun and not (call.tool is not None and call.tool.facts.read_only):
                await self._write_beginning(key, call, was_begun=step is not None)
                has_begun = True

        try:
            result = await work(begin)
        except Exception:
            self._check_failure()
            raise
        # A hook that raises denies the call. But a call that could not begin was not denied: the whole run has to stop.
        if not has_begun:
            self._check_failure()
        record = dump_call(result, session, before)
        await self._finish(key, record, started, is_only_copy=has_begun and not may_repeat)
        return result

    async def _write_beginning(self, key: str, call: ToolCall, *, was_begun: bool) -> None:
        """Record that the call of the step *key* is about to take effect; take it back if the task is cancelled."""
        run_id, epoch = self.row.id, self.row.epoch
        if was_begun and self._steps[key].epoch == epoch:
            return await self._write(lambda now: self.journal.check_newest(run_id, epoch))
        if was_begun:
            write = partial(self.journal.begin_again, run_id, epoch, key)
        else:
            write = partial(self.journal.begin, run_id, epoch, key, {"tool": call.name, "call": call.id})
        task, cancelled = await run_to_end(self._write(write), _CLEANUP_SECONDS)
        if cancelled is None:
            task.result()
            # A function that is attempted again comes to this step in the same activation. A job in the background may
            # have its record by now.
            step = self._steps.get(key)
            if step is None or step.state == "began":
                self._steps[key] = StepRow(key=key, epoch=epoch, state="began")
            return None
        if not (was_begun or task.cancelled() or task.exception()):
            taking_back, _ = await run_to_end(self._take_back(key), _CLEANUP_SECONDS)
            retrieve_exception(taking_back)
        raise cancelled

    async def _take_back(self, key: str) -> None:
        try:
            await self._in_thread(partial(self.journal.take_back, self.row.id, self.row.epoch, key))
        except DurableError as error:
            _log.warning("the step %r did not run, but the journal says that it began: %s", key, error)

    async def _finish(self, key: str, record: Mapping[str, Any], started: float, *, is_only_copy: bool = False) -> None:
        """
        Keep what came of a step.

        With *is_only_copy*, nothing else knows it, and the step cannot be repeated. So it is also written if other
        steps could not be, and if the database comes back only after a while.
        """
        if not is_only_copy or isinstance(self.failure, RunTakenOver):
            self._check_failure()
        seconds = max(time.monotonic() - started, 0.0)
        write = partial(self.journal.finish, self.row.id, self.row.epoch, key, record, seconds=seconds)
        if is_only_copy:
            await finish_work(self._persist(key, write), PERSIST_SECONDS)
        else:
            await self._write(write)
        # The run may come to this step again in the same activation.
        self._steps[key] = StepRow(key=key, epoch=self.row.epoch, state="done", record=record, seconds=seconds)

    async def _persist(self, key: str, write: Callable[..., None]) -> None:
        attempts = 0

        async def attempt() -> None:
            nonlocal attempts
            attempts += 1
            try:
                await self._in_thread(partial(write, now=self.read_time()))
            except RunTakenOver:
                # An attempt before may have been written, although the database could not say so.
                if attempts == 1 or not await self._in_thread(partial(self._has_record, key)):
                    raise

        try:
            await persist(attempt, f"the result of the step {key!r}", is_ending=self.is_ending)
        except DurableError as error:
            self.failure = self.failure or error
            raise

    def _has_record(self, key: str) -> bool:
        step = self.journal.read_steps(self.row.id).get(key)
        return step is not None and step.state == "done" and step.epoch == self.row.epoch

    async def _write(self, write: Callable[..., None]) -> None:
        """Let *write* change the journal, in a thread. A cancellation does not stop it: what happened is recorded."""
        try:
            await self._in_thread(partial(write, now=self.read_time()))
        except DurableError as error:
            self.failure = self.failure or error
            raise

    async def _in_thread(self, work: Callable[[], T]) -> T:
        future = self.threads.run(work, "journal")
        future.add_done_callback(retrieve_exception)
        result: T = await asyncio.shield(future)
        return result

    def _load(self, key: str, load: Callable[[], T]) -> T:
        try:
            return load()
        except ValueError as error:
            raise DurableError(
                f"the record of the step {key!r} cannot be read: {error}; "
                "finish the run with the version of the program that has begun it, or cancel the run",
                why="changed",
            ) from error

    def _check_failure(self) -> None:
        if self.failure is not None:
            raise self.failure


def measure_steps(steps: Iterable[StepRow]) -> float:
    """Return how many seconds at least one of *steps* was under way. Steps at the same time count once."""
    times = sorted(
        (step.finished_at - step.seconds, step.finished_at) for step in steps if step.finished_at is not None
    )
    total, covered_until = 0.0, float("-inf")
    for began_at, finished_at in times:
        total += max(0.0, finished_at - max(began_at, covered_until))
        covered_until = max(covered_until, finished_at)
    return total
