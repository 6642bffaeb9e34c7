"""
The configuration of one shell hook: its events, its tools, its command and its time limit.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from ..._option_checks import explain_unknown_choice
from ...permissions.patterns.names import NamePattern
from ..events import EVENTS

__all__ = ["POINTS", "ShellHook", "find_mistakes"]

POINTS = ("before", "after", "agent_start", *EVENTS)
"""When a command can run. At the first three it decides; the others are events, which it is told."""

_FAILURE_EFFECTS = ("block", "allow")
_MAX_SECONDS = 24 * 3600
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShellHook:
    """
    A command of the user that decides before or after calls or where an agent starts, or that is told about events.

    Attributes:
        on: One or more of "before", "after", "agent_start" and the names in `EVENTS`, such as "person_asked".
        command: Text for `/bin/sh -c`, or a list that is run as it is.
        tools: Names as in deny rules: `bash`, `fs_*`, `group:files`, `mcp:github/*`. They do not matter for an event
            that has no tool.
        timeout_seconds: The time after which the command is ended, with everything in its process group.
        on_failure: The effect of a failure before a call, or at an agent's start: "block" or "allow" the call or run.
        env: Names of variables of this process that the command gets, besides PATH, HOME and the like.
        cwd: The folder in which the command runs; by default the folder of this process.
        source: The place where the hook was written, for messages.
        prepare: A function that gets the argument list and returns the one to run. It is called before each run, in the
            thread of that run, and raises `NotRun` if the command may not run.

    Raises:
        ValueError: Some fields cannot be right; the message names every mistake.
    """

    on: str | Sequence[str]
    command: str | Sequence[str]
    tools: str | Sequence[str] = "*"
    timeout_seconds: float = 30.0
    on_failure: Literal["block", "allow"] = "block"
    env: Sequence[str] = ()
    cwd: str | os.PathLike[str] | None = None
    source: str = ""
    prepare: Callable[[Sequence[str]], Sequence[str]] | None = field(default=None, repr=False)
    patterns: tuple[NamePattern, ...] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        problems = find_mistakes({name: getattr(self, name) for name in _CHECKS})
        if problems:
            raise ValueError("; ".join(problems))
        for name in ("on", "tools", "env"):
            object.__setattr__(self, name, tuple(_as_list(getattr(self, name))))
        if not isinstance(self.command, str):
            object.__setattr__(self, "command", tuple(self.command))
        patterns = tuple(NamePattern.read(text, exact_origin=False) for text in self.tools)
        object.__setattr__(self, "patterns", patterns)

    @property
    def argv(self) -> list[str]:
        """The argument list of the process that is run."""
        return ["/bin/sh", "-c", self.command] if isinstance(self.command, str) else list(self.command)

    def is_about(self, names: frozenset[str], group: str | None, origin: str) -> bool:
        """Return whether the hook is for a tool with any of these names, this group and this origin."""
        return any(pattern.matches(names, group, origin) for pattern in self.patterns)


def find_mistakes(fields: Mapping[str, Any]) -> list[str]:
    """Return every mistake in *fields*, each with the name of the field and the remedy."""
    return [f"{name}: {problem}" for name, value in fields.items() if (problem := _CHECKS[name](value)) is not None]


def _as_list(value: Any) -> Sequence[Any]:
    return [value] if isinstance(value, str) else value


def _as_texts(value: Any) -> list[str] | None:
    """Return *value* as a list of texts; return None if it is not a text or a list of texts."""
    if not isinstance(value, (str, list, tuple)):
        return None
    items = list(_as_list(value))
    return items if all(isinstance(item, str) for item in items) else None


def _check_points(value: Any) -> str | None:
    points = _as_texts(value)
    if not points:
        return f"has to be one or more of {', '.join(POINTS)}"
    return next((explain_unknown_choice(point, POINTS) for point in points if point not in POINTS), None)


def _check_tools(value: Any) -> str | None:
    names = _as_texts(value)
    if not names:
        return 'has to be a name or a list of names; write "*" for all tools'
    for name in names:
        try:
            NamePattern.read(name, exact_origin=False)
        except ValueError as error:
            return str(error)
    return None


def _check_command(value: Any) -> str | None:
    words = _as_texts(value)
    if not words or not words[0].strip():
        return 'has to be a command: "./check.sh", or ["./check.sh", "--all"] to run it without a shell'
    return "cannot hold a NUL character; remove it" if any("\0" in word for word in words) else None


def _check_seconds(value: Any) -> str | None:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if is_number and math.isfinite(value) and 0 < value <= _MAX_SECONDS:
        return None
    return f"has to be a number of seconds above 0, at most {_MAX_SECONDS:,}; got {value!r:.40}"


def _check_env(value: Any) -> str | None:
    names = _as_texts(value)
    if names is None:
        return 'has to be a list of names of variables: env = ["GITHUB_TOKEN"]'
    unfit = [name for name in names if not _VARIABLE.fullmatch(name)]
    return f"{unfit[0]!r:.80} is not the name of a variable; write names alone, without values" if unfit else None


_CHECKS: dict[str, Callable[[Any], str | None]] = {
    "on": _check_points,
    "tools": _check_tools,
    "command": _check_command,
    "timeout_seconds": _check_seconds,
    "on_failure": lambda value: None if value in _FAILURE_EFFECTS else explain_unknown_choice(value, _FAILURE_EFFECTS),
    "env": _check_env,
}
