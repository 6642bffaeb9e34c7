"""
Arguments of a step that a hook or a person has changed.

The check and the undo of a step have to get the value with which the step really ran. So the arguments are looked at
before the tool begins, which is after the verdict, and recorded if they are not those of the flow.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextvars import ContextVar

from ..hooks.base import Run as RunInner
from ..hooks.base import ShownCall
from ..results import ToolResult

__all__ = ["ARGUMENTS_HOOK", "on_arguments"]

on_arguments: ContextVar[Callable[[ShownCall], Awaitable[None]] | None] = ContextVar(
    "toolkit_flow_arguments", default=None
)
"""Called with each call before its tool begins: with that of the step, and with those that are made inside it."""


class _ArgumentsHook:
    """An around-hook that tells the flow with which arguments a call is about to run."""

    async def around(self, call: ShownCall, run: RunInner) -> ToolResult:
        """Tell the arguments, and run the tool."""
        tell = on_arguments.get()
        if tell is not None:
            await tell(call)
        return await run()


ARGUMENTS_HOOK = _ArgumentsHook()
