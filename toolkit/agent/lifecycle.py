"""
Where a run starts and ends: hooks are told, and whatever happens leaves a value.
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
    The run that *work* makes of *talk*, between the start and the end that hooks are told of.

    *keep* gets it whatever happens: also if this is cancelled, or something raises that nobody expected.
    """
    try:
        ending = await _started(talk, details) or await work()
    except GeneratorExit as error:  # nothing can be awaited any more
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
    told = {**details, "status": run.status, "reason": run.reason, "turns": run.turns, "usage": run.usage.to_json()}
    for hook in talk.toolbox.hooks("agent_ended"):
        try:
            await _awaited(hook(talk.session, details=told))
        except Exception:  # noqa: BLE001 -- a stranger's, and it is over anyway
            _log.exception("a hook failed where an agent ended")
    return run


async def _started(talk: Talk, details: Mapping[str, Any]) -> Ending | None:
    """Tell the hooks; an ending if one of them keeps the agent from starting, or fails."""
    for hook in talk.toolbox.hooks("agent_started"):
        try:
            outcome = await _awaited(hook(talk.session, details=details))
        except Exception as error:  # noqa: BLE001 -- a hook that fails, fails closed
            _log.exception("a hook failed where an agent started")
            outcome = Halt(f"a hook failed, so the agent was not started: {described(error)}")
        if isinstance(outcome, (Halt, Deny)):
            return Ending(status="stopped", stop="halt", reason=outcome.reason)
    return None


async def _awaited(said: Any) -> Any:
    return await said if inspect.isawaitable(said) else said
