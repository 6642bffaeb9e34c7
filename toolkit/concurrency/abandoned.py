"""
Calls that could not be stopped, and that no caller waits for any more.

A thread cannot be killed, and a coroutine may ignore its cancellation. Such a call is registered until it ends. Its
caller is the session together with the principal. Until the call ends, that caller cannot start the same call again.
Calls of that caller that must run alone wait for it, in every event loop. Other callers are not held up.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import threading
from collections.abc import Callable
from typing import Any, TypeAlias

from .._plumbing.forks import renew_in_children
from .._plumbing.records import record
from .._plumbing.wording import format_seconds
from ..results import ToolCall
from .futures import retrieve_exception, set_outcome

__all__ = [
    "AbandonedCalls",
    "Caller",
    "CancellableJob",
    "StuckCall",
    "caller_of",
    "log_abandoned",
    "log_stuck_in_thread",
    "run_job",
]

_log = logging.getLogger("toolkit")

Caller: TypeAlias = tuple[str, str | None]
"""The id of a session, and a principal. A call that cannot be stopped holds up only its own caller."""


def caller_of(call: ToolCall) -> Caller:
    """Return the caller that *call* belongs to."""
    return call.session_key, call.principal


class CancellableJob:
    """Work for a thread. It can be called off until it starts, and it reports when it is over."""

    __slots__ = ("_callback", "_lock", "_state", "_work")

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._lock = threading.Lock()
        self._state = "waiting"
        self._callback: Callable[[], object] | None = None

    def __call__(self) -> Any:
        with self._lock:
            if self._state != "waiting":
                return None
            self._state = "running"
        try:
            return self._work()
        finally:
            with self._lock:
                self._state = "over"
            if self._callback is not None:
                self._callback()

    @property
    def is_over(self) -> bool:
        """Whether the job has ended, or was cancelled before it started."""
        return self._state in ("over", "called off")

    def cancel(self) -> bool:
        """Prevent the job from starting, and return whether it never will; False if it has started already."""
        with self._lock:
            if self._state == "waiting":
                self._state = "called off"
            return self._state == "called off"

    def call_when_over(self, callback: Callable[[], object]) -> None:
        """Call *callback* at the end of the job, in the job's own thread, or now if the job is over already."""
        with self._lock:
            if not self.is_over:
                self._callback = callback
                return
        callback()


@record(frozen=True, slots=True)
class StuckCall:
    """
    One call that could not be stopped.

    Attributes:
        caller: The caller that the call belongs to.
        digest: A digest that is the same for calls that mean the same.
        is_alone: Whether the call must not run beside others.
        is_read_only: Whether the call changes nothing. Then it can only disturb calls of the same tool, because no
            caller sees what it reads any more.
    """

    tool: str
    caller: Caller
    digest: str
    is_alone: bool
    is_read_only: bool = False

    def holds_up(self, caller: Caller, tool: str) -> bool:
        """Return whether a call of *tool* that must run alone has to wait for this one."""
        return self.is_alone and self.caller == caller and (not self.is_read_only or self.tool == tool)


@record(frozen=True, slots=True, eq=False)
class _Waiter:
    loop: asyncio.AbstractEventLoop
    future: asyncio.Future[None]
    is_held_up: Callable[[StuckCall], bool]


