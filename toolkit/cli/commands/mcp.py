"""
`toolkit mcp`: what a user decides about MCP servers.
"""

from __future__ import annotations

import click
from rich.text import Text

from ...mcp.importing.server_file import ServerFile, read_server_file
from ...permissions.trust import Trust
from ..command import subcommand
from ..confirmation import confirm
from ..exit_codes import EXITS
from ..failures import Failure
from ..output import Output, to_safe_text

__all__ = ["command"]


@click.group("mcp")
def command() -> None:
    """Decide about MCP servers: which files may start them.

    \b
    Examples:
      toolkit mcp trust .mcp.json
    """


@subcommand("trust")
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
    if yes and revoke:
        raise click.UsageError("--yes and --revoke contradict each other; give one")
    trust = Trust()
    if trust.problem is not None:
        raise Failure(trust.problem)
    if revoke:
        trust.revoke(path)
        output.note(f"{path} is not trusted any more")
        return 0
    file = read_server_file(path)
    is_known = trust.covers_content(file.path, file.content)
    if not output.is_json:
        output.show(*_describe(file))
    code = 0 if is_known else _record(file, trust, output, is_agreed=yes)
    if is_known:
        output.note("you trust it already, and nothing has changed since")
    if output.is_json:
        output.json(
            {"path": str(file.path), "servers": file.describe(), "problems": [*file.problems], "recorded": code == 0}
        )
    return code


def _record(file: ServerFile, trust: Trust, output: Output, *, is_agreed: bool) -> int:
    """Record the trust if the user agrees, and return the exit code."""
    answer = is_agreed or _ask(file, output)
    if not answer:
        output.note("not recorded; trust it by answering yes in a terminal, or with --yes")
        return EXITS["waiting" if answer is None else "denied"]
    trust.trust_content(file.path, file.content)
    output.note(f"recorded in {trust.path}; toolkit mcp trust {file.path} --revoke takes it back")
    return 0


def _ask(file: ServerFile, output: Output) -> bool | None:
    """Return whether the user trusts *file*; return None if the user cannot be shown its servers."""
    is_shown = output.console.is_terminal and not output.is_json
    if not is_shown and not output.error_console.is_terminal:
        return None
    if not is_shown:
        output.show(*_describe(file), on_error=True)
    return confirm("Trust these servers?")


def _describe(file: ServerFile) -> list[Text]:
    lines = [to_safe_text(str(file.path), "bold"), *(to_safe_text(f"  {line}") for line in file.describe())]
    return [*lines, *(Text.assemble(("  mistake: ", "red"), to_safe_text(problem)) for problem in file.problems)]


command.add_command(trust_command)
