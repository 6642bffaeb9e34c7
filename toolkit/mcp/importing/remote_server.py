"""
What a program says about a server that it uses: where it is, whether it is trusted, and the limits for it.

A server is a command that speaks MCP over its standard input and output, an address, or a server object of the SDK in
the same process.
"""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, Literal
from urllib.parse import urlsplit

from ...errors import DefinitionError
from ...facts import Arguments, Dollars, fits_fact
from ...settings.mcp_servers import McpServer, explain_server_name, hide_words, without_credentials
from ...values.strictjson.canonical import digest_parts

__all__ = ["RemoteServer", "ServerLimits", "read_server", "read_servers"]

_EXAMPLES = '["npx", "-y", "github-mcp"] or "https://docs.example/mcp"'


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerLimits:
    """
    How much a server may send, and how long it may take.

    Attributes:
        connect_seconds: The time to start a server, to agree on a protocol revision and to list the tools; and the time
            to check the schemas of the tools.
        max_message_bytes: The size of one message.
        max_pages: The pages of one list of tools.
        max_tools: The tools of one server. The others are left out.
        max_schema_bytes: The size of a schema, as JSON text. A tool with a larger one is left out.
        max_description_chars: The length of a description. The rest is cut.
        max_rounds: How often a server may ask for input in one call.
        wait_initial: The seconds before the second attempt to connect; doubles from there.
        wait_max: No wait before an attempt, and no wait between two lists of tools, is longer than this.
        refresh_seconds: The least time between two lists of tools. It doubles while the server goes on changing them.
    """

    connect_seconds: float = 30.0
    max_message_bytes: int = 16 * 1024 * 1024
    max_pages: int = 200
    max_tools: int = 1000
    max_schema_bytes: int = 200_000
    max_description_chars: int = 4000
    max_rounds: int = 10
    wait_initial: float = 0.5
    wait_max: float = 60.0
    refresh_seconds: float = 1.0

    def __post_init__(self) -> None:
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
                raise ValueError(f"ServerLimits: {name} has to be a number above 0, got {value!r:.60}")


@dataclass(frozen=True, slots=True)
class RemoteServer:
    """
    A server that a program uses: `RemoteServer(["npx", "-y", "github-mcp"], env={"GITHUB_TOKEN": token})`.

    Attributes:
        target: The command as a list of words, the address as a text, or a server object of the SDK.
        env: Variables for the command, besides the few that every command gets (`PATH`, `HOME` and the like).
        cwd: The folder that the command runs in.
        headers: HTTP headers for the address.
        transport: How an address is spoken to: "http", or "sse" for a server of revision 2024-11-05.
        auth: A user name with a password, or an `httpx2.Auth` for the address, for example the SDK's
            `OAuthClientProvider`. A token is a header: `headers={"Authorization": "Bearer ..."}`.
        logins: The file of the user's logins, `Logins(path)`; the user's own unless given.
        http_transport: An `httpx2` transport to reach the address by, for tests and proxies.
        trusted: Whether the hints of its tools (`readOnlyHint` and the like) count. Without trust every tool of the
            server is destructive and open-world.
        revision: "auto" tries the newest protocol revision first. "legacy" uses the handshake of 2025-11-25 and before.
            A date such as "2026-07-28" uses that revision at once.
        timeout_seconds: The time for one call.
        cost: What each call of its tools costs, as `@tool(cost=...)` takes it; None if that is not known.
        defer: Whether its tools stay out of the definitions until a search finds them; None defers them if they are
            more than 40.
        tool_prefix: What the names of its tools begin with; the name of the server and `_` unless given.
        limits: How much the server may send, and how long it may take.
    """

    target: Any
    env: Mapping[str, str] = field(default_factory=dict, repr=False, kw_only=True)
    cwd: str | None = field(default=None, kw_only=True)
    headers: Mapping[str, str] = field(default_factory=dict, repr=False, kw_only=True)
    transport: Literal["http", "sse"] = field(default="http", kw_only=True)
    auth: Any = field(default=None, repr=False, kw_only=True)
    logins: Any = field(default=None, repr=False, kw_only=True)
    http_transport: Any = field(default=None, repr=False, kw_only=True)
    trusted: bool = field(default=False, kw_only=True)
    revision: str = field(default="auto", kw_only=True)
    timeout_seconds: float = field(default=120.0, kw_only=True)
    cost: Dollars | Callable[[Arguments], Dollars | Awaitable[Dollars]] | None = field(default=None, kw_only=True)
    defer: bool | None = field(default=None, kw_only=True)
    tool_prefix: str | None = field(default=None, kw_only=True)
    limits: ServerLimits = field(default_factory=ServerLimits, kw_only=True)
    name: str = field(default="", init=False)

    @property
    def origin(self) -> str:
        """The origin of its tools, as permission rules write it: "mcp:github"."""
        return f"mcp:{self.name}"

    @property
    def kind(self) -> Literal["command", "address", "object"]:
        """How the server is reached."""
        if isinstance(self.target, str):
            return "address"
        return "command" if isinstance(self.target, (list, tuple)) else "object"

    @property
    def where(self) -> str:
        """The address without passwords, or the program of the command, for messages. Further words may be secrets."""
        if self.kind == "address":
            return without_credentials(self.target)
        return hide_words(self.target) if self.kind == "command" else f"{type(self.target).__name__} in this process"

    @property
    def identity(self) -> str:
        """What tells this server from others, for the pins of its tools: its origin, and a digest of where it is."""
        where = shlex.join(self.target) if self.kind == "command" else self.where
        return f"{self.origin} {digest_parts(where)}"

    def __repr__(self) -> str:
        shown = [item.name for item in fields(self) if item.repr and item.name != "target"]
        return f"RemoteServer({self.where!r}, {', '.join(f'{name}={getattr(self, name)!r}' for name in shown)})"


