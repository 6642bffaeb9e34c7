"""
`toolkit mcp`: what a user decides about MCP servers.
"""

from __future__ import annotations

import asyncio
import re
import webbrowser
from collections.abc import Callable
from pathlib import Path

import click
from rich.text import Text

from ..._plumbing.wording import format_count
from ...mcp.importing.remote_server import RemoteServer, read_server
from ...mcp.importing.server_file import ServerFile, check_trusted, read_server_file, read_settings_servers
from ...mcp.sdk import check_sdk_installed
from ...settings.trust import Trust
from ..client_files import CLIENTS, ClientFile, build_entry, find_client_path
from ..command import FILE, SECONDS, subcommand, target_argument
from ..failures import Failure
from ..openapi_targets import find_base_url
from ..output import Body, Output, to_safe_text
from ..server_targets import is_address
from ..settings_options import load_command_settings, set_option
from ..targets import open_target
from .trust import ask_for_trust

__all__ = ["command"]


@click.group("mcp")
def command() -> None:
    """Install tools in MCP clients, trust and log in at servers.

    \b
    Examples:
      toolkit mcp install tools.py --client cursor
      toolkit mcp trust .mcp.json
      toolkit mcp login https://docs.example/mcp
    """


@subcommand("trust", group=command)
@click.argument("path", type=FILE)
@click.option("--yes", is_flag=True, help="Trust it without a question.")
@click.option("--revoke", is_flag=True, help="Trust it no longer.")
def trust_command(output: Output, path: str, yes: bool, revoke: bool) -> int:
    """Show the servers that a file such as .mcp.json names, and record that you trust it.

    Its servers are started only after that, and only while the file stays the same. You see
    the exact commands first. The exit code is 0 if the file is trusted, 5 if you said no, 7
    if there was no terminal to ask you on.

    \b
    Examples:
      toolkit mcp trust .mcp.json
      toolkit mcp trust .mcp.json --revoke
    """
    check_sdk_installed()
    if yes and revoke:
        raise click.UsageError("--yes and --revoke contradict each other; give one")
    trust = Trust()
    if trust.problem is not None:
        raise Failure(trust.problem)
    if revoke:
        was_trusted = trust.revoke(path)
        output.note(f"{path} {'is not trusted any more' if was_trusted else 'was not trusted'}")
        return 0
    file = read_server_file(path)
    if not output.is_json:
        output.show(*_describe(file))
    code = _record(file, trust, output, is_agreed=yes)
    if output.is_json:
        output.json(
            {"path": str(file.path), "servers": file.describe(), "problems": [*file.problems], "recorded": code == 0}
        )
    return code


def _record(file: ServerFile, trust: Trust, output: Output, *, is_agreed: bool) -> int:
    """Record the trust if the user agrees, and return the exit code."""
    if trust.covers_content(file.path, file.content):
        output.note("you trust it already, and nothing has changed since")
        return 0
    code = 0 if is_agreed else ask_for_trust("Trust these servers?", lambda: _describe(file), output)
    if code == 0:
        trust.trust_content(file.path, file.content)
        output.note(f"recorded in {trust.path}; toolkit mcp trust {file.path} --revoke takes it back")
    return code


def _describe(file: ServerFile) -> list[Text]:
    lines = [to_safe_text(str(file.path), "bold"), *(to_safe_text(f"  {line}") for line in file.describe())]
    return [*lines, *(Text.assemble(("  mistake: ", "red"), to_safe_text(problem)) for problem in file.problems)]


_config_option = click.option(
    "--config", type=FILE, metavar="FILE", help="The file that names the server, such as .mcp.json."
)


@subcommand("login", group=command)
@click.argument("name", metavar="NAME")
@_config_option
@click.option("--no-browser", is_flag=True, help="Only print the address that you have to open.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, help="The port to come back to; a free one by default."
)
@click.option("--client-id", metavar="ID", help="The id of a client that you have registered at the server.")
@click.option(
    "--timeout", type=SECONDS, metavar="SECONDS", default=300.0, show_default=True, help="How long to wait for you."
)
@set_option
def login_command(
    output: Output,
    name: str,
    config: str | None,
    no_browser: bool,
    port: int,
    client_id: str | None,
    timeout: float,
    assignments: tuple[str, ...],
) -> None:
    """Log in at the MCP server NAME, in the browser.

    NAME is a server of your settings, of the file in --config, or an address. The tokens
    are kept in a file that only you can read, and are renewed without you. Programs that
    wait for the login go on.

    \b
    Examples:
      toolkit mcp login docs
      toolkit mcp login https://docs.example/mcp --no-browser
    """
    check_sdk_installed()
    from ...mcp.importing.login import log_in
    from ...mcp.importing.logins import Logins

    server, logins = _find_server(name, config, assignments), Logins()

    def show(url: str) -> None:
        output.note(f"open this address to log in: {url}")
        if not no_browser:
            webbrowser.open(url)

    asyncio.run(log_in(server, logins, show=show, port=port, client_id=client_id, seconds=timeout))
    if output.is_json:
        output.json({"server": server.where, "kept_in": str(logins.path)})
    else:
        output.note(f"you are logged in at {server.where}; the tokens are in {logins.path}")


