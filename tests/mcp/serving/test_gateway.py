"""A gateway: the tools and resources of other servers, served behind the rules of one dispatcher."""

from __future__ import annotations

import asyncio
import contextlib

import pytest
from mcp.server.mcpserver import Context as ServerContext
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.prompts.base import AssistantMessage, Message, UserMessage
from mcp.shared.exceptions import MCPError

from tests.clocks import wait_until
from tests.mcp.serving.kit import MODES, NEW, OLD, YES, Person, connected, text_of
from toolkit import Catalog, Dispatcher, Permissions
from toolkit.mcp import RemotePrompts, RemoteResources, RemoteServer, Servers, build_server

pytestmark = pytest.mark.anyio

RULES = ("allow mcp:shop/*", "allow mcp:memos/*")


def build_shop(notes):
    """Return a server whose tools report progress, fail, and note that they were cancelled."""
    shop = MCPServer("shop")

    @shop.tool()
    async def work(context: ServerContext) -> str:
        """Take a while."""
        await context.report_progress(1, 2, "half")
        return "the key is sk-12345"

    @shop.tool()
    async def hang() -> None:
        """Wait for ever."""
        notes.append("started")
        try:
            await asyncio.Event().wait()
        finally:
            notes.append("cancelled")

    @shop.tool()
    def fail() -> None:
        """Fail."""
        raise RuntimeError("no stock")

    return shop


def build_memos(name="memos"):
    """Return a server with resources."""
    memos = MCPServer(name)
    memos.resource("memo://today", name="today", description="For\u202e today.")(lambda: f"{name}: sk-12345")

    @memos.resource("memo://days/{day}")
    def read_day(day: str) -> str:
        return f"{name} of {day}"

    @memos.resource("pic://logo", mime_type="image/png")
    def logo() -> bytes:
        return b"png"

    return memos


@contextlib.asynccontextmanager
async def gateway(mode, *rules, person=None, redact=(), client=None, **servers):
    """Yield a client of a server that stands before *servers*."""
    async with Servers(None, {name: RemoteServer(server, revision=mode) for name, server in servers.items()}) as tools:
        dispatcher = Dispatcher(tools, permissions=Permissions("default", rules), redact=redact)
        async with connected(dispatcher, mode, person, servers=[tools], client=client) as connection:
            yield connection


@pytest.mark.parametrize("mode", MODES)
async def test_progress_errors_and_masking_pass_through(mode):
    reports = []

    async def on_progress(progress, total, message):
        reports.append((progress, total, message))

    async with gateway(mode, *RULES, shop=build_shop([]), redact=["sk-12345"]) as client:
        result = await client.call_tool("shop_work", {}, progress_callback=on_progress)
        assert "sk-12345" not in text_of(result)
        assert reports == [(1.0, 2.0, "half")]
        failure = await client.call_tool("shop_fail", {})
        assert failure.is_error


@pytest.mark.parametrize("mode", MODES)
async def test_cancelling_a_call_cancels_the_call_at_the_server(mode):
    notes = []
    async with gateway(mode, *RULES, shop=build_shop(notes)) as client:
        task = asyncio.create_task(client.call_tool("shop_hang", {}))
        await wait_until(lambda: notes == ["started"])
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        await wait_until(lambda: notes == ["started", "cancelled"])


async def test_a_denied_tool_is_hidden_and_other_calls_ask():
    """The question goes to the user of the client."""
    person = Person(YES)
    async with gateway(NEW, "deny shop_fail", shop=build_shop([]), memos=build_memos(), person=person) as client:
        names = [tool.name for tool in (await client.list_tools()).tools]
        assert names == ["shop_work", "shop_hang"]
        assert (await client.call_tool("shop_work", {})).is_error is False
        await client.read_resource("memo://today")
        assert len(person.questions) == 2


@pytest.mark.parametrize("mode", MODES)
async def test_a_new_tool_of_a_server_is_announced_to_the_client(mode):
    catalog, announced = Catalog(), asyncio.Event()
    upstream = build_server(Dispatcher(catalog))

    async def note(message):
        if getattr(message, "method", "") == "notifications/tools/list_changed":
            announced.set()

    async with (
        gateway(mode, *RULES, shop=upstream, client={"message_handler": note}) as client,
        contextlib.AsyncExitStack() as stack,
    ):
        if mode != OLD:
            events = await stack.enter_async_context(client.listen(tools_list_changed=True))
        catalog.add(_price)
        await (announced.wait() if mode == OLD else anext(aiter(events)))
        assert [tool.name for tool in (await client.list_tools()).tools] == ["shop__price"]


def _price() -> float:
    """Look up a price."""
    return 2.5


