"""Runs and flows in the browser: what was said, what is uncertain, where a flow stands, and what a person can do."""

from __future__ import annotations

import asyncio
import contextlib
import time

import pytest

from tests.inspector.durable_runs import build_order_flow, run_agent, run_order
from tests.inspector.page.contrast import CONTRAST
from tests.inspector.page.shop import Shop, run_beside
from toolkit import Agent, ToolCall
from toolkit.durable.journal.run_journal import open_journal
from toolkit.providers import ScriptedProvider


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


def test_list_for_an_earlier_filter_is_not_shown(inspect, tmp_path, database, answer_late):
    inspected = inspect(Shop(tmp_path).dispatcher, database=database)
    page = inspected.open("/runs")
    runs = page.get_by_role("option", name="Pay what is open.")
    runs.wait_for()
    status = page.get_by_label("Status", exact=True)

    def choose(name):
        with page.expect_request_finished(lambda request: f"status={name}" in request.url):
            status.select_option(name)

    choose("done")
    page.get_by_text("No runs yet.").wait_for()
    answer_late(page, "**/api/runs?*", lambda: status.select_option("all"), lambda: choose("failed"))
    assert runs.count() == 0


def test_live_run_appears_with_its_conversation(inspect, tmp_path):
    inspected = inspect(Shop(tmp_path).dispatcher)
    page = inspected.open("/runs")
    page.get_by_text("No runs yet.").wait_for()
    script = [[ToolCall("add", {"a": 40, "b": 2}, "c1")], "It is 42."]
    agent = Agent(ScriptedProvider(script), inspected.inspector.dispatcher)
    run_beside(lambda: asyncio.run(agent.run("Add 40 and 2."))).result(120)
    page.get_by_role("option", name="Add 40 and 2.").click()
    page.get_by_text("calls add").wait_for()
    texts = page.locator(".run .message").all_inner_texts()
    assert [text.split("\n")[0] for text in texts] == ["user", "assistant", "tool", "assistant"]
    assert "It is 42." in texts[-1]


def open_run(inspect, tmp_path, flow_or_dispatcher, run_id, **options):
    """Open a page with a run of the database in *tmp_path*."""
    inspected = inspect(flow_or_dispatcher, database=f"sqlite:///{tmp_path}/runs.sqlite", **options)
    page = inspected.open(f"/runs/{run_id}")
    page.locator("article.run").wait_for()
    return page


STATES = [
    ("wait", ["pick done", "pack done · check · undo", "charge here"], "the check of pack passed, can be undone"),
    (
        "bad",
        ["pick done", "pack undone · check · undo", "charge"],
        "the check of pack found a problem: the parcel is wet, the undo of pack was done",
    ),
    ("kill", ["pick done", "pack done · check · undo", "charge uncertain"], "may or may not have happened"),
]


@pytest.mark.parametrize(("ending", "boxes", "words"), STATES)
def test_flow_is_drawn_with_the_position_of_its_run(inspect, tmp_path, ending, boxes, words):
    """Each box has the state of its step, and whether it has a check and an undo; the list has it in words."""
    flow = run_beside(lambda: run_order(f"sqlite:///{tmp_path}/runs.sqlite", ending)).result(120)
    page = open_run(inspect, tmp_path, Shop(tmp_path).dispatcher, "order-7", flows=[flow])
    drawing = page.get_by_role("img", name="Steps of order")
    nodes = drawing.locator(".node")
    assert [" ".join(node.locator("text").all_text_contents()) for node in nodes.all()] == boxes
    assert drawing.locator(".edge").count() == 2
    assert words in page.locator(".flow ul").inner_text()
    strokes = [node.locator("rect").evaluate("rect => getComputedStyle(rect).stroke") for node in nodes.all()]
    assert len(set(strokes)) > 1


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_run_of_a_flow_fits_a_small_screen(inspect, tmp_path, scheme):
    """The drawing scrolls in its own box, and every text has a contrast of 4.5 to 1."""
    address = f"sqlite:///{tmp_path}/runs.sqlite"
    flow = run_beside(lambda: run_order(address, "bad")).result(120)
    inspected = inspect(Shop(tmp_path).dispatcher, database=address, flows=[flow])
    page = inspected.open("/runs/order-7", color_scheme=scheme, viewport={"width": 360, "height": 740})
    page.locator("article.run .graph").wait_for()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    assert page.locator(".detail").evaluate("box => box.scrollWidth <= box.clientWidth")
    assert page.evaluate(CONTRAST) == []


def test_flow_that_the_inspector_does_not_know_shows_the_steps_of_its_run(inspect, tmp_path):
    run_beside(lambda: run_order(f"sqlite:///{tmp_path}/runs.sqlite")).result(120)
    page = open_run(inspect, tmp_path, Shop(tmp_path).dispatcher, "order-7")
    items = page.locator(".flow li").all_inner_texts()
    assert items == ["pick done", "pack done, the check of pack passed", "charge stands here"]
    assert page.locator(".flow dd").inner_text() == "pack"


def test_flow_is_drawn_without_a_run(inspect, tmp_path):
    inspected = inspect(Shop(tmp_path).dispatcher, flows=[build_order_flow()])
    page = inspected.open("/runs")
    page.get_by_role("link", name="order").click()
    drawing = page.get_by_role("img", name="Steps of order")
    assert drawing.locator("text").all_text_contents() == ["pick", "pack", "check · undo", "charge"]
    assert "pack takes Picked, has a check, can be undone" in page.locator(".flow ul").inner_text()


def test_inner_runs_are_shown_with_their_conversations(inspect, tmp_path):
    """One is over, and one waits. Their conversations are parts of the run and have no links."""
    prompt = "Pay what is open."
    dispatcher = run_beside(lambda: run_agent(f"sqlite:///{tmp_path}/runs.sqlite", prompt, run_id="bills")).result(120)
    page = open_run(inspect, tmp_path, dispatcher, "bills")
    inside = page.locator("section", has=page.get_by_role("heading", name="Runs inside")).locator("li > details")
    assert [row.inner_text() for row in inside.all()] == ["done bills/call/1.c1", "waiting bills/call/2.c2"]
    inside.first.locator("summary").first.click()
    assert "A-7 is open." in inside.first.inner_text()
    page.get_by_role("heading", name="Requests").wait_for()
    assert page.locator("section", has_text="Requests").get_by_role("link").count() == 1


def test_plan_is_shown(inspect, tmp_path):
    work = lambda: run_agent(f"sqlite:///{tmp_path}/runs.sqlite", "Plan the week.", run_id="week", mode="plan")  # noqa: E731
    page = open_run(inspect, tmp_path, run_beside(work).result(120), "week")
    page.get_by_text("Plan", exact=True).click()
    assert page.locator(".run .mark").first.inner_text() == "planned"
    assert page.locator("details[open] pre").first.inner_text() == "1. Pay A-7.\n2. Rest."
