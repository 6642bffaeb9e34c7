"""
The logger of a tool.

`logging` keeps every logger for ever. Tools come and go, so their loggers are not registered there. A tool's logger
behaves as the registered logger of the same name if the program has one, and otherwise as a child of `toolkit.tools`.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any, TypeAlias

__all__ = ["LOGGER_PREFIX", "ToolLogger", "listen_to_tools"]

_PARENT = "toolkit.tools"
LOGGER_PREFIX = f"{_PARENT}."

_Listener: TypeAlias = "tuple[int, Callable[[logging.LogRecord], object]]"

_listener: ContextVar[_Listener | None] = ContextVar("toolkit_log_listener", default=None)


@contextlib.contextmanager
def listen_to_tools(level: int, on_record: Callable[[logging.LogRecord], object]) -> Iterator[None]:
    """
    Call *on_record* with what the tools of calls in this block write to their loggers, from *level* on.

    It may be called in any thread. What the program logs does not change: a record that its own settings leave out
    reaches *on_record* only.
    """
    token = _listener.set((level, on_record))
    try:
        yield
    finally:
        _listener.reset(token)


class ToolLogger(logging.Logger):
    """Logs as `logging.getLogger("toolkit.tools.<tool>")` would, without being kept for ever."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"{LOGGER_PREFIX}{tool}")
        self.parent = logging.getLogger(_PARENT)

    def _find_registered(self) -> logging.Logger | None:
        logger = logging.Logger.manager.loggerDict.get(self.name)
        return logger if isinstance(logger, logging.Logger) else None

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 -- `logging` calls it by this name
        """Return whether a record of *level* is logged under the program's current settings, or has a listener."""
        listener = _listener.get()
        return self._is_logged(level) or (listener is not None and level >= listener[0])

    def _is_logged(self, level: int) -> bool:
        return (self._find_registered() or logging.getLogger(_PARENT)).isEnabledFor(level)

    def getEffectiveLevel(self) -> int:  # noqa: N802 -- `logging` calls it by this name
        """Return the level that applies under the program's current settings."""
        return (self._find_registered() or logging.getLogger(_PARENT)).getEffectiveLevel()

    def handle(self, record: logging.LogRecord) -> None:
        """Pass *record* to the registered logger, or to the handlers of the parents if there is none."""
        listener = _listener.get()
        if listener is not None:
            if record.levelno >= listener[0]:
                listener[1](record)
            if not self._is_logged(record.levelno):
                return
        registered = self._find_registered()
        if registered is None:
            super().handle(record)
        else:
            registered.handle(record)

    def setLevel(self, level: int | str) -> None:  # noqa: N802 -- `logging` calls it by this name
        """Set the level of the registered logger."""
        logging.getLogger(self.name).setLevel(level)

    def addHandler(self, hdlr: logging.Handler) -> None:  # noqa: N802 -- `logging` calls it by this name
        """Add a handler to the registered logger."""
        logging.getLogger(self.name).addHandler(hdlr)

    def addFilter(self, filter: Any) -> None:  # noqa: A002, N802 -- `logging` calls it by these names
        """Add a filter to the registered logger."""
        logging.getLogger(self.name).addFilter(filter)
