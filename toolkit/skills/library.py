"""
A catalog with skills, which are prompts in Markdown files, as tools beside others.

    skills = Skills(catalog, user_skills(), project=".", trust=Trust())
    agent = Agent(provider, Dispatcher(skills, permissions=Permissions()))
    run = await agent.run(skills.expanded("/review src/parser.py"))

The tools of the catalog and the skills form one catalog, which follows changes in both. If a file is written, changed
or removed, the catalog notices this the next time that it is used.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

from .._plumbing.forks import renew_in_children
from ..catalogs.snapshot import Table
from ..catalogs.views import CatalogView
from ..errors import BadArgs, DefinitionError, Problem
from ..settings.trust import IgnoredSetting, Trust
from .catalog_join import JoinedTable, SkillJoiner
from .front_matter import check_yaml_installed
from .loaded_skills import LoadedSkills
from .prompts import prompt_of
from .records import Skill, SkillProblem, skill_of
from .slash_commands import expand_commands, parse_typed_arguments

__all__ = ["Skills"]

_log = logging.getLogger("toolkit")


class Skills(CatalogView):
    """
    The tools of *catalog*, and the skills of *folders* and of a project.

    A file with mistakes is left out and reported in `problems` and in the log. The other files count.

    Args:
        catalog: The tools. It must contain the tools that a skill lists.
        folders: Folders of the user or of the program. `user_skills()` returns the usual folder of the user.
        project: The folder of the project, whose skills are in `.toolkit/skills`.
        trust: Knows whether the user trusts the project. Without it, the project is not trusted.
        check_seconds: How long the result of a look at the files is used before the next look.
    """

    def __init__(
        self,
        catalog: CatalogView,
        *folders: str | os.PathLike[str],
        project: str | os.PathLike[str] | None = None,
        trust: Trust | None = None,
        check_seconds: float = 1.0,
        clock: Callable[[], float] = time.monotonic,
        time_ns: Callable[[], int] = time.time_ns,
    ) -> None:
        if not isinstance(catalog, CatalogView):
            raise TypeError(f"skills stand beside the tools of a catalog, got {type(catalog).__name__}")
        if not check_seconds >= 0:
            raise ValueError(f"check_seconds has to be 0 or more, got {check_seconds!r}")
        check_yaml_installed()
        own = dict.fromkeys(Path(os.path.abspath(os.path.expanduser(folder))) for folder in folders)
        home = None if project is None else Path(os.path.abspath(os.path.expanduser(project)))
        self._loaded_skills = LoadedSkills(tuple(own), home, trust, self.get, self._look_again, time_ns)
        join = SkillJoiner()
        super().__init__((catalog, self._loaded_skills), lambda tools, shelf: join(tools, shelf.tools.values()))
        self._check_seconds = check_seconds
        self._clock = clock
        self._checked_at = clock()
        self.renew_after_fork()
        renew_in_children(self)
        self._logged_problems: frozenset[SkillProblem] = frozenset()
        self.refresh()

    def renew_after_fork(self) -> None:
        """Forget that another thread was looking at the files, because a forked child does not have that thread."""
        self._lock = threading.RLock()
        self._is_checking = False

    @property
    def table(self) -> Table:
        """The tools and skills as they are now."""
        if self._clock() - self._checked_at >= self._check_seconds and self._lock.acquire(blocking=False):
            try:
                self._check_files(self._loaded_skills.read_if_changed)
            finally:
                self._lock.release()
        return super().table

    def refresh(self) -> None:
        """Read the files now, without regard to what is known about them."""
        with self._lock:
            self._check_files(self._loaded_skills.read)

    def _look_again(self) -> None:
        """Read the files if they have changed, also if the last look was a moment ago."""
        with self._lock:
            self._check_files(self._loaded_skills.read_if_changed)

    def _check_files(self, read_files: Callable[[], None]) -> None:
        # A listener that is told of a change reads the table too, so this method may be called again from within.
        if self._is_checking:
            return
        self._is_checking = True
        try:
            self._checked_at = self._clock()
            read_files()
            self._log_new_problems()
        finally:
            self._is_checking = False

    @property
    def problems(self) -> tuple[SkillProblem, ...]:
        """What is wrong with the skills that are left out, each with its file, its line and the remedy."""
        table = cast("JoinedTable", self.table)
        return (*self._loaded_skills.problems, *table.problems)

    @property
    def ignored(self) -> tuple[IgnoredSetting, ...]:
        """The skill files of the project that do not count, and why."""
        _ = self.table
        return self._loaded_skills.ignored

    @property
    def skills(self) -> tuple[Skill, ...]:
        """The skills that count, in order."""
        return tuple(skill for tool in self if (skill := skill_of(tool)) is not None)

    def finish(self) -> None:
        """
        Complete every tool.

        Raises:
            DefinitionError: A tool cannot be completed, or a skill has mistakes.
        """
        super().finish()
        if problems := self.problems:
            raise DefinitionError("\n".join(map(str, problems)))

    def expanded(self, prompt: str) -> str:
        """
        Return *prompt* with every line `/name text` that names a skill replaced by the prompt of that skill.

        The rest of *prompt* stays as it is.

        Raises:
            BadArgs: The text does not give the arguments that the skill needs.
            ToolError: The prompt would be too long.
        """
        return expand_commands(prompt, self._expand_command)

    def _expand_command(self, name: str, text: str) -> str | None:
        tool = self.table.find(name)
        skill = None if tool is None else skill_of(tool)
        if tool is None or skill is None:
            return None
        try:
            return prompt_of(skill, tool.check(parse_typed_arguments(skill, text)))
        except BadArgs as error:
            raise BadArgs([Problem(f"/{name}: {problem}") for problem in error.problems]) from None

    def _log_new_problems(self) -> None:
        """Log the problems that are new."""
        problems = self.problems
        for problem in problems:
            if problem not in self._logged_problems:
                _log.warning("a skill is left out: %s", problem)
        self._logged_problems = frozenset(problems)
