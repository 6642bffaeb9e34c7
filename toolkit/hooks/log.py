"""A hook that logs one record for each call."""

from __future__ import annotations

import json
import logging

from .events import CallEnded

__all__ = ["Log"]

_MAX_NAME_CHARS = 64


class Log:
    """
    A hook that writes one structured record for each call: what was called, how it ended, how long it took.

    Arguments and results are not written. The record's `toolkit` attribute holds the same data as a dictionary.

    Args:
        logger: The logger to write to; by default "toolkit.calls".
        level: The level for calls that succeed. Failures are logged as warnings.
    """

    listens_to = (CallEnded,)

    def __init__(self, logger: logging.Logger | None = None, *, level: int = logging.INFO) -> None:
        self._logger = logger or logging.getLogger("toolkit.calls")
        self._level = level

    def on_event(self, event: CallEnded) -> None:
        """Write the record of a call that has ended."""
        call, result = event.call, event.result
        level = self._level if event.kind in ("ok", "waiting") else logging.WARNING
        if self._logger.isEnabledFor(level):
            record = {
                "call_id": call.id,
                "tool": call.name[:_MAX_NAME_CHARS] if call.tool is None else call.tool.name,
                **({} if result is None or result.alias is None else {"alias": result.alias}),
                "kind": event.kind,
                "attempts": None if result is None else result.attempts,
                "duration_seconds": None if result is None else round(result.duration_seconds, 6),
                "chars": None if result is None else len(result.text),
                "session": call.session_key or None,
                "principal": call.principal,
            }
            text = json.dumps({name: value for name, value in record.items() if value is not None})
            self._logger.log(level, "%s", text, extra={"toolkit": record})
