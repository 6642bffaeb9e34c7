"""The list of tools: pages, facts, deferred tools, and what the rules forbid."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import MCPError

from tests.clocks import until, wait_until
from tests.mcp.serving.kit import MODES, YES, Person, connected, text_of
from toolkit import Catalog, Dispatcher, Permissions, Session, Tool
from toolkit.builtin import tool_search_for
from toolkit.mcp.serving.listing import FACTS_KEY, ToolListing

both_revisions = pytest.mark.parametrize("mode", MODES)


def build_catalog(count):
    """Make a catalog of tools that are called tool_0, tool_1, and so on."""
    schema = {"type": "object", "properties": {}}
    return Catalog(*(Tool.from_schema(f"tool_{n}", "A tool.", schema, lambda arguments: None) for n in range(count)))


@given(st.integers(0, 6), st.integers(1, 4))
def test_the_pages_together_are_the_list(count, page_size):
    """Every tool is on one page, in the order of the catalog, and only the last page has no cursor."""
    catalog, listing, session = build_catalog(count), ToolListing(page_size=page_size), Session()
    names, cursor, pages = [], None, 0
    while pages == 0 or cursor is not None:
        page = listing.build_page(catalog, session, cursor)
        names += [tool["name"] for tool in page["tools"]]
        cursor, pages = page.get("nextCursor"), pages + 1
        assert len(page["tools"]) <= page_size
    assert names == catalog.names()
    assert pages == max(1, -(-count // page_size))


@pytest.mark.parametrize("cursor", ["", "x", "YWZ0ZXI6Z29uZQ==", "\u00e9", "////"])
def test_an_unknown_cursor_is_refused(cursor):
    """A cursor that this server did not give, or whose tool is gone, is an error of the protocol."""
    with pytest.raises(MCPError, match="list them from the start"):
        ToolListing().build_page(build_catalog(3), Session(), cursor)


@pytest.mark.anyio
@both_revisions
async def test_a_client_follows_the_pages(mode):
    """The client of the SDK gets the next page with the cursor."""
    async with connected(Dispatcher(build_catalog(5)), mode, page_size=3) as client:
        first = await client.list_tools()
        second = await client.list_tools(cursor=first.next_cursor)
        assert [len(first.tools), len(second.tools), second.next_cursor] == [3, 2, None]
        with pytest.raises(MCPError, match="list them from the start"):
            await client.list_tools(cursor="wrong")


@pytest.mark.anyio
@both_revisions
async def test_facts_are_annotations_or_in_meta(mode):
    """The protocol has words for four facts; the others are under a key of this package."""
    catalog = Catalog()

    @catalog.tool(destructive=True, group="shop", version="2", aliases=["drop"], search_hint="remove", cost=0.05)
    async def wipe() -> str:
        """Wipe."""
        return ""

    @catalog.tool(read_only=True)
    async def look() -> str:
        """Look."""
        return ""

    async with connected(Dispatcher(catalog), mode) as client:
        wipe_tool, look_tool = (await client.list_tools()).tools
    assert (wipe_tool.annotations.destructive_hint, wipe_tool.annotations.read_only_hint) == (True, False)
    facts = {"group": "shop", "version": "2", "aliases": ["drop"], "search_hint": "remove", "cost": 0.05}
    assert wipe_tool.meta[FACTS_KEY] == facts
    assert look_tool.meta is None


@pytest.mark.anyio
@both_revisions
async def test_a_tool_that_the_rules_always_deny_is_not_listed(mode):
    """A call of the tool is denied."""
    catalog = build_catalog(2)
    dispatcher = Dispatcher(catalog, permissions=Permissions("default", ["deny tool_1"]))
    async with connected(dispatcher, mode) as client:
        assert [tool.name for tool in (await client.list_tools()).tools] == ["tool_0"]
        assert (await client.call_tool("tool_1", {})).is_error


@pytest.mark.anyio
@both_revisions
@pytest.mark.parametrize("rule", ["allow tool_search", "ask tool_search"])
async def test_deferred_tools_are_listed_last_or_found_by_a_search(mode, rule):
    """An option decides. They are in the list, or appear in it after `tool_search` found them, which its client hears."""
    catalog = Catalog()

    @catalog.tool(read_only=True, defer=True)
    async def forecast() -> str:
        """Forecast the weather."""
        return "sun"

    @catalog.tool(read_only=True)
    async def look() -> str:
        """Look."""
        return ""

    catalog.add(tool_search_for(catalog))

    async def names(client):
        return [tool.name for tool in (await client.list_tools(cache_mode="refresh")).tools]

    async with connected(Dispatcher(catalog), mode) as client:
        assert await names(client) == ["look", "tool_search", "forecast"]
    messages = []

    async def note(message):
        messages.append(message.method)

    options = {"lists_deferred": False, "principal": "ada", "client": {"message_handler": note}}
    dispatcher = Dispatcher(catalog, permissions=Permissions("default", [rule]))
    async with connected(dispatcher, mode, Person(YES), **options) as client, contextlib.AsyncExitStack() as stack:
        assert await names(client) == ["look", "tool_search"]
        if mode != "legacy":
            events = await stack.enter_async_context(client.listen(tools_list_changed=True))
        await client.call_tool("tool_search", {"query": "weather"})
        if mode == "legacy":
            await until(lambda: "notifications/tools/list_changed" in messages)
        else:
            await anext(aiter(events))
        assert await names(client) == ["look", "tool_search", "forecast"]
        assert text_of(await client.call_tool("forecast", {})) == "sun"


@pytest.mark.anyio
@both_revisions
async def test_clients_learn_that_the_tools_have_changed(mode):
    """Changes that come together are one notification, also if they come from another thread."""
    catalog, changes = build_catalog(1), []
    if mode == "legacy":

        async def note(message):
            if getattr(message, "method", "") == "notifications/tools/list_changed":
                changes.append(message)

        async with connected(Dispatcher(catalog), mode, client={"message_handler": note}) as client:
            assert client.server_capabilities.tools.list_changed
            await change(catalog, changes)
            assert len((await client.list_tools()).tools) == 51
    else:
        async with connected(Dispatcher(catalog), mode) as client:
            assert client.server_capabilities is not None
            async with client.listen(tools_list_changed=True) as events:
                reader = asyncio.create_task(read(events, changes))
                await change(catalog, changes)
                reader.cancel()
    assert 1 <= len(changes) < 50


async def read(events, changes):
    """Note the events of a subscription."""
    async for event in events:
        changes.append(event)


async def change(catalog, changes):
    """Add tools, and wait until the client knows of it."""
    schema = {"type": "object", "properties": {}}

    def add():
        for number in range(50):
            catalog.add(Tool.from_schema(f"new_{number}", "A tool.", schema, lambda arguments: None))

    await asyncio.to_thread(add)
    await wait_until(lambda: changes)
