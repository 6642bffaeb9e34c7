"""pydantic-ai, with its `FunctionModel` for a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, ClassVar

from pydantic_ai import Agent, DeferredToolRequests, DeferredToolResults, Tool, providers
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.profiles import ModelProfile

from .library import Library, Reply, append_line, pay

__all__ = ["PydanticAI", "play"]


def play(*turns: str | tuple[str, dict[str, Any]]) -> FunctionModel:
    """Return a model that plays *turns*, each a text or a call: the conversation says which one is next."""

    def reply(messages: list[Any], info: Any) -> ModelResponse:
        turn = turns[sum(isinstance(message, ModelResponse) for message in messages)]
        return ModelResponse(parts=[TextPart(turn) if isinstance(turn, str) else ToolCallPart(*turn)])

    # Without a search of the provider's own, so that theirs is used.
    return FunctionModel(reply, profile=ModelProfile(supported_native_tools=frozenset()))


class PydanticAI(Library):
    distribution = "pydantic-ai-slim"
    imports = "from pydantic_ai import Agent"
    notes: ClassVar[dict[str, str]] = {
        "approval after a kill": "you keep the messages",
        "killed run": "with `DBOSAgent`, and tools that you declare as steps",
        "exceptions": "`ModelRetry` is read",
    }

    async def call(self, function: Callable[..., Any], arguments: dict[str, Any], **options: Any) -> Reply:
        read: list[str] = []

        def model(messages: list[Any], info: Any) -> ModelResponse:
            if len(messages) == 1:
                return ModelResponse(parts=[ToolCallPart(function.__name__, arguments)])
            read.extend(_read(part) for part in messages[-1].parts)
            return ModelResponse(parts=[TextPart("done")])

        await Agent(FunctionModel(model), tools=[Tool(function, **options)]).run("go")
        return Reply("\n".join(read))

    async def call_with_time_limit(self, function: Callable[..., Any], seconds: float) -> Reply:
        return await self.call(function, {}, timeout=seconds)

    async def shown_definitions(self, functions: list[Callable[..., Any]]) -> int:
        shown: list[int] = []

        def model(messages: list[Any], info: Any) -> ModelResponse:
            shown.append(len(info.function_tools))
            return ModelResponse(parts=[TextPart("done")])

        # Without a search of the provider's own, so that theirs is used.
        played = FunctionModel(model, profile=ModelProfile(supported_native_tools=frozenset()))
        await Agent(played, tools=[Tool(function, defer_loading=True) for function in functions]).run("go")
        return shown[0]

    def _agent(self, folder: Path) -> Agent[None, Any]:
        def model(messages: list[Any], info: Any) -> ModelResponse:
            if len(messages) == 1:
                return ModelResponse(parts=[ToolCallPart("append_line", {"folder": str(folder)})])
            return ModelResponse(parts=[TextPart("done")])

        tools = [Tool(append_line, requires_approval=True)]
        return Agent(FunctionModel(model), tools=tools, output_type=[str, DeferredToolRequests])

    async def ask(self, folder: Path) -> bool:
        run = await self._agent(folder).run("go")
        (folder / "messages.json").write_bytes(run.all_messages_json())
        return isinstance(run.output, DeferredToolRequests) and len(run.output.approvals) == 1

    async def answer(self, folder: Path) -> None:
        messages = ModelMessagesTypeAdapter.validate_json((folder / "messages.json").read_bytes())
        answers = {part.tool_call_id: True for part in messages[-1].parts if isinstance(part, ToolCallPart)}
        await self._agent(folder).run(
            message_history=messages, deferred_tool_results=DeferredToolResults(approvals=answers)
        )

    async def pay_bills(self, folder: Path) -> None:
        from dbos import DBOS, SetWorkflowID
        from pydantic_ai.durable_exec.dbos import DBOSAgent

        def model(messages: list[Any], info: Any) -> ModelResponse:
            bill = 1 + len(messages) // 2
            call = ToolCallPart("pay", {"folder": str(folder), "bill": bill})
            return ModelResponse(parts=[TextPart("done") if bill > 2 else call])

        url = f"sqlite:///{folder}/runs.sqlite"
        DBOS(config={"name": "peer", "system_database_url": url, "application_version": "1"})
        agent = DBOSAgent(Agent(FunctionModel(model), tools=[Tool(DBOS.step()(pay))], name="peer"))
        DBOS.launch()
        with SetWorkflowID("run-1"):
            await agent.run("go")

    async def call_over_mcp(self, command: list[str]) -> str:
        from fastmcp.client.transports import StdioTransport
        from pydantic_ai.mcp import MCPToolset

        async with MCPToolset(StdioTransport(command[0], command[1:])) as toolset:
            return str(await toolset.direct_call_tool("echo", {"text": "hello"}))

    def count_providers(self) -> int:
        return len([module for module in iter_modules(providers.__path__) if not module.name.startswith("_")])


def _read(part: Any) -> str:
    content = part.model_response() if hasattr(part, "model_response") else part.content
    return content if isinstance(content, str) else str(content)
