"""
The allow rule that permits in every session what a grant permits in one.

A rule knows the tool by its name, and looks only at some of what a call states. So there is a rule only for tools of
this program, and only if the tool can state nothing that the rule would not look at.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin, get_type_hints

from ..access import Access, Command, Reads, Writes
from ..decisions import Grant
from ..spec import Tool
from .judge import PermissionRequest
from .rules import Rule, RuleError

__all__ = ["find_rule"]

_HAS_WILDCARD = re.compile(r"[*?\[\](){}]")
_KINDS = {"command": {Command.kind}, "folder": {Reads.kind, Writes.kind}}


def find_rule(grant: Grant, request: PermissionRequest) -> str:
    """Return the allow rule that permits what *grant* permits, such as "bash(npm test:*)"; "" if there is none."""
    tool = request.tool
    texts = {
        "tool": tool.name,
        "command": f"{tool.name}({grant.target}:*)",
        "folder": f"{tool.name}({grant.target.rstrip('/')}/**)",
    }
    if grant.scope == "folder" and _HAS_WILDCARD.search(grant.target):
        return ""
    # The rule would also allow a call that states something of another kind beside the command or the file.
    if grant.scope in _KINDS and not _states_only(tool, _KINDS[grant.scope]):
        return ""
    try:
        rule = Rule("allow", texts[grant.scope])
    except RuleError:
        return ""
    # An allow rule without an origin does not concern a tool from elsewhere. With its origin, the rule would allow
    # every later tool of that name, such as the skill of another project, and a grant is for one tool.
    return rule.text if rule.concerns(tool, request.names) and rule.matches(request) else ""


def _states_only(tool: Tool, kinds: set[str]) -> bool:
    """Return whether calls of *tool* certainly state no access of another kind than *kinds*."""
    stated: list[Any] = list(tool.signature.accesses.values())
    if tool.facts.preflight is not None:
        try:
            stated += _types_in(get_type_hints(tool.facts.preflight)["return"])
        except Exception:  # noqa: BLE001 -- an annotation may raise any error when it is read; then it says nothing
            return False
    return all(isinstance(access, type) and issubclass(access, Access) and access.kind in kinds for access in stated)


def _types_in(hint: Any) -> Iterator[Any]:
    """Yield the types of the items in *hint*: `Reads` and `Writes` for `list[Reads | Writes]`."""
    if get_origin(hint) is None:
        yield hint
    for part in get_args(hint):
        yield from _types_in(part)
