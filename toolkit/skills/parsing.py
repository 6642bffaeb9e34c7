"""
The parser of skill files. It returns a skill, or a list of everything that is wrong with the file.

Tables list the keys of the front matter. Each key has a check, and words for the values that it accepts. The key
`arguments` is a list:

    arguments:
      - name: path
        description: The file to look at.
      - name: depth
        type: integer
        default: 2
      - style          # the same as `- name: style`
"""

from __future__ import annotations

import hashlib
import keyword
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from .._plumbing.wording import in_backticks
from ..errors import DefinitionError, find_nearest
from ..facts import check_name
from .front_matter import Node, split_front_matter
from .records import ARGUMENT_TYPES, DEFAULT_ARGUMENT, Argument, FrontMatterError, Skill, SkillProblem

__all__ = ["SKILL_FILE_NAME", "read_skill"]

SKILL_FILE_NAME = "SKILL.md"
"""The file that makes a folder a skill."""

_KeyChecks: TypeAlias = Mapping[str, tuple[Callable[[Any], bool], str]]

_NAME_RULE = "write at most 64 of A-Z a-z 0-9 _ - . that start with a letter or _"
_MAX_PROBLEMS = 20


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value.strip())


def _is_boolean(value: Any) -> bool:
    return isinstance(value, bool)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _is_name(value: Any) -> bool:
    try:
        check_name(value, "")
    except DefinitionError:
        return False
    return True


_FACTS: _KeyChecks = {
    **dict.fromkeys(("read_only", "destructive", "open_world", "defer"), (_is_boolean, "true or false")),
    **dict.fromkeys(("group", "search_hint", "version"), (_is_text, "a text that is not empty")),
    "aliases": (
        lambda value: isinstance(value, list) and all(map(_is_name, value)),
        "a list of names, such as [check, proofread]",
    ),
    "approval": (lambda value: value in ("never", "always"), "never or always"),
    "timeout_seconds": (lambda value: _is_number(value) and value > 0, "a number of seconds above 0"),
    "max_chars": (lambda value: type(value) is int and value >= 50, "a whole number, 50 or more"),
}
_KEYS: _KeyChecks = {
    "name": (_is_name, f"a name for a tool; {_NAME_RULE}"),
    "description": (_is_text, "a text that is not empty"),
    **_FACTS,
    **dict.fromkeys(("arguments", "tools"), (lambda value: True, "a list")),  # checked more closely below
}
_FOREIGN_KEYS = frozenset(("license", "compatibility", "metadata", "allowed-tools"))
"""Keys in files for other agents. Only `allowed-tools` has a meaning here."""

_ALLOWED_TOOL = re.compile(r"[^\s,(]+(?:\([^)]*\)?)?|\([^)]*\)?")
# How a text with several tools is split, what the list has to be, and what is wrong with an entry that is no name.
_TOOL_LISTS: dict[str, tuple[Callable[[str], list[str]], str, str]] = {
    "tools": (
        lambda text: [entry.strip() for entry in text.split(",")],
        "`tools` has to be a list of names, such as [read, grep]",
        "is no name",
    ),
    "allowed-tools": (_ALLOWED_TOOL.findall, "`allowed-tools` has to be names, such as Read, Grep", "is none"),
}
_WORD_START = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_ARGUMENT_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}")
_MAX_ARGUMENTS = 50

_TYPE_CHECKS: dict[str, Callable[[Any], bool]] = {
    **dict.fromkeys(("string", "text"), lambda value: isinstance(value, str)),
    "integer": lambda value: type(value) is int,
    "number": _is_number,
    "boolean": _is_boolean,
    **dict.fromkeys(("array", "list"), lambda value: isinstance(value, list)),
    "object": lambda value: isinstance(value, dict),
}
_TYPES_WITH_CHOICES = ("string", "text", "integer")

_ARGUMENT_KEYS: _KeyChecks = {
    "name": (
        lambda value: isinstance(value, str) and bool(_ARGUMENT_NAME.fullmatch(value)) and not keyword.iskeyword(value),
        "at most 64 letters, digits and _, and no word of Python such as `from`",
    ),
    "type": (lambda value: isinstance(value, str) and value in ARGUMENT_TYPES, f"one of {', '.join(ARGUMENT_TYPES)}"),
    "description": (_is_text, "a text that is not empty"),
    "required": (_is_boolean, "true or false"),
    "default": (lambda value: True, "anything"),
    "choices": (lambda value: isinstance(value, list) and bool(value), "a list that is not empty"),
}


