"""
The `grep` tool, which finds the lines that match, with the newest file first.

The tool uses ripgrep if it is installed and there is much to search. The answer is the same without it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any

from ...access import Reads
from ...context import Context
from ...decorator import tool
from ...errors import BadArgs, Problem, ToolError
from ...spec import Tool
from ...workspace import Entry, Workspace
from ..files.missing_paths import present_at
from ..time_limit import Stopped, Watch, watch_for
from .file_types import FILE_TYPES, FileType
from .gitignore import Ignoring, start_of
from .globs import Glob
from .grep_syntax import Query, query_of
from .line_search import MOST_BYTES, NOTHING, Found, search
from .ripgrep import Ripgrep, is_worth_it, ripgrep_for
from .search_report import Mode, Tally, named, shown_path

__all__ = ["grep_for"]

_MOST_LIMIT = 1000
_MAX_CONTEXT_LINES = 20
_REPORT_EVERY = 5000


def grep_for(workspace: Workspace, *, ripgrep: bool | None = None) -> Tool:
    """
    Return the tool that searches in files of *workspace*.

    Args:
        ripgrep: Whether to use ripgrep. True uses it always, False never. None uses it where it pays, if it and a
            sandbox for it are installed.
    """
    sieve = ripgrep_for(workspace, ripgrep)

    @tool(
        catalog=None,
        read_only=True,
        group="search",
        search_hint="find text content regex rg ripgrep word defined used",
        summary=lambda arguments: arguments["pattern"],
        timeout_seconds=workspace.timeout_seconds,
        validate=_objections,
    )
    def grep(
        pattern: str,
        *,
        path: Annotated[str, Reads] = ".",
        glob: str = "",
        file_type: FileType | None = None,
        mode: Mode = "lines",
        ignore_case: bool = False,
        fixed: bool = False,
        context_lines: int = 0,
        limit: int = 100,
        ignored: bool = False,
        context: Context,
    ) -> str:
        """Search for a pattern in files, line by line.

        Each line found comes as `path:N: line`, lines around it as `path-N- line`; the file that changed last
        comes first. What .gitignore leaves out is not searched, binary and protected files are not shown.

        Args:
            pattern: A regular expression: . [a-z] [^,] \\d \\w \\s \\b ^ $ (a|b) * + ? {2,5}. No lookaround,
                no backreferences, nothing across lines.
            path: A folder or file to search in; the whole workspace unless given.
            glob: Only files like this: `*.py` at any depth, or `src/**/*.{ts,tsx}` from the path on.
            file_type: Only files of this kind.
            mode: "lines"; "files" for the names of files only; "count" for the number of lines in each file.
            ignore_case: Whether capital and small letters are the same.
            fixed: Whether every character of the pattern stands for itself.
            context_lines: How many lines to show around each line found.
            limit: How many lines, or files, to show at most.
            ignored: Whether to search what .gitignore leaves out, too.
        """
        if problems := _objections({"glob": glob, "context_lines": context_lines, "limit": limit}):
            raise BadArgs(problems)
        query = query_of(pattern, fixed=fixed, ignore_case=ignore_case)
        searching = _Search(workspace, query, watch_for(workspace, context), context, first_only=mode == "files")
        ignoring = Ignoring(workspace, path, ignored=ignored)
        try:
            listed = _files(workspace, path, ignoring, _Filter(workspace, path, glob, file_type), searching.watch)
        except Stopped:
            return "(the time was up before all files were listed, and nothing was searched; narrow the path)"
        tally = Tally(mode, limit=limit, context_lines=context_lines, pattern=query.line)
        overdue = searching.through(listed, tally, sieve, always=bool(ripgrep))
        return tally.text(notes=_notes(listed, overdue, ignoring.left_out if tally.is_empty else 0))

    return Tool.of(grep)


@dataclass(frozen=True, slots=True)
class _Search:
    """One search through files. With *first_only*, it is enough to know that a file matches."""

    workspace: Workspace
    query: Query
    watch: Watch
    context: Context
    first_only: bool

    def through(self, listed: list[Entry], tally: Tally, sieve: Ripgrep | None, *, always: bool) -> str:
        """
        Search the *listed* files that are not too large, until *tally* is full or the time is up.

        *sieve* first says which files need no search, if there is much to search or *always* is set. Return a note if
        the time was up.
        """
        files = [entry for entry in listed if entry.size <= MOST_BYTES]
        helper = sieve if always or is_worth_it(files) else None
        done = 0
        try:
            cleared = set() if helper is None else helper.cleared(self.query, files, self.watch)
            for done, entry in enumerate(files):
                self.watch.look()
                if not done % _REPORT_EVERY:
                    self.context.report(done, len(files), "searching")
                if entry.path not in cleared:
                    tally.add(entry, self._search_file(entry))
                if tally.is_full:
                    break
        except Stopped:
            return f"the time was up after {done:,} of {len(files):,} files; narrow the path or the files"
        return ""

    def _search_file(self, entry: Entry) -> Found:
        """Return what is found in a file, or `NOTHING` if a rule or a check denies reading it."""
        result = search(self.workspace, entry, self.query, self.watch, first_only=self.first_only)
        if result.refused is not None or result == NOTHING:
            return result
        try:
            self.context.permissions.check(Reads(os.path.join(self.workspace.root, entry.path)))
        except ToolError:
            return NOTHING  # without a note, because a note would reveal that the file matches
        return result


def _notes(listed: list[Entry], overdue: str, left_out: int) -> list[str]:
    """Return notes on the files that were not searched, and why."""
    notes = []
    if large := [shown_path(entry.path) for entry in listed if entry.size > MOST_BYTES]:
        notes.append(f"{len(large):,} larger than {MOST_BYTES:,} bytes not searched: {named(large)}")
    if overdue:
        notes.append(overdue)
    if left_out:
        notes.append(f"{left_out:,} left out by .gitignore; ignored=true searches them")
    return notes


def _objections(arguments: Any) -> list[Problem]:
    problems = []
    for name, low, high in (("context_lines", 0, _MAX_CONTEXT_LINES), ("limit", 1, _MOST_LIMIT)):
        if not low <= arguments[name] <= high:
            problems.append(Problem(f"has to be from {low} to {high}, got {arguments[name]}", (name,)))
    if arguments["glob"]:
        try:
            Glob(arguments["glob"])
        except ValueError as error:
            problems.append(Problem(str(error), ("glob",)))
    return problems


class _Filter:
    """Decides which files to search: by a pattern of names or paths, and by their kind."""

    def __init__(self, workspace: Workspace, path: str, glob: str, file_type: FileType | None) -> None:
        self._glob = Glob(glob.removeprefix("./")) if glob else None
        self._matches_path = "/" in glob
        self._type = None if file_type is None else Glob(FILE_TYPES[file_type])
        self._start = len(start_of(workspace, path))

    def __call__(self, entry: Entry) -> bool:
        if self._type is not None and not self._type.matches(entry.name):
            return False
        if self._glob is None:
            return True
        return self._glob.matches(entry.path.removeprefix("./")[self._start :] if self._matches_path else entry.name)


def _files(workspace: Workspace, path: str, ignoring: Ignoring, file_filter: _Filter, watch: Watch) -> list[Entry]:
    """Return the files to search, the one that changed last first."""
    top = present_at(workspace, path)
    if top.kind != "folder":
        workspace.open(path).close()  # raises an error that says why the file that the caller named cannot be read
        return [top]

    def skip(entry: Entry) -> bool:
        watch.look()
        return ignoring(entry)

    entries = [entry for entry in workspace.walk(path, skip=skip) if entry.kind == "file" and file_filter(entry)]
    entries.sort(key=lambda entry: (-entry.modified, entry.path))
    return entries
