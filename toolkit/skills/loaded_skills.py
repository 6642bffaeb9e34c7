"""
The skills that are in the files now, and why other files are left out.

A folder of the user counts at once. The skills that a project has in `.toolkit/skills` count only while the user trusts
the project with its present content.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from ..catalog import Catalog
from ..settings.project_files import PROJECT_FOLDER, ProjectFiles
from ..settings.trust import IgnoredSetting, Trust, configuration_folder, why_not_trusted
from ..spec import Tool
from ..values.visible import make_visible
from .parsing import read_skill
from .records import SkillProblem
from .skill_files import (
    SKILLS_FOLDER,
    Stamp,
    is_settled,
    list_paths,
    list_tree,
    read_contents,
    read_project_contents,
    stamp_paths,
)
from .skill_tools import tool_of

__all__ = ["LoadedSkills", "user_skills"]

_File: TypeAlias = tuple[Path, bytes, bool]
_ToolOrProblems: TypeAlias = Tool | tuple[SkillProblem, ...]


def user_skills() -> Path:
    """Return the folder of the user's own skills, whether or not it exists."""
    return configuration_folder() / SKILLS_FOLDER


class LoadedSkills(Catalog):
    """
    The skills of some folders as tools. The keys are paths, because two skills may have one name.

    The tools that a skill uses are not checked here. `problems` says what is wrong with files and folders, `ignored`
    why skill files of the project do not count.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        project: Path | None,
        trust: Trust | None,
        find_tool: Callable[[str], Tool | None],
        look_again: Callable[[], None],
        time_ns: Callable[[], int],
    ) -> None:
        super().__init__()
        self.problems: tuple[SkillProblem, ...] = ()
        self.ignored: tuple[IgnoredSetting, ...] = ()
        self._folders = folders
        self._project = project
        self._trust = trust
        self._find_tool = find_tool
        self._look_again = look_again
        self._time_ns = time_ns
        self._result_by_file: dict[_File, _ToolOrProblems] = {}
        self._last_stamp: Stamp = frozenset()
        self._is_settled = False

    def read_if_changed(self) -> None:
        """Read the files again if they may have changed."""
        if not self._is_settled or self._take_stamp() != self._last_stamp:
            self.read()

    def read(self) -> None:
        """Read the files, and store the skills and problems in them."""
        # Take the stamp first, so that a change while the files are read shows in the next stamp.
        self._last_stamp = self._take_stamp()
        self._is_settled = is_settled(self._last_stamp, self._time_ns())
        problems: list[SkillProblem] = []
        files = [*self._own_files(problems), *self._project_files(problems)]
        self._result_by_file = {file: self._result_by_file.get(file) or self._read_file(file) for file in files}
        tools = {}
        for (path, _, _), reading in self._result_by_file.items():
            if isinstance(reading, Tool):
                tools[str(path)] = reading
            else:
                problems += reading
        self.problems = tuple(problems)
        if list(tools.values()) != list(self.table.tools.values()):
            with self._change() as (content, _):
                content.clear()
                content.update(tools)

    def _own_files(self, problems: list[SkillProblem]) -> Iterator[_File]:
        for folder in self._folders:
            if os.path.exists(folder):
                files, unreadable = read_contents(folder)
                problems += unreadable
                yield from ((path, content, False) for path, content in files.items())
            elif folder != user_skills():  # most users have no such folder
                problems.append(SkillProblem(folder, None, "there is no such folder; make it, or correct the path"))

    def _project_files(self, problems: list[SkillProblem]) -> list[_File]:
        self.ignored = ()
        folder = None if self._project is None else self._project / PROJECT_FOLDER / SKILLS_FOLDER
        if self._project is None or folder is None or not os.path.exists(folder):
            return []
        project = ProjectFiles(self._project)
        reason = why_not_trusted(self._trust, project)
        if reason is not None:
            # The files of an untrusted project are not read. Their names say enough.
            self.ignored = tuple(
                IgnoredSetting(make_visible(str(path), keep_lines=False), reason) for path in list_paths(folder)
            )
            return []
        files, unreadable = read_project_contents(project)
        problems += unreadable
        return [(path, content, True) for path, content in files.items()]

    def _read_file(self, file: _File) -> _ToolOrProblems:
        path, content, is_project = file
        skill, problems = read_skill(path, content, project=is_project)
        return tuple(problems) if skill is None else tool_of(skill, self._find_tool, self._look_again)

    def _take_stamp(self) -> Stamp:
        paths: list[str | Path] = [path for folder in self._folders for path in (folder, *list_paths(folder))]
        if self._project is not None and self._trust is not None:
            paths += [*list_tree(self._project / PROJECT_FOLDER), self._trust.path]
        return stamp_paths(paths)
