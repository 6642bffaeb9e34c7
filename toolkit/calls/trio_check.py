"""
Recognises calls that are awaited under trio, which the library does not support.
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
"""What a call under trio is answered with."""


def is_under_trio(modules: Mapping[str, Any] = sys.modules) -> bool:
    """Return whether the running code is a task of trio and not one of asyncio; *modules* are those that are loaded."""
    trio = modules.get("trio")
    if trio is None:
        return False
    try:
        trio.lowlevel.current_task()
    except (AttributeError, RuntimeError):  # half imported, or not running
        return False
    try:
        # Both may run at once: trio as a guest of asyncio, and asyncio inside trio.
        return asyncio.current_task() is None
    except RuntimeError:
        return True


async def refuse_under_trio(call: ToolCall | None = None) -> ToolResult:
    """Return the result of a call under trio; hooks are not asked, because they may need asyncio too."""
    call_id, name = ("", "") if call is None else (call.id, call.name)
    return ToolResult.error("internal", TRIO_REFUSAL, call_id=call_id, tool=name)
