"""
An event loop that reacts to Ctrl-C at once.

Python notices a signal between two instructions. A signal that comes just before the
loop goes to sleep would be noticed only when something else wakes the loop up. While
the loop waits for a person's answer, that may be never. So the signal itself wakes
the loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import socket
import threading
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

__all__ = ["awaited", "runner"]

T = TypeVar("T")


def awaited(work: Coroutine[Any, Any, T]) -> T:
    """Run *work* and return its result, from code that has no event loop."""
    with runner() as loop_runner:
        return loop_runner.run(work)


@contextlib.contextmanager
def runner() -> Iterator[asyncio.Runner]:
    """Yield an `asyncio.Runner`, which can run several coroutines, one after the other."""
    with asyncio.Runner() as loop_runner:
        if threading.current_thread() is not threading.main_thread():
            yield loop_runner  # Python handles signals in the main thread only
            return
        receiver, sender = socket.socketpair()
        with receiver, sender:
            receiver.setblocking(False)
            sender.setblocking(False)
            loop = loop_runner.get_loop()
            loop.add_reader(receiver, receiver.recv, 4096)
            previous_fd = signal.set_wakeup_fd(sender.fileno(), warn_on_full_buffer=False)
            try:
                yield loop_runner
            finally:
                signal.set_wakeup_fd(previous_fd)
                loop.remove_reader(receiver)
