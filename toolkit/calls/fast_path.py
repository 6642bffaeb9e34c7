"""
The fast path for calls that need little: check, hooks that do not intervene, await, render.

Most tools are plain async functions, and most hooks do not intervene in most calls. A lane is generated code for one
such tool. It contains only the steps that are configured. It does the same as the pipeline (`Walk`) in one function,
and hands the call over to the pipeline as soon as a step needs more.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, NoReturn, TypeAlias

from ..concurrency.cleanup_limit import finish_with_limit
from ..hooks.base import PROCEED, ShownCall
from ..permissions.judgement import always
from ..results import ToolCall, ToolResult, id_of
from ..values.codecs import UNSURE
from .pipeline import Walk
from .plan import Plan
from .render_result import rendered
from .settings import Settings
from .truncation import truncated

__all__ = ["Lane", "lane_for"]

Lane: TypeAlias = Callable[..., Coroutine[Any, Any, ToolResult]]
"""Takes arguments, call id, session, principal, and the `ToolCall` if there is one already. Returns a result."""


def lane_for(plan: Plan, settings: Settings, asked: str, ids: Iterator[int]) -> Lane | None:
    """Return the lane for calls of *plan*'s tool under the name *asked*, or None if they need the pipeline."""
    if plan.is_demanding:
        return None
    before, after = settings.chain.before, settings.chain.after
    make = _build_lane_maker(len(before), len(after), plan.plain, plan.hides, plan.gate is not always, plan.may_suspend)
    hooks = [step.function for step in (*before, *after)]
    lane: Lane = make(plan, settings, asked, ids, plan.fast, plan.function, plan.max_chars, settings.clock, *hooks)
    return lane


_LANE = """
def make(plan, settings, asked, ids, fast, function, max_chars, clock{hooks}):
    name, tool, gate, abandoned = plan.name, plan.tool, plan.gate, settings.abandoned

    async def lane(arguments, call_id, session, principal, call=None):
        started = clock()
        decoded = fast(arguments, 0)
        if decoded is UNSURE or abandoned.alive{gate}:
            call = call or made(asked, arguments, call_id or f"call_{{next(ids)}}", session, principal, tool)
            return await Walk(call, plan, settings, started, decoded).result()
        number = call_id or next(ids)
{before}
        try:
{wait}
{render}
        except BaseException as error:
            call = call or made(asked, arguments, number, session, principal, tool)
            return await Walk(call, plan, settings, started, decoded).rescued(error)
        result.attempts = 1
        result.tool = name
        result.number = number
        result.duration_seconds = duration_seconds = clock() - started
{after}
        if len(result.text) > max_chars:
            truncated(result, max_chars)
        return result

    return lane
"""

# A function without an `await` cannot be cancelled, so it needs no limit.
_WAIT = {
    False: """
            value = await function(**decoded)
""",
    True: """
            coroutine = function(**decoded)
            try:
                waits_for = coroutine.send(None)
            except StopIteration as end:
                value = end.value
            else:
                def abandon(task):
                    stuck = call or made(asked, arguments, number, session, principal, tool)
                    Walk(stuck, plan, settings, started, decoded).abandon(task)

                value = await finish_with_limit(coroutine, waits_for, settings.cleanup_seconds, abandon)
""",
}

# Does what `ShownCall.of` does with the values at hand, because a `ToolCall` is made only if the pipeline needs one.
_SHOW = """
        shown = ShownCall()
        shown.name = asked
        shown.number = number
        shown.tool = tool
        shown.actual = arguments
        shown.seen = None
        if session is not None or principal is not None or call is not None:
            shown.belongs(session, principal or None, call)
"""

# The hooks are written out one after another with one `try` for all, because a loop doubled the cost of the hooks. The
# `while` runs once, so that `break` can leave it at the first hook that intervenes.
_RUN_BEFORE_HOOK = """
                if shown.seen is not None: shown.seen = None
                index = {index}
                said = before_{index}(shown)
                if said is not PROCEED: break
"""
_RUN_AFTER_HOOK = """
                if shown.seen is not None: shown.seen = None
                index = {index}
                said = after_{index}(shown, result)
                if said is not result: break
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
{questions}
                index = None
                break
        except BaseException as error:
            said = raising(error)
        if index is not None:
            call = call or made(asked, arguments, number, session, principal, tool)
            return await Walk(call, plan, settings, started, decoded).{then}
"""

# Does what `rendered` does with a value that is its own JSON form, without the function calls.
_RENDER: dict[type | None, str] = {
    None: """
            result = rendered(value, plan)
""",
    int: """
            if type(value) is int and -(2**62) < value < 2**62:
                result = blank(ToolResult)
                result.text = repr(value)
                result.value = value
            else:
                result = rendered(value, plan)
""",
    str: """
            if type(value) is str and value.isascii():
                result = blank(ToolResult)
                result.text = result.value = value
            else:
                result = rendered(value, plan)
""",
}

_MASK = """
        plan.redaction(decoded, arguments).result(result)
"""


@functools.lru_cache(maxsize=256)
def _build_lane_maker(
    before: int, after: int, plain: type | None, hides: bool, gated: bool, may_suspend: bool
) -> Callable[..., Any]:
    """Return a function that makes lanes with this many hooks. Tools that differ in nothing else share it."""
    hooks = [f", before_{index}" for index in range(before)] + [f", after_{index}" for index in range(after)]
    source = _LANE.format(
        hooks="".join(hooks),
        gate=" or not gate(session)" if gated else "",
        before=(_SHOW if hooks else "") + _asked(_RUN_BEFORE_HOOK, before, "result((index, said))"),
        wait=_WAIT[may_suspend],
        render=_RENDER[plain],
        after=_asked(_RUN_AFTER_HOOK, after, "corrected(result, (index, said))")
        + (_STAMP if after else "")
        + (_MASK if hides else ""),
    )
    names: dict[str, Any] = dict(_NAMES)
    exec(compile(source, "<lane>", "exec"), names)  # noqa: S102 -- the source consists of the constants above
    make: Callable[..., Any] = names["make"]
    return make


def _asked(question: str, count: int, then: str) -> str:
    questions = "".join(question.format(index=index) for index in range(count))
    return _RUN_HOOKS.format(questions=questions, then=then) if count else ""


def _made(name: str, arguments: Any, number: int | str, session: Any, principal: str | None, tool: Any) -> ToolCall:
    principal = principal or (None if session is None else session.principal)
    return ToolCall(name, arguments, id_of(number), session, principal, tool=tool)


async def _raise_when_awaited(error: BaseException) -> NoReturn:
    raise error


_NAMES = {
    "finish_with_limit": finish_with_limit,
    "PROCEED": PROCEED,
    "ShownCall": ShownCall,
    "ToolResult": ToolResult,
    "UNSURE": UNSURE,
    "Walk": Walk,
    "blank": ToolResult.__new__,
    "made": _made,
    "raising": _raise_when_awaited,
    "rendered": rendered,
    "truncated": truncated,
}
