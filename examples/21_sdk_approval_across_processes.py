"""
Stop an SDK loop in one process when a call needs a person, and go on in another once the person has answered.

The loop is Anthropic's own SDK; there is no `Agent`. The first process saves the messages, and the request is in a
SQLite file. The second process runs the call, once, and finishes the loop. With a key in ANTHROPIC_API_KEY a model is
asked. Without one a stand-in on loopback plays it. The SDK has to be installed: `pip install anthropic`.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from anthropic import AsyncAnthropic
from offline import stand_in_for

from toolkit import Approvals, Catalog, Decision, Dispatcher, Permissions, Session, SQLiteApprovals, formats

catalog = Catalog()


@catalog.tool(read_only=True)
def find_order(customer: str) -> dict[str, Any]:
    """
    Find the last order of a customer.

    Args:
        customer: The name.
    """
    return {"order": "A-7", "customer": customer, "cents": 1250}


@catalog.tool(destructive=True)
def refund(order: str, cents: int) -> str:
    """
    Pay money back for an order.

    Args:
        order: Its number.
        cents: How much.
    """
    return f"{cents / 100:.2f} paid back for {order}"


def dispatcher_in(folder: Path) -> Dispatcher:
    """Make the same dispatcher in every process; the processes share only the store."""
    approvals = Approvals(SQLiteApprovals(folder / "approvals.sqlite"))
    return Dispatcher(catalog, permissions=Permissions("default"), approvals=approvals)


async def go_on(dispatcher: Dispatcher, messages: list[Any], session: Session) -> str | None:
    """Ask the model and run its calls until it has answered; return None if a call waits for a person."""
    tools: Any = formats.anthropic.definitions(catalog)
    async with AsyncAnthropic() as client:
        while True:
            response = await client.messages.create(
                model="claude-sonnet-5", max_tokens=1024, messages=messages, tools=tools
            )
            # Plain data, because the messages are saved as JSON.
            messages.append({"role": "assistant", "content": response.model_dump(exclude_none=True)["content"]})
            calls = formats.anthropic.calls(response, catalog)
            if not calls:
                return "".join(block.text for block in response.content if block.type == "text")
            results = await dispatcher.call_many(calls, session=session)
            if any(result.kind == "waiting" for result in results):
                messages.append([result.to_json() for result in results])  # the answers so far, until all are there
                return None
            messages += formats.anthropic.results(results)


async def ask(folder: Path) -> None:
    session, messages = Session(), [{"role": "user", "content": "Ada's parcel arrived broken. Refund her order."}]
    async with dispatcher_in(folder) as dispatcher:
        if await go_on(dispatcher, messages, session) is not None:
            raise SystemExit("the model did not ask for a refund")
    (folder / "talk.json").write_text(json.dumps({"session": session.to_json(), "messages": messages}))
    print("first process: a call waits for a person; the process ends here", flush=True)


async def answer(folder: Path) -> None:
    from toolkit import ToolResult

    saved = json.loads((folder / "talk.json").read_text())
    session, messages = Session.from_json(saved["session"]), saved["messages"]
    results = [ToolResult.from_json(data) for data in messages.pop()]
    async with dispatcher_in(folder) as dispatcher:
        for number, result in enumerate(results):
            if result.request is not None:
                print("second process: a person is asked:", result.request.reason)
                results[number] = await dispatcher.resume(
                    result.request.id, Decision.approve(by="ada"), session=session
                )
        messages += formats.anthropic.results(results)
        print("the model says:", await go_on(dispatcher, messages, session))


def play_model(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the stand-in answers: it looks for the order, asks for the refund, and repeats what came of it."""
    last = messages[-1]["content"]
    if isinstance(last, str):
        return [{"type": "tool_use", "id": "t_1", "name": "find_order", "input": {"customer": "Ada"}}]
    text = last[-1]["content"]
    if "A-7" in text and "paid" not in text:
        return [{"type": "tool_use", "id": "t_2", "name": "refund", "input": {"order": "A-7", "cents": 1250}}]
    return [{"type": "text", "text": f"Done: {text}."}]


def main() -> None:
    with stand_in_for("ANTHROPIC", play_model):
        if len(sys.argv) > 1:
            asyncio.run(answer(Path(sys.argv[1])))
            return
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(ask(Path(folder)))
            subprocess.run([sys.executable, "-W", "error", __file__, folder], check=True)  # noqa: S603 -- this file again


if __name__ == "__main__":
    main()
