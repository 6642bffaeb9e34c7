"""
A thread that runs one child process while the event loop goes on.

The event loop never waits for a pipe, and any event loop works. The thread lives as long as the child.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

from .._plumbing.forks import unlock_in_children
from .child import NotStarted

__all__ = ["ChildThread"]

OutcomeT = TypeVar("OutcomeT")
_PATIENCE_SECONDS = 2.0


class ChildThread(Generic[OutcomeT]):
    """
    A thread that calls *work* with this object, which runs a child process. It starts as soon as the object is made.

    When `stop_file` becomes readable, and `is_stopping` is set, *work* has to end the child within *grace_seconds*.

    Raises:
        NotStarted: The system has no thread or no pipe left.
    """

    def __init__(self, work: Callable[[ChildThread[OutcomeT]], OutcomeT], *, name: str, grace_seconds: float) -> None:
        self._work = work
        self._grace_seconds = grace_seconds
        self._done = threading.Event()
        self._outcome: OutcomeT | None = None
        self._error: Exception | None = None
        self._done_callbacks: list[Callable[[], object]] = []
        self._lock = unlock_in_children(threading.Lock())
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run_in_thread, name=name, daemon=True)
        self.is_stopping = False
        try:
            self.stop_file, self._stop_writer = os.pipe()
        except OSError as error:
            raise NotStarted(f"the system has no pipe left to run a command with: {error.strerror}") from error
        try:
            self._thread.start()
        except RuntimeError as error:
            self._close_stop_pipe()
            raise NotStarted("the system has no thread left to run a command in; try again later") from error

    @property
    def is_over(self) -> bool:
        return self._done.is_set()

    @property
    def outcome(self) -> OutcomeT:
        """Return what the function returned, or raise its error, or `RuntimeError` while it still runs."""
        if self._error is not None:
            raise self._error
        if self._outcome is None:
            raise RuntimeError("the command still runs")
        return self._outcome

    def stop(self) -> None:
        """Ask for the end of the child. Return at once."""
        with self._lock:
            self.is_stopping = True
            # The pipe is closed when the child is over. In a forked process, it belongs to the parent's child.
            if not self.is_over and os.getpid() == self._pid:
                os.write(self._stop_writer, b"s")

    def wait(self, seconds: float | None = None) -> bool:
        """Wait until the child is over, and return whether it is. Wait at most *seconds*, if given."""
        return threading.current_thread() is not self._thread and self._done.wait(seconds)

    async def wait_for_outcome(self) -> OutcomeT:
        """Wait for the outcome, and return it. If the waiting task is cancelled, the child is ended first."""
        loop = asyncio.get_running_loop()
        is_over = asyncio.Event()

        def notify() -> None:
            with contextlib.suppress(RuntimeError):  # The event loop is closed, so no task waits any more.
                loop.call_soon_threadsafe(is_over.set)

        self._call_when_over(notify)
        try:
            await is_over.wait()
        except asyncio.CancelledError:
            self.stop()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(is_over.wait(), self._grace_seconds + _PATIENCE_SECONDS)
            raise
        return self.outcome

    def _call_when_over(self, callback: Callable[[], object]) -> None:
        with self._lock:
            if not self.is_over:
                self._done_callbacks.append(callback)
                return
        callback()

    def _run_in_thread(self) -> None:
        try:
            self._outcome = self._work(self)
        except Exception as error:  # noqa: BLE001 -- raised again in the task that waits for the child
            self._error = error
        finally:
            with self._lock:
                self._close_stop_pipe()
                self._done.set()
                callbacks, self._done_callbacks = self._done_callbacks, []
            for callback in callbacks:
                callback()

    def _close_stop_pipe(self) -> None:
        os.close(self.stop_file)
        os.close(self._stop_writer)
