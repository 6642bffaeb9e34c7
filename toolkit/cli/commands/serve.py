"""`toolkit serve`: serve the tools of a target over the Model Context Protocol."""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO, cast

import click

from ..call_policy import CallOptions, call_options
from ..command import FILE, subcommand, target_argument
from ..failures import Failure
from ..output import Output, claimed_stdout
from ..reloading import ReloadableTarget

if TYPE_CHECKING:
    from ...dispatcher import Dispatcher
    from ...mcp.serving.auth import Auth
    from ...mcp.serving.tool_server import ToolServer

__all__ = ["command", "listen", "parse_address", "read_tokens"]

_KEY_VARIABLE = "TOOLKIT_MCP_KEY"
_TOKEN_VARIABLE = "TOOLKIT_MCP_TOKEN"  # noqa: S105 -- the name of a variable
_DEFAULT_HOST = "127.0.0.1"


def _enter_folder(context: click.Context, _: click.Parameter, folder: str | None) -> None:
    if folder is not None:
        context.with_resource(contextlib.chdir(folder))


@subcommand("serve", piped="text", claims_stdout=False)  # over stdio, its messages are on the descriptor itself
@target_argument
@click.option("--http", "address", metavar="HOST:PORT", help="Serve over HTTP at this address, not over stdio.")
@click.option(
    "--token-file",
    type=FILE,
    help=f"Bearer tokens, one on each line: TOKEN, or USER TOKEN. {_TOKEN_VARIABLE} holds one too.",
)
@click.option("--auth-issuer", metavar="URL", help="Accept tokens that this OAuth authorization server signs.")
@click.option("--auth-audience", metavar="URL", help="The address of this server, for which such tokens have to be.")
@click.option("--stateless", is_flag=True, help="Give clients no session, so that any process answers any request.")
@click.option(
    "--drain",
    "drain_seconds",
    type=click.IntRange(min=0),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="How long calls that are under way may go on after SIGTERM.",
)
@click.option("--origin", "origins", multiple=True, metavar="URL", help="A web site whose pages may use the server.")
@click.option(
    "--key-file", type=FILE, help=f"The key that all processes of one server share. {_KEY_VARIABLE} holds it too."
)
@click.option("--approvals", "store_path", type=FILE, help="Keep requests for approval in this SQLite file.")
@click.option("--user", metavar="NAME", help="For whom calls are made that come without a token.")
@click.option("--name", help="The name of the server; that of TARGET unless given.")
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False),
    is_eager=True,
    expose_value=False,
    callback=_enter_folder,
    help="Work in this folder: TARGET, the settings and the files of all options are looked for there.",
)
@click.option("--search/--list-all", "searches", default=False, help="Whether deferred tools are left to tool_search.")
@click.option("--send-logs", "sends_logs", is_flag=True, help="Send what tools log to clients that ask for it.")
@click.option("--reload", "reloads", is_flag=True, help="Load TARGET again when its files change, and tell clients.")
@call_options()
def command(
    output: Output,
    target: str,
    address: str | None,
    token_file: str | None,
    auth_issuer: str | None,
    auth_audience: str | None,
    stateless: bool,
    drain_seconds: int,
    origins: tuple[str, ...],
    key_file: str | None,
    store_path: str | None,
    user: str | None,
    name: str | None,
    searches: bool,
    sends_logs: bool,
    reloads: bool,
    options: CallOptions,
) -> None:
    """Serve the tools of TARGET as an MCP server.

    Without --http, the server talks over standard input and output, as the process of a client. All notes and logs go
    to standard error. Loading TARGET runs its code.

    The rules are those of your settings, and the mode is `default`: a call that changes something asks the user of the
    client. A client that cannot ask gets a refusal. Skills are prompts.

    With --http on any address but loopback, clients need a token: one that you give them (--token-file), or one of your
    authorization server (--auth-issuer). Without tokens, every program on this machine may call the tools, and approve
    its own calls.

    \b
    Examples:
      toolkit serve tools.py
      toolkit serve shop.tools:catalog --http 127.0.0.1:8000
      toolkit serve builtin --rule 'allow write(path=out/**)'
    """
    server_options: dict[str, Any] = {
        "name": name or target,
        "key": _read_secret(key_file, _KEY_VARIABLE, "--key-file"),
        "principal": user,
        "lists_deferred": not searches,
        "sends_logs": sends_logs,
    }
    with contextlib.closing(ReloadableTarget(target, options, output, store_path)) as source:
        with claimed_stdout(cast("TextIO", output.console.file)):
            source.load()
        server_options["servers"] = source.servers
        try:
            if address is None:
                server, run = _serve_stdio(source.dispatcher, server_options, auth_issuer or auth_audience, stateless)
            else:
                auth = _find_auth(token_file, auth_issuer, auth_audience)
                server_options |= {"auth": auth, "origins": origins, "stateless": stateless}
                server, run = _serve_http(source.dispatcher, address, server_options, output, drain_seconds)
        except ValueError as error:
            remedy = f"give --token-file, {_TOKEN_VARIABLE} or --auth-issuer"
            raise Failure(str(error).replace("give auth=...", remedy)) from error
        asyncio.run(source.run_and_reload(server, run) if reloads else run)


