"""
The official clients, each asked for one turn: whom they understand, speaks the real protocol.
"""

from __future__ import annotations

import json
import warnings
from typing import Any

from .stub import KEY

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what a package says of itself when it is imported is not ours to mend
    import anthropic
    import openai
    from google import genai

__all__ = ["ask", "send"]

Understood = tuple[str, list[tuple[str, Any]]]


async def ask(name: str, url: str, *, stream: bool) -> Understood:
    """Return what the official client understands: the text, and the calls by name with their arguments."""
    return await _CLIENTS[name](url, stream)


async def send(name: str, url: str, body: dict[str, Any]) -> None:
    """Have the official client send what we would send; a field that it does not know is a `TypeError`."""
    if name == "gemini":
        client = genai.Client(api_key=KEY, http_options=genai.types.HttpOptions(base_url=url))
        config = {
            "system_instruction": body["systemInstruction"]["parts"][0]["text"],
            "tools": body["tools"],
            "tool_config": body["toolConfig"],
            "max_output_tokens": body["generationConfig"]["maxOutputTokens"],
        }
        await client.aio.models.generate_content(model="gemini-test", contents=body["contents"], config=config)
        await client.aio.aclose()
        client.close()
    elif name == "anthropic":
        async with anthropic.AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0) as claude:
            await claude.messages.create(**body)
    else:
        async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0) as gpt:
            await (gpt.chat.completions if name == "openai" else gpt.responses).create(**body)


async def _anthropic(url: str, stream: bool) -> Understood:
    options: dict[str, Any] = {
        "model": "claude-test",
        "max_tokens": 100,
        "messages": [{"role": "user", "content": "Hello"}],
    }
    async with anthropic.AsyncAnthropic(api_key=KEY, base_url=url, max_retries=0) as client:
        if stream:
            async with client.messages.stream(**options) as events:
                message = await events.get_final_message()
        else:
            message = await client.messages.create(**options)
    assert (message.usage.input_tokens, message.usage.cache_read_input_tokens, message.usage.output_tokens) == (6, 3, 7)
    text = "".join(block.text for block in message.content if block.type == "text")
    return text, [(block.name, block.input) for block in message.content if block.type == "tool_use"]


async def _openai(url: str, stream: bool) -> Understood:
    options: dict[str, Any] = {"model": "gpt-test", "messages": [{"role": "user", "content": "Hello"}]}
    async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0) as client:
        if stream:
            async with client.chat.completions.stream(**options, stream_options={"include_usage": True}) as events:
                completion: Any = await events.get_final_completion()
        else:
            completion = await client.chat.completions.create(**options)
    assert (completion.usage.prompt_tokens, completion.usage.completion_tokens) == (11, 7)
    message = completion.choices[0].message
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or ()]
    return message.content or "", calls


async def _openai_responses(url: str, stream: bool) -> Understood:
    options: dict[str, Any] = {"model": "gpt-test", "input": "Hello"}
    async with openai.AsyncOpenAI(api_key=KEY, base_url=f"{url}/v1", max_retries=0) as client:
        if stream:
            async with client.responses.stream(**options) as events:
                response: Any = await events.get_final_response()
        else:
            response = await client.responses.create(**options)
    assert (response.usage.input_tokens, response.usage.output_tokens) == (11, 7)
    calls = [(item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"]
    return response.output_text, calls


async def _gemini(url: str, stream: bool) -> Understood:
    client = genai.Client(api_key=KEY, http_options=genai.types.HttpOptions(base_url=url))
    options: dict[str, Any] = {"model": "gemini-test", "contents": "Hello"}
    try:
        if stream:
            chunks = [chunk async for chunk in await client.aio.models.generate_content_stream(**options)]
        else:
            chunks = [await client.aio.models.generate_content(**options)]
    finally:
        await client.aio.aclose()
        client.close()
    assert chunks[-1].usage_metadata.prompt_token_count == 11
    parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or ()]
    text = "".join(part.text for part in parts if part.text and not part.thought)
    return text, [(part.function_call.name, part.function_call.args) for part in parts if part.function_call]


_CLIENTS = {
    "anthropic": _anthropic,
    "openai": _openai,
    "openai_responses": _openai_responses,
    "gemini": _gemini,
}
