"""
The quick check for a tool whose markers state what a call touches: the safety checks have no finding.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..access import Access, Command, Reads, Url, Writes
from ..session import Session
from ..spec import Tool
from ..verdicts import Finding
from .judge import CallGate
from .tool_statements import list_marked_accesses

if TYPE_CHECKING:  # because most calls touch nothing, and the checks take long to load
    from ..safety import SafetyChecks

__all__ = ["build_access_gate", "can_check_twice"]

_BUILT_IN_ACCESSES = frozenset({Reads, Writes, Command, Url})


def can_check_twice(safety: SafetyChecks | None, tool: Tool) -> bool:
    """
    Return whether the accesses that the markers of *tool* state can be checked twice.

    A call that does not pass the gate is judged, so it is checked again. A check or an access class of the application
    might answer otherwise the second time: it may ask only once. *safety* is None for the default checks.
    """
    if safety is not None:
        from ..safety import SafetyChecks

        if type(safety) is not SafetyChecks or safety.has_further_checks:
            return False
    return _BUILT_IN_ACCESSES.issuperset(tool.signature.accesses.values())


def build_access_gate(
    tool: Tool,
    gate: CallGate,
    find_objections: Callable[[Sequence[Access]], list[Finding]],
) -> CallGate:
    """
    Return the gate of a tool whose markers state what a call touches.

    Args:
        tool: The tool, which has no `preflight`.
        gate: The gate of the permissions.
        find_objections: The safety checks.
    """
    markers = tool.signature.accesses.values()
    # Such a tool contradicts itself, and the judgement denies each call that writes.
    writes_by_read_only = tool.facts.read_only and Writes in markers

    def may_run(session: Session | None, arguments: Mapping[str, Any] | None) -> bool:
        if arguments is None or writes_by_read_only:
            return False
        try:
            accesses = list_marked_accesses(tool, arguments)
        except Exception:  # noqa: BLE001 -- an argument may raise any error when it is read; then the call is judged
            return False
        return gate(session, arguments) and not find_objections(accesses)

    return may_run
