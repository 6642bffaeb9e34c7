"""
The `grep` tool, which finds the lines that match, with the newest file first.

The tool uses ripgrep if it is installed and there is much to search. The answer is the same without it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from ...access import Reads
from ...calls.kept_outputs import output_memory
from ...context import Context
from ...decorator import tool
from ...errors import BadArgs, Problem, ToolError
from ...spec import Tool
from ...workspace import Entry, Workspace
from ..files.missing_paths import find_entry
from ..time_limit import TimeLimit, TimeUp, time_limit_for
from .gitignore import GitignoreFilter, path_prefix_of
from .globs import Glob
from .grep_syntax import Query, build_query
from .line_search import MAX_FILE_BYTES, NO_MATCHES, FileMatches, search_file
from .output_search import search_output
from .ripgrep import Ripgrep, is_worth_it, ripgrep_for
from .search_report import ReportMode, SearchReport, describe_unused_rules, format_names, format_path

__all__ = ["FILE_TYPES", "FileType", "grep_for"]

_MAX_LIMIT = 1000
_MAX_CONTEXT_LINES = 20
_REPORT_EVERY_FILES = 5000

FileType = Literal[
    "c", "config", "cpp", "cs", "css", "docs", "go", "html", "java", "js", "json", "kotlin", "lua", "php", "py", "ruby",
    "rust", "scala", "sh", "sql", "swift", "ts", "xml", "yaml",
]  # fmt: skip

FILE_TYPES: dict[FileType, str] = {
    "c": "*.{c,h}",
    "config": "*.{toml,ini,cfg,conf,properties,env.example}",
    "cpp": "*.{cpp,cc,cxx,c++,hpp,hh,hxx,h,inl}",
    "cs": "*.{cs,csx}",
    "css": "*.{css,scss,sass,less}",
    "docs": "{*.{md,markdown,rst,txt,adoc},README*,CHANGELOG*}",
    "go": "{*.go,go.mod}",
    "html": "*.{html,htm,xhtml,jinja,jinja2,j2,vue,svelte}",
    "java": "*.java",
    "js": "*.{js,jsx,mjs,cjs}",
    "json": "*.{json,jsonl,json5,jsonc}",
    "kotlin": "*.{kt,kts}",
    "lua": "*.lua",
    "php": "*.{php,phtml}",
    "py": "*.{py,pyi,pyw}",
    "ruby": "{*.{rb,rake,gemspec},Gemfile,Rakefile}",
    "rust": "*.rs",
    "scala": "*.{scala,sbt,sc}",
    "sh": "*.{sh,bash,zsh,ksh,fish}",
    "sql": "*.sql",
    "swift": "*.swift",
    "ts": "*.{ts,tsx,mts,cts}",
    "xml": "*.{xml,xsd,xsl,xslt,svg}",
    "yaml": "*.{yaml,yml}",
}


def grep_for(workspace: Workspace, *, ripgrep: bool | None = None) -> Tool:
    """
    Return the tool that searches in files of *workspace*.

    Args:
        ripgrep: Whether to use ripgrep. True uses it always, False never. None uses it where it pays, if it and a
            sandbox for it are installed.
    """
    ripgrep_helper = ripgrep_for(workspace, ripgrep)

    @tool(
        catalog=None,
        read_only=True,
        group="search",
        search_hint="find text content regex rg ripgrep word defined used",
        summary=lambda arguments: arguments["pattern"],
        timeout_seconds=workspace.timeout_seconds,
        validate=_find_problems,
    )
    def grep(
        pattern: str,
        *,
        path: Annotated[str, Reads] = ".",
        glob: str = "",
        file_type: FileType | None = None,
        mode: ReportMode = "lines",
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
            path: A folder or file to search in, or the handle of a cut result; the whole workspace unless given.
            glob: Only files like this: `*.py` at any depth, or `src/**/*.{ts,tsx}` from the path on.
            file_type: Only files of this kind.
            mode: "lines"; "files" for the names of files only; "count" for the number of lines in each file.
            ignore_case: Whether capital and small letters are the same.
            fixed: Whether every character of the pattern stands for itself.
            context_lines: How many lines to show around each line found.
            limit: How many lines, or files, to show at most.
            ignored: Whether to search what .gitignore leaves out, too.
        """
        if problems := _find_problems({"glob": glob, "context_lines": context_lines, "limit": limit}):
            raise BadArgs(problems)
        output = output_memory.find(context.session, path, context.call.principal)
        if output is not None:
            _refuse_file_options(glob=glob, file_type=file_type, mode=mode, context_lines=context_lines)
        query = build_query(pattern, fixed=fixed, ignore_case=ignore_case)
        if output is not None:
            return search_output(output, query, context, max_matches=limit, prefix=f"{output.handle}:")
        search = _Search(
            query,
            workspace,
            context,
            time_limit_for(workspace.timeout_seconds, context),
            GitignoreFilter(workspace, path, include_ignored=ignored),
            _FileFilter(workspace, path, glob, file_type),
            SearchReport(mode, limit=limit, context_lines=context_lines, pattern=query.line_pattern),
        )
        return search.run(path, ripgrep_helper, always=bool(ripgrep))

    return Tool.of(grep)


