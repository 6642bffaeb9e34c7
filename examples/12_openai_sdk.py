"""
Use OpenAI's own SDK with a catalog and a dispatcher, and no `Agent`.

With a key in OPENAI_API_KEY a model is asked. Without one a stand-in on loopback answers, and no data leaves
the machine. The SDK has to be installed: `pip install openai`.
"""

import asyncio
from typing import cast

from offline import stand_in_for
from openai import AsyncOpenAI
from openai.types.chat import ChatCompletionMessageParam

from toolkit import Catalog, Dispatcher, formats

catalog = Catalog()


@catalog.tool(name="weather.now", read_only=True)
def weather(city: str, *, unit: str = "C") -> str:
    """
    Tell the weather in a city.

    Args:
        city: Its name.
        unit: C or F.
    """
    return f"Sunny in {city}, 21 degrees {unit}."


async def ask(question: str) -> str:
    messages: list[ChatCompletionMessageParam] = [{"role": "user", "content": question}]
    tools = formats.openai.definitions(catalog, strict=True)
    async with AsyncOpenAI() as client, Dispatcher(catalog) as dispatcher:
        while True:
            response = await client.chat.completions.create(model="gpt-5.5", messages=messages, tools=tools)
            # The SDK takes its own message back, but its types do not say so.
            messages.append(cast("ChatCompletionMessageParam", response.choices[0].message))
            calls = formats.openai.calls(response, catalog)
            if not calls:
                return response.choices[0].message.content or ""
            messages += formats.openai.results(await dispatcher.call_many(calls))


if __name__ == "__main__":
    with stand_in_for("OPENAI"):
        print(asyncio.run(ask("Where is it warmer now, in Oslo or in Rome?")))
