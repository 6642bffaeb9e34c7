"""
Sub-runs: runs that a tool starts inside its call, to let the model work on another prompt.

A sub-run has the session of its parent, so the same mode, rules and grants hold in it. It has the system prompt of its
parent unless it gets its own. It uses the budget of its parent, ends when its call has to end, and can call no tool
that its parent cannot call. If a call in the sub-run waits, the parent waits too. Events of the sub-run are reported as
`SubRunEvent`.

The sub-run of an agent that is a tool of another agent has the provider, the prompts, the tools and the limits of that
agent, besides those of its parent. The agents are of type `Any`, because the `Agent` imports this file.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Coroutine, Iterable
from dataclasses import replace
from typing import Any, Required, TypedDict, TypeVar, Unpack, overload

from .._plumbing.wording import format_seconds
from ..calls.error_results import EndedInside
from ..calls.unstarted import finish_unstarted
from ..context import Context
from ..decisions import ApprovalRequest, Decision
from ..errors import ToolError
from ..policies.costs import count_costs
from ..policies.retry import count_retries
from ..providers.base import Provider, Usage
from ..providers.messages import UserMessage
from ..results import ToolCall, ToolResult
from ..spec import Tool
from ..steps.call_step import CallStep, current_step
from ..steps.notes import build_waiting_result
from ..steps.run_steps import RunSteps
from .active_run import ActiveRun, RunEnding
from .budgets import Budget
from .call_watcher import current_run
from .events import combine_listeners
from .final_answers import AnswerFormat, check_name_is_free
from .hand_overs import restore_agent
from .lifecycle import tell_sub_run
from .loop import run_turns, withdraw_requests
from .model_requests import choose_provider
from .options import AgentOptions
from .resume import Decisions, apply_decisions
from .saved.runs import Run, SubRun
from .toolbox import Toolbox

__all__ = ["AGENT_KEY", "deny_all", "is_in_run", "resume_turns", "run_agent", "sub_run"]

AGENT_KEY = "toolkit.agent"
"""The key in the metadata of a tool whose calls are sub-runs of an agent; its value is the agent."""

_NOBODY = "no person can be asked in this call; do without it"
T = TypeVar("T")


def is_in_run() -> bool:
    """Return whether the calling code runs in a tool call of an agent."""
    return isinstance(current_run.get(), ActiveRun)


class SubRunOptions(TypedDict, total=False):
    """The options of `sub_run` besides the type of the answer."""

    context: Required[Context]
    tools: Collection[str | Tool] | None
    system: str | None
    provider: Provider | str | None
    budget: Budget | None


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
    provider: Provider | str | None = None,
    budget: Budget | None = None,
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
        provider: The provider of the sub-run, or a text that names it and the model, as for `Agent`; that of its parent
            unless given. Give a text if the run may be saved while it waits, or is durable: an object is not saved.
        budget: The limits of the sub-run, besides those of its parent. What it uses counts in both.

    Raises:
        DefinitionError: *output* cannot be the type of an answer.
        ToolError: The call was not made by an agent, sub-runs are nested too deep, the call already has a sub-run, or
            the sub-run did not end with an answer.
        TypeError: *provider* is no provider, or an object in a run whose steps are kept; or *budget* is no `Budget`.
        ValueError: *provider* is a text that names no known provider, or no model.
    """
    parent = _find_parent(context)
    if parent.steps is not None and provider is not None and not isinstance(provider, str):
        raise TypeError(
            "provider: the steps of this run are kept, and a process that goes on with it would not know this object; "
            'name it in a text, such as "anthropic:MODEL", or make an agent with it a tool: agent.as_tool(...)'
        )
    sub = SubRun(
        call_id=context.call.id,
        run=Run(status="running", session=parent.session),
        system=parent.options.system if system is None else system,
        tools=None if tools is None else parent.toolbox.names_for(tools),
        version=context.call.tool.facts.version,
        output=AnswerFormat.of(output),
        provider=provider,
        budget=budget,
    )
    return await _run_child(parent, context, sub, prompt if isinstance(prompt, UserMessage) else UserMessage.of(prompt))


async def run_agent(agent: Any, prompt: str, context: Context) -> Any:
    """Let *agent*, which the tool of the current call stands for, work on *prompt*, and return its answer."""
    parent = _find_parent(context)
    run: Run[Any] = Run(status="running", session=parent.session)
    sub = SubRun(call_id=context.call.id, run=run, version=context.call.tool.facts.version)
    return await _run_child(parent, context, sub, UserMessage.of(prompt), agent)


