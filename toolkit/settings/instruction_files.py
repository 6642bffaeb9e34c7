"""
Instruction files: what a user or a project tells the model, in `AGENTS.md`, `CLAUDE.md` or a file with another name.

    instructions = read_instructions(".")
    agent = Agent(provider, tools, system=instructions.system_prompt("You are a careful engineer."))

The files are looked for in the working folder and in every folder above it, and are joined with the outermost first.
The user's own file, in `~/.config/toolkit`, comes before them. The file of a folder counts only if the user has trusted
that folder while the file had its present content, because its text steers the model.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from .._plumbing.regular_files import explain_file_error
from .instruction_names import INSTRUCTION_NAMES, check_instruction_name, find_instruction_names, read_instruction_files
from .project_files import ProjectFiles
from .trust import IgnoredSetting, Trust, configuration_folder, why_not_trusted

__all__ = ["MAX_INSTRUCTION_CHARS", "InstructionFile", "Instructions", "read_instructions"]

MAX_INSTRUCTION_CHARS = 40_000

_INTRODUCTION = "Follow these instructions. If two of them disagree, the later one counts."


@dataclass(frozen=True, slots=True)
class InstructionFile:
    """The *path* and the *text* of an instruction file that counts."""

    path: Path
    text: str

    def __str__(self) -> str:
        return f"{self.path} ({len(self.text):,} characters)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Instructions:
    """
    The instruction files that count, and those that do not.

    Attributes:
        files: The files, the user's first, then the outermost folder's.
        left_out: The files that do not count, each with the reason.
    """

    files: tuple[InstructionFile, ...] = ()
    left_out: tuple[IgnoredSetting, ...] = ()

    @property
    def text(self) -> str:
        """The texts with their paths, for a system prompt; empty if no file counts."""
        if not self.files:
            return ""
        sections = (f"# From {file.path}\n\n{file.text.strip()}" for file in self.files)
        return "\n\n".join([_INTRODUCTION, *sections])

    def system_prompt(self, system: str = "") -> str:
        """Return *system* followed by the instructions."""
        return "\n\n".join(text for text in (system, self.text) if text.strip())


def read_instructions(
    folder: str | os.PathLike[str] = ".",
    *,
    names: Sequence[str] = INSTRUCTION_NAMES,
    max_chars: int = MAX_INSTRUCTION_CHARS,
    trust: Trust | None = None,
    user: str | os.PathLike[str] | None = None,
) -> Instructions:
    """
    Return the instruction files for work in *folder*.

    A file that does not fit is left out whole, because half of an instruction may say the opposite. The user's own file
    is taken first, so that no project pushes it out. Then the files of inner folders come before those of outer ones,
    because they are about the work at hand.

    Args:
        folder: The working folder.
        names: The names of the files. If a folder has several, they are joined in this order.
        max_chars: The length of all texts together.
        trust: The folders that the user trusts, if their file is not the usual one.
        user: The folder with the user's own file, if it is not the usual one, `~/.config/toolkit`.
    """
    checked_names = [check_instruction_name(name) for name in ([names] if isinstance(names, str) else names)]
    working_folder = Path(os.path.abspath(os.path.expanduser(folder)))
    user_folder = configuration_folder() if user is None else Path(os.path.abspath(os.path.expanduser(user)))
    reader = _FolderReader(Trust() if trust is None else trust, checked_names, max_chars)
    # The order of these reads decides which files get the room.
    own = reader.read_folder(user_folder, is_users=True)
    inner_first = [
        reader.read_folder(place, is_users=False)
        for place in (working_folder, *working_folder.parents)
        if place != user_folder
    ]
    in_order = [own, *reversed(inner_first)]
    return Instructions(
        files=tuple(file for part in in_order for file in part.files),
        left_out=tuple(entry for part in in_order for entry in part.left_out),
    )


class _FolderReader:
    """Reads the instruction files of one folder after the other, as long as there is room."""

    def __init__(self, trust: Trust, names: Sequence[str], max_chars: int) -> None:
        self._trust = trust
        self._names = names
        self._room = max_chars

    def read_folder(self, folder: Path, *, is_users: bool) -> Instructions:
        files: list[InstructionFile] = []
        left_out: list[IgnoredSetting] = []

        def leave_out(path: Path, error: Exception) -> None:
            left_out.append(IgnoredSetting(str(path), explain_file_error(error)))

        for path, content in read_instruction_files(folder, self._names, leave_out):
            why = None if is_users else self._why_not_covered(folder, path.name, content)
            text, mistake = _decode(content)
            if any(file.text == text for file in files):
                why = why or f"it has the same text as {files[0].path.name}"
            elif why is None and mistake is None and len(text) > self._room:
                why = f"it has {len(text):,} characters, and {self._room:,} are left; shorten it, or raise the limit"
            if why is not None or mistake is not None:
                left_out.append(IgnoredSetting(str(path), why or mistake or ""))
            else:
                files.append(InstructionFile(path, text))
                self._room -= len(text)
        return Instructions(files=tuple(files), left_out=tuple(left_out))

    def _why_not_covered(self, folder: Path, name: str, content: bytes) -> str | None:
        project = ProjectFiles(folder)
        why = why_not_trusted(self._trust, project)
        if why is None and not self._trust.covers_file(folder, name, content):
            command = f"toolkit trust {shlex.quote(str(folder))}"
            if name not in find_instruction_names(configuration_folder(), project):
                # The name comes from a variable, an option or a program, and the command has to be told.
                command += " --set " + shlex.quote(f"instructions.names={json.dumps(self._names, ensure_ascii=False)}")
            return f"it is new, or has changed, since you trusted {folder}; look at it, then run `{command}` again"
        return why


def _decode(content: bytes) -> tuple[str, str | None]:
    """Return the text of a file, and what is wrong with it; None if it can be used."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        return "", "it is not UTF-8; save it as UTF-8"
    return text, None if text.strip() else "it is empty"