class AbandonedCalls:
    """
    The calls that still run although no caller waits for them.

    Attributes:
        alive: How many there are.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self.renew_after_fork()
        renew_in_children(self)

    def renew_after_fork(self) -> None:
        """Drop all registered calls, because a forked child has none of its parent's threads and loops."""
        self.alive = 0
        self._lock = threading.Lock()
        self._running: dict[object, tuple[StuckCall, asyncio.AbstractEventLoop | None]] = {}
        self._waiters: list[_Waiter] = []

    def add(self, call: StuckCall, loop: asyncio.AbstractEventLoop | None = None) -> Callable[[], None]:
        """
        Register *call*, and return a function that removes it again. Any thread may call that function.

        A call that runs in *loop* is also over once the loop is closed.
        """
        token = object()
        with self._lock:
            self._running[token] = call, loop
            self.alive = len(self._running)
        return lambda: self._remove(token)

    def add_task(self, task: asyncio.Task[Any], call: StuckCall) -> None:
        """Register *call* until *task* is done."""
        remove = self.add(call, task.get_loop())
        self.keep_alive(task)
        task.add_done_callback(lambda _: remove())

    def keep_alive(self, task: asyncio.Task[Any]) -> None:
        """Keep *task* alive until it is done, and then read its exception. An event loop does neither."""
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        task.add_done_callback(retrieve_exception)

    def _remove(self, token: object) -> None:
        with self._lock:
            self._running.pop(token, None)
            self.alive = len(self._running)
            calls = self._calls()
            free = [waiter for waiter in self._waiters if not any(map(waiter.is_held_up, calls))]
            self._waiters = [waiter for waiter in self._waiters if waiter not in free]
        for waiter in free:
            # The loop may be closed, and then the call that waited is gone too.
            with contextlib.suppress(RuntimeError):
                waiter.loop.call_soon_threadsafe(set_outcome, waiter.future, None)

    def _calls(self) -> list[StuckCall]:
        closed = [token for token, (_, loop) in self._running.items() if loop is not None and loop.is_closed()]
        for token in closed:
            del self._running[token]
        self.alive = len(self._running)
        return [call for call, _ in self._running.values()]

    def blockers(self, caller: Caller, tool: str) -> list[str]:
        """Return the names of the tools whose calls hold up a call of *tool* that must run alone, each name once."""
        with self._lock:
            return list(dict.fromkeys(call.tool for call in self._calls() if call.holds_up(caller, tool)))

    def still_runs(self, caller: Caller, digest: str) -> bool:
        """Return whether the same call of the same caller still runs."""
        with self._lock:
            return any((call.caller, call.digest) == (caller, digest) for call in self._calls())

    async def wait_for_blockers(self, caller: Caller, tool: str, timeout_seconds: float | None) -> bool:
        """Wait until no call holds up a call of *tool* that must run alone; return False if time runs out first."""
        return await self.wait_for(lambda call: call.holds_up(caller, tool), timeout_seconds)

    async def wait_for(self, is_held_up: Callable[[StuckCall], bool], timeout_seconds: float | None) -> bool:
        """Wait until *is_held_up* returns False for each call that still runs; return False if time runs out first."""
        loop = asyncio.get_running_loop()
        waiter = _Waiter(loop, loop.create_future(), is_held_up)
        with self._lock:
            if not any(map(is_held_up, self._calls())):
                return True
            self._waiters.append(waiter)
        try:
            done, _ = await asyncio.wait({waiter.future}, timeout=timeout_seconds)
            return bool(done)
        finally:
            with self._lock, contextlib.suppress(ValueError):
                self._waiters.remove(waiter)


async def run_job(threads: Any, job: CancellableJob, label: str, give_up: Callable[..., object]) -> Any:
    """
    Return what *job* returns in one of *threads*, which are a pool, or the one thread of a sync caller.

    If the caller is cancelled, a job that waits is called off. A thread cannot be stopped, so a job that runs goes on,
    and another thread takes the place of its thread. *give_up* is called in both cases, with the job and `has_begun`:
    whether a thread runs it already.
    """
    future = threads.run(job, label)
    try:
        return await future
    except asyncio.CancelledError:
        if future.cancelled():  # otherwise the job itself raised the error
            give_up(job, has_begun=not job.cancel())
            threads.give_up(future)
        raise
    finally:
        # The future holds the error, and the traceback of the error holds this frame. Without this, only the garbage
        # collector would free them.
        del future


def log_stuck_in_thread(name: str) -> None:
    """Log that the tool called *name* still runs in a thread although its caller is gone."""
    _log.warning("`%s` still runs in a thread, although its caller has gone", name)


def log_abandoned(subject: str, cleanup_seconds: float) -> None:
    """Log that *subject* was cancelled and still runs."""
    _log.warning("%s did not end within %s of being cancelled", subject, format_seconds(cleanup_seconds))
