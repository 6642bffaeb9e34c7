"""`toolkit settings`: show the merged settings, and where each part of them was written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.text import Text

from ...builders import find_instructions
from ...settings import Instructions, MergedSettings
from ...settings.keys import KEYS
from ...settings.records import shown_value
from ..command import subcommand
from ..output import Output, to_safe_text
from ..settings_options import load_command_settings, set_option

__all__ = ["command"]


@subcommand("settings")
@set_option
def command(output: Output, assignments: tuple[str, ...]) -> None:
    """Show the settings for this folder and where each comes from.

    They come from your files (toolkit.toml and skills in ~/.config/toolkit), from the files of the project in .toolkit,
    from the environment (TOOLKIT_MODE and so on) and from --set. A later one counts before an earlier one. Until you
    trust the project, its files can only make the settings stricter; what does not count is listed with the reason. The
    output also names the instruction files, such as AGENTS.md, that an agent gets.

    \b
    Examples:
      toolkit settings
      toolkit settings --set mode=plan --set budget.tokens=10000
      toolkit settings --json | jq .settings.mode
    """
    settings = load_command_settings(assignments)
    instructions = find_instructions(settings)
    if output.is_json:
        output.json(_as_json(settings, instructions))
        return
    output.table(["setting", "value", "from"], _rows(settings))
    for title, lines in _sections(settings, instructions).items():
        if lines:
            output.show(Text(f"\n{title}", "bold"), *(to_safe_text(f"  {line}") for line in lines))


def _rows(settings: MergedSettings) -> Iterator[tuple[str, str, str | Text]]:
    """Yield a row for each single value, and for each entry of a list or a table."""
    for key in KEYS:
        parts = settings.parts_of(key)
        if not parts:
            yield key, "none", Text("default", "dim")
        for number, part in enumerate(parts):
            label = part.full_key if part.name or number == 0 else ""
            yield label, shown_value(part.value), Text("default", "dim") if part.layer == "default" else part.origin


def _sections(settings: MergedSettings, instructions: Instructions) -> dict[str, list[str]]:
    return {
        "Instruction files": [str(file) for file in instructions.files],
        "Instruction files that are left out": [str(entry) for entry in instructions.left_out],
        "Settings that do not count": [str(entry) for entry in settings.ignored],
        "Files": [str(path) for path in settings.files],
    }


def _as_json(settings: MergedSettings, instructions: Instructions) -> dict[str, Any]:
    return {
        **settings.to_json(),
        "ignored": [{"what": entry.what, "why": entry.why} for entry in settings.ignored],
        "instructions": {
            "files": [{"path": str(file.path), "characters": len(file.text)} for file in instructions.files],
            "left_out": [{"path": entry.what, "why": entry.why} for entry in instructions.left_out],
        },
    }
