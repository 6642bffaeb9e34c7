"""
Warnings about rules that forbid one tool and leave another tool with the same access.

`deny write(path=src/**)` does not stop `edit`, which writes files too. The statements of the tools show which tools
have the same access: the markers of their parameters, and what the current call is about to touch.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..access import Access, Command
from ..spec import Tool
from .judge import PermissionRequest
from .patterns.names import OWN_ORIGIN
from .rule_values import kind_of, kind_of_access, kind_of_name, list_parameters
from .rules import Rule

__all__ = ["find_gaps"]

_VERBS = {"read": "reads files", "write": "writes files", "url": "reaches addresses", "command": "runs commands"}
_PLURAL_VERBS = {"read": "read files", "write": "write files", "url": "reach addresses", "command": "run commands"}
_MAX_NAMED_TOOLS = 5


def find_gaps(rules: Iterable[Rule], tools: Sequence[Tool], request: PermissionRequest) -> list[str]:
    """
    Return a warning for each deny or ask rule that one of *tools* gets around, if the call of *request* is concerned.

    The call is concerned if the rule names its tool, or if its tool is one that gets around the rule. An access rule
    also gets a warning for an access that the tool of the call may make without stating it.
    """
    forbidding = [rule for rule in rules if rule.word != "allow" and rule.access is None and not rule.comparison]
    covering = [rule for rule in rules if rule.word != "allow" and rule.access is not None]
    warnings = []
    for rule in forbidding:
        named_tools = [tool for tool in tools if _is_about(rule, tool)]
        for kind in _kinds(rule, named_tools):
            if any(_covers(other, rule, kind) for other in covering):
                continue
            others = [tool for tool in tools if not _is_stopped(tool, rule, forbidding)]
            similar_tools = [tool for tool in others if kind in _list_stated_kinds(tool, request)]
            if request.tool in named_tools or request.tool in similar_tools:
                warnings += [_warn_of_similar_tools(rule, kind, similar_tools)] if similar_tools else []
            shells = [tool for tool in others if Command.kind in _list_stated_kinds(tool, request)]
            if kind_of_access(kind) == "path" and shells and (request.tool in named_tools or request.tool in shells):
                warnings.append(_warn_of_commands(rule, kind, shells))
    warnings += [warning for rule in covering for warning in _warn_of_unstated_access(rule, request)]
    return list(dict.fromkeys(warnings))


def _warn_of_unstated_access(rule: Rule, request: PermissionRequest) -> Iterator[str]:
    """Yield a warning for each access that the current tool may make without stating it, if *rule* is about it."""
    tool, kind = request.tool, kind_of_access(str(rule.access))
    stated_kinds = _list_stated_kinds(tool, request)
    if not _is_about(rule, tool):
        return
    if kind == "path" and Command.kind in stated_kinds:
        yield (
            f"`{rule}` holds for the redirections of `{tool.name}`, not for what its programs do with files; only a "
            "sandbox or a rule about commands can stop that"
        )
    names = [name for name in list_parameters(tool) if kind_of_name(name) == kind]
    if names and not stated_kinds and tool.facts.preflight is None:
        yield (
            f"`{rule}` cannot hold for `{tool.name}`, which does not state what it touches; "
            f"write a rule about its parameter: `{rule.word} {_call(tool, names[0], rule)}`"
        )


def _call(tool: Tool, parameter: str, rule: Rule) -> str:
    origin = "" if tool.origin == OWN_ORIGIN else f"{tool.origin}/"
    return f"{origin}{tool.name}" + ("" if rule.pattern is None else f"({parameter}={rule.pattern})")


def _kinds(rule: Rule, tools: Sequence[Tool]) -> list[str]:
    """Return the kinds of access that *rule* forbids, by the statements of the tools that it names."""
    kinds: dict[str, None] = {}
    for tool in tools:
        marked = tool.signature.accesses
        if rule.argument is not None and rule.argument in marked:
            kinds[marked[rule.argument].kind] = None
        elif rule.argument in _VERBS:
            kinds[str(rule.argument)] = None
        elif rule.argument in (None, "path"):
            kinds.update(dict.fromkeys(_first_kinds(list(marked.values()), only_paths=rule.argument is not None)))
    return list(kinds)


def _first_kinds(marked: Sequence[type[Access]], *, only_paths: bool) -> list[str]:
    """
    Return the kinds that a pattern without a parameter is compared with: commands, else URLs, else paths, else others.

    With *only_paths*, only paths count.
    """
    for kind in ("path",) if only_paths else ("command", "url", "path", "text"):
        if kinds := [access.kind for access in marked if kind_of(access) == kind]:
            return kinds
    return []


def _list_stated_kinds(tool: Tool, request: PermissionRequest) -> set[str]:
    """Return the kinds of access that *tool* states in every call, and in the call of *request* if that is its own."""
    kinds = {access.kind for access in tool.signature.accesses.values()}
    return kinds | {access.kind for access in request.accesses} if tool is request.tool else kinds


def _is_about(rule: Rule, tool: Tool) -> bool:
    return rule.concerns(tool, frozenset({tool.name}))


def _is_stopped(tool: Tool, rule: Rule, forbidding: Sequence[Rule]) -> bool:
    """Return whether *rule*, another rule with the same pattern, or a rule for every call is about *tool*."""
    return any(
        _is_about(other, tool) and (other.is_total or other.pattern == rule.pattern)
        for other in forbidding
        if other.word in (rule.word, "deny")
    )


def _covers(other: Rule, rule: Rule, kind: str) -> bool:
    """Return whether the access rule *other* forbids for every tool the access that *rule* forbids for some tools."""
    is_of_kind = other.access == kind or (other.access == "path" and kind_of_access(kind) == "path")
    return is_of_kind and other.word in (rule.word, "deny") and other.pattern in (rule.pattern, None)


def _warn_of_similar_tools(rule: Rule, kind: str, tools: Sequence[Tool]) -> str:
    verb = (_VERBS if len(tools) == 1 else _PLURAL_VERBS).get(kind, f"touch{'es' if len(tools) == 1 else ''} a {kind}")
    return f"`{rule}` {_does_not(rule)} {_list_names(tools)}, which {verb} too; write `{_wider_rule(rule, kind)}`"


def _warn_of_commands(rule: Rule, kind: str, tools: Sequence[Tool]) -> str:
    return (
        f"`{rule}` {_does_not(rule)} {_list_names(tools)}, whose commands can {kind} files too; "
        f"`{_wider_rule(rule, kind)}` holds for redirections, and what programs do with files only a sandbox or a rule "
        "about commands can stop"
    )


def _does_not(rule: Rule) -> str:
    return "does not stop" if rule.word == "deny" else "does not ask about"


def _wider_rule(rule: Rule, kind: str) -> str:
    return f"{rule.word} access:{kind}" + ("" if rule.pattern is None else f"({rule.pattern})")


def _list_names(tools: Sequence[Tool]) -> str:
    names = [f"`{tool.name}`" for tool in tools[:_MAX_NAMED_TOOLS]]
    if len(tools) > _MAX_NAMED_TOOLS:
        names.append(f"{len(tools) - _MAX_NAMED_TOOLS} more")
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
