"""
Threads for blocking work. They are few, they are daemons, and the program does not wait for them at exit.

The event loop's own executor makes `asyncio.run` wait for a thread that hangs. Here a job can be given up. It keeps its
thread until it ends, but no code waits for it, and another thread takes its place. The number of such replacements is
bounded, so a tool that always hangs cannot fill the process with threads.
"""

from __future__ import annotations

import asyncio
import collections
import contextlib
import contextvars
import threading
from collections.abc import Callable, Iterator
from typing import Any

from .._plumbing.forks import renew_in_children
from .._plumbing.records import record
from .._plumbing.wording import format_count
from .futures import set_outcome

__all__ = ["ThreadJob", "ThreadPool", "run_in_thread"]


@record(slots=True, eq=False)
class ThreadJob:
    """
    One job for a thread.

    Attributes:
        future: The outcome, for the coroutine that waits for it.
        loop: The event loop of that coroutine.
        context: The context variables that the job runs with.
        function: The work.
        label: The name of the job in messages.
        outcome: The result and the error of the work, from its end until they are reported.
    """

    future: asyncio.Future[Any]
    loop: asyncio.AbstractEventLoop
    context: contextvars.Context
    function: Callable[[], Any]
    label: str
    outcome: tuple[Any, BaseException | None] | None = None

    @classmethod
    def create(cls, function: Callable[[], Any], label: str) -> ThreadJob:
        """Return a job for the running event loop, with a copy of the current context variables."""
        loop = asyncio.get_running_loop()
        return cls(loop.create_future(), loop, contextvars.copy_context(), function, label)

    def run(self) -> None:
        """
        Do the work in the current thread. `report` tells the coroutine how it ended.

        Raises:
            KeyboardInterrupt: This is the main thread, and the user pressed Ctrl-C. There is nothing to report.
        """
        if self.future.cancelled():
            return
        result: Any = None
        error: BaseException | None = None
        try:
            result = self.context.run(self.function)
        except (StopIteration, KeyboardInterrupt, GeneratorExit) as raised:
            if isinstance(raised, KeyboardInterrupt) and threading.current_thread() is threading.main_thread():
                raise
            # A future cannot hold a StopIteration, because a coroutine would take it for its own end. The other two
            # have a meaning only if Python itself raises them: it interrupts the main thread, and it closes generators.
            # Raised here they come from the job, and must not end the program.
            error = RuntimeError(f"the tool raised {raised!r}")
            error.__cause__ = raised
        except BaseException as raised:  # noqa: BLE001 -- every error of the job belongs to its call
            error = raised
        self.outcome = result, error
        # The traceback of an error holds this frame. Without this, the frame would keep the values of the call alive.
        del self, result, error

    def report(self) -> None:
        """Tell the coroutine how the work ended, unless it did not begin."""
        outcome, self.outcome = self.outcome, None
        if outcome is not None:
            self.finish(*outcome)

    def finish(self, result: Any, error: BaseException | None) -> None:
        """Tell the coroutine the outcome. Any thread may call this."""
        # The loop may be closed, and then the code that waited is gone too.
        with contextlib.suppress(RuntimeError):
            self.loop.call_soon_threadsafe(set_outcome, self.future, result, error)
        del self, result, error  # as in `run`


