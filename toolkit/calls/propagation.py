"""
Errors that end more than one call, and so leave it without a result.
"""

from __future__ import annotations

import asyncio
import threading

__all__ = ["CallAbandoned", "CallPaused", "must_propagate"]


class CallAbandoned(BaseException):
    """
    Raised inside a call that must not go on in this process: another process has the run that it is a step of.

    It leaves the call without a result, and the store of approvals as it is. No hook and no tool has to handle it.
    """


class CallPaused(BaseException):
    """
    The function of a call ends here, because a run inside it waits for people. It runs again when they have answered.

    It is no `Exception`, so that a function that catches those does not take it for a failure.
    """


def must_propagate(error: BaseException) -> bool:
    """
    Return whether *error* ends more than this call: a cancellation that the caller requested, Ctrl-C, a close, a pause.

    Call this in the frame that caught *error*, or below it, because the traceback shows where a `GeneratorExit` comes
    from.
    """
    if not isinstance(error, _PROPAGATING):
        return False
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(_LEAVING) is not None
    if isinstance(error, _LEAVING):
        return True
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        return task is None or task.cancelling() > 0
    if isinstance(error, KeyboardInterrupt):
        # Python raises it only in the main thread. In another thread the tool raised it itself.
        return threading.current_thread() is threading.main_thread()
    # Closing a coroutine closes the inner ones first, and then throws a new error into each outer frame. A traceback
    # with more than one frame therefore means that the tool raised the `GeneratorExit`.
    return error.__traceback__ is None or error.__traceback__.tb_next is None


_LEAVING = (CallAbandoned, CallPaused)
_PROPAGATING = (asyncio.CancelledError, KeyboardInterrupt, GeneratorExit, BaseExceptionGroup, *_LEAVING)
