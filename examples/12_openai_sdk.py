"""
OpenAI's own SDK with our catalog and dispatcher, and no agent of ours.

`python examples/12_openai_sdk.py live` asks a model (OPENAI_API_KEY has the key); without `live`, two scripted
replies are played, and nothing leaves the machine.
"""

import asyncio
import json
import sys
from typing import Any

import httpx2
from openai import AsyncOpenAI, DefaultAsyncHttpxClient

from toolkit import Catalog, Dispatcher
from toolkit.formats import openai

catalog = Catalog()


@catalog.tool(name="weather.now", read_only=True)
def weather(city: str, *, unit: str = "C") -> str:
    """Tell the weather in a city."""
    return f"Sunny in {city}, 21 degrees {unit}."


async def ask(client: AsyncOpenAI, question: str) -> str:
    messages: list[Any] = [{"role": "user", "content": question}]
    tools: Any = openai.definitions(catalog, strict=True)
    async with Dispatcher(catalog) as dispatcher:
        while True:
            response = await client.chat.completions.create(model="gpt-5.5", messages=messages, tools=tools)
            messages.append(response.choices[0].message)
            calls = openai.calls(response, catalog)
            if not calls:
                return response.choices[0].message.content or ""
            messages += openai.results(await dispatcher.call_many(calls))


def scripted(request: httpx2.Request) -> httpx2.Response:
    """What a model would say: first two calls, with the null that strict mode asks for, then what came of them."""
    messages = json.loads(request.content)["messages"]
    arguments = [json.dumps({"city": city, "unit": None}) for city in ("Oslo", "Rome")]
    functions = [{"name": "weather--now", "arguments": each} for each in arguments]
    calls = [{"id": f"c{n}", "type": "function", "function": each} for n, each in enumerate(functions)]
    said: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": calls}
    if messages[-1]["role"] == "tool":
        said = {"role": "assistant", "content": " ".join(each["content"] for each in messages[-2:])}
    choice = {"index": 0, "finish_reason": "stop", "message": said}
    return httpx2.Response(
        200, json={"id": "c", "object": "chat.completion", "created": 0, "model": "scripted", "choices": [choice]}
    )


async def main() -> None:
    if sys.argv[1:] == ["live"]:
        client = AsyncOpenAI()
    else:
        transport = httpx2.MockTransport(scripted)
        client = AsyncOpenAI(api_key="none", http_client=DefaultAsyncHttpxClient(transport=transport))
    async with client:
        print(await ask(client, "Where is it warmer now, in Oslo or in Rome?"))


asyncio.run(main())