@subcommand("logout", group=command)
@click.argument("name", metavar="NAME")
@_config_option
@set_option
def logout_command(output: Output, name: str, config: str | None, assignments: tuple[str, ...]) -> None:
    """Forget the login at the MCP server NAME.

    The tokens are removed from your file of logins. The server is not told.

    \b
    Examples:
      toolkit mcp logout https://docs.example/mcp
    """
    check_sdk_installed()
    from ...mcp.importing.logins import Logins

    server = _find_server(name, config, assignments)
    was_known = Logins().forget(server.target)
    if output.is_json:
        output.json({"server": server.where, "forgotten": was_known})
    output.note(f"the login at {server.where} is forgotten" if was_known else f"there is no login at {server.where}")


def _find_server(name: str, config: str | None, assignments: tuple[str, ...]) -> RemoteServer:
    """Return the server that the user names, which has to have an address."""
    if is_address(name):
        return read_server("server", name)
    if config is not None:
        file = read_server_file(config)
        check_trusted(file, Trust())
        servers = dict(file.servers)
    else:
        settings = load_command_settings(assignments)
        _, problems = read_settings_servers(settings, names=[name])
        if problems:
            raise Failure("; ".join(problems))
        servers, _ = read_settings_servers(settings, names=settings["mcp_servers"])
    if name not in servers:
        known = f"; there are: {', '.join(servers)}" if servers else ""
        raise Failure(f"no server is named `{name}`{known}; write its address, or --config FILE")
    if servers[name].kind != "address":
        raise Failure(f"the server `{name}` is a command, and needs no login here")
    return servers[name]


def _client_options(body: Body) -> Body:
    """Declare the options that name a client and its file."""
    clients = click.Choice(list(CLIENTS))
    body = click.option("--yes", is_flag=True, help="Write it without a question.")(body)
    body = click.option("--config", type=FILE, metavar="FILE", help="The file of the client, if it is elsewhere.")(body)
    return click.option("--client", required=True, type=clients, help="The program that uses the server.")(body)


@subcommand("install", group=command)
@target_argument
@click.argument("serve_options", nargs=-1, metavar="[-- OPTION...]")
@_client_options
@click.option("--name", help="The name of the server in the client; made from TARGET unless given.")
@click.option("--print", "prints", is_flag=True, help="Only print what would be added.")
def install_command(
    output: Output,
    target: str,
    serve_options: tuple[str, ...],
    client: str,
    config: str | None,
    yes: bool,
    name: str | None,
    prints: bool,
) -> int:
    """Add `toolkit serve TARGET` to the servers of an MCP client.

    You see the change of the client's file first. The rest of the file stays as it is. The
    client starts the server in the current folder, with this Python. Words after -- are
    options of `toolkit serve`. TARGET is loaded once, to find mistakes now.

    The exit code is 0 if it is written, 5 if you said no, 7 if there was no terminal to ask
    you on.

    \b
    Examples:
      toolkit mcp install tools.py --client claude-desktop
      toolkit mcp install .mcp.json --client cursor --name work -- --rule 'deny *_delete*'
      toolkit mcp install builtin --client vscode --config .vscode/mcp.json
      toolkit mcp install tools.py --client gemini --print
    """
    check_sdk_installed()
    with open_target(target, settings=load_command_settings()) as loaded_target:
        output.note(f"{target} has {format_count(len(loaded_target.catalog), 'tool')}", "dim")
    base_url = find_base_url()
    words = (*(() if base_url is None else ("--base-url", base_url)), *serve_options)
    entry = build_entry(CLIENTS[client], target, Path.cwd(), words)
    known_name = name or "-".join(re.findall(r"[A-Za-z0-9_]+", re.sub(r"\.\w+$", "", target)))[:40] or "toolkit"
    if prints:
        output.json({CLIENTS[client].key: {known_name: entry}})
        return 0
    undo = f"toolkit mcp uninstall {known_name} --client {client}" + ("" if config is None else f" --config {config}")
    note = f"restart {client} to use it; {undo} takes it back"
    return _change_client(output, client, config, known_name, lambda file: file.add(known_name, entry), note, yes)


@subcommand("uninstall", group=command)
@click.argument("name")
@_client_options
def uninstall_command(output: Output, name: str, client: str, config: str | None, yes: bool) -> int:
    """Remove the server NAME, which `toolkit mcp install` has added, from an MCP client.

    \b
    Examples:
      toolkit mcp uninstall tools --client claude-desktop
    """
    return _change_client(output, client, config, name, lambda file: file.remove(name), f"restart {client}", yes)


def _change_client(
    output: Output,
    client: str,
    config: str | None,
    name: str,
    change: Callable[[ClientFile], None],
    note: str,
    is_agreed: bool,
) -> int:
    """Show the *change* of a client's file, ask the user, write it, and return the exit code."""
    file = ClientFile(config or find_client_path(CLIENTS[client]), CLIENTS[client].key)
    change(file)
    lines = file.list_changes()

    def describe() -> list[Text]:
        return [to_safe_text(line, {"+": "green", "-": "red"}.get(line[:1], "")) for line in lines]

    if lines and not output.is_json:
        output.show(*describe())
    refusal = "not written; agree by answering yes in a terminal, or with --yes"
    code = 0 if is_agreed or not lines else ask_for_trust("Write this?", describe, output, refusal)
    if code == 0 and lines:
        file.write()
    if output.is_json:
        output.json({"path": str(file.path), "name": name, "diff": lines, "written": code == 0 and bool(lines)})
    if code == 0:
        output.note(f"{file.path} is written; {note}" if lines else f"{file.path} has it already")
    return code
