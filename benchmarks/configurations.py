"""
What each thing that one switches on costs: the same call in many configurations, beside peers that have the same thing.

Each line names its limit. `python -m benchmarks configurations` prints both sets of tools.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any

from toolkit import Catalog, Dispatcher, Permissions, Reads, SafetyChecks, ToolCall, ToolResult
from toolkit.hooks import Outcome, Proceed, Run

from .configured_tools import FIRST_SET, SECOND_SET, ToolSet
from .dispatching import best_of
from .importing import microseconds
from .judging import OTHERS
from .subjects import five_parameter_functions
from .timing import Row

__all__ = ["rows"]

Candidate = Callable[[], Awaitable[object]]


class AsyncPair:
    """A hook that does nothing, before and after, as coroutines."""

    async def before(self, call: ToolCall) -> Outcome:
        return Proceed()

    async def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        return result


class Around:
    """A hook that only runs the call."""

    async def around(self, call: ToolCall, run: Run) -> ToolResult:
        return await run()


def rows() -> list[Row]:
    logging.disable(logging.CRITICAL)
    found: list[Row] = []
    for title, tools in (("", FIRST_SET), ("second set: ", SECOND_SET)):
        with tempfile.TemporaryDirectory() as folder:
            found += [(title + what, *rest) for what, *rest in asyncio.run(_measure(tools, folder))]  # type: ignore[misc]
    return found + _definitions() + _imports()


async def _measure(tools: ToolSet, folder: str) -> list[Row]:
    candidates = {**_plain(tools), **_texts(tools), **_results(tools), **_switched_on(tools), **_judged(tools, folder)}
    best = await best_of(candidates, number=400, rounds=40)
    return [
        (what, best[what], best[what] / best[to], f"of {to} (at most {limit:g})") for what, to, limit in _limits(tools)
    ]


def _limits(tools: ToolSet) -> list[tuple[str, str, float]]:
    """Return the lines of the table: what, compared with what, and the largest ratio."""
    return [
        ("JSON text, plain call", "plain", 2.5),
        ("JSON text, several parameters", "openai-agents, several parameters", 0.8),
        ("JSON text, nested", "openai-agents, nested", 0.8),
        *((f"returns {kind}", "plain", 1.9) for kind in list(tools.results)[:1]),
        *((f"returns {kind}", f"anthropic, returns {kind}", 0.75) for kind in tools.results),
        ("nested", "anthropic, nested", 0.85),
        ("a ToolCall", "plain", 2.0),
        ("sync, thread=False", "plain", 2.0),
        ("sync, in a thread", "asyncio.to_thread", 1.1),
        ("three async before/after pairs", "plain", 2.2),
        ("one around-hook", "plain", 3.0),
        ("a time limit on the tool", "asyncio.timeout", 2.0),
        ("a time limit on the dispatcher", "asyncio.timeout", 2.0),
        ("one rule about the arguments", "plain", 12.0),
        ("a marked path, default mode, ten rules", "path not marked", 12.0),
        ("a tool that raises", "plain", 8.0),
        ("bad arguments, repair on, text read", "jsonschema iter_errors", 1.5),
    ]


def _dispatcher(
    function: Any, *, thread: bool | None = None, timeout: float | None = None, **options: Any
) -> Dispatcher:
    catalog = Catalog()
    facts: dict[str, Any] = {} if thread is None else {"thread": thread}
    if timeout is not None:
        facts["timeout_seconds"] = timeout
    catalog.tool(read_only=True, **facts)(function)
    return Dispatcher(catalog, **options)


def _call(dispatcher: Dispatcher, function: Any, arguments: Any) -> Candidate:
    name = function.__name__
    return lambda: dispatcher.call(name, arguments)


def _plain(tools: ToolSet) -> dict[str, Candidate]:
    function, arguments = tools.plain
    dispatcher = _dispatcher(function)
    return {
        # The first one after a slow one finds the caches cold, so it does not count.
        "warming up": _call(dispatcher, function, arguments),
        "plain": _call(dispatcher, function, arguments),
        "a ToolCall": lambda: dispatcher.call(ToolCall(function.__name__, arguments, "1")),
    }


def _texts(tools: ToolSet) -> dict[str, Candidate]:
    from agents import function_tool
    from agents.tool_context import ToolContext
    from anthropic import beta_async_tool

    function, arguments = tools.plain
    found: dict[str, Candidate] = {
        "JSON text, plain call": _call(_dispatcher(function), function, json.dumps(arguments))
    }
    for what in ("several parameters", "nested"):
        function, arguments = tools.several if what == "several parameters" else tools.nested
        text = json.dumps(arguments)
        context: Any = ToolContext(context=None, tool_name=function.__name__, tool_call_id="1", tool_arguments=text)
        from_openai, from_anthropic = function_tool(function, strict_mode=False), beta_async_tool(function)
        found[f"JSON text, {what}"] = _call(_dispatcher(function), function, text)
        found[f"openai-agents, {what}"] = lambda tool=from_openai, context=context, text=text: tool.on_invoke_tool(
            context, text
        )
        found[what] = _call(_dispatcher(function), function, arguments)
        found[f"anthropic, {what}"] = lambda tool=from_anthropic, arguments=arguments: tool.call(arguments)
    return found


def _results(tools: ToolSet) -> dict[str, Candidate]:
    from anthropic import beta_async_tool

    found: dict[str, Candidate] = {}
    for kind, (function, arguments) in tools.results.items():
        from_anthropic = beta_async_tool(_as_text(function))
        found[f"returns {kind}"] = _call(_dispatcher(function), function, arguments)
        found[f"anthropic, returns {kind}"] = lambda tool=from_anthropic, arguments=arguments: tool.call(arguments)
    return found


def _as_text(function: Any) -> Any:
    """Return the function as a tool of anthropic's has to be written: it makes the JSON text itself."""
    import dataclasses
    import functools

    @functools.wraps(function)
    async def wrapper(*args: Any, **keywords: Any) -> str:
        value = await function(*args, **keywords)
        return json.dumps(dataclasses.asdict(value) if dataclasses.is_dataclass(value) else value)

    return wrapper


