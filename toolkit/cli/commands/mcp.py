"""
`toolkit mcp`: what a user decides about MCP servers.
"""

from __future__ import annotations

import asyncio
import webbrowser

import click
from rich.text import Text

from ...mcp.importing.remote_server import RemoteServer, read_server
from ...mcp.importing.server_file import ServerFile, check_trusted, read_server_file, read_settings_servers
from ...mcp.sdk import check_sdk_installed
from ...settings.trust import Trust
from ..command import SECONDS, subcommand
from ..failures import Failure
from ..output import Output, to_safe_text
from ..server_targets import is_address
from ..settings_options import load_command_settings, set_option
from .trust import ask_for_trust

__all__ = ["command"]


@click.group("mcp")
def command() -> None:
    """Trust files of MCP servers, and log in at servers.

    \b
    Examples:
      toolkit mcp trust .mcp.json
      toolkit mcp login https://docs.example/mcp
    """


@subcommand("trust", group=command)
@click.argument("path", type=click.Path(dir_okay=False))
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
    "--config",
    type=click.Path(dir_okay=False),
    metavar="FILE",
    help="The file that names the server, such as .mcp.json.",
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
