"""Deferred tools, loaded as the provider does it; and what is cached of the rest."""

from __future__ import annotations

import json

import pytest

from tests.formats import sdks
from tests.formats.tools import build_definitions, everything, module
from toolkit import Catalog, Dispatcher, Session, ToolResult
from toolkit.builtin.tool_search_tool import tool_search_for

pytestmark = pytest.mark.anyio

NATIVE = ["anthropic", "openai_responses"]


def searchable():
    """Return a catalog with our own `tool_search`."""
    catalog = everything()
    catalog.add(tool_search_for(catalog))
    return catalog


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", NATIVE)
@pytest.mark.parametrize("make", [everything, searchable], ids=["theirs", "ours"])
def test_definitions_of_native_loading_fit_the_types_of_the_sdk(name, make, strict):
    """They are search tools and deferred definitions."""
    definitions = build_definitions(name, make(), native_loading=True, strict=strict)
    assert sdks.tools(name, definitions) == sdks.plain(definitions)


@pytest.mark.parametrize("name", NATIVE)
def test_the_search_tool_of_the_provider_is_added_if_the_catalog_has_none(name):
    """Deferred tools are sent with a mark."""
    definitions = build_definitions(name, everything(), native_loading=True)
    deferred = [definition["name"] for definition in definitions if definition.get("defer_loading")]
    assert deferred == ["mail--search", "forecast"]
    searching = (
        [definition for definition in definitions if "search" in definition["type"]]
        if name == "openai_responses"
        else definitions
    )
    assert searching[0]["type"] in ("tool_search", "tool_search_tool_bm25_20251119")


@pytest.mark.parametrize("name", NATIVE)
def test_the_session_does_not_change_the_definitions(name):
    """Loaded tools are in the conversation."""
    session = Session()
    before = build_definitions(name, searchable(), session, native_loading=True)
    session.load("forecast")
    assert build_definitions(name, searchable(), session, native_loading=True) == before


@pytest.mark.parametrize("name", NATIVE)
def test_no_search_tool_is_added_without_deferred_tools(name):
    catalog = everything().filtered(lambda tool: not tool.facts.defer)
    definitions = build_definitions(name, catalog, native_loading=True)
    assert definitions == build_definitions(name, catalog)


def test_our_search_is_an_ordinary_tool_for_anthropic():
    """Its result refers to the deferred tools that were sent."""
    definitions = build_definitions("anthropic", searchable(), native_loading=True)
    assert [definition["name"] for definition in definitions if not definition.get("defer_loading")][
        -1
    ] == "tool_search"
    assert not any("type" in definition for definition in definitions)


def test_our_search_is_executed_here_for_openai():
    """The deferred tools are not sent; they come with the result of the search."""
    catalog = searchable()
    definitions = build_definitions("openai_responses", catalog, native_loading=True)
    assert definitions[-1]["type"] == "tool_search"
    assert definitions[-1]["execution"] == "client"
    assert definitions[-1]["parameters"] == catalog["tool_search"].schema
    assert "forecast" not in str(definitions)


async def search(calls):
    """Run a search for the weather; return the catalog and the results."""
    catalog = searchable()
    async with Dispatcher(catalog) as dispatcher:
        results = await dispatcher.call_many(calls)
    return catalog, results


async def test_the_result_of_a_search_refers_to_the_tools_for_anthropic():
    """A search through the real dispatcher ends in `tool_reference` blocks, with names as they are on the wire."""
    response = sdks.reply("anthropic", [("tool_search", {"query": "select:forecast,mail.search"}, "t1")])
    _, results = await search(module("anthropic").calls(response))
    sent = module("anthropic").results(results, native_loading=True)
    assert sent[0]["content"][0] == {
        "type": "tool_result",
        "tool_use_id": "t1",
        "content": [
            {"type": "tool_reference", "tool_name": "forecast"},
            {"type": "tool_reference", "tool_name": "mail--search"},
        ],
    }
    assert sdks.messages("anthropic", sent) == sdks.plain(sent)


async def test_the_result_of_a_search_has_the_definitions_for_openai():
    """The search comes as a call of `tool_search`, which the client runs."""
    item = {
        "type": "tool_search_call",
        "id": "ts",
        "call_id": "t1",
        "execution": "client",
        "status": "completed",
        "arguments": {"query": "select:forecast"},
    }
    calls = module("openai_responses").calls({"output": [item]})
    assert [(call.name, call.id) for call in calls] == [("tool_search", "t1")]
    catalog, results = await search(calls)
    sent = module("openai_responses").results(results, catalog, native_loading=True, strict=True)
    assert sdks.messages("openai_responses", sent) == sdks.plain(sent)
    assert (sent[0]["type"], sent[0]["call_id"], sent[0]["execution"]) == ("tool_search_output", "t1", "client")
    [definition] = sent[0]["tools"]
    assert (definition["name"], definition["defer_loading"], definition["strict"]) == ("forecast", True, True)


