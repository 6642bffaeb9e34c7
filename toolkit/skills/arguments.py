"""
Reads the arguments of a skill from its file.

    arguments:
      - name: path
        description: The file to look at.
      - name: depth
        type: integer
        default: 2
      - style          # the same as `- name: style`
"""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable
from typing import Any

from .checks import KeyChecks, ProblemCollector, is_boolean, is_number, is_text
from .front_matter import Node
from .records import ARGUMENT_TYPES, Argument

__all__ = ["read_arguments"]

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MAX_ARGUMENTS = 50

_TYPE_CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("string", "text"), lambda value: isinstance(value, str)),
    "integer": lambda value: type(value) is int,
    "number": is_number,
    "boolean": is_boolean,
    **dict.fromkeys(("array", "list"), lambda value: isinstance(value, list)),
    "object": lambda value: isinstance(value, dict),
}
_TYPES_WITH_CHOICES = ("string", "text", "integer")

_KEYS: KeyChecks = {
    "name": (
        lambda value: isinstance(value, str) and bool(_NAME.fullmatch(value)) and not keyword.iskeyword(value),
        "at most 64 letters, digits and _, and no word of Python such as `from`",
    ),
    "type": (lambda value: isinstance(value, str) and value in ARGUMENT_TYPES, f"one of {', '.join(ARGUMENT_TYPES)}"),
    "description": (is_text, "a text that is not empty"),
    "required": (is_boolean, "true or false"),
    "default": (lambda value: True, "anything"),
    "choices": (lambda value: isinstance(value, list) and bool(value), "a list that is not empty"),
}


def read_arguments(node: Node, collector: ProblemCollector) -> tuple[Argument, ...]:
    """Return the arguments that *node* lists, in its order. Add what is wrong with them to *collector*."""
    if not isinstance(node.content, list) or len(node.content) > _MAX_ARGUMENTS:
        collector.add(node.line, f"`arguments` has to be a list of at most {_MAX_ARGUMENTS}: `- name: path`")
        return ()
    arguments: dict[str, Argument] = {}
    for item in node.content:
        argument = _read_argument(item, collector)
        if argument is not None and argument.name in arguments:
            collector.add(item.line, f"the argument `{argument.name}` stands here twice; keep one")
        elif argument is not None:
            arguments[argument.name] = argument
    return tuple(arguments.values())


def _read_argument(item: Node, collector: ProblemCollector) -> Argument | None:
    nodes = {"name": item} if isinstance(item.content, str) else item.content
    if not isinstance(nodes, dict) or "name" not in nodes:
        collector.add(item.line, "an argument has a name: write `- name: path`, or just `- path`")
        return None
    name = nodes["name"].plain()
    prefix = f"argument `{name!s:.60}`: "
    fields = collector.check_values(nodes, _KEYS, prefix)
    if fields.keys() != nodes.keys():
        return None
    default, choices, kind = fields.get("default"), fields.get("choices", []), fields.get("type", "string")
    hint = "; put it in quotes" if kind in ("string", "text") else ""
    for key, values in (("default", [] if default is None else [default]), ("choices", choices)):
        for value in values:
            if not _TYPE_CHECKS[kind](value):
                collector.add(nodes[key].line, f"{prefix}{key}: {value!r:.60} is no {kind}{hint}")
    if choices and kind not in _TYPES_WITH_CHOICES:
        collector.add(nodes["choices"].line, f"{prefix}choices are strings or integers; `type: {kind}` has none")
    if choices and default is not None and default not in choices:
        collector.add(nodes["default"].line, f"{prefix}the default is none of the choices; choose one of them")
    if fields.get("required") and "default" in fields:
        collector.add(nodes["required"].line, f"{prefix}what is required has no default; remove one of the two lines")
    return Argument(
        name=name,
        type=kind,
        description=fields.get("description", "").strip(),
        required=fields.get("required", "default" not in fields),
        default=default,
        choices=tuple(choices),
    )
