"""A person said yes, and has to be asked again: the answer does not become a no, with any events in between."""

from __future__ import annotations

import itertools
import time

import pytest

from tests.flows.kit import Edited, Released
from toolkit import Agent, Approvals, Catalog, Decision, Dispatcher, Permissions, SQLiteApprovals, ToolCall
from toolkit.approvals import ApprovalError, Changed
from toolkit.durable import DurableAgent, DurableHost
from toolkit.flows import Flow
from toolkit.providers import AssistantMessage, ScriptedProvider

pytestmark = pytest.mark.anyio


class InterruptedStore(SQLiteApprovals):
    """
    A store that fails once, before or after it keeps a request that takes the place of another one.

    Or it calls *on_kept* after that, instead of failing.
    """

    fails = ""
    on_kept = None

    def add_call(self, record, key, *, now, replaces=None):
        fails = self.fails if replaces is not None else ""
        if fails:
            self.fails = ""
        if fails != "before":
            record = super().add_call(record, key, now=now, replaces=replaces)
        if fails:
            raise ApprovalError("the store is away", why="store")
        if replaces is not None and self.on_kept is not None:
            on_kept, self.on_kept = self.on_kept, None
            on_kept()
        return record


def play_payment(request):
    """Play a model that pays, and is done."""
    turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
    return [[ToolCall("pay", {}, "c1")], "done"][turn]


class Case:
    """A payment whose preview changes after a person has approved it."""

    def __init__(self, path):
        self.shown = ["1 euro"]
        self.paid = []
        self.store = InterruptedStore(path / "approvals.sqlite")
        self.database = f"sqlite:///{path}/runs.sqlite"
        self.options = {"destructive": True, "preview": lambda arguments: self.shown[0]}

    @property
    def approvals(self):
        """The policies of a dispatcher with the store."""
        return {"permissions": Permissions("auto"), "approvals": Approvals(self.store)}

    async def run_agent(self, answer=None):
        """Run an agent, or answer its request. Return its status and its requests."""
        catalog = Catalog()

        @catalog.tool(**self.options)
        def pay() -> str:
            """Pay a bill."""
            self.paid.append(self.shown[0])
            return "paid"

        agent = Agent(ScriptedProvider(itertools.repeat(play_payment)), Dispatcher(catalog, **self.approvals))
        async with DurableAgent(agent, self.database) as durable:
            run = await (durable.run("go", id="r") if answer is None else durable.resume("r", answer))
        return run.status, list(run.requests)

    async def run_flow(self, answer=None):
        """Do the same with a flow."""
        flow = Flow("pay_bills", dispatcher=Dispatcher(Catalog(), **self.approvals))

        @flow.step(**self.options)
        async def pay(edited: Edited) -> Released:
            self.paid.append(self.shown[0])
            return Released("paid")

        async with DurableHost(self.database) as host:
            if answer is None:
                outcome = await flow.run(Edited("A"), host, id="r")
            else:
                (request,) = (await flow.run(Edited("A"), host, id="r")).requests
                outcome = await flow.resume("r", {request.id: answer}, host)
        return ("done" if outcome == Released("paid") else "waiting"), list(getattr(outcome, "requests", []))


@pytest.mark.parametrize("fails", ["", "before", "after"])
@pytest.mark.parametrize("kind", ["agent", "flow"])
async def test_a_yes_to_something_that_has_changed_is_never_mistaken_for_a_no(tmp_path, kind, fails):
    """The step is cut off after the first request was closed. It asks about the change, with one request."""
    tmp_path.chmod(0o700)
    case = Case(tmp_path)
    run = case.run_agent if kind == "agent" else case.run_flow
    assert (await run())[0] == "waiting"
    case.shown, case.store.fails = ["2 euros"], fails
    status, requests = await run(Decision.approve(by="ada"))
    assert (status, [request.preview for request in requests], case.paid) == ("waiting", ["2 euros"], [])
    assert [request.id for request in case.store.pending()] == [request.id for request in requests]
    assert (await run(Decision.approve(by="ada")))[0] == "done"
    assert (case.paid, case.store.pending()) == (["2 euros"], [])


@pytest.mark.parametrize("idempotent", [False, True])
async def test_no_request_stays_that_its_run_does_not_know(tmp_path, idempotent):
    """A process made it just before it was replaced. A later approval would run the call beside the run."""
    tmp_path.chmod(0o700)
    case, catalog, paid = Case(tmp_path), Catalog(), []

    @catalog.tool(approval="always", idempotent=idempotent)
    async def pay() -> str:
        """Pay a bill."""
        if not raised:
            raised.append(True)
            raise Changed("the bill has changed")
        paid.append("paid")
        return "paid"

    raised = []
    agent = Agent(ScriptedProvider(itertools.repeat(play_payment)), Dispatcher(catalog, **case.approvals))
    async with DurableAgent(agent, case.database) as durable:
        await durable.run("go", id="r")
        case.store.on_kept = lambda: durable.host._journal.activate("r", worker="dead", now=time.time(), max_lives=9)
        run = await durable.resume("r", Decision.approve(by="ada"))
    # A step that may be repeated finds the request again, and waits for it.
    assert (run.status, paid) == ("waiting" if idempotent else "done", [])
    assert [request.id for request in case.store.pending()] == [request.id for request in run.requests]
    assert idempotent or "may or may not have happened" in run.messages[-2].results[0].text
