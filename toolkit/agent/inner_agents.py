"""
Agents that the function of a step starts: each run is a part of the run that the step belongs to. See `nested_runs`.

The agents are of type `Any`, because the `Agent` imports this file.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar, cast

from ..approvals.store import ApprovalStore
from ..permissions.modes import Mode
from ..providers.messages import UserMessage
from ..session import Session
from ..steps.call_step import CallStep, StepSetup, find_open_step
from ..steps.nested_runs import NestedRun
from ..steps.requests import find_answer, share_store
from ..steps.session_changes import apply_changes, describe_changes, read_state
from ..values.rendering import as_json
from ..values.strictjson.canonical import digest_parts
from .events import EventListener
from .options import AgentOptions
from .resume import Decisions, Resume, resume_with_decisions
from .saved.run_seal import dump_run, load_run
from .saved.runs import Run, read_answer

__all__ = ["RunOrder", "find_step_for", "read_own_session", "run_in_step", "wait_for_run", "with_approval_store"]

A = TypeVar("A")
T = TypeVar("T")


class RunOrder(NamedTuple):
    """What an agent is asked to do: *verb* is the method that was called, and the others are its arguments."""

    verb: str
    prompt: str | UserMessage | None
    run: Run[Any] | None
    resources: Mapping[Any, Any] | None = None
    on_event: EventListener | None = None
    decisions: Decisions | None = None
    mode: Mode | None = None

    @property
    def digest(self) -> str:
        """A digest of what the agent is asked, which is the same in each process."""
        message = self.prompt.to_json() if isinstance(self.prompt, UserMessage) else self.prompt
        messages = () if self.run is None else [message.to_json() for message in self.run.messages]
        return digest_parts(self.verb, json.dumps([message, messages], sort_keys=True, default=as_json))


def find_step_for(options: AgentOptions) -> CallStep | None:
    """Return the step that a run of an agent with these options is a part of; None if it is a run of its own."""
    return find_open_step() if options.steps is None else None


def wait_for_run(agent: Any, start: Callable[[], Coroutine[Any, Any, Run[T]]]) -> Run[T]:
    """Return the run that *start* makes, for sync code: in the loop of the step around it, if there is one."""
    step = find_step_for(agent._options)
    if step is None:
        run: Run[T] = agent._toolbox.dispatcher.wait_for(start)
        return run
    return step.nested.wait_for(start)


async def run_in_step(agent: Any, step: CallStep, order: RunOrder) -> Run[Any]:
    """Run *agent* as a part of *step*. If the run waits for people, the call of *step* waits, by `CallPaused`."""
    options = agent._options
    schema = "" if options.output is None else json.dumps(options.output.schema, sort_keys=True)
    identity = digest_parts(options.provider.name, options.provider.model, options.system, schema)
    approvals = agent._toolbox.dispatcher.approvals
    shared = approvals if order.verb == "resume" else share_store(approvals, step.scope)
    own_agent = agent if shared is approvals else with_approval_store(agent, shared.store)

    async def resume(run: Run[Any], decisions: Decisions) -> Run[Any]:
        setup = StepSetup(scope=step.scope, run_id=run.id, key=run.id, outer=step, session=run.session)
        resuming = order._replace(verb="resume", prompt=None, run=run, decisions=decisions)
        resumed: Run[Any] = await own_agent._start(resuming, setup)
        return resumed

    try:
        async with step.nested.open("an agent", order.digest, identity) as nested:
            run = await _advance(own_agent, step, nested, order, resume)
            step.nested.add_spent(nested.number, run.spent)
            if run.status == "waiting":
                await step.nested.pause(nested.number, run.requests)
            return run
    finally:
        agent.last_run = own_agent.last_run


async def _advance(agent: Any, step: CallStep, nested: NestedRun, order: RunOrder, resume: Resume) -> Run[Any]:
    """Return how the run ends or where it waits: it begins, goes on, or has ended before."""
    stops, record, place = 0, None, f"inner/{nested.number}/stop"
    while (note := await step.nested.read_note(f"{place}/{stops + 1}")) is not None:
        stops, record = stops + 1, note
    if record is None:
        session = order.run.session if order.run and order.verb == "resume" else _build_session(agent, step, order.run)
        setup = StepSetup(scope=step.scope, run_id=nested.key, key=nested.key, outer=step, session=session)
        continued = None if order.run is None else replace(order.run, session=session)
        run: Run[Any] = await agent._start(order._replace(run=continued), replace(setup, is_new=nested.is_new))
    else:
        stopped = read_answer(load_run(record), agent._options.output)
        answers = {request.id: await find_answer(step.scope, request) for request in stopped.requests}
        decisions = {name: answer for name, answer in answers.items() if answer is not None}
        if not decisions:
            return stopped
        run, refused = await resume_with_decisions(resume, stopped, decisions)
        step.scope.refused.update(refused)
        if run is stopped:
            return run
    if run.status != "failed":  # the model is asked again, as always after a failure
        await step.nested.write_note(f"{place}/{stops + 1}", f"is {run.status}", dump_run(run))
    return run


def _build_session(agent: Any, step: CallStep, run: Run[Any] | None) -> Session:
    """Return the session of a new run inside *step*, with the outer id, so that requests of both belong together."""
    principal, changes = read_own_session(agent, step.session.principal)
    if run is not None:
        changes = describe_changes(None, read_state(run.session))
    session = Session(id=step.session.id, principal=principal)
    apply_changes(changes, session)
    return session


def with_approval_store(agent: A, store: ApprovalStore) -> A:
    """Return the same agent with its requests in *store*. What is said to a run of either agent reaches the run."""
    other_agent: Any = copy.copy(agent)
    toolbox = other_agent._toolbox
    approvals = toolbox.dispatcher.approvals
    if not hasattr(approvals, "with_store"):
        raise TypeError(
            f"the approvals of this agent, {type(approvals).__name__}, cannot have another store; give its dispatcher "
            "toolkit.approvals.Approvals(...), or give them a method with_store(store)"
        )
    other_agent._toolbox = toolbox.with_approvals(approvals.with_store(store))
    return cast("A", other_agent)


def read_own_session(agent: Any, principal: str | None) -> tuple[str | None, dict[str, Any]]:
    """
    Return on whose behalf a run of *agent* acts, and what it takes over from the agent's own session, as JSON.

    That is the mode, the grants, the loaded tools and the stamps of files. Another *principal* than that of the session
    does not get the grants.
    """
    session = agent._session
    if session is None:
        return principal, {}
    changes = describe_changes(None, read_state(session))
    if principal is not None and principal != session.principal:
        changes.pop("grants", None)
    return session.principal if principal is None else principal, changes
