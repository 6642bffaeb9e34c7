"""
A call as permissions see it: with decoded arguments, and with everything that the call is about to touch.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

from .._plumbing.records import record
from ..access import Access
from ..results import ToolCall
from ..session import Session
from ..spec import Tool
from ..verdicts import Finding

__all__ = ["PermissionRequest"]


@record(frozen=True, slots=True, kw_only=True)
class PermissionRequest:
    """
    The call that a judge decides about, with everything that the decision needs.

    Attributes:
        call: A copy of the call with decoded arguments.
        tool: The tool that would run.
        names: Every name that the tool has or had, including aliases.
        arguments: The decoded arguments, with defaults filled in.
        accesses: The accesses that the call is about to make, from markers and `preflight`.
        root: The folder that relative paths start from.
        findings: The findings of safety checks, `approval` and hooks, which came before.
        session: The session of the call; its mode and grants count.
        principal: The principal on whose behalf the call is made.
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
