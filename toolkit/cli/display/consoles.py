"""
Make consoles that use only what a stream can do.
"""

from __future__ import annotations

import io
from typing import TextIO

from rich.console import Console

__all__ = ["allow_any_letter", "console_on"]

_WIDEST = 100_000


def console_on(stream: TextIO) -> Console:
    """Return a console that uses colours and moves the cursor only if *stream* is a terminal."""
    is_terminal = stream.isatty()
    # If there is no screen, no row is too wide, so each row of a table is one line.
    width = None if is_terminal else _WIDEST
    console = Console(file=stream, force_terminal=is_terminal, width=width, highlight=False, emoji=False, markup=False)
    allow_any_letter(console)
    return console


def allow_any_letter(console: Console) -> None:
    """Make the stream write a letter that its encoding lacks as a code. Rich would raise an exception instead."""
    file = console.file
    if not console.encoding.startswith("utf") and isinstance(file, io.TextIOWrapper):
        file.reconfigure(errors="backslashreplace")
