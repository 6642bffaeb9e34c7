"""A decision counts if it was given before its request expired, whenever a worker reads it."""

from __future__ import annotations

import pytest

from tests.durable.kit import DurableShop
from toolkit.approvals import Approvals
from toolkit.decisions import Decision
from toolkit.durable import DurableError
from toolkit.results import ToolCall

pytestmark = pytest.mark.anyio

SCRIPT = [[ToolCall("pay", {"bill": "A"}, "a")], "done"]


class Clock:
    """A clock that stands still."""

    def __init__(self):
        self.now = 1_000.0

    def __call__(self):
        return self.now


@pytest.mark.parametrize(
    ("decision", "paid", "text"),
    [(Decision.approve(by="ada"), ["A"], "A is paid"), (Decision.deny("too dear"), [], "too dear")],
)
async def test_a_decision_in_time_counts_when_a_worker_comes_late(tmp_path, decision, paid, text):
    """The request expires between the decision and the worker, and the call goes by the decision all the same."""
    clock = Clock()
    shop = DurableShop(tmp_path, approvals=Approvals(expires_seconds=60, clock=clock), script=SCRIPT)
    async with shop.open(clock=clock) as durable:
        waiting = await durable.run("pay", id="a")
        clock.now += 59
        await durable.decide("a", {waiting.requests[0].id: decision})
        clock.now += 1_000
        run = await durable.run("pay", id="a")
    assert (run.status, shop.paid) == ("done", paid)
    assert text in run.messages[-2].results[0].text


async def test_a_decision_that_comes_too_late_is_refused(tmp_path):
    """The person is told, and the call is not run."""
    clock = Clock()
    shop = DurableShop(tmp_path, approvals=Approvals(expires_seconds=60, clock=clock), script=SCRIPT)
    async with shop.open(clock=clock) as durable:
        waiting = await durable.run("pay", id="a")
        clock.now += 60
        for answer in (durable.decide, durable.resume):
            with pytest.raises(DurableError, match="has expired") as caught:
                await answer("a", {waiting.requests[0].id: Decision.approve()})
            assert caught.value.why == "expired"
        run = await durable.run("pay", id="a")
    assert (run.status, shop.paid) == ("done", [])


async def test_a_caller_cannot_date_a_decision_back(tmp_path):
    """The host says when a decision was given."""
    clock = Clock()
    shop = DurableShop(tmp_path, approvals=Approvals(expires_seconds=60, clock=clock), script=SCRIPT)
    async with shop.open(clock=clock) as durable:
        waiting = await durable.run("pay", id="a")
        row = await durable.decide("a", {waiting.requests[0].id: Decision(approved=True, decided_at=1.0)})
    assert [decision["decided_at"] for decision in row.decisions.values()] == [1_000.0]
