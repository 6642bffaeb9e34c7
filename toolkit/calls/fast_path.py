"""
The fast path for calls that need little: check, hooks that do not intervene, await, render.

Most tools are plain async functions, and most hooks do not intervene in most calls. A fast path is generated code for
one such tool. It contains only the steps that are configured. It does the same as the pipeline (`PipelineRun`) in one
function, and hands the call over to the pipeline as soon as a step needs more.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NoReturn, TypeAlias

from ..concurrency.abandoned import CancellableJob
from ..concurrency.cleanup_limit import finish_with_limit
from ..hooks.base import PROCEED, ShownCall
from ..permissions.judgement import allow_any_call
from ..results import ToolCall, ToolResult, format_call_id
from ..values.codecs import UNSURE
from ..values.strictjson.checks import read_object
from .attempt import run_job
from .pipeline import PipelineRun
from .plan import CallPlan, DirectCall
from .render_result import render_result
from .settings import Settings
from .truncation import truncate_result

__all__ = ["FastPath", "build_fast_path"]

FastPath: TypeAlias = Callable[..., Coroutine[Any, Any, ToolResult]]
"""Takes arguments, call id, session, principal, and the `ToolCall` if there is one already. Returns a result."""


def build_fast_path(plan: CallPlan, settings: Settings, called_name: str, ids: Iterator[int]) -> FastPath | None:
    """
    Return the fast path for calls of *plan*'s tool under the name *called_name*, or None if they need the pipeline.
    """
    if plan.needs_pipeline or plan.direct_call is None:
        return None
    before, after = settings.chain.before, settings.chain.after
    make = _build_factory(
        len(before),
        len(after),
        plan.plain_output_type,
        plan.needs_redaction,
        plan.allows_any_arguments is not allow_any_call,
        plan.direct_call,
    )
    hooks = [step.function for step in (*before, *after)]
    fast_path: FastPath = make(
        plan, settings, called_name, ids, plan.check_and_convert, plan.function, plan.max_chars, settings.clock, *hooks
    )
    return fast_path


_FAST_PATH = """
def make(plan, settings, called_name, ids, check_and_convert, function, max_chars, clock{hooks}):
    name, tool, may_run, abandoned = plan.name, plan.tool, plan.allows_any_arguments, settings.abandoned

    async def fast_path(arguments, call_id, session, principal, call=None):
        started = clock()
        if type(arguments) is str and (read := read_object(arguments)) is not None:
            arguments = read
            if call is not None:
                call.arguments = read
        decoded = check_and_convert(arguments, 0)
        if decoded is UNSURE or abandoned.alive{gate}:
            number = call_id or f"call_{{next(ids)}}"
            call = call or build_call(called_name, arguments, number, session, principal, tool)
            return await PipelineRun(call, plan, settings, started, decoded).result()
        number = call_id or next(ids)
{before}
        try:
{call}
{render}
        except BaseException as error:
            call = call or build_call(called_name, arguments, number, session, principal, tool)
            return await PipelineRun(call, plan, settings, started, decoded).recover_from(error)
        result.attempts = 1
        result.tool = name
        result.number = number
        result.duration_seconds = duration_seconds = clock() - started
{after}
        if len(result.text) > max_chars:
            truncate_result(result, max_chars)
        return result

    return fast_path
"""

# A sync function may return a generator or an awaitable, although it does not say so. This ends the `try` around the
# call and begins another one around the rendering.
_FINISH = """
        except BaseException as error:
            call = call or build_call(called_name, arguments, number, session, principal, tool)
            return await PipelineRun(call, plan, settings, started, decoded).recover_from(error)
        if type(value) not in FINAL_TYPES and is_unfinished(value):
            call = call or build_call(called_name, arguments, number, session, principal, tool)
            return await PipelineRun(call, plan, settings, started, decoded).finish_value(value)
        try:
"""

# An async function without an `await` cannot be cancelled, so it needs no limit.
_CALL: dict[DirectCall, str] = {
    "await": """
            value = await function(**decoded)
""",
    "wait": """
            coroutine = function(**decoded)
            try:
                waits_for = coroutine.send(None)
            except StopIteration as end:
                value = end.value
            else:
                def abandon(task):
                    stuck = call or build_call(called_name, arguments, number, session, principal, tool)
                    PipelineRun(stuck, plan, settings, started, decoded).abandon(task)

                try:
                    value = await finish_with_limit(coroutine, waits_for, settings.cleanup_seconds, abandon)
                finally:
                    del waits_for  # it may hold the error, and the traceback of the error holds this frame
""",
    "thread": """
            def give_up(job, *, has_begun):
                if has_begun and not job.is_over:
                    stuck = call or build_call(called_name, arguments, number, session, principal, tool)
                    PipelineRun(stuck, plan, settings, started, decoded).abandon_job(job)

            value = await run_job(settings.threads, CancellableJob(partial(function, **decoded)), name, give_up)
"""
    + _FINISH,
    "loop": """
            try:
                value = function(**decoded)
            except StopIteration as stop:  # a coroutine would take it for its own end
                raise RuntimeError(f"the tool raised {stop!r}") from stop
