"""
What tools write to `context.logger`, sent to the client that made the call.

A client of an older revision chooses a level with `logging/setLevel`. In revision 2026-07-28 each request says whether
it wants the log. A client that has chosen no level gets nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Mapping
from typing import Any

from mcp.server import ServerRequestContext
from mcp_types import (
    LOG_LEVEL_META_KEY,
    LoggingMessageNotification,
    LoggingMessageNotificationParams,
    SetLevelRequestParams,
)

from ...calls.tool_logger import LOGGER_PREFIX, listen_to_tools
from ...policies.redaction import Redaction
from .conversations import connection_of, is_modern

__all__ = ["ClientLog"]

_log = logging.getLogger("toolkit")

_STATE_KEY = "toolkit.log_level"
_MAX_WAITING = 1_000
_MAX_CHARS = 4_000

_LEVELS: dict[str, int] = {
    "debug": 0,
    "info": logging.INFO,
    "notice": 25,
    "warning": logging.WARNING,
    "error": logging.ERROR,
    "critical": logging.CRITICAL,
    "alert": 60,
    "emergency": 70,
}
"""The levels of the protocol, from the lowest, and the least level of a record of Python that has each of them."""


class ClientLog:
    """
    Sends the records of tools to their clients.

    Args:
        redaction: Masks secrets in what is sent.
        is_on: Whether records are sent at all.
    """

    def __init__(self, redaction: Redaction, *, is_on: bool) -> None:
        self._redaction = redaction
        self.is_on = is_on

    async def set_level(self, context: ServerRequestContext[Any, Any], params: SetLevelRequestParams) -> dict[str, Any]:
        """Remember the level that a client of an older revision chooses for its connection."""
        connection_of(context).state[_STATE_KEY] = params.level
        return {}

    @contextlib.asynccontextmanager
    async def open(self, context: ServerRequestContext[Any, Any]) -> AsyncIterator[None]:
        """Send what tools write to their loggers in this block, and all of it before the block ends."""
        level = self._find_level(context)
        if level is None:
            yield
            return
        sender = LogSender(context, self._redaction)
        try:
            with listen_to_tools(level, sender.add):
                yield
            await sender.flush()
        finally:
            sender.close()

    def _find_level(self, context: ServerRequestContext[Any, Any]) -> int | None:
        """Return the least level of the records that the client of *context* wants; None if it wants none."""
        if not self.is_on:
            return None
        if not is_modern(context):
            return _LEVELS.get(connection_of(context).state.get(_STATE_KEY, ""))
        meta: Mapping[str, Any] = context.meta or {}
        return _LEVELS.get(meta.get(LOG_LEVEL_META_KEY, ""))


class LogSender:
    """Sends the records of one call, in order."""

    def __init__(self, context: ServerRequestContext[Any, Any], redaction: Redaction) -> None:
        self._context = context
        self._redaction = redaction
        self._loop = asyncio.get_running_loop()
        # If a client reads slowly, it gets the newest records.
        self._waiting: deque[LoggingMessageNotification] = deque(maxlen=_MAX_WAITING)
        self._task: asyncio.Task[None] | None = None
        self._is_closed = False

    def add(self, record: logging.LogRecord) -> None:
        """Send *record* as soon as those before it are sent. Any thread may call this."""
        if self._is_closed:
            return
        try:
            message = self._build_message(record)
        except Exception:  # noqa: BLE001 -- a mistake in what is logged must not fail the tool
            _log.exception("a record that `%s` logged cannot be sent", record.name)
            return
        with contextlib.suppress(RuntimeError):  # the loop has ended, and so has the call
            self._loop.call_soon_threadsafe(self._enqueue, message)

    def _build_message(self, record: logging.LogRecord) -> LoggingMessageNotification:
        level: Any = [name for name, number in _LEVELS.items() if number <= max(record.levelno, 0)][-1]
        text = self._redaction.mask_text(record.getMessage())
        # A lone surrogate, such as the name of a file may have, cannot be sent.
        text = text[:_MAX_CHARS].encode(errors="replace").decode()
        params = LoggingMessageNotificationParams(
            level=level, logger=record.name.removeprefix(LOGGER_PREFIX), data=text
        )
        return LoggingMessageNotification(params=params)

    def _enqueue(self, message: LoggingMessageNotification) -> None:
        if self._is_closed:
            return
        self._waiting.append(message)
        if self._task is None or self._task.done():
            self._task = self._loop.create_task(self._send_waiting())

    async def _send_waiting(self) -> None:
        try:
            while self._waiting:
                await self._context.session.send_notification(
                    self._waiting.popleft(), related_request_id=self._context.request_id
                )
        except Exception:  # noqa: BLE001 -- the tool may have run, and its result is worth more than its log
            _log.exception("what a tool logged cannot be sent to the client, so the rest of it is left out")
            self._is_closed = True
            self._waiting.clear()

    async def flush(self) -> None:
        """Wait until every record is sent."""
        await asyncio.sleep(0)  # a record that was just added comes to the queue
        if self._task is not None:
            await self._task

    def close(self) -> None:
        """Send no more records."""
        self._is_closed = True
        self._waiting.clear()
        if self._task is not None:
            self._task.cancel()
