"""
Progress of running calls, sent to the client before the result.

A tool reports from any thread, and does not wait. The reports of a call are sent in order by a task of the call.
"""

from __future__ import annotations

import asyncio
import math
import sys
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeAlias

import anyio

from ...context import Progress
from ...results import GeneratedId, ToolResult
from ...values.rendering import as_text

__all__ = ["ProgressRouter", "ProgressSender", "run_to_end", "run_with_progress"]

SendProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]

_MAX_WAITING = 1_000
_MAX_MESSAGE_CHARS = 1_000


class ProgressSender:
    """
    Sends the reports of one call.

    Args:
        send: Sends one report: the progress, the total and a message.
    """

    def __init__(self, send: SendProgress) -> None:
        self._send = send
        # If a client reads slowly, it gets the newest reports.
        self._waiting: deque[Progress] = deque(maxlen=_MAX_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._last = -math.inf
        self._is_closed = False

    def add(self, report: Progress) -> None:
        """Send *report* as soon as the reports before it are sent. Call this on the event loop."""
        if self._is_closed:
            return
        self._waiting.append(report)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._send_waiting())

    async def _send_waiting(self) -> None:
        while self._waiting:
            report = self._waiting.popleft()
            await self._send(self._number(report), _read_number(report.total), _message_of(report))

    def _number(self, report: Progress) -> float:
        """Return the progress of *report*. The protocol wants each number to be higher than the one before."""
        number = _read_number(report.progress)
        if number is None or not number > self._last:
            number = 0.0 if self._last == -math.inf else math.nextafter(self._last, sys.float_info.max)
        self._last = number
        return number

    async def flush(self) -> None:
        """Wait until every report is sent."""
        if self._task is not None:
            await self._task

    def close(self) -> None:
        """Send no more reports."""
        self._is_closed = True
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()


def _read_number(value: Any) -> float | None:
    """Return *value*, which a tool reported, as a number that JSON has; None if it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _message_of(report: Progress) -> str | None:
    text = report.message if report.value is None else as_text(report.value)
    # A lone surrogate, such as the name of a file may have, cannot be sent.
    return None if text is None else str(text)[:_MAX_MESSAGE_CHARS].encode(errors="replace").decode()


class ProgressRouter:
    """
    Passes the reports of new calls to their senders.

    The id of a call is unique among all processes, because a call that waits for an answer keeps its id, and another
    process may run it. A call that is resumed has a sender of its own and none here: several answers to its question
    may arrive at once, and they share the id.
    """

    def __init__(self) -> None:
        self._senders: dict[str, ProgressSender] = {}

    def create_id(self) -> GeneratedId:
        """Return the id for a call that no other call of any server has."""
        return GeneratedId(f"mcp_{uuid.uuid4().hex}")

    def __call__(self, report: Progress) -> None:
        sender = self._senders.get(report.call_id)
        if sender is not None:
            sender.add(report)

    def open(self, call_id: str, sender: ProgressSender) -> None:
        """Pass the reports of the call *call_id* to *sender* until it is closed."""
        self._senders[call_id] = sender

    def close(self, call_id: str) -> None:
        """Pass on no more reports of the call *call_id*."""
        self._senders.pop(call_id, None)


async def run_with_progress(sender: ProgressSender, run: Coroutine[Any, Any, ToolResult]) -> ToolResult:
    """Return the result of *run* when every report of the call is sent."""
    try:
        result = await run_to_end(run)
        await sender.flush()
    finally:
        sender.close()
    return result


async def run_to_end(run: Coroutine[Any, Any, ToolResult]) -> ToolResult:
    """
    Return the result of *run*. If the request is cancelled, cancel the call once and wait until it has ended.

    A cancelled request interrupts its task again at every step. A call that cleans up after itself must not be
    interrupted like that, so it has a task of its own.
    """
    task = asyncio.get_running_loop().create_task(run)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({task})
        raise
