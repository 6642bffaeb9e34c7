"""
`toolkit check`: check the laws that every tool should keep, and give the linter's advice.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence

import click
from rich.text import Text

from ..._wording import format_count
from ...errors import ToolkitWarning
from ...testing.laws.checking import broken_laws
from ...testing.laws.lints import lint
from ...testing.laws.violations import Violation
from ..command import subcommand, target_argument
from ..exit_codes import FOUND
from ..output import Output, to_safe_text
from ..targets import open_target

__all__ = ["command"]


@subcommand("check")
@target_argument
@click.option("--all", "undecorated", is_flag=True, help="Also check public functions without a decorator.")
@click.option("--run", "names", multiple=True, metavar="NAME", help="Run this tool too, although it is not read-only.")
@click.option("--no-run", is_flag=True, help="Run no tool at all.")
@click.option(
    "--examples", type=click.IntRange(min=1), default=60, show_default=True, help="How many calls each law tries."
)
@click.option(
    "--seed",
    type=int,
    default=0,
    show_default=True,
    help="The seed of the random calls; the same seed tries the same calls.",
)
@click.option(
    "--folder",
    type=click.Path(exists=True, file_okay=False),
    help="A folder with files that no read-only tool may change.",
)
@click.option("--strict", is_flag=True, help="Exit with 1 for advice too.")
def command(
    output: Output,
    target: str,
    undecorated: bool,
    names: tuple[str, ...],
    no_run: bool,
    examples: int,
    seed: int,
    folder: str | None,
    strict: bool,
) -> int:
    """Check the tools of TARGET against laws, and give advice.

    The laws try random arguments, good ones and bad ones. Read-only tools are run
    with them, in this process; other tools only if you name them with --run. Each
    violation says what is wrong, where, and what would be right. The exit code is 1
    if a law is broken. Loading TARGET runs its code.

    A violation that you want to keep does not count if the tool gives the reason:
    @tool(metadata={"known_violations": {"ends-in-time": "It waits for the door bell."}})

    This needs hypothesis, which the extra "testing" installs.

    \b
    Examples:
      toolkit check shop.tools
      toolkit check helpers.py --all --no-run
    """
    if no_run and names:
        raise click.UsageError("--run and --no-run contradict each other; give one")
    with _without_warnings(), open_target(target, undecorated=undecorated) as loaded_target:
        catalog = loaded_target.catalog
        run = False if no_run else names
        laws = broken_laws(catalog, run=run, folder=folder, examples=examples, seed=seed, include_known=True)
        # If a law and a lint find the same fault, their violations are equal. Each is shown only once.
        lints = [violation for violation in lint(catalog, include_known=True) if violation not in laws]
    known = [violation for violation in (*laws, *lints) if violation.explanation]
    laws, lints = ([violation for violation in part if not violation.explanation] for part in (laws, lints))
    if output.is_json:
        parts = {"laws": laws, "lints": lints, "known": known}
        violations = {name: [violation.to_json() for violation in part] for name, part in parts.items()}
        output.json({"tools": len(catalog), **violations})
    else:
        _show("broken law", laws, "red", output)
        _show("advice", lints, "yellow", output)
        _show("known violation", known, "dim", output)
        output.show(_summary(len(catalog), laws, lints))
    return FOUND if laws or (strict and lints) else 0


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Ignore warnings of toolkit inside the block, because the linter reports the same faults in a better way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToolkitWarning)
        yield


def _show(title: str, violations: Sequence[Violation], style: str, output: Output) -> None:
    for violation in violations:
        where = f", {violation.place}" if violation.place else ""
        output.show(
            Text.assemble((f"{title} ", style), to_safe_text(f"{violation.rule}: `{violation.tool}`{where}", "bold"))
        )
        output.show(to_safe_text(f"  {violation.message}"))
        if violation.location:
            output.show(to_safe_text(f"  at {violation.location}", "dim"))
        if violation.arguments is not None:
            output.show(to_safe_text(f"  with {violation.arguments!r}"))
        label, words = ("reason", violation.explanation) if violation.explanation else ("remedy", violation.remedy)
        output.show(Text.assemble((f"  {label}: ", "dim"), to_safe_text(words)))


def _summary(count: int, laws: Sequence[Violation], advice: Sequence[Violation]) -> Text:
    if not laws and not advice:
        return Text(f"{format_count(count, 'tool')}, nothing to fix", "green")
    counts = f"{format_count(len(laws), 'broken law')}, {format_count(len(advice), 'suggestion')}"
    return Text(f"{format_count(count, 'tool')}: {counts}")
