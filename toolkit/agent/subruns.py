"""
Runs inside runs: a tool that lets the model work on a prompt of its own.

A sub-run has its parent's session, so mode, rules and grants hold in it; it
spends its parent's budget, ends when its call has to end, and can call no more
than its parent could. What waits in it waits in the parent. What is told of
it is told as `Inner`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from dataclasses import replace
from typing import Any

from ..context import Context
from ..errors import ToolError
from ..providers.base import Usage
from ..providers.messages import UserMessage
from ..results import ToolCall, ToolResult
from ..spec import Tool
from .active_run import Ending, Talk
from .call_watcher import watching
from .loop import converse, withdraw
from .resume import Decisions, settle
from .runs import Run, SubRun

__all__ = ["is_in_run", "resumed", "sub_run"]


def is_in_run() -> bool:
    """Whether this code runs in a call that an agent has made."""
    return isinstance(watching.get(), Talk)


async def sub_run(
    prompt: str | UserMessage, *, context: Context, tools: Collection[str | Tool] | None = None, system: str = ""
) -> str:
    """
    Let the agent whose call this is work on *prompt*, and return what the model answers.

    For tools: `context` is the tool's own. If people have to be asked, this raises, and the call waits; the
    sub-run's answer is then the result of the call, and what the tool would have made of it is not done.

    Args:
        tools: What it may call, by name or the tools themselves, of what its parent may; all of it if None.
        system: Its system prompt.

    Raises:
        ToolError: There is no agent, sub-runs are nested too deep, or the sub-run did not end with an answer.
    """
    parent, call_id = watching.get(), context.call.id
    if not isinstance(parent, Talk):
        raise ToolError("there is no agent here that could work on a prompt; call this tool from an agent's run")
    if parent.depth >= parent.ledger.budget.depth:
        raise ToolError(f"sub-runs may not be nested deeper than {parent.ledger.budget.depth}; do it without one")
    if call_id in parent.busy or call_id in parent.subs:
        raise ToolError("one call has one sub-run at a time; await the first before you start the next")
    version: str | None = context.call.tool.facts.version
    child = _child(parent, call_id, system, None if tools is None else parent.toolbox.names_for(tools))
    child.say(prompt if isinstance(prompt, UserMessage) else UserMessage.of(prompt))
    parent.busy.add(call_id)
    try:
        ending = await converse(child)
    except BaseException:
        if (held := _held(parent, context.call, child, version)) is not None:
            parent.overrule(held)
        raise
    finally:
        parent.busy.discard(call_id)
        parent.usage += child.usage
    result = _result(parent, context.call, child, ending, version)
    if result.kind in ("waiting", "halted"):
        parent.overrule(result)
    if result.kind != "ok":
        raise ToolError(result.text if result.error is None else result.error.message)
    return result.text


async def resumed(talk: Talk, decisions: Decisions) -> Ending:
    """Go on with *talk*, which waits, now that there are *decisions*."""
    return await settle(talk, decisions, _go_on_inside) or await converse(talk)


async def _go_on_inside(parent: Talk, call: ToolCall, decisions: Decisions) -> ToolResult:
    sub = parent.subs[call.id]
    child = _child(parent, call.id, sub.system, sub.tools, replace(sub.run, usage=Usage()))  # counted before
    known = {request.id for request in sub.run.requests}
    tool = parent.toolbox.permitted(parent.session).get(call.name)
    if tool is None or tool.facts.version != sub.version:
        # A skill's file was edited or removed, its project is not trusted any more, a new rule: today's policy counts.
        what = "not there any more, or not allowed any more" if tool is None else "another version than it was"
        why = f"`{call.name}` is {what}"
        await withdraw(child, why)
        del parent.subs[call.id]
        return await _finished(parent, call, ToolResult.error("denied", why))
    del parent.subs[call.id]
    try:
        ending = await _in_time(
            resumed(child, {key: each for key, each in decisions.items() if key in known}),
            parent.toolbox.limit_of(call),
        )
    except BaseException:
        _held(parent, call, child, sub.version)
        raise
    finally:
        parent.usage += child.usage
    return await _finished(parent, call, _result(parent, call, child, ending, sub.version))


async def _finished(parent: Talk, call: ToolCall, result: ToolResult) -> ToolResult:
    if result.kind != "waiting":
        result = await parent.toolbox.finished(call, result, parent.session)
    return parent.ended(call, result)


async def _in_time(going_on: Coroutine[Any, Any, Ending], seconds: float | None) -> Ending:
    """How a sub-run ended that goes on after a pause, in the time that one try of its call may take."""
    try:
        async with asyncio.timeout(seconds) as timer:
            return await going_on
    except TimeoutError:
        if not timer.expired():
            raise
        return Ending(status="stopped", reason=f"it took longer than {seconds:g} s")


def _child(parent: Talk, call_id: str, system: str, tools: tuple[str, ...] | None, run: Run | None = None) -> Talk:
    return Talk(
        replace(parent.manner, system=system),
        parent.toolbox.narrowed(tools),
        parent.ledger,
        parent.session,
        run=run,
        tell=parent.told_inside(call_id),
        resources=parent.resources,
        depth=parent.depth + 1,
        tools=tools,
    )


def _held(parent: Talk, call: ToolCall, child: Talk, version: str | None) -> ToolResult | None:
    """The result of a call whose sub-run waits, if it does; the sub-run is kept, to be resumed with its parent."""
    run = child.run(Ending(status="stopped"))
    if not run.requests:
        return None
    kept = SubRun(call_id=call.id, run=run, system=child.manner.system, tools=child.tools, version=version)
    return parent.hold(call, kept)


def _result(parent: Talk, call: ToolCall, child: Talk, ending: Ending, version: str | None) -> ToolResult:
    """What came of a sub-run, as the result of its call."""
    if (held := _held(parent, call, child, version)) is not None:
        return held
    run = child.run(ending)
    if run.status == "done":
        made = ToolResult(run.text, run.text)
    elif run.stop == "halt":
        made = ToolResult.error("halted", run.reason)
    else:
        made = ToolResult.error("tool", f"the sub-run was not finished: {run.reason}")
    made.call_id, made.tool = call.id, call.name
    return made
