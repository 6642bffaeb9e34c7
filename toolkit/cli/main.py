"""
The command line: `toolkit COMMAND TARGET ...`.

Each command is a file, which is imported when the command is used. So completion and `--version` are quick.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence

import click

from .._plumbing.distribution import DISTRIBUTION
from ..errors import find_nearest
from .completion.shell_scripts import register_completion_classes

__all__ = ["cli", "main"]

_COMMANDS = (
    *("list", "show", "schema", "search", "call", "explain", "check", "eval", "agent", "chat", "serve", "inspect"),
    *("settings", "trust", "mcp", "worker", "runs", "stats", "trace", "init", "completion"),
)
_FILE_NAMES = {"stats": "audit_summary", "init": "new_project", "inspect": "inspector_page"}
"""The names of the files that are not called as their commands."""


class _Commands(click.Group):
    """The group of all commands. It imports a command when the command is first needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in _COMMANDS:
            return None
        file_name = _FILE_NAMES.get(cmd_name, cmd_name)
        command: click.Command = importlib.import_module(f".commands.{file_name}", __package__).command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        near = find_nearest(args[0], _COMMANDS, max_items=1)
        if args[0] not in _COMMANDS and near:
            ctx.fail(f"there is no command `{args[0]}`; did you mean `toolkit {near[0]}`?")
        return super().resolve_command(ctx, args)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(package_name=DISTRIBUTION, prog_name="toolkit")
def cli() -> None:
    """Look at, call, check and use the tools of a Python module.

    Most commands take a TARGET: a module, package.module; a catalog in one, package.module:catalog; a file, tools.py;
    or builtin. Loading it runs its code. An MCP server is a target too: its address, or --command "npx -y server".

    \b
    toolkit init shop                     write a project to start from
    toolkit list shop.tools               list the tools
    toolkit call shop.tools add a=2 b=3   call a tool, as a model would
    toolkit check shop.tools              find what is wrong, with remedies

    The output is tables and colours in a terminal, and JSON in a pipe.
    """


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line with *arguments*, or with those of the process if they are None, and exit."""
    register_completion_classes()
    cli(arguments, prog_name="toolkit")