def read_skill(path: Path, content: bytes, *, project: bool = False) -> tuple[Skill | None, list[SkillProblem]]:
    """Return the skill that a file holds, or None and the first mistakes if it holds none."""
    try:
        matter, body = split_front_matter(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        return None, [SkillProblem(path, None, "it is not UTF-8; save it as that")]
    except FrontMatterError as mistake:
        return None, [SkillProblem(path, mistake.line, str(mistake))]
    collector = _ProblemCollector(path)
    skill = _build_skill(path, matter, body, collector, hashlib.sha256(content).hexdigest(), project)
    problems = sorted(collector.problems, key=lambda problem: problem.line or 0)
    if len(problems) > _MAX_PROBLEMS:
        problems[_MAX_PROBLEMS:] = [SkillProblem(path, None, f"it has {len(problems) - _MAX_PROBLEMS:,} more mistakes")]
    return (None if problems else skill), problems


def _build_skill(
    path: Path, matter: dict[str, Node], body: str, collector: _ProblemCollector, digest: str, project: bool
) -> Skill:
    folder = path.parent if path.name == SKILL_FILE_NAME else None
    values = collector.check_values({key: node for key, node in matter.items() if key not in _FOREIGN_KEYS}, _KEYS)
    lines = {key: node.line for key, node in matter.items()}
    name = values.get("name", "") if "name" in matter else path.stem if folder is None else folder.name
    if "name" not in matter and not _is_name(name):
        collector.add(1, f"{name!r:.80} cannot be a tool's name; add `name:`, and {_NAME_RULE}")
    if "description" not in matter:
        collector.add(1, "`description` is missing; say what it does, because a model chooses by it")
    if not body.strip():
        collector.add(None, "there is no text below the front matter; write what is to be done")
    if values.get("read_only") and values.get("destructive"):
        collector.add(lines["read_only"], "it cannot be both `read_only` and `destructive`; keep what is true")
    return Skill(
        name=name,
        description=values.get("description", "").strip(),
        text=body.strip(),
        arguments=_read_arguments(matter["arguments"], collector) if "arguments" in matter else (DEFAULT_ARGUMENT,),
        tools=_read_tools(matter, lines, collector),
        stated={key: value for key, value in values.items() if key in _FACTS},
        path=path,
        digest=digest,
        folder=folder,
        project=project,
        lines=lines,
    )


def _read_tools(matter: Mapping[str, Node], lines: dict[str, int], collector: _ProblemCollector) -> tuple[str, ...]:
    """
    Return the tools that the skill may call: those in `tools`, or without that key those in `allowed-tools`.

    For other agents, the tools in `allowed-tools` run unasked. Here the key only limits which tools the skill may call.
    An entry with a pattern, such as `Bash(git:*)`, is refused: a skill has a whole tool, which would be more than the
    file says.
    """
    key = "tools" if "tools" in matter else "allowed-tools"
    node = matter.get(key)
    if node is None:
        return ()
    split, rule, refusal = _TOOL_LISTS[key]
    items = node.content
    if isinstance(items, str):  # "read, grep", the form that other agents use
        items = [Node(entry, node.line) for entry in split(items)]
    if not isinstance(items, list):
        collector.add(node.line, f"{rule}; got {node.plain()!r:.80}")
        return ()
    names: dict[str, None] = {}
    for item in items:
        entry = item.content if isinstance(item.content, str) else ""
        name = entry
        if key == "allowed-tools":  # other agents write `Read` and `WebFetch` for `read` and `web_fetch`
            name = _WORD_START.sub("_", entry.partition("(")[0]).lower().replace("-", "_")
        if not _is_name(name):
            collector.add(item.line, f"{rule}; {item.plain()!r:.80} {refusal}")
        elif "(" in entry:
            allow_rule = f"allow {name}({entry.partition('(')[2][:80]}"
            collector.add(
                item.line,
                f"{in_backticks(entry[:80])} allows a part of a tool, and a skill has whole tools here; add "
                f"`tools: [{name}]`, and limit it by a rule such as {in_backticks(allow_rule)}",
            )
        else:
            names[name] = None
            lines.setdefault(f"tools.{name}", item.line)
    return tuple(names)


def _read_arguments(node: Node, collector: _ProblemCollector) -> tuple[Argument, ...]:
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


def _read_argument(item: Node, collector: _ProblemCollector) -> Argument | None:
    nodes = {"name": item} if isinstance(item.content, str) else item.content
    if not isinstance(nodes, dict) or "name" not in nodes:
        collector.add(item.line, "an argument has a name: write `- name: path`, or just `- path`")
        return None
    name = nodes["name"].plain()
    prefix = f"argument `{name!s:.60}`: "
    fields = collector.check_values(nodes, _ARGUMENT_KEYS, prefix)
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


class _ProblemCollector:
    """Collects what is wrong with one file."""

    def __init__(self, path: Path) -> None:
        self.problems: list[SkillProblem] = []
        self._path = path

    def add(self, line: int | None, message: str) -> None:
        self.problems.append(SkillProblem(self._path, line, message))

    def check_values(self, nodes: Mapping[str, Node], keys: _KeyChecks, prefix: str = "") -> dict[str, Any]:
        """Return the values of *nodes* that pass the checks in *keys*. Add a mistake for every other one."""
        values: dict[str, Any] = {}
        for key, node in nodes.items():
            if key not in keys:
                self.add(node.line, f"{prefix}{_unknown_key_message(key, keys)}")
                continue
            fits, expected = keys[key]
            value = node.plain()
            if fits(value):
                values[key] = value
            else:
                self.add(node.line, f"{prefix}`{key}` has to be {expected}; got {value!r:.80}")
        return values


def _unknown_key_message(key: str, keys: _KeyChecks) -> str:
    near = find_nearest(key, keys, max_items=1)
    hint = f"did you mean `{near[0]}`?" if near else f"write one of {', '.join(keys)}"
    return f"{in_backticks(key[:60])} is not known; {hint}"
