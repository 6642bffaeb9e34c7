"""Calls in the browser: live in two pages, filtered, and by the hundred thousand."""

from __future__ import annotations

import asyncio
import json
import time

import pytest

from tests.inspector.page.shop import Shop, run_beside
from toolkit import Catalog, Dispatcher

MANY = 100_000


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path)


def test_call_is_seen_live_in_two_pages(inspect, shop):
    """It appears while it runs, and changes when it ends, without a click."""
    inspected = inspect(shop.dispatcher)
    pages = [inspected.open("/calls") for _ in range(2)]
    future = run_beside(lambda: inspected.inspector.dispatcher.call_sync("brew", {"minutes": 3}))
    assert shop.running.wait(60)
    for page in pages:
        page.get_by_role("option", name="running brew").wait_for()
    shop.released.set()
    assert future.result(60).kind == "ok"
    for page in pages:
        page.get_by_role("option", name="ok brew").click()
        page.get_by_text("tea after 3 minutes", exact=True).wait_for()


def test_parallel_calls_lie_side_by_side(inspect, shop):
    """Their bars begin at the same place of the turn, and overlap."""
    inspected = inspect(shop.dispatcher)
    page = inspected.open("/calls")
    calls = [("brew", {"minutes": 1}), ("brew", {"minutes": 2})]
    future = run_beside(lambda: asyncio.run(inspected.inspector.dispatcher.call_many(calls)))
    assert shop.running.wait(60)
    page.get_by_role("option", name="running brew").nth(1).wait_for()
    shop.released.set()
    future.result(60)
    page.get_by_role("option", name="ok brew").nth(1).wait_for()
    bars = [page.locator(".bar").nth(index).bounding_box() for index in range(2)]
    assert bars[0]["x"] < bars[1]["x"] + bars[1]["width"]
    assert bars[1]["x"] < bars[0]["x"] + bars[0]["width"]


def test_call_between_the_first_list_and_the_stream_is_seen(inspect, shop):
    inspected = inspect(shop.dispatcher)
    page = inspected.new_page(inspected)

    def call_first(route):
        inspected.call("add", {"a": 1})
        route.continue_()

    page.route("**/api/events*", call_first)
    page.goto(f"{inspected.url}/#token={inspected.token}&/calls")
    page.get_by_role("option", name="ok add").wait_for()


def test_call_that_ends_while_a_list_is_on_its_way_has_ended_in_the_list(inspect, shop):
    """The list says that it runs, and comes after the news of its end."""
    inspected = inspect(shop.dispatcher)
    future = run_beside(lambda: inspected.inspector.dispatcher.call_sync("brew", {"minutes": 3}))
    assert shop.running.wait(60)
    page = inspected.open("/calls/1")
    page.get_by_role("option", name="running brew").wait_for()

    def end_first(route):
        response = route.fetch()
        with page.expect_response("**/api/calls/1"):  # the page asks for it when it hears of the end
            shop.released.set()
            assert future.result(60).kind == "ok"
        route.fulfill(response=response)

    page.route("**/api/calls?*", end_first, times=1)
    page.get_by_label("Tool", exact=True).fill("brew")
    page.get_by_role("option", name="ok brew").wait_for()
    assert page.get_by_role("option", name="running brew").count() == 0


def test_filters_leave_only_matching_calls(inspect, shop):
    inspected = inspect(shop.dispatcher)
    for tool, arguments in (("add", {"a": 1}), ("add", {"a": "x"}), ("greet", {"name": "ada"})):
        inspected.call(tool, arguments)
    page = inspected.open("/calls")
    calls = page.locator(".list-row:not(.header)")
    page.get_by_text("3 of 3 calls").wait_for()
    page.get_by_label("Tool", exact=True).fill("greet")
    page.get_by_text("1 of 1 calls").wait_for()
    assert "greet" in calls.inner_text()
    page.get_by_label("Tool", exact=True).fill("")
    page.get_by_text("3 of 3 calls").wait_for()
    page.get_by_label("Failed").check()
    page.get_by_text("1 of 1 calls").wait_for()
    assert "bad_args" in calls.inner_text()


WATCH_TASKS = """() => {
    window.longest = 0;
    const watch = (list) => { for (const task of list.getEntries()) longest = Math.max(longest, task.duration); };
    new PerformanceObserver(watch).observe({ entryTypes: ["longtask"] });
}"""
"""Keeps the milliseconds of the longest task of the page in `longest`."""


def test_output_of_fifty_megabytes_leaves_the_page_usable(inspect):
    """The page gets the beginning, says so, shows more of it on demand, and opens other views meanwhile."""
    catalog = Catalog()

    @catalog.tool(read_only=True, max_chars=100_000_000)
    def dump() -> str:
        """Return 50 MB, with markup and without a line feed."""
        return "<b>\u202ex" * 10_000_000

    inspected = inspect(Dispatcher(catalog))
    page = inspected.open("/calls")
    page.evaluate(WATCH_TASKS)
    assert len(inspected.call("dump", {}).text) == 50_000_000
    page.get_by_role("option", name="ok dump").click()
    page.get_by_text("Too long to keep in full: text, value.").wait_for()
    block = page.locator(".call pre").first
    assert block.inner_text().startswith(r"<b>\u202ex<b>")
    before = page.evaluate("document.querySelector('.call pre').textContent.length")
    page.get_by_role("button", name="Show more").first.click()
    assert page.evaluate("document.querySelector('.call pre').textContent.length") > before
    page.get_by_role("link", name="Catalog").click()
    page.get_by_role("option", name="dump").click()
    assert page.get_by_role("form", name="Call dump").get_by_role("button", name="Call", exact=True).is_enabled()
    assert page.evaluate("longest") < 1000


@pytest.fixture
def long_log(tmp_path):
    """An audit log with a hundred thousand calls, forty in each conversation."""
    path = tmp_path / "calls.jsonl"
    start = time.time() - MANY
    with path.open("w", encoding="utf-8") as file:
        for number in range(MANY):
            call = {"call_id": f"c{number}", "tool": f"tool_{number % 50}", "session": f"s{number // 40}"}
            outcome = {"event": "outcome", "kind": "ok", "duration_seconds": 0.5, "attempts": 1, **call}
            file.write(json.dumps({"version": 1, "at": start + number, **outcome}) + "\n")
    return path


def test_hundred_thousand_calls_scroll_without_a_blocked_second(inspect, long_log):
    """The end is reached, few rows exist at any time, and no task of the page takes a second."""
    inspected = inspect(Dispatcher(Catalog()), audit=long_log)
    page = inspected.open("/calls")
    page.get_by_text(f"of {MANY:,} calls").wait_for()
    page.evaluate(WATCH_TASKS)
    page.wait_for_function(
        """() => {
            const list = document.querySelector(".virtual");
            list.scrollTop = list.scrollHeight;
            return document.querySelector(".side").innerText.includes("100,000 of 100,000 calls");
        }""",
        timeout=5 * 60_000,
    )
    page.evaluate("document.querySelector('.virtual').scrollTop = document.querySelector('.virtual').scrollHeight")
    page.get_by_role("option", name="tool_39").last.wait_for()  # the last of the oldest conversation
    assert page.get_by_role("option").count() < 80
    assert page.evaluate("longest") < 1000
