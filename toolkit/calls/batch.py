"""
Running a batch: calls run together if that is harmless, and otherwise alone and in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ..decisions import ApprovalRequest
from ..results import ToolCall, ToolResult
from ..spec import Tool
from ..values.rendering import as_json
from .attempt import must_propagate
from .plan import may_run_concurrently

__all__ = ["run_batch"]

RunCall: TypeAlias = Callable[[int], Coroutine[Any, Any, None]]


async def run_batch(
    calls: Sequence[ToolCall],
    start: Callable[[ToolCall], Awaitable[ToolResult]],
    skip: Callable[[ToolCall, ToolResult], Awaitable[ToolResult]],
    may_wait: Callable[[ToolCall], bool],
    find_tool: Callable[[str], Tool | None],
    max_concurrency: int,
) -> list[ToolResult]:
    """
    Run *calls*, at most *max_concurrency* at once, and return the results in the order of the calls.

    A call that is not started is passed to *skip*.
    """
    results: list[ToolResult | None] = [None] * len(calls)
    halted: str | None = None
    waiting: str | None = None
    tools = [find_tool(call.name) for call in calls]
    safe = [await _is_concurrency_safe(tool, call) for tool, call in zip(tools, calls, strict=True)]

    async def run_one(index: int) -> None:
        nonlocal halted, waiting
        call, tool = calls[index], tools[index]
        if halted is not None:
            results[index] = await skip(call, ToolResult.failure("halted", halted))
            return
        if waiting is not None and tool is not None and not tool.facts.read_only:
            results[index] = await skip(call, _build_waiting_result(call, tool, waiting))
            return
        results[index] = result = await start(call)
        if result.kind == "halted":
            halted = "" if result.error is None else result.error.message
        elif result.kind == "waiting" and waiting is None:
            waiting = call.id
        del result

    waits = [tool is not None and may_wait(call) for tool, call in zip(tools, calls, strict=True)]
    for group in _group_calls(safe, tools, waits):
        if len(group) == 1:
            await _run_alone(run_one, group[0])
        else:
            await _run_together(run_one, group, max_concurrency)
    try:
        return [result for result in results if result is not None]
    finally:
        results.clear()  # the tracebacks of their errors hold the frames of this function


async def _is_concurrency_safe(tool: Tool | None, call: ToolCall) -> bool:
    """Return whether a call may run beside others. If that cannot be determined, return False."""
    if tool is None:
        return True
    fact = tool.facts.concurrency_safe
    if isinstance(fact, bool):
        return fact
    try:
        return await may_run_concurrently(tool, tool.about.checker.check(call.arguments))
    except BaseException as error:
        if must_propagate(error):
            raise
        return False  # the arguments do not fit; the call runs alone and reports that itself


def _group_calls(safe: Sequence[bool], tools: Sequence[Tool | None], waits: Sequence[bool]) -> Iterator[list[int]]:
    """
    Yield groups of neighbouring calls that may run together; every other call is a group of its own.

    *waits* says which calls may have to wait for a person.
    """
    group: list[int] = []
    may_wait = False
    for index, (is_safe, tool, wait) in enumerate(zip(safe, tools, waits, strict=True)):
        # A call that changes something is held back while another call waits, so that other call must be decided first.
        if group and (not is_safe or (may_wait and tool is not None and not tool.facts.read_only)):
            yield group
            group, may_wait = [], False
        if is_safe:
            group.append(index)
            may_wait = may_wait or wait
        else:
            yield [index]
    if group:
        yield group


async def _run_alone(run_call: RunCall, index: int) -> None:
    task = asyncio.current_task()
    before = 0 if task is None else task.cancelling()
    await run_call(index)
    # A tool may swallow a cancellation that was meant for the batch. The remaining calls must still not start.
    if task is not None and task.cancelling() > before:
        raise asyncio.CancelledError


async def _run_together(run_call: RunCall, group: Sequence[int], max_concurrency: int) -> None:
    """
    Run all calls of *group*, *max_concurrency* at a time.

    If the batch is cancelled, its calls are cancelled too. This function returns only after all of them have ended.
    """
    indexes = iter(group)
    errors: list[BaseException] = []
    workers: list[asyncio.Task[None]] = []
    stopping = False

    async def worker() -> None:
        try:
            for index in indexes:
                await run_call(index)
                if stopping:
                    return
        except BaseException as error:  # noqa: BLE001 -- raised below, once the other workers have ended
            if not (isinstance(error, asyncio.CancelledError) and stopping):
                errors.append(error)
                stop()

    def stop() -> None:
        nonlocal stopping
        stopping = True
        for task in workers:
            task.cancel()

    workers += [asyncio.ensure_future(worker()) for _ in range(min(max_concurrency, len(group)))]
    running = set(workers)
    cancelled: asyncio.CancelledError | None = None
    while running:
        try:
            _, running = await asyncio.wait(running)
        except asyncio.CancelledError as error:
            cancelled = error
            stop()
            running = {task for task in running if not task.done()}
    if cancelled is not None:
        raise cancelled
    if errors:
        raise errors[0]


def _build_waiting_result(call: ToolCall, tool: Tool, waits_for: str) -> ToolResult:
    # The caller's own mapping may fail or change, and the request has to be plain JSON.
    arguments = as_json(call.arguments) if isinstance(call.arguments, Mapping) else {}
    request = ApprovalRequest(
        tool=tool.name,
        call_id=call.id,
        reason="held back until an earlier call was decided",
        arguments=arguments if isinstance(arguments, dict) else {},
        waits_for=waits_for,
        session=None if call.session is None else call.session.id,
        principal=call.principal,
    )
    text = "waiting: not started, because an earlier call waits for approval"
    return ToolResult(text, None, "waiting", request=request)
