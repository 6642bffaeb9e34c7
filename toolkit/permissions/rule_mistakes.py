"""
What is wrong with a rule for a tool that it names, by the parameters of the tool.

A deny or ask that cannot be compared with the calls of its tool holds for all of them. Otherwise a misspelt parameter,
or one that the tool's author has renamed, would let through what the rule forbids.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._plumbing.wording import in_backticks
from ..access import access_kinds
from ..errors import find_nearest
from ..spec import Tool
from .rule_texts import find_other_condition
from .rule_values import Kind, could_be, kind_of, list_parameters
from .rules import Rule, check_pattern_kind

__all__ = ["find_mistake", "widen"]

_WILDCARDS = ("*", "?", "group:")
# A schema with one of these may declare further parameters, or say that the tool takes arguments of any name.
_OPEN_KEYWORDS = frozenset({"additionalProperties", "patternProperties", "allOf", "anyOf", "oneOf", "if", "$ref"})


def find_mistake(rule: Rule, tool: Tool) -> str | None:
    """Return why *rule*, which concerns *tool*, cannot mean what it says about its calls; None if it can."""
    if rule.comparison:
        is_unknown = tool.facts.cost is None and _name_of(rule) == tool.name
        return f"`{tool.name}` states no cost" if is_unknown else None
    if mistake := _find_wrong_condition(rule, tool):
        wide = f"; until it is mended, the rule holds for every call of `{tool.name}`" if _is_widened(rule) else ""
        return mistake + wide
    return _find_wrong_pattern(rule, tool)


def widen(rule: Rule, tool: Tool) -> Rule:
    """
    Return the rule by which calls of *tool* are judged: *rule*, or one about every call of *tool*.

    The latter is the case if *rule* forbids calls of this tool, names it, and has a condition that is none for it. A
    rule with a wildcard names many tools, and is meant for those of them that have its parameter.
    """
    if not _is_widened(rule) or (mistake := _find_wrong_condition(rule, tool)) is None:
        return rule
    return Rule(rule.word, _name_of(rule), "; ".join(filter(None, (rule.source, f"`{rule}`: {mistake}"))))


def _is_widened(rule: Rule) -> bool:
    return rule.word != "allow" and not any(wildcard in _name_of(rule) for wildcard in _WILDCARDS)


def _name_of(rule: Rule) -> str:
    return rule.text.partition("(")[0]


def _find_wrong_condition(rule: Rule, tool: Tool) -> str | None:
    """Return why *rule* is about nothing that a call of *tool* has; None if it may be."""
    if rule.pattern is None or rule.access is not None or rule.comparison or rule.is_total:
        return None
    parameters, schema = list_parameters(tool), tool.signature.schema
    is_closed = schema.get("additionalProperties") is False or (parameters and not _OPEN_KEYWORDS & schema.keys())
    if is_closed and rule.argument is not None and rule.argument not in (*parameters, "path", *access_kinds()):
        near = find_nearest(rule.argument, parameters, max_items=1) or parameters[:5]
        names = ", ".join(f"`{name}`" for name in near)
        return f"`{tool.name}` has no parameter `{rule.argument}`" + (f"; it has {names}" if names else "")
    opens_ports = rule.word == "allow" and rule.pattern_kind == "url"  # for what the tool reaches on its own
    if is_closed and not (rule.argument or parameters or tool.facts.preflight or opens_ports):
        return f"`{tool.name}` takes no arguments"
    if _find_kind(rule, tool) is not None:
        return None
    if condition := find_other_condition(rule.pattern, parameters):
        name, sign = condition
        return (
            f"`{name}{sign}` in it is no condition: a rule compares one parameter, by `=` or `~=` without blanks: "
            f"`{tool.name}({name}=PATTERN)`; the fact `approval` or a hook can judge more"
        )
    types = _schema_of(rule, tool).get("type", "string")
    return None if "string" in types else _find_impossible_value(rule, tool, {"type": types})


def _find_wrong_pattern(rule: Rule, tool: Tool) -> str | None:
    """Return why the pattern of *rule* fits no value of what it is about in *tool*; None if it may fit one."""
    if rule.pattern is None or rule.access is not None:
        return None
    kind = _find_kind(rule, tool)
    if kind is None and (mistake := _find_impossible_value(rule, tool, _schema_of(rule, tool))):
        return mistake
    if rule.ignores_case and kind is not None:
        return f"`{tool.name}` takes a {kind} here, and `~=` compares texts; write `=`"
    try:
        check_pattern_kind(kind, rule.pattern)
    except ValueError as error:
        return f"`{tool.name}` takes a {kind} here: {error}"
    return None


def _find_impossible_value(rule: Rule, tool: Tool, schema: Mapping[str, Any]) -> str | None:
    """Return why no argument of *tool* with this *schema* has the text of the pattern; None if one may have it."""
    pattern = str(rule.pattern)
    if rule.ignores_case or "*" in pattern or "?" in pattern or could_be(pattern, schema):
        return None
    return f"`{_parameter_of(rule, tool)}` of `{tool.name}` is never {in_backticks(pattern[:40])}, by its schema"


def _parameter_of(rule: Rule, tool: Tool) -> str:
    return rule.argument or next(iter(list_parameters(tool)), "")


def _schema_of(rule: Rule, tool: Tool) -> Mapping[str, Any]:
    """Return the schema of the parameter that *rule* is about; an empty one if there is none."""
    schema = tool.signature.schema.get("properties", {}).get(_parameter_of(rule, tool))
    return schema if isinstance(schema, Mapping) else {}


def _find_kind(rule: Rule, tool: Tool) -> Kind | None:
    """Return the kind of the marked parameters that *rule* is about, if it is a command, a URL or a path."""
    marked = tool.signature.accesses
    about = marked.values() if rule.argument is None else [marked[name] for name in marked if name == rule.argument]
    kinds = [kind_of(access) for access in about]
    order: tuple[Kind, ...] = ("command", "url", "path")
    return next((kind for kind in order if kind in kinds), None)
