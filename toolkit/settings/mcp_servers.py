"""
The MCP servers in the settings: `[mcp_servers.NAME]` with a command or an address.

    [mcp_servers.github]
    command = "github-mcp-server"
    args = ["stdio"]
    env = { GITHUB_TOKEN = "${GITHUB_TOKEN}" }

    [mcp_servers.docs]
    url = "https://docs.example.com/mcp"

The entries are read and checked here. `Servers.from_settings` in `toolkit.mcp` starts the servers.
"""

from __future__ import annotations

import itertools
import re
import shlex
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from urllib.parse import urlsplit

from .._option_checks import explain_unknown_choice
from .._plumbing.wording import format_count

__all__ = ["McpServer", "explain_server_name", "find_server_mistakes", "hide_words", "without_credentials"]

_OF_ADDRESSES = ("headers", "transport")
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,31}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class McpServer:
    """
    An MCP server that the settings name.

    Attributes:
        name: The name, by which rules name its origin: `mcp:NAME/*`.
        command: The program that is the server; None for a server with an address.
        args: The words after the program.
        env: Variables for the program.
        cwd: The folder that it runs in; None for the project's folder.
        url: The address; None for a program.
        headers: HTTP headers for the address.
        transport: "http", or "sse" for a server of the oldest revision; None if it is not said.
        timeout_seconds: The time for one call; None for the client's own.
        trusted: Whether the hints of its tools count, such as that one only reads.
        enabled: Whether it is started unless a command names it.
    """

    name: str
    command: str | None = None
    args: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict, repr=False)
    cwd: str | None = None
    url: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict, repr=False)
    transport: Literal["http", "sse"] | None = None
    timeout_seconds: float | None = None
    trusted: bool = False
    enabled: bool = True

    @classmethod
    def of(cls, name: str, table: Mapping[str, Any]) -> McpServer:
        """Return the server that a checked *table* describes."""
        return cls(name=name, **{**table, "args": tuple(table.get("args", ()))})

    def __repr__(self) -> str:
        where = without_credentials(self.url) if self.url else hide_words([str(self.command), *self.args])
        shown = ("name", "cwd", "transport", "timeout_seconds", "trusted", "enabled")
        return f"McpServer({where!r}, {', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"

    def __str__(self) -> str:
        text = without_credentials(self.url) if self.url else shlex.join([str(self.command), *self.args])
        text += f", in the folder {self.cwd}" if self.cwd else ""
        for label, names in (("variables", self.env), ("headers", self.headers)):
            text += f", with the {label} {', '.join(names)}" if names else ""
        return f"{text}{', trusted' * self.trusted}{' (switched off)' * (not self.enabled)}"

    def to_json(self) -> dict[str, Any]:
        """Return the server as JSON. The values of variables and headers may be secrets, so only names are there."""
        return {
            **({"command": self.command, "args": list(self.args)} if self.url is None else {}),
            **({"url": without_credentials(self.url)} if self.url else {}),
            "env": sorted(self.env),
            "headers": sorted(self.headers),
            "cwd": self.cwd,
            **({"transport": self.transport} if self.transport else {}),
            "timeout_seconds": self.timeout_seconds,
            "trusted": self.trusted,
            "enabled": self.enabled,
        }


def find_server_mistakes(name: str, table: Any) -> list[tuple[str, str]]:
    """Return each mistake in the table of the server *name*, with the key in the table that it is about."""
    if not isinstance(table, dict):
        return [("", f"has to be a table; write [mcp_servers.{name}]")]
    # Twenty mistakes end the reading of settings, so no more are looked for.
    unknown_keys = itertools.islice((key for key in table if key not in _CHECKS), 20)
    mistakes = [(key, explain_unknown_choice(key, list(_CHECKS))) for key in unknown_keys]
    mistakes += [
        (key, f"{key}: has to be {_CHECKS[key][1]}")
        for key, value in table.items()
        if key in _CHECKS and not _CHECKS[key][0](value)
    ]
    if problem := explain_server_name(name):
        mistakes.append(("", problem))
    if ("command" in table) == ("url" in table):
        mistakes.append(("", "a server has either `command`, a program, or `url`, an address; give one of them"))
    elsewhere = _OF_ADDRESSES if "command" in table else ("args", "env", "cwd") if "url" in table else ()
    mistakes += [
        (key, f"{key}: belongs to a server with `{'url' if key in _OF_ADDRESSES else 'command'}`; remove it")
        for key in elsewhere
        if key in table
    ]
    return mistakes


def explain_server_name(name: object) -> str | None:
    """Return why *name* cannot be the name of a server; None if it can."""
    if isinstance(name, str) and _NAME.fullmatch(name):
        return None
    return f"{name!r:.80} is no name for a server; use at most 32 letters, digits, `_` and `-`, with a letter first"


def without_credentials(url: str) -> str:
    """Return *url* without a password and without a query, which may hold a key."""
    try:
        parts = urlsplit(url)
    except ValueError:  # it is no address, so it is not known which part of it is a password
        return f"{url.partition('://')[0]}://..."
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}{'?...' if parts.query else ''}"


def hide_words(command: Sequence[str]) -> str:
    """Return the program of *command* and how many words follow, because a word may be a key."""
    count = len(command) - 1
    more = f" and {format_count(count, 'word')}" if count > 0 else ""
    return f"{shlex.quote(str(command[0]))}{more}" if command else "no command"


def _is_address(value: Any) -> bool:
    try:
        parts = urlsplit(value) if isinstance(value, str) else None
    except ValueError:
        return False
    return parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)


def _are_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(item, str) for item in values)


def _is_positive(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value <= sys.float_info.max


_TEXT = (lambda value: isinstance(value, str) and bool(value.strip()) and "\0" not in value, "a text, and not empty")
_TABLE = (
    lambda value: isinstance(value, dict) and _are_texts([*value.values()]),
    'a table of texts: { NAME = "value" }',
)
_FLAG = (lambda value: isinstance(value, bool), "true or false")
_CHECKS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "command": _TEXT,
    "args": (_are_texts, 'a list of texts: ["--verbose"]'),
    "env": _TABLE,
    "cwd": _TEXT,
    "url": (_is_address, 'an address: "https://example.com/mcp"'),
    "headers": _TABLE,
    "transport": (lambda value: value in ("http", "sse"), '"http" or "sse"'),
    "timeout_seconds": (_is_positive, "a number of seconds above 0"),
    "trusted": _FLAG,
    "enabled": _FLAG,
}
"""What the value of each key has to be: a function that returns whether it is, and the same in words."""