def _switched_on(tools: ToolSet) -> dict[str, Candidate]:
    function, arguments = tools.plain
    sync, failing = tools.sync, tools.failing

    async def with_timeout() -> Any:
        async with asyncio.timeout(5):
            return await function(**arguments)

    bad_function, bad = tools.bad
    refusing = _dispatcher(bad_function)

    async def read_refusal() -> str:
        return (await refusing.call(bad_function.__name__, bad)).text

    return {
        "sync, thread=False": _call(_dispatcher(sync, thread=False), sync, arguments),
        "sync, in a thread": _call(_dispatcher(sync), sync, arguments),
        "asyncio.to_thread": lambda: asyncio.to_thread(sync, **arguments),
        "three async before/after pairs": _call(
            _dispatcher(function, hooks=[AsyncPair(), AsyncPair(), AsyncPair()]), function, arguments
        ),
        "one around-hook": _call(_dispatcher(function, hooks=[Around()]), function, arguments),
        "asyncio.timeout": with_timeout,
        "a time limit on the tool": _call(_dispatcher(function, timeout=5), function, arguments),
        "a time limit on the dispatcher": _call(_dispatcher(function, timeout_seconds=5), function, arguments),
        "a tool that raises": _call(_dispatcher(failing), failing, arguments),
        "bad arguments, repair on, text read": read_refusal,
        "jsonschema iter_errors": _iter_errors(tools),
    }


async def _size(path: Annotated[Path, Reads]) -> int:
    return 1


async def _unmarked_size(path: Path) -> int:
    return 1


def _judged(tools: ToolSet, folder: str) -> dict[str, Candidate]:
    function, arguments = tools.plain
    name, file = function.__name__, {"path": os.path.join(folder, "notes.txt")}
    safety = SafetyChecks([folder])
    ruled = _dispatcher(function, permissions=Permissions("auto", [tools.rule.format(name)]), safety=safety)
    catalog = Catalog()
    for each in (_size, _unmarked_size):
        catalog.tool(each, name=each.__name__.strip("_"), description="What the benchmark calls.", read_only=True)
    marked = Dispatcher(catalog, permissions=Permissions("default", OTHERS), safety=safety)
    unmarked = Dispatcher(catalog, safety=safety)
    return {
        "one rule about the arguments": _call(ruled, function, arguments),
        "a marked path, default mode, ten rules": lambda: marked.call("size", file),
        "path not marked": lambda: unmarked.call("unmarked_size", file),
    }


def _iter_errors(tools: ToolSet) -> Candidate:
    """Return what jsonschema does with the bad arguments, with a validator that is made once."""
    from jsonschema import Draft202012Validator

    function, bad = tools.bad
    validator = Draft202012Validator(_dispatcher(function).catalog[function.__name__].schema)

    async def read_messages() -> list[str]:
        return [error.message for error in validator.iter_errors(bad)]

    return read_messages


def _definitions() -> list[Row]:
    first = again = float("inf")
    for _ in range(15):  # a round takes so long that another program interrupts most of them
        functions = five_parameter_functions(1000)
        start = time.perf_counter()
        catalog = Catalog()
        catalog.add(*functions)
        catalog.definitions("anthropic")
        first = min(first, time.perf_counter() - start)
        start = time.perf_counter()
        catalog.definitions("anthropic")
        again = min(again, time.perf_counter() - start)
    return [
        ('definitions("anthropic") of 1,000 new tools, per tool', first * 1e3, first / 0.25, "of 0.25 ms (at most 1)"),
        ("the same again, all together", again * 1e6, again * 1e3 / 0.1, "of 0.1 ms (at most 1)"),
    ]


_IMPORTS = {"toolkit": ("toolkit", 1.3), "Dispatcher and tool": ("toolkit; from toolkit import Dispatcher, tool", 1.8)}


def _imports() -> list[Row]:
    best = dict.fromkeys(["asyncio", *_IMPORTS], float("inf"))
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": cache}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for _ in range(20):
            for what in best:
                code = _IMPORTS[what][0] if what in _IMPORTS else what
                best[what] = min(best[what], microseconds(code, environment))
    return [
        (f"import {what}", best[what], best[what] / best["asyncio"], f"of import asyncio (at most {limit:g})")
        for what, (_, limit) in _IMPORTS.items()
    ]
