"""langchain: `create_agent` with its middleware, and a chat model of ours that plays one call."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from langchain.agents import create_agent
from langchain.agents.middleware import (
    HumanInTheLoopMiddleware,
    LLMToolSelectorMiddleware,
    PIIMiddleware,
    ToolRetryMiddleware,
)
from langchain.chat_models import base as chat_models
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langgraph.types import Command

from .library import Library, NotOfferedError, Reply, append_line, pay

__all__ = ["LangChain", "play"]


class PlayedModel(BaseChatModel):
    """Play `turns`, each a text or a call, then say "done"."""

    turns: tuple[Any, ...] = ()
    shown: int = 0

    @property
    def _llm_type(self) -> str:
        return "played"

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        self.shown = len(tools)
        return self

    def with_structured_output(self, schema: Any, **kwargs: Any) -> Any:
        """Answer the request to select a tool."""
        return RunnableLambda(lambda messages: {"tools": ["task_7"]})

    def _generate(self, messages: Any, stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        number = sum(isinstance(message, ToolMessage) for message in messages)
        turn = (*self.turns, "done")[number]
        calls = [] if isinstance(turn, str) else [{"name": turn[0], "args": turn[1], "id": str(number + 1)}]
        message = AIMessage("" if calls else turn, tool_calls=calls)
        return ChatResult(generations=[ChatGeneration(message=message)])


def play(*turns: str | tuple[str, dict[str, Any]]) -> PlayedModel:
    """Return a model that plays *turns*, each a text or a call: the conversation says which one is next."""
    return PlayedModel(turns=turns)


class LangChain(Library):
    distribution = "langchain"
    imports = "from langchain.agents import create_agent"
    notes: ClassVar[dict[str, str]] = {
        "exceptions": "`ToolErrorMiddleware` hands it on",
        "approval after a kill": "with `langgraph-checkpoint-sqlite`",
        "killed run": "with `langgraph-checkpoint-sqlite`",
        "1,000 tools": "after a further request in which a model reads all 1,000",
        "providers": "a package each",
        "retries": "unless you list the tools",
    }

    async def call(self, function: Callable[..., Any], arguments: dict[str, Any], *middleware: Any) -> Reply:
        model = play((function.__name__, arguments))
        agent = create_agent(model, [tool(function)], middleware=middleware)
        state = await agent.ainvoke({"messages": [("user", "go")]})
        return Reply("\n".join(str(read.content) for read in state["messages"] if isinstance(read, ToolMessage)))

    async def call_with_retries(self, function: Callable[..., Any], *, destructive: bool) -> Reply:
        return await self.call(function, {}, ToolRetryMiddleware(initial_delay=0, jitter=False))

    async def call_with_masked_key(self, function: Callable[..., Any]) -> Reply:
        return await self.call(
            function, {}, PIIMiddleware("api_key", detector=r"sk-[0-9a-f]+", apply_to_tool_results=True)
        )

    async def _go_on(self, folder: Path, message: Any) -> Any:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        model = play(("append_line", {"folder": str(folder)}))
        async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
            agent = create_agent(
                model,
                [tool(append_line)],
                middleware=[HumanInTheLoopMiddleware({"append_line": True})],
                checkpointer=saver,
            )
            return await agent.ainvoke(message, {"configurable": {"thread_id": "1"}})

    async def ask(self, folder: Path) -> bool:
        return "__interrupt__" in await self._go_on(folder, {"messages": [("user", "go")]})

    async def answer(self, folder: Path) -> None:
        await self._go_on(folder, Command(resume={"decisions": [{"type": "approve"}]}))

    async def pay_bills(self, folder: Path) -> None:
        from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver

        thread: Any = {"configurable": {"thread_id": "1"}}
        async with AsyncSqliteSaver.from_conn_string(str(folder / "checkpoints.sqlite")) as saver:
            model = play(*(("pay", {"folder": str(folder), "bill": bill}) for bill in (1, 2)))
            agent = create_agent(model, [tool(pay)], checkpointer=saver)
            is_cut_off = bool((await agent.aget_state(thread)).next)
            message: Any = None if is_cut_off else {"messages": [("user", "go")]}
            await agent.ainvoke(message, thread, durability="sync")

    async def shown_definitions(self, functions: list[Callable[..., Any]]) -> int:
        model = PlayedModel()
        middleware = [LLMToolSelectorMiddleware(model=model, max_tools=1)]
        await create_agent(model, [tool(function) for function in functions], middleware=middleware).ainvoke(
            {"messages": [("user", "go")]}
        )
        return model.shown

    async def call_over_mcp(self, command: list[str]) -> str:
        # It needs version 1 of the package `mcp` and fastmcp version 2, so we ran it by hand in another environment.
        raise NotOfferedError("client in a package of its own, `langchain-mcp-adapters`")

    def count_providers(self) -> int:
        return len(chat_models._BUILTIN_PROVIDERS)  # noqa: SLF001 -- there is no public list