def read_servers(mapping: Mapping[str, Any] | None, named: Mapping[str, Any]) -> list[RemoteServer]:
    """Return the servers that a program gives; raise `DefinitionError` with the mistake of each that cannot be used."""
    if not (mapping is None or isinstance(mapping, Mapping)):
        raise DefinitionError(
            f"Servers: give servers by name, as in `Servers(catalog, github=[...])`, got {type(mapping).__name__}"
        )
    given = {**(mapping or {}), **named}
    servers, mistakes = [], [f"{name}: is given twice" for name in named if mapping and name in mapping]
    for name, value in given.items():
        try:
            servers.append(read_server(name, value))
        except DefinitionError as error:
            mistakes.append(str(error))
    if mistakes:
        raise DefinitionError("Servers: " + "; ".join(mistakes))
    return servers


def read_server(name: str, value: Any) -> RemoteServer:
    """Return the server that *value* stands for; raise `DefinitionError` with the mistake and the remedy."""
    if problem := explain_server_name(name):
        raise DefinitionError(problem)
    if isinstance(value, McpServer):
        value = _from_settings(value)
    server = value if isinstance(value, RemoteServer) else RemoteServer(value)
    if isinstance(server.target, (list, tuple)):
        server = replace(server, target=tuple(server.target))
    mistakes = [mistake for check in _CHECKS if (mistake := check(server))]
    if mistakes:
        raise DefinitionError(f"{name}: {'; '.join(mistakes)}")
    named = replace(server)
    object.__setattr__(named, "name", name)
    return named


def _from_settings(entry: McpServer) -> RemoteServer:
    target = entry.url or [str(entry.command), *entry.args]
    server = RemoteServer(target, env=entry.env, cwd=entry.cwd, headers=entry.headers, trusted=entry.trusted)
    server = server if entry.transport is None else replace(server, transport=entry.transport)
    return server if entry.timeout_seconds is None else replace(server, timeout_seconds=entry.timeout_seconds)


