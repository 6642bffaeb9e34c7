"""
The around-hooks of a call: each runs around the hooks after it, and the last one runs around the tool.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Coroutine
from types import CoroutineType
from typing import Any, TypeAlias

from ..concurrency.cleanup_limit import FINISHED
from ..hooks.base import Run, Step
from ..results import ToolResult
from .call_run import CallRun, raise_wrong_return
from .render_result import render_hook_result

__all__ = ["await_in_hooks", "run_in_hooks"]

RunTool: TypeAlias = Callable[..., Coroutine[Any, Any, ToolResult]]
"""The part of a pipeline that runs the tool, without the around-hooks."""


def run_in_hooks(call_run: CallRun, run_tool: RunTool, level: int = 0) -> ToolResult | Awaitable[ToolResult]:
    """
    Run the tool inside the around-hooks, from the hook at *level* on. *run_tool* runs it without them.

    Return the result, or an awaitable for it if a hook waits for something. Most hooks and tools never do, so the first
    step of a hook runs here.
    """
    settings = call_run.settings
    step, runner = settings.chain.around[level], settings.hook_runner
    # Each hook has its own view of the call, because the inner hooks work while this one waits for them.
    shown_call, run = call_run.show_call(), _build_run(call_run, run_tool, level + 1)
    try:
        if not step.is_plain or call_run.options.timeout_seconds is not None:
            seconds = call_run.state.deadline.seconds_left()
            return _finish_hook(call_run, step.run_around(runner, seconds, shown_call, run), step)
        value = step.function(shown_call, run)
        if type(value) is CoroutineType:
            coroutine = _keep_value(call_run, value)
            waits_for = next(coroutine.__await__(), FINISHED)
            if waits_for is not FINISHED:
                return _finish_hook(call_run, runner.finish_hook(coroutine, waits_for, step), step)
            value = call_run.hook_value
        elif inspect.isawaitable(value):
            return _finish_hook(call_run, runner.await_hook(value, step), step)
        return _accept_value(call_run, value)
    except BaseException as error:  # noqa: BLE001 -- if a hook fails, the call fails too
        return call_run.build_hook_failure(error, step, "around")
    finally:
        # They may hold an error, and its traceback holds this frame.
        value = waits_for = call_run.hook_value = None


async def await_in_hooks(call_run: CallRun, run_tool: RunTool, level: int = 0) -> ToolResult:
    """Return the same as `run_in_hooks`, when the hooks have ended."""
    result = run_in_hooks(call_run, run_tool, level)
    try:
        return result if isinstance(result, ToolResult) else await result
    finally:
        del result  # as above


def _build_run(call_run: CallRun, run_tool: RunTool, level: int) -> Run:
    """Return the function that an around-hook awaits. It runs the hook at *level*, or the tool if there is none."""
    if level == len(call_run.settings.chain.around):

        def run() -> Coroutine[Any, Any, ToolResult]:
            return run_tool(None, None, None, None, None, None, call_run)
    else:

        def run() -> Coroutine[Any, Any, ToolResult]:
            return await_in_hooks(call_run, run_tool, level)

    return run


async def _keep_value(call_run: CallRun, work: Awaitable[Any]) -> Any:
    """
    Await *work*, and return and keep its value.

    A step of it can be run with `next(coroutine.__await__(), FINISHED)`, as with `cleanup_limit.keep_value`.
    """
    call_run.hook_value = await work
    return call_run.hook_value  # not a local name: since Python 3.12 the traceback of its error holds this frame


async def _finish_hook(call_run: CallRun, work: Awaitable[Any], step: Step) -> ToolResult:
    """Await *work*, the rest of the hook of *step*, and return the result of the hook."""
    try:
        return _accept_value(call_run, await work)
    except BaseException as error:  # noqa: BLE001 -- as above
        return call_run.build_hook_failure(error, step, "around")
    finally:
        call_run.hook_value = None


def _accept_value(call_run: CallRun, value: Any) -> ToolResult:
    """Return *value* if it is the result that the hook got from `run()`, or else a copy of it."""
    try:
        if value is call_run.inner_result and value is not None:
            return value
        if not isinstance(value, ToolResult):
            raise_wrong_return("around", "a result", value)
        # Make a copy, because the hook may return the same object for every call.
        call_run.inner_result = render_hook_result(value)
        return call_run.inner_result
    finally:
        del value  # as above
