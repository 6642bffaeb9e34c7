"""
Targets that are MCP servers: an address, a command, a file that names servers, or a server of the settings.

    https://docs.example/mcp      the tools of the server at an address
    --command "npx -y server"     the tools of a server that this command starts
    .mcp.json                     the tools of the servers that a trusted file names, prefixed by server
    mcp:github                    the tools of a server that the settings name, prefixed by server

Such a target is opened for the length of one command. `agent` and `chat` open the servers of the settings beside any
target.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shlex
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from ..errors import CatalogError, DefinitionError
from ..settings.trust import configuration_folder
from ..values.visible import make_visible

if TYPE_CHECKING:  # it loads the agent, which most commands do not need
    from ..mcp import Servers
    from ..settings import MergedSettings

__all__ = [
    "COMMAND_PREFIX",
    "SETTINGS_PREFIX",
    "TargetCommand",
    "command_option",
    "is_address",
    "is_server",
    "name_server",
    "open_server",
]

COMMAND_PREFIX = "command:"
"""What a target begins with that `--command` stands for."""

SETTINGS_PREFIX = "mcp:"
"""What a target begins with that is a server of the settings."""

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_OPTION = "--command"
_DIGEST_CHARS = 6
_MAX_NAME_CHARS = 24

command_option = click.option(
    _OPTION,
    "server_command",
    metavar="COMMAND",
    expose_value=False,
    help="Start this MCP server and use its tools; takes the place of TARGET.",
)


class TargetCommand(click.Command):
    """A command whose TARGET may be given as `--command "..."`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put the value of `--command` in the place of the first argument, which is TARGET."""
        return super().parse_args(ctx, _place_command(args))


def _place_command(args: list[str]) -> list[str]:
    options = args[: args.index("--")] if "--" in args else args
    for number, word in enumerate(options):
        if word == _OPTION and number + 1 < len(args):
            return [COMMAND_PREFIX + args[number + 1], *args[:number], *args[number + 2 :]]
        if word.startswith(f"{_OPTION}="):
            return [COMMAND_PREFIX + word.partition("=")[2], *args[:number], *args[number + 1 :]]
    return args


def is_address(target: str) -> bool:
    """Return whether *target* is an address such as `https://docs.example/mcp`."""
    return _ADDRESS.match(target) is not None


def is_server(target: str) -> bool:
    return is_address(target) or target.startswith((COMMAND_PREFIX, SETTINGS_PREFIX)) or target.endswith(".json")


@contextlib.contextmanager
def open_server(target: str, settings: MergedSettings | None = None) -> Iterator[Servers]:
    """
    Yield the tools of the servers that *target* names, which can be called until the end of the block.

    The *settings* may name the server; they are those of the current folder unless given.
    """
    try:
        servers = _build_servers(target, settings)
    except DefinitionError as error:
        raise CatalogError(f"{_describe(target)}: {error}") from None
    with servers as tools:
        problems = [make_visible(problem, keep_lines=False) for problem in tools.problems]
        if not len(tools) and problems:
            raise CatalogError(f"{_describe(target)}: {'; '.join(problems)}")
        for problem in problems:
            click.echo(f"note: {problem}", file=sys.stderr)
        yield tools


def _build_servers(target: str, settings: MergedSettings | None) -> Servers:
    from ..mcp import Pins, RemoteServer, Servers
    from ..mcp.importing.server_file import PINS_FILE

    pins = Pins(configuration_folder() / PINS_FILE)
    if target.startswith(SETTINGS_PREFIX):
        from .settings_options import load_command_settings  # here, because it loads the agent

        known_settings = load_command_settings() if settings is None else settings
        name = _find_name(target, known_settings)
        return Servers.from_settings(known_settings, names=[name], pins=pins)
    if target.endswith(".json") and not is_address(target):
        return Servers.from_config(target, pins=pins)
    if target.startswith(COMMAND_PREFIX):
        try:
            words: Any = shlex.split(target.removeprefix(COMMAND_PREFIX))
        except ValueError as error:
            raise CatalogError(f"{_describe(target)} cannot be split into words: {error}") from None
        return Servers(None, {name_server(shlex.join(words)): RemoteServer(words, tool_prefix="")}, pins=pins)
    return Servers(None, {name_server(target): RemoteServer(target, tool_prefix="")}, pins=pins)


def _find_name(target: str, settings: MergedSettings) -> str:
    """Return the name of the server of the settings that *target* stands for; raise `CatalogError` if there is none."""
    name = target.removeprefix(SETTINGS_PREFIX)
    names = [part.name for part in settings.parts_of("mcp_servers")]
    if name in names:
        return name
    for part in settings.parts:
        if part.key == "mcp_servers" and part.name == name:
            raise CatalogError(f"{target}: {part.as_ignored()}")
    known = f"they name {', '.join(names)}" if names else f"write [mcp_servers.{name:.40}] in toolkit.toml"
    raise CatalogError(f"{target}: your settings name no server `{name:.40}`; {known}")


def name_server(text: str) -> str:
    """
    Return a name for the server with this command or address, for its rules: `allow mcp:docs-example-mcp-3f2a1c/*`.

    It ends with a digest of the whole text, so that a rule for one server never holds for another.
    """
    address = urlsplit(text) if is_address(text) else None
    readable = text if address is None else f"{address.hostname or ''} {address.path}"
    words = [word for word in re.findall(r"[A-Za-z0-9]+", readable) if word[0].isalpha()]
    digest = hashlib.sha256(text.encode()).hexdigest()[:_DIGEST_CHARS]
    return f"{'-'.join(words)[:_MAX_NAME_CHARS].strip('-') or 'server'}-{digest}"


def _describe(target: str) -> str:
    return f"{_OPTION} {target.removeprefix(COMMAND_PREFIX)!r}" if target.startswith(COMMAND_PREFIX) else target
