"""
What all commands have in common: how they are declared, where they write, how they fail.
"""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import click

from .completion.completing import complete_arguments, complete_target, complete_tool
from .failures import told
from .output import Output, Shape

__all__ = ["arguments_argument", "subcommand", "target_argument", "tool_argument"]

_COMMON = ("as_json", "shape", "debug")

Body: TypeAlias = Callable[..., "int | None"]

target_argument = click.argument("target", shell_complete=complete_target)
tool_argument = click.argument("name", shell_complete=complete_tool)
arguments_argument = click.argument("words", nargs=-1, metavar="[NAME=VALUE | -]...", shell_complete=complete_arguments)


def subcommand(name: str, *, has_json: bool = True, piped: Shape = "json") -> Callable[[Body], click.Command]:
    """
    Declare a command: a function of an `Output` and its parameters, which may return an exit code.

    Whatever a tool or a module prints goes to standard error: standard output is the command's own.

    Args:
        has_json: Whether `--json` asks for JSON; where it means something else, `--output json` does.
        piped: What is written where nobody looks.
    """

    def declare(body: Body) -> click.Command:
        @functools.wraps(body)
        def run(*, debug: bool, shape: Shape, as_json: bool = False, **given: Any) -> None:
            output = Output("json" if as_json else shape, piped=piped)
            with told(debug=debug), contextlib.redirect_stdout(sys.stderr):
                code = body(output, **given)
            if code:
                raise click.exceptions.Exit(code)

        function: Any = click.option("--debug", is_flag=True, help="Show the traceback of an error.")(run)
        what = "JSON" if piped == "json" else "plain lines"
        function = click.option(
            "-o",
            "--output",
            "shape",
            type=click.Choice(["auto", "json", "text"]),
            default="auto",
            help=f"What to write; auto is text in a terminal, and {what} elsewhere.",
        )(function)
        if has_json:
            function = click.option("--json", "as_json", is_flag=True, help="The same as --output json.")(function)
        made = click.command(name)(function)
        made.params.sort(key=lambda each: each.name in _COMMON)  # a command's own options are read first
        return made

    return declare
