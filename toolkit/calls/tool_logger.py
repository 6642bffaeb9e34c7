"""
The logger of a tool.

`logging` keeps every logger for ever. Tools come and go, so their loggers are not registered there. A tool's logger
behaves as the registered logger of the same name if the program has one, and otherwise as a child of `toolkit.tools`.
"""

from __future__ import annotations

import logging
from typing import Any

__all__ = ["ToolLogger"]

_PARENT = "toolkit.tools"


class ToolLogger(logging.Logger):
    """Logs as `logging.getLogger("toolkit.tools.<tool>")` would, without being kept for ever."""

    def __init__(self, tool: str) -> None:
        super().__init__(f"{_PARENT}.{tool}")
        self.parent = logging.getLogger(_PARENT)

    def _find_registered(self) -> logging.Logger | None:
        logger = logging.Logger.manager.loggerDict.get(self.name)
        return logger if isinstance(logger, logging.Logger) else None

    def isEnabledFor(self, level: int) -> bool:  # noqa: N802 -- `logging` calls it by this name
        """Return whether a record of *level* is logged under the program's current settings."""
        return (self._find_registered() or logging.getLogger(_PARENT)).isEnabledFor(level)

    def getEffectiveLevel(self) -> int:  # noqa: N802 -- `logging` calls it by this name
        """Return the level that applies under the program's current settings."""
        return (self._find_registered() or logging.getLogger(_PARENT)).getEffectiveLevel()

    def handle(self, record: logging.LogRecord) -> None:
        """Pass *record* to the registered logger, or to the handlers of the parents if there is none."""
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
