"""
An event loop that reacts to Ctrl-C at once.

Python notices a signal between two instructions. A signal that comes just before the loop goes to sleep would be
noticed only when something else wakes the loop up. While the loop waits for a person's answer, that may be never. So
the signal itself wakes the loop.

A signal may also come after a task was made and before the loop runs it. The handler of `asyncio.Runner` is not there
yet at that moment. So this module has a handler of its own, which is there from the beginning.
"""

from __future__ import annotations

import asyncio
import contextlib
import select
import signal
import socket
import threading
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

__all__ = ["InterruptibleLoop", "open_interruptible_loop", "run_coroutine", "unblock_on_interrupt", "wake_on_signal"]

T = TypeVar("T")

_NUDGE_SECONDS = 0.02


def run_coroutine(coroutine: Coroutine[Any, Any, T], *, take_interrupt: Callable[[], bool] | None = None) -> T:
    """
    Run *coroutine* and return its result, from code that has no event loop.

    *take_interrupt* is called first for each Ctrl-C. If it returns True, it has dealt with it.
    """
    with open_interruptible_loop(take_interrupt=take_interrupt) as loop:
        return loop.run(coroutine)


class InterruptibleLoop:
    """
    An event loop that runs coroutines, one after the other; `open_interruptible_loop` makes it.

    The first Ctrl-C cancels the coroutine that runs, and `run` raises `KeyboardInterrupt` when it has ended. After a
    second one, `run` waits at most *cleanup_seconds* more. A third one, or one that comes while nothing runs, raises
    `KeyboardInterrupt` at once. A Ctrl-C that *take_interrupt* takes for itself counts as none of these: it returns
    True if it does, as a prompt does that is open.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        take_interrupt: Callable[[], bool] | None = None,
        *,
        cleanup_seconds: float = 5.0,
    ) -> None:
        self._loop = loop
        self._take_interrupt = take_interrupt
        self._cleanup_seconds = cleanup_seconds
        self._task: asyncio.Task[Any] | None = None
        self._abandoned_tasks: list[asyncio.Task[Any]] = []
        self._is_interrupted = False

    @property
    def has_abandoned(self) -> bool:
        """Whether a coroutine that was interrupted has not ended, so that it goes on when the loop runs again."""
        return not all(task.done() for task in self._abandoned_tasks)

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        self._is_interrupted = False
        self._task = task = self._loop.create_task(coroutine)
        try:
            return self._loop.run_until_complete(task)
        except asyncio.CancelledError:
            if self._is_interrupted and task.uncancel() == 0:
                raise KeyboardInterrupt from None
            raise
        except KeyboardInterrupt:
            self._wait_for_end(task)
            raise
        finally:
            self._task = None

    def _wait_for_end(self, task: asyncio.Task[Any]) -> None:
        """Let *task* clean up. If it went on while the next coroutine runs, it would mix with what that one does."""
        self._abandoned_tasks = [task]  # a further Ctrl-C may end the wait
        if not task.done() and not self._is_interrupted:
            task.cancel()
        if not task.done():
            self._loop.run_until_complete(asyncio.wait([task], timeout=self._cleanup_seconds))
        if task.done() and not task.cancelled():
            task.exception()  # an exception that is never looked at would be logged

    def on_signal(self, number: int, frame: FrameType | None) -> None:
        """Cancel what runs; raise `KeyboardInterrupt` if nothing does, or if it was cancelled already."""
        if self._task is not None and self._take_interrupt is not None and self._take_interrupt():
            return
        if self._task is None or self._task.done() or self._is_interrupted:
            raise KeyboardInterrupt
        self._is_interrupted = True
        self._task.cancel()


@contextlib.contextmanager
def open_interruptible_loop(*, take_interrupt: Callable[[], bool] | None = None) -> Iterator[InterruptibleLoop]:
    """Yield a loop that can run several coroutines, one after the other, and close it at the end."""
    with asyncio.Runner() as loop_runner:
        loop = loop_runner.get_loop()
        interruptible = InterruptibleLoop(loop, take_interrupt)
        if threading.current_thread() is not threading.main_thread():
            yield interruptible  # Python handles signals in the main thread only
            return
        with wake_on_signal() as receiver:
            loop.add_reader(receiver, receiver.recv, 4096)
            # A program that handles Ctrl-C itself goes on doing so.
            is_default = signal.getsignal(signal.SIGINT) is signal.default_int_handler
            if is_default:
                signal.signal(signal.SIGINT, interruptible.on_signal)
            try:
                yield interruptible
            finally:
                if is_default:
                    signal.signal(signal.SIGINT, signal.default_int_handler)
                loop.remove_reader(receiver)


@contextlib.contextmanager
def wake_on_signal() -> Iterator[socket.socket]:
    """Yield a socket that can be read from as soon as a signal has come. Only the main thread ever gets one."""
    receiver, sender = socket.socketpair()
    with receiver, sender:
        if threading.current_thread() is not threading.main_thread():
            yield receiver
            return
        receiver.setblocking(False)
        sender.setblocking(False)
        previous_fd = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
        try:
            yield receiver
        finally:
            signal.set_wakeup_fd(previous_fd)


@contextlib.contextmanager
def unblock_on_interrupt() -> Iterator[None]:
    """
    Let Ctrl-C end a read that blocks in this block, such as `input`, also if it comes just before the read begins.

    Python has noted such a signal, and looks at its note when the next signal interrupts the read. So a thread sends
    signals that do nothing until the block has ended.
    """
    if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "SIGURG"):
        yield
        return
    previous = signal.signal(signal.SIGURG, lambda number, frame: None)
    with wake_on_signal() as receiver:
        has_ended = threading.Event()
        end_receiver, end_sender = socket.socketpair()
        arguments = receiver, end_receiver, has_ended
        nudger = threading.Thread(target=_nudge_main_thread, args=arguments, name="toolkit-interrupt", daemon=True)
        nudger.start()
        try:
            yield
        finally:
            has_ended.set()
            end_sender.close()
            nudger.join()
            end_receiver.close()
            if previous is not None:  # a handler that was not set from Python cannot be set again
                signal.signal(signal.SIGURG, previous)


def _nudge_main_thread(receiver: socket.socket, end_receiver: socket.socket, has_ended: threading.Event) -> None:
    """Wait for Ctrl-C, and then interrupt the system calls of the main thread until *has_ended* is set."""
    main_thread = threading.main_thread().ident
    while not has_ended.is_set():
        select.select([receiver, end_receiver], [], [])
        with contextlib.suppress(BlockingIOError):
            if signal.SIGINT not in receiver.recv(4096):
                continue
        while main_thread is not None and not has_ended.wait(_NUDGE_SECONDS):
            signal.pthread_kill(main_thread, signal.SIGURG)
