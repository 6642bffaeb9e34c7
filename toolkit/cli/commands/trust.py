"""`toolkit trust`: show what a project may do once it is trusted, and record that the user trusts it."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
from rich.text import Text

from ...settings import SettingPart, SettingsError, load_settings
from ...settings.loading import load_layers
from ...settings.project_files import ProjectFiles
from ...settings.trust import Trust, configuration_folder, read_all_instructions
from ...skills.skill_files import read_project_contents
from ...values.visible import make_visible
from ..approval_prompt import confirm
from ..command import subcommand
from ..exit_codes import EXITS
from ..failures import Failure
from ..output import Output, to_safe_text
from ..settings_options import read_assignments, set_option

__all__ = ["TrustReport", "ask_for_trust", "command", "read_report"]

_MAX_CHARS = 20_000
_TITLES = {
    "rules": "rules that permit calls, and its mode:",
    "hooks": "hooks, which run these commands:",
    "skills": "skills, which a model can use:",
    "settings": "other settings:",
    "instructions": "instruction files, whose text is told to the model:",
}
_KINDS = ("rules", "hooks", "skills", "settings")
"""The kinds of settings that count only with trust; the last one is for all that have no section of their own."""


@subcommand("trust")
@click.argument("path", default=".", type=click.Path(file_okay=False))
@click.option("--yes", is_flag=True, help="Trust it without a question.")
@click.option("--contents", is_flag=True, help="Also show the text of each file.")
@click.option("--revoke", is_flag=True, help="Trust it no longer.")
@set_option
@click.option("--list", "lists", is_flag=True, help="List the folders that you trust, and do nothing else.")
def command(
    output: Output, path: str, yes: bool, contents: bool, revoke: bool, lists: bool, assignments: tuple[str, ...]
) -> int:
    """Show what trust in PATH would permit, and record it.

    The files in a project's .toolkit folder may deny calls and ask about them at once. Its allow rules, its mode, its
    hooks, its skills, what loosens your settings, and its instruction files such as AGENTS.md count only if you trust
    the folder. You see all of them, and the files that they come from, and are asked. If one of these files changes,
    you have to trust the folder again. If you name instruction files with --set in other commands, give the same --set
    here.

    The exit code is 0 if the folder is trusted, 5 if you said no, 7 if there was no terminal to ask you on.

    \b
    Examples:
      toolkit trust .
      toolkit trust ~/shop --contents
      toolkit trust --list
    """
    if sum((yes, revoke, lists)) > 1:
        raise click.UsageError("--yes, --revoke and --list contradict each other; give one")
    trust = Trust()
    if trust.problem is not None:
        raise Failure(trust.problem)
    if lists:
        _show_folders(trust, output)
        return 0
    if revoke:
        was_trusted = trust.revoke(path)
        output.note(f"{Path(path).resolve()} {'is not trusted any more' if was_trusted else 'was not trusted'}")
        return 0
    report = read_report(path, trust, assignments)
    if not output.is_json:
        output.show(*_describe(report, contents))
    code = _record(report, trust, output, is_agreed=yes, contents=contents)
    if output.is_json:
        output.json({**report.to_json(), "recorded": code == 0})
    return code


def _record(report: TrustReport, trust: Trust, output: Output, *, is_agreed: bool, contents: bool) -> int:
    """Record the trust if the user agrees, and return the exit code."""
    if report.state == "trusted":
        output.note("you trust it already, and nothing has changed since")
        return 0
    question = f"Trust {make_visible(str(report.folder), keep_lines=False)}?"
    code = 0 if is_agreed else ask_for_trust(question, lambda: _describe(report, contents), output)
    if code == 0:
        trust.trust(report.folder, digest=report.digest, instructions=report.instructions)
        output.note(f"recorded in {trust.path}; toolkit trust {report.folder} --revoke takes it back")
    return code


def ask_for_trust(
    question: str,
    describe: Callable[[], Iterable[Text]],
    output: Output,
    refusal: str = "not recorded; trust it by answering yes in a terminal, or with --yes",
) -> int:
    """
    Ask the user, and return the exit code: 0 if the user agrees to what *describe* returns. If not, note *refusal*.

    The question is asked at the terminal, also if the output goes elsewhere, so what it is about has to be there too.
    """
    is_shown = output.console.is_terminal and not output.is_json
    answer = None
    if is_shown or output.error_console.is_terminal:
        if not is_shown:
            output.show(*describe(), on_error=True)
        answer = confirm(question)
    if answer:
        return 0
    output.note(refusal)
    return EXITS["waiting" if answer is None else "denied"]


def _describe(report: TrustReport, contents: bool) -> Iterator[Text]:
    """Yield the lines that show the report to a person."""
    states = {"trusted": "trusted", "changed": "changed since you trusted it", "unknown": "not trusted"}
    yield Text.assemble(to_safe_text(str(report.folder), "bold"), f": {states[report.state]}")
    for kind, settings in report.settings.items():
        if settings:
            yield Text(f"  {_TITLES[kind]}", "yellow")
        yield from (to_safe_text(f"    {setting}") for setting in settings)
    for problem in report.problems:
        yield Text.assemble(("  mistake: ", "red"), to_safe_text(problem))
    if not any(report.settings.values()) and not report.problems:
        yield Text("  nothing that counts only with your trust")
    yield Text("  files that must not change:" if report.files else "  it has no files to trust", "dim")
    for path, content in report.files.items():
        yield to_safe_text(f"    {path}")
        if contents:
            yield from _describe_content(content)


def _describe_content(content: bytes) -> Iterator[Text]:
    try:
        text = content.decode()
    except UnicodeDecodeError as error:
        yield to_safe_text(f"      | it cannot be shown: {error}")
        return
    yield from (to_safe_text(f"      | {line}") for line in text[:_MAX_CHARS].splitlines())
    if len(text) > _MAX_CHARS:
        yield Text(f"      cut: {_MAX_CHARS:,} of {len(text):,} characters are shown", "yellow")


def _show_folders(trust: Trust, output: Output) -> None:
    rows = [(str(folder), trust.state(folder)) for folder in trust.folders()]
    if output.is_json:
        output.json([{"folder": folder, "state": state} for folder, state in rows])
    elif rows:
        output.table(["folder", "state"], rows)
    else:
        output.note("you trust no folder yet; toolkit trust PATH trusts one")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustReport:
    """
    What trust in a folder would cover: the settings that would begin to count, and the files that they come from.

    The settings are by their kind, "rules", "hooks" and others, and the files by their path relative to the folder. The
    digest and the instructions are of the content that the report shows. A project with mistakes can be trusted, and
    its settings are refused.
    """

    folder: Path
    state: str
    digest: str
    instructions: dict[str, bytes]
    settings: dict[str, list[str]]
    files: dict[Path, bytes]
    problems: tuple[str, ...]

    def to_json(self) -> dict[str, Any]:
        return {
            "folder": str(self.folder),
            "state": self.state,
            "digest": self.digest,
            **self.settings,
            "files": [str(path) for path in self.files],
            "problems": list(self.problems),
        }


def read_report(folder: str | os.PathLike[str], trust: Trust, assignments: Iterable[str] = ()) -> TrustReport:
    """
    Return what trust in *folder* would cover; raise `TrustError` if a part of its content cannot be covered.

    *assignments* are the texts of `--set`, which may name further instruction files.
    """
    # Everything is read once, so that the digest is about what is shown.
    project = ProjectFiles(os.path.realpath(folder))
    digest = project.digest
    problems: list[str] = []
    instructions = read_all_instructions(project, names=_find_instruction_names(project, trust, assignments, problems))
    settings = _read_settings(project, problems)
    return TrustReport(
        folder=project.root,
        state=_find_state(project, trust, instructions),
        digest=digest,
        instructions=instructions,
        settings={**settings, "instructions": list(instructions)},
        files={
            **{Path(name): entry.data for name, entry in project.contents.items()},
            **{Path(name): content for name, content in instructions.items()},
        },
        problems=tuple(problems),
    )


def _find_instruction_names(
    project: ProjectFiles, trust: Trust, assignments: Iterable[str], problems: list[str]
) -> Sequence[str]:
    """Return the names of instruction files in the settings of all layers; none if there are mistakes in a layer."""
    mistakes: list[str] = []
    parts = read_assignments(assignments, project.folder, mistakes)
    if mistakes:
        raise SettingsError(mistakes)
    try:
        merged = load_layers(project, configuration_folder(), trust, os.environ, lambda _: parts)
    except SettingsError as error:
        problems.extend(error.problems)
        return ()
    names: Sequence[str] = merged["instructions.names"]
    return names


def _read_settings(project: ProjectFiles, problems: list[str]) -> dict[str, list[str]]:
    """
    Return the settings of an untrusted project that do not count, by their kind.

    Mistakes in the user's files must not hide a setting, so the settings are compared with the defaults first.
    """
    settings: dict[str, dict[str, None]] = {kind: {} for kind in _KINDS}
    with tempfile.TemporaryDirectory() as nowhere:
        trust = Trust(Path(nowhere, "trust.json"))
        for user in (Path(nowhere), configuration_folder()):
            try:
                merged = load_settings(project, user=user, trust=trust, environ={})
            except SettingsError as error:
                problems.extend(problem for problem in error.problems if problem not in problems)
                continue
            for part in merged.parts:
                if part.layer == "project" and part.why_ignored:
                    settings[_find_kind(part)][part.as_ignored().what] = None
    skills = [str(path) for path in read_project_contents(project)[0]]
    return {**{kind: list(texts) for kind, texts in settings.items()}, "skills": skills}


def _find_kind(part: SettingPart) -> str:
    table = part.key.partition(".")[0]
    return {"mode": "rules", "commands": "rules"}.get(table, table if table in _KINDS else "settings")


def _find_state(project: ProjectFiles, trust: Trust, instructions: dict[str, bytes]) -> str:
    """Return the state of the folder; an instruction file that the trust does not cover is a change too."""
    state = trust.state(project)
    is_covered = all(trust.covers_file(project.root, name, content) for name, content in instructions.items())
    return state if state != "trusted" or is_covered else "changed"
