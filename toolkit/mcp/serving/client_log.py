"""
What tools write to `context.logger`, sent to the client that made the call.

A client of an older revision chooses a level with `logging/setLevel`. In revision 2026-07-28 each request says whether
it wants the log. A client that has chosen no level gets nothing.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Mapping
from typing import Any

import mcp_types as types

from ...calls.tool_logger import LOGGER_PREFIX, listen_to_tools
from ...policies.redaction import Redaction
from ...values.rendering import replace_surrogates
from .conversations import RequestContext, connection_of, is_modern
from .progress import MessageQueue

__all__ = ["ClientLog"]

_log = logging.getLogger("toolkit")

_STATE_KEY = "toolkit.log_level"
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
    """Sends the records of tools to their clients, if it is on. *redaction* masks secrets in them."""

    def __init__(self, redaction: Redaction, *, is_on: bool) -> None:
        self._redaction = redaction
        self.is_on = is_on

    async def set_level(self, context: RequestContext, params: types.SetLevelRequestParams) -> dict[str, Any]:
        """Remember the level that a client of an older revision chooses for its connection."""
        connection_of(context).state[_STATE_KEY] = params.level
        return {}

    @contextlib.asynccontextmanager
    async def open(self, context: RequestContext) -> AsyncIterator[None]:
        """Send what tools write to their loggers in this block, and all of it before the block ends."""
        level = self._find_level(context)
        if level is None:
            yield
            return
        loop = asyncio.get_running_loop()

        async def send(message: types.LoggingMessageNotification) -> None:
            try:
                await context.session.send_notification(message, related_request_id=context.request_id)
            except Exception:  # noqa: BLE001 -- the tool may have run, and its result is worth more than its log
                _log.exception("what a tool logged cannot be sent to the client, so the rest of it is left out")
                queue.drop_rest()

        def add(record: logging.LogRecord) -> None:
            """Send *record*. A tool may log in any thread."""
            message = self._build_message(record)
            if message is not None:
                with contextlib.suppress(RuntimeError):  # the loop has ended, and so has the call
                    loop.call_soon_threadsafe(queue.add, message)

        queue = MessageQueue(send)
        try:
            with listen_to_tools(level, add):
                yield
            await asyncio.sleep(0)  # a record that was just added comes to the queue
            await queue.flush()
        finally:
            queue.close()

    def _find_level(self, context: RequestContext) -> int | None:
        """Return the least level of the records that the client of *context* wants; None if it wants none."""
        if not self.is_on:
            return None
        if not is_modern(context):
            return _LEVELS.get(connection_of(context).state.get(_STATE_KEY, ""))
        meta: Mapping[str, Any] = context.meta or {}
        return _LEVELS.get(meta.get(types.LOG_LEVEL_META_KEY, ""))

    def _build_message(self, record: logging.LogRecord) -> types.LoggingMessageNotification | None:
        """Return the notification about *record*; None if the record has a mistake, which must not fail the tool."""
        level: Any = [name for name, number in _LEVELS.items() if number <= max(record.levelno, 0)][-1]
        try:
            text = self._redaction.mask_text(record.getMessage())
        except Exception:  # noqa: BLE001 -- the arguments of the record may be of any kind
            _log.exception("a record that `%s` logged cannot be sent", record.name)
            return None
        params = types.LoggingMessageNotificationParams(
            level=level, logger=record.name.removeprefix(LOGGER_PREFIX), data=replace_surrogates(text[:_MAX_CHARS])
        )
        return types.LoggingMessageNotification(params=params)
