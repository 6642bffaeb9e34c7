"""
Hands a conversation over: another agent goes on with it, in the same run.

The model calls the tool `hand_over_to_NAME`. From the next turn on, the agent of that name is asked, with its own
system prompt, tools and provider. The run keeps its session, its budget, its steps and the type of its answer. What the
first agent may not do, none of the others may do.

The agents are of type `Any`, because the `Agent` imports this file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ..catalogs.snapshot import describe_place
from ..errors import DuplicateTool, ToolError
from ..providers.messages import AssistantMessage, Message, ToolMessage
from ..results import ToolResult
from ..spec import Tool
from .active_run import ActiveRun
from .call_watcher import current_run
from .events import HandedOver
from .final_answers import check_name_is_free
from .toolbox import HAND_OVER_KEY, find_next_agent

__all__ = ["add_hand_over", "list_members", "restore_agent", "take_hand_over"]

_PREFIX = "hand_over_to_"


def add_hand_over(agent: Any, other: Any) -> None:
    """Give *agent* a tool that hands its conversations over to *other*; raise an error that says why if it cannot."""
    if not other.name or not other.description:
        raise ValueError(
            "the model chooses an agent to hand over to by its name and its description; "
            'give it both: Agent(..., name="billing", description="Answers questions about invoices.")'
        )
    if other._hand_overs is agent._hand_overs:
        raise ValueError(f"`{other.name}` cannot hand a conversation over to itself")
    tool = _build_tool(other)
    if (clashing_tool := agent._toolbox.dispatcher.catalog.get(tool.name)) is not None:
        raise DuplicateTool(
            f"`{tool.name}` hands over to the agent `{other.name}`, and {describe_place(clashing_tool)} has that name "
            "already; give one of the two another name"
        )
    agent._hand_overs.add(tool)
    try:
        list_members(agent)
    except Exception:
        agent._hand_overs.remove(tool.name)
        raise


def _build_tool(agent: Any) -> Tool:
    name = agent.name

    async def hand_over() -> str:
        run = current_run.get()
        if not isinstance(run, ActiveRun) or run.first_agent is None:
            raise ToolError("there is no conversation here that could be handed over; call this in an agent's own run")
        if _count_hand_overs(run.conversation.messages) >= len(list_members(run.first_agent)):
            raise ToolError("the agents only hand this conversation to each other; go on with it yourself")
        return f"The conversation was handed over to `{name}`, which goes on from here."

    return Tool.described(
        hand_over,
        name=f"{_PREFIX}{name}",
        description=f"Hand the conversation over to `{name}`, which goes on in your place. {agent.description}",
        read_only=True,
        concurrency_safe=False,
        activity=f"handing over to {name}",
        metadata={HAND_OVER_KEY: agent},
    )


def _count_hand_overs(messages: Sequence[Message]) -> int:
    """Return how many turns right before the last one did nothing but hand the conversation over, or try to."""
    turn = max(index for index, message in enumerate(messages) if isinstance(message, AssistantMessage))
    count = 0
    while turn >= 2 and isinstance(answer := messages[turn - 1], ToolMessage):
        if not all(result.tool.startswith(_PREFIX) for result in answer.results):
            break
        count, turn = count + 1, turn - 2
    return count


def list_members(first_agent: Any) -> dict[str, Any]:
    """
    Return the agents that can go on with a conversation of *first_agent*, by their names, with that agent itself.

    Raises:
        DuplicateTool: One of them has a tool with the name of the form of final answers, and the answer has a type.
        ValueError: Two of them have the same name, or one has a mode or a type of answer that the run cannot have.
    """
    members, queue = {first_agent.name: first_agent}, [first_agent]
    for agent in queue:
        for tool in agent._hand_overs:
            other = find_next_agent(tool)
            member = members.setdefault(other.name, other)
            if member._hand_overs is not other._hand_overs:  # a durable run has a copy of its agent
                raise ValueError(f"two agents of one conversation are called `{other.name}`; give each its own name")
            if member not in queue:
                _check_member(first_agent, member)
                queue.append(member)
    return members


def _check_member(first_agent: Any, other: Any) -> None:
    if other._mode is not None:
        raise ValueError(
            f"a conversation keeps its mode when it is handed over, so `{other.name}` cannot have the mode "
            f"{other._mode!r}; leave `mode` out, and give it the tools that it may use"
        )
    output = first_agent._options.output
    if other._options.output is not None and other._options.output != output:
        raise ValueError(
            f"the answer has the type that the first agent has as `output`, and `{other.name}` has another one; "
            "give both the same type, or leave it out there"
        )
    if output is not None:
        check_name_is_free(other._toolbox.dispatcher.catalog)


def restore_agent(active_run: ActiveRun, name: str) -> None:
    """Let the agent *name* go on, to which the run was handed over; that with which it began if the name is empty."""
    members = list_members(active_run.first_agent)
    for member in members.values():
        active_run.ledger.check_prices(member._options.provider)
    if name and name not in members:
        raise ValueError(
            f"the conversation was handed over to `{name}`, and this agent hands over to no agent of that name; "
            "go on with the agent that the run was started with"
        )
    if name and members[name] is not active_run.first_agent:
        _set_agent(active_run, members[name])


def take_hand_over(active_run: ActiveRun) -> None:
    """Let another agent go on if the last turn has handed the conversation over. Only the first call of it counts."""
    messages = active_run.conversation.messages
    if active_run.first_agent is None or not messages or not isinstance(messages[-1], ToolMessage):
        return
    calls, results = active_run.conversation.last_turn()
    catalog, next_name = active_run.toolbox.dispatcher.catalog, ""
    for index, (call, result) in enumerate(zip(calls, results, strict=True)):
        tool = catalog.get(call.name) if result.kind == "ok" else None
        if tool is None or (agent := find_next_agent(tool)) is None:
            continue
        if next_name:
            why = f"the conversation was handed over to `{next_name}` already"
            refusal = ToolResult.failure("failed", why, call_id=call.id, tool=call.name)
            active_run.conversation.replace_result(index, refusal)
        next_name = next_name or agent.name
    if next_name:
        previous = active_run.agent.name or "agent"
        _set_agent(active_run, list_members(active_run.first_agent)[next_name])
        active_run.watcher.publish_event(HandedOver(previous, next_name))


def _set_agent(active_run: ActiveRun, agent: Any) -> None:
    first_options, first_toolbox = active_run.first_options, active_run.first_toolbox
    is_first = agent is active_run.first_agent
    options = first_options if is_first else agent._options
    frame_results = options.frame_results or active_run.options.frame_results
    active_run.agent = agent
    active_run.options = replace(options, output=first_options.output, frame_results=frame_results)
    active_run.toolbox = first_toolbox if is_first else agent._toolbox.within(first_toolbox)
    active_run.conversation.frame_results = frame_results
    active_run.ledger.model = options.provider.model
    active_run.reported_table = None  # the tools of another agent are no change of the catalog
