"""
Runs whose steps are kept elsewhere, for code that continues them in another process.

    agent = with_approval_store(agent, store)        # once
    run = await run_with_steps(agent, prompt, run_id="fix-417", steps=steps, secret=secret)
    run = await resume_with_steps(agent, run, decisions, steps=steps, secret=secret)

After a crash the same call, with the same `Steps`, does the run again from its start: a step that was kept returns at
once. A run has a session of its own, with an id that is derived from the run. Its grants, its mode and the files that
it has read are in the records of its steps.
"""

from __future__ import annotations

import contextlib
import hmac
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeVar

from ..approvals.identity import digest_tools
from ..approvals.memory_store import MemoryApprovals
from ..approvals.records import ApprovalError
from ..approvals.repeated_calls import WITHDRAWN
from ..permissions.modes import Mode
from ..providers.messages import UserMessage
from ..session import Session
from ..steps.base import Steps
from ..steps.requests import ASK_AGAIN, delete_session_requests, find_withdrawn_ids, withdraw_session_requests
from ..steps.run_steps import RunScope, StepSetup
from ..steps.session_changes import apply_changes
from .agent import Agent
from .call_watcher import EventListener
from .plan_execution import check_execution, claim_plan, is_plan_claimed
from .resume import Decisions
from .saved.runs import Run
from .stepped_agents import read_own_session

__all__ = [
    "check_plan_is_open",
    "delete_run_requests",
    "digest_agent_tools",
    "execute_with_steps",
    "keeps_approvals",
    "resume_with_steps",
    "run_with_steps",
    "withdraw_run_requests",
]

T = TypeVar("T")


def keeps_approvals(agent: Agent[Any]) -> bool:
    """Return whether the requests for approval of *agent* are still there after the process has ended."""
    approvals = agent._toolbox.dispatcher.approvals  # noqa: SLF001 -- the agent's own package
    return not isinstance(approvals.store, MemoryApprovals)


def digest_agent_tools(agent: Agent[Any]) -> str:
    """Return the version of *agent*: a digest of the names and schemas of its tools."""
    return digest_tools(agent._toolbox.dispatcher.catalog)  # noqa: SLF001 -- the agent's own package


async def run_with_steps(
    agent: Agent[T],
    prompt: str | UserMessage,
    *,
    run_id: str,
    steps: Steps,
    secret: str,
    spent_seconds: float = 0.0,
    principal: str | None = None,
    session_state: Mapping[str, Any] | None = None,
    resources: Mapping[Any, Any] | None = None,
    on_event: EventListener | None = None,
) -> Run[T]:
    """
    Work on *prompt* as `Agent.run` does, with *steps*.

    Args:
        run_id: The id of the run.
        secret: A random text of the run. The ids of its session and of its requests are derived from it.
        spent_seconds: The seconds that earlier processes have used for the run.
        principal: On whose behalf the run acts.
        session_state: What the session of the run begins with, from `read_own_session`. Without it, this and the
            principal are read from the agent's own session now.
        on_event: A listener for this run, besides that of the agent.
    """
    if session_state is None:
        principal, session_state = read_own_session(agent, principal)
    session = Session(id=_derive_session_id(run_id, secret), principal=principal)
    apply_changes(session_state, session)
    scope = _build_scope(agent, steps, secret, run_id)
    setup = StepSetup(scope=scope, run_id=run_id, spent_seconds=spent_seconds, session=session)
    return await agent._run_prompt(prompt, None, resources, on_event, setup)  # noqa: SLF001 -- the agent's own package


