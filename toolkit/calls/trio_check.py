"""
Detects calls that are awaited under trio, which the library does not support.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from typing import Any

from ..results import ToolCall, ToolResult

__all__ = ["TRIO_REFUSAL", "is_under_trio", "refuse_under_trio"]

TRIO_REFUSAL = (
    "trio is not supported: calls need an asyncio event loop; await them under asyncio, or run "
    "`dispatcher.call_sync` with `trio.to_thread.run_sync`"
)
"""The error message for a call under trio."""


def is_under_trio(modules: Mapping[str, Any] = sys.modules) -> bool:
    """Return whether the running code is a task of trio and not of asyncio. *modules* are the loaded modules."""
    trio = modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()
    except (AttributeError, RuntimeError):  # trio is only half imported, or it is not running
        return False
    try:
        # Both may run at once: trio as a guest of asyncio, or asyncio inside trio.
        return asyncio.current_task() is None
    except RuntimeError:
        return True


async def refuse_under_trio(call: ToolCall | None = None) -> ToolResult:
    """Return the result of a call under trio. Hooks do not run, because they may need asyncio too."""
    call_id, name = ("", "") if call is None else (call.id, call.name)
    return ToolResult.failure("internal", TRIO_REFUSAL, call_id=call_id, tool=name)
