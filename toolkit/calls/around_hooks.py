"""
The around-hooks of a call: each runs around the hooks after it, and the last one runs around the tool.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable
from typing import Any

from ..hooks.base import Replace
from ..results import ToolResult
from ..values.rendering import is_unfinished
from .attempts import finish_value, recover, run_attempts
from .call_failures import build_failure, build_hook_failure
from .call_frame import CallFrame
from .hook_stages import raise_wrong_return
from .listeners import tell_attempt, tell_outcome
from .render_result import render, render_hook_result
from .tool_run import start

__all__ = ["run_in_hooks"]


async def run_in_hooks(frame: CallFrame, level: int = 0) -> ToolResult:
    """Run the tool inside the around-hooks, from the hook at *level* on, and return the result."""
    settings = frame.plan.settings
    hooks, runner = settings.chain.around, settings.hook_runner
    step = hooks[level]
    # Each hook has its own view of the call, because the inner hooks work while this one waits for them.
    shown_call = frame.show()

    def run() -> Awaitable[ToolResult]:
        return run_in_hooks(frame, level + 1) if level + 1 < len(hooks) else _run_innermost(frame)

    value: Any = None
    result: ToolResult | None = None
    try:
        if not step.is_plain or frame.deadline.at is not None:
            value = await step.run_around(runner, frame.deadline.seconds_left(), shown_call, run)
        else:
            value = step.function(shown_call, run)
            if inspect.isawaitable(value):
                value = await runner.await_hook(value, step)
        is_own = value is not frame.inner_result
        result = _accept_value(frame, value)
        if is_own and frame.plan.has_listeners:
            await tell_outcome(frame, step, Replace(result))
    except BaseException as error:  # noqa: BLE001 -- if a hook fails, the call fails too
        return build_hook_failure(frame, error, step, "around")
    else:
        return result
    finally:
        value = result = None  # it may hold an error, and the traceback of the error holds this frame


async def _run_innermost(frame: CallFrame) -> ToolResult:
    """Run the tool for the last around-hook, if the hook may still ask for that."""
    facts = frame.plan.tool.facts
    if frame.has_run and (facts.destructive or not facts.idempotent):
        raise RuntimeError(f"run() was called again, and `{frame.plan.name}` must not be run twice")
    frame.has_run = True
    try:
        if not frame.plan.is_direct or frame.is_limited or frame.settings.abandoned.alive:
            frame.inner_result = await run_attempts(frame)
        else:
            try:
                if frame.is_told and (telling := tell_attempt(frame)) is not None:
                    await telling
                value = await start(frame)
                value = await finish_value(frame, value) if is_unfinished(value) else value
                frame.inner_result = render(frame, value)
            except BaseException as error:  # noqa: BLE001 -- every failure becomes a result, unless it has to pass
                frame.inner_result = await recover(frame, error)
    except BaseException as error:  # noqa: BLE001 -- as above
        frame.inner_result = await build_failure(frame, error)
    return frame.inner_result


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
        del value  # since Python 3.12 the traceback of its error holds this frame
