"""
Progress of running calls, sent to the client before the result.

A tool reports from any thread, and does not wait. The reports of a call are sent in order by a task of the call.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import sys
import uuid
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from typing import Any, Generic, TypeAlias, TypeVar

import anyio

from ..._plumbing.generated_ids import GeneratedId
from ...context import Progress
from ...results import ToolResult
from ...values.rendering import as_text, replace_surrogates

__all__ = ["MessageQueue", "ProgressRouter", "ProgressSender", "run_to_end", "run_with_progress"]

MessageT = TypeVar("MessageT")
SendProgress: TypeAlias = Callable[[float, float | None, str | None], Awaitable[None]]

_MAX_WAITING = 1_000
_MAX_MESSAGE_CHARS = 1_000


class MessageQueue(Generic[MessageT]):
    """Sends messages in order, by a task of its own. Call its methods on the event loop."""

    def __init__(self, send: Callable[[MessageT], Awaitable[None]]) -> None:
        self._send = send
        # If a client reads slowly, it gets the newest messages.
        self._waiting: deque[MessageT] = deque(maxlen=_MAX_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def add(self, message: MessageT) -> None:
        """Send *message* as soon as the messages before it are sent."""
        if self._is_closed:
            return
        self._waiting.append(message)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._send_waiting())

    async def _send_waiting(self) -> None:
        while self._waiting:
            await self._send(self._waiting.popleft())

    async def flush(self) -> None:
        """Wait until every message is sent."""
        if self._task is not None:
            await self._task

    def drop_rest(self) -> None:
        """Send no further message than the one that is being sent."""
        self._is_closed = True
        self._waiting.clear()

    def close(self) -> None:
        """Send nothing any more."""
        self.drop_rest()
        if self._task is not None:
            self._task.cancel()


class ProgressSender(MessageQueue[Progress]):
    """Sends the reports of one call with *send*, which takes the progress, the total and a message."""

    def __init__(self, send: SendProgress) -> None:
        async def send_report(report: Progress) -> None:
            await send(self._number(report), _read_number(report.total), _message_of(report))

        super().__init__(send_report)
        self._last = -math.inf

    def _number(self, report: Progress) -> float:
        """Return the progress of *report*. The protocol wants each number to be higher than the one before."""
        number = _read_number(report.progress)
        if number is None or not number > self._last:
            number = 0.0 if self._last == -math.inf else math.nextafter(self._last, sys.float_info.max)
        self._last = number
        return number


def _read_number(value: Any) -> float | None:
    """Return *value*, which a tool reported, as a number that JSON has; None if it is none."""
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _message_of(report: Progress) -> str | None:
    text = report.message if report.value is None else as_text(report.value)
    return None if text is None else replace_surrogates(str(text)[:_MAX_MESSAGE_CHARS])


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

    @contextlib.contextmanager
    def follow(self, call_id: str, sender: ProgressSender) -> Iterator[None]:
        """Pass the reports of the call *call_id* to *sender* in this block."""
        self._senders[call_id] = sender
        try:
            yield
        finally:
            del self._senders[call_id]


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
