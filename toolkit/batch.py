"""
Many calls at once: together where that is harmless, alone and in order where not.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterator, Sequence
from typing import Any

from .requests import ApprovalRequest
from .results import ToolCall, ToolResult
from .spec import Tool

__all__ = ["run_batch"]


async def run_batch(
    calls: Sequence[ToolCall],
    start: Callable[[ToolCall], Coroutine[Any, Any, ToolResult]],
    find: Callable[[str], Tool | None],
    most: int,
) -> list[ToolResult]:
    """The results of *calls*, in their order; at most *most* run at once."""
    results: list[ToolResult | None] = [None] * len(calls)
    halted: str | None = None
    waiting: str | None = None
    tools = [find(call.name) for call in calls]
    safe = [await _is_safe(tool, call) for tool, call in zip(tools, calls, strict=True)]

    async def one(index: int) -> None:
        nonlocal halted, waiting
        call, tool = calls[index], tools[index]
        if halted is not None:
            result = ToolResult.error("halted", halted, call_id=call.id, tool=call.name)
        elif waiting is not None and tool is not None and not tool.facts.read_only:
            result = _held_back(call, waiting)
        else:
            result = await start(call)
        results[index] = result
        if result.kind == "halted":
            halted = "" if result.error is None else result.error.message
        elif result.kind == "waiting" and waiting is None:
            waiting = call.id

    for group in _groups(safe):
        if len(group) == 1:
            await one(group[0])
        else:
            await _together(one, group, most)
    return [result for result in results if result is not None]


async def _is_safe(tool: Tool | None, call: ToolCall) -> bool:
    """Whether a call may run beside others; what cannot tell, may not."""
    if tool is None:
        return True
    stated = tool.facts.concurrency_safe
    if isinstance(stated, bool):
        return stated
    try:
        found: Any = stated(tool.about.checker.check(call.arguments))
        return (await found if inspect.isawaitable(found) else found) is True
    except Exception:  # noqa: BLE001 -- fails closed: it runs alone
        return False


def _groups(safe: Sequence[bool]) -> Iterator[list[int]]:
    """Neighbours that may run together; the others by themselves."""
    group: list[int] = []
    for index, together in enumerate(safe):
        if together:
            group.append(index)
            continue
        if group:
            yield group
        yield [index]
        group = []
    if group:
        yield group


async def _together(one: Callable[[int], Coroutine[Any, Any, None]], group: Sequence[int], most: int) -> None:
    """Run all of *group*, *most* at a time; if we are cancelled, so are they, and they are waited for."""
    left = iter(group)

    async def worker() -> None:
        for index in left:
            await one(index)

    workers = [asyncio.ensure_future(worker()) for _ in range(min(most, len(group)))]
    try:
        await asyncio.gather(*workers)
    except BaseException:
        for task in workers:
            task.cancel()
        await asyncio.gather(*workers, return_exceptions=True)
        raise


def _held_back(call: ToolCall, waits_for: str) -> ToolResult:
    request = ApprovalRequest(
        tool=call.name,
        call_id=call.id,
        reason="held back until an earlier call was decided",
        arguments=call.arguments if isinstance(call.arguments, dict) else {},
        waits_for=waits_for,
        session=None if call.session is None else call.session.id,
        principal=call.principal,
    )
    text = "waiting: not started, because an earlier call waits for approval"
    return ToolResult(text, None, "waiting", call_id=call.id, tool=call.name, request=request)
