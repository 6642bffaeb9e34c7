"""A process that has lost its run uses up no approval, whenever it finds out."""

from __future__ import annotations

import itertools
import time

import pytest

from tests.durable.kit import LocalEngine
from toolkit import Agent, Catalog, Decision, Dispatcher, Permissions, ToolCall
from toolkit.durable import DurableAgent, DurableHost
from toolkit.flows import Flow
from toolkit.providers import AssistantMessage, ScriptedProvider

pytestmark = pytest.mark.anyio


class Thief:
    """Takes a run over once, as another process does while this one is frozen."""

    def __init__(self):
        self.journal = None
        self.is_armed = False

    def steal(self):
        """Take the run over, if the moment has come. The other process dies at once."""
        if self.is_armed:
            self.is_armed = False
            self.journal.activate("a", worker="thief", now=time.time(), max_lives=9)

    async def around(self, call, run):
        """Take the run over after the claim, and before the call begins."""
        self.steal()
        return await run()


def make_pay(register, paid, thief, moment):
    """Register a tool that needs approval. *moment* says whether the run is taken over before or after the claim."""

    def find_accesses(bill: str):
        if moment == "before the claim":
            thief.steal()
        return []

    @register(destructive=True, approval="always", preflight=find_accesses)
    async def pay(bill: str) -> int:
        """Pay a bill."""
        paid.append(bill)
        return 7

    return pay


def open_host(path):
    """Return a host that takes runs of dead processes over quickly."""
    return DurableHost(f"sqlite:///{path}/runs.sqlite", engine=LocalEngine, takeover_seconds=0.1)


@pytest.mark.parametrize("moment", ["before the claim", "after the claim"])
async def test_an_approved_call_runs_once_although_its_process_lost_the_run(tmp_path, moment):
    """The process finds out when the call begins; the next activation takes its claim over."""
    paid, thief, catalog = [], Thief(), Catalog()
    make_pay(catalog.tool, paid, thief, moment)

    def reply(request):
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
        return [[ToolCall("pay", {"bill": "A"}, "c")], "done"][turn]

    hooks = [thief] if moment == "after the claim" else []
    dispatcher = Dispatcher(catalog, permissions=Permissions("auto"), hooks=hooks)
    agent = Agent(ScriptedProvider(itertools.repeat(reply)), dispatcher)
    async with DurableAgent(agent, open_host(tmp_path)) as durable:
        thief.journal = durable.host._journal
        (request,) = (await durable.run("pay", id="a")).requests
        thief.is_armed = True
        run = await durable.resume("a", {request.id: Decision.approve()})
        row, store = await durable.get("a"), durable.agent._toolbox.dispatcher.approvals.store
        record = store.get(request.id)
    assert (run.status, paid, row.epoch) == ("done", ["A"], 4)
    assert run.messages[-2].results[0].text == "7"
    assert (record.state, record.outcome["kind"]) == ("done", "ok")


async def test_the_same_holds_for_a_step_of_a_flow(tmp_path):
    """A flow has its own way to answer requests."""
    paid, thief, flow = [], Thief(), Flow("bills", dispatcher=Dispatcher(Catalog(), permissions=Permissions("auto")))
    make_pay(flow.step, paid, thief, "before the claim")
    async with open_host(tmp_path) as host:
        thief.journal = host._journal
        waiting = await flow.run("A", durable=host, id="a")
        thief.is_armed = True
        ended = await flow.resume("a", {waiting.requests[0].id: Decision.approve()}, durable=host)
    assert (ended, paid, thief.is_armed) == (7, ["A"], False)


async def test_a_process_that_lost_the_run_claims_no_decision_afterwards(tmp_path):
    """It reads the journal before it applies the answer of a person."""
    paid, thief, catalog = [], Thief(), Catalog()
    make_pay(catalog.tool, paid, thief, "never")
    claimed = []

    def reply(request):
        thief.steal()
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
        return [[ToolCall("pay", {"bill": "A"}, "c")], "done"][turn]

    agent = Agent(ScriptedProvider(itertools.repeat(reply)), Dispatcher(catalog, permissions=Permissions("auto")))
    async with DurableAgent(agent, open_host(tmp_path)) as durable:
        journal = durable.host._journal
        (request,) = (await durable.run("pay", id="a")).requests
        store = durable.agent._toolbox.dispatcher.approvals.store
        real_read = journal.read_steps

        def read_and_lose(run_id):
            steps = real_read(run_id)
            if not claimed:
                claimed.append(journal.activate("a", worker="thief", now=time.time(), max_lives=9).epoch)
            else:
                claimed.append(store.get(request.id).state)
            return steps

        journal.read_steps = read_and_lose
        run = await durable.resume("a", {request.id: Decision.approve()})
    assert (run.status, paid, claimed) == ("done", ["A"], [3, "pending"])
