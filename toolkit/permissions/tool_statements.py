"""
Statements of a tool about a call: what the call is about to touch, and whether a person has to approve it.

A tool states this by the markers of its parameters, by `preflight` and by `approval`. All of them work on decoded
arguments. If a tool cannot tell what a call touches, the call is denied. If a tool cannot tell whether the call needs
approval, a person is asked.
"""

from __future__ import annotations

import copy
import functools
import inspect
import logging
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..access import Access, accesses_in
from ..errors import Safety, ToolError
from ..facts import bind_call, has_parameter
from ..results import ToolCall
from ..spec import Tool
from ..values.rendering import copy_arguments, describe_value
from ..verdicts import Finding
from .rule_values import kind_of, kind_of_name, list_parameters

__all__ = [
    "approval_findings",
    "collect_accesses",
    "deny_failed_preflight",
    "deny_write_by_read_only",
    "list_marked_accesses",
    "parameters_naming",
]

_log = logging.getLogger("toolkit")


async def collect_accesses(
    tool: Tool,
    decoded: Mapping[str, Any],
    call: ToolCall | None = None,
    make_permissions: Callable[[], Any] | None = None,
) -> tuple[Access, ...]:
    """
    Return what a call is about to touch, by the markers of its parameters and by the return value of `preflight`.

    If `preflight` has a parameter `permissions`, it gets the value that *make_permissions* returns.
    """
    accesses = list_marked_accesses(tool, decoded)
    preflight = tool.facts.preflight
    if preflight is not None:
        function = bind_call(preflight, copy.copy(call))
        if make_permissions is not None and has_parameter(preflight, "permissions"):
            function = functools.partial(function, permissions=make_permissions())
        stated: Any = function(copy_arguments(decoded))
        if inspect.isawaitable(stated):
            stated = await stated
        listed = [stated] if isinstance(stated, Access) else list(stated or ())
        invalid = [item for item in listed if not isinstance(item, Access)]
        if invalid:
            raise TypeError(f"preflight has to return accesses, such as Writes(path); got {describe_value(invalid[0])}")
        accesses += listed
    return tuple(dict.fromkeys(accesses))


def list_marked_accesses(tool: Tool, decoded: Mapping[str, Any]) -> list[Access]:
    """Return what a call is about to touch by the markers of its parameters."""
    return [
        access
        for name, kind in tool.signature.accesses.items()
        if name in decoded
        for access in accesses_in(decoded[name], kind)
    ]


def parameters_naming(tool: Tool, access: Access) -> Iterator[str]:
    """Yield the names of the parameters that hold a target of the same kind as *access*."""
    kind = kind_of(type(access))
    for name in list_parameters(tool):
        marked = tool.signature.accesses.get(name)
        if marked is None:
            is_same_kind = kind_of_name(name) == kind
        else:
            is_same_kind = kind_of(marked) == kind and (kind != "text" or marked.kind == access.kind)
        if is_same_kind:
            yield name


def deny_failed_preflight(tool: Tool, error: Exception) -> Finding:
    """Return the denial for a call whose `preflight` raised *error*, so that it is unknown what the call touches."""
    by = f"fact `preflight` of `{tool.name}`"
    if isinstance(error, ToolError):
        return Finding("deny", by, str(error), "check" if isinstance(error, Safety) else "judge")
    _log.warning("the preflight of `%s` failed", tool.name, exc_info=error)
    return Finding(
        "deny", by, f"`{tool.name}` could not tell what it is about to touch: {describe_value(error)}", "judge"
    )


def deny_write_by_read_only(tool: Tool) -> Finding:
    """Return the denial for a tool that is declared read-only and says that it is about to write."""
    reason = f"`{tool.name}` is declared read-only, but says that it is about to write"
    return Finding("deny", f"fact `read_only` of `{tool.name}`", reason, "judge")


async def approval_findings(tool: Tool, decoded: Mapping[str, Any]) -> list[Finding]:
    """Return a finding that asks for approval if the fact `approval` of the tool requires it."""
    approval = tool.facts.approval
    if approval == "never":
        return []
    by = f"fact `approval` of `{tool.name}`"
    if approval == "always":
        return [Finding("ask", by, f"`{tool.name}` needs approval every time", "approval")]
    try:
        answer: Any = approval(copy_arguments(decoded))
        needed = await answer if inspect.isawaitable(answer) else answer
    except Exception as error:  # noqa: BLE001 -- a tool that cannot tell whether to ask has to ask
        reason = f"`{tool.name}` could not tell whether it needs approval ({type(error).__name__})"
        return [Finding("ask", by, reason, "approval")]
    if not needed:
        return []
    why = f": {needed}" if isinstance(needed, str) else " for these arguments"
    return [Finding("ask", by, f"`{tool.name}` needs approval{why}", "approval")]
