"""`context.sample` and `context.roots` of a tool that is served over MCP."""

from __future__ import annotations

import os

import mcp_types as types
import pytest
from mcp.shared.exceptions import MCPError

from tests.mcp.serving.kit import OLD, YES, Person, connected
from toolkit import Approvals, Catalog, Context, Decision, Dispatcher
from toolkit.testing import connect

pytestmark = pytest.mark.anyio

HERE = os.path.realpath(os.getcwd())


def build(function, **options):
    return Dispatcher(Catalog(function), **options)


async def write(context: Context) -> str:
    """Let a model write."""
    first = await context.sample("one", key="first")
    second = await context.sample(
        [
            {"role": "user", "content": "Hi"},
            {"role": "assistant", "content": "Hello"},
            {"role": "user", "content": "sk-1"},
        ],
        key="second",
    )
    return f"{first} {second}"


async def look(context: Context) -> list[str]:
    """List the folders."""
    return await context.roots()


async def test_a_tool_asks_the_model_more_than_once():
    """A secret is masked before it is sent."""
    async with connect(build(write, redact=["sk-1"]), sample=str.upper, answer=True) as client:
        result = await client.call_tool("write", {})
    assert result.content[0].text.startswith("ONE ")
    assert "SK-1" not in result.content[0].text


async def test_a_client_without_sampling_is_refused_with_the_capability():
    async with connect(build(write), answer=True) as client:
        with pytest.raises(MCPError, match="declares neither sampling") as refusal:
            await client.call_tool("write", {})
    assert refusal.value.error.data == {"requiredCapabilities": {"sampling": {}}}


async def test_a_client_of_the_older_revision_without_sampling_gets_an_error():
    async with connect(build(write), answer=True, revision="legacy") as client:
        result = await client.call_tool("write", {})
    assert result.is_error
    assert "sampling" in result.content[0].text


async def test_a_client_without_roots_leaves_the_folders_of_the_server():
    async with connect(build(look), answer=True) as client:
        result = await client.call_tool("look", {})
    assert result.structured_content == {"result": [HERE]}


@pytest.mark.parametrize("revision", ["2026-07-28", "legacy"])
async def test_a_dispatcher_inside_a_tool_has_no_client(revision):
    """The client could not answer: it knows only the call that it has made, whose tool may ask it."""
    inside = Dispatcher(Catalog(write, look))

    async def call_both(context: Context) -> list[str]:
        """Ask the client, and let two other tools do so."""
        asked = await context.sample("outside")
        results = [await inside.call(name, session=context.session) for name in ("write", "look")]
        return [asked, *(f"{result.kind}: {result.reason or result.text}" for result in results)]

    async with connect(build(call_both), sample="text", roots=["/elsewhere"], answer=True, revision=revision) as client:
        asked, written, folders = (await client.call_tool("call_both")).structured_content["result"]
    assert asked == "text"
    assert written.startswith("failed: there is no model to ask: the client has not made this call itself")
    assert folders == f'ok: ["{HERE}"]'


async def test_an_asker_of_the_server_is_not_mistaken_for_a_model():
    """A person would be asked to write the text of a model."""
    requests = []

    def ask(request):
        requests.append(request)
        return Decision.approve()

    async with connect(build(write, approvals=Approvals(ask=ask)), sample="text") as client:
        result = await client.call_tool("write", {})
    assert result.is_error
    assert "there is no model to ask" in result.content[0].text
    assert [request for request in requests if request.questions] == []


async def test_a_picture_is_not_a_text_answer_for_a_tool():
    """The answer of the client cannot be used, so it is asked again, and the call is denied in the end."""
    requests = []

    async def draw(context, params):
        requests.append(params)
        content = types.ImageContent(type="image", data="cG5n", mime_type="image/png")
        return types.CreateMessageResult(role="assistant", content=content, model="test")

    async with connected(build(write), OLD, Person(YES), client={"sampling_callback": draw}) as client:
        result = await client.call_tool("write", {})
    assert result.is_error
    assert "its last answer cannot be used" in result.content[0].text
    assert len(requests) == 3