"""
    + _FINISH,
}

# Does what `ShownCall.of` does with the values at hand, because a `ToolCall` is made only if the pipeline needs one.
_SHOW = """
        shown = ShownCall()
        shown.name = called_name
        shown.number = number
        shown.tool = tool
        shown.actual_arguments = arguments
        shown.arguments_copy = None
        if session is not None or principal is not None or call is not None:
            shown.set_caller(session, principal or None, call)
"""

# The hooks are written out one after another with one `try` for all, because a loop doubled the cost of the hooks. The
# `while` runs once, so that `break` can leave it at the first hook that intervenes.
_RUN_BEFORE_HOOK = """
                if shown.arguments_copy is not None: shown.arguments_copy = None
                index = {index}
                answer = before_{index}(shown)
                if answer is not PROCEED: break
"""
_RUN_AFTER_HOOK = """
                if shown.arguments_copy is not None: shown.arguments_copy = None
                index = {index}
                answer = after_{index}(shown, result)
                if answer is not result: break
"""
# Overwrites the fields that only the dispatcher may set, because a hook may have written to the result.
_STAMP = """
        result.attempts = 1
        result.tool = name
        result.number = number
        result.duration_seconds = duration_seconds
        result.repairs = result.retries = ()
"""
_RUN_HOOKS = """
        try:
            while True:
{hook_calls}
                index = None
                break
        except BaseException as error:
            answer = raise_when_awaited(error)
        if index is not None:
            call = call or build_call(called_name, arguments, number, session, principal, tool)
            return await PipelineRun(call, plan, settings, started, decoded).{then}
"""

# Does what `render_result` does with a value that is its own JSON form, without the function calls.
_RENDER: dict[type | None, str] = {
    None: """
            result = render_result(value, plan)
""",
    int: """
            if type(value) is int and -(2**62) < value < 2**62:
                result = new_blank(ToolResult)
                result.text = repr(value)
                result.value = value
            else:
                result = render_result(value, plan)
""",
    str: """
            if type(value) is str and value.isascii():
                result = new_blank(ToolResult)
                result.text = result.value = value
            else:
                result = render_result(value, plan)
""",
}

# After-hooks and redaction may change the value, from which `result.returned` is read otherwise.
_KEEP_RETURNED = """
            result.returned = value
"""

_MASK = """
        plan.redaction(decoded, arguments).mask_result(result)
"""


@functools.lru_cache(maxsize=256)
def _build_factory(
    before: int,
    after: int,
    plain_output_type: type | None,
    needs_redaction: bool,
    has_gate: bool,
    direct_call: DirectCall,
) -> Callable[..., Any]:
    """Return a function that makes fast paths with this many hooks. Tools that differ in nothing else share it."""
    hooks = [f", before_{index}" for index in range(before)] + [f", after_{index}" for index in range(after)]
    source = _FAST_PATH.format(
        hooks="".join(hooks),
        gate=" or not may_run(session)" if has_gate else "",
        before=(_SHOW if hooks else "") + _format_hook_calls(_RUN_BEFORE_HOOK, before, "result((index, answer))"),
        call=_CALL[direct_call],
        render=_RENDER[plain_output_type] + (_KEEP_RETURNED if after or needs_redaction else ""),
        after=_format_hook_calls(_RUN_AFTER_HOOK, after, "apply_after_hook(result, (index, answer))")
        + (_STAMP if after else "")
        + (_MASK if needs_redaction else ""),
    )
    names: dict[str, Any] = dict(_NAMES)
    exec(compile(source, "<fast path>", "exec"), names)  # noqa: S102 -- the source consists of the constants above
    make: Callable[..., Any] = names["make"]
    return make


def _format_hook_calls(template: str, count: int, then: str) -> str:
    hook_calls = "".join(template.format(index=index) for index in range(count))
    return _RUN_HOOKS.format(hook_calls=hook_calls, then=then) if count else ""


def _build_call(
    name: str, arguments: Any, number: int | str, session: Any, principal: str | None, tool: Any
) -> ToolCall:
    principal = principal or (None if session is None else session.principal)
    return ToolCall(name, arguments, format_call_id(number), session, principal, tool=tool)


def _is_unfinished(value: Any) -> bool:
    """Return whether *value* has to be awaited or iterated over before it is the value of the call."""
    return inspect.isgenerator(value) or inspect.isasyncgen(value) or inspect.isawaitable(value)


async def _raise_when_awaited(error: BaseException) -> NoReturn:
    raise error


_NAMES = {
    "CancellableJob": CancellableJob,
    "FINAL_TYPES": frozenset({str, int, float, bool, type(None), dict, list, tuple}),
    "finish_with_limit": finish_with_limit,
    "PROCEED": PROCEED,
    "ShownCall": ShownCall,
    "ToolResult": ToolResult,
    "UNSURE": UNSURE,
    "PipelineRun": PipelineRun,
    "is_unfinished": _is_unfinished,
    "new_blank": ToolResult.__new__,
    "partial": functools.partial,
    "build_call": _build_call,
    "raise_when_awaited": _raise_when_awaited,
    "read_object": read_object,
    "render_result": render_result,
    "run_job": run_job,
    "truncate_result": truncate_result,
}
