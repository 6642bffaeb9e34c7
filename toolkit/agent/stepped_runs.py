"""
Runs whose steps are kept elsewhere, for code that continues them in another process.

    agent = with_approval_store(agent, store)        # once
    stepped = SteppedRun(agent, id="fix-417", steps=steps, secret=secret)
    run = await stepped.run(prompt, principal=principal, session_state=session_state)
    run = await stepped.resume(run, decisions)

After a crash the same call, with the same `Steps`, does the run again from its start: a step that was kept returns at
once. A run has a session of its own, with an id that is derived from the run. Its grants, its mode and the files that
it has read are in the records of its steps.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Any, Generic, TypeVar

from ..approvals.records import ApprovalError
from ..dispatcher import Dispatcher
from ..permissions.modes import Mode
from ..providers.messages import UserMessage
from ..session import Session
from ..spec import Tool
from ..steps.base import Steps
from ..steps.call_step import RunScope, StepSetup
from ..steps.requests import ASK_AGAIN, find_withdrawn_ids
from ..steps.run_steps import derive_id
from ..steps.session_changes import apply_changes
from .agent import Agent
from .inner_agents import RunOrder
from .plan_mode import check_execution
from .resume import Decisions
from .saved.runs import Run
from .subruns import AGENT_KEY
from .toolbox import find_next_agent

__all__ = ["SteppedRun", "check_plan_is_open", "derive_session_id", "find_dispatcher", "list_tools"]

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class SteppedRun(Generic[T]):
    """
    A run of *agent* with steps.

    The ids of its session and of its requests are derived from *secret*, a random text. The *spent_seconds* are those
    of earlier processes.
    """

    agent: Agent[T]
    _: KW_ONLY
    id: str
    steps: Steps
    secret: str
    spent_seconds: float = 0.0
    resources: Mapping[Any, Any] | None = None

    async def run(
        self, prompt: str | UserMessage, *, principal: str | None, session_state: Mapping[str, Any]
    ) -> Run[T]:
        """Work on *prompt* as `Agent.run` does. The session begins with *session_state*."""
        session = Session(id=derive_session_id(self.id, self.secret), principal=principal)
        apply_changes(session_state, session)
        return await self._start(RunOrder("run", prompt, None), self._set_up(session))

    async def resume(
        self, run: Run[Any], decisions: Decisions, *, refused: dict[str, Exception] | None = None
    ) -> Run[T]:
        """
        Resume *run*, which waits, as `Agent.resume` does.

        *refused* gets the decisions that runs inside the calls could not accept, with the reasons. Read a saved run
        with `load_run`, so that its session has its principal, grants and mode. If a request of *run* was withdrawn,
        its decision does not count, and the call is made again.
        """
        withdrawn = await find_withdrawn_ids(find_dispatcher(self.agent), run.requests)
        decisions = {**decisions, **dict.fromkeys(withdrawn, ASK_AGAIN)}
        setup = self._set_up(run.session, decisions, refused)
        return await self._start(RunOrder("resume", None, run, decisions=decisions), setup)

    async def execute(self, run: Run[Any], prompt: str | UserMessage, mode: Mode | None) -> Run[T]:
        """Carry out the plan of *run* in *mode*, as `Agent.execute` does, which refuses the plan from now on."""
        with contextlib.suppress(ApprovalError):  # a process before this one has claimed the plan
            await self.agent._toolbox.claim_plan(run.session, run)
        return await self._start(RunOrder("execute", prompt, run, mode=mode), self._set_up(run.session))

    async def _start(self, order: RunOrder, setup: StepSetup) -> Run[T]:
        return await self.agent._start(order._replace(resources=self.resources), setup)

    def _set_up(
        self, session: Session, decisions: Decisions | None = None, refused: dict[str, Exception] | None = None
    ) -> StepSetup:
        scope = RunScope(
            steps=self.steps,
            secret=self.secret,
            durable_id=self.id,
            dispatcher=find_dispatcher(self.agent),
            decisions=decisions or {},
            refused={} if refused is None else refused,
        )
        return StepSetup(scope=scope, run_id=self.id, spent_seconds=self.spent_seconds, session=session)


def find_dispatcher(agent: Agent[Any]) -> Dispatcher:
    """Return the dispatcher of *agent*, with its own tools."""
    return agent._toolbox.dispatcher


def list_tools(agent: Agent[Any]) -> list[Tool]:
    """Return the tools of *agent*, and of the agents that are its tools or that it hands conversations over to."""
    agents, tools = [agent], list[Tool]()
    for member in agents:
        for tool in find_dispatcher(member).catalog:
            tools.append(tool)
            other = (tool.facts.metadata or {}).get(AGENT_KEY) or find_next_agent(tool)
            if other is not None and other not in agents:
                agents.append(other)
    return tools


def derive_session_id(run_id: str, secret: str) -> str:
    return derive_id(secret, "session", run_id)


async def check_plan_is_open(agent: Agent[Any], run: Run[Any], mode: Mode | None) -> None:
    """Raise an error unless the plan of *run* can be carried out in *mode*, and `Agent.execute` has not done so."""
    check_execution(run, mode)
    if await agent._toolbox.is_plan_claimed(run):
        raise ApprovalError("the plan of this run was carried out already, by `agent.execute`", why="answered")
