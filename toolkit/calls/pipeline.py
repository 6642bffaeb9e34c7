"""
The path of every call, from top to bottom.

    check (refused: repair once, check again) → before-hooks → check again if a hook modified the arguments
    → verdict → around-hooks → attempts → after-hooks → mask, truncate → result

`build_pipeline` is the only place that says what the stages are and in which order they run. Each stage asks `on`
whether it is configured for this tool and this dispatcher. These answers never change, so `find_pipeline` compiles a
version in which the questions and the other stages are left out (`specialized.py`). A call therefore costs what its
stages cost.

Most calls need nothing but their arguments. What a call needs beyond that, because a hook intervenes, a person is
asked, or something fails, is in `CallRun`, which is made when it is first needed.

Every call ends in a `ToolResult`, also if it fails. Only a cancellation that the caller requested, a KeyboardInterrupt
and a close of the coroutine pass through, and with `raise_bugs` also errors that are bugs.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine
from dataclasses import fields, replace
from functools import partial
from typing import Any, TypeAlias

from ..concurrency.abandoned import CancellableJob
from ..concurrency.cleanup_limit import finish_with_limit
from ..hooks.base import PROCEED, Step, prepare_shown_calls
from ..results import ToolCall, ToolResult
from ..session import Session
from ..values.codecs import UNSURE
from ..values.rendering import as_text
from ..values.strictjson.checks import is_valid_text, read_object
from .around_hooks import await_in_hooks, run_in_hooks
from .attempt import finish_within, run_job
from .call_run import NO_OPTIONS, CallOptions, CallRun, prepare_runs, raise_wrong_return
from .plan import CallPlan
from .render_result import new_blank, render_hook_result, render_result
from .settings import Settings
from .specialized import specialize
from .stages import Stages
from .streams import is_unfinished
from .truncation import build_text_writer, keep_full_text, truncate_resources, truncate_result, write_text

__all__ = ["Pipeline", "build_pipeline", "find_pipeline"]

Pipeline: TypeAlias = Callable[..., Coroutine[Any, Any, ToolResult]]
"""
Takes arguments, call id, session and principal; and the `ToolCall`, the options and the `CallRun` if there are any.
"""


def find_pipeline(plan: CallPlan, settings: Settings, called_name: str, on: Stages) -> Pipeline:
    """Return the pipeline for calls of *plan*'s tool under the name *called_name*, with the stages that *on* names."""
    choices = tuple((field.name, getattr(on, field.name)) for field in fields(on))
    return specialize(build_pipeline, "on", choices)(plan, settings, called_name, on)


