"""Pauses for a thread that computes beside an event loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

__all__ = ["iterate_with_pauses"]

_PAUSE_SECONDS = 1e-5

T = TypeVar("T")


def iterate_with_pauses(items: Iterable[T], every: int) -> Iterator[T]:
    """
    Yield *items*, with a short pause after *every* few items if this is not the main thread.

    A thread that computes keeps an event loop waiting for 5 ms each time that the loop releases the interpreter lock.
    The loop releases it many times in one turn. During a pause, the loop continues at once. A good number of items is
    what takes about a millisecond.
    """
    may_pause = threading.current_thread() is not threading.main_thread()
    for number, item in enumerate(items, 1):
        yield item
        if may_pause and not number % every:
            time.sleep(_PAUSE_SECONDS)
