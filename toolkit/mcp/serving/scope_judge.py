"""
Scopes: the tools that the token of a client is good for.

A scope grants the calls that its rules name, and a client may call what its scopes grant. The rules and the mode of the
dispatcher hold besides.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TypeAlias

from ..._option_checks import require_list
from ...context import current_request
from ...permissions.judge import Judge, PermissionRequest, Visibility
from ...permissions.policy import Permissions
from ...permissions.rules import Rule, allows_together
from ...session import Session
from ...spec import Tool
from ...verdicts import Verdict

__all__ = ["ScopeJudge", "Scopes"]

Scopes: TypeAlias = "Mapping[str, str | Sequence[str]]"
"""For each scope, the texts of allow rules without their first word: "search", "group:orders", "write(path=out/**)"."""


class ScopeJudge(Judge):
    """Denies a call that no scope of the client's token grants. Wrong *scopes* raise `TypeError` or `ValueError`."""

    def __init__(self, scopes: Scopes) -> None:
        if not isinstance(scopes, Mapping):
            raise TypeError('scopes is a dictionary from scopes to their tools: {"orders:read": ["list_*"]}')
        self._rules = {
            scope: [Rule("allow", text) for text in _list_texts(scope, texts)] for scope, texts in scopes.items()
        }

    def judge(self, request: PermissionRequest) -> Verdict:
        """Return the verdict on a call that came over HTTP. Any other call is denied."""
        client = current_request.get()
        rules = self._find_rules(request.tool, () if client is None else client.scopes)
        if allows_together(rules, request):
            return Verdict("allow", "scopes", "a scope of the client's token grants it")
        scopes = " or ".join(f"`{scope}`" for scope in self.find_scopes(request.tool))
        needs = f"calls of `{request.tool.name}` need the scope {scopes}" if scopes else "no scope grants it"
        return Verdict("deny", "scopes", f"the scopes of the client's token do not grant this call: {needs}")

    def could_allow(self, tool: Tool, names: frozenset[str], session: Session | None = None) -> bool:
        """Return whether a scope of the client's token grants some call of *tool*."""
        return self.visibility(session).could_allow(tool, names)

    def visibility(self, session: Session | None) -> Visibility:
        """Return what `could_allow` answers for the scopes of the client's token."""
        client = current_request.get()
        scopes = frozenset() if client is None else frozenset(client.scopes)
        return Visibility(scopes, lambda tool, names: bool(self._find_rules(tool, scopes)))

    def find_scopes(self, tool: Tool) -> list[str]:
        """Return the scopes that grant some call of *tool*, in the order in which they were given."""
        return [scope for scope in self._rules if self._find_rules(tool, [scope])]

    def mistakes(self, tools: Iterable[Tool]) -> list[str]:
        """Return the rules that can never match a call of one of *tools*, each with the reason."""
        return Permissions(rules=[rule for rules in self._rules.values() for rule in rules]).mistakes(tools)

    def _find_rules(self, tool: Tool, scopes: Collection[str]) -> list[Rule]:
        names = frozenset({tool.name})
        return [
            rule
            for scope, rules in self._rules.items()
            if scope in scopes
            for rule in rules
            if rule.concerns(tool, names)
        ]


def _list_texts(scope: str, texts: str | Sequence[str]) -> list[str]:
    return [texts] if isinstance(texts, str) else require_list(texts, f"scopes[{scope!r}]", "rules")