@pytest.mark.parametrize("name", NATIVE)
async def test_the_result_of_a_failed_or_empty_search_is_text(name):
    """The model reads what to do instead."""
    calls = module("openai").calls(
        sdks.reply(
            "openai", [("tool_search", {"query": "", "limit": 0}, "t1"), ("tool_search", {"query": "zzz"}, "t2")]
        )
    )
    catalog, results = await search(calls)
    options = {"catalog": catalog} if name == "openai_responses" else {}
    sent = module(name).results(results, native_loading=True, **options)
    text = json.dumps(sent)
    assert "expected 1 to 50" in text
    assert sdks.messages(name, sent) == sdks.plain(sent)


@pytest.mark.parametrize("name", NATIVE)
async def test_the_result_of_a_search_is_text_without_native_loading(name):
    """The text has the schemas, and the next definitions have the tools."""
    _, results = await search([("tool_search", {"query": "select:forecast"})])
    sent = module(name).results(results)
    assert "Tell the weather." in str(sent)
    assert "tool_reference" not in str(sent)


@pytest.mark.parametrize("value", [None, "x", {}, {"tools": "x"}], ids=repr)
def test_a_result_that_only_looks_like_a_search_is_text(value):
    """Another tool of that name may return what it likes."""
    result = ToolResult("found", value, tool="tool_search", call_id="t1")
    assert module("anthropic").results([result], native_loading=True)[0]["content"][0]["content"] == "found"


def test_a_found_tool_that_was_removed_is_left_out():
    """The catalog may have changed since the search."""
    value = {"tools": [{"name": "forecast"}, {"name": "gone"}, {"name": 5}, "x"]}
    result = ToolResult("found", value, tool="tool_search", call_id="t1")
    [sent] = module("openai_responses").results([result], everything(), native_loading=True)
    assert [definition["name"] for definition in sent["tools"]] == ["forecast"]
    [sent] = module("anthropic").results([result], everything(), native_loading=True)
    assert [reference["tool_name"] for reference in sent["content"][0]["content"]] == ["forecast"]


@pytest.mark.parametrize(
    ("cache", "mark"),
    [(True, {"type": "ephemeral"}), ("1h", {"type": "ephemeral", "ttl": "1h"}), (False, None)],
)
def test_the_last_stable_definition_is_marked_for_the_cache(cache, mark):
    """Tools that are loaded later come after the mark."""
    session = Session()
    session.load("forecast")
    definitions = build_definitions("anthropic", everything(), session, cache=cache)
    marked = {
        definition["name"]: definition["cache_control"] for definition in definitions if "cache_control" in definition
    }
    assert marked == ({} if mark is None else {"find_user": mark})
    assert definitions[-1]["name"] == "forecast"


def test_an_unknown_cache_lifetime_is_refused():
    """The provider would refuse it later."""
    with pytest.raises(ValueError, match='expected True, False, "5m" or "1h"'):
        build_definitions("anthropic", everything(), cache="2h")


def test_the_cache_mark_is_before_the_deferred_tools():
    """A deferred definition may not have one."""
    definitions = build_definitions("anthropic", everything(), native_loading=True)
    assert ["cache_control" in definition for definition in definitions] == [False] * 6 + [True] + [False] * 2
    alone = build_definitions("anthropic", everything().filtered(lambda tool: tool.facts.defer), native_loading=True)
    assert alone[0]["cache_control"] == {"type": "ephemeral"}
    assert alone[0]["name"] == "tool_search_tool_bm25"


def test_a_catalog_of_deferred_tools_has_no_cache_mark():
    """No definition is always there."""
    catalog = everything().filtered(lambda tool: tool.facts.defer)
    session = Session()
    session.load("forecast")
    assert "cache_control" not in str(build_definitions("anthropic", catalog, session))
    assert "cachePoint" not in str(build_definitions("bedrock", catalog, session, cache=True))


def test_bedrock_has_a_cache_point_after_the_last_stable_definition():
    """It is an entry of its own, before the loaded tools."""
    session = Session()
    session.load("forecast")
    definitions = build_definitions("bedrock", everything(), session, cache=True)
    assert definitions[-2] == {"cachePoint": {"type": "default"}}
    assert definitions[-1]["toolSpec"]["name"] == "forecast"
    assert sdks.tools("bedrock", definitions) == sdks.plain(definitions)


def test_bedrock_has_no_cache_point_by_default():
    """Some models refuse one."""
    assert "cachePoint" not in str(build_definitions("bedrock", Catalog(everything()["ping"])))
