"""
The stage that runs the tool of a call: directly, in attempts, or inside the around-hooks.

Most tools need nothing but their decoded arguments, and their functions are called directly. A call that brings
resources or a time limit with it, that has to be recorded, or that must wait for calls that cannot be stopped, is made
in attempts.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from ..concurrency.abandoned import CancellableJob
from ..concurrency.cleanup_limit import finish_with_limit
from ..decisions import AuthNeeded, Changed
from ..errors import Transient
from ..questions import AnswersNeeded
from ..results import ToolResult
from ..values.rendering import is_stream
from .attempt import finish_within, run_job
from .attempts import (
    abandon_job,
    abandon_task,
    find_ending,
    finish_value,
    read_stream_in_thread,
    recover_from,
    run_attempts,
)
from .call_frame import CallFrame
from .error_results import build_error_result
from .propagation import must_propagate
from .render_result import render
from .streams import is_unfinished
from .verdict_stage import get_approval_stage

__all__ = ["must_be_finished", "recover", "run_tool", "settle_interrupt", "start"]


def start(frame: CallFrame) -> Awaitable[Any]:
    """Call the function of the tool, and return an awaitable for its value."""
    frame.attempts += 1
    plan = frame.plan
    if plan.direct_call == "await":
        work: Awaitable[Any] = plan.function(**frame.decoded)
        return work
    if plan.direct_call == "wait":
        return _wait_for_function(frame)
    return _run_in_thread(frame) if plan.direct_call == "thread" else _run_on_loop(frame)


async def _wait_for_function(frame: CallFrame) -> Any:
    """Await a function that may wait for something, so that it can be cancelled."""
    plan, cleanup_seconds = frame.plan, frame.settings.cleanup_seconds
    coroutine = plan.function(**frame.decoded)
    try:
        waits_for = coroutine.send(None)
    except StopIteration as end:
        return end.value
    give_up = partial(abandon_task, frame)
    try:
        if plan.timeout_seconds is None:
            return await finish_with_limit(coroutine, waits_for, cleanup_seconds, give_up)
        return await finish_within(coroutine, waits_for, plan.timeout_seconds, cleanup_seconds, give_up)
    finally:
        del waits_for  # it may hold the error, and the traceback of the error holds this frame


async def _run_in_thread(frame: CallFrame) -> Any:
    job = CancellableJob(partial(_call_in_thread, frame, asyncio.get_running_loop()))
    return await run_job(frame.settings.threads, job, frame.plan.name, partial(abandon_job, frame))


def _call_in_thread(frame: CallFrame, loop: asyncio.AbstractEventLoop) -> Any:
    """Return what the function returns. If that is a stream, return its items, which the same thread reads."""
    value = frame.plan.function(**frame.decoded)
    return read_stream_in_thread(frame, value, loop) if is_stream(type(value)) else value


async def _run_on_loop(frame: CallFrame) -> Any:
    try:
        return frame.plan.function(**frame.decoded)
    except StopIteration as stop:  # a coroutine would take it for its own end
        raise RuntimeError(f"the tool raised {stop!r}") from stop


def must_be_finished(value: Any) -> bool:
    """Return whether *value* has to be awaited or iterated over before it is the value of the call."""
    return type(value) not in _FINAL_TYPES and is_unfinished(value)


_FINAL_TYPES = frozenset({str, int, float, bool, type(None), dict, list, tuple})


async def recover(frame: CallFrame, error: BaseException) -> ToolResult:
    """Return the result of a call whose function was called directly and raised *error*."""
    if must_propagate(error):
        frame.passing_id = id(error)
        raise error
    ending: BaseException | None = None
    try:
        ending = find_ending(error, frame.settings)
        if isinstance(ending, (Transient, AuthNeeded, Changed, AnswersNeeded)):
            return await recover_from(frame, error, ending)
        return build_error_result(ending, frame.plan, cause=error, redaction=frame.redaction())
    finally:
        del ending, error  # their tracebacks may hold this frame


async def run_tool(frame: CallFrame) -> ToolResult:
    """Run the tool without the around-hooks, and return its result."""
    if not frame.plan.is_direct or frame.is_limited or frame.settings.abandoned.alive:
        return await run_attempts(frame)
    try:
        value = await start(frame)
        return render(frame, await finish_value(frame, value) if must_be_finished(value) else value)
    except BaseException as error:  # noqa: BLE001 -- every failure becomes a result, unless it has to pass
        return await recover(frame, error)


async def settle_interrupt(frame: CallFrame, run_again: Callable[[CallFrame], Awaitable[ToolResult]]) -> None:
    """Ask the person whom the tool needs, and run the tool again with *run_again* if they agree at once."""
    while frame.interrupt is not None and frame.result is not None and frame.result.kind == "waiting":
        interrupt, frame.interrupt = frame.interrupt, None
        frame.attempts, frame.has_run = 0, False  # the call has had no effect yet
        frame.result = await get_approval_stage(frame).handle_interrupt(interrupt)
        if frame.result is not None:
            return
        await get_approval_stage(frame).record_intent()
        frame.result = await run_again(frame)
