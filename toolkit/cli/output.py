"""
The output of a command: JSON for programs, tables and colours for people, and notes on standard error for both.

Standard output is for people if it is a terminal, and for programs if it is not,
unless the user chooses otherwise. Foreign text is text that toolkit did not write
itself. In a terminal it is passed through `visible` first; in a pipe it is unchanged.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Sequence
from typing import Any, Literal, TypeAlias

from rich import box
from rich.console import RenderableType
from rich.highlighter import JSONHighlighter
from rich.table import Table
from rich.text import Text

from ..values.rendering import as_json
from ..values.visible import visible
from .display.consoles import console_on

__all__ = ["Output", "Shape", "shown"]

Shape: TypeAlias = Literal["auto", "json", "text"]


def shown(text: str, style: str = "") -> Text:
    """Return foreign *text* in a form that is safe to print on one line of a terminal."""
    return Text(visible(text, keep_lines=False), style)


class Output:
    """
    The output of one command.

    Args:
        shape: The format: "json", "text", or "auto", which is text in a terminal and *piped* elsewhere.
        piped: The format that "auto" stands for if standard output is no terminal.
    """

    def __init__(self, shape: Shape = "auto", *, piped: Shape = "json") -> None:
        self.console = console_on(sys.stdout)
        self.errors = console_on(sys.stderr)
        output_format = shape if shape != "auto" else "text" if self.console.is_terminal else piped
        self.is_json = output_format == "json"

    def json(self, data: Any) -> None:
        """Write *data* as JSON."""
        plain = as_json(data)
        if self.console.is_terminal:
            text = Text(visible(json.dumps(plain, indent=2, ensure_ascii=False)))
            JSONHighlighter().highlight(text)
            self.show(text)
        else:
            self.raw(json.dumps(plain, indent=2))

    def text(self, text: str) -> None:
        """Write foreign *text*."""
        if self.console.is_terminal:
            self.show(Text(visible(text)))
        else:
            self.raw(text)

    def show(self, *things: RenderableType) -> None:
        """Write *things* that were made for people."""
        for renderable in things:
            self.console.print(renderable, soft_wrap=isinstance(renderable, Text))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Write *rows* under *columns*. A cell that is a plain string, and no `Text`, is taken for foreign text."""
        table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*(shown(cell) if isinstance(cell, str) else cell for cell in row))
        self.console.print(table)

    def note(self, text: str, style: str = "") -> None:
        """Write *text* for the user to standard error, because it is not part of the output."""
        self.errors.print(Text(visible(text), style), soft_wrap=True)

    def raw(self, text: str) -> None:
        """Write *text* as it is, for programs."""
        self.console.file.write(f"{text}\n")
