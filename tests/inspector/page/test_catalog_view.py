"""Tools in the browser: found, explained, called, refused, repaired, sent again."""

from __future__ import annotations

import json

import pytest

from tests.inspector.page.shop import HOSTILE, Shop
from toolkit import Catalog, Tool


@pytest.fixture
def shop(tmp_path):
    return Shop(tmp_path)


def call(page, tool, arguments, inspected):
    """Call *tool* with *arguments* as raw JSON; return the panel."""
    page.goto(f"{inspected.url}/#/catalog/{tool}")
    panel = page.get_by_role("form", name=f"Call {tool}")
    panel.get_by_role("button", name="Raw JSON").click()
    panel.get_by_label("Arguments as JSON").fill(json.dumps(arguments))
    panel.get_by_role("button", name="Call", exact=True).click()
    return panel


def test_tool_is_called_through_its_form(inspect, shop):
    page = inspect(shop.dispatcher).open("/catalog")
    page.get_by_role("option", name="add").click()
    page.get_by_text("Add two numbers.").first.wait_for()
    panel = page.get_by_role("form", name="Call add")
    panel.get_by_label("a", exact=True).fill("40")
    panel.get_by_label("Send b").check()
    assert panel.get_by_label("b", exact=True).input_value() == "5"
    panel.get_by_label("b", exact=True).fill("2")
    panel.get_by_text("would run").wait_for()
    panel.get_by_role("button", name="Call", exact=True).click()
    assert panel.locator(".call .mark").first.inner_text() == "ok"
    assert panel.locator(".call pre").first.inner_text() == "42"


def test_repair_is_shown(inspect, shop):
    inspected = inspect(shop.dispatcher)
    panel = call(inspected.open(), "add", {"a": 1, "b": "2"}, inspected)
    panel.get_by_role("heading", name="Repairs").wait_for()
    assert panel.locator(".call pre").first.inner_text() == "3"


def test_refusal_is_shown(inspect, shop):
    inspected = inspect(shop.dispatcher)
    panel = call(inspected.open(), "add", {"a": "many"}, inspected)
    panel.locator(".before").get_by_text("does not fit").wait_for()
    assert panel.locator(".call .mark").first.inner_text() == "bad_args"
    assert "expected an integer" in panel.locator(".call pre").first.inner_text()


def test_hostile_output_stays_text(inspect, shop):
    """Markup is text, and what acts or hides is shown as its code."""
    inspected = inspect(shop.dispatcher)
    page = inspected.open()
    panel = call(page, "greet", {"name": HOSTILE}, inspected)
    output = panel.locator(".call pre").first.inner_text()
    assert "<img src=x onerror=" in output
    assert r"\x1b[2J\x07\u202egnp.exe" in output
    assert "p\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}\u0430 U+0430" in output
    assert page.locator("main img, main script").count() == 0
    assert "owned" not in page.title()


def test_secrets_are_not_shown(inspect, shop):
    """A parameter that is marked as a secret is masked in the form, in the history, and when it is sent again."""
    inspected = inspect(shop.dispatcher)
    page = inspected.open("/catalog/log_in")
    panel = page.get_by_role("form", name="Call log_in")
    field = panel.get_by_label("key", exact=True)
    assert field.get_attribute("type") == "password"
    field.fill("hush-hush")
    panel.get_by_role("button", name="Call", exact=True).click()
    panel.locator(".call").wait_for()
    panel.get_by_role("button", name="Fill in the arguments of call 1").click()
    panel.get_by_text("The form has the arguments of call 1.").wait_for()
    assert field.input_value() == ""
    assert "hush-hush" not in page.content()


def test_last_call_is_sent_again(inspect, shop):
    inspected = inspect(shop.dispatcher)
    page = inspected.open()
    call(page, "add", {"a": 40, "b": 2}, inspected).locator(".call").wait_for()
    page.goto(f"{inspected.url}/#/calls/1")
    page.get_by_role("link", name="Send again").click()
    panel = page.get_by_role("form", name="Call add")
    panel.get_by_text("The form has the arguments of call 1.").wait_for()
    assert panel.get_by_label("a", exact=True).input_value() == "40"
    panel.get_by_role("button", name="Call", exact=True).click()
    assert panel.locator(".call pre").first.inner_text() == "42"


def test_tool_is_shown_in_the_form_of_the_chosen_provider(inspect, shop):
    page = inspect(shop.dispatcher).open("/catalog/add")
    page.get_by_text("As each provider gets it").click()
    page.get_by_label("Definition for").select_option("anthropic")
    assert '"name": "add"' in page.locator("details pre").first.inner_text()
    assert page.get_by_role("cell", name="about").count() > 1
    page.get_by_text("Schema", exact=True).click()
    page.get_by_text("The first number.").last.wait_for()


def test_call_by_keyboard_alone(inspect, shop):
    page = inspect(shop.dispatcher).open("/catalog")
    page.get_by_label("Filter").focus()
    page.keyboard.type("add")
    page.get_by_text("1 of 7 tools").wait_for()
    for key in ("Tab", "Tab", "ArrowDown", "Enter"):
        page.keyboard.press(key)
    page.get_by_role("form", name="Call add").wait_for()
    field = page.get_by_role("form", name="Call add").get_by_label("a", exact=True)
    for _ in range(20):
        page.keyboard.press("Tab")
        if field.evaluate("field => field === document.activeElement"):
            break
    page.keyboard.type("40")
    for _ in range(10):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.innerText") == "Call":
            break
    page.keyboard.press("Enter")
    assert page.locator(".call pre").first.inner_text() == "45"


def test_ten_thousand_tools_filter_at_once(inspect):
    schema = {"type": "object", "properties": {}}
    tools = [
        Tool.from_schema(f"tool_{number}", f"Do thing {number}.", schema, lambda arguments: None)
        for number in range(10_000)
    ]
    page = inspect(Catalog(tools)).open("/catalog")
    page.get_by_text("10,000 of 10,000 tools").wait_for()
    seconds = page.evaluate(
        """async () => {
            const filter = document.querySelector("input[type=search]");
            const start = performance.now();
            filter.value = "tool_99";
            filter.dispatchEvent(new Event("input"));
            await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
            return (performance.now() - start) / 1000;
        }"""
    )
    assert page.get_by_text("111 of 10,000 tools").count() == 1
    assert page.get_by_role("option").count() < 60
    assert seconds < 1
