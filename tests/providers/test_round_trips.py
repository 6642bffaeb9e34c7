"""Our providers and the stub: whole conversations, in every protocol, streamed and not."""

from __future__ import annotations

import pytest

from toolkit import Dispatcher, ToolCall
from toolkit.providers import AssistantMessage, Request, ToolMessage, Usage, UserMessage

from .making import NAMES, ask, build_provider, catalog, hello
from .official import send
from .protocols import Turn
from .stub import serving

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("name", NAMES)]

STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


def wire(name, tool):
    return tool if name == "gemini" else tool.replace(".", "--")


def calls_of(name):
    return (
        ToolCall(wire(name, "files.read"), {"path": "a/ü.txt"}, "id_a"),
        ToolCall("now", {}, "id_b"),
        ToolCall(wire(name, "files.read"), {"path": "b", "limit": 2}, "id_c"),
    )


@STREAM
async def test_a_text_arrives(name, stream):
    """Text, stop reason, usage and the model's name are the same in every protocol."""
    async with serving(Turn(text="Grüße, 世界! 🎉")) as stub, build_provider(name, stub) as provider:
        stream_text, reply = await ask(provider, hello(), stream=stream)
    assert reply.message.text == "Grüße, 世界! 🎉"
    assert stream_text == (reply.message.text if stream else "")
    assert reply.stop == "answer"
    written = 0 if name == "gemini" else 2
    assert reply.usage == Usage(input_tokens=11, output_tokens=7, cached_tokens=3, cache_write_tokens=written)
    assert reply.model == provider.model
    assert reply.id


@STREAM
async def test_a_conversation_with_parallel_calls_goes_round(name, stream):
    """Calls come with the catalog's names, their results go back, and the model answers."""
    tools = catalog()
    script = Turn(text="Let me see.", calls=calls_of(name), thought="Hm."), Turn(text="Done.")
    async with serving(*script) as stub, build_provider(name, stub) as provider:
        request = hello(system="Be brief.", catalog=tools)
        _, first = await ask(provider, request, stream=stream)
        results = await Dispatcher(tools).call_many(first.message.calls)
        further = (*request.messages, first.message, ToolMessage(tuple(results)))
        _, second = await ask(provider, Request(messages=further, system="Be brief.", catalog=tools), stream=stream)
    assert first.stop == "calls"
    assert [(call.name, call.arguments, call.id) for call in first.message.calls] == [
        ("files.read", {"path": "a/ü.txt"}, "id_a"),
        ("now", {}, "id_b"),
        ("files.read", {"path": "b", "limit": 2}, "id_c"),
    ]
    assert [result.text for result in results] == ["a/ü.txt 10", "noon", "b 2"]
    assert second.message == AssistantMessage(text="Done.", native=second.message.native)
    sent = str(stub.heard[1].body)
    assert "a/ü.txt 10" in sent
    assert "Be brief." in sent
    assert UserMessage.of("Hello").text in sent


async def test_the_official_client_would_send_the_same(name):
    """Every field of ours is one of its own: what the stub hears from it is what it heard from us."""
    tools = catalog()
    calls = (ToolCall("files.read", {"path": "a"}, "id_a"),)
    results = await Dispatcher(tools).call_many(calls)
    messages = (UserMessage.of("Hello"), AssistantMessage(text="Hm.", calls=calls), ToolMessage(tuple(results)))
    request = Request(messages=messages, system="Be kind.", catalog=tools, max_tokens=50)
    async with serving(Turn(text="Hi"), Turn(text="Hi")) as stub, build_provider(name, stub, strict=True) as provider:
        await provider.reply(request)
        await send(name, stub.url, stub.heard[0].body)
    ours, theirs = stub.heard
    if name == "gemini":
        assert theirs.body["systemInstruction"].pop("role") == "user"
        for function in theirs.body["tools"][0]["functionDeclarations"]:
            # The API takes either spelling.
            if "parameters_json_schema" in function:
                function["parametersJsonSchema"] = function.pop("parameters_json_schema")
    assert theirs.body == ours.body
    assert theirs.path == ours.path
    assert theirs.headers.get("anthropic-version") == ours.headers.get("anthropic-version")
