"""The `glob` tool, which lists files and folders by their names, newest first."""

from __future__ import annotations

from typing import Annotated, Any

from ..._plumbing.wording import in_backticks
from ...access import Reads
from ...context import Context
from ...decorator import tool
from ...errors import BadArgs, Problem, ToolError
from ...spec import Tool
from ...workspace import Entry, Workspace
from ..files.missing_paths import find_entry
from ..time_limit import TimeLimit, TimeUp, time_limit_for
from .gitignore import GitignoreFilter, path_prefix_of
from .globs import Glob
from .search_report import describe_unused_rules, format_path

__all__ = ["glob_for"]

_MAX_LIMIT = 2000


def glob_for(workspace: Workspace) -> Tool:
    """Return the tool that lists files and folders of *workspace*."""

    @tool(
        catalog=None,
        read_only=True,
        group="search",
        search_hint="directory ls find tree name look around",
        summary=lambda arguments: arguments["pattern"],
        timeout_seconds=workspace.timeout_seconds,
        validate=_find_problems,
    )
    def glob(
        pattern: str = "*",
        *,
        path: Annotated[str, Reads] = ".",
        limit: int = 200,
        ignored: bool = False,
        context: Context,
    ) -> str:
        """List files and folders whose paths match a pattern, the one that changed last first.

        One path a line, from the workspace; folders end in `/`. What .gitignore leaves out is not listed.

        Args:
            pattern: `*` lists a folder, `*.py` files in it, `**/*.py` files at any depth, `src/**/*.{ts,tsx}`
                files of two kinds below src, `**/` all folders. `?` is one character, `[a-z]` one of a set.
            path: The folder that the pattern starts from; the workspace unless given.
            limit: How many to show at most.
            ignored: Whether to list what .gitignore leaves out, too.
        """
        if problems := _find_problems({"pattern": pattern, "limit": limit}):
            raise BadArgs(problems)
        gitignore = GitignoreFilter(workspace, path, include_ignored=ignored)
        glob_walk = _GlobWalk(
            _PathFilter(pattern.removeprefix("./")),
            gitignore=gitignore,
            time_limit=time_limit_for(workspace.timeout_seconds, context),
            start=len(path_prefix_of(workspace, path)),
        )
        if find_entry(workspace, path).kind != "folder":
            raise ToolError(f"{workspace.shown(path)} is not a folder; give the folder that it is in as `path`")
        glob_walk.walk(workspace, path)
        entries = sorted(glob_walk.entries, key=lambda entry: (-entry.modified, entry.path))
        notes = _notes(len(entries), limit, glob_walk.left_out, is_whole=glob_walk.is_whole)
        notes += describe_unused_rules(gitignore.unused)
        if not entries and pattern != "*" and "/" not in pattern and "**" not in pattern:
            notes.append(
                f"{in_backticks(pattern)} looks in one folder; {in_backticks(f'**/{pattern}')} looks at any depth"
            )
        rows = [format_path(entry.path) + "/" * (entry.kind == "folder") for entry in entries[:limit]]
        return "\n".join([*rows, *(f"({note})" for note in notes)])

    return Tool.of(glob)


def _find_problems(arguments: Any) -> list[Problem]:
    problems = []
    pattern, limit = arguments["pattern"], arguments["limit"]
    if not 1 <= limit <= _MAX_LIMIT:
        problems.append(Problem(f"has to be from 1 to {_MAX_LIMIT:,}, got {limit}", ("limit",)))
    if pattern.startswith("/"):
        remedy = "it starts at the root of the disk; give the folder as `path`, and the pattern from there on"
        problems.append(Problem(remedy, ("pattern",)))
    elif ".." in pattern.split("/"):
        problems.append(Problem("it leaves the folder with `..`; give the folder as `path`", ("pattern",)))
    else:
        try:
            _PathFilter(pattern.removeprefix("./"))
        except ValueError as error:
            problems.append(Problem(str(error), ("pattern",)))
    return problems


class _GlobWalk:
    """
    Collects what a walk finds.

    `left_out` counts the wanted entries, and folders that could hold them, that .gitignore leaves out. *start* is the
    length of the path that leads to the folder in which the walk starts.
    """

    def __init__(
        self, path_filter: _PathFilter, *, gitignore: GitignoreFilter, time_limit: TimeLimit, start: int
    ) -> None:
        self._path_filter = path_filter
        self._gitignore = gitignore
        self._time_limit = time_limit
        self._start = start
        self.entries: list[Entry] = []
        self.left_out = 0
        self.is_whole = True

    def walk(self, workspace: Workspace, path: str) -> None:
        try:
            for _ in workspace.walk(path, skip=self._skips):
                pass
        except TimeUp:
            self.is_whole = False

    def _skips(self, entry: Entry) -> bool:
        """Take *entry* if it is wanted, and return whether the walk can skip its content."""
        self._time_limit.check()
        inner, is_folder = entry.path.removeprefix("./")[self._start :], entry.kind == "folder"
        is_taken = self._path_filter.matches(inner, is_folder=is_folder)
        goes_on = is_folder and self._path_filter.may_match_below(inner)
        if self._gitignore(entry):
            self.left_out += entry.name != ".git" and (is_taken or goes_on)
            return True
        if is_taken:
            self.entries.append(entry)
        return is_folder and not goes_on


class _PathFilter:
    """Decides which paths a pattern matches, and which folders can hold such paths."""

    def __init__(self, pattern: str) -> None:
        self._only_folders = pattern.endswith("/")
        self._whole = Glob(pattern.removesuffix("/") or pattern)
        self._alternatives = [_name_globs(alternative) for alternative in self._whole.alternatives]

    def matches(self, path: str, *, is_folder: bool) -> bool:
        return (is_folder or not self._only_folders) and self._whole.matches(path)

    def may_match_below(self, folder: str) -> bool:
        names = folder.split("/")
        return any(_may_hold_match(globs, names) for globs in self._alternatives)


def _name_globs(pattern: str) -> list[Glob | None]:
    """Return one pattern for each name on the way to a match, and None at the end if any number of names may follow."""
    globs: list[Glob | None] = []
    try:
        for name in pattern.split("/"):
            if "**" in name:
                break
            globs.append(Glob(name))
        else:
            return globs
    except ValueError:
        pass  # a `/` inside a set matches nothing, but the pattern cannot be split there
    return [*globs, None]


def _may_hold_match(globs: list[Glob | None], names: list[str]) -> bool:
    """Return whether there can be matches below the folder that *names* lead to."""
    for glob, name in zip(globs, names, strict=False):
        if glob is None:
            return True
        if not glob.matches(name):
            return False
    return len(globs) > len(names)


def _notes(count: int, limit: int, left_out: int, *, is_whole: bool) -> list[str]:
    notes = []
    if not count:
        notes.append("nothing matches")
    if count > limit:
        notes.append(f"{count - limit:,} more; narrow the pattern or the path, or raise the limit")
    if left_out:
        notes.append(f"{left_out:,} left out by .gitignore; ignored=true lists them")
    if not is_whole:
        notes.append("the time was up before everything was looked at; narrow the pattern or the path")
    return notes
