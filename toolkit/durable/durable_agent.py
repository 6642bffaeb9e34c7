"""
`DurableAgent`: an agent whose runs survive the end of their process.

    durable = DurableAgent(agent, "sqlite:///runs.sqlite")
    run = await durable.run("Fix the failing test.", id="fix-417")
    run = await durable.resume("fix-417", {request_id: Decision.approve(by="ada")})

    await durable.start("Fix the failing test.", id="fix-418")      # for any worker
    await durable.work()                                            # a worker, until it is cancelled

The database is trusted like a store of approvals: what it holds about a run has authority.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Generic, Self, cast

from typing_extensions import TypeVar

from .._option_checks import add_other_words
from ..agent.agent import Agent
from ..agent.inner_agents import read_own_session, with_approval_store
from ..agent.prompts import EXECUTE_PROMPT
from ..agent.resume import resume_with_decisions
from ..agent.saved.runs import Run
from ..agent.stepped_runs import SteppedRun, check_plan_is_open, derive_session_id, find_dispatcher, list_tools
from ..approvals.identity import digest_tools
from ..approvals.store import ApprovalStore
from ..decisions import Decision
from ..permissions.modes import Mode
from ..providers.messages import UserMessage
from ..steps.requests import check_answers, deny_if_expired, name_request
from .agent_outcomes import add_turns, build_end, describe_stop, has_end, load_paused, read_outcome
from .engine import RunLimits
from .errors import DurableError
from .host import DurableHost
from .journal.records import PLAN_ORDER, EventRow, RunRow, RunStatus
from .journal.run_changes import OVER
from .run_input import create_or_find, pack_prompt, unpack_prompt, unpack_session
from .run_kinds import Activation, ActivationEnd, RunRequests, keeps_approvals, open_approvals_beside

__all__ = ["DurableAgent"]

_KIND = "agent"
T = TypeVar("T", default=str)


class DurableAgent(Generic[T]):
    """
    An agent whose runs are kept in a database.

    Args:
        agent: The agent. If its dispatcher keeps approvals in memory, they are kept beside the runs instead: in the
            file `PATH.approvals.sqlite`, or in the PostgreSQL database. A store of its own is left as it is.
        database: The address of the database, such as "sqlite:///runs.sqlite" or "postgresql://host/name"; or a
            `DurableHost`, which then has its own options.
        resources: The resources of all runs, by type; see `Dispatcher.call`.
        concurrency: The most runs at once in one worker.
        total_concurrency: The most runs at once in all workers.
        per_principal: The most runs at once for one principal, in all workers.
        rate: A number of runs and a number of seconds: at most so many are begun in this time, by all workers.
        max_lives: How often in a row a run may be cut off, by the death of its process, before it fails.
        takeover_seconds: After how many seconds without a life sign a worker is taken for dead.
        name: The name of the queue. Workers take runs of their own queue only.

    Attributes:
        agent: The agent that works on the runs, with the store of approvals that it uses.
        host: The host of the runs, where also other kinds of runs can be registered.
    """

    def __init__(
        self,
        agent: Agent[T],
        database: str | DurableHost,
        *,
        resources: Mapping[Any, Any] | None = None,
        concurrency: int = 8,
        total_concurrency: int | None = None,
        per_principal: int | None = None,
        rate: tuple[int, float] | None = None,
        max_lives: int = 3,
        takeover_seconds: float = 10.0,
        name: str = "toolkit",
    ) -> None:
        if isinstance(database, DurableHost):
            options = (concurrency, total_concurrency, per_principal, rate, max_lives, takeover_seconds, name)
            if options != (8, None, None, None, 3, 10.0, "toolkit"):
                raise ValueError("a host has its own options: give them to DurableHost(...), and not to DurableAgent")
            self.host = database
        else:
            limits = RunLimits(
                concurrency=concurrency, total_concurrency=total_concurrency, per_principal=per_principal, rate=rate
            )
            self.host = DurableHost(
                database, limits=limits, max_lives=max_lives, takeover_seconds=takeover_seconds, name=name
            )
        self._resources = dict(resources or {})
        self._store: ApprovalStore | None = None
        self.agent = agent
        if not keeps_approvals(find_dispatcher(agent).approvals):
            self._store = open_approvals_beside(self.host.database)
            self.agent = with_approval_store(agent, self._store)
        self.host.register(
            _KIND,
            self._activate,
            find_requests=lambda row: load_paused(row).requests,
            describe_stop=describe_stop,
            requests=RunRequests(
                lambda: find_dispatcher(self.agent), lambda row: derive_session_id(row.id, row.secret)
            ),
            find_version=lambda: digest_tools(list_tools(self.agent)),
        )

    async def run(
        self,
        prompt: str | UserMessage,
        *,
        id: str,
        principal: str | None = None,
        deadline_seconds: float | None = None,
        resources: Mapping[Any, Any] | None = None,
    ) -> Run[T]:
        """
        Work on *prompt* here and now, until the run is over or waits, and return it.

        The same id again continues the run, or returns what came of it. If another process works on the run, its end
        is awaited. A new run has a session of its own, which begins with the mode, the grants and the loaded tools of
        the agent's session.

        Args:
            principal: On whose behalf the run acts; the principal of the agent's own session unless given.
            deadline_seconds: How long the run may take in all, waits included. It counts from the first call.
            resources: Resources for the calls of this activation, besides those of the agent.

        Raises:
            DurableError: The id belongs to a run with another prompt or principal (`why="changed"`), or the database
                cannot be used (`why="store"`).
        """
        run = partial(self.host.run, _KIND, id, deadline_seconds=deadline_seconds, resources=resources)
        return await self._read_complete(await self._create(run, prompt, id, principal))

    async def resume(
        self, id: str, decisions: Mapping[str, Decision] | Decision, *, resources: Mapping[Any, Any] | None = None
    ) -> Run[T]:
        """
        Add *decisions*, by the ids of the requests, and go on with the run here and now.

        If the run waits for one request, the decision alone is enough: `resume(id, Decision.approve())`.

        Raises:
            DurableError: There is no such run or request (`why="unknown"`), the request was answered already
                (`why="answered"`) or has expired (`why="expired"`), or the run is over (`why="over"`).
            ApprovalError: A decision cannot be accepted, such as one for another principal. It can be corrected. If the
                store of approvals has been away for long (`why="store"`), or another caller is still busy with the call
                (`why="running"`), the decision is kept, and a worker or `run` goes on with it.
        """
        named = await self._name_request(id, decisions)
        return await self._read_complete(await self.host.resume(id, named, resources=resources))

    async def _name_request(self, run_id: str, decisions: Mapping[str, Decision] | Decision) -> Mapping[str, Decision]:
        if not isinstance(decisions, Decision):
            return decisions
        row = await self.get(run_id)
        if row.status in OVER:
            raise DurableError(f"the run {run_id!r} is {row.status}, and takes no decision any more", why="over")
        requests = self.read_run(row).requests
        named = name_request(decisions, requests)
        check_answers(named, requests, f"the run {run_id!r}", f"resume({run_id!r}, {{}})")
        return cast("Mapping[str, Decision]", named)

    async def execute(
        self,
        id: str,
        prompt: str | UserMessage = EXECUTE_PROMPT,
        *,
        mode: Mode | None = "default",
        resources: Mapping[Any, Any] | None = None,
    ) -> Run[T]:
        """
        Carry out the plan of a run in *mode* here and now, in the same conversation, as `Agent.execute` does.

        Its steps are kept, and the budget counts over the plan and its execution. The same call again continues the
        run, or returns what came of it. If the process ends, a worker goes on.

        Raises:
            DurableError: The run has not planned (`why="over"`), or its plan was ordered with another prompt or in
                another mode (`why="changed"`).
            ApprovalError: The plan was carried out already, by `Agent.execute` (`why="answered"`).
            ValueError: *mode* is "plan", or no mode.
        """
        row = await self.get(id)
        if row.status == "planned":
            await check_plan_is_open(self.agent, self.read_run(row), mode)
        order = {**pack_prompt(prompt), "mode": mode}
        return await self._read_complete(await self.host.execute(id, order, resources=resources))

    async def start(
        self,
        prompt: str | UserMessage,
        *,
        id: str,
        priority: int = 0,
        principal: str | None = None,
        deadline_seconds: float | None = None,
    ) -> RunRow:
        """Leave a run to any worker. Runs with a higher *priority* are begun first. See `run`."""
        start = partial(self.host.start, _KIND, id, priority=priority, deadline_seconds=deadline_seconds)
        return await self._create(start, prompt, id, principal)

    async def _create(
        self, create: Callable[..., Awaitable[RunRow]], prompt: str | UserMessage, run_id: str, principal: str | None
    ) -> RunRow:
        """Return what *create* returns for the run, which has the session of the agent as it was at the first call."""
        principal, state = read_own_session(self.agent, principal)
        return await create_or_find(
            partial(create, principal=principal), lambda: self.get(run_id), {**pack_prompt(prompt), "session": state}
        )

    async def decide(self, id: str, decisions: Mapping[str, Decision] | Decision) -> RunRow:
        """Add *decisions* and leave the run to any worker, also if none is alive now. The errors are as in `resume`."""
        return await self.host.decide(id, await self._name_request(id, decisions))

    async def cancel(self, id: str, reason: str = "") -> RunRow:
        """Cancel a run that is not over. A process that works on it stops with its next step or its next beat."""
        return await self.host.cancel(id, reason)

    async def retry(self, id: str, *, deadline_seconds: float | None = None, any_version: bool = False) -> RunRow:
        """Leave a run that has failed, was stopped or was cancelled to any worker again; see `DurableHost.retry`."""
        return await self.host.retry(id, deadline_seconds=deadline_seconds, any_version=any_version)

    async def get(self, id: str) -> RunRow:
        """Return the row of a run, from which `read_run` makes a `Run`."""
        return await self.host.get(id)

    async def list(
        self, *, status: RunStatus | None = None, limit: int = 100, after: str | None = None
    ) -> Sequence[RunRow]:
        """Return the rows of runs, the newest first; *after* is the id of the last run of the page before."""
        return await self.host.list(status=status, kind=_KIND, limit=limit, after=after)

    async def events(self, id: str) -> Sequence[EventRow]:
        """Return what happened in a run, in order."""
        return await self.host.events(id)

    async def purge(self, *, before: float) -> int:
        """Delete the runs that were over before that time, in seconds since 1970, and return how many."""
        return await self.host.purge(before=before)

    async def work(self, *, concurrency: int | None = None, grace_seconds: float = 10.0) -> None:
        """Be a worker until this call is cancelled; see `DurableHost.work`."""
        await self.host.work(concurrency=concurrency, grace_seconds=grace_seconds)

    async def close(self) -> None:
        """Give back the runs that are under way here, and close all connections. A second call does nothing."""
        await self.host.close()
        close_store = getattr(self._store, "close", None)
        if close_store is not None:
            close_store()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self.close()

    def read_run(self, row: RunRow) -> Run[T]:
        """
        Return the run of *row*, as far as the row knows it.

        If the run was cancelled, or its process was cut off too often, this is the conversation of its last wait. `run`
        with the same prompt and id returns all of it.

        Raises:
            DurableError: The run was written by another version of the program, or for an answer of another type
                (`why="changed"`).
        """
        if row.kind != _KIND:
            raise DurableError(f"the run {row.id!r} is of kind {row.kind!r}, and not one of an agent", why="changed")
        try:
            return read_outcome(row, self.agent._options.output)  # noqa: SLF001 -- it has no public name
        except ValueError as error:
            raise DurableError(f"the run {row.id!r} cannot be read: {error}", why="changed") from error

    async def _read_complete(self, row: RunRow) -> Run[T]:
        """Return the run of *row*. If no process has written how it ended, its steps say what it did."""
        run = self.read_run(row)
        if row.status in OVER and not has_end(row):
            run = add_turns(row, await self.host.steps(row.id), run)
        return run

    # What the host asks for.

    async def _activate(self, activation: Activation) -> ActivationEnd:
        row = activation.row
        stepped = SteppedRun(
            self.agent,
            id=row.id,
            steps=activation.steps,
            secret=row.secret,
            spent_seconds=activation.spent_seconds,
            resources={**self._resources, **(activation.resources or {})} or None,
        )
        if (order := row.decisions.get(PLAN_ORDER)) is not None:
            return build_end(await stepped.execute(load_paused(row), unpack_prompt(order), order.get("mode")))
        if row.outcome is not None:
            return await self._resume(stepped, activation)
        session_state = unpack_session(row.input)
        if session_state is None:
            _, session_state = read_own_session(self.agent, row.principal)
        prompt = unpack_prompt(row.input)
        return build_end(await stepped.run(prompt, principal=row.principal, session_state=session_state))

    async def _resume(self, stepped: SteppedRun[T], activation: Activation) -> ActivationEnd:
        run = load_paused(activation.row)
        decisions = {
            request.id: decision
            for request in run.requests
            if (decision := activation.decisions.get(request.id) or deny_if_expired(request, activation.now))
        }
        inner_refused: dict[str, Exception] = {}
        run, refused = await resume_with_decisions(partial(stepped.resume, refused=inner_refused), run, decisions)
        return replace(build_end(run), refused={**refused, **inner_refused})


add_other_words(
    DurableAgent,
    dict.fromkeys(
        ("run_sync", "resume_sync"),
        "write `asyncio.run(main())`, with `async with DurableAgent(agent, database) as durable:` in `main`",
    ),
)
