"""Functions with arguments to compare, and helpers that build requests, for the tests of rules."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

from toolkit.access import Command, accesses_in
from toolkit.permissions.judge import PermissionRequest
from toolkit.results import ToolCall
from toolkit.spec import Tool

__all__ = ["bash", "build_request"]


def bash(command: Annotated[str, Command], cwd: str = ".") -> None:
    """Run a command."""


def build_request(
    function: Any, arguments: Any = None, *, accesses=(), root=".", names=(), **changes: Any
) -> PermissionRequest:
    """Make a call as permissions see it."""
    tool = function if isinstance(function, Tool) else Tool.described(function)
    tool = replace(tool, **changes)
    decoded = tool.check(arguments or {})
    marked = [
        access for name, kind in tool.signature.accesses.items() for access in accesses_in(decoded.get(name), kind)
    ]
    return PermissionRequest(
        call=ToolCall(tool.name, tool=tool),
        tool=tool,
        names=frozenset({tool.name, *names}),
        arguments=decoded,
        accesses=(*marked, *accesses),
        root=str(root),
    )
