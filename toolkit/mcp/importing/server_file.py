"""
The servers that a file or the settings of a user name, as servers that can be used.

A file has the form that many programs share:

    {"mcpServers": {
        "github": {"command": "npx", "args": ["-y", "github-mcp"], "env": {"GITHUB_TOKEN": "${GITHUB_TOKEN}"}},
        "docs": {"url": "https://docs.example/mcp", "headers": {"Authorization": "Bearer ${DOCS_TOKEN:-none}"}}}}

The settings have a table `[mcp_servers.NAME]` for each server. A project's servers are among the settings only if the
user trusts the project.

In both, `${NAME}` stands for a variable of the environment, and `${NAME:-text}` for *text* if there is none. A server
whose entry has a mistake is left out, and the mistake is a problem; the others are used.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..._plumbing.regular_files import explain_file_error, read_regular_file
from ...errors import DefinitionError, ToolkitError
from ...settings.mcp_servers import McpServer, find_server_mistakes, without_credentials
from ...settings.records import MergedSettings
from ...settings.trust import Trust, configuration_folder
from ...values.strictjson.checks import loads
from ...values.visible import make_visible
from .remote_server import RemoteServer, read_server

__all__ = ["PINS_FILE", "ServerFile", "ServerFileError", "check_trusted", "read_server_file", "read_settings_servers"]

PINS_FILE = "mcp-pins.json"
"""The file in the user's configuration that keeps the definitions of the tools that were used."""

_MAX_BYTES = 256 * 1024
_MAX_SERVERS = 200
_MAX_PROBLEMS = 20
_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)(?::-([^}]*))?\}")
_SECRET_NAME = re.compile(r"token|secret|passw|api_?key|credential", re.IGNORECASE)
_KEYS = ("command", "args", "env", "cwd", "url", "headers")
_COMMAND_TYPES = ("stdio",)
_ADDRESS_TYPES = ("http", "streamable-http", "streamableHttp", "streamable_http", "sse")
_SWITCHES = {"disabled": False, "enabled": True}


class ServerFileError(ToolkitError):
    """A file of servers that cannot be read, or that the user has not trusted."""


@dataclass(frozen=True, slots=True)
class ServerFile:
    """
    A file that names servers.

    Attributes:
        path: Where the file really is, also if links lead there.
        content: What is in it, as trust covers it.
        entries: What is said about each server, by name, as it is written in the file.
        servers: The servers that can be used, by name.
        problems: The mistakes in the file, each with the name of its server.
    """

    path: Path
    content: bytes
    entries: Mapping[str, Mapping[str, Any]]
    servers: Mapping[str, RemoteServer]
    problems: tuple[str, ...]

    def describe(self) -> list[str]:
        """Return a line for each server, with its exact command, for a person who is asked to trust the file."""
        return [
            make_visible(f"{name}: {_describe_entry(entry, self.servers.get(name))}", keep_lines=False)
            for name, entry in self.entries.items()
        ]


def read_server_file(path: str | os.PathLike[str], environ: Mapping[str, str] | None = None) -> ServerFile:
    """Return the servers that the file at *path* names, and start none; raise `ServerFileError` if it is unreadable."""
    # The links are followed once. If they change later, the file that was read is still the one that trust is about.
    where = Path(os.path.realpath(Path(path).expanduser()))
    try:
        file = read_regular_file(where, _MAX_BYTES, follow_links=False)
    except (OSError, ValueError) as error:
        raise ServerFileError(f"{where} cannot be read: {explain_file_error(error)}") from None
    if file is None:
        raise ServerFileError(f"{where} cannot be read: there is no such file")
    content = file.content
    entries = _parse(content, where)
    servers: dict[str, RemoteServer] = {}
    problems: list[str] = []
    for name, entry in entries.items():
        try:
            server = _read_entry(name, entry, os.environ if environ is None else environ, where.parent)
        except DefinitionError as error:
            problems.append(make_visible(f"{where.name}: {error}", keep_lines=False))
            continue
        unused = [key for key in entry if key not in (*_KEYS, *_SWITCHES, "type", "transport")]
        problems += [f"{where.name}: {name}: `{key:.80}` is not used here" for key in unused]
        if server is not None:
            servers[name] = server
    if len(problems) > _MAX_PROBLEMS:
        problems[_MAX_PROBLEMS:] = [f"{where.name}: there are {len(problems) - _MAX_PROBLEMS:,} more mistakes"]
    return ServerFile(where, content, entries, servers, tuple(problems))


def check_trusted(file: ServerFile, trust: Trust, confirm: Callable[[str], bool] | None = None) -> None:
    """
    Raise `ServerFileError` unless *file* is the user's own, or the user has trusted it with its present content.

    A file in the user's configuration folder is the user's own. For any other, *confirm* is called with a text that
    shows the exact commands. If it returns true, the trust is recorded.
    """
    own = os.path.realpath(configuration_folder())
    if file.path.is_relative_to(own) or trust.covers_content(file.path, file.content):
        return
    if trust.problem is not None:
        raise ServerFileError(trust.problem)
    lines = "\n".join(f"  {line}" for line in file.describe())
    if confirm is not None and confirm(f"{file.path} starts these servers:\n{lines}"):
        trust.trust_content(file.path, file.content)
        return
    raise ServerFileError(
        f"{file.path} is not trusted, so its servers are not started:\n{lines}\n"
        f"look at them, then run `toolkit mcp trust {shlex.quote(str(file.path))}`; in Python, `confirm=` can ask"
    )


