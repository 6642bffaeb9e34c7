"""
An agent as a tool: its one argument is a prompt, and its result is the answer.

A call in a run of another agent is a sub-run of that run. Any other call is a run of its own, in which no person can be
asked. The agents are of type `Any`, because the `Agent` imports this file.
"""

from __future__ import annotations

from typing import Annotated, Any

from ..context import Context
from ..errors import BadArgs, ToolError
from ..facts import FactOptions
from ..permissions.modes import JUDGED_INSIDE_KEY
from ..spec import Tool
from ..steps.base import ONLY_SUB_RUNS, ONLY_SUB_RUNS_KEY
from .hand_overs import list_members
from .saved.missing_answers import NoAnswer
from .subruns import AGENT_KEY, deny_all, is_in_run, run_agent

__all__ = ["build_agent_tool"]

_PROMPT_TEXT = "What to do, with everything that is needed for it: the agent does not read this conversation."


def build_agent_tool(agent: Any, name: str, description: str, options: FactOptions) -> Tool:
    """Return *agent* as a tool, with the facts in *options*; the other facts follow from the tools of the agent."""
    if not name or not description:
        raise ValueError(
            "an agent as a tool has a name and a description, by which a model chooses it: "
            'as_tool("ask_billing", "Answer a question about invoices.")'
        )
    if agent._mode is not None:
        raise ValueError(
            f"as a tool, an agent works in the mode of its caller, so it cannot have the mode {agent._mode!r}; leave "
            "`mode` out, and give it the tools that it may use"
        )

    async def work(*, prompt: Annotated[str, _PROMPT_TEXT], context: Context) -> Any:
        if not prompt.strip():
            raise BadArgs("prompt: expected a text that is not empty")
        return await (run_agent(agent, prompt, context) if is_in_run() else _run_alone(agent, prompt))

    answer_format = agent._options.output
    work.__annotations__["return"] = str if answer_format is None else answer_format.hint
    work.__qualname__ = f"the agent {name}"
    facts: dict[str, Any] = {
        **_derive_facts(agent, options),
        "activity": f"asking {name}",
        # It tells the sub-runs of an agent from those of another tool that has got this name meanwhile.
        "version": "agent",
        **{key: value for key, value in options.items() if value is not None},
        "metadata": {
            **(options.get("metadata") or {}),
            AGENT_KEY: agent,
            ONLY_SUB_RUNS_KEY: ONLY_SUB_RUNS,
            JUDGED_INSIDE_KEY: is_in_run,
        },
        "name": name,
        "description": description,
    }
    return Tool.described(work, **facts)


def _derive_facts(agent: Any, options: FactOptions) -> dict[str, bool]:
    """Return `read_only` and `destructive`, as the tools of *agent* and of those that it hands over to have them."""
    tools = [tool for member in list_members(agent).values() for tool in member._toolbox.dispatcher.catalog]
    read_only = not options.get("destructive") and all(tool.facts.read_only for tool in tools)
    destructive = not options.get("read_only") and any(tool.facts.destructive for tool in tools)
    return {"read_only": read_only, "destructive": destructive}


async def _run_alone(agent: Any, prompt: str) -> Any:
    run = await agent.run(prompt)
    while run.status == "waiting":
        run = await agent.resume(run, deny_all(run.requests))
    try:
        return run.unwrap()
    except NoAnswer as error:
        raise ToolError(str(error)) from error
