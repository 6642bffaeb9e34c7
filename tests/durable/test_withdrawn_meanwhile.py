"""
A process that was replaced withdraws the request of its successor: the call is asked about again, and is never lost.

The process may have been frozen at any line, so it may come back before or after any operation of the store.
"""

from __future__ import annotations

import itertools
import time

import pytest

from toolkit import Agent, Approvals, Catalog, Decision, Dispatcher, Permissions, SQLiteApprovals, ToolCall
from toolkit.approvals.repeated_calls import WITHDRAWN
from toolkit.approvals.store import Settlement
from toolkit.durable import DurableAgent, DurableHost
from toolkit.flows import Flow, Waiting
from toolkit.providers import AssistantMessage, ScriptedProvider

pytestmark = pytest.mark.anyio

OPERATIONS = ("add", "add_call", "find_call", "get", "pending", "settle", "reclaim", "finish")


class SharedStore(SQLiteApprovals):
    """
    A store that a replaced process uses as well: just before or just after one operation, it withdraws what waits.

    If the operation keeps a request, the other process was about to keep the same one, and does so first.
    """

    def __init__(self, path, number=0, moment=""):
        super().__init__(path)
        self.number, self.moment, self.count = number, moment, 0
        self.is_busy = False
        for name in OPERATIONS:
            setattr(self, name, self._watch(name, getattr(self, name)))

    def _watch(self, name, operation):
        def watched(*args, **options):
            if self.is_busy:
                return operation(*args, **options)
            self.count += 1
            is_chosen = self.count == self.number
            if is_chosen and self.moment == "before":
                if name in ("add", "add_call"):
                    operation(*args, **options)
                self._withdraw()
            result = operation(*args, **options)
            if is_chosen and self.moment == "after":
                self._withdraw()
            return result

        return watched

    def _withdraw(self):
        self.is_busy = True
        for request in self.pending():
            self.settle(request.id, Settlement("denied", by=WITHDRAWN, now=time.time()))
        self.is_busy = False


def reply_to(request):
    """Play a model that pays two bills, one after the other."""
    turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
    return [[ToolCall("pay", {"bill": "A"}, "a")], [ToolCall("pay", {"bill": "B"}, "b")], "done"][turn]


def build_agent(store, paid, ask=None):
    """Return an agent that pays two bills."""
    catalog = Catalog()

    @catalog.tool(destructive=True, approval="always")
    def pay(bill: str) -> str:
        """Pay a bill."""
        paid.append(bill)
        return "paid"

    dispatcher = Dispatcher(catalog, permissions=Permissions("auto"), approvals=Approvals(store, ask=ask))
    return Agent(ScriptedProvider(itertools.repeat(reply_to)), dispatcher)


async def run_agent(folder, store, paid, ask=None):
    """Run an agent that pays twice, and approve whatever it asks."""
    async with DurableAgent(build_agent(store, paid, ask), f"sqlite:///{folder}/runs.sqlite") as durable:
        run = await durable.run("pay", id="r")
        while run.status == "waiting":
            run = await durable.resume("r", {request.id: Decision.approve() for request in run.requests})
        return run.text


async def run_agent_beside_a_person(folder, store, paid):
    """Do the same, with a person who answers at once."""
    return await run_agent(folder, store, paid, lambda request: Decision.approve())


async def finish(flow, start, folder):
    """Run *flow* to its end, and approve whatever it asks."""
    async with DurableHost(f"sqlite:///{folder}/runs.sqlite") as host:
        outcome = await flow.run(start, durable=host, id="r")
        while isinstance(outcome, Waiting):
            decisions = {request.id: Decision.approve() for request in outcome.requests}
            outcome = await flow.resume("r", decisions, durable=host)
        return outcome


async def run_flow(folder, store, paid):
    """Run a flow that pays twice."""
    dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"), approvals=Approvals(store))
    flow = Flow("bills", dispatcher=dispatcher)

    @flow.step(destructive=True, approval="always")
    def pay(bill: str) -> int:
        paid.append(bill)
        return 1

    @flow.step(destructive=True, approval="always")
    def pay_again(receipt: int) -> float:
        paid.append("B")
        return 1.5

    return "done" if await finish(flow, "A", folder) == 1.5 else "failed"


async def run_agent_in_a_flow(folder, store, paid):
    """Run a flow with a step that runs an agent."""
    dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto"), approvals=Approvals(store))
    flow, agent = Flow("bills", dispatcher=dispatcher), build_agent(store, paid)

    @flow.step(idempotent=True)
    async def pay(month: int) -> str:
        return (await agent.run("pay")).unwrap()

    return await finish(flow, 1, folder)


@pytest.mark.parametrize("moment", ["before", "after"])
@pytest.mark.parametrize(
    "run",
    [
        run_agent_beside_a_person,
        *(pytest.param(run, marks=pytest.mark.long) for run in (run_agent, run_flow, run_agent_in_a_flow)),
    ],
)
async def test_each_call_runs_once_whenever_its_request_is_withdrawn(tmp_path, run, moment):
    """Every operation of the store is walked through, up to the last one of a run that nobody disturbs."""
    ends = {}
    for number in itertools.count(1):
        folder, paid = tmp_path / str(number), []
        folder.mkdir(mode=0o700)
        store = SharedStore(folder / "shared.approvals.sqlite", number, moment)
        ends[number] = (await run(folder, store, paid), paid)
        if store.count < number:
            break
    assert number > 8
    assert {number: end for number, end in ends.items() if end != ("done", ["A", "B"])} == {}
