"""
Pass the progress of a running tool to its listener, in the thread of the event loop.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import logging
from collections.abc import Callable

from ..context import Progress

__all__ = ["build_progress_reporter"]

_log = logging.getLogger("toolkit")


def build_progress_reporter(
    listener: Callable[[Progress], object], loop: asyncio.AbstractEventLoop | None = None
) -> Callable[[Progress], None]:
    """
    Return a function that passes progress to *listener*, always in the thread of *loop*, or of the running loop.

    So the listener may be plain async code. If the listener raises, the error is logged and does not affect the call.
    """
    loop = loop or asyncio.get_running_loop()
    # The context says which call this is. A thread that the tool has started itself does not have it.
    context = contextvars.copy_context()

    def call_listener(progress: Progress) -> None:
        try:
            listener(progress)
        except Exception:  # noqa: BLE001 -- the listener is user code; the docstring above says why
            _log.exception("a listener to progress failed")

    def report(progress: Progress) -> None:
        try:
            is_on_loop = asyncio.get_running_loop() is loop
        except RuntimeError:
            is_on_loop = False
        if is_on_loop:
            call_listener(progress)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so there is no listener any more
                loop.call_soon_threadsafe(call_listener, progress, context=context)

    return report