async def resume_with_steps(
    agent: Agent[T],
    run: Run[Any],
    decisions: Decisions,
    *,
    steps: Steps,
    secret: str,
    spent_seconds: float = 0.0,
    resources: Mapping[Any, Any] | None = None,
    on_event: EventListener | None = None,
    refused: dict[str, Exception] | None = None,
) -> Run[T]:
    """
    Resume *run*, which waits, as `Agent.resume` does, with *steps*. The arguments are those of `run_with_steps`.

    *refused* gets the decisions that runs inside the calls could not accept, with the reasons.
    Read a saved run with `step_records.load_run`, so that its session has its principal, grants and mode. If a request
    of *run* was withdrawn, its decision does not count, and the call is made again.
    """
    withdrawn = await find_withdrawn_ids(agent._toolbox.dispatcher, run.requests)  # noqa: SLF001 -- as below
    decisions = {**decisions, **dict.fromkeys(withdrawn, ASK_AGAIN)}
    scope = _build_scope(agent, steps, secret, run.id, decisions, refused)
    setup = StepSetup(scope=scope, spent_seconds=spent_seconds, session=run.session)
    return await agent._resume_run(run, decisions, resources, on_event, setup)  # noqa: SLF001 -- the agent's own package


async def execute_with_steps(
    agent: Agent[T],
    run: Run[Any],
    prompt: str | UserMessage,
    mode: Mode | None,
    *,
    steps: Steps,
    secret: str,
    spent_seconds: float = 0.0,
    resources: Mapping[Any, Any] | None = None,
) -> Run[T]:
    """
    Carry out the plan of *run* in *mode*, as `Agent.execute` does, with *steps*.

    What keeps the steps lets this happen once. `Agent.execute` refuses the plan from now on.
    """
    toolbox = agent._toolbox  # noqa: SLF001 -- the agent's own package
    with contextlib.suppress(ApprovalError):  # a process before this one has claimed the plan
        await claim_plan(toolbox, run.session, run)
    scope = _build_scope(agent, steps, secret, run.id)
    setup = StepSetup(scope=scope, spent_seconds=spent_seconds, session=run.session)
    return await agent._execute_run(run, prompt, mode, resources, setup)  # noqa: SLF001 -- as above


async def check_plan_is_open(agent: Agent[Any], run: Run[Any], mode: Mode | None) -> None:
    """
    Check that the plan of *run* can be carried out in *mode*.

    Raises:
        ApprovalError: The plan was carried out already, by `Agent.execute`.
        ValueError: *run* has not planned, or *mode* is "plan".
    """
    check_execution(run, mode)
    if await is_plan_claimed(agent._toolbox, run):  # noqa: SLF001 -- the agent's own package
        raise ApprovalError("the plan of this run was carried out already, by `agent.execute`", why="answered")


async def withdraw_run_requests(
    agent: Agent[Any], run_id: str, secret: str, *, kept_ids: Collection[str], reason: str
) -> None:
    """
    Withdraw the requests of a run that is over, but for those with *kept_ids*.

    A run that goes on all the same makes the calls again; see `resume_with_steps`.

    Raises:
        ApprovalError: The store of approvals cannot be used.
    """
    session_id = _derive_session_id(run_id, secret)
    dispatcher = agent._toolbox.dispatcher  # noqa: SLF001 -- the agent's own package
    await withdraw_session_requests(dispatcher, session_id, kept_ids=kept_ids, reason=reason, by=WITHDRAWN)


async def delete_run_requests(agent: Agent[Any], runs: Iterable[tuple[str, str]]) -> bool:
    """
    Delete the records about requests of runs that are over and were deleted. *runs* are their ids and secrets.

    Return False if the store of approvals cannot do this.
    """
    session_ids = {_derive_session_id(run_id, secret) for run_id, secret in runs}
    dispatcher = agent._toolbox.dispatcher  # noqa: SLF001 -- the agent's own package
    return await delete_session_requests(dispatcher, session_ids)


def _build_scope(
    agent: Agent[Any],
    steps: Steps,
    secret: str,
    run_id: str,
    decisions: Decisions | None = None,
    refused: dict[str, Exception] | None = None,
) -> RunScope:
    return RunScope(
        steps=steps,
        secret=secret,
        durable_id=run_id,
        dispatcher=agent._toolbox.dispatcher,  # noqa: SLF001 -- the agent's own package
        decisions=decisions or {},
        refused={} if refused is None else refused,
    )


def _derive_session_id(run_id: str, secret: str) -> str:
    return hmac.new(secret.encode(), f"toolkit session {run_id}".encode(), "sha256").hexdigest()[:32]