def _serve_stdio(
    dispatcher: Dispatcher, options: dict[str, Any], asks_for_tokens: str | None, stateless: bool
) -> tuple[ToolServer, Coroutine[Any, Any, None]]:
    """Return the server for the process that started this one, and what serves."""
    if asks_for_tokens is not None:
        raise Failure("--auth-issuer: clients of standard input and output send no tokens; give --http")
    if stateless:
        raise Failure("--stateless: standard input and output are one connection; give --http")
    from ...mcp.serving.stdio import serve_stdio
    from ...mcp.serving.tool_server import build_server

    server = build_server(dispatcher, **options)
    return server, serve_stdio(server)


def _find_auth(token_file: str | None, issuer: str | None, audience: str | None) -> Auth | None:
    """Return the check of tokens that the options ask for; None if there is none."""
    from ...mcp.serving.auth import Auth

    tokens = read_tokens(_read_secret(token_file, _TOKEN_VARIABLE, "--token-file"))
    if issuer is None and audience is None:
        return None if tokens is None else Auth.token(tokens)
    if issuer is None or audience is None or tokens is not None:
        raise Failure("--auth-issuer and --auth-audience belong together, and tokens of your own do not go with them")
    if not audience.startswith(("https://", "http://")):
        raise Failure("--auth-audience: give an address; for another audience, use Auth.jwt(resource=...) in Python")
    return Auth.jwt(issuer=issuer, audience=audience)


def _serve_http(
    dispatcher: Dispatcher, address: str, options: dict[str, Any], output: Output, drain_seconds: int
) -> tuple[ToolServer, Coroutine[Any, Any, None]]:
    """Return the server, and what serves over HTTP. The port is open already, so mistakes are found before."""
    from sse_starlette.sse import AppStatus

    from ...mcp.serving.http_app import http_app
    from ...web_server.running import run_app

    host, port = parse_address(address)
    app = http_app(dispatcher, host=host, **options)
    listener, url = listen(host, port, f"--http: cannot listen on {address}")
    output.note(f"serving {options['name']} at {url}/mcp")
    # The SDK's responses would end at once when the server is told to stop, and those of calls under way with them.
    AppStatus.enable_automatic_graceful_drain = False
    return app.server, run_app(app, listener, drain_seconds=drain_seconds, on_stop=app.drain)


def listen(host: str, port: int, problem: str) -> tuple[socket.socket, str]:
    """Return a socket that listens, and its address for a browser; raise `Failure`, which begins with *problem*."""
    from ...web_server.running import open_listener

    try:
        listener = open_listener(host, port)
    except OSError as error:
        raise Failure(f"{problem}: {error.strerror or error}; choose another port") from error
    return listener, f"http://{f'[{host}]' if ':' in host else host}:{listener.getsockname()[1]}"


def parse_address(text: str) -> tuple[str, int]:
    """Return the host and the port of *text*: `HOST:PORT`, `:PORT` or `PORT`. The host is loopback unless given."""
    host, _, port = text.rpartition(":")
    if not port.isdigit() or int(port) > 65535:
        raise Failure(f"--http: {text!r} is no address; write 127.0.0.1:8000, or a port")
    return host.strip("[]") or _DEFAULT_HOST, int(port)


def read_tokens(text: str | None) -> dict[str, str] | None:
    """Return the users by their tokens. A line has a token, or a name and a token; the default name is "user"."""
    if text is None:
        return None
    lines = [line.split() for line in text.splitlines() if line.strip()]
    if not lines or any(len(words) > 2 for words in lines):
        raise Failure("--token-file: each line has a token, or the name of a user and a token")
    return {words[-1]: words[0] if len(words) == 2 else "user" for words in lines}


def _read_secret(path: str | None, variable: str, option: str) -> str | None:
    """Return the text of the file at *path*, or that of the environment *variable*; None if neither is there."""
    if path is None:
        return os.environ.get(variable) or None
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"{option}: {path} cannot be read: {error}") from error