@dataclass(frozen=True, slots=True)
class _Search:
    """One search through the files that *gitignore* and *file_filter* leave, which ends in *report*."""

    query: Query
    workspace: Workspace
    context: Context
    time_limit: TimeLimit
    gitignore: GitignoreFilter
    file_filter: _FileFilter
    report: SearchReport

    def run(self, path: str, ripgrep: Ripgrep | None, *, always: bool) -> str:
        """
        Search below *path*, and return the report.

        *ripgrep* first says which files need no search, if there is much to search or *always* is set.
        """
        try:
            entries = self._list_files(path)
        except TimeUp:
            return "(the time was up before all files were listed, and nothing was searched; narrow the path)"
        files = [entry for entry in entries if entry.size <= MAX_FILE_BYTES]
        timeout_note = self._search_files(files, ripgrep if always or is_worth_it(files) else None)
        left_out = self.gitignore.left_out if self.report.is_empty else 0
        notes = _notes(entries, timeout_note, left_out) + describe_unused_rules(self.gitignore.unused)
        return self.report.text(notes=notes)

    def _list_files(self, path: str) -> list[Entry]:
        """Return the files to search, the one that changed last first."""
        top = find_entry(self.workspace, path)
        if top.kind != "folder":
            self.workspace.open(path).close()  # raises an error that says why the file cannot be read
            return [top]

        def skip(entry: Entry) -> bool:
            self.time_limit.check()
            return self.gitignore(entry)

        walk = self.workspace.walk(path, skip=skip)
        entries = [entry for entry in walk if entry.kind == "file" and self.file_filter(entry)]
        return sorted(entries, key=lambda entry: (-entry.modified, entry.path))

    def _search_files(self, files: list[Entry], ripgrep: Ripgrep | None) -> str:
        """Search *files* until the report is full or the time is up, and return a note if it is."""
        done = 0
        try:
            unmatched: set[str] = set()
            if ripgrep is not None:
                unmatched = ripgrep.find_files_without_match(self.query, files, self.time_limit)
            for done, entry in enumerate(files):
                self.time_limit.check()
                if not done % _REPORT_EVERY_FILES:
                    self.context.report(done, len(files), "searching")
                if entry.path not in unmatched:
                    self.report.add(entry, self._search_file(entry))
                if self.report.is_full:
                    break
        except TimeUp:
            return f"the time was up after {done:,} of {len(files):,} files; narrow the path or the files"
        return ""

    def _search_file(self, entry: Entry) -> FileMatches:
        """Return what is found in a file, or `NO_MATCHES` if a rule or a check denies reading it."""
        first_only = self.report.mode == "files"  # it is enough to know that the file matches
        result = search_file(self.workspace, entry, self.query, self.time_limit, first_only=first_only)
        if result.refused is not None or result == NO_MATCHES:
            return result
        try:
            self.context.permissions.check(Reads(os.path.join(self.workspace.root, entry.path)))
        except ToolError:
            return NO_MATCHES  # without a note, because a note would reveal that the file matches
        return result


def _notes(entries: list[Entry], timeout_note: str, left_out: int) -> list[str]:
    """Return notes on the files that were not searched, and why."""
    notes = []
    if large := [format_path(entry.path) for entry in entries if entry.size > MAX_FILE_BYTES]:
        notes.append(f"{len(large):,} larger than {MAX_FILE_BYTES:,} bytes not searched: {format_names(large)}")
    if timeout_note:
        notes.append(timeout_note)
    if left_out:
        notes.append(f"{left_out:,} left out by .gitignore; ignored=true searches them")
    return notes


def _find_problems(arguments: Any) -> list[Problem]:
    problems = []
    for name, low, high in (("context_lines", 0, _MAX_CONTEXT_LINES), ("limit", 1, _MAX_LIMIT)):
        if not low <= arguments[name] <= high:
            problems.append(Problem(f"has to be from {low} to {high}, got {arguments[name]}", (name,)))
    if arguments["glob"]:
        try:
            Glob(arguments["glob"])
        except ValueError as error:
            problems.append(Problem(str(error), ("glob",)))
    return problems


def _refuse_file_options(*, glob: str, file_type: str | None, mode: ReportMode, context_lines: int) -> None:
    """Raise `BadArgs` if one of the options is given that mean nothing for a kept output."""
    options = {"glob": glob, "file_type": file_type, "mode": mode != "lines", "context_lines": context_lines}
    if names := [name for name, is_given in options.items() if is_given]:
        remedy = "leave it out; `read_output` shows what is around a place"
        raise BadArgs([Problem(f"the path is a cut result, which has no files; {remedy}", (name,)) for name in names])


class _FileFilter:
    """Decides which files to search: by a pattern of names or paths, and by their kind."""

    def __init__(self, workspace: Workspace, path: str, glob: str, file_type: FileType | None) -> None:
        self._glob = Glob(glob.removeprefix("./")) if glob else None
        self._matches_path = "/" in glob
        self._type = None if file_type is None else Glob(FILE_TYPES[file_type])
        self._start = len(path_prefix_of(workspace, path))

    def __call__(self, entry: Entry) -> bool:
        if self._type is not None and not self._type.matches(entry.name):
            return False
        if self._glob is None:
            return True
        return self._glob.matches(entry.path.removeprefix("./")[self._start :] if self._matches_path else entry.name)
