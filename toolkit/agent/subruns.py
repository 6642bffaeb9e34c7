"""
Sub-runs: runs that a tool starts inside its call, to let the model work on another prompt.

A sub-run has the session of its parent, so the same mode, rules and grants
hold in it. It has the system prompt of its parent unless it gets its own. It
uses the budget of its parent, ends when its call has to end, and can call no
tool that its parent cannot call. If a call in the sub-run waits, the parent
waits too. Events of the sub-run are reported as `SubRunEvent`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Coroutine
from dataclasses import replace
from typing import Any, Required, TypedDict, TypeVar, Unpack, overload

from .._plumbing.wording import format_seconds
from ..calls.unstarted import finish_unstarted
from ..context import Context
from ..errors import ToolError
from ..providers.base import Usage
from ..providers.messages import UserMessage
from ..results import ToolCall, ToolResult
from ..spec import Tool
from ..steps.call_step import CallStep, current_step
from ..steps.notes import build_waiting_result
from .active_run import ActiveRun, RunEnding
from .call_watcher import current_run
from .final_answers import AnswerFormat, check_name_is_free
from .lifecycle import tell_sub_run
from .loop import run_turns, withdraw_requests
from .resume import Decisions, apply_decisions
from .saved.runs import Run, SubRun

__all__ = ["is_in_run", "resume_turns", "sub_run"]

T = TypeVar("T")


def is_in_run() -> bool:
    """Return whether the calling code runs in a tool call of an agent."""
    return isinstance(current_run.get(), ActiveRun)


class SubRunOptions(TypedDict, total=False):
    """The options of `sub_run` besides the type of the answer."""

    context: Required[Context]
    tools: Collection[str | Tool] | None
    system: str | None


@overload
async def sub_run(prompt: str | UserMessage, *, output: None = None, **options: Unpack[SubRunOptions]) -> str: ...
@overload
async def sub_run(prompt: str | UserMessage, *, output: type[T], **options: Unpack[SubRunOptions]) -> T: ...
@overload
async def sub_run(prompt: str | UserMessage, *, output: object, **options: Unpack[SubRunOptions]) -> Any: ...
async def sub_run(
    prompt: str | UserMessage,
    *,
    context: Context,
    tools: Collection[str | Tool] | None = None,
    system: str | None = None,
    output: Any = None,
) -> Any:
    """
    Let the agent that made the current call work on *prompt*, and return the model's answer.

    A tool calls this function with its own `context`. If the sub-run has to wait for people, this function raises, and
    the tool's call waits. The answer of the resumed sub-run is then the result of the call: the rest of the tool's
    function is not run.

    Args:
        tools: The tools that the sub-run may call, as names or as tools; if None, all tools of its parent. A tool that
            the parent cannot call is left out.
        system: The system prompt of the sub-run; if None, that of its parent, with the instruction files in it. Give an
            empty text for none.
        output: The type of the answer, as for `Agent`; a text unless given. If the sub-run waits, the result of the
            tool's call is the JSON of the answer.

    Raises:
        DefinitionError: *output* cannot be the type of an answer.
        ToolError: The call was not made by an agent, sub-runs are nested too deep, the call already has a sub-run, or
            the sub-run did not end with an answer.
    """
    parent, call_id = current_run.get(), context.call.id
    if not isinstance(parent, ActiveRun):
        raise ToolError("there is no agent here that could work on a prompt; call this tool from an agent's run")
    if parent.depth >= parent.ledger.budget.depth:
        raise ToolError(f"sub-runs may not be nested deeper than {parent.ledger.budget.depth}; do it without one")
    if call_id in parent.busy_call_ids or call_id in parent.sub_runs:
        raise ToolError("one call has one sub-run at a time; await the first before you start the next")
    version: str | None = context.call.tool.facts.version
    names = None if tools is None else parent.toolbox.names_for(tools)
    child_system = parent.options.system if system is None else system
    step = current_step.get()
    key = None if step is None or parent.steps is None else step.make_sub_run_key(context.attempt)
    child = _build_child(parent, call_id, child_system, names, AnswerFormat.of(output), key=key, step=step)
    child.conversation.add_prompt(prompt if isinstance(prompt, UserMessage) else UserMessage.of(prompt))
    parent.busy_call_ids.add(call_id)
    try:
        ending = await tell_sub_run(child, lambda: run_turns(child))
    except BaseException:
        if (waiting_result := _hold_if_waiting(parent, context.call, child, version)) is not None:
            parent.watcher.override_result(waiting_result)
        raise
    finally:
        parent.busy_call_ids.discard(call_id)
        parent.usage += child.usage
    result = _build_result(parent, context.call, child, ending, version)
    if result.kind in ("waiting", "halted"):
        parent.watcher.override_result(result)
    if result.kind != "ok":
        raise ToolError(result.text if result.error is None else result.error.message)
    return result.text if child.answer is None else child.answer.value


async def resume_turns(active_run: ActiveRun, decisions: Decisions) -> RunEnding:
    """Resume *active_run*, which waits, with *decisions*, and return how it ended."""
    return await apply_decisions(active_run, decisions, _resume_sub_run) or await run_turns(active_run)


async def _resume_sub_run(parent: ActiveRun, call: ToolCall, decisions: Decisions) -> ToolResult:
    sub = parent.sub_runs[call.id]
    # The parent has counted the tokens of the sub-run already, so the child starts with none.
    child = _build_child(parent, call.id, sub.system, sub.tools, sub.output, replace(sub.run, usage=Usage()))
    request_ids = {request.id for request in sub.run.requests}
    tool = parent.toolbox.dispatcher.permitted(parent.session).get(call.name)
    if tool is None or tool.facts.version != sub.version:
        # The policy of today counts: a skill's file may have been edited or removed, its project may not be trusted any
        # more, or there may be a new rule.
        change = "not there any more, or not allowed any more" if tool is None else "another version than it was"
        why = f"`{call.name}` is {change}"
        await withdraw_requests(child, why)
        del parent.sub_runs[call.id]
        return await _finish_call(parent, call, ToolResult.failure("denied", why))
    del parent.sub_runs[call.id]
    plan = parent.toolbox.dispatcher.find_plan(call.name)
    own_decisions = {key: decision for key, decision in decisions.items() if key in request_ids}
    try:
        ending = await _await_with_timeout(
            tell_sub_run(child, lambda: resume_turns(child, own_decisions)),
            None if plan is None else plan.timeout_seconds,
        )
    except BaseException:
        _hold_if_waiting(parent, call, child, sub.version)
        raise
    finally:
        parent.usage += child.usage
    return await _finish_call(parent, call, _build_result(parent, call, child, ending, sub.version))


async def _finish_call(parent: ActiveRun, call: ToolCall, result: ToolResult) -> ToolResult:
    """Return the final result of *call*: seen by after-hooks, masked, and cut to its maximum, unless it waits."""
    if result.kind != "waiting":
        dispatcher, session = parent.toolbox.dispatcher, parent.session
        plan = dispatcher.find_plan(call.name)
        tool = None if plan is None else plan.tool
        full_call = ToolCall(call.name, call.arguments, call.id, session, session.principal, call.turn, tool=tool)
        result = await finish_unstarted(full_call, result, plan, dispatcher.settings)
    return parent.watcher.record_result(call, result)


async def _await_with_timeout(sub_run_work: Coroutine[Any, Any, RunEnding], seconds: float | None) -> RunEnding:
    """Return how a resumed sub-run ended. It is stopped after *seconds*, the time that one attempt may take."""
    try:
        async with asyncio.timeout(seconds) as timer:
            return await sub_run_work
    except TimeoutError:
        if not timer.expired():
            raise
        return RunEnding(status="stopped", reason=f"it took longer than {format_seconds(seconds or 0.0)}")


def _build_child(
    parent: ActiveRun,
    call_id: str,
    system: str,
    tools: tuple[str, ...] | None,
    output: AnswerFormat | None,
    run: Run[Any] | None = None,
    *,
    key: str | None = None,
    step: CallStep | None = None,
) -> ActiveRun:
    """
    Return the sub-run of a call of *parent*: a new one, or *run*, which waited.

    If the parent has steps, *key* is the key of a new sub-run and *step* the step of its call. A sub-run has its key as
    its id, so a sub-run that waited goes on with the keys that it had.
    """
    steps = None
    if parent.steps is not None and (own_key := key or (None if run is None else run.id)) is not None:
        steps = parent.steps.for_sub_run(own_key, 0 if run is None else run.reply_count, step)
    toolbox = parent.toolbox.for_sub_run(tools)
    if output is not None:
        check_name_is_free(toolbox.dispatcher.catalog)
    return ActiveRun(
        replace(parent.options, system=system, output=output),
        toolbox,
        parent.ledger,
        parent.session,
        run=run,
        on_event=parent.watcher.build_sub_run_listener(call_id),
        resources=parent.resources,
        depth=parent.depth + 1,
        parent=(parent.run_id, call_id),
        tool_names=tools,
        run_id=key,
        steps=steps,
    )


def _hold_if_waiting(parent: ActiveRun, call: ToolCall, child: ActiveRun, version: str | None) -> ToolResult | None:
    """Return the waiting result of *call* and keep its sub-run in *parent*, if that waits; otherwise None."""
    run = child.to_run(RunEnding(status="stopped"))
    if not run.requests:
        return None
    parent.sub_runs[call.id] = SubRun(
        call_id=call.id,
        run=run,
        system=child.options.system,
        tools=child.tool_names,
        version=version,
        output=child.options.output,
    )
    return build_waiting_result(call, run.requests[0])


def _build_result(
    parent: ActiveRun, call: ToolCall, child: ActiveRun, ending: RunEnding, version: str | None
) -> ToolResult:
    """Return the outcome of the sub-run *child* as the result of *call*."""
    if (waiting_result := _hold_if_waiting(parent, call, child, version)) is not None:
        return waiting_result
    run = child.to_run(ending)
    if run.status == "done":
        result = ToolResult(run.text, run.text if run.answer is None else run.answer.json)
    elif run.stop == "halt":
        result = ToolResult.failure("halted", run.reason)
    else:
        result = ToolResult.failure("failed", f"the sub-run was not finished: {run.reason}")
    result.call_id, result.tool = call.id, call.name
    return result
