"""
The start and the end of a run: hooks may keep it from starting, listeners are told both, and every end leaves a `Run`.
"""

from __future__ import annotations

import inspect
import logging
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

from ..calls.listeners import tell_around
from ..hooks.base import Deny, Halt
from ..hooks.events import RunEnded, RunInfo, RunStarted, SubRunEnded, SubRunStarted
from ..values.rendering import describe_value
from .active_run import ActiveRun, RunEnding
from .events import Done, RunFailed, RunWaits
from .saved.runs import Run

__all__ = ["run_with_lifecycle", "tell_sub_run"]

_log = logging.getLogger("toolkit")

E = TypeVar("E", RunEnded, SubRunEnded)


async def run_with_lifecycle(
    active_run: ActiveRun, work: Callable[[], Awaitable[RunEnding]], on_end: Callable[[Run[Any]], object]
) -> Run[Any]:
    """
    Call the hooks for the start, do *work* on *active_run*, and return the run. Tell the listeners both ends.

    *on_end* is always called with the run, also if this function is cancelled or an unexpected exception is raised.
    """
    if active_run.has_listeners:
        await active_run.read_first_span()
    start, ended = active_run.describe(), list[Run[Any]]()

    def end(ending: RunEnding) -> Run[Any]:
        ended.append(_publish_end(active_run, ending, on_end))
        return ended[0]

    async def live() -> Run[Any]:
        try:
            await active_run.keep_first_span()
            await active_run.tell_prompts()
            ending = await _call_start_hooks(active_run, start) or await work()
        except BaseException as error:
            end(_build_error_ending(error))
            raise
        return end(ending)

    def build_end(_: Run[Any] | None, error: BaseException | None) -> RunEnded:
        # The run has not ended yet if a cancellation came while its start was told.
        return _describe_end(RunEnded, start, ended[0] if ended else end(_build_error_ending(error)))

    if not active_run.has_listeners:
        return await live()
    return await tell_around(active_run.toolbox.dispatcher.settings, RunStarted(start), live, build_end)


async def tell_sub_run(active_run: ActiveRun, work: Callable[[], Awaitable[RunEnding]]) -> RunEnding:
    """Do *work* on *active_run*, a sub-run, and return how it ended. Tell the listeners both ends."""
    if not active_run.has_listeners:
        return await work()
    start = active_run.describe()

    def build_end(ending: RunEnding | None, error: BaseException | None) -> SubRunEnded:
        return _describe_end(SubRunEnded, start, active_run.to_run(ending or _build_error_ending(error)))

    return await tell_around(active_run.toolbox.dispatcher.settings, SubRunStarted(start), work, build_end)


def _describe_end(kind: type[E], info: RunInfo, run: Run[Any]) -> E:
    return kind(info, run.status, run.reason, run.turns, run.usage, run.error)


def _build_error_ending(error: BaseException | None) -> RunEnding:
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


async def _call_start_hooks(active_run: ActiveRun, info: RunInfo) -> RunEnding | None:
    """Call the hooks for the start. Return an ending if one of them stops the agent or fails, and otherwise None."""
    details = {"run": info.id, "verb": info.verb, "provider": info.provider, "model": info.model, "mode": info.mode}
    hooks = active_run.first_toolbox.dispatcher.settings.chain.hooks
    for hook in {id(hook): hook for hook in hooks}.values():  # each hook once
        if not callable(start := getattr(hook, "agent_started", None)):
            continue
        try:
            outcome = start(active_run.session, details=details)
            outcome = await outcome if inspect.isawaitable(outcome) else outcome
        except Exception as error:  # noqa: BLE001 -- a hook that fails stops the agent
            _log.exception("a hook failed where an agent started")
            outcome = Halt(f"a hook failed, so the agent was not started: {describe_value(error)}")
        if isinstance(outcome, (Halt, Deny)):
            return RunEnding(status="stopped", stop="halt", reason=outcome.reason)
    return None
