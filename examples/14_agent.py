"""Run an agent: a model, tools, and the loop between them. The model plays a script, without key and network."""

import asyncio
from typing import Annotated

from toolkit import Agent, Decision, ToolCall, tool
from toolkit.providers import AssistantMessage, ScriptedProvider, ToolMessage

# With a key: from toolkit.providers import AnthropicProvider; AnthropicProvider("claude-opus-4-5").
MODEL = ScriptedProvider(
    [
        [ToolCall("stock", {"item": "tea"}), ToolCall("stock", {"item": "milk"})],
        [ToolCall("oder", {"item": "milk", "count": 4})],  # a model gets a name wrong now and then
        [ToolCall("order", {"item": "milk", "count": 4})],
        "Tea is in stock; four bottles of milk are ordered.",
    ]
)

Item = Annotated[str, "What it is called on the label."]


@tool(read_only=True, summary=lambda arguments: f"looking for {arguments['item']}")
async def stock(item: Item) -> int:
    """Tell how many of an item are in stock."""
    return {"tea": 7}.get(item, 0)


@tool(summary=lambda arguments: f"ordering {arguments['count']} x {arguments['item']}")
async def order(item: Item, count: Annotated[int, "How many."]) -> str:
    """Order an item."""
    return f"ordered {count} x {item}"


async def main() -> None:
    agent = Agent(MODEL, [stock, order], system="You keep a kitchen stocked.")
    run = await agent.run("Do we have what it takes for tea with milk?")
    print(f"{run.status}: {run.reason}")
    for request in run.requests:
        print(f"  asked: may it call `{request.tool}` with {request.arguments}? {request.reason}")

    # A run is a value: another process could resume it tomorrow, with a store that both can open.
    run = await agent.resume(run, {request.id: Decision.approve(by="ada") for request in run.requests})
    print(f"{run.status} after {run.turns} turns: {run.text}")
    for message in run.messages:
        print(f"  {type(message).__name__:17}", getattr(message, "text", "") or message_line(message))


def message_line(message: AssistantMessage | ToolMessage) -> str:
    """Show a message without text in one line."""
    if isinstance(message, ToolMessage):
        return "; ".join(result.text.splitlines()[0] for result in message.results)
    return ", ".join(f"{call.name}({call.arguments})" for call in message.calls)


asyncio.run(main())
