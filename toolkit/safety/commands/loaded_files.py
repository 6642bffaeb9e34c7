"""The files that code on a command line loads: `perl -e 'do "./s"'`, `sqlite3 :memory: '.read s'`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .inline_code import find_inline_code
from .options import Args

__all__ = ["find_files_loaded_by_code", "find_files_loaded_by_words", "names_any_file"]

_LOADS = (
    r"(?:(?<![.\w$])(?:Kernel\.)?(?:do|require\w*|include\w*|load|autoload|source|import|from|use|dofile|loadfile|run)\b"
    r"|#use\b|:l(?:oad)?\b)"
)
_LOADS_VARIABLE = re.compile(rf"{_LOADS}[\s(]*[$@]")
_QUOTE = r"""[\s("'<]*(?:qq?\W)?"""
# The files that an interpreter reads as data.
_DATA = re.compile(r".*\.json", re.IGNORECASE)
# The endings that code may leave out.
_ENDING = re.compile(
    r"(?<=.)\.(?:py[cdwo]?|so|[cm]?[jt]sx?|node|rb|p[lm]|lua|php|jl|r|tcl|sh|\w*\*\w*)$", re.IGNORECASE
)
# Commands in the language of an editor, a debugger or a database.
_WORD_LOADS = re.compile(
    r"""(?:^|[\s;"':|])(?:\.(?:read|load)|\\ir?|\\include(?:_relative)?|source|so|ru(?:ntime)?|luafile|pyfile|rubyfile)"""
    r"""\s+["']?([^\s"';|]+)"""
)
_TAKE_COMMANDS = frozenset({
    "sqlite3", "sqlite", "psql", "mysql", "mariadb", "gdb", "lldb", "vim", "vi", "ex", "nvim", "view", "gnuplot",
    "lftp", "duckdb",
})  # fmt: skip


def find_files_loaded_by_code(args: Args, files: Iterable[str]) -> Iterator[str]:
    """Yield those of *files*, which are last names, that the code on the command line of an interpreter loads."""
    code = find_inline_code(args)
    if code is None:
        return
    names = {file: rf"(?:{re.escape(file)}|{re.escape(_ENDING.sub('', file))})(?![\w-])" for file in files}
    # All names are searched at once, and few folders before them: the code and the list may both be long.
    any_name = "|".join(sorted(names.values(), key=len, reverse=True))
    loads = re.finditer(rf"{_LOADS}(?={_QUOTE}(?:[\w.-]{{0,100}}/){{0,20}}({any_name}))", code) if names else ()
    loaded = {match[1] for match in loads}
    loads_variable = _LOADS_VARIABLE.search(code) is not None
    for file, name in names.items():
        is_loaded = any(re.match(name, text) for text in loaded)
        is_loaded = is_loaded or (loads_variable and re.search(rf"(?<![\w.-]){name}", code) is not None)
        if is_loaded and not _DATA.fullmatch(file) and file.strip("*"):
            yield file


def find_files_loaded_by_words(args: Args) -> Iterator[str]:
    """Yield the files that a command of a database, a debugger or an editor loads: `vim -c 'source s'`."""
    if args.command.name in _TAKE_COMMANDS:
        yield from (file for word in args.words for file in _WORD_LOADS.findall(word))


def names_any_file(text: str | None, files: Iterable[str]) -> bool:
    """Return whether a script names a file that the line also writes, so that its text does not show all it runs."""
    patterns = (re.escape(name).replace(r"\*", r"[\w.-]*") for name in files if name.strip("*"))
    return any(re.search(rf"(?<![\w.-]){pattern}(?![\w.-])", text or "") for pattern in patterns)
