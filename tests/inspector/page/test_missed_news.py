"""News that a page misses, or that come by the hundred: what is open is shown as it is, with few questions."""

from __future__ import annotations

import contextlib
import sqlite3
import time

import pytest

from tests.inspector.page.shop import Shop, run_beside
from toolkit import Decision
from toolkit.durable.journal.run_journal import open_journal


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path)


@contextlib.contextmanager
def missing(inspected, monkeypatch):
    """Let no page hear what happens in the block; afterwards each is told that it has missed something."""
    events = inspected.inspector.history.events
    with monkeypatch.context() as patch:
        patch.setattr(events, "add", lambda kind, data: None)
        yield
    events.add("reset", {"reason": "gone"})


def ask(inspected):
    """Make a call that waits for an answer."""
    assert inspected.call("write", {"path": "menu.txt", "text": "tea\n"}).kind == "waiting"


def test_open_call_is_read_again(inspect, shop, monkeypatch):
    inspected = inspect(shop.dispatcher)
    future = run_beside(lambda: inspected.inspector.dispatcher.call_sync("brew", {"minutes": 3}))
    assert shop.running.wait(60)
    page = inspected.open("/calls/1")
    page.locator(".detail .call").wait_for()
    with missing(inspected, monkeypatch):
        shop.released.set()
        assert future.result(60).kind == "ok"
    page.locator(".detail").get_by_text("tea after 3 minutes", exact=True).wait_for(timeout=20_000)


def test_open_run_is_read_again(inspect, shop, tmp_path, monkeypatch):
    address = f"sqlite:///{tmp_path}/runs.sqlite"
    with contextlib.closing(open_journal(address)) as journal:
        journal.create("fix", "agent", {"prompt": "Pay what is open."}, now=time.time())
        inspected = inspect(shop.dispatcher, database=address)
        page = inspected.open("/runs/fix")
        page.get_by_role("button", name="Cancel the run").wait_for()
        with missing(inspected, monkeypatch):
            journal.cancel("fix", "", now=time.time())
        page.get_by_role("button", name="Retry the run").wait_for(timeout=20_000)


@pytest.mark.parametrize("was_answered", [True, False], ids=["answered", "withdrawn"])
def test_open_request_that_is_over_is_closed(inspect, shop, monkeypatch, was_answered):
    """Its buttons would promise an answer that nobody takes."""
    inspected = inspect(shop.dispatcher)
    ask(inspected)
    page = inspected.open("/approvals")
    page.get_by_role("button", name="Approve").wait_for()
    [request] = shop.dispatcher.approvals.store.pending()
    decision = Decision.deny("no", by="bob")
    with missing(inspected, monkeypatch):
        if was_answered:
            run_beside(lambda: inspected.inspector.dispatcher.resume_sync(request.id, decision)).result(60)
        else:
            with contextlib.closing(sqlite3.connect(shop.dispatcher.approvals.store.path)) as connection, connection:
                connection.execute("DELETE FROM toolkit_approvals")
    words = "Denied by bob" if was_answered else "This request is not open any more"
    page.get_by_text(words).wait_for(timeout=20_000)
    assert page.get_by_role("button", name="Approve").is_disabled()


def count_questions(page, path):
    """Return the list of the questions to *path* that the page asks from now on."""
    asked = []
    page.on("request", lambda request: asked.append(request.url) if request.url.endswith(path) else None)
    return asked


def test_many_requests_at_once_are_counted_with_few_questions(inspect, shop):
    """Each answer has all open requests, so a question for each of them takes minutes for a thousand."""
    inspected = inspect(shop.dispatcher)
    page = inspected.open("/catalog")
    asked = count_questions(page, "/api/approvals")
    ask(inspected)
    for number in range(300):
        inspected.inspector.history.events.add("approval", {"id": f"r{number}", "state": "open"})
    inspected.call("order_pizza", {})
    page.get_by_role("link", name="Approvals 2").wait_for()
    assert 0 < len(asked) < 100


def test_open_call_that_reports_often_is_read_now_and_then(inspect, shop):
    """It would show nothing until the end: each answer was dropped for a newer question."""
    inspected = inspect(shop.dispatcher)
    inspected.call("add", {"a": 1})
    page = inspected.open("/calls/1")
    page.locator(".detail .call").wait_for()
    asked = count_questions(page, "/api/calls/1")
    [row], *_ = inspected.inspector.history.list_calls(lambda call: True, before=None, limit=1)
    with page.expect_request("**/api/calls/1"):
        for _ in range(300):
            inspected.inspector.history.events.add("call", row)
    ask(inspected)
    page.get_by_role("link", name="Approvals 1").wait_for()
    assert 0 < len(asked) < 100


def test_run_that_fits_the_filter_no_longer_leaves_the_list(inspect, shop):
    inspected = inspect(shop.dispatcher)
    page = inspected.open("/runs")
    page.get_by_text("No runs yet.").wait_for()
    page.get_by_label("Status", exact=True).select_option("running")
    events, row = inspected.inspector.history.events, {"id": "a", "about": "Tidy up.", "kind": "agent"}
    events.add("run", {**row, "status": "running"})
    page.get_by_role("option", name="Tidy up.").wait_for()
    events.add("run", {**row, "status": "done"})
    events.add("run", {**row, "id": "b", "about": "Cook.", "status": "running"})
    page.get_by_role("option", name="Cook.").wait_for()
    assert page.get_by_role("option", name="Tidy up.").count() == 0
