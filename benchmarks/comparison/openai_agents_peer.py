"""openai-agents, with a model of ours that plays one call."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from agents import (
    Agent,
    Model,
    ModelResponse,
    RunConfig,
    Runner,
    RunState,
    SQLiteSession,
    ToolSearchTool,
    Usage,
    function_tool,
)
from agents.extensions.tool_output_trimmer import ToolOutputTrimmer
from agents.mcp import MCPServerStdio
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from .library import Library, Reply, append_line, pay

__all__ = ["OpenAIAgents", "play"]

_QUIET = RunConfig(tracing_disabled=True)


class PlayedModel(Model):
    """Play *turns*, each a text or a call, then say "done"; keep what was read and how many tools were shown."""

    def __init__(self, *turns: str | tuple[str, dict[str, Any]]) -> None:
        self._turns = (*turns, "done")
        self.read = ""
        self.shown = 0

    async def get_response(
        self,
        system_instructions: Any,
        input: Any,  # noqa: A002 -- the name is theirs
        model_settings: Any,
        tools: Any,
        *args: Any,
        **kwargs: Any,
    ) -> ModelResponse:
        self.shown = len(tools)
        items = input if isinstance(input, list) else []
        outputs = [item["output"] for item in items if item.get("type") == "function_call_output"]
        self.read = "\n".join(str(output) for output in outputs)
        turn = self._turns[len(outputs)]
        if not isinstance(turn, str):
            call = ResponseFunctionToolCall(
                name=turn[0], arguments=json.dumps(turn[1]), call_id=str(len(outputs) + 1), type="function_call"
            )
            if any(getattr(tool, "defer_loading", False) and tool.name == call.name for tool in tools):
                call.namespace = call.name  # as OpenAI's server names a tool that its search has found
            return ModelResponse(output=[call], usage=Usage(), response_id=None)
        text = ResponseOutputText(text=turn, type="output_text", annotations=[])
        message = ResponseOutputMessage(id="1", content=[text], role="assistant", status="completed", type="message")
        return ModelResponse(output=[message], usage=Usage(), response_id=None)

    def stream_response(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError


play = PlayedModel


class OpenAIAgents(Library):
    distribution = "openai-agents"
    imports = "from agents import Agent, Runner, function_tool"
    notes: ClassVar[dict[str, str]] = {
        "approval after a kill": "you keep the state",
        "killed run": "with a `SQLiteSession`",
        "named problems": "a function of yours can say more",
        "exceptions": "a function of yours can say more",
        "long results": "cut in later turns",
        "1,000 tools": "OpenAI's server searches them",
        "providers": "more with LiteLLM",
    }

    async def call(
        self, function: Callable[..., Any], arguments: dict[str, Any], config: RunConfig = _QUIET, **options: Any
    ) -> Reply:
        model = PlayedModel((function.__name__, arguments))
        agent = Agent(name="peer", model=model, tools=[function_tool(**options)(function)])
        await Runner.run(agent, "go", run_config=config)
        return Reply(model.read)

    async def call_with_time_limit(self, function: Callable[..., Any], seconds: float) -> Reply:
        return await self.call(function, {}, timeout=seconds)

    async def call_with_text_limit(self, function: Callable[..., Any], characters: int) -> Reply:
        trimmer = ToolOutputTrimmer(recent_turns=1, max_output_chars=characters)
        return await self.call(function, {}, RunConfig(tracing_disabled=True, call_model_input_filter=trimmer))

    async def shown_definitions(self, functions: list[Callable[..., Any]]) -> int:
        model = PlayedModel()
        tools: list[Any] = [function_tool(function, defer_loading=True) for function in functions]
        agent = Agent(name="peer", model=model, tools=[*tools, ToolSearchTool()])
        await Runner.run(agent, "go", run_config=_QUIET)
        return model.shown

    def _agent(self, folder: Path) -> Agent[Any]:
        model = PlayedModel(("append_line", {"folder": str(folder)}))
        return Agent(name="peer", model=model, tools=[function_tool(append_line, needs_approval=True)])

    async def ask(self, folder: Path) -> bool:
        run = await Runner.run(self._agent(folder), "go", run_config=_QUIET)
        (folder / "state.json").write_text(run.to_state().to_string(), encoding="utf-8")
        return len(run.interruptions) == 1

    async def answer(self, folder: Path) -> None:
        agent = self._agent(folder)
        state = await RunState.from_string(agent, (folder / "state.json").read_text(encoding="utf-8"))
        for interruption in state.get_interruptions():
            state.approve(interruption)
        await Runner.run(agent, state, run_config=_QUIET)

    async def pay_bills(self, folder: Path) -> None:
        model = PlayedModel(*(("pay", {"folder": str(folder), "bill": bill}) for bill in (1, 2)))
        agent = Agent(name="peer", model=model, tools=[function_tool(pay)])
        session = SQLiteSession("run-1", folder / "session.sqlite")
        message: Any = [] if await session.get_items() else "go"
        await Runner.run(agent, message, session=session, run_config=_QUIET)

    async def call_over_mcp(self, command: list[str]) -> str:
        async with MCPServerStdio({"command": command[0], "args": command[1:]}) as server:
            result: Any = await server.call_tool("echo", {"text": "hello"})
            return str(result.content[0].text)

    def count_providers(self) -> int:
        return 1
