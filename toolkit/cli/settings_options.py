"""
The settings of a command: those of the files and the environment, with the options of the command as the last layer.

A command that makes calls is declared with `settings_options`, and gives the settings to `dispatcher_for`. A note tells
the user about each setting that does not count.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ..permissions import MODES, Mode
from ..providers.model_names import PROVIDER_NAMES, SCRIPTED
from ..settings import Instructions, MergedSettings, SettingPart
from ..settings.keys import KEYS
from ..settings.layers import parse_setting, read_overrides, read_session_rules
from ..settings.loading import load_layers
from ..settings.project_files import ProjectFiles
from ..settings.trust import Trust, configuration_folder
from .output import Body, Output

__all__ = [
    "load_command_settings",
    "note_instructions",
    "note_settings",
    "note_unused",
    "read_assignments",
    "set_option",
    "settings_options",
]

mode_option = click.option(
    "--mode", type=click.Choice(MODES), help="The permission mode; without it, that of your settings."
)
rule_option = click.option(
    "--rule",
    "rules",
    multiple=True,
    metavar="RULE",
    help="A rule in addition to those of the files: 'allow write(path=out/**)'.",
)

set_option = click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting for this command, as in toolkit.toml: budget.tokens=10000. 'toolkit settings' lists the keys.",
)

max_turns_option = click.option(
    "--max-turns",
    "limits__max_turns",
    type=click.IntRange(min=1),
    help="How often the model may be asked for each prompt; 50 times unless your settings say otherwise.",
)

_MODEL_OPTIONS = (
    click.option(
        "--provider",
        metavar="NAME[:MODEL]",
        shell_complete=lambda context, option, beginning: [
            name for name in (*PROVIDER_NAMES, SCRIPTED) if name.startswith(beginning)
        ],
        help="The provider of the model, or both: groq:llama-3.3-70b-versatile. scripted:FILE plays a list of answers.",
    ),
    click.option("--model", help="The name of the model, as the provider writes it."),
    click.option("--system", help="The system prompt."),
    max_turns_option,
    click.option("--base-url", help="The address of another server that uses the provider's format."),
    click.option(
        "--key-from",
        metavar="VARIABLE",
        help="The environment variable that holds the key, if it is not the usual one.",
    ),
)
_MODEL_KEYS = ("provider", "model", "system", "limits__max_turns", "base_url", "key_from")


def settings_options(*, for_model: bool = False, for_calls: bool = True) -> Callable[[Body], Body]:
    """
    Declare the options that are settings. The command gets the merged `settings`.

    Those about the model are declared if it is *for_model*, and those about turns, permissions and rules *for_calls*.
    """
    options = [
        *(option for option in _MODEL_OPTIONS if for_model and (for_calls or option is not max_turns_option)),
        *((mode_option, rule_option) if for_calls else ()),
        set_option,
    ]

    def declare(body: Body) -> Body:
        @functools.wraps(body)
        def run(
            *arguments: Any,
            assignments: tuple[str, ...],
            mode: Mode | None = None,
            rules: tuple[str, ...] = (),
            **parameters: Any,
        ) -> int | None:
            values = {key: parameters.pop(key, None) for key in _MODEL_KEYS if for_model}
            settings = load_command_settings(assignments, rules=rules, mode=mode, **values)
            return body(*arguments, settings=settings, **parameters)

        return functools.reduce(lambda function, option: option(function), reversed(options), run)

    return declare


def load_command_settings(
    assignments: Iterable[str] = (), *, rules: Iterable[str] = (), **options: Any
) -> MergedSettings:
    """
    Return the settings for a command in the current folder, with the texts of `--set` and of `--rule`.

    *options* are those that have their own names, by key with `__` for the dot: `limits__max_turns=3`. One that is None
    was not given. They count before *assignments*.
    """
    folder = Path.cwd()

    def read_command_line(problems: list[str]) -> list[SettingPart]:
        parts = read_assignments(assignments, folder, problems)
        for name, value in options.items():
            if value is not None:
                key = name.replace("__", ".")
                place = f"--{key.rpartition('.')[2].replace('_', '-')}"
                parts += read_overrides({key: value}, "command line", folder, problems, place=place)
        return parts + read_session_rules(tuple(rules), "command line", problems)

    return load_layers(ProjectFiles(folder), configuration_folder(), Trust(), os.environ, read_command_line)


def read_assignments(assignments: Iterable[str], folder: Path, problems: list[str]) -> list[SettingPart]:
    """Return what the texts of `--set` give; *folder* is where relative paths in them start."""
    return [part for text in assignments for part in _read_assignment(text, folder, problems)]


def note_settings(settings: MergedSettings, output: Output) -> None:
    """Write a note for each setting that does not count."""
    for part in settings.parts:
        if part.why_ignored and part.key != "skills.folders":  # the loader of skills names each skill
            output.note(f"ignored: {part.as_ignored()}")


def note_unused(settings: MergedSettings, keys: Iterable[str], why: str, output: Output) -> None:
    """Write a note for each part of *keys* that a user has set, and that has no effect in this command."""
    for part in settings.parts:
        if part.key in keys and part.layer != "default" and not part.why_ignored:
            output.note(f"not used: {replace(part, why_ignored=why).as_ignored()}")


def note_instructions(instructions: Instructions, output: Output) -> None:
    """Write a note for each instruction file: that the model gets it, or why not."""
    for file in instructions.files:
        output.note(f"instructions: {file}", "dim")
    for entry in instructions.left_out:
        output.note(f"instructions left out: {entry}")


def _read_assignment(text: str, folder: Path, problems: list[str]) -> list[SettingPart]:
    name, sign, value = text.partition("=")
    place = f"--set {name.strip()}"
    if not sign:
        problems.append(f"--set {text:.80}: write KEY=VALUE, such as budget.tokens=10000")
        return []
    key = KEYS.get(name.strip())
    before = len(problems)
    parsed = value if key is None else parse_setting(key, value, place, problems)
    if len(problems) > before:
        return []
    return read_overrides({name.strip(): parsed}, "command line", folder, problems, place=place)
