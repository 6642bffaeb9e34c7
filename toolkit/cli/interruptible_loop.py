"""
An event loop that hears Ctrl-C at once.

Python notices a signal between two instructions. One that comes just before the
loop goes to sleep would be noticed only when something else wakes it up, and while
a person is asked that may be never; so the signal itself wakes it.
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
    """What *work* returns, from code that has no loop."""
    with runner() as made:
        return made.run(work)


@contextlib.contextmanager
def runner() -> Iterator[asyncio.Runner]:
    """An `asyncio.Runner`, which several things can be run with, one after the other."""
    with asyncio.Runner() as made:
        if threading.current_thread() is not threading.main_thread():
            yield made  # signals are none of its business
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
