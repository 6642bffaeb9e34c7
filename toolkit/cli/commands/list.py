"""`toolkit list`: list the tools of a target, one on each line."""

from __future__ import annotations

import click

from ...catalogs.snapshot import has_foreign
from ...catalogs.tool_reports import describe_facts
from ...catalogs.views import CatalogView
from ...spec import Tool
from ..command import subcommand, target_argument, undecorated_option
from ..completion.known_names import save_names
from ..output import Output
from ..user_extensions import open_extended_target

__all__ = ["command", "tools_to_json"]


@subcommand("list")
@target_argument
@click.option("--group", help="Only the tools of this group.")
@undecorated_option
def command(output: Output, target: str, group: str | None, undecorated: bool) -> None:
    """List the tools: name, facts, group, origin, description.

    The origin is shown if some tool is not from Python code that you named, but for example from an installed package
    or a server.

    TARGET is a module, package.module; a catalog in one, package.module:catalog; a file, tools.py or tools.py:catalog;
    or builtin, the built-in tools in this folder. Loading it runs its code, as importing does.

    All tools are listed. A "deferred" tool is shown to a model only after a search has found it. A tool that is "not
    trusted" comes from a server whose word does not count here. It is treated as destructive and open-world, even if
    the server says that it only reads.

    The names are saved in your cache folder, for tab completion.

    \b
    Examples:
      toolkit list tools.py
      toolkit list shop.tools:catalog --group orders
      toolkit list builtin --json | jq -r '.[].name'
    """
    with open_extended_target(target, output, undecorated=undecorated) as loaded_target:
        save_names(target, loaded_target.catalog)
        tools = [tool for tool in loaded_target.catalog if group is None or tool.facts.group == group]
        if output.is_json:
            output.json(tools_to_json(tools))
        else:
            output.table(*_build_table(tools))


def _build_table(tools: list[Tool]) -> tuple[list[str], list[list[str]]]:
    """Return the columns and the rows. There is a column for the origin only if some tool comes from elsewhere."""
    cells = {
        "name": [tool.name for tool in tools],
        "facts": [describe_facts(tool) for tool in tools],
        "group": [tool.facts.group or "" for tool in tools],
        "origin": [tool.origin for tool in tools],
        "description": [(tool.description.strip().splitlines() or [""])[0] for tool in tools],
    }
    if not has_foreign(tools):
        del cells["origin"]
    return list(cells), list(map(list, zip(*cells.values(), strict=True)))


def tools_to_json(tools: CatalogView | list[Tool]) -> list[dict[str, object]]:
    """Return *tools* as plain JSON, without their schemas."""
    return [
        {"name": tool.name, "description": tool.description, "origin": tool.origin, "facts": tool.facts.as_json()}
        for tool in tools
    ]