def _check_target(server: RemoteServer) -> str | None:
    target = server.target
    if isinstance(target, tuple):
        is_command = bool(target) and all(isinstance(word, str) and "\0" not in word for word in target)
        return None if is_command and target[0] else f"a command is a list of words that is not empty: {_EXAMPLES}"
    if isinstance(target, str):
        try:
            is_address = urlsplit(target).scheme in ("http", "https") and bool(urlsplit(target).hostname)
        except ValueError:
            is_address = False
        return None if is_address else f"{without_credentials(target)!r:.80} is no address; write {_EXAMPLES}"
    is_object = hasattr(target, "run") or hasattr(target, "_lowlevel_server")
    return None if is_object else f"a {type(target).__name__} is no server; write {_EXAMPLES}"


def _check_reach(server: RemoteServer) -> str | None:
    for names, kind in ((("env", "cwd"), "command"), (("headers", "auth", "logins", "http_transport"), "address")):
        for name in names:
            if getattr(server, name) and server.kind != kind:
                return f"`{name}` belongs to a server that is reached by its {kind}; leave it out"
    return None


def _check_texts(server: RemoteServer) -> str | None:
    for name, texts in (("env", server.env), ("headers", server.headers)):
        is_table = isinstance(texts, Mapping) and all(isinstance(text, str) for pair in texts.items() for text in pair)
        if not is_table:
            return f'`{name}` has to be a dictionary of texts: {{"NAME": "value"}}'
    for name, value in server.headers.items():
        if not re.fullmatch(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+", name) or not re.fullmatch(
            r"[!-~]([ \t!-~]*[!-~])?|", value
        ):
            # The value is not repeated, because it may be a token.
            return f"`headers`: {name!r:.60} has characters that HTTP does not allow; look for a line break or a blank"
    return None


def _check_auth(server: RemoteServer) -> str | None:
    from httpx2 import Auth  # it takes long to load

    auth = server.auth
    is_pair = isinstance(auth, tuple) and len(auth) == 2 and all(isinstance(text, str) for text in auth)
    if auth is None or is_pair or isinstance(auth, Auth):
        return None
    # The value is not repeated, because it may be a token.
    return (
        f"`auth` has to be a user name with a password, `(user, password)`, or an `httpx2.Auth`, got "
        f'{type(auth).__name__}; a token is a header: `headers={{"Authorization": "Bearer ..."}}`'
    )


def _check_seconds(server: RemoteServer) -> str | None:
    seconds = server.timeout_seconds
    is_number = isinstance(seconds, (int, float)) and not isinstance(seconds, bool) and 0 < seconds < math.inf
    return None if is_number else f"`timeout_seconds` has to be a number of seconds above 0, got {seconds!r:.60}"


def _check_revision(server: RemoteServer) -> str | None:
    from mcp_types.version import MODERN_PROTOCOL_VERSIONS

    choices = ("auto", "legacy", *MODERN_PROTOCOL_VERSIONS)
    return None if server.revision in choices else f"`revision` has to be one of {', '.join(choices)}"


def _check_facts(server: RemoteServer) -> str | None:
    if server.transport not in ("http", "sse") or (server.transport == "sse" and server.kind != "address"):
        return '`transport` has to be "http", or "sse" for a server at an address'
    for name, kinds, expected in _TYPES:
        if not isinstance(getattr(server, name), kinds):
            return f"`{name}` has to be {expected}"
    if server.cost is not None and not fits_fact("cost", server.cost):
        return "`cost` has to be a number of US dollars, 0 or more, or a function of the arguments"
    return None


_TYPES: tuple[tuple[str, tuple[type, ...], str], ...] = (
    ("trusted", (bool,), "True or False"),
    ("defer", (bool, type(None)), "True, False or None"),
    ("limits", (ServerLimits,), "`ServerLimits(...)`"),
    ("cwd", (str, type(None)), "a path as text"),
    ("tool_prefix", (str, type(None)), "a text such as `github_`, or an empty one"),
)

_CHECKS: Sequence[Callable[[RemoteServer], str | None]] = (
    _check_target,
    _check_reach,
    _check_texts,
    _check_auth,
    _check_seconds,
    _check_revision,
    _check_facts,
)
