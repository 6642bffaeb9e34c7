"""
Make consoles that use only what a stream can do.
"""

from __future__ import annotations

import io
from typing import TextIO

from rich.console import Console

__all__ = ["console_on", "escape_unencodable"]

_MAX_WIDTH = 100_000


def console_on(stream: TextIO) -> Console:
    """Return a console that uses colours and moves the cursor only if *stream* is a terminal."""
    is_terminal = stream.isatty()
    # If there is no screen, no row is too wide, so each row of a table is one line.
    width = None if is_terminal else _MAX_WIDTH
    console = Console(file=stream, force_terminal=is_terminal, width=width, highlight=False, emoji=False, markup=False)
    escape_unencodable(console)
    return console


def escape_unencodable(console: Console) -> None:
    """Make the stream write a letter that its encoding lacks as a code. Rich would raise an exception instead."""
    file = console.file
    if not console.encoding.startswith("utf") and isinstance(file, io.TextIOWrapper):
        file.reconfigure(errors="backslashreplace")
