"""
The path of every call, from top to bottom.

    check (refused: repair once, check again) → before-hooks → check again if a hook modified the arguments
    → verdict → around-hooks → attempts → after-hooks → mask, truncate → result

`run_call` is the only place that says what the stages are and in which order they run. Each stage is a function over
the `CallFrame`. A stage that can wait for something is async; the others are plain functions. What is not configured
for the tool or the dispatcher is not entered, so that a call costs what its stages cost.

Every call ends in a `ToolResult`, also if it fails; `call_failures` says which exceptions pass through.
"""

from __future__ import annotations

from ..results import ToolResult
from .argument_check import check, check_quickly
from .around_hooks import run_in_hooks
from .attempts import finish_value, run_attempts
from .call_end import finish
from .call_failures import build_failure
from .call_frame import CallFrame
from .hook_stages import ask_before_hooks, tell_after_hooks
from .render_result import render
from .tool_run import must_be_finished, recover, settle_interrupt, start
from .verdict_stage import accept_answer, judge, needs_verdict, record_intent, record_outcome

__all__ = ["run_call"]


async def run_call(frame: CallFrame) -> ToolResult:
    """Run one call through its stages."""
    plan = frame.plan
    try:
        if frame.answer is None:
            if not check_quickly(frame):
                await check(frame)
            if plan.before_hooks and frame.result is None:
                await ask_before_hooks(frame)
            if plan.may_be_judged and frame.result is None and needs_verdict(frame):
                await judge(frame)
            if plan.before_hooks and frame.result is None:
                frame.result = frame.replacement
        else:  # a person has answered: the verdict is taken again, and before-hooks have been asked
            await accept_answer(frame)

        if (
            frame.result is None
            and plan.is_direct
            and not (plan.has_around_hooks or frame.is_limited or plan.abandoned.alive)
        ):
            try:
                value = await start(frame)
                frame.result = render(frame, await finish_value(frame, value) if must_be_finished(value) else value)
            except BaseException as error:  # noqa: BLE001 -- every failure becomes a result, unless it has to pass
                frame.result = await recover(frame, error)
                if frame.interrupt is not None:
                    await settle_interrupt(frame, run_attempts)
        elif frame.result is None:
            await record_intent(frame)
            run = run_in_hooks if plan.has_around_hooks else run_attempts
            frame.result = await run(frame)
            if frame.interrupt is not None:
                await settle_interrupt(frame, run)
    except BaseException as error:  # noqa: BLE001 -- as above
        frame.result = await build_failure(frame, error)

    if plan.after_hooks:
        await tell_after_hooks(frame)
    finish(frame)
    if frame.approval_stage is not None or plan.is_recorded:
        await record_outcome(frame)
    try:
        return frame.result
    finally:
        frame.result = None  # the traceback of its error holds frames that hold the frame
