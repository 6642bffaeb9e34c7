"""This package."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from mcp import Client

from toolkit import (
    Agent,
    Approvals,
    Catalog,
    Decision,
    Dispatcher,
    Permissions,
    RetryPolicy,
    SQLiteApprovals,
    ToolCall,
)
from toolkit.agent import Run
from toolkit.builtin import tool_search_for
from toolkit.durable import DurableAgent
from toolkit.mcp import Servers, build_server
from toolkit.providers import AssistantMessage, Request, ScriptedProvider
from toolkit.providers.model_names import PROVIDER_NAMES

from .library import Library, Reply, append_line, pay

__all__ = ["Toolkit", "play"]


def play(*turns: str | tuple[str, dict[str, Any]]) -> ScriptedProvider:
    """Return a model that plays *turns*, each a text or a call: the conversation says which one is next."""
    script = [
        turn if isinstance(turn, str) else [ToolCall(*turn, id=f"c{number}")] for number, turn in enumerate(turns, 1)
    ]

    def reply(request: Request) -> Any:
        return script[sum(isinstance(message, AssistantMessage) for message in request.messages)]

    return ScriptedProvider(itertools.repeat(reply))


class Toolkit(Library):
    distribution = "pytoolkit"
    imports = "from toolkit import Agent, Dispatcher, tool"
    notes: ClassVar[dict[str, str]] = {
        "approval after a kill": "you keep the run, a SQLite file the request",
        "killed run": "the model is told that the second may or may not have happened",
    }

    async def call(self, function: Callable[..., Any], arguments: dict[str, Any], **options: Any) -> Reply:
        facts = options.pop("facts", {"read_only": True})
        catalog = Catalog()
        catalog.tool(**facts)(function)
        async with Dispatcher(catalog, permissions=Permissions("bypass"), **options) as dispatcher:
            provider = ScriptedProvider([[ToolCall(function.__name__, arguments)], "done"])
            run = await Agent(provider, dispatcher).run("go")
            (result,) = run.messages[2].results
            return Reply(result.text, len(result.repairs))

    async def call_with_time_limit(self, function: Callable[..., Any], seconds: float) -> Reply:
        return await self.call(function, {}, timeout_seconds=seconds)

    async def call_with_retries(self, function: Callable[..., Any], *, destructive: bool) -> Reply:
        facts = {"destructive": True} if destructive else {"read_only": True}
        return await self.call(function, {}, facts=facts, retry=RetryPolicy(wait_initial=0))

    async def call_with_text_limit(self, function: Callable[..., Any], characters: int) -> Reply:
        return await self.call(function, {}, max_chars=characters)

    async def call_with_masked_key(self, function: Callable[..., Any]) -> Reply:
        return await self.call(function, {}, redact=[re.compile(r"sk-[0-9a-f]+")])

    async def shown_definitions(self, functions: list[Callable[..., Any]]) -> int:
        catalog = Catalog()
        for function in functions:
            catalog.tool(defer=True)(function)
        catalog.add(tool_search_for(catalog))
        return len(catalog.definitions("anthropic"))

    def _agent(self, folder: Path, script: list[Any]) -> Agent:
        catalog = Catalog()
        catalog.tool(destructive=True)(append_line)
        approvals = Approvals(SQLiteApprovals(folder / "approvals.sqlite"))
        return Agent(
            ScriptedProvider(script), Dispatcher(catalog, permissions=Permissions("default"), approvals=approvals)
        )

    async def ask(self, folder: Path) -> bool:
        run = await self._agent(folder, [[ToolCall("append_line", {"folder": str(folder)})]]).run("go")
        (folder / "run.json").write_text(run.dumps(), encoding="utf-8")
        return run.status == "waiting"

    async def answer(self, folder: Path) -> None:
        run = Run.loads((folder / "run.json").read_text(encoding="utf-8"))
        decisions = {request.id: Decision.approve(by="ada") for request in run.requests}
        await self._agent(folder, ["done"]).resume(run, decisions)

    async def pay_bills(self, folder: Path) -> None:
        catalog = Catalog()
        catalog.tool(pay)
        model = play(*(("pay", {"folder": str(folder), "bill": bill}) for bill in (1, 2)), "done")
        dispatcher = Dispatcher(catalog, permissions=Permissions("bypass"))
        agent = Agent(model, dispatcher)
        async with DurableAgent(agent, f"sqlite:///{folder}/runs.sqlite") as durable:
            run = await durable.run("go", id="run-1")
        assert run.status == "done"
        assert "may or may not have happened" in run.messages[4].results[0].text

    async def call_over_mcp(self, command: list[str]) -> str:
        async with Servers(peer=command) as tools, Dispatcher(tools, permissions=Permissions("bypass")) as dispatcher:
            return (await dispatcher.call("peer_echo", {"text": "hello"})).text

    async def call_operation(self, document: dict[str, Any], arguments: dict[str, Any], client: Any) -> None:
        await Dispatcher(Catalog.from_openapi(document, client=client)).call("send", arguments)

    async def serve_over_mcp(self) -> str:
        catalog = Catalog()

        @catalog.tool(read_only=True)
        def echo(text: str) -> str:
            """Return the text."""
            return text

        async with Client(build_server(Dispatcher(catalog))) as client:
            result = await client.call_tool("echo", {"text": "hello"})
            return str(result.content[0])

    def count_providers(self) -> int:
        return len(PROVIDER_NAMES)