def _find_parent(context: Context) -> ActiveRun:
    """Return the run of the current call; raise `ToolError` if the call cannot have a sub-run."""
    parent, call_id = current_run.get(), context.call.id
    if not isinstance(parent, ActiveRun):
        raise ToolError("there is no agent here that could work on a prompt; call this tool from an agent's run")
    if parent.depth >= parent.ledger.max_depth:
        raise ToolError(f"sub-runs may not be nested deeper than {parent.ledger.max_depth}; do it without one")
    if call_id in parent.busy_call_ids or call_id in parent.sub_runs:
        raise ToolError("one call has one sub-run at a time; await the first before you start the next")
    return parent


async def _run_child(parent: ActiveRun, context: Context, sub: SubRun, prompt: UserMessage, agent: Any = None) -> Any:
    """Return the answer of a new sub-run: of *agent*, or of that of *parent*. Raise `ToolError` if it has none."""
    step = current_step.get()
    key = None if step is None or parent.steps is None else step.make_sub_run_key(context.attempt)
    child = _build_child(parent, sub, agent, key, step)
    child.conversation.add_prompt(prompt)
    parent.busy_call_ids.add(sub.call_id)
    may_wait = parent.watcher.has_started(sub.call_id)
    try:
        async with _own_provider(child, sub):
            ending = await tell_sub_run(child, lambda: _run_turns(child, may_wait))
    except BaseException:
        if may_wait and (waiting_result := _hold_if_waiting(parent, context.call, child, sub)) is not None:
            parent.watcher.override_result(waiting_result)
        raise
    finally:
        parent.busy_call_ids.discard(sub.call_id)
        parent.usage += child.usage
    result = _build_result(parent, context.call, child, ending, sub)
    message = result.text if result.error is None else result.error.message
    if result.kind in ("waiting", "halted"):
        parent.watcher.override_result(result)  # the tool may catch the exception
        raise EndedInside(message, result)
    if result.kind != "ok":
        raise ToolError(message)
    return result.text if child.answer is None else child.answer.value


def deny_all(requests: Iterable[ApprovalRequest]) -> Decisions:
    """Return denials of *requests*, for a call that a program has made, which cannot wait."""
    return {request.id: Decision.deny(_NOBODY, principal=request.principal) for request in requests}


@contextlib.asynccontextmanager
async def _own_provider(child: ActiveRun, sub: SubRun) -> AsyncIterator[None]:
    """Count retries and costs of *child* inside the block. Close its provider afterwards if *child* alone has it."""
    provider: Any = child.options.provider
    try:
        with count_retries(child.ledger.take_retry), count_costs(child.ledger.take_cost):
            yield
    finally:
        if isinstance(sub.provider, str):
            await provider.aclose()


async def _run_turns(child: ActiveRun, may_wait: bool) -> RunEnding:
    """Run the turns of *child*. If it cannot wait for a person, deny what it asks for, and go on."""
    ending = await run_turns(child)
    while not may_wait and (requests := child.to_run(ending).requests):
        ending = await resume_turns(child, deny_all(requests))
    return ending


async def resume_turns(active_run: ActiveRun, decisions: Decisions) -> RunEnding:
    """Resume *active_run*, which waits, with *decisions*, and return how it ended."""
    return await apply_decisions(active_run, decisions, _resume_sub_run) or await run_turns(active_run)


async def _resume_sub_run(parent: ActiveRun, call: ToolCall, decisions: Decisions) -> ToolResult:
    sub = parent.sub_runs[call.id]
    tool = parent.toolbox.dispatcher.permitted(parent.session).get(call.name)
    agent = None if tool is None else (tool.facts.metadata or {}).get(AGENT_KEY)
    obstacle = _find_obstacle(sub, call, tool)
    # The parent has counted the tokens of the sub-run already, so the child starts with none.
    sub = replace(sub, run=replace(sub.run, usage=Usage()), provider=sub.provider if obstacle is None else None)
    child = _build_child(parent, sub, agent, sub.run.id)
    if obstacle is not None:
        await withdraw_requests(child, obstacle)
        del parent.sub_runs[call.id]
        return await _finish_call(parent, call, ToolResult.failure("denied", obstacle))
    del parent.sub_runs[call.id]
    request_ids = {request.id for request in sub.run.requests}
    plan = parent.toolbox.dispatcher.find_plan(call.name)
    own_decisions = {key: decision for key, decision in decisions.items() if key in request_ids}
    try:
        async with _own_provider(child, sub):
            ending = await _await_with_timeout(
                tell_sub_run(child, lambda: resume_turns(child, own_decisions)),
                None if plan is None else plan.timeout_seconds,
            )
    except BaseException:
        _hold_if_waiting(parent, call, child, sub)
        raise
    finally:
        parent.usage += child.usage
    return await _finish_call(parent, call, _build_result(parent, call, child, ending, sub))


