"""
A store of approvals that other processes disturb: each call that a person approves runs once and is never lost.

A process that was replaced may withdraw the request of its successor. It may have been frozen at any line, so it comes
back before or after any operation of the store. Frozen inside a transaction, it locks its successor out.
"""

from __future__ import annotations

import itertools
import time

import pytest

from toolkit import Agent, Approvals, Catalog, Decision, Dispatcher, Permissions, SQLiteApprovals, ToolCall
from toolkit.approvals import ApprovalError
from toolkit.approvals.repeated_calls import WITHDRAWN
from toolkit.approvals.store import Settlement
from toolkit.durable import DurableAgent, DurableHost
from toolkit.flows import Flow
from toolkit.providers import AssistantMessage, ScriptedProvider

pytestmark = pytest.mark.anyio

OPERATIONS = ("add", "add_call", "find_call", "get", "pending", "settle", "reclaim", "finish")


class SharedStore(SQLiteApprovals):
    """
    A store that a replaced process uses as well, at the *moment* of its operation with this *number*.

    "before" and "after": it withdraws what waits. If the operation keeps a request, the other process was about to keep
    the same one, and does so first. "during": the store cannot be used.
    """

    def __init__(self, path, number, moment):
        super().__init__(path)
        self.number, self.moment, self.count = number, moment, 0
        for name in OPERATIONS:
            setattr(self, name, self._watch(name, getattr(self, name)))

    def _watch(self, name, operation):
        def watch(*args, **options):
            self.count += 1
            moment = self.moment if self.count == self.number else ""
            if moment == "during":
                raise ApprovalError("the store is away", why="store")
            if moment == "before" and name in ("add", "add_call"):
                operation(*args, **options)
            if moment == "before":
                self._withdraw()
            result = operation(*args, **options)
            if moment == "after":
                self._withdraw()
            return result

        return watch

    def _withdraw(self):
        for request in SQLiteApprovals.pending(self):
            settlement = Settlement("denied", by=WITHDRAWN, now=time.time())
            SQLiteApprovals.settle(self, request.id, settlement)


async def finish(go_on):
    """Return how a run ends that *go_on* begins, or answers. All its requests are approved."""
    answer = None
    for _ in range(20):
        try:
            ended = await go_on(answer)
        except ApprovalError as error:
            if error.why != "store":
                raise
            answer = None  # the run was given back, and is taken up again
            continue
        requests = getattr(ended, "requests", ())
        if not requests:
            return ended
        answer = {request.id: Decision.approve() for request in requests}
    raise AssertionError("the run asks again and again")


def reply_to(request):
    """Play a model that pays a bill."""
    turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
    return [[ToolCall("pay", {"bill": "A"}, "a")], "done"][turn]


def build_agent(store, paid, ask=None):
    """Return an agent that pays a bill."""
    catalog = Catalog()

    @catalog.tool(destructive=True, approval="always")
    def pay(bill: str) -> str:
        """Pay a bill."""
        paid.append(bill)
        return "paid"

    dispatcher = Dispatcher(catalog, permissions=Permissions("auto"), approvals=Approvals(store, ask=ask))
    return Agent(ScriptedProvider(itertools.repeat(reply_to)), dispatcher)


async def run_agent(folder, store, paid, ask=None):
    """Run an agent that pays."""
    async with DurableAgent(build_agent(store, paid, ask), f"sqlite:///{folder}/runs.sqlite") as durable:

        async def go_on(answer):
            return await (durable.run("pay", id="r") if answer is None else durable.resume("r", answer))

        return (await finish(go_on)).text


async def run_agent_beside_a_person(folder, store, paid):
    """Do the same, with a person who answers at once."""
    return await run_agent(folder, store, paid, lambda request: Decision.approve())


async def finish_flow(flow, start, folder):
    """Run *flow* to its end."""
    async with DurableHost(f"sqlite:///{folder}/runs.sqlite") as host:

        async def go_on(answer):
            return await (flow.run(start, host, id="r") if answer is None else flow.resume("r", answer, host))

        return await finish(go_on)


async def run_flow(folder, store, paid):
    """Run a flow that pays."""
    dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"), approvals=Approvals(store))
    flow = Flow("bills", dispatcher=dispatcher)

    @flow.step(destructive=True, approval="always")
    def pay(bill: str) -> int:
        paid.append(bill)
        return 7

    return "done" if await finish_flow(flow, "A", folder) == 7 else "failed"


async def run_agent_in_a_flow(folder, store, paid):
    """Run a flow with a step that runs an agent."""
    dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"), approvals=Approvals(store))
    flow, agent = Flow("bills", dispatcher=dispatcher), build_agent(store, paid)

    @flow.step(idempotent=True)
    async def pay(month: int) -> str:
        return (await agent.run("pay")).unwrap()

    return await finish_flow(flow, 1, folder)


@pytest.mark.parametrize("moment", ["before", "after", "during"])
@pytest.mark.parametrize(
    "run",
    [
        run_agent_beside_a_person,
        *(pytest.param(run, marks=pytest.mark.long) for run in (run_agent, run_flow, run_agent_in_a_flow)),
    ],
)
async def test_each_call_runs_once_in_a_disturbed_store(tmp_path, monkeypatch, run, moment):
    """Every operation of the store is walked through, up to the last one of an undisturbed run."""
    monkeypatch.setattr("toolkit.agent.resume.PATIENCE_SECONDS", ())
    monkeypatch.setattr("toolkit.steps.call_step.PATIENCE_SECONDS", ())
    ends = {}
    for number in itertools.count(1):
        folder, paid = tmp_path / str(number), []
        folder.mkdir(mode=0o700)
        store = SharedStore(folder / "shared.approvals.sqlite", number, moment)
        ends[number] = (await run(folder, store, paid), paid)
        if store.count < number:
            break
    assert number > 4
    assert {number: end for number, end in ends.items() if end != ("done", ["A"])} == {}


async def test_a_store_that_is_away_for_a_moment_is_waited_for(tmp_path, monkeypatch):
    """The run does not break off, and the model is not told of it."""
    monkeypatch.setattr("toolkit.steps.call_step.PATIENCE_SECONDS", (0.0, 60.0))
    tmp_path.chmod(0o700)
    store, paid = SharedStore(tmp_path / "shared.approvals.sqlite", 1, "during"), []
    async with DurableAgent(build_agent(store, paid), f"sqlite:///{tmp_path}/runs.sqlite") as durable:
        run = await durable.run("pay", id="r")
    assert (run.status, store.count > 1, len(run.requests)) == ("waiting", True, 1)
