"""
Converts the content of a file to a skill, or to a list of everything that is wrong with it.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

from .arguments import read_arguments
from .checks import NAME_RULE, KeyChecks, ProblemCollector, is_boolean, is_name, is_number, is_text
from .front_matter import Node, split_front_matter
from .problems import FrontMatterError, SkillProblem
from .records import DEFAULT_ARGUMENT, Skill

__all__ = ["SKILL_FILE_NAME", "read_skill"]

SKILL_FILE_NAME = "SKILL.md"
"""The file that makes a folder a skill."""

_FACTS: KeyChecks = {
    **dict.fromkeys(("read_only", "destructive", "open_world", "defer"), (is_boolean, "true or false")),
    **dict.fromkeys(("group", "search_hint", "version"), (is_text, "a text that is not empty")),
    "aliases": (
        lambda value: isinstance(value, list) and all(map(is_name, value)),
        "a list of names, such as [check, proofread]",
    ),
    "approval": (lambda value: value in ("never", "always"), "never or always"),
    "timeout_seconds": (lambda value: is_number(value) and value > 0, "a number of seconds above 0"),
    "max_chars": (lambda value: type(value) is int and value >= 50, "a whole number, 50 or more"),
}
_KEYS: KeyChecks = {
    "name": (is_name, f"a name for a tool; {NAME_RULE}"),
    "description": (is_text, "a text that is not empty"),
    **_FACTS,
    **dict.fromkeys(("arguments", "tools"), (lambda value: True, "a list")),  # checked more closely below
}
_IGNORED_KEYS = frozenset(("license", "compatibility", "metadata", "allowed-tools"))
"""Keys in files for other agents, which have no meaning here."""


def read_skill(path: Path, content: bytes, *, project: bool = False) -> tuple[Skill | None, list[SkillProblem]]:
    """Return the skill that a file holds, or None and every mistake if it holds none."""
    try:
        matter, body = split_front_matter(content.decode("utf-8-sig").replace("\r\n", "\n"))
    except UnicodeDecodeError:
        return None, [SkillProblem(path, None, "it is not UTF-8; save it as that")]
    except FrontMatterError as mistake:
        return None, [SkillProblem(path, mistake.line, str(mistake))]
    collector = ProblemCollector(path)
    skill = _build_skill(path, matter, body, collector, hashlib.sha256(content).hexdigest(), project)
    if collector.problems:
        return None, sorted(collector.problems, key=lambda problem: problem.line or 0)
    return skill, []


def _build_skill(
    path: Path, matter: dict[str, Node], body: str, collector: ProblemCollector, digest: str, project: bool
) -> Skill:
    folder = path.parent if path.name == SKILL_FILE_NAME else None
    values = collector.check_values({key: node for key, node in matter.items() if key not in _IGNORED_KEYS}, _KEYS)
    lines = {key: node.line for key, node in matter.items()}
    name = values.get("name", "") if "name" in matter else path.stem if folder is None else folder.name
    if "name" not in matter and not is_name(name):
        collector.add(1, f"{name!r:.80} cannot be a tool's name; add `name:`, and {NAME_RULE}")
    if "description" not in matter:
        collector.add(1, "`description` is missing; say what it does, because a model chooses by it")
    if "allowed-tools" in matter and "tools" not in matter:
        collector.add(lines["allowed-tools"], "this is for other agents; say what it may call here: `tools: [read]`")
    if not body.strip():
        collector.add(None, "there is no text below the front matter; write what is to be done")
    if values.get("read_only") and values.get("destructive"):
        collector.add(lines["read_only"], "it cannot be both `read_only` and `destructive`; keep what is true")
    return Skill(
        name=name,
        description=values.get("description", "").strip(),
        text=body.strip(),
        arguments=read_arguments(matter["arguments"], collector) if "arguments" in matter else (DEFAULT_ARGUMENT,),
        tools=_read_tools(matter["tools"], lines, collector) if "tools" in matter else (),
        stated={key: value for key, value in values.items() if key in _FACTS},
        path=path,
        digest=digest,
        folder=folder,
        project=project,
        lines=lines,
    )


def _read_tools(node: Node, lines: dict[str, int], collector: ProblemCollector) -> tuple[str, ...]:
    expected = "`tools` has to be a list of names, such as [read, grep]"
    items = node.content
    if isinstance(items, str):  # "read, grep", the form that other agents use
        items = [Node(name.strip(), node.line) for name in items.split(",")]
    if not isinstance(items, list):
        collector.add(node.line, f"{expected}; got {node.plain()!r:.80}")
        return ()
    names: dict[str, None] = {}
    for item in items:
        if isinstance(item.content, str) and is_name(item.content):
            names[item.content] = None
            lines.setdefault(f"tools.{item.content}", item.line)
        else:
            collector.add(item.line, f"{expected}; {item.plain()!r:.80} is no name")
    return tuple(names)
