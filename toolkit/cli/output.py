"""
The output of a command: JSON for programs, tables and colours for people, and notes on standard error for both.

Standard output is for people if it is a terminal, and for programs if it is not, unless the user chooses otherwise.
Foreign text is text that toolkit did not write itself. In a terminal it is passed through `make_visible` first; in a
pipe it is unchanged.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal, TextIO, TypeAlias

from rich import box
from rich.console import Console, RenderableType
from rich.highlighter import JSONHighlighter
from rich.table import Table
from rich.text import Text

from ..values.rendering import as_json
from ..values.visible import make_visible

__all__ = ["Body", "Output", "OutputFormat", "claimed_stdout", "console_on", "escape_unencodable", "to_safe_text"]

_MAX_WIDTH = 100_000

OutputFormat: TypeAlias = Literal["auto", "json", "text"]

Body: TypeAlias = Callable[..., "int | None"]
"""The function of a command. It gets an `Output` and the parameters, and may return an exit code."""


def to_safe_text(text: str, style: str = "") -> Text:
    """Return foreign *text* in a form that is safe to print on one line of a terminal."""
    return Text(make_visible(text, keep_lines=False), style)


class Output:
    """
    The output of one command.

    Args:
        requested_format: The format: "json", "text", or "auto", which is text in a terminal and *piped* elsewhere.
        piped: The format that "auto" stands for if standard output is no terminal.
        stream: Where it is written; standard output unless given.
    """

    def __init__(
        self, requested_format: OutputFormat = "auto", *, piped: OutputFormat = "json", stream: TextIO | None = None
    ) -> None:
        self.console = console_on(stream or sys.stdout)
        self.error_console = console_on(sys.stderr)
        output_format = (
            requested_format if requested_format != "auto" else "text" if self.console.is_terminal else piped
        )
        self.is_json = output_format == "json"

    def json(self, data: Any) -> None:
        plain = as_json(data)
        if self.console.is_terminal:
            text = Text(make_visible(json.dumps(plain, indent=2, ensure_ascii=False)))
            JSONHighlighter().highlight(text)
            self.show(text)
        else:
            self.raw(json.dumps(plain, indent=2))

    def text(self, text: str) -> None:
        """Write foreign *text*."""
        if self.console.is_terminal:
            self.show(Text(make_visible(text)))
        else:
            self.raw(text)

    def show(self, *renderables: RenderableType, on_error: bool = False) -> None:
        """Write *renderables* that were made for people; with *on_error*, to standard error."""
        console = self.error_console if on_error else self.console
        for renderable in renderables:
            console.print(renderable, soft_wrap=isinstance(renderable, Text))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Write *rows* under *columns*. A cell that is a plain string, and no `Text`, is taken for foreign text."""
        table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*(to_safe_text(cell) if isinstance(cell, str) else cell for cell in row))
        self.console.print(table)

    def note(self, text: str, style: str = "") -> None:
        """Write *text* for the user to standard error, because it is not part of the output."""
        self.error_console.print(Text(make_visible(text), style), soft_wrap=True)

    def raw(self, text: str) -> None:
        """Write *text* as it is, for programs."""
        self.console.file.write(f"{text}\n")


@contextlib.contextmanager
def claimed_stdout(stream: TextIO | None = None) -> Iterator[TextIO]:
    """
    Yield standard output for the command alone. What others write there until the block ends goes to standard error.

    *stream* is standard output if `sys.stdout` is not.

    The programs that a tool starts, and libraries in C, write to the descriptor, whatever `sys.stdout` is. In a
    terminal nothing changes, because both are the same place there.
    """
    stream = stream or sys.stdout
    if not _is_piped_descriptor(stream):
        yield stream
        return
    stream.flush()
    own = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        os.close(own)
        yield stream
        return
    try:
        with open(own, "w", encoding=stream.encoding, errors=stream.errors, closefd=False) as file:
            yield file
    finally:
        with contextlib.suppress(OSError, ValueError):  # it is closed
            stream.flush()  # a module may have kept it from before, as `sys.__stdout__`
        os.dup2(own, 1)
        os.close(own)


def _is_piped_descriptor(stream: TextIO) -> bool:
    try:
        return stream.fileno() == 1 and not stream.isatty()
    except (OSError, ValueError):  # it is closed, or no file of the system
        return False


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
