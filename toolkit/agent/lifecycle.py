"""
The start and the end of a run: hooks are called at both, and every end leaves a `Run`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..hooks.base import Deny, Halt
from ..values.rendering import described
from .active_run import Ending, Talk
from .events import Done, Failed, Waiting
from .runs import Run

__all__ = ["lived"]

_log = logging.getLogger("toolkit")


async def lived(
    talk: Talk,
    work: Callable[[], Awaitable[Ending]],
    details: Mapping[str, Any],
    keep: Callable[[Run], object],
) -> Run:
    """
    Call the hooks for the start, do *work* on *talk*, call the hooks for the end, and return the run.

    *keep* is always called with the run, also if this function is cancelled or an unexpected exception is raised.
    """
    try:
        ending = await _started(talk, details) or await work()
    except GeneratorExit as error:  # nothing can be awaited any more, so the hooks are left out
        _told(talk, _broken(error), keep)
        raise
    except BaseException as error:
        await _over(talk, _broken(error), details, keep)
        raise
    return await _over(talk, ending, details, keep)


def _broken(error: BaseException) -> Ending:
    if isinstance(error, Exception):
        return Ending(status="failed", reason=described(error), error=error)
    return Ending(status="stopped", stop="cancelled", reason="it was cancelled")


def _told(talk: Talk, ending: Ending, keep: Callable[[Run], object]) -> Run:
    run = talk.run(ending)
    keep(run)
    if run.status == "waiting":
        talk.tell(Waiting(run.requests))
    if ending.error is not None:
        talk.tell(Failed(ending.error))
    talk.tell(Done(run))
    return run


async def _over(talk: Talk, ending: Ending, details: Mapping[str, Any], keep: Callable[[Run], object]) -> Run:
    run = _told(talk, ending, keep)
    end_details = {
        **details,
        "status": run.status,
        "reason": run.reason,
        "turns": run.turns,
        "usage": run.usage.to_json(),
    }
    for hook in talk.toolbox.hooks("agent_ended"):
        try:
            await _awaited(hook(talk.session, details=end_details))
        except Exception:  # noqa: BLE001 -- the hook is the host's code, and the run has ended anyway
            _log.exception("a hook failed where an agent ended")
    return run


async def _started(talk: Talk, details: Mapping[str, Any]) -> Ending | None:
    """Call the hooks for the start. Return an ending if one of them stops the agent or fails, and otherwise None."""
    for hook in talk.toolbox.hooks("agent_started"):
        try:
            outcome = await _awaited(hook(talk.session, details=details))
        except Exception as error:  # noqa: BLE001 -- a hook that fails stops the agent
            _log.exception("a hook failed where an agent started")
            outcome = Halt(f"a hook failed, so the agent was not started: {described(error)}")
        if isinstance(outcome, (Halt, Deny)):
            return Ending(status="stopped", stop="halt", reason=outcome.reason)
    return None


async def _awaited(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
