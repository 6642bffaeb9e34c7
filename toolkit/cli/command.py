"""The parts that all commands share: how a command is declared, where it writes, and how it fails."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable
from typing import Any

import click

from .completion.known_names import complete_arguments, complete_target, complete_tool
from .failures import Failure, report_errors
from .openapi_targets import base_url_option
from .output import Body, Output, OutputFormat, claimed_stdout
from .server_targets import TargetCommand, command_option

__all__ = [
    "FILE",
    "SECONDS",
    "arguments_argument",
    "read_prompt",
    "subcommand",
    "target_argument",
    "tool_argument",
    "undecorated_option",
]

_COMMON_OPTIONS = ("as_json", "shape", "debug")


class _TargetType(click.types.StringParamType):
    """A text that names a target. If it is missing, the message says what a target is."""

    def get_missing_message(self, param: click.Parameter, ctx: click.Context | None = None) -> str:
        return "Name a file such as tools.py, a module such as shop.tools, or builtin."


SECONDS = click.FloatRange(min=0, min_open=True)
"""The type of an option that is a length of time."""

FILE = click.Path(dir_okay=False)
"""The type of an option that is a file, which need not exist."""

target_argument = click.argument("target", type=_TargetType(), shell_complete=complete_target)
tool_argument = click.argument("name", shell_complete=complete_tool)
undecorated_option = click.option(
    "--all", "undecorated", is_flag=True, help="Take public functions without a decorator for tools too."
)
arguments_argument = click.argument("words", nargs=-1, metavar="[NAME=VALUE | -]...", shell_complete=complete_arguments)


def subcommand(
    name: str, *, piped: OutputFormat = "json", group: click.Group | None = None, claims_stdout: bool = True
) -> Callable[[Body], click.Command]:
    """
    Declare a command: a function of an `Output` and its parameters, which may return an exit code.

    All text that a tool or a module prints goes to standard error, because standard output is the command's own; also
    that of programs which they start, unless *claims_stdout* is false. The output format is *piped* if standard output
    is no terminal. The command is one of *group*, if that is given.
    """

    def declare(body: Body) -> click.Command:
        @functools.wraps(body)
        def run(*, debug: bool, shape: OutputFormat, as_json: bool, **parameters: Any) -> None:
            with claimed_stdout() if claims_stdout else contextlib.nullcontext(sys.stdout) as stream:
                output = Output("json" if as_json else shape, piped=piped, stream=stream)
                with report_errors(debug=debug), contextlib.redirect_stdout(sys.stderr):
                    code = body(output, **parameters)
            if code:
                raise click.exceptions.Exit(code)

        function: Any = click.option("--debug", is_flag=True, help="Show the traceback of an error.")(run)
        piped_format = "JSON" if piped == "json" else "plain lines"
        function = click.option(
            "-o",
            "--output",
            "shape",
            type=click.Choice(["auto", "json", "text"]),
            default="auto",
            help=f"The format of the output; auto is text in a terminal, and {piped_format} elsewhere.",
        )(function)
        function = click.option("--json", "as_json", is_flag=True, help="The same as --output json.")(function)
        takes_target = any(parameter.name == "target" for parameter in function.__click_params__)
        if takes_target:
            function = command_option(function)
            if not any("--base-url" in parameter.opts for parameter in function.__click_params__):
                function = base_url_option(function)  # of an agent, it is the address of the model
        command = click.command(name, cls=TargetCommand if takes_target else None)(function)
        # The help lists the command's own options first.
        command.params.sort(key=lambda parameter: parameter.name in _COMMON_OPTIONS)
        if group is not None:
            group.add_command(command)
        return command

    return declare


def read_prompt(prompt: str | None) -> str:
    """Return the *prompt* of a command, or standard input if it is `-`; raise `Failure` if that is empty or missing."""
    text = sys.stdin.read() if prompt == "-" else prompt
    if text is None or not text.strip():
        raise Failure("the prompt is empty; say what to do")
    return text
