"""`connect`: an MCP client in the process of a test."""

from __future__ import annotations

import pytest
from mcp.shared.exceptions import MCPError

from toolkit import Catalog, Context, Dispatcher
from toolkit.testing import connect

pytestmark = pytest.mark.anyio

BOTH = pytest.mark.parametrize("revision", ["2026-07-28", "legacy"])


@pytest.fixture
def dispatcher():
    """Return a dispatcher for tools that change something, ask a user, a model, and for folders."""
    catalog = Catalog()

    @catalog.tool
    def order(item: str) -> str:
        """Order something."""
        return f"ordered {item}"

    @catalog.tool(read_only=True)
    async def choose(context: Context) -> str:
        """Ask for a size."""
        answer = await context.ask("size", "Which size?", {"enum": ["S", "M"]})
        return f"size {answer}"

    @catalog.tool(read_only=True)
    async def title(text: str, context: Context) -> str:
        """Let a model write a title, and say where it is for."""
        return f"{await context.sample(f'A title for {text}', system='Be short.')} {await context.roots()}"

    return Dispatcher(catalog)


def text_of(result):
    [part] = result.content
    return part.text


@BOTH
async def test_the_user_of_the_client_approves_or_denies(dispatcher, revision):
    async with connect(dispatcher, answer=True, revision=revision) as client:
        assert text_of(await client.call_tool("order", {"item": "tea"})) == "ordered tea"
    async with connect(dispatcher, answer=False, revision=revision) as client:
        assert (await client.call_tool("order", {"item": "tea"})).is_error


@BOTH
async def test_a_form_is_filled_in_by_a_dictionary_or_a_function(dispatcher, revision):
    messages = []

    def fill_in(message):
        messages.append(message)
        return {"answer": "S"}

    async with connect(dispatcher, answer={"answer": "M"}, revision=revision) as client:
        assert text_of(await client.call_tool("choose", {})) == "size M"
    async with connect(dispatcher, answer=fill_in, revision=revision) as client:
        assert text_of(await client.call_tool("choose", {})) == "size S"
    assert messages == ["Which size?"]
    async with connect(dispatcher, answer=lambda message: None, revision=revision) as client:
        assert text_of(await client.call_tool("choose", {})) == "size DECLINED"


@BOTH
async def test_the_client_has_a_model_and_folders(dispatcher, revision):
    async with connect(dispatcher, sample=str.upper, roots=["/shop"], revision=revision) as client:
        assert text_of(await client.call_tool("title", {"text": "tea"})) == "A TITLE FOR TEA ['/shop']"


async def test_a_client_without_an_answer_cannot_ask(dispatcher):
    async with connect(dispatcher) as client:
        with pytest.raises(MCPError, match="declares no elicitation"):
            await client.call_tool("choose", {})


async def test_options_of_the_server_are_passed_on(dispatcher):
    async with connect(dispatcher, resources={"memo://today": "milk"}) as client:
        [content] = (await client.read_resource("memo://today")).contents
        assert content.text == "milk"
