"""
The path of every call, from top to bottom.

    check (refused: repair once, check again) → before-hooks → check again if a hook modified the arguments
    → verdict → around-hooks → attempts → after-hooks → mask, truncate → result

`run_call` is the only place that says what the stages are and in which order they run. Each stage is a function over
the `CallFrame`. A stage that can wait for something is async; the others are plain functions. What is not configured
for the tool or the dispatcher is not entered, so that a call costs what its stages cost.

Every call ends in a `ToolResult`, also if it fails; `call_failures` says which exceptions pass through. If there are
listeners, `call_events` tells them where the call starts and ends.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy_names import LazyModule
from ..results import ToolResult
from ..values.rendering import FINAL_TYPES, is_unfinished
from .argument_check import check, check_quickly
from .call_end import finish
from .call_frame import CallFrame
from .render_result import render
from .tool_run import start

if TYPE_CHECKING:
    from . import around_hooks, attempts, call_events, call_failures, hook_stages, listeners
    from .approval import claim, stage
else:  # a call that no hook and no judge sees, and that succeeds at once, enters none of these stages
    around_hooks = LazyModule(f"{__package__}.around_hooks")
    attempts = LazyModule(f"{__package__}.attempts")
    call_events = LazyModule(f"{__package__}.call_events")
    call_failures = LazyModule(f"{__package__}.call_failures")
    hook_stages = LazyModule(f"{__package__}.hook_stages")
    listeners = LazyModule(f"{__package__}.listeners")
    claim = LazyModule(f"{__package__}.approval.claim")
    stage = LazyModule(f"{__package__}.approval.stage")

__all__ = ["run_call"]


async def run_call(frame: CallFrame) -> ToolResult:
    """Run one call through its stages."""
    plan = frame.plan
    if plan.tells_calls and not frame.is_told and plan.is_listening():
        return await call_events.tell_call(frame, run_call)
    try:
        if frame.answer is None:
            if not check_quickly(frame):
                await check(frame)
            if plan.before_hooks and frame.result is None:
                await hook_stages.ask_before_hooks(frame)
            if plan.may_be_judged and frame.result is None and needs_verdict(frame):
                await stage.judge(frame)
            if plan.before_hooks and frame.result is None:
                frame.result = frame.replacement
        else:  # a person has answered: the verdict is taken again, and before-hooks have been asked
            await stage.accept_answer(frame)

        if (
            frame.result is None
            and plan.is_direct
            and not (plan.has_around_hooks or frame.is_limited or plan.abandoned.alive)
        ):
            try:
                if frame.is_told and (telling := listeners.tell_attempt(frame)) is not None:
                    await telling
                value = await start(frame)
                if type(value) not in FINAL_TYPES and is_unfinished(value):
                    value = await attempts.finish_value(frame, value)
                frame.result = render(frame, value)
            except BaseException as error:  # noqa: BLE001 -- every failure becomes a result, unless it has to pass
                frame.result = await attempts.recover(frame, error)
                if frame.interrupt is not None:
                    await stage.settle_interrupt(frame, attempts.run_attempts)
        elif frame.result is None:
            if plan.is_recorded:
                await claim.record_intent(frame)
            run = around_hooks.run_in_hooks if plan.has_around_hooks else attempts.run_attempts
            frame.result = await run(frame)
            if frame.interrupt is not None:
                await stage.settle_interrupt(frame, run)
    except BaseException as error:  # noqa: BLE001 -- as above
        frame.result = await call_failures.build_failure(frame, error)

    if plan.after_hooks:
        await hook_stages.tell_after_hooks(frame)
    finish(frame)
    if frame.approval_case is not None or plan.is_recorded:
        await claim.record_outcome(frame)
    try:
        return frame.result
    finally:
        frame.result = None  # the traceback of its error holds frames that hold the frame


def needs_verdict(frame: CallFrame) -> bool:
    """Return whether the call has to be judged. A quick check of the tool's plan lets most calls run without it."""
    plan = frame.plan
    if plan.is_recorded or plan.gate is None or frame.ask_reasons:
        return True
    return not plan.gate(frame.session, frame.decoded)
