"""
The around-hooks of a call: each runs around the hooks after it, and the last one runs around the tool.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from types import CoroutineType
from typing import Any

from ..concurrency.cleanup_limit import FINISHED
from ..hooks.base import Run, Step
from ..results import ToolResult
from ..values.rendering import is_unfinished
from .attempts import finish_value, recover, run_attempts
from .call_failures import build_failure, build_hook_failure
from .call_frame import CallFrame
from .hook_stages import raise_wrong_return
from .render_result import render, render_hook_result
from .tool_run import start

__all__ = ["run_in_hooks"]


async def run_in_hooks(frame: CallFrame, level: int = 0) -> ToolResult:
    """Run the tool inside the around-hooks, from the hook at *level* on, and return the result."""
    result = _start_hook(frame, level)
    try:
        return result if isinstance(result, ToolResult) else await result
    finally:
        del result  # since Python 3.12 the traceback of its error holds this frame


def _start_hook(frame: CallFrame, level: int) -> ToolResult | Awaitable[ToolResult]:
    """
    Return the result of the hook at *level*, or an awaitable for it if the hook waits for something.

    Most hooks and tools never do, so the first step of a hook runs here.
    """
    settings = frame.settings
    step, runner = settings.chain.around[level], settings.hook_runner
    # Each hook has its own view of the call, because the inner hooks work while this one waits for them.
    shown_call, run = frame.show(), _build_run(frame, level + 1)
    try:
        if not step.is_plain or frame.deadline.at is not None:
            seconds = frame.deadline.seconds_left()
            return _finish_hook(frame, step.run_around(runner, seconds, shown_call, run), step)
        value = step.function(shown_call, run)
        if type(value) is CoroutineType:
            coroutine = _keep_value(frame, value)
            waits_for = next(coroutine.__await__(), FINISHED)
            if waits_for is not FINISHED:
                return _finish_hook(frame, runner.finish_hook(coroutine, waits_for, step), step)
            value = frame.hook_value
        elif inspect.isawaitable(value):
            return _finish_hook(frame, runner.await_hook(value, step), step)
        return _accept_value(frame, value)
    except BaseException as error:  # noqa: BLE001 -- if a hook fails, the call fails too
        return build_hook_failure(frame, error, step, "around")
    finally:
        # They may hold an error, and its traceback holds this frame.
        value = waits_for = frame.hook_value = None


def _build_run(frame: CallFrame, level: int) -> Run:
    """Return the function that an around-hook awaits. It runs the hook at *level*, or the tool if there is none."""
    if level < len(frame.settings.chain.around):
        return lambda: run_in_hooks(frame, level)
    return lambda: _run_innermost(frame)


async def _run_innermost(frame: CallFrame) -> ToolResult:
    """Run the tool for the last around-hook, if the hook may still ask for that."""
    facts = frame.plan.tool.facts
    if frame.has_run and (facts.destructive or not facts.idempotent):
        raise RuntimeError(f"run() was called again, and `{frame.plan.name}` must not be run twice")
    frame.has_run = True
    try:
        frame.inner_result = await _run_tool(frame)
    except BaseException as error:  # noqa: BLE001 -- as below
        frame.inner_result = await build_failure(frame, error)
    return frame.inner_result


async def _run_tool(frame: CallFrame) -> ToolResult:
    """Run the tool without the around-hooks, and return its result."""
    if not frame.plan.is_direct or frame.is_limited or frame.settings.abandoned.alive:
        return await run_attempts(frame)
    try:
        value = await start(frame)
        return render(frame, await finish_value(frame, value) if is_unfinished(value) else value)
    except BaseException as error:  # noqa: BLE001 -- every failure becomes a result, unless it has to pass
        return await recover(frame, error)


async def _keep_value(frame: CallFrame, work: Awaitable[Any]) -> Any:
    """
    Await *work*, and return and keep its value.

    A step of it can be run with `next(coroutine.__await__(), FINISHED)`, as with `cleanup_limit.keep_value`.
    """
    frame.hook_value = await work
    return frame.hook_value  # not a local name: since Python 3.12 the traceback of its error holds this frame


async def _finish_hook(frame: CallFrame, work: Awaitable[Any], step: Step) -> ToolResult:
    """Await *work*, the rest of the hook of *step*, and return the result of the hook."""
    try:
        return _accept_value(frame, await work)
    except BaseException as error:  # noqa: BLE001 -- as above
        return build_hook_failure(frame, error, step, "around")
    finally:
        frame.hook_value = None


def _accept_value(frame: CallFrame, value: Any) -> ToolResult:
    """Return *value* if it is the result that the hook got from `run()`, or else a copy of it."""
    try:
        if value is frame.inner_result and value is not None:
            return value
        if not isinstance(value, ToolResult):
            raise_wrong_return("around", "a result", value)
        # Make a copy, because the hook may return the same object for every call.
        frame.inner_result = render_hook_result(value)
        return frame.inner_result
    finally:
        del value  # as above
