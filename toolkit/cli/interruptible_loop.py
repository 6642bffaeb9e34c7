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
    with runner() as made:
        return made.run(work)


@contextlib.contextmanager
def runner() -> Iterator[asyncio.Runner]:
    """Yield an `asyncio.Runner`, which can run several coroutines, one after the other."""
    with asyncio.Runner() as made:
        if threading.current_thread() is not threading.main_thread():
            yield made  # Python handles signals in the main thread only
            return
        heard, told = socket.socketpair()
        with heard, told:
            heard.setblocking(False)
            told.setblocking(False)
            loop = made.get_loop()
            loop.add_reader(heard, heard.recv, 4096)
            before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
            try:
                yield made
            finally:
                signal.set_wakeup_fd(before)
                loop.remove_reader(heard)