class ThreadPool:
    """
    A pool of at most *max_threads* threads, and as many again to replace threads whose job was given up.

    Threads are made when needed and kept for the next job.

    Args:
        max_threads: How many threads there may be, not counting those whose job was given up. Once *max_threads*
            threads are replaced, no further thread is replaced.
        name: The name of the threads.
        idle_seconds: How long a thread without work is kept. So a pool that is never closed leaves no threads behind.
        make_thread: The function that makes the threads.
    """

    def __init__(
        self,
        max_threads: int,
        *,
        name: str = "toolkit",
        idle_seconds: float = 30.0,
        make_thread: Callable[..., threading.Thread] = threading.Thread,
    ) -> None:
        self._size = max_threads
        self._name = name
        self._make_thread = make_thread
        self._idle_seconds = idle_seconds
        self._closed = False
        self.renew_after_fork()
        renew_in_children(self)

    def renew_after_fork(self) -> None:
        """Reset the pool to no threads and no jobs, as a forked child needs it."""
        self._jobs: collections.deque[ThreadJob] = collections.deque()
        # All counts change under its lock, together with the queue. So a thread that was promised a job will take it.
        self._condition = threading.Condition()
        self._threads: set[threading.Thread] = set()
        self._idle: set[threading.Thread] = set()
        self._running: dict[threading.Thread, ThreadJob] = {}
        self._given_up: set[threading.Thread] = set()
        self._lent_slots = 0

    def run(self, function: Callable[[], Any], label: str = "") -> asyncio.Future[Any]:
        """
        Run *function* in a thread with the current context variables, and return a future of the running loop.

        A caller that stops waiting passes the future to `give_up`. *label* names the job in `describe_holders`.
        """
        job = ThreadJob.create(function, label)
        with self._condition:
            if self._closed:
                raise RuntimeError("the dispatcher is closed, and its threads with it")
            self._jobs.append(job)
            self._start_if_needed(job)
            self._condition.notify()
        return job.future

    def give_up(self, future: asyncio.Future[Any]) -> None:
        """Remove the job of *future* from the queue, or let another thread replace its thread if it runs already."""
        with self._condition:
            for job in self._jobs:
                if job.future is future:
                    self._jobs.remove(job)
                    return
            for thread, job in self._running.items():
                if job.future is future:
                    self._given_up.add(thread)
                    if self._jobs:
                        self._start_if_needed(self._jobs[-1])
                    return

    @contextlib.contextmanager
    def lend_slot(self) -> Iterator[None]:
        """
        Lend the slot of the current thread to another job while the block runs.

        This has an effect only in a thread of this pool. The thread must only wait for that job meanwhile. Without
        this, jobs could wait for each other in a circle.
        """
        is_ours = threading.current_thread() in self._threads
        if is_ours:
            self._change_lent(1)
        try:
            yield
        finally:
            if is_ours:
                self._change_lent(-1)

    def _change_lent(self, count: int) -> None:
        with self._condition:
            self._lent_slots += count
            if self._jobs:
                self._start_if_needed(self._jobs[-1])
            self._condition.notify_all()

    @property
    def thread_count(self) -> int:
        """How many threads there are."""
        return len(self._threads)

    @property
    def queue_length(self) -> int:
        """How many jobs wait for a thread."""
        return len(self._jobs)

    @property
    def stuck_count(self) -> int:
        """How many threads run a job that was given up."""
        return len(self._given_up)

    def describe_holders(self) -> str:
        """Return a text that names the jobs that hold the threads, first those that were given up."""
        with self._condition:
            stuck = [job.label for thread, job in self._running.items() if thread in self._given_up]
            busy = [job.label for thread, job in self._running.items() if thread not in self._given_up]
        parts = [f"calls that cannot be stopped ({_format_counts(stuck)})"] if stuck else []
        parts += [f"running calls ({_format_counts(busy)})"] if busy else []
        return f"all {len(stuck) + len(busy)} threads are held by {' and '.join(parts)}" if parts else ""

    def close(self) -> None:
        """End idle threads now and busy threads after their job. Waiting jobs are still done."""
        with self._condition:
            self._closed = True
            ending = [] if self._jobs else list(self._idle)
            self._condition.notify_all()
        for thread in ending:
            # A thread that holds the last reference to a dispatcher closes its own pool, and ends after that.
            if thread is not threading.current_thread():
                thread.join()

    def _max_threads(self) -> int:
        return self._size + self._lent_slots + min(len(self._given_up), self._size)

    def _start_if_needed(self, job: ThreadJob) -> None:
        """Start one thread if no idle thread will take *job* and the pool may have another thread."""
        if len(self._jobs) <= len(self._idle) or len(self._threads) >= self._max_threads():
            return
        thread = self._make_thread(target=self._run_jobs, name=self._name, daemon=True)
        self._threads.add(thread)
        self._idle.add(thread)
        try:
            thread.start()
        except RuntimeError:  # the system allows no more threads; the existing threads will do the job
            self._remove_thread(thread)
            if not self._threads:
                self._jobs.remove(job)
                raise

    def _run_jobs(self) -> None:
        thread = threading.current_thread()
        while True:
            job = self._take_job(thread)
            if job is None:
                return
            job.run()
            del job  # otherwise a waiting thread would keep the values of the last call alive

    def _take_job(self, thread: threading.Thread) -> ThreadJob | None:
        """Return the next job, or None if *thread* has to end."""
        with self._condition:
            last_job = self._running.pop(thread, None)
            self._given_up.discard(thread)
            self._idle.add(thread)
            if last_job is not None:
                # This comes last. The event loop wakes up, and then waits for this thread until it waits itself.
                last_job.report()
                del last_job  # otherwise a waiting thread would keep the values of the last call alive
            self._condition.wait_for(
                lambda: self._jobs or self._closed or self._has_too_many_threads(), self._idle_seconds
            )
            if not self._jobs or self._has_too_many_threads():
                self._remove_thread(thread)
                return None
            self._idle.discard(thread)
            job = self._running[thread] = self._jobs.popleft()
            return job

    def _has_too_many_threads(self) -> bool:
        return len(self._threads) > self._max_threads()

    def _remove_thread(self, thread: threading.Thread) -> None:
        self._threads.discard(thread)
        self._idle.discard(thread)


def _format_counts(labels: list[str]) -> str:
    counts = collections.Counter(label or "unnamed" for label in labels)
    return ", ".join(
        f"`{label}`" if count == 1 else f"`{label}` {format_count(count, 'time')}" for label, count in counts.items()
    )


async def run_in_thread(threads: ThreadPool, work: Callable[[], Any], label: str) -> Any:
    """Return what *work* returns in one of *threads*. If the caller is cancelled, the job is given up."""
    future = threads.run(work, label)
    try:
        return await future
    except asyncio.CancelledError:
        threads.give_up(future)
        raise
