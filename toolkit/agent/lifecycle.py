"""
The start and the end of a run: hooks are called at both, and every end leaves a `Run`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..hooks.base import Deny, Halt
from ..values.rendering import describe_value
from .active_run import ActiveRun, RunEnding
from .events import Done, RunFailed, RunWaits
from .saved.runs import Run

__all__ = ["run_with_lifecycle"]

_log = logging.getLogger("toolkit")


async def run_with_lifecycle(
    active_run: ActiveRun, work: Callable[[], Awaitable[RunEnding]], verb: str, on_end: Callable[[Run[Any]], object]
) -> Run[Any]:
    """
    Call the hooks for the start, do *work* on *active_run*, call the hooks for the end, and return the run.

    *verb* tells the hooks which method of the agent was called. *on_end* is always called with the run, also if this
    function is cancelled or an unexpected exception is raised.
    """
    provider = active_run.options.provider
    details = {
        "run": active_run.run_id,
        "verb": verb,
        "provider": provider.name,
        "model": provider.model,
        "mode": active_run.toolbox.mode_of(active_run.session),
    }
    try:
        ending = await _call_start_hooks(active_run, details) or await work()
    except GeneratorExit as error:  # nothing can be awaited any more, so the hooks are left out
        _publish_end(active_run, _build_error_ending(error), on_end)
        raise
    except BaseException as error:
        await _finish_run(active_run, _build_error_ending(error), details, on_end)
        raise
    return await _finish_run(active_run, ending, details, on_end)


def _build_error_ending(error: BaseException) -> RunEnding:
    if isinstance(error, Exception):
        return RunEnding(status="failed", reason=describe_value(error), error=error)
    return RunEnding(status="stopped", stop="cancelled", reason="it was cancelled")


def _publish_end(active_run: ActiveRun, ending: RunEnding, on_end: Callable[[Run[Any]], object]) -> Run[Any]:
    active_run.inbox.close()  # what is said from now on would not be in the run
    run = active_run.to_run(ending)
    on_end(run)
    if run.status == "waiting":
        active_run.watcher.publish_event(RunWaits(run.requests))
    if ending.error is not None:
        active_run.watcher.publish_event(RunFailed(ending.error))
    active_run.watcher.publish_event(Done(run))
    return run


async def _finish_run(
    active_run: ActiveRun, ending: RunEnding, details: Mapping[str, Any], on_end: Callable[[Run[Any]], object]
) -> Run[Any]:
    run = _publish_end(active_run, ending, on_end)
    end_details = {
        **details,
        "status": run.status,
        "reason": run.reason,
        "turns": run.turns,
        "usage": run.usage.to_json(),
    }
    for hook in active_run.first_toolbox.find_hook_methods("agent_ended"):
        try:
            await _await_if_needed(hook(active_run.session, details=end_details))
        except Exception:  # noqa: BLE001 -- the hook is the host's code, and the run has ended anyway
            _log.exception("a hook failed where an agent ended")
    return run


async def _call_start_hooks(active_run: ActiveRun, details: Mapping[str, Any]) -> RunEnding | None:
    """Call the hooks for the start. Return an ending if one of them stops the agent or fails, and otherwise None."""
    for hook in active_run.first_toolbox.find_hook_methods("agent_started"):
        try:
            outcome = await _await_if_needed(hook(active_run.session, details=details))
        except Exception as error:  # noqa: BLE001 -- a hook that fails stops the agent
            _log.exception("a hook failed where an agent started")
            outcome = Halt(f"a hook failed, so the agent was not started: {describe_value(error)}")
        if isinstance(outcome, (Halt, Deny)):
            return RunEnding(status="stopped", stop="halt", reason=outcome.reason)
    return None


async def _await_if_needed(value: Any) -> Any:
    return await value if inspect.isawaitable(value) else value
