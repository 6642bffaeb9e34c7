"""
The inputs of an agent in the forms that it works with: a dispatcher with the agent's own tools, a prompt, a run.

The agent is of type `Any`, because the `Agent` imports this file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from ..builtin.read_output_tool import READ_OUTPUT, read_output_for
from ..builtin.tool_search_tool import tool_search_for
from ..calls.kept_outputs import is_output_reader
from ..catalog import Catalog
from ..catalogs.snapshot import Table, describe_place
from ..catalogs.views import CatalogView
from ..dispatcher import Dispatcher
from ..errors import DuplicateTool
from ..formats.base import SEARCH_TOOL_NAME
from ..hooks.base import SpanRecorder, find_recorders
from ..permissions import Permissions
from ..providers.messages import UserMessage
from ..session import Session
from ..spec import Tool
from ..steps.call_step import RunScope, StepSetup
from ..steps.expense import Expense
from ..steps.run_steps import RunSteps, escape_key
from .active_run import ActiveRun
from .events import combine_listeners
from .hand_overs import restore_agent
from .inner_agents import RunOrder
from .plan_mode import exit_plan_tool
from .prompts import EXIT_PLAN
from .saved.runs import Run
from .toolbox import Toolbox

__all__ = ["build_active_run", "build_dispatcher", "build_prompt", "with_own_tools"]


def build_dispatcher(tools: Any, telemetry: SpanRecorder | None) -> Dispatcher:
    """Return the dispatcher for *tools*, with *telemetry*: a dispatcher, a catalog or a list of functions."""
    if isinstance(tools, Dispatcher):
        return tools if telemetry is None else tools.extended(telemetry=telemetry)
    if isinstance(tools, CatalogView):
        return Dispatcher(tools, permissions=Permissions("default"), telemetry=telemetry)
    if isinstance(tools, str) or not isinstance(tools, Iterable):
        hint = "; write [agent.as_tool(name, description)]" if hasattr(tools, "as_tool") else ""
        raise TypeError(f"tools are a Dispatcher, a catalog or a list of functions, got {type(tools).__name__}{hint}")
    return Dispatcher(Catalog(*tools), permissions=Permissions("default"), telemetry=telemetry)


def with_own_tools(catalog: CatalogView, hand_overs: CatalogView | None = None) -> CatalogView:
    """
    Return *catalog* with the agent's own tools added. It must not have a tool named `exit_plan`.

    *hand_overs* has the tools that hand the conversation over to other agents.

    `tool_search` is there only while a tool is deferred and *catalog* has no tool of that name. `read_output` is there
    only while *catalog* has no tool of that name, and no tool that reads results that were cut. `job_output` and
    `job_stop` are there while a tool may run in the background, because its result names them.
    """
    if (clashing_tool := catalog.get(EXIT_PLAN)) is not None:
        raise DuplicateTool(
            f"`{EXIT_PLAN}` is the agent's own tool, so {describe_place(clashing_tool)} cannot be called that; "
            "give it another name, or leave it out with `filtered`"
        )

    def derive(table: Table, own: Table, hand_over_table: Table) -> Table:
        own_tools = dict(own.tools)
        readers = [tool for tool in table.tools.values() if is_output_reader(tool)]
        if table.find(SEARCH_TOOL_NAME) is not None or not any(
            tool.facts.defer for tool in table.tools.values() if tool not in readers
        ):
            del own_tools[SEARCH_TOOL_NAME]
        if readers or table.find(READ_OUTPUT) is not None:
            del own_tools[READ_OUTPUT]
        if any(tool.facts.background for tool in table.tools.values()):
            own_tools.update({tool.name: tool for tool in _build_job_tools() if table.find(tool.name) is None})
        return Table({**table.tools, **own_tools, **hand_over_table.tools}, table.aliases)

    own_catalog = Catalog(exit_plan_tool(), tool_search_for(catalog), read_output_for(defer=True))
    return CatalogView((catalog, own_catalog, Catalog() if hand_overs is None else hand_overs), derive)


@cache
def _build_job_tools() -> tuple[Tool, Tool]:
    # Few agents have a tool for the background.
    from ..builtin.commands.job_tools import job_output_for, job_stop_for

    return job_output_for(), job_stop_for()


def build_prompt(prompt: str | UserMessage | None, toolbox: Toolbox) -> UserMessage:
    """Return *prompt* as a message; in a text, lines that name a skill are replaced by the skill's text."""
    message = UserMessage.of(toolbox.expand_skills(prompt)) if isinstance(prompt, str) else prompt
    if not isinstance(message, UserMessage):
        raise TypeError(f"a prompt is a text or a UserMessage, got {type(prompt).__name__}")
    if not message.text.strip() and all(hasattr(part, "text") for part in message.parts):
        raise ValueError("the prompt is empty; say what is to be done")
    return message


def build_active_run(agent: Any, order: RunOrder, spent: Expense, setup: StepSetup | None) -> ActiveRun:
    """
    Return a new run of *agent*, or that of *order*, which has used *spent*.

    It has steps as *setup* or the options of the agent say.
    """
    options, toolbox, steps = agent._options, agent._toolbox.with_hooks(find_recorders()), None
    session = _choose_session((setup and setup.session) or agent._session, order.run)
    # A conversation that is continued keeps the mode that its host gave it.
    if agent._mode is not None and (order.run is None or session.mode is None):
        toolbox.set_mode(session, agent._mode)
    if setup is None and options.steps is not None:
        decisions = order.decisions or {}
        setup = StepSetup(scope=RunScope(steps=options.steps, dispatcher=toolbox.dispatcher, decisions=decisions))
    run: Run[Any] = replace(order.run or Run(status="running"), session=session)
    if setup is not None:
        run = replace(run, id=setup.run_id or run.id)
        steps = RunSteps(setup.scope, setup.key or escape_key(run.id), reply_count=run.reply_count, outer=setup.outer)
        spent = replace(spent, seconds=max(spent.seconds, setup.spent_seconds))
        toolbox = toolbox.with_steps()
    active_run = ActiveRun(
        options,
        toolbox,
        options.build_ledger(spent, is_replayed=setup is not None),
        run,
        # The stream gets the event first, because `on_event` may raise.
        on_event=combine_listeners(order.on_event, options.on_event),
        resources=order.resources,
        steps=steps,
        agent=agent,
    )
    active_run.verb = order.verb
    restore_agent(active_run, run.agent)
    return active_run


def _choose_session(own_session: Session | None, run: Run[Any] | None) -> Session:
    """
    Return *own_session*, that of *run*, or a new one if there is neither.

    The session of *run* is used if the agent has no session of its own, or if the two have different ids. In the second
    case it gets the principal of *own_session*, or `ValueError` is raised if it has another one.
    """
    if run is None:
        return own_session or Session()
    if own_session is None or own_session.id == run.session.id:
        return own_session or run.session
    if run.session.principal not in (None, own_session.principal):
        raise ValueError("the run has another principal than this agent's session")
    run.session.principal = own_session.principal
    return run.session
