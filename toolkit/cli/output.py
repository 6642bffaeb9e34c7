"""
Where a command writes: JSON for programs, tables and colours for people, notes beside both.

Standard output is for people if it is a terminal, and for programs if it is not,
unless the user says otherwise. What is foreign is made visible in a terminal;
in a pipe it stays what it is.
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
    """Foreign *text* as it may stand on one line of a terminal."""
    return Text(visible(text, keep_lines=False), style)


class Output:
    """
    What a command has to say.

    Args:
        shape: "json", "text", or "auto": text in a terminal, *piped* elsewhere.
    """

    def __init__(self, shape: Shape = "auto", *, piped: Shape = "json") -> None:
        self.console = console_on(sys.stdout)
        self.errors = console_on(sys.stderr)
        chosen = shape if shape != "auto" else "text" if self.console.is_terminal else piped
        self.is_json = chosen == "json"

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
        """Write what somebody else said."""
        if self.console.is_terminal:
            self.show(Text(visible(text)))
        else:
            self.raw(text)

    def show(self, *things: RenderableType) -> None:
        """Write what was made for people."""
        for each in things:
            self.console.print(each, soft_wrap=isinstance(each, Text))

    def table(self, columns: Sequence[str], rows: Iterable[Sequence[str | Text]]) -> None:
        """Write *rows* under *columns*; what is no `Text` in them is foreign."""
        table = Table(*columns, box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
        for row in rows:
            table.add_row(*(shown(each) if isinstance(each, str) else each for each in row))
        self.console.print(table)

    def note(self, text: str, style: str = "") -> None:
        """Tell whoever sits there something that is not part of the output."""
        self.errors.print(Text(visible(text), style), soft_wrap=True)

    def raw(self, text: str) -> None:
        """Write *text* as it is, for programs."""
        self.console.file.write(f"{text}\n")
