"""
The stages that ask the before-hooks and show the result to the after-hooks, in the order of the hooks.
"""

from __future__ import annotations

import inspect
from typing import Any, NoReturn

from ..hooks.base import PROCEED, Ask, Deny, Halt, Modify, Proceed, Replace
from ..results import ToolResult
from .argument_check import change_by_hook, check_hook_changes
from .call_end import stamp
from .call_failures import build_hook_failure, has_to_raise
from .call_frame import CallFrame
from .listeners import tell_outcome
from .render_result import render_hook_result

__all__ = ["ask_before_hooks", "raise_wrong_return", "tell_after_hooks"]


async def ask_before_hooks(frame: CallFrame) -> None:
    """Ask each hook what is to be done with the call, until one ends it, and check what they have changed."""
    frame.shown = shown = frame.show()
    for step, hook, is_async in frame.plan.before_hooks:
        shown.arguments_copy = None
        try:
            if frame.is_limited:
                answer = await step.run(frame.settings.hook_runner, frame.deadline.seconds_left(), shown)
            else:
                answer = await hook(shown) if is_async else hook(shown)
            if answer is PROCEED:
                continue
            if inspect.isawaitable(answer):
                answer = await frame.settings.hook_runner.await_hook(answer, step)
            _apply_outcome(frame, answer)
            shown.actual_arguments = frame.arguments
            if frame.plan.has_listeners and not isinstance(answer, Proceed):
                await tell_outcome(frame, step, answer)
        except BaseException as error:  # noqa: BLE001 -- if a hook fails, the call fails too
            frame.result = build_hook_failure(frame, error, step, "before")
        if frame.result is not None or frame.replacement is not None:
            break
    if frame.is_modified and frame.result is None:
        await check_hook_changes(frame)


def _apply_outcome(frame: CallFrame, outcome: Any) -> None:
    """Do what a before-hook wants."""
    match outcome:
        case Proceed():
            pass
        case Modify(arguments):
            change_by_hook(frame, arguments)
        case Ask(reason):
            frame.ask_reasons = [*frame.ask_reasons, reason]
        case Deny(reason):
            frame.result = ToolResult.failure("denied", reason)
        case Halt(reason):
            frame.result = ToolResult.failure("halted", reason)
        case Replace(result):
            frame.replacement = render_hook_result(result)
        case _:
            raise_wrong_return("before", "an outcome, such as Proceed()", outcome)


async def tell_after_hooks(frame: CallFrame) -> None:
    """Show the result to each hook, and take the result that the hook returns."""
    shown = frame.shown or frame.show()
    shown.actual_arguments = frame.arguments
    stamp(frame)
    if frame.is_limited and frame.deadline.at is not None:
        frame.extend_deadline()  # after-hooks see every result, also one that came after the deadline
    for step, hook, is_async in frame.plan.after_hooks:
        shown.arguments_copy = None
        try:
            if frame.is_limited:
                seconds_left = frame.deadline.seconds_left()
                answer = await step.run(frame.settings.hook_runner, seconds_left, shown, frame.result)
            else:
                answer = await hook(shown, frame.result) if is_async else hook(shown, frame.result)
            if answer is frame.result:
                continue
            if inspect.isawaitable(answer):
                answer = await frame.settings.hook_runner.await_hook(answer, step)
            if answer is frame.result:
                continue
            if not isinstance(answer, ToolResult):
                raise_wrong_return("after", "a result", answer)
            # Make a copy, because the hook may return the same object for every call.
            frame.result = render_hook_result(answer)
            if frame.plan.has_listeners:
                await tell_outcome(frame, step, Replace(frame.result))
        except BaseException as error:  # noqa: BLE001 -- if a hook fails, the call fails too
            if has_to_raise(frame, error) and frame.approval_case is not None:
                from .approval.claim import record_cut_short

                await record_cut_short(frame, error)
            frame.result = build_hook_failure(frame, error, step, "after")
        stamp(frame)
    answer = None  # the traceback of its error may hold this frame


def raise_wrong_return(stage: str, expected: str, got: Any) -> NoReturn:
    """Raise the error of a hook that returned *got* in place of what is *expected*."""
    raise TypeError(f"{stage}() has to return {expected}, got {got!r}")
