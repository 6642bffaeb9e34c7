"""Runs and flows in the browser: what was said, what is uncertain, where a flow stands, and what a person can do."""

from __future__ import annotations

import asyncio
import contextlib
import time
from dataclasses import dataclass

import pytest

from tests.inspector.page.shop import Shop, run_beside
from toolkit import Agent, ToolCall
from toolkit.durable.journal.run_journal import open_journal
from toolkit.flows import Flow
from toolkit.providers import ScriptedProvider


@dataclass
class Order:
    item: str


@dataclass
class Parcel:
    item: str


def build_flow():
    """Two steps, one with an undo."""
    flow = Flow("order")

    def unpack(order: Order) -> None:
        """Take the item back."""

    @flow.step(undo=unpack)
    def pack(order: Order) -> Parcel:
        """Pack an order."""
        return Parcel(order.item)

    @flow.step
    def send(parcel: Parcel) -> str:
        """Send a parcel."""
        return parcel.item

    return flow


@pytest.fixture
def database(tmp_path):
    """A database with a run that was cut off while it paid."""
    address = f"sqlite:///{tmp_path}/runs.sqlite"
    with contextlib.closing(open_journal(address)) as journal:
        now = time.time()
        journal.create("fix", "agent", {"prompt": "Pay what is open."}, now=now)
        epoch = journal.activate("fix", worker="w1", now=now, max_lives=3).epoch
        journal.begin("fix", epoch, "fix/call/c2", {"tool": "pay", "arguments": {"bill": "A-7"}}, now=now)
        journal.activate("fix", worker="w2", now=now, max_lives=3)
    return address


def test_uncertain_step_is_marked_and_the_run_cancelled(inspect, tmp_path, database):
    inspected = inspect(Shop(tmp_path).dispatcher, database=database)
    page = inspected.open("/runs")
    page.get_by_role("option", name="Pay what is open.").click()
    page.get_by_text("Steps that may or may not have happened: 1.").wait_for()
    page.get_by_text("Steps of the journal").click()
    assert page.get_by_role("cell", name="uncertain").count() == 1
    page.get_by_label("Reason").fill("paid by hand")
    page.get_by_role("button", name="Cancel the run").click()
    page.get_by_role("button", name="Retry the run").wait_for()
    assert page.locator(".run .mark").first.inner_text() == "cancelled"


def test_live_run_appears_with_its_conversation(inspect, tmp_path):
    inspected = inspect(Shop(tmp_path).dispatcher)
    page = inspected.open("/runs")
    page.get_by_text("No runs yet.").wait_for()
    script = [[ToolCall("add", {"a": 40, "b": 2}, "c1")], "It is 42."]
    agent = Agent(ScriptedProvider(script), inspected.inspector.dispatcher)
    run_beside(lambda: asyncio.run(agent.run("Add 40 and 2."))).result(120)
    page.get_by_role("option", name="Add 40 and 2.").click()
    page.get_by_text("It is 42.").wait_for()
    page.get_by_text("calls add").wait_for()


def test_flow_is_drawn(inspect, tmp_path):
    inspected = inspect(Shop(tmp_path).dispatcher, flows=[build_flow()])
    page = inspected.open("/runs")
    page.get_by_role("link", name="order").click()
    drawing = page.get_by_role("img", name="Steps of order")
    assert drawing.locator("text").all_text_contents() == ["pack", "send"]
    assert drawing.locator(".edge").count() == 1
    page.get_by_text("undone by").wait_for()
