"""
A call as permissions see it: decoded, with everything it is about to touch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..access import Access
from ..results import ToolCall
from ..session import Session
from ..spec import Tool
from ..verdicts import Finding

__all__ = ["PermissionRequest"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """
    What is judged.

    Attributes:
        call: The call, its arguments decoded; a copy.
        tool: The tool that would run.
        names: Every name the tool has or had, aliases included.
        arguments: Decoded, defaults filled in.
        accesses: What the call is about to touch, from markers and `preflight`.
        root: The folder that relative paths start from.
        findings: What safety checks, `approval` and hooks said already.
        session: The conversation; its mode and grants count.
        principal: On whose behalf.
    """

    call: ToolCall
    tool: Tool
    names: frozenset[str]
    arguments: Mapping[str, Any] = field(default_factory=dict)
    accesses: tuple[Access, ...] = ()
    root: str = "."
    findings: tuple[Finding, ...] = ()
    session: Session | None = None
    principal: str | None = None
