"""
Builds the `ActiveRun` of what an agent is asked: a new run, or one that goes on.

The agent is of type `Any`, because the `Agent` imports this file.
"""

from __future__ import annotations

import secrets
from dataclasses import replace
from typing import Any

from ..steps.call_step import RunScope, StepSetup
from ..steps.expense import Expense
from ..steps.run_steps import RunSteps, escape_key
from .active_run import ActiveRun
from .agent_inputs import choose_session, combine_listeners
from .hand_overs import restore_agent
from .inner_agents import RunOrder

__all__ = ["build_active_run"]


def build_active_run(agent: Any, order: RunOrder, spent: Expense, setup: StepSetup | None) -> ActiveRun:
    """
    Return a new run of *agent*, or that of *order*, which has used *spent*.

    It has steps as *setup* or the options of the agent say.
    """
    options, toolbox, run = agent._options, agent._toolbox, order.run
    session = choose_session((setup and setup.session) or agent._session, run)
    # A conversation that is continued keeps the mode that its host gave it.
    if agent._mode is not None and (run is None or session.mode is None):
        toolbox.set_mode(session, agent._mode)
    if setup is None and options.steps is not None:
        decisions = order.decisions or {}
        setup = StepSetup(scope=RunScope(steps=options.steps, dispatcher=toolbox.dispatcher, decisions=decisions))
    run_id, steps = secrets.token_hex(8) if run is None else run.id, None
    if setup is not None:
        run_id, reply_count = setup.run_id or run_id, 0 if run is None else run.reply_count
        steps = RunSteps(setup.scope, setup.key or escape_key(run_id), reply_count=reply_count, outer=setup.outer)
        spent = replace(spent, seconds=max(spent.seconds, setup.spent_seconds))
        toolbox = toolbox.with_steps()
    active_run = ActiveRun(
        options,
        toolbox,
        options.build_ledger(spent, is_replayed=setup is not None),
        session,
        run=run,
        # The stream gets the event first, because `on_event` may raise.
        on_event=combine_listeners(order.on_event, options.on_event),
        resources=order.resources,
        run_id=run_id,
        steps=steps,
        agent=agent,
    )
    restore_agent(active_run, "" if run is None else run.agent)
    return active_run
