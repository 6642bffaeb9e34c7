"""
Use Anthropic's own SDK with a catalog and a dispatcher, and no `Agent`.

With a key in ANTHROPIC_API_KEY a model is asked. Without one a stand-in on loopback answers, and no data leaves
the machine. The SDK has to be installed: `pip install anthropic`.
"""

import asyncio

from anthropic import AsyncAnthropic
from anthropic.types import MessageParam
from offline import stand_in_for

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
    messages: list[MessageParam] = [{"role": "user", "content": question}]
    tools = formats.anthropic.definitions(catalog, strict=True)
    async with AsyncAnthropic() as client, Dispatcher(catalog) as dispatcher:
        while True:
            response = await client.messages.create(
                model="claude-sonnet-5", max_tokens=1024, messages=messages, tools=tools
            )
            messages.append({"role": "assistant", "content": response.content})
            calls = formats.anthropic.calls(response, catalog)
            if not calls:
                return "".join(block.text for block in response.content if block.type == "text")
            messages += formats.anthropic.results(await dispatcher.call_many(calls))


if __name__ == "__main__":
    with stand_in_for("ANTHROPIC"):
        print(asyncio.run(ask("Where is it warmer now, in Oslo or in Rome?")))
