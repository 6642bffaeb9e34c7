"""
`toolkit check`: check the laws that every tool should keep, and give the linter's advice.
"""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Iterator, Sequence

import click
from rich.text import Text

from ...errors import ToolkitWarning
from ...testing.laws.checking import broken_laws
from ...testing.laws.findings import Finding
from ...testing.laws.lints import lint
from ..command import subcommand, target_argument
from ..exit_codes import FOUND
from ..output import Output, to_safe_text
from ..targets import open_target

__all__ = ["command"]


@subcommand("check")
@target_argument
@click.option("--all", "undecorated", is_flag=True, help="Also public functions that nobody has decorated.")
@click.option("--run", "names", multiple=True, metavar="NAME", help="Run this tool too, though it is not read-only.")
@click.option("--no-run", is_flag=True, help="Run no tool at all.")
@click.option(
    "--examples", type=click.IntRange(min=1), default=60, show_default=True, help="Calls that each law tries."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Where they begin.")
@click.option(
    "--folder", type=click.Path(exists=True, file_okay=False), help="Files that no read-only tool may change."
)
@click.option("--strict", is_flag=True, help="Let advice count as much as a broken law.")
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
    """Check the tools of TARGET against laws, and advise.

    Arguments are drawn from the schemas, good ones and bad ones. Tools that are
    read-only are run with them, in this process; others only if they are named
    with --run. Each finding says what is wrong, where, and what would be right.
    The exit code is 1 if a law is broken. Loading TARGET runs its code.

    What is to stay is explained beside the tool, and does not count:
    @tool(metadata={"explained": {"ends-in-time": "It waits for the door bell."}})

    Needs hypothesis: the extra testing.

    \b
    Examples:
      toolkit check shop.tools
      toolkit check helpers.py --all --no-run
    """
    if no_run and names:
        raise click.UsageError("--run and --no-run contradict each other; give one")
    with _without_warnings(), open_target(target, undecorated=undecorated) as loaded_target:
        run = False if no_run else names
        law_findings = broken_laws(
            loaded_target.catalog, run=run, folder=folder, examples=examples, seed=seed, explained=True
        )
        # If a law and the linter find the same fault, their findings are equal. Each is shown only once.
        lint_findings = [
            finding for finding in lint(loaded_target.catalog, explained=True) if finding not in law_findings
        ]
        count = len(loaded_target.catalog)
    laws, advice = (
        [finding for finding in findings if not finding.explanation] for findings in (law_findings, lint_findings)
    )
    explained = [finding for finding in (*law_findings, *lint_findings) if finding.explanation]
    if output.is_json:
        parts = {"laws": laws, "lints": advice, "explained": explained}
        output.json({"tools": count, **{name: [finding.to_json() for finding in part] for name, part in parts.items()}})
    else:
        _show("broken law", laws, "red", output)
        _show("advice", advice, "yellow", output)
        _show("explained", explained, "dim", output)
        output.show(_summary(count, laws, advice))
    return FOUND if laws or (strict and advice) else 0


@contextlib.contextmanager
def _without_warnings() -> Iterator[None]:
    """Ignore warnings of toolkit inside the block, because the linter reports the same faults in a better way."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ToolkitWarning)
        yield


def _show(title: str, findings: Sequence[Finding], style: str, output: Output) -> None:
    for finding in findings:
        where = f", {finding.place}" if finding.place else ""
        output.show(
            Text.assemble((f"{title} ", style), to_safe_text(f"{finding.rule}: `{finding.tool}`{where}", "bold"))
        )
        output.show(to_safe_text(f"  {finding.message}"))
        if finding.arguments is not None:
            output.show(to_safe_text(f"  with {finding.arguments!r}"))
        label, words = ("explained", finding.explanation) if finding.explanation else ("remedy", finding.remedy)
        output.show(Text.assemble((f"  {label}: ", "dim"), to_safe_text(words)))


def _summary(count: int, laws: Sequence[Finding], advice: Sequence[Finding]) -> Text:
    if not laws and not advice:
        return Text(f"{_format_count(count, 'tool')}, and nothing to mend", "green")
    counts = f"{_format_count(len(laws), 'broken law')}, {_format_count(len(advice), 'suggestion')}"
    return Text(f"{_format_count(count, 'tool')}: {counts}")


def _format_count(count: int, noun: str) -> str:
    return f"{count} {noun}{'s' * (count != 1)}"
