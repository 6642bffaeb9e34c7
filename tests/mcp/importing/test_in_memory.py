"""Servers of the SDK in the same process, in both revisions."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack

import mcp_types as types
import pytest
from mcp.server import Server
from mcp.server.mcpserver import Context as ServerContext
from mcp.server.mcpserver import Image, MCPServer

from tests.clocks import wait_until
from toolkit import BadArgs, Catalog, Dispatcher, Permissions, ToolCall, ToolError
from toolkit.agent import Agent
from toolkit.approvals import Approvals
from toolkit.content import ImagePart
from toolkit.mcp import RemoteServer, ServerLimits, Servers, build_server
from toolkit.mcp.importing.remote_tools import RemoteListing, RemoteTool
from toolkit.providers import ScriptedProvider

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("revision", ["legacy", "2026-07-28", "auto"])


def build_shop():
    """Return a server with a few tools."""
    shop = MCPServer("shop")

    @shop.tool()
    def price(item: str, count: int = 1) -> float:
        """Look up a price."""
        return 2.5 * count

    @shop.tool()
    def picture() -> Image:
        """Show a picture."""
        return Image(data=b"png", format="png")

    @shop.tool()
    async def slow(context: ServerContext) -> str:
        """Take a while."""
        await context.report_progress(1, 2, "half")
        return "done"

    @shop.tool()
    def fail() -> None:
        """Fail."""
        raise RuntimeError("no stock")

    return shop


@BOTH
async def test_tools_of_a_server_object(revision):
    """Values, pictures, progress and errors arrive as from other tools."""
    reports = []
    async with Servers(shop=RemoteServer(build_shop(), revision=revision)) as tools:
        assert tools.problems == []
        dispatcher = Dispatcher(tools, on_progress=reports.append)
        results = await dispatcher.call_many(
            [("shop_price", {"item": "tea", "count": 2}), ("shop_picture", {}), ("shop_slow", {}), ("shop_fail", {})]
        )

    assert results[0].value == {"result": 5.0}
    assert results[1].parts == [ImagePart(b"png", "image/png")]
    assert (results[2].value, [report.message for report in reports]) == ({"result": "done"}, ["half"])
    assert results[3].kind == "failed"


async def test_arguments_are_checked_before_a_request_to_the_server():
    """The schema of the server is enforced here, with the repairs of this package."""
    async with Servers(shop=build_shop()) as tools:
        dispatcher = Dispatcher(tools)
        wrong = await dispatcher.call("shop_price", {"item": "tea", "count": "many"})
        repaired = await dispatcher.call("shop_price", {"item": "tea", "count": "3"})

    assert (wrong.kind, wrong.attempts) == ("bad_args", 0)
    assert repaired.value == {"result": 7.5}
    assert repaired.repairs


async def test_a_rule_names_the_origin():
    """An allowed tool runs, and every other tool of the server asks."""
    async with Servers(shop=build_shop()) as tools:
        dispatcher = Dispatcher(tools, permissions=Permissions("default", ["allow mcp:shop/pri*"]))
        allowed = await dispatcher.call("shop_price", {"item": "tea"})
        other = await dispatcher.call("shop_slow", {})

    assert allowed.kind == "ok"
    assert (other.kind, other.request.origin) == ("waiting", "mcp:shop")


async def test_an_agent_uses_the_tools_of_a_server():
    """The view stands for a catalog in an agent."""
    provider = ScriptedProvider([[ToolCall("shop_price", {"item": "tea"})], "It costs 2.50."])
    async with Servers(shop=build_shop()) as tools:
        dispatcher = Dispatcher(tools, permissions=Permissions("default", ["allow mcp:shop/*"]))
        run = await Agent(provider, dispatcher).run("What does tea cost?")

    assert run.text == "It costs 2.50."


@pytest.mark.parametrize("revision", ["legacy", "2026-07-28"])
async def test_the_view_follows_a_server_object(revision):
    """A tool that the server adds while it runs is there soon, in both revisions."""
    shop = build_shop()

    @shop.tool()
    async def stock_up(context: ServerContext) -> str:
        """Add a tool."""
        shop.add_tool(lambda: "fresh", name="bread", description="Buy bread.")
        notify = context.session.send_tool_list_changed if revision == "legacy" else context.notify_tools_changed
        await notify()
        return "added"

    server = RemoteServer(shop, revision=revision, limits=ServerLimits(refresh_seconds=0.01, wait_initial=0.01))
    async with Servers(shop=server) as tools:
        dispatcher = Dispatcher(tools)
        await dispatcher.call("shop_stock_up", {})
        await wait_until(lambda: "shop_bread" in tools)
        assert (await dispatcher.call("shop_bread", {})).text == "fresh"


@pytest.mark.long
async def test_closing_frees_a_call_that_waits_for_a_person():
    """A question without an answer does not hold the program when it ends."""
    question_arrived, answer = asyncio.Event(), asyncio.Event()

    async def list_tools(context, params):
        return types.ListToolsResult(tools=[types.Tool(name="ask", input_schema={"type": "object"})])

    async def call_tool(context, params):
        question = types.ElicitRequestFormParams(message="Well?", requested_schema={"type": "object", "properties": {}})
        return types.InputRequiredResult(input_requests={"q": types.ElicitRequest(params=question)})

    async def ask(request):
        question_arrived.set()
        await answer.wait()

    async with Servers(s=Server("s", on_list_tools=list_tools, on_call_tool=call_tool)) as tools:
        call = asyncio.ensure_future(Dispatcher(tools, approvals=Approvals(ask=ask)).call("s_ask", {}))
        await asyncio.wait({call, asyncio.ensure_future(question_arrived.wait())}, return_when="FIRST_COMPLETED")
        assert not call.done()

    assert (await call).kind in ("cancelled", "failed", "transient")


async def test_the_loop_goes_on_while_many_tools_are_imported():
    """Each tool is imported in its own step, so a long list does not hold up the calls of other servers."""
    schema = {"type": "object"}
    listing = RemoteListing(tuple(RemoteTool(f"t{number}", "T.", schema, digest="1") for number in range(50)))
    view = Servers(x=["x"])
    steps = []
    task = asyncio.create_task(view._import(view._servers["x"], listing))
    while not task.done():
        steps.append(len(view))
        await asyncio.sleep(0)

    assert len(steps) >= 50
    assert set(steps[:50]) == {0}
    assert len(view) == 50


async def test_a_program_can_state_the_costs_of_a_server():
    """Rules, requests and results have the cost as for other tools."""
    async with Servers(shop=RemoteServer(build_shop(), cost=0.01)) as tools:
        assert tools["shop_price"].facts.cost == 0.01
        rules = ["allow mcp:shop/price", "deny mcp:shop/*(cost>=0.01)"]
        denying = Dispatcher(tools, permissions=Permissions("auto", rules))
        allowing = Dispatcher(tools, permissions=Permissions("auto", rules[:1]))
        assert (await denying.call("shop_price", {"item": "tea"})).kind == "denied"
        assert (await allowing.call("shop_price", {"item": "tea"})).cost == 0.01


@BOTH
@pytest.mark.parametrize("hops", [1, 2, 3])
@pytest.mark.parametrize(("error", "kind"), [(ToolError, "failed"), (BadArgs, "bad_args")])
async def test_a_failure_of_our_own_server_is_told_once(revision, hops, error, kind):
    """The words around the reason, and the advice, do not grow with each gateway on the way."""
    shop = Catalog()

    @shop.tool(read_only=True)
    def buy() -> str:
        """Buy something."""
        raise error("no stock: ask again\non Monday")

    expected = (await Dispatcher(shop).call("buy")).text
    async with AsyncExitStack() as stack:
        tools, name = shop, "buy"
        for number in range(hops):
            server = build_server(Dispatcher(tools))
            remote = RemoteServer(server, revision=revision, tool_prefix=f"s{number}_", trusted=True)
            tools, name = await stack.enter_async_context(Servers(None, {f"s{number}": remote})), f"s{number}_{name}"
        result = await Dispatcher(tools).call(name)
    assert (result.kind, result.text) == (kind, expected)
