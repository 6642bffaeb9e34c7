"""
The skills that the files hold now, and why others are not among them.

A folder of the user counts at once. What a project brings in `.toolkit/skills`
counts only while the user trusts the project with the content it has.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from ..catalog import Catalog
from ..permissions.rule_files import Ignored
from ..permissions.trust import PROJECT_FOLDER, Trust, configuration_folder, distrust
from ..spec import Tool
from ..values.visible import visible
from .parsing import read_skill
from .problems import SkillProblem
from .skill_files import Stamp, contents, file_stamp, is_settled, stamp, tree_stamp
from .skill_tools import tool_of

__all__ = ["Shelf", "user_skills"]

_NAME = "skills"
_File: TypeAlias = tuple[Path, bytes, bool]
_Reading: TypeAlias = Tool | tuple[SkillProblem, ...]


def user_skills() -> Path:
    """Where the user's own skills are, whether or not there are any."""
    return configuration_folder() / _NAME


class Shelf(Catalog):
    """
    The skills of some folders as tools, by path because two may have one name; what they use is not looked at.

    Attributes:
        problems: What is wrong with files and folders.
        ignored: What a project brings and what does not count, and why.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        project: Path | None,
        trust: Trust | None,
        find: Callable[[str], Tool | None],
        time_ns: Callable[[], int],
    ) -> None:
        super().__init__()
        self.problems: tuple[SkillProblem, ...] = ()
        self.ignored: tuple[Ignored, ...] = ()
        self._folders = folders
        self._project = project
        self._trust = trust
        self._find = find
        self._time_ns = time_ns
        self._known: dict[_File, _Reading] = {}
        self._seen: Stamp = frozenset()
        self._is_settled = False

    def look(self) -> None:
        """Read the files again if they may have changed."""
        if not self._is_settled or self._stamp() != self._seen:
            self.read()

    def read(self) -> None:
        """Read the files, and hold what they say."""
        # The stamp first: what changes while the files are read shows in the next one.
        self._seen = self._stamp()
        self._is_settled = is_settled(self._seen, self._time_ns())
        problems: list[SkillProblem] = []
        files = [*self._own_files(problems), *self._project_files(problems)]
        self._known = {file: self._known.get(file) or self._reading(file) for file in files}
        tools = {}
        for (path, _, _), found in self._known.items():
            if isinstance(found, Tool):
                tools[str(path)] = found
            else:
                problems += found
        self.problems = tuple(problems)
        if list(tools.values()) != list(self.table.tools.values()):
            with self._change() as (content, _):
                content.clear()
                content.update(tools)

    def _own_files(self, problems: list[SkillProblem]) -> Iterator[_File]:
        for folder in self._folders:
            if os.path.exists(folder):
                found, wrong = contents(folder)
                problems += wrong
                yield from ((path, content, False) for path, content in found.items())
            elif folder != user_skills():  # most people have none
                problems.append(SkillProblem(folder, None, "there is no such folder; make it, or correct the path"))

    def _project_files(self, problems: list[SkillProblem]) -> list[_File]:
        self.ignored = ()
        folder = None if self._project is None else self._project / PROJECT_FOLDER / _NAME
        if self._project is None or folder is None or not os.path.exists(folder):
            return []
        found, wrong = contents(folder)
        why = distrust(self._trust, self._project)
        if why is None and contents(folder)[0] != found:
            # What was read has to be what is trusted: nobody may swap a file in between.
            why, self._is_settled = f"{folder} changed while it was read; look again", False
        if why is not None:
            self.ignored = tuple(Ignored(visible(str(path), keep_lines=False), why) for path in found)
            return []
        problems += wrong
        return [(path, content, True) for path, content in found.items()]

    def _reading(self, file: _File) -> _Reading:
        path, content, is_project = file
        skill, problems = read_skill(path, content, project=is_project)
        return tuple(problems) if skill is None else tool_of(skill, self._find)

    def _stamp(self) -> Stamp:
        seen = frozenset().union(*map(stamp, self._folders))
        if self._project is not None and self._trust is not None:
            seen |= tree_stamp(self._project / PROJECT_FOLDER) | file_stamp(self._trust.path)
        return seen
