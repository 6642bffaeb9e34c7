"""One full call: lookup, check, typed conversion, run, result with text; beside awaiting the function and six peers."""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import time
from collections.abc import Awaitable, Callable
from typing import Any

from toolkit import Catalog, Dispatcher, ToolCall, ToolResult
from toolkit.hooks import Outcome, Proceed

from .subjects import CALLS, FUNCTIONS
from .timing import Row, ratio

__all__ = ["rows"]

Candidate = Callable[[], Awaitable[object]]


class Nothing:
    """A hook that does nothing, before and after."""

    def before(self, call: ToolCall) -> Outcome:
        return Proceed()

    def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        return result


async def peers(function: Any, arguments: dict[str, Any]) -> dict[str, Candidate]:
    """Each peer's own way from a name and JSON arguments to a result."""
    from agents import function_tool
    from agents.tool_context import ToolContext
    from anthropic import beta_async_tool
    from fastmcp import FastMCP
    from langchain_core.tools import StructuredTool
    from mcp.server.mcpserver import MCPServer
    from pydantic_ai import FunctionToolset, RunContext
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models.test import TestModel
    from pydantic_ai.tool_manager import ToolManager
    from pydantic_ai.usage import RunUsage

    name, text = function.__name__, json.dumps(arguments)
    from_anthropic = beta_async_tool(function)
    context: Any = RunContext(deps=None, model=TestModel(), usage=RunUsage())
    manager = await ToolManager(FunctionToolset([function])).for_run_step(context)
    from_openai = function_tool(function)
    tool_context: Any = ToolContext(context=None, tool_name=name, tool_call_id="1", tool_arguments=text)
    mcp_server = MCPServer("bench")
    mcp_server.add_tool(function)
    fast_server = FastMCP("bench")
    fast_server.tool(function)
    from_langchain = StructuredTool.from_function(coroutine=function)
    return {
        "anthropic call": lambda: from_anthropic.call(arguments),
        "pydantic-ai ToolManager": lambda: manager.handle_call(ToolCallPart(name, arguments)),
        "openai-agents on_invoke_tool": lambda: from_openai.on_invoke_tool(tool_context, text),
        "mcp server": lambda: mcp_server.call_tool(name, arguments),
        "fastmcp": lambda: fast_server.call_tool(name, arguments),
        "langchain-core": lambda: from_langchain.ainvoke(arguments),
    }


async def best_of(candidates: dict[str, Candidate], *, number: int = 1000, rounds: int = 30) -> dict[str, float]:
    """Microseconds for one await of each candidate; they take turns, and the best round counts."""
    best = dict.fromkeys(candidates, float("inf"))
    count = dict.fromkeys(candidates, number)
    for name, candidate in candidates.items():
        await candidate()  # what is made once is not counted
        seconds = float("inf")
        for _ in range(5):
            start = time.perf_counter()
            await candidate()
            seconds = min(seconds, time.perf_counter() - start)
        # A slow peer gets fewer turns, so that the whole takes a minute and not ten.
        count[name] = max(3, min(number, int(0.002 / max(1e-7, seconds))))
    gc.disable()
    try:
        for _ in range(rounds):
            for name, candidate in candidates.items():
                start = time.perf_counter()
                for _ in range(count[name]):
                    await candidate()
                best[name] = min(best[name], (time.perf_counter() - start) / count[name] * 1e6)
    finally:
        gc.enable()
    return best


_BARE_LIMITS = {"two integers": 7.0, "five parameters": 7.5}
_PEER_LIMITS = {"two integers": 0.75, "five parameters": 0.75, "nested order, 20 items": 0.9}


async def single_calls() -> list[Row]:
    found: list[Row] = []
    for what, function in FUNCTIONS.items():
        arguments = CALLS[what]
        catalog = Catalog(function)
        plain, hooked = Dispatcher(catalog), Dispatcher(catalog, hooks=[Nothing(), Nothing(), Nothing()])
        name, decoded = function.__name__, catalog[function.__name__].check(arguments)
        best = await best_of(
            {
                "bare await": lambda function=function, decoded=decoded: function(**decoded),
                "toolkit": lambda plain=plain, name=name, arguments=arguments: plain.call(name, arguments),
                "toolkit, 3 + 3 hooks": lambda hooked=hooked, name=name, arguments=arguments: hooked.call(
                    name, arguments
                ),
                **await peers(function, arguments),
            }
        )
        bare, ours, peer = best["bare await"], best["toolkit"], best["anthropic call"]
        limit = f" (at most {_BARE_LIMITS[what]:g})" if what in _BARE_LIMITS else ""
        found.append((f"{what}: toolkit", ours, ratio(ours, bare), f"of the bare await{limit}"))
        found.append((f"{what}: toolkit", ours, ratio(ours, peer), f"of anthropic's (at most {_PEER_LIMITS[what]:g})"))
        hooks = best["toolkit, 3 + 3 hooks"]
        found.append((f"{what}: toolkit, 3 + 3 hooks", hooks, ratio(hooks, ours), "of none (at most 1.6)"))
        found += [
            (f"{what}: {each}", microseconds, None, "")
            for each, microseconds in best.items()
            if not each.startswith("toolkit")
        ]
    return found


async def concurrent_calls(count: int) -> list[Row]:
    add, arguments = FUNCTIONS["two integers"], CALLS["two integers"]
    dispatcher = Dispatcher(_read_only(add))
    calls = [ToolCall("add", arguments) for _ in range(count)]
    best = {"gather": float("inf"), "call_many": float("inf"), "gather of calls": float("inf")}
    for _ in range(15):
        start = time.perf_counter()
        await asyncio.gather(*(add(**arguments) for _ in range(count)))
        best["gather"] = min(best["gather"], time.perf_counter() - start)
        start = time.perf_counter()
        await asyncio.gather(*(dispatcher.call("add", arguments) for _ in range(count)))
        best["gather of calls"] = min(best["gather of calls"], time.perf_counter() - start)
        start = time.perf_counter()
        results = await dispatcher.call_many(calls)
        best["call_many"] = min(best["call_many"], time.perf_counter() - start)
        assert len(results) == count
    bare = best["gather"]
    return [
        (f"{count:,} at once: bare gather", bare * 1e6, None, ""),
        (f"{count:,} at once: call_many", best["call_many"] * 1e6, best["call_many"] / bare, "of gather (at most 1.6)"),
        (
            f"{count:,} at once: gather of calls",
            best["gather of calls"] * 1e6,
            best["gather of calls"] / bare,
            "of gather (at most 1.6)",
        ),
    ]


def _read_only(function: Any) -> Catalog:
    catalog = Catalog()
    catalog.tool(read_only=True)(function)
    return catalog


def rows() -> list[Row]:
    logging.disable(logging.CRITICAL)  # peers log every call
    return asyncio.run(single_calls()) + asyncio.run(concurrent_calls(1000))