def _parse(content: bytes, where: Path) -> dict[str, dict[str, Any]]:
    try:
        data = loads(content)
    except ValueError as error:
        raise ServerFileError(f"{where} cannot be read: {error}") from None
    servers = data.get("mcpServers") if isinstance(data, dict) else None
    if not isinstance(servers, dict) or not all(isinstance(entry, dict) for entry in servers.values()):
        raise ServerFileError(f'{where} names no servers; write {{"mcpServers": {{"NAME": {{"command": ...}}}}}}')
    if len(servers) > _MAX_SERVERS:
        raise ServerFileError(f"{where} names {len(servers):,} servers, and {_MAX_SERVERS} are allowed; remove some")
    return servers


def _read_entry(name: str, entry: Mapping[str, Any], environ: Mapping[str, str], folder: Path) -> RemoteServer | None:
    """Return the server of *entry*, or None if it is switched off; raise `DefinitionError` for a mistake."""
    for switch, value in _SWITCHES.items():
        if not isinstance(entry.get(switch, value), bool):
            raise DefinitionError(f"{name}: {switch}: has to be true or false")
    if entry.get("disabled") is True or entry.get("enabled") is False:
        return None
    table = {key: entry[key] for key in _KEYS if key in entry}
    if entry.get("type", entry.get("transport")) == "sse":
        table["transport"] = "sse"
    table = _complete(name, table, environ, folder, other_mistakes=_find_type_mistakes(entry))
    return read_server(name, McpServer.of(name, table))


def _complete(
    name: str, table: Mapping[str, Any], environ: Mapping[str, str], folder: Path, other_mistakes: Iterable[str] = ()
) -> dict[str, Any]:
    """Return *table* with its variables replaced, and with the folder that a command runs in."""
    expanded = {key: _expand_variables(value, environ, f"{name}: {key}") for key, value in table.items()}
    mistakes = [*(mistake for _, mistake in find_server_mistakes(name, expanded)), *other_mistakes]
    if mistakes:
        raise DefinitionError(f"{name}: {'; '.join(mistakes)}")
    if "command" in expanded:
        expanded["cwd"] = str(folder / expanded.get("cwd", ""))
    return expanded


def _find_type_mistakes(entry: Mapping[str, Any]) -> Iterator[str]:
    kind = entry.get("type", entry.get("transport"))
    fitting = _COMMAND_TYPES if "command" in entry else _ADDRESS_TYPES
    if kind is not None and kind not in fitting:
        yield f"type: {kind!r:.40} does not fit the rest; write one of {', '.join(map(repr, fitting))}, or leave it out"


def _expand_variables(value: Any, environ: Mapping[str, str], place: str) -> Any:
    """Return *value* with its variables replaced; raise `DefinitionError` that names the *place* if one is not set."""
    if isinstance(value, (list, tuple)):
        return type(value)(_expand_variables(item, environ, place) for item in value)
    if isinstance(value, dict):
        return {key: _expand_variables(item, environ, f"{place}.{key}") for key, item in value.items()}
    if not isinstance(value, str):
        return value

    def look_up(match: re.Match[str]) -> str:
        name, default = match[1], match[2]
        text = environ.get(name, default)
        if text is None:
            raise DefinitionError(f"{place}: the variable {name} is not set; set it, or write ${{{name}:-default}}")
        return text

    end = value.rfind("}") + 1  # behind it, each `${` would be read to the end of the text
    return _VARIABLE.sub(look_up, value[:end]) + value[end:]


def read_settings_servers(
    settings: MergedSettings, *, names: Collection[str] | None = None, environ: Mapping[str, str] | None = None
) -> tuple[dict[str, RemoteServer], tuple[str, ...]]:
    """
    Return the servers that *settings* name, by name, and what is wrong with those that are left out.

    Only those in *names* are read, also if they are switched off; by default all that are switched on.
    """
    servers: dict[str, RemoteServer] = {}
    problems: list[str] = []
    for part in settings.parts_of("mcp_servers"):
        entry: McpServer = part.value
        if part.name not in names if names is not None else not entry.enabled:
            continue
        table = {key: value for key in (*_KEYS, "transport") if (value := getattr(entry, key))}
        if entry.args:
            table["args"] = list(entry.args)
        try:
            table = _complete(part.name, table, os.environ if environ is None else environ, settings.folder)
            if "command" in table:
                table["command"] = os.path.expanduser(table["command"])
            servers[part.name] = read_server(part.name, replace(entry, **table))
        except DefinitionError as error:
            problems.append(f"{error} ({part.origin})")
    return servers, tuple(problems)


def _describe_entry(entry: Mapping[str, Any], server: RemoteServer | None) -> str:
    """
    Return what an entry would do: its exact command or address, its variables, and the names of its headers.

    Variables decide what a command loads, so their values are shown, unless the name says that it is a secret.
    """
    if "command" in entry:
        words = [entry["command"], *(entry["args"] if isinstance(entry.get("args"), list) else [])]
        text = f"runs {shlex.join(map(str, words))}"
        if server is not None and server.target[0] != entry["command"]:
            text += f" (now {server.target[0]})"
    else:
        text = f"asks {without_credentials(str(entry.get('url', '')))}"
    for key, label in (("cwd", "in the folder"), ("env", "with the variables"), ("headers", "with the headers")):
        if value := entry.get(key):
            text += f", {label} {_describe_values(value, hides_all=key == 'headers')}"
    return text


def _describe_values(value: Any, *, hides_all: bool) -> str:
    """Return a text; of a table the names with their values, without those that may be secrets."""
    if not isinstance(value, dict):
        return str(value)
    return ", ".join(
        str(name) if _is_secret(str(name), item, hides_all) else f"{name}={shlex.quote(str(item))}"
        for name, item in value.items()
    )


def _is_secret(name: str, value: Any, hides_all: bool) -> bool:
    if isinstance(value, str) and _VARIABLE.fullmatch(value):
        return False  # it only says where the value comes from
    return hides_all or _SECRET_NAME.search(name) is not None