@pytest.mark.parametrize("mode", MODES)
async def test_resources_are_listed_and_read(mode):
    """Of two servers with the same URI, the first one counts."""
    async with gateway(mode, *RULES, memos=build_memos(), other=build_memos("other"), shop=build_shop([])) as client:
        listed = (await client.list_resources()).resources
        assert [(entry.uri, entry.description) for entry in listed][0] == ("memo://today", "For today.")
        assert [entry.uri for entry in listed] == ["memo://today", "pic://logo"]
        [template] = (await client.list_resource_templates()).resource_templates
        assert template.uri_template == "memo://days/{day}"
        [day] = (await client.read_resource("memo://days/monday")).contents
        assert (day.uri, day.text) == ("memo://days/monday", "memos of monday")
        [picture] = (await client.read_resource("pic://logo")).contents
        assert (picture.blob, picture.mime_type) == ("cG5n", "image/png")


def build_prompts():
    """Return a server with prompts: one with arguments and an answer of the assistant, one that is denied a name."""
    server = MCPServer("letters")

    @server.prompt(description="Greet\u202e someone.")
    def greet(name: str, mood: str = "glad") -> list[Message]:
        return [UserMessage(f"Greet {name}, {mood}: sk-12345"), AssistantMessage("Hello!")]

    @server.prompt(name="caf\u00e9")
    def order() -> str:
        return "an espresso"

    return server


@pytest.mark.parametrize("mode", MODES)
async def test_prompts_are_listed_and_returned(mode):
    """They have the prefix of their server, their messages keep their roles, and secrets are masked."""
    rules = ("allow mcp:letters/*",)
    async with gateway(mode, *rules, letters=build_prompts(), shop=build_shop([]), redact=["sk-12345"]) as client:
        [prompt] = (await client.list_prompts()).prompts
        assert (prompt.name, prompt.description) == ("letters_greet", "Greet someone.")
        assert [(argument.name, argument.required) for argument in prompt.arguments] == [
            ("name", True),
            ("mood", False),
        ]
        answer = await client.get_prompt("letters_greet", {"name": "Ada"})
        assert [message.role for message in answer.messages] == ["user", "assistant"]
        assert answer.messages[0].content.text.startswith("Greet Ada, glad: ")
        assert "sk-12345" not in answer.messages[0].content.text
        assert answer.description == "Greet someone."


async def test_a_prompt_is_got_without_a_list_before():
    """A prompt of the program comes first, and one that no server has is unknown."""
    own = Catalog()
    own.add(_greet)
    async with Servers(letters=RemoteServer(build_prompts(), tool_prefix="_")) as tools:
        dispatcher = Dispatcher(tools, permissions=Permissions("bypass"))
        async with connected(dispatcher, NEW, servers=[tools], prompts=own) as client:
            assert (await client.get_prompt("_greet")).messages[0].content.text == "my own"
            assert [prompt.name for prompt in (await client.list_prompts()).prompts] == ["_greet"]
            with pytest.raises(MCPError, match="unknown prompt 'letters_nothing'"):
                await client.get_prompt("letters_nothing")


def _greet() -> str:
    """Greet."""
    return "my own"


async def test_rules_hold_for_prompts():
    """The rule names the tool that gets the prompts of a server, and without a rule the user is asked."""
    async with gateway(NEW, "deny mcp:letters/get_prompt", letters=build_prompts()) as client:
        with pytest.raises(MCPError, match="denied"):
            await client.get_prompt("letters_greet", {"name": "Ada"})
    person = Person(YES)
    async with gateway(NEW, letters=build_prompts(), person=person) as client:
        assert len((await client.get_prompt("letters_greet", {"name": "Ada"})).messages) == 2
        assert len(person.questions) == 1


async def test_a_program_uses_resources_and_prompts_as_tools():
    """Each server has a tool that reads its resources, and one that gets its prompts."""
    async with Servers(memos=build_memos(), letters=build_prompts()) as servers:
        resources, prompts = RemoteResources([servers]), RemotePrompts([servers])
        assert [entry["uri"] for entry in await resources.list_fixed()] == ["memo://today", "pic://logo"]
        assert [entry["name"] for entry in await prompts.list_all()] == ["letters_greet"]
        dispatcher = Dispatcher(servers.merged(resources.catalog, prompts.catalog))
        result = await dispatcher.call("memos_read_resource", {"uri": "memo://days/monday"})
        assert result.parts[0].content == "memos of monday"
        result = await dispatcher.call("letters_get_prompt", {"name": "greet", "arguments": {"name": "Ada"}})
        assert result.text.startswith("Greet Ada, glad")
        result = await dispatcher.call("memos_get_prompt", {"name": "nothing"})
        assert result.is_error


async def test_a_resource_is_read_without_a_list_before():
    async with gateway(NEW, *RULES, memos=build_memos(), redact=["sk-12345"]) as client:
        [today] = (await client.read_resource("memo://today")).contents
        assert today.text.startswith("memos: ")
        assert "sk-12345" not in today.text
        with pytest.raises(MCPError, match="there is no resource memo://nothing"):
            await client.read_resource("memo://nothing")


async def test_a_denied_resource_is_not_read():
    """The rule names the tool that reads the resources of a server."""
    async with gateway(NEW, "deny mcp:memos/read_resource", memos=build_memos()) as client:
        with pytest.raises(MCPError, match="denied"):
            await client.read_resource("memo://today")
