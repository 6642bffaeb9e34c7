"""
The thread of a sync caller, which runs jobs of the background loop while it waits for that loop.

`call_sync` has to wait in the thread of its caller. A tool with `thread="caller"` runs there meanwhile. So it sees what
belongs to that thread: an open transaction, a session of a database, the connection that a web framework keeps.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextvars
import queue
from collections.abc import Callable
from typing import Any

from ..errors import ToolError
from .thread_pool import ThreadJob

__all__ = ["CallerThread", "find_caller_thread"]

_current: contextvars.ContextVar[CallerThread | None] = contextvars.ContextVar("toolkit_caller_thread", default=None)


def find_caller_thread() -> CallerThread | None:
    """
    Return the thread that waits for the running event loop on behalf of the current task.

    Return None if there is no such thread, because the code that awaits the call runs in this loop.
    """
    caller = _current.get()
    return caller if caller is not None and caller.loop is asyncio.get_running_loop() else None


class CallerThread:
    """
    The current thread, which waits for work that it has given to *loop*.

    It has the methods of a `ThreadPool` that a tool needs. Jobs run one at a time, in the order in which they come.

    Attributes:
        loop: The event loop that the thread waits for.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self._jobs: queue.SimpleQueue[ThreadJob | None] = queue.SimpleQueue()
        self._running = ""
        self._is_closed = False

    def new_context(self) -> contextvars.Context:
        """Return a copy of the current context variables, in which `find_caller_thread` finds this thread."""
        context = contextvars.copy_context()
        context.run(_current.set, self)
        return context

    def run(self, function: Callable[[], Any], label: str = "") -> asyncio.Future[Any]:
        """Run *function* in the caller's thread as soon as it is free, and return a future of the running loop."""
        job = ThreadJob.create(function, label)
        self._jobs.put(job)
        # `close` sets the flag before it refuses jobs. So a job that comes too late is refused there or here, and no
        # lock is needed, which a forked child could find locked.
        if self._is_closed:
            self._refuse_jobs()
        return job.future

    def give_up(self, future: asyncio.Future[Any]) -> None:
        """Do nothing: a job that was called off ends at once when its turn comes, and another one cannot be stopped."""

    def describe_holders(self) -> str:
        """Return a text that names the job which keeps the thread busy."""
        return f"the thread of the caller is held by `{self._running}`" if self._running else ""

    def work_until(self, outcome: concurrent.futures.Future[Any]) -> None:
        """Run jobs in this thread, the thread of the caller, until *outcome* is there."""
        outcome.add_done_callback(lambda _: self._jobs.put(None))
        while (job := self._jobs.get()) is not None:
            self._running = job.label
            job.run()
            self._running = ""
            job.report()
            del job  # otherwise the waiting thread would keep the values of the last call alive

    def close(self) -> None:
        """Refuse every job that has not begun, from now on too, because the thread no longer waits."""
        self._is_closed = True
        self._refuse_jobs()

    def _refuse_jobs(self) -> None:
        while True:
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return
            if job is not None:
                job.finish(None, ToolError("it runs in the thread of its caller, and that caller no longer waits"))
