"""The merged settings as a value: each key, what counts for it, and where each part of it was written."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from .._option_checks import explain_unknown_choice
from ..errors import ToolkitError
from ..hooks.shell.records import ShellHook
from ..permissions.rules import Rule
from ..providers.prices import Price
from ..values.visible import make_visible
from .mcp_servers import McpServer, without_credentials
from .trust import IgnoredSetting, Trust

__all__ = ["Layer", "MergedSettings", "ProblemList", "SettingPart", "SettingsError"]

Layer: TypeAlias = Literal["default", "user", "project", "environment", "command line", "program"]
"""The layers in order: a later one counts before an earlier one."""


_MAX_PROBLEMS = 20
_MAX_PROBLEM_CHARS = 1_000


class SettingsError(ToolkitError, ValueError):
    """
    Settings that cannot be read. No call should run without them.

    Attributes:
        problems: The mistakes, each with its file, its line and the remedy. Each is one line of text, whatever the file
            holds.
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(make_visible(problem, keep_lines=False) for problem in problems)
        super().__init__("\n".join(self.problems))

    def __reduce__(self) -> tuple[type[SettingsError], tuple[tuple[str, ...]]]:
        return type(self), (self.problems,)


class ProblemList(list[str]):
    """
    The mistakes in settings so far. After 20 of them the reading ends with a `SettingsError`.

    So a project that the user does not trust cannot keep a command busy with mistakes.
    """

    def append(self, problem: str) -> None:
        is_long = len(problem) > _MAX_PROBLEM_CHARS
        super().append(f"{problem[:_MAX_PROBLEM_CHARS]}..." if is_long else problem)
        if len(self) >= _MAX_PROBLEMS:
            raise SettingsError([*self, f"there may be more; reading ended after {_MAX_PROBLEMS} mistakes"])

    def extend(self, problems: Iterable[str]) -> None:
        for problem in problems:
            self.append(problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingPart:
    """
    A value that one layer gives to a key; for a key that is a list, one entry of the list.

    Attributes:
        key: The key, such as "budget.tokens".
        value: The value, after it was checked.
        layer: The layer that gives it.
        place: Where it was written: a file with its line, a variable, an option; empty for a default.
        name: The name of the entry, for a key that is a table of entries, such as "mcp_servers".
        why_ignored: Why the value does not count; empty if it counts, or would count without a later layer.
    """

    key: str
    value: Any
    layer: Layer
    place: str = ""
    name: str = ""
    why_ignored: str = ""

    @property
    def full_key(self) -> str:
        """The key with the name of the entry: "mcp_servers.github"."""
        return f"{self.key}.{self.name}" if self.name else self.key

    @property
    def origin(self) -> str:
        """The layer and the place, in words."""
        return f"{self.layer}, {self.place}" if self.place else self.layer

    def as_ignored(self) -> IgnoredSetting:
        """Return the part, which does not count, with the reason."""
        what = f"{self.full_key} = {shown_value(self.value)} ({self.origin})"
        return IgnoredSetting(make_visible(what, keep_lines=False), self.why_ignored)

    def to_json(self) -> dict[str, Any]:
        data = {"value": plain_value(self.value), "layer": self.layer, "place": self.place}
        return {**data, **({"ignored": self.why_ignored} if self.why_ignored else {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedSettings(Mapping[str, Any]):
    """
    The settings of all layers as one mapping: `settings["budget.tokens"]`.

    The value of a list is a tuple, and the value of a table of entries is a dictionary. `load_settings` makes this
    object.

    Attributes:
        folder: The folder of the project.
        user_folder: The folder of the user's files.
        values_by_key: The value of each key.
        parts: Every part of every layer, in the order of the layers, with those that do not count.
        rules: The rules of the keys `rules.*` and `commands.*`, and of the session.
        trust: The folders that the user trusts.
        files: The files that were read.
    """

    folder: Path
    user_folder: Path
    values_by_key: Mapping[str, Any] = field(repr=False)
    parts: tuple[SettingPart, ...] = ()
    rules: tuple[Rule, ...] = ()
    trust: Trust = field(default_factory=Trust, repr=False)
    files: tuple[Path, ...] = ()

    def __getitem__(self, key: str) -> Any:
        if key not in self.values_by_key:
            raise KeyError(explain_unknown_choice(key, list(self.values_by_key)))
        return self.values_by_key[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.values_by_key)

    def __len__(self) -> int:
        return len(self.values_by_key)

    @property
    def ignored(self) -> tuple[IgnoredSetting, ...]:
        """The settings that do not count, each with the reason."""
        return tuple(part.as_ignored() for part in self.parts if part.why_ignored)

    def parts_of(self, key: str) -> tuple[SettingPart, ...]:
        """Return the parts that make up the value of *key*, in order; for a single value, the part that won."""
        value = self[key]
        parts = [part for part in self.parts if part.key == key and not part.why_ignored]
        if isinstance(value, dict):  # a later layer replaces the entry of the same name
            return tuple({part.name: part for part in parts}.values())
        return tuple(parts) if isinstance(value, tuple) else tuple(parts[-1:])

    def to_json(self) -> dict[str, Any]:
        """Return the values and their parts as JSON. Secrets of MCP servers and of addresses are left out."""
        return {
            "folder": str(self.folder),
            "settings": {
                key: {
                    "value": plain_value(value),
                    "parts": [
                        {"name": part.name, **part.to_json()} if part.name else part.to_json()
                        for part in self.parts
                        if part.key == key
                    ],
                }
                for key, value in self.items()
            },
            "files": [str(path) for path in self.files],
        }


def plain_value(value: Any) -> Any:
    """Return *value* as JSON, without secrets."""
    match value:
        case tuple() | list():
            return [plain_value(item) for item in value]
        case dict():
            return {name: plain_value(item) for name, item in value.items()}
        case ShellHook():
            command = value.command if isinstance(value.command, str) else list(value.command)
            return {"on": list(value.on), "tools": list(value.tools), "command": command}
        case Price():
            return {name: str(getattr(value, name)) for name in ("input", "output", "cached", "cache_write")}
        case McpServer():
            return value.to_json()
        case Path():
            return str(value)
        case str():
            return _hide_credentials(value)
    return value


def shown_value(value: Any) -> str:
    """Return *value* in words, without secrets. A text may have several lines."""
    match value:
        case None:
            return "none"
        case ShellHook():
            command = value.command if isinstance(value.command, str) else shlex.join(value.command)
            gets = f", which gets {', '.join(value.env)}" if value.env else ""
            return f"{', '.join(value.on)} {', '.join(value.tools)}{gets}: {command}"
        case Price():
            return f"{value.input} in, {value.output} out"
        case tuple():
            return ", ".join(map(shown_value, value)) or "none"
        case bool():
            return str(value).lower()
        case str():
            return _hide_credentials(value)
    return str(value)


def _hide_credentials(text: str) -> str:
    """Return *text*; if it is an address, such as `base_url` or `database`, without what may be a secret in it."""
    return without_credentials(text) if text.startswith(_ADDRESSES) else text


_ADDRESSES = ("http://", "https://", "postgresql://", "postgres://")
