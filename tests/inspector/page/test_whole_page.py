"""What holds in every view: names for all controls, contrast, small screens, no markup of others, and the pictures."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.inspector.page.contrast import CONTRAST
from tests.inspector.page.shop import HOSTILE, Shop

VIEWS = [
    "catalog",
    "catalog/write",
    "calls",
    "calls/1",
    "approvals",
    "runs",
    "search?q=write",
    "rules/write",
    "numbers",
]
SCREENS = [("light", 1280, 800), ("dark", 1280, 800), ("light", 360, 740), ("dark", 360, 740)]
IMAGES = Path(__file__).parents[3] / "docs" / "images"
NAMED_ROLES = {
    *("button", "checkbox", "combobox", "link", "listbox", "option", "radio", "searchbox", "spinbutton", "textbox"),
    *("form", "navigation", "region"),
}


@pytest.fixture
def shop_inspector(inspect, tmp_path):
    """A shop with two calls, of which one waits."""
    shop_inspector = inspect(Shop(tmp_path).dispatcher)
    change = {"path": "menu.txt", "text": "tea\ncocoa\n"}
    for tool, arguments in (("add", {"a": 40, "b": "2"}), ("greet", {"name": HOSTILE}), ("write", change)):
        shop_inspector.call(tool, arguments)
    return shop_inspector


def settle(page: Any, shop_inspector: Any, view: str) -> None:
    """Open *view*, and wait until the page asks for nothing more."""
    page.goto(f"{shop_inspector.url}/#/{view}")
    page.locator(f"main > .{view.partition('/')[0].partition('?')[0]} h2").first.wait_for(state="attached")
    with_content = ".detail > *:not(.empty, .back)" if "/" in view and "rules" not in view else "main"
    page.locator(with_content).first.wait_for()
    page.wait_for_timeout(300)  # a frame for the list, and the pause before a call is explained


def test_every_control_has_a_name(shop_inspector):
    """The tree is the one that the browser gives to a screen reader."""
    page = shop_inspector.open()
    devtools = page.context.new_cdp_session(page)
    for view in VIEWS:
        settle(page, shop_inspector, view)
        nodes = devtools.send("Accessibility.getFullAXTree")["nodes"]
        visible = [node for node in nodes if not node["ignored"]]
        roles = [node["role"]["value"] for node in visible]
        unnamed = [
            node["role"]["value"]
            for node in visible
            if node["role"]["value"] in NAMED_ROLES and not node.get("name", {}).get("value", "").strip()
        ]
        assert unnamed == [], view
        assert {"banner", "main", "navigation"} <= set(roles), view
        assert roles.count("heading") >= 2, view


def test_ids_are_unique(shop_inspector):
    page = shop_inspector.open()
    for view in VIEWS:
        settle(page, shop_inspector, view)
        ids = page.evaluate("[...document.querySelectorAll('[id]')].map((element) => element.id)")
        assert len(ids) == len(set(ids)), view


@pytest.mark.parametrize(("scheme", "width", "height"), SCREENS)
def test_views_fit_every_screen(shop_inspector, scheme, width, height):
    """No element is wider than the screen, and every text has a contrast of 4.5 to 1."""
    page = shop_inspector.open(color_scheme=scheme, viewport={"width": width, "height": height})
    for view in VIEWS:
        settle(page, shop_inspector, view)
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view
        wide = "[...document.querySelectorAll('.side, .detail, .view, main')].filter((box) => box.scrollWidth > box.clientWidth)"
        assert page.evaluate(f"{wide}.map((box) => box.className)") == [], view
        assert page.evaluate(CONTRAST) == [], view


def test_small_screen_has_a_way_back(shop_inspector):
    page = shop_inspector.open("/catalog/add", viewport={"width": 360, "height": 740})
    assert not page.get_by_role("listbox").is_visible()
    page.get_by_role("link", name="Back to the list").click()
    page.get_by_role("listbox").wait_for()


def test_the_page_has_no_animations_with_reduced_motion(shop_inspector):
    page = shop_inspector.open("/calls", reduced_motion="reduce")
    moving = page.evaluate("document.getAnimations().length")
    assert moving == 0


def test_token_leaves_the_address(shop_inspector):
    """Neither the address bar nor the history of the browser has it."""
    page = shop_inspector.open("/search")
    assert shop_inspector.token not in page.url
    assert page.evaluate("history.length") <= 2


def test_wrong_token_is_an_error(shop_inspector):
    shop_inspector.allowed.append("401")
    page = shop_inspector.new_page(shop_inspector)
    page.goto(f"{shop_inspector.url}/#token=wrong")
    alert = page.get_by_role("alert").inner_text()
    assert "the token is missing or wrong" in alert
    assert "Open the address that the command printed" in alert
    assert page.locator("#views a, main form, main [role=listbox]").count() == 0


def test_page_that_only_reads_has_no_buttons(inspect, tmp_path):
    shop_inspector = inspect(Shop(tmp_path).dispatcher, read_only=True)
    page = shop_inspector.open("/catalog/add")
    page.get_by_text("This page only reads").wait_for()
    assert page.get_by_role("button", name="Call", exact=True).count() == 0


def test_search_shows_scores_and_words_and_the_text_for_the_model(shop_inspector):
    page = shop_inspector.open("/search")
    page.get_by_label("Search for").fill("wriet a file")
    page.keyboard.press("Enter")
    page.get_by_role("cell", name="write", exact=True).wait_for()
    page.get_by_text("What the model is told").click()
    assert "Write a file." in page.locator("details pre").inner_text()


def test_answer_to_an_earlier_search_is_not_shown(shop_inspector, answer_late):
    page = shop_inspector.open("/search")

    def search(words, tool):
        page.get_by_label("Search for").fill(words)
        page.keyboard.press("Enter")
        page.get_by_role("link", name=tool, exact=True).wait_for()

    def start():
        page.get_by_label("Search for").fill("write a file")
        page.keyboard.press("Enter")

    answer_late(page, "**/api/search?query=write*", start, lambda: search("add", "add"))
    assert page.get_by_role("link", name="write", exact=True).count() == 0


def test_answer_to_a_search_that_was_cleared_is_not_shown(shop_inspector, answer_late):
    page = shop_inspector.open("/search")

    def search(words):
        page.get_by_label("Search for").fill(words)
        page.keyboard.press("Enter")
        page.wait_for_url(f"**q={words}")

    answer_late(page, "**/api/search?query=write*", lambda: search("write"), lambda: search(""))
    assert page.get_by_role("link", name="write", exact=True).count() == 0


def test_verdict_about_another_tool_is_not_shown(shop_inspector, answer_late):
    page = shop_inspector.open("/rules/greet")
    page.get_by_label("name", exact=True).fill("ada")
    choose_another = lambda: page.get_by_label("Tool", exact=True).fill("unheard")  # noqa: E731
    ask = page.get_by_role("button", name="Which rule decides?").click
    answer_late(page, "**/api/explain", ask, choose_another)
    assert page.get_by_text("would run").count() == 0


def test_rules_view_shows_the_verdict_and_the_mode_that_decides(shop_inspector):
    """A path outside of the workspace is denied."""
    page = shop_inspector.open("/rules")
    page.get_by_label("Tool", exact=True).fill("write")
    page.get_by_label("path", exact=True).fill("menu.txt")
    page.get_by_role("button", name="Which rule decides?").click()
    page.get_by_text("would ask").wait_for()
    assert "mode `default`" in page.get_by_role("region", name="Findings").inner_text()
    page.get_by_label("path", exact=True).fill("../../outside.txt")
    page.get_by_role("button", name="Which rule decides?").click()
    page.get_by_text("would be denied").wait_for()


def test_numbers_have_percentiles(shop_inspector):
    page = shop_inspector.open("/numbers")
    row = page.get_by_role("row", name="add")
    assert row.get_by_role("cell").nth(1).inner_text() == "1"
    assert row.get_by_role("cell").nth(6).inner_text().endswith("s")


def test_pictures_of_the_documentation(shop_inspector):
    """Take them anew with `PICTURES=1`; without it, the test only shows that the views can be drawn."""
    page = shop_inspector.open(viewport={"width": 1080, "height": 680}, device_scale_factor=1)
    for view, name in (("catalog/write", "catalog"), ("calls/1", "calls"), ("approvals", "approvals")):
        settle(page, shop_inspector, view)
        if view == "catalog/write":
            panel = page.get_by_role("form", name="Call write")
            panel.get_by_label("path", exact=True).fill("menu.txt")
            panel.get_by_label("text", exact=True).fill("tea")
            panel.get_by_text("would ask").wait_for()
            # The folder of this machine is nothing for a picture.
            page.locator("dd", has_text="shop.py:").evaluate("place => { place.textContent = 'shop.py:63'; }")
        picture = page.screenshot(animations="disabled")
        assert picture.startswith(b"\x89PNG")
        if "PICTURES" in os.environ:
            (IMAGES / f"inspector-{name}.png").write_bytes(picture)