def _find_obstacle(sub: SubRun, call: ToolCall, tool: Tool | None) -> str | None:
    """Return why *sub*, the sub-run of *call*, cannot go on with *tool*; None if it can."""
    # The policy of today counts: a skill's file may have been edited or removed, its project may not be trusted any
    # more, or there may be a new rule.
    if tool is None:
        return f"`{call.name}` is not there any more, or not allowed any more"
    if tool.facts.version != sub.version:
        return f"`{call.name}` is another version than it was"
    if sub.provider == "":
        return f"`{call.name}` had given its sub-run a provider that is not saved with a run; let it name one in a text"
    return None


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
    parent: ActiveRun, sub: SubRun, agent: Any, key: str | None, step: CallStep | None = None
) -> ActiveRun:
    """
    Return *sub*, which is new or has waited, as a run: of *agent*, or of that of *parent* if it is None.

    If the parent has steps, *key* is the key of the sub-run, and *step* the step of its call if it is new. The key is
    the id of the sub-run, so a sub-run that waited goes on with the keys that it had.
    """
    run, steps = replace(sub.run, id=key or sub.run.id, session=parent.session), None
    if parent.steps is not None and key is not None:
        steps = RunSteps(parent.steps.scope, key, reply_count=run.reply_count, outer=step, shares_budget=True)
    listener, depth, ledger = parent.watcher.build_sub_run_listener(sub.call_id), parent.depth + 1, parent.ledger
    if agent is None:
        options, toolbox = _choose_setup(parent, sub)
        budget, max_turns = sub.budget, None
    else:
        options, toolbox = agent._options, agent._toolbox.within(parent.toolbox)
        budget, max_turns = options.budget, options.max_turns
        listener = combine_listeners(listener, options.on_event)
    if agent is not None or sub.provider is not None or budget is not None:
        ledger = ledger.for_sub_run(budget, options.provider, depth=depth, spent=run.spent, max_turns=max_turns)
    child = ActiveRun(
        options,
        toolbox,
        ledger,
        run,
        on_event=listener,
        resources=parent.resources,
        depth=depth,
        parent=(parent.run_id, sub.call_id),
        tool_names=sub.tools,
        steps=steps,
        agent=agent,
    )
    if agent is not None:
        restore_agent(child, run.agent)
    return child


def _choose_setup(parent: ActiveRun, sub: SubRun) -> tuple[AgentOptions, Toolbox]:
    """Return the options and the tools of a sub-run that a tool has started."""
    toolbox = parent.toolbox.for_sub_run(sub.tools)
    options = replace(parent.options, system=sub.system, output=sub.output)
    if sub.provider is not None:
        options = replace(options, provider=choose_provider(sub.provider), output_by=None)
    if sub.budget is not None:
        options = replace(options, budget=sub.budget)
    if sub.output is not None:
        check_name_is_free(toolbox.dispatcher.catalog)
    return options, toolbox


def _hold_if_waiting(parent: ActiveRun, call: ToolCall, child: ActiveRun, sub: SubRun) -> ToolResult | None:
    """Return the waiting result of *call* and keep its sub-run in *parent*, if that waits; otherwise None."""
    run = child.to_run(RunEnding(status="stopped"))
    if not run.requests:
        return None
    parent.sub_runs[call.id] = replace(sub, run=run)
    return build_waiting_result(call, run.requests[0])


def _build_result(parent: ActiveRun, call: ToolCall, child: ActiveRun, ending: RunEnding, sub: SubRun) -> ToolResult:
    """Return the outcome of the sub-run *child* as the result of *call*."""
    if (waiting_result := _hold_if_waiting(parent, call, child, sub)) is not None:
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
