"""Files that a command reads although they are no operands: in patterns, in a list at its input, and in scripts."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .options import Args
from .printed_texts import input_text

__all__ = ["find_names_read"]

_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack", "ugrep"})
_CHOSEN = ("--include", "-g", "--glob", "--iglob")
# A pattern such as `*.py` is about so many files that it says nothing about one of them.
_PRECISE = re.compile(r"(?:.*/)?(?:\.[^/]*|[^/*?\[{]+)")
_PACKERS = frozenset({"cpio", "pax", "tar", "gtar", "bsdtar", "zip", "rsync"})
_IMPORT = re.compile(r"\.import\s+(?:-\S+\s+(?:\d+\s+)?)*['\"]?([^\s'\"]+)")


def find_names_read(args: Args) -> Iterator[str]:
    """Yield names of files, or patterns for them, that a command reads."""
    name = args.command.name
    if name in _SEARCHERS:
        # The pattern behind a `!` is for files that are left out.
        yield from (value for value in args.values(*_CHOSEN) if _PRECISE.fullmatch(value) and value[0] != "!")
    if name in _PACKERS:
        yield from input_text(args.command).split()
    if name == "sqlite3":
        texts = (*args.words, input_text(args.command))
        yield from (file for text in texts for file in _IMPORT.findall(text))
