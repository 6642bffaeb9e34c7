"""`toolkit search`: find the tools that fit some words."""

from __future__ import annotations

import click

from ..command import subcommand, target_argument
from ..exit_codes import FOUND
from ..output import Output
from ..user_extensions import open_extended_target

__all__ = ["command"]


@subcommand("search")
@target_argument
@click.argument("words", nargs=-1, required=True)
@click.option("--group", help="Search only this group.")
@click.option("--limit", type=click.IntRange(min=1), default=10, show_default=True, help="The most tools to show.")
def command(output: Output, target: str, words: tuple[str, ...], group: str | None, limit: int) -> int:
    """Search the tools of TARGET by words, as a model does.

    The best match comes first, with the words that matched. Misspelt words are corrected. The exit code is 1 if no tool
    fits. Loading TARGET runs its code.

    \b
    Examples:
      toolkit search tools.py public holidays
    """
    with open_extended_target(target, output) as loaded_target:
        results = loaded_target.catalog.search(" ".join(words), limit, group=group)
        if output.is_json:
            output.json(
                [
                    {
                        "name": result.tool.name,
                        "score": round(result.score, 4),
                        "words": list(result.words),
                        "description": result.tool.description,
                    }
                    for result in results
                ]
            )
        elif results:
            rows = [
                (
                    result.tool.name,
                    f"{result.score:.2f}",
                    ", ".join(result.words),
                    result.tool.description.split("\n")[0],
                )
                for result in results
            ]
            output.table(["name", "score", "matching words", "description"], rows)
        if not results:
            output.note(results.advice)
        return 0 if results else FOUND
