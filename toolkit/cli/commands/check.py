"""`toolkit check`: check the laws that every tool should keep, and give the linter's advice."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import click
from rich.text import Text

from ..._plumbing.wording import format_count
from ...catalogs.views import CatalogView
from ...errors import DefinitionError, ToolkitWarning
from ...hooks import ShellHooks
from ...hooks.shell.shell_hooks import name_hooks_before
from ...testing.laws.checking import broken_laws
from ...testing.laws.lints import lint
from ...testing.laws.run_laws import may_run
from ...testing.laws.violations import Violation, show_cut
from ...testing.snapshots.snapshot import ToolChange, check_snapshot
from ..call_policy import load_resources, with_option
from ..command import FILE, subcommand, target_argument, undecorated_option
from ..exit_codes import FOUND
from ..failures import Failure
from ..output import Output, to_safe_text
from ..settings_options import load_command_settings, note_settings
from ..targets import Target, open_target

__all__ = ["command"]


@subcommand("check")
@target_argument
@undecorated_option
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
@click.option(
    "--snapshot",
    type=FILE,
    help="A file with the schemas and definitions as callers know them. Say what differs, and exit with 1 if it does.",
)
@click.option("--update-snapshot", is_flag=True, help="Write the file of --snapshot anew.")
@with_option
def command(
    output: Output,
    target: str,
    undecorated: bool,
    names: tuple[str, ...],
    no_run: bool,
    strict: bool,
    snapshot: str | None,
    update_snapshot: bool,
    **law_options: Any,
) -> int:
    """Check the tools of TARGET against laws, and give advice.

    The laws try random arguments, good ones and bad ones. Read-only tools are run with them, in this process; other
    tools only if you name them with --run. Each violation says what is wrong, where, and what would be right. Missing
    descriptions are counted apart. With --all, functions that cannot be tools are listed with the reason. The exit code
    is 1 if a law is broken. Loading TARGET runs its code.

    A violation that you want to keep does not count if the tool gives the reason: @tool(metadata={"known_violations":
    {"ends-in-time": "It waits for the door bell."}})

    This needs hypothesis, which the extra "testing" installs.

    With --snapshot, a change of a tool is said in words, with what it breaks for callers, and --update-snapshot accepts
    it. The file is made to be committed.

    \b
    Examples:
      toolkit check shop.tools
      toolkit check shop.tools --snapshot tools.snapshot.json --update-snapshot
      toolkit check helpers.py --all --no-run
    """
    if no_run and names:
        raise click.UsageError("--run and --no-run contradict each other; give one")
    if update_snapshot and snapshot is None:
        raise click.UsageError("--update-snapshot needs the file: --snapshot tools.snapshot.json")
    refusals: list[dict[str, str]] = []
    on_refused = functools.partial(_keep_refusal, refusals) if undecorated else None
    # The linter reports the faults that toolkit warns of, in a better way.
    without_warnings = warnings.catch_warnings(action="ignore", category=ToolkitWarning)
    with without_warnings, open_target(target, undecorated=undecorated, on_refused=on_refused) as loaded_target:
        catalog = loaded_target.catalog
        if not len(catalog) and not refusals:
            raise Failure(f"{target} has no tools, and no public functions that could be tools")
        laws = _find_broken_laws(loaded_target, None if no_run else names, output, **law_options)
        changes = None if snapshot is None else check_snapshot(catalog, snapshot, update=update_snapshot)
        # If a law and a lint find the same fault, their violations are equal. Each is shown only once.
        lints = [violation for violation in lint(catalog, include_known=True) if violation not in laws]
    findings = _sort_findings(laws, lints)
    _show_findings(len(catalog), findings, refusals, changes, output)
    is_law_broken = any(not violation.explanation for violation in laws)
    has_advice = any([findings["lints"], findings["descriptions"], refusals])
    has_changed = bool(changes) and not update_snapshot
    if has_changed:
        output.note(f"the tools differ from {snapshot}; --update-snapshot accepts the changes")
    return FOUND if is_law_broken or has_changed or (strict and has_advice) else 0


_TITLES = {
    "laws": ("broken law", "red"),
    "descriptions": ("missing description", "yellow"),
    "lints": ("advice", "yellow"),
    "known": ("known violation", "dim"),
}
_DESCRIPTION_RULES = ("described", "no-description")


def _keep_refusal(refusals: list[dict[str, str]], function: Callable[..., Any], error: DefinitionError) -> None:
    place = f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"
    refusals.append({"function": function.__qualname__, "place": place, "reason": str(error)})


def _find_broken_laws(
    target: Target, names: Sequence[str] | None, output: Output, *, resource_names: Sequence[str], **options: Any
) -> list[Violation]:
    """Return the laws that the tools of *target* break. The tools *names* are run too; no tool if it is None."""
    return broken_laws(
        target.catalog,
        run=False if names is None else names,
        resources=load_resources(resource_names),
        classify=() if target.dispatcher is None else target.dispatcher.settings.classify_rules,
        include_known=True,
        on_note=output.note,
        never_run=() if names is None else _find_hooked_tools(target.catalog, names, output),
        **options,
    )


def _find_hooked_tools(catalog: CatalogView, names_to_run: Sequence[str], output: Output) -> list[str]:
    """Return the tools that are not run, because a hook of the user wants to see each call of them first."""
    settings = load_command_settings()
    note_settings(settings, output)
    hooks = ShellHooks(settings["hooks"])
    hooked = [
        tool.name
        for tool in catalog
        if may_run(tool) and tool.name not in names_to_run and any(name_hooks_before([hooks], tool))
    ]
    for name in hooked:
        output.note(f"`{name}` is not run, because one of your hooks runs before its calls; --run {name} runs it")
    return hooked


def _sort_findings(laws: Sequence[Violation], lints: Sequence[Violation]) -> dict[str, list[Violation]]:
    """Return the violations by what they are. A missing description is counted apart from the broken laws."""
    findings: dict[str, list[Violation]] = {name: [] for name in _TITLES}
    for part, violations in (("laws", laws), ("lints", lints)):
        for violation in violations:
            is_description = violation.rule in _DESCRIPTION_RULES
            name = "known" if violation.explanation else "descriptions" if is_description else part
            findings[name].append(violation)
    return findings


def _show_findings(
    tool_count: int,
    findings: Mapping[str, Sequence[Violation]],
    refusals: Sequence[Mapping[str, str]],
    changes: Sequence[ToolChange] | None,
    output: Output,
) -> None:
    if output.is_json:
        violations = {name: [violation.to_json() for violation in part] for name, part in findings.items()}
        compared = {} if changes is None else {"snapshot": [asdict(change) for change in changes]}
        output.json({"tools": tool_count, **violations, "refused": refusals, **compared})
        return
    for part, (title, style) in _TITLES.items():
        _show(title, findings[part], style, output)
    for refusal in refusals:
        output.show(Text.assemble(("no tool ", "yellow"), to_safe_text(f"`{refusal['function']}`", "bold")))
        output.show(to_safe_text(f"  {refusal['reason']}"), to_safe_text(f"  at {refusal['place']}", "dim"))
    for change in changes or ():
        output.show(to_safe_text(str(change), "red" if change.breaks else "dim"))
    output.show(_summary(tool_count, findings, refusals))


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
            output.show(to_safe_text(f"  with {show_cut(violation.arguments)}"))
        label, words = ("reason", violation.explanation) if violation.explanation else ("remedy", violation.remedy)
        output.show(Text.assemble((f"  {label}: ", "dim"), to_safe_text(words)))


def _summary(count: int, findings: Mapping[str, Sequence[Violation]], refusals: Sequence[object]) -> Text:
    laws, descriptions, lints = (len(findings[name]) for name in ("laws", "descriptions", "lints"))
    if not (laws or descriptions or lints or refusals):
        return Text(f"{format_count(count, 'tool')}, nothing to fix", "green")
    counts = [
        format_count(laws, "broken law"),
        *([format_count(descriptions, "missing description")] if descriptions else []),
        format_count(lints, "suggestion"),
        *([f"{format_count(len(refusals), 'function')} that cannot be a tool"] if refusals else []),
    ]
    return Text(f"{format_count(count, 'tool')}: {', '.join(counts)}")