def build_pipeline(plan: CallPlan, settings: Settings, called_name: str, on: Stages) -> Pipeline:
    """
    Return the pipeline with all stages in it. `find_pipeline` returns the one to use.

    It is one long function, because a coroutine for each stage would double the cost of a plain call. It has few local
    names for its length: with hooks, one name more would make a coroutine larger than Python's quick allocator takes.
    """
    function = plan.function
    check_and_convert, encode_quickly, max_chars = plan.check_and_convert, plan.encode_quickly, plan.max_chars
    may_run: Any = plan.gate
    limit: Any = plan.timeout_seconds
    clock, call_numbers, abandoned = settings.clock, settings.call_numbers, settings.abandoned
    hook_runner, cleanup_seconds = settings.hook_runner, settings.cleanup_seconds
    before = [_prepare_hook(step, settings) for step in settings.chain.before]
    after = [_prepare_hook(step, settings) for step in settings.chain.after]
    steps_by_id = dict(zip(map(id, [*before, *after]), [*settings.chain.before, *settings.chain.after], strict=True))
    run_tool: Any = None
    if on.around:
        run_tool = find_pipeline(plan, settings, called_name, replace(on, part="tool", around=False))

    show_call = prepare_shown_calls(called_name, plan.tool)
    begin = prepare_runs(plan, settings, called_name, show_call)

    async def pipeline(
        arguments: Any,
        number: Any,
        session: Session | None,
        principal: str | None,
        call: ToolCall | None = None,
        options: CallOptions = NO_OPTIONS,
        run: Any = None,
    ) -> ToolResult:
        result: Any = None
        shown: Any = None
        if on.part == "whole":
            started = clock()
            number = number or next(call_numbers)
            if type(arguments) is str and (decoded := read_object(arguments)) is not None:
                arguments = decoded
                if call is not None:
                    call.arguments = arguments
            decoded = check_and_convert(arguments, 0)
        elif on.part == "tool":
            decoded = run.enter_tool()
        else:
            started, number = run.started, run.number
            arguments, decoded = run.arguments, run.decoded
        try:
            # Check the arguments, and repair them if they are refused.
            if on.part == "whole":
                if on.options:
                    run = begin(call, arguments, decoded, number, session, principal, started, 0, options)
                if on.author_check or decoded is UNSURE:
                    run = run or begin(call, arguments, decoded, number, session, principal, started)
                    result = await run.state.check()
                    arguments, decoded = run.state.arguments, run.state.decoded

            # Ask the before-hooks.
            if on.part == "whole" and on.before and result is None:
                shown = show_call(number, arguments, session, principal, call)
                for hook in before:
                    shown.arguments_copy = None
                    try:
                        if on.options:
                            answer = await steps_by_id[id(hook)].run(
                                hook_runner, run.state.deadline.seconds_left(), shown
                            )
                        elif on.hooks == "async" or (on.hooks == "mixed" and steps_by_id[id(hook)].is_async):
                            answer = await hook(shown)
                        else:
                            answer = hook(shown)
                        if answer is PROCEED:
                            continue
                        run = run or begin(call, arguments, decoded, number, session, principal, started)
                        if inspect.isawaitable(answer):
                            answer = await hook_runner.await_hook(answer, steps_by_id[id(hook)])
                        result = run.apply_outcome(answer)
                        shown.actual_arguments = arguments = run.state.arguments
                    except BaseException as error:  # noqa: BLE001 -- if a hook fails, the call fails too
                        run = run or begin(call, arguments, decoded, number, session, principal, started)
                        result = run.build_hook_failure(error, steps_by_id[id(hook)], "before")
                    if result is not None or run.replacement is not None:
                        break
                if run is not None and run.is_modified and result is None:
                    result = await run.state.check_hook_changes()
                    decoded = run.state.decoded

            # Judge the call, and ask a person if that is needed.
            if on.part == "resumed":
                result = await run.accept_answer()
                arguments, decoded = run.state.arguments, run.state.decoded
            elif on.part == "whole" and (on.judged or on.gated or on.before) and result is None:
                if (
                    on.judged
                    or (on.before and run is not None and run.ask_reasons)
                    or (on.gated and not may_run(session, decoded))
                ):
                    run = run or begin(call, arguments, decoded, number, session, principal, started)
                    result = await run.judge()
                    arguments, decoded = run.state.arguments, run.state.decoded
                if on.before and run is not None and result is None:
                    result = run.replacement

            # Run the tool inside the around-hooks, and as often as failures allow.
            if result is None and (on.around or on.calling == "attempts" or abandoned.alive):
                run = run or begin(call, arguments, decoded, number, session, principal, started)
                if on.recorded and on.part != "tool":
                    await run.record_intent()
                result = run_in_hooks(run, run_tool) if on.around else run.run_attempts()
                if not on.around or not isinstance(result, ToolResult):
                    result = await result
                if on.part != "tool" and result.kind == "waiting" and run.is_interrupted:
                    inner = partial(await_in_hooks, run, run_tool) if on.around else run.run_attempts
                    result = await run.settle_interrupt(result, inner)
            elif result is None:
                if run is not None:
                    run.count_attempt()
                try:
                    if on.calling == "await":
                        value = await function(**decoded)
                    elif on.calling == "wait":
                        coroutine = function(**decoded)
                        try:
                            waits_for = coroutine.send(None)
                        except StopIteration as end:
                            value = end.value
                        else:
                            run = run or begin(call, arguments, decoded, number, session, principal, started, 1)
                            give_up = run.give_up_task
                            try:
                                if on.time_limit:
                                    value = await finish_within(coroutine, waits_for, limit, cleanup_seconds, give_up)
                                else:
                                    value = await finish_with_limit(coroutine, waits_for, cleanup_seconds, give_up)
                            finally:
                                del waits_for  # it may hold the error, and the traceback of the error holds this frame
                    elif on.calling == "thread":
                        run = run or begin(call, arguments, decoded, number, session, principal, started, 1)
                        job = CancellableJob(partial(run.call_in_thread, decoded, asyncio.get_running_loop()))
                        value = await run_job(settings.threads, job, plan.name, run.give_up_job)
                    else:
                        try:
                            value = function(**decoded)
                        except StopIteration as stop:  # a coroutine would take it for its own end
                            raise RuntimeError(f"the tool raised {stop!r}") from stop
                    if type(value) not in _FINAL_TYPES and is_unfinished(value):
                        run = run or begin(call, arguments, decoded, number, session, principal, started, 1)
                        value = await run.finish_value(value)
                    if on.output == "int" and type(value) is int and -(2**62) < value < 2**62:
                        result = new_blank(ToolResult)
                        result.text = repr(value)
                        result.value = value
                    elif on.output == "str" and type(value) is str and (value.isascii() or is_valid_text(value)):
                        result = new_blank(ToolResult)
                        result.text = result.value = value
                    elif on.output == "form" and (form := encode_quickly(value, 0)) is not UNSURE:
                        result = new_blank(ToolResult)
                        result.value = form
                        result.returned = value
                        if run is not None or on.after or on.masked or on.part == "tool" or type(form) is str:
                            result.text = as_text(form)  # other stages read it or change the value
                        else:
                            write: Any = write_text
                            if session is not None:
                                write = build_text_writer(plan, session, principal)
                            result.deferred_text = write, form, max_chars
                    else:
                        result = render_result(value, plan)
                        # The end of the call looks at these only if there is a run.
                        if result.bound_full_text is not None or result.parts:
                            run = run or begin(call, arguments, decoded, number, session, principal, started, 1)
                    if on.after or on.masked:
                        result.returned = value  # a plain result would read it from its value, which may change
                except BaseException as error:  # noqa: BLE001 -- every failure becomes a result, unless it has to pass
                    run = run or begin(call, arguments, decoded, number, session, principal, started, 1)
                    result = await run.recover_from(error)
                    if on.part != "tool" and run.is_interrupted:
                        result = await run.settle_interrupt(result, run.run_attempts)
        except BaseException as error:  # noqa: BLE001 -- as above
            run = run or begin(call, arguments, decoded, number, session, principal, started)
            result = await run.handle_unexpected_error(error)

        # Show the result to the after-hooks.
        if on.part != "tool" and on.after:
            shown = shown or show_call(number, arguments, session, principal, call)
            if run is None:
                result.attempts = 1
                result.tool = plan.name
                result.number = number
                result.duration_seconds = clock() - started
                result.parts, result.bound_full_text = (), None  # set here, they are quicker to read below
            else:
                shown.actual_arguments = arguments
                run.stamp(result, clock() - started)
                run.extend_deadline()  # after-hooks see every result, also one that came after the deadline
            for hook in after:
                shown.arguments_copy = None
                try:
                    if on.options:
                        answer = await steps_by_id[id(hook)].run(
                            hook_runner, run.state.deadline.seconds_left(), shown, result
                        )
                    elif on.hooks == "async" or (on.hooks == "mixed" and steps_by_id[id(hook)].is_async):
                        answer = await hook(shown, result)
                    else:
                        answer = hook(shown, result)
                    if answer is result:
                        continue
                    if inspect.isawaitable(answer):
                        answer = await hook_runner.await_hook(answer, steps_by_id[id(hook)])
                    if answer is result:
                        continue
                    if not isinstance(answer, ToolResult):
                        raise_wrong_return("after", "a result", answer)
                    # Make a copy, because the hook may return the same object for every call.
                    result = render_hook_result(answer)
                except BaseException as error:  # noqa: BLE001 -- if a hook fails, the call fails too
                    run = run or begin(call, arguments, decoded, number, session, principal, started, 1)
                    result = await run.end_after_hook(error, steps_by_id[id(hook)])
                _stamp(result, run, plan.name, number, clock() - started)
            answer = None  # as with `result` below

        # Finish the result.
        if on.part != "tool":
            if run is None:
                result.attempts = 1
                result.tool = plan.name
                result.number = number
                result.duration_seconds = clock() - started
                if on.after:
                    result.repairs = result.retries = ()  # a hook may have written to them
            else:
                run.end(result, clock() - started)
            if on.masked:
                (plan.redaction(decoded, arguments) if run is None else run.state.redaction()).mask_result(result)
            if run is not None and run.is_judged:
                run.add_notes(result)
            if (on.output != "form" or result.deferred_text is None) and len(result.text) > max_chars:
                truncate_result(result, max_chars, plan, session, principal)
            elif on.after or run is not None:
                if result.bound_full_text is not None:
                    keep_full_text(result, max_chars, plan, session, principal)
                if result.parts:
                    truncate_resources(result, max_chars)
            if on.recorded or (run is not None and run.is_judged):
                await run.record_outcome(result)
        if on.part == "tool":
            run.inner_result = result
        try:
            return result  # type: ignore[no-any-return]  # it is None until a stage has set it
        finally:
            del result  # since Python 3.12 the traceback of its error holds this frame

    return pipeline


def _prepare_hook(step: Step, settings: Settings) -> Callable[..., Any]:
    """Return the function that calls the hook of *step*."""
    runner = settings.hook_runner
    if not step.is_plain:
        return partial(step.run, runner, None)
    if not step.is_async or not step.may_suspend:
        return step.function
    return lambda *shown: runner.await_hook(step.function(*shown), step)


def _stamp(result: ToolResult, run: CallRun | None, name: str, number: int | str, duration_seconds: float) -> None:
    """Set the fields that only the dispatcher knows, also over what a hook has written there."""
    if run is not None:
        run.stamp(result, duration_seconds)
        return
    result.attempts = 1
    result.tool = name
    result.number = number
    result.duration_seconds = duration_seconds


_FINAL_TYPES = frozenset({str, int, float, bool, type(None), dict, list, tuple})
