"""
Quick checks whether a deny or ask rule holds for a call. They are compiled once for each tool.

A check gives the same answer as `Rule.matches`. Which parameter the rule is about, and as what kind it is compared, is
known when the check is compiled. A text or a number is then compared directly, and everything else by `Rule.matches`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from ..spec import Tool
from .judge import RequestBuilder
from .rule_values import RuleValue, kind_of_parameter, list_parameters, text_of
from .rules import Rule

__all__ = ["RuleCheck", "compile_rule"]

RuleCheck: TypeAlias = Callable[[Mapping[str, Any]], bool]
"""A function that tells whether a rule holds for a call with these decoded arguments."""

_NUMBERS = frozenset({int, float, bool})


def compile_rule(rule: Rule, tool: Tool, build_request: RequestBuilder) -> RuleCheck:
    """Return a check whether *rule*, a deny or ask rule that concerns *tool*, holds. It may raise any error."""

    def matches_call(arguments: Mapping[str, Any]) -> bool:
        return rule.matches(build_request(arguments))

    parameter = _find_text_parameter(rule, tool)
    if parameter is None:
        return matches_call
    encode = tool.encode

    def matches_text(arguments: Mapping[str, Any]) -> bool:
        value = arguments.get(parameter)
        if value is None:
            return False  # a rule is compared with the values that there are
        text = value
        if type(value) in _NUMBERS:
            value = encode({parameter: value})[parameter]
            text = text_of(value) if type(value) in _NUMBERS else None
        if type(text) is not str:
            return matches_call(arguments)
        return rule.concerns_value(RuleValue(text, "text"), ".")

    return matches_text


def _find_text_parameter(rule: Rule, tool: Tool) -> str | None:
    """Return the only parameter that *rule* is compared with, if a text in it is compared as a text; else None."""
    stated_kinds = {marker.kind for marker in tool.signature.accesses.values()}
    if rule.access is not None or rule.pattern_kind is not None or rule.argument in stated_kinds:
        return None
    if rule.argument is None and stated_kinds:
        return None  # the accesses are compared, and not the first parameter
    parameter = rule.argument or next(iter(list_parameters(tool)), None)
    return parameter if parameter is not None and kind_of_parameter(tool, parameter) == "text" else None
