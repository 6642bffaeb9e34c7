"""
Anthropic's own SDK with our catalog and dispatcher, and no agent of ours.

`python examples/11_anthropic_sdk.py live` asks a model (ANTHROPIC_API_KEY has the key); without `live`, two scripted
replies are played, and nothing leaves the machine.
"""

import asyncio
import json
import sys
from typing import Any

import httpx2
from anthropic import AsyncAnthropic, DefaultAsyncHttpxClient

from toolkit import Catalog, Dispatcher
from toolkit.formats import anthropic

catalog = Catalog()


@catalog.tool(name="weather.now", read_only=True)
def weather(city: str, *, unit: str = "C") -> str:
    """Tell the weather in a city."""
    return f"Sunny in {city}, 21 degrees {unit}."


async def ask(client: AsyncAnthropic, question: str) -> str:
    messages: list[Any] = [{"role": "user", "content": question}]
    tools: Any = anthropic.definitions(catalog, strict=True)
    async with Dispatcher(catalog) as dispatcher:
        while True:
            response = await client.messages.create(
                model="claude-sonnet-5", max_tokens=1024, messages=messages, tools=tools
            )
            messages.append({"role": "assistant", "content": response.content})
            calls = anthropic.calls(response, catalog)
            if not calls:
                return "".join(block.text for block in response.content if block.type == "text")
            messages += anthropic.results(await dispatcher.call_many(calls))


def scripted(request: httpx2.Request) -> httpx2.Response:
    """What a model would say: first two calls, then what came of them."""
    last = json.loads(request.content)["messages"][-1]["content"]
    if isinstance(last, str):
        cities = enumerate(("Oslo", "Rome"))
        content = [{"type": "tool_use", "id": f"t{n}", "name": "weather--now", "input": {"city": c}} for n, c in cities]
    else:
        content = [{"type": "text", "text": " ".join(block["content"] for block in last)}]
    message = {"id": "m", "type": "message", "role": "assistant", "model": "scripted", "content": content}
    return httpx2.Response(200, json={**message, "usage": {"input_tokens": 0, "output_tokens": 0}})


async def main() -> None:
    if sys.argv[1:] == ["live"]:
        client = AsyncAnthropic()
    else:
        transport = httpx2.MockTransport(scripted)
        client = AsyncAnthropic(api_key="none", http_client=DefaultAsyncHttpxClient(transport=transport))
    async with client:
        print(await ask(client, "Where is it warmer now, in Oslo or in Rome?"))


asyncio.run(main())
