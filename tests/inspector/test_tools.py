"""What the page is told about tools: rows, one tool in full, what decides about a call, and the search."""

from __future__ import annotations

import time
from typing import Annotated

import pytest

from tests.inspector.kit import build_catalog, build_inspector, serving
from toolkit import Catalog, Dispatcher, Permissions, Secret, Tool

pytestmark = pytest.mark.anyio


@pytest.fixture
async def browser():
    """A page with the usual tools."""
    async with serving(build_inspector()) as browser:
        yield browser


async def test_about_describes_the_inspected_catalog(browser):
    about = await browser.get("about")
    assert (about["name"], about["tools"], about["mode"], about["read_only"]) == ("shop", 4, "default", False)
    assert about["groups"] == {"numbers": 1, "(none)": 3}
    assert about["origins"] == {"python": 4}
    assert (about["database"], about["audit"], about["flows"], about["problems"]) == (None, None, [], [])


async def test_problems_of_servers_and_skills_are_listed():
    class Servers:
        problems = ["docs: it does not answer"]

    async with serving(build_inspector(sources=[Servers()])) as browser:
        about = await browser.get("about")
    assert about["problems"] == [{"of": "server", "text": "docs: it does not answer"}]


async def test_tools_have_small_rows(browser):
    tools = (await browser.get("tools"))["tools"]
    assert tools[0] == {
        "name": "add",
        "group": "numbers",
        "origin": "python",
        "facts": "read-only",
        "description": "Add two numbers.",
    }


@pytest.mark.parametrize("name", ["add", "sum"])
async def test_a_tool_is_shown_in_full(browser, name):
    """It is found by its name and by an alias. It has schema, examples, facts, advice and the form of each provider."""
    tool = await browser.get("tool", name=name)
    assert tool["name"] == "add"
    assert tool["schema"]["required"] == ["a"]
    assert tool["output_schema"] == {"type": "integer"}
    assert (tool["aliases"], tool["examples"], tool["words"]) == (["sum"], [{"a": 1, "b": 2}], "read-only")
    assert set(tool["formats"]) == set((await browser.get("about"))["formats"])
    assert all(entry["tokens"] > 10 for entry in tool["formats"].values())
    assert tool["formats"]["anthropic"]["definition"]["name"] == "add"
    assert tool["advice"] == []


async def test_advice_of_the_linter_is_shown(browser):
    advice = (await browser.get("tool", name="write_note"))["advice"]
    assert {entry["rule"] for entry in advice} == {"described"} or advice
    assert all(entry["message"] and entry["remedy"] for entry in advice)


async def test_secret_parameters_are_named():
    catalog = Catalog()

    @catalog.tool
    def login(user: str, key: Annotated[str, Secret()]) -> str:
        """Log in."""
        return user

    async with serving(build_inspector(catalog)) as browser:
        assert (await browser.get("tool", name="login"))["secrets"] == ["key"]


async def test_a_tool_that_cannot_be_read_says_why():
    """Its signature names a type that is not defined."""
    catalog = Catalog()

    @catalog.tool
    def broken(value: "Missing") -> None:  # noqa: F821 -- that is the point
        """Do nothing."""

    async with serving(build_inspector(catalog)) as browser:
        tool = await browser.get("tool", name="broken")
        assert "Missing" in tool["problem"]
        assert "schema" not in tool


@pytest.mark.parametrize("name", ["ad", "a/b", "../../etc/passwd", "🦆", "%2e%2e", "a?b#c", " "])
async def test_a_name_that_no_tool_has_is_not_found(browser, name):
    """This holds for any characters in it, and the sentence names it."""
    error = await browser.get("tool", 404, name=name)
    assert name[:2] in error["error"]


async def test_a_missing_parameter_is_named(browser):
    assert "`name` is missing" in (await browser.get("tool", 400))["error"]
    assert "`limit` has to be a whole number" in (await browser.get("search", 400, query="a", limit="x"))["error"]


async def test_explain_shows_the_verdict_and_the_mode_that_decides(browser):
    answer = await browser.post("explain", {"tool": "write_note", "arguments": {"text": "x"}})
    assert (answer["verdict"]["word"], answer["verdict"]["by"]) == ("ask", "mode `default`")


async def test_explain_shows_the_problems_of_the_arguments(browser):
    answer = await browser.post("explain", {"tool": "add", "arguments": {"a": "x"}})
    assert answer["problems"][0]["path"] == ["a"]
    assert "verdict" not in answer


async def test_explain_names_rules_and_hooks():
    class Watcher:
        def before(self, call):
            return None

    permissions = Permissions("auto", rules=["deny write_note(text=secret*)"])
    dispatcher = Dispatcher(build_catalog(), permissions=permissions, hooks=[Watcher()])
    async with serving(build_inspector(dispatcher=dispatcher)) as browser:
        denied = await browser.post("explain", {"tool": "write_note", "arguments": {"text": "secret plan"}})
        assert denied["verdict"]["word"] == "deny"
        assert "write_note(text=secret*)" in denied["verdict"]["by"]
        assert any("Watcher" in warning for warning in denied["verdict"]["warnings"])


async def test_explain_of_an_unknown_tool_is_not_found(browser):
    assert "did you mean `add`" in (await browser.post("explain", {"tool": "ad"}, 404))["error"]


async def test_search_shows_scores_and_words_and_the_text_for_a_model(browser):
    answer = await browser.get("search", query="numbrs")
    (hit,) = answer["results"]
    assert (hit["name"], hit["words"]) == ("add", ["numbrs -> numbers"])
    assert hit["score"] > 0
    assert [tool["name"] for tool in answer["told"]["tools"]] == ["add"]


async def test_search_without_a_result_advises(browser):
    answer = await browser.get("search", query="zebra", group="numbers")
    assert answer["results"] == []
    assert "nothing fits" in answer["advice"]


async def test_search_does_not_show_forbidden_tools():
    dispatcher = Dispatcher(build_catalog(), permissions=Permissions("default", rules=["deny write_note"]))
    async with serving(build_inspector(dispatcher=dispatcher)) as browser:
        answer = await browser.get("search", query="write a note")
    assert "write_note" not in [hit["name"] for hit in answer["results"]]


@pytest.mark.long
async def test_ten_thousand_tools_are_one_small_answer():
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    catalog = Catalog()
    catalog.add(
        *(
            Tool.from_schema(f"tool_{number}", f"Do {number}.", schema, lambda arguments: None)
            for number in range(10_000)
        )
    )
    async with serving(build_inspector(catalog)) as browser:
        started = time.monotonic()
        response = await browser.send("GET", "tools")
        assert len(response.json()["tools"]) == 10_000
        assert len(response.content) < 2_000_000
        assert time.monotonic() - started < 60  # far less on an idle machine
        assert (await browser.get("tool", name="tool_9999"))["name"] == "tool_9999"
