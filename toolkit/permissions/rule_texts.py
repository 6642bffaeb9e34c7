"""
Parser for the text of a rule: its tools or its kind of access, its parameter and its pattern.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from ..access import access_kinds
from ..errors import find_nearest
from .rule_values import kind_of_name

__all__ = ["RuleParts", "find_other_condition", "read_parts"]

_MAX_CHARS = 2000
_ARGUMENT = re.compile(r"([A-Za-z_][A-Za-z0-9_.-]*(?==|~=)|(?=~=))(~?=)(.*)")
# `cost>0.10`; `cost=0.10` is about a parameter of that name.
_COST = re.compile(r"cost\s*(>=?|<=?)\s*(.*)")
_NUMBER = re.compile(r"\d{1,15}(\.\d{1,15})?")
_CONDITION = re.compile(r"(?:^|,)\s*([A-Za-z_][A-Za-z0-9_.-]*?)\s*(==|!=|>=|<=|[=<>])")
_ACCESS = "access:"
# Words that people may write for a kind of access, and the kind that each of them means.
_KIND_BY_SYNONYM = {
    **dict.fromkeys(("file", "files", "folder", "paths"), "path"),
    **dict.fromkeys(("edit", "delete", "remove", "create", "change", "modify", "writes"), "write"),
    **dict.fromkeys(("view", "open", "list", "search", "reads"), "read"),
    **dict.fromkeys(("fetch", "connect", "host", "http", "https", "web", "net", "network", "address", "urls"), "url"),
    **dict.fromkeys(("run", "exec", "execute", "shell", "bash", "cmd", "commands"), "command"),
}


class RuleParts(NamedTuple):
    """The parts of a rule's text; the attributes of `Rule` say what each part is."""

    name: str
    argument: str | None = None
    pattern: str | None = None
    access: str | None = None
    ignores_case: bool = False
    comparison: str = ""


def read_parts(text: str) -> RuleParts:
    """Return the parts of a rule's text; raise `ValueError` with the mistake if the text is wrong."""
    if not isinstance(text, str) or not text:
        raise ValueError("it names no tool; write `read`, or `bash(npm test)`")
    if len(text) > _MAX_CHARS or not text.isprintable():
        raise ValueError(f"a rule is one line of at most {_MAX_CHARS} printable characters")
    name, opening, rest = text.partition("(")
    if any(letter.isspace() for letter in name) or (opening and text != text.rstrip()):
        raise ValueError("there are no spaces outside the parentheses, and one rule in each text")
    if not opening:
        if ")" in name:
            raise ValueError("a parenthesis is closed that was not opened")
        tools, access = _read_access(name)
        return RuleParts(tools, access=access)
    if not _is_balanced(text):
        raise ValueError("its parentheses do not match; it ends with the one that closes the first")
    tools, access = _read_access(name)
    argument, sign, pattern = None, "", rest[:-1]
    if match := _COST.fullmatch(pattern):
        return _read_cost(name, tools, access, match[1], match[2])
    if match := _ARGUMENT.fullmatch(pattern):
        argument, sign, value = match[1] or None, match[2], match[3]
        is_parameter = argument is not None and (sign == "~=" or kind_of_name(argument) is not None)
        if access is not None and is_parameter:
            raise ValueError(f"an access has no parameters; write `{name}({'~=' if sign == '~=' else ''}{value})`")
        if access is None or sign == "~=":
            pattern = value
        else:
            argument = None  # `access:command(STAGE=test make)` names no parameter.
    if not pattern.strip():
        raise ValueError(f"the pattern is missing; write `{name}` for every call, or `{name}(*)`")
    return RuleParts(tools, argument, pattern, access, sign == "~=")


def find_other_condition(pattern: str, parameters: Collection[str]) -> tuple[str, str] | None:
    """
    Return the parameter and the sign of a condition that *pattern* holds as mere text; None if it holds none.

    `refund(amount>100)` and `refund(amount=100, order=1)` read as such conditions, and a rule has none of these.
    """
    conditions = (match.groups() for match in _CONDITION.finditer(pattern))
    return next(((name, sign) for name, sign in conditions if name in parameters), None)


def _read_cost(name: str, tools: str, access: str | None, comparison: str, amount: str) -> RuleParts:
    """Return the parts of a rule about what a call costs, compared with *amount*."""
    if access is not None:
        raise ValueError(f"a call has a cost, and an access has none; write `*(cost{comparison}{amount})`")
    if not _NUMBER.fullmatch(amount):
        raise ValueError(f"{amount!r:.40} is no number of US dollars; write `{name}(cost{comparison}0.10)`")
    return RuleParts(tools, pattern=amount, comparison=comparison)


def _read_access(name: str) -> tuple[str, str | None]:
    """
    Return the tools that a rule names, and the kind of access if the rule is about one.

    `access:write` means that kind of access by any tool.
    """
    origin, slash, word = name.rpartition("/")
    if not word.startswith(_ACCESS):
        return name, None
    kind = word.removeprefix(_ACCESS)
    kinds = ("path", *access_kinds())
    if kind not in kinds:
        near = _KIND_BY_SYNONYM.get(kind) or next(iter(find_nearest(kind, kinds, max_items=1)), None)
        suggestion = f"did you mean `{_ACCESS}{near}`?" if near else f"write one of {', '.join(kinds)};"
        raise ValueError(
            f"{kind!r:.40} is no kind of access; {suggestion} a kind of your own is known once its class is defined"
        )
    return f"{origin}{slash}*", kind


def _is_balanced(text: str) -> bool:
    """Return whether the last character closes the parenthesis that was opened first, and no earlier one does."""
    depth = 0
    for at, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if letter == ")" and depth == 0:
            return at == len(text) - 1
    return False
