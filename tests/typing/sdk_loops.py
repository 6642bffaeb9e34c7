"""
Loops with the SDKs as users write them, with the SDK's own types; checked by mypy and pyright, never run.

What `toolkit.formats` returns fits wherever an SDK wants its own types, and in a program that has no SDK.
"""

from __future__ import annotations

from typing import Any, cast

from anthropic import Anthropic, AsyncAnthropic
from anthropic.types import MessageParam, ToolUnionParam
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolUnionParam
from openai.types.responses import ResponseInputParam, ToolParam
from typing_extensions import assert_type

from toolkit import Catalog, Dispatcher, ToolCall
from toolkit.formats import Definitions, anthropic, openai, openai_responses

catalog = Catalog()
dispatcher = Dispatcher(catalog)


async def ask_anthropic(client: AsyncAnthropic, messages: list[MessageParam]) -> str:
    """Ask Anthropic, with the tools in a variable of the SDK's type."""
    tools: list[ToolUnionParam] = anthropic.definitions(catalog, strict=True)
    while True:
        response = await client.messages.create(
            model="claude-sonnet-5", max_tokens=1024, messages=messages, tools=tools
        )
        messages.append({"role": "assistant", "content": response.content})
        calls = anthropic.calls(response, catalog)
        assert_type(calls, list[ToolCall])
        if not calls:
            return "".join(block.text for block in response.content if block.type == "text")
        messages += anthropic.results(await dispatcher.call_many(calls))


def ask_anthropic_sync(client: Anthropic, messages: list[MessageParam]) -> None:
    """Ask Anthropic without an event loop, with the definitions in the request."""
    response = client.messages.create(
        model="claude-sonnet-5", max_tokens=1024, messages=messages, tools=anthropic.definitions(catalog)
    )
    messages.extend(anthropic.results(dispatcher.call_many_sync(anthropic.calls(response))))


async def ask_openai(client: AsyncOpenAI, messages: list[ChatCompletionMessageParam]) -> str | None:
    """Ask with Chat Completions. The cast is needed for the SDK's own message, not for ours."""
    tools: list[ChatCompletionToolUnionParam] = openai.definitions(catalog, strict=True)
    response = await client.chat.completions.create(model="gpt-5.5", messages=messages, tools=tools)
    messages.append(cast("ChatCompletionMessageParam", response.choices[0].message))
    messages += openai.results(await dispatcher.call_many(openai.calls(response, catalog)))
    return response.choices[0].message.content


def ask_openai_responses(client: OpenAI, items: ResponseInputParam) -> str:
    """Ask with the Responses API."""
    tools: list[ToolParam] = openai_responses.definitions(catalog)
    response = client.responses.create(model="gpt-5.5", input=items, tools=tools)
    items += cast("ResponseInputParam", response.output)
    items += openai_responses.results(dispatcher.call_many_sync(openai_responses.calls(response, catalog)))
    return response.output_text


def ask_without_an_sdk(messages: list[dict[str, Any]]) -> dict[str, Any]:
    """Return a request that is plain JSON: the definitions are a list of dictionaries, with notes."""
    definitions = anthropic.definitions(catalog)
    assert_type(definitions, Definitions)
    names: list[str] = [definition["name"] for definition in definitions]
    remarks: list[str] = [note.text for note in definitions.notes]
    messages += anthropic.results([])
    return {"tools": definitions, "messages": messages, "metadata": {"names": names, "remarks": remarks}}
