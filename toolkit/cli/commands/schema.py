"""`toolkit schema`: print the definition of a tool that a provider gets, as JSON."""

from __future__ import annotations

import click

from ...catalogs.tool_reports import define_tool
from ...formats import FORMATS
from ..command import subcommand, target_argument, tool_argument
from ..failures import Failure
from ..output import Output
from ..user_extensions import open_extended_target

__all__ = ["command"]


@subcommand("schema")
@target_argument
@tool_argument
@click.option(
    "--format",
    "format_",
    type=click.Choice(["plain", *FORMATS]),
    default="plain",
    help="The provider whose format is printed.",
)
@click.option("--strict", is_flag=True, help="Use the strict mode of the provider, where the schema permits it.")
def command(output: Output, target: str, name: str, format_: str, strict: bool) -> None:
    """Print the definition of a tool that a provider gets, as JSON.

    A note on standard error says what differs from what you asked for, such as a schema that cannot be strict. Loading
    TARGET runs its code.

    \b
    Examples:
      toolkit schema tools.py free_days
      toolkit schema tools.py free_days --format openai --strict
    """
    with open_extended_target(target, output, unless=name) as loaded_target:
        if format_ == "plain" and not strict:
            output.json(loaded_target.catalog[name].definition)
            return
        if format_ == "plain":
            raise Failure("--strict needs the format of a provider: --format openai --strict")
        definitions = define_tool(loaded_target.catalog, name, format_, strict=strict)
        for note in definitions.notes:
            output.note(f"note: {note}")
        output.json(definitions[0])
