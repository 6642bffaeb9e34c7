"""A tool that has changed since a person was asked: the person is asked again, and reads what has changed."""

from __future__ import annotations

import itertools

import pytest

from toolkit import Agent, Catalog, Decision, Dispatcher, Permissions, ToolCall, tool
from toolkit.approvals import Approvals, MemoryApprovals
from toolkit.durable import DurableAgent
from toolkit.providers import AssistantMessage, ScriptedProvider

pytestmark = pytest.mark.anyio


class Till:
    """A tool in several versions, and agents that call it once."""

    def __init__(self):
        self.paid = []
        self.approvals = Approvals(MemoryApprovals())

    def build_tool(self, version):
        def pay(bill: str) -> str:
            """
            Pay a bill.

            Args:
                bill: The number.
            """
            self.paid.append(bill)
            return "paid"

        def pay_with_note(bill: str, note: str = "") -> str:
            """
            Pay a bill.

            Args:
                bill: The number.
            """
            return pay(bill)

        def pay_described(bill: str) -> str:
            """
            Pay a bill, at once.

            Args:
                bill: The number on the bill.
            """
            return pay(bill)

        functions = {"note": pay_with_note, "docstring": pay_described}
        function = functions.get(version, pay)
        function.__qualname__ = "pay"
        idempotent = version == "fact"
        return tool(function, name="pay", destructive=True, idempotent=idempotent, catalog=None)

    def agent(self, version="", approvals=None):
        def play(request):
            turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
            return [[ToolCall("pay", {"bill": "A-7"}, "c1")], "done"][turn]

        dispatcher = Dispatcher(
            Catalog(self.build_tool(version)), permissions=Permissions("default"), approvals=approvals or self.approvals
        )
        return Agent(ScriptedProvider(itertools.repeat(play)), dispatcher)


CHANGES = {
    "note": ["the parameter `note` is new"],
    "docstring": ["the schema of `bill` is another one", "its description is another one"],
    "fact": ["`idempotent` was false and is true"],
}


def approve(run):
    return {request.id: Decision.approve(by="ada") for request in run.requests}


@pytest.mark.parametrize("version", CHANGES)
async def test_an_agent_asks_again_with_the_change_of_the_tool(version):
    till = Till()
    run = await till.agent().run("go")
    changed = await till.agent(version).resume(run, approve(run))
    assert (changed.status, till.paid) == ("waiting", [])
    (request,) = changed.requests
    assert request.id != run.requests[0].id
    assert all(text in request.reason for text in CHANGES[version])
    assert [pending.id for pending in till.approvals.store.pending()] == [request.id]
    done = await till.agent(version).resume(changed, approve(changed))
    assert (done.text, till.paid) == ("done", ["A-7"])


@pytest.mark.parametrize("version", CHANGES)
async def test_a_durable_agent_asks_again_with_the_change_of_the_tool(version, tmp_path):
    tmp_path.chmod(0o700)
    till, database = Till(), f"sqlite:///{tmp_path}/runs.sqlite"
    async with DurableAgent(till.agent(approvals=Approvals()), database) as durable:
        run = await durable.run("go", id="r")
    async with DurableAgent(till.agent(version, approvals=Approvals()), database) as durable:
        changed = await durable.resume("r", approve(run))
        assert (changed.status, till.paid) == ("waiting", [])
        assert all(text in changed.requests[0].reason for text in CHANGES[version])
        done = await durable.resume("r", approve(changed))
    assert (done.text, till.paid) == ("done", ["A-7"])


async def test_a_denial_counts_also_if_the_tool_has_changed():
    till = Till()
    run = await till.agent().run("go")
    (request,) = run.requests
    done = await till.agent("note").resume(run, {request.id: Decision.deny("no")})
    assert (done.text, till.paid) == ("done", [])
