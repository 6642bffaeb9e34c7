"""
The part of a terminal that is redrawn while an agent works: the unfinished line of text, and the running calls.

Printed lines appear above this region. The region shows one picture. The picture is
replaced as a whole, because another thread draws it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.text import Text

from .lines import Marks, running, said

__all__ = ["Picture", "Region", "Row"]

_MOST_ROWS = 8
_MOST_SAID = 2000
_REDRAWS_PER_SECOND = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A running call: its summary, the time of its start, and the progress that it reports."""

    summary: str
    since: float
    indent: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """
    The content of the region.

    Attributes:
        said: A line of text that has not ended yet.
        indent: The signs before that line.
        rows: The running calls.
        thinking_since: The time at which the model was asked; None if it was not. The region shows how long ago that
            was, if there is nothing else to show.
    """

    said: str = ""
    indent: str = ""
    rows: tuple[Row, ...] = ()
    thinking_since: float | None = None


class Region:
    """
    The part of the terminal that is redrawn.

    It shows nothing if the console is no terminal, or a dumb one.
    """

    def __init__(self, console: Console, marks: Marks, clock: Callable[[], float]) -> None:
        self._console = console
        self._marks = marks
        self._clock = clock
        self._is_possible = console.is_terminal and not console.is_dumb_terminal
        self._picture = Picture()
        self._live: Live | None = None

    def show(self, picture: Picture) -> None:
        """Show *picture* from now on."""
        self._picture = picture
        if self._is_possible and self._live is None:
            # Rich gets the region itself, and not its present picture, because rich draws it again below every line
            # that is printed.
            self._live = Live(self, console=self._console, refresh_per_second=_REDRAWS_PER_SECOND, transient=True)
            self._live.start(refresh=True)

    def stop(self) -> None:
        """Erase the region, and leave the terminal to others."""
        if self._live is not None:
            self._live.stop()
            self._live = None  # a `Live` that is started again would erase the lines written since

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        picture, now = self._picture, self._clock()
        frame = self._marks.spinner[int(now * _REDRAWS_PER_SECOND) % len(self._marks.spinner)]
        lines: list[RenderableType] = []
        if picture.said:
            lines.append(said(picture.said[-_MOST_SAID:], picture.indent))
        rows = picture.rows[:_MOST_ROWS]
        lines += [running(row.summary, now - row.since, row.note, frame, row.indent) for row in rows]
        if len(picture.rows) > _MOST_ROWS:
            lines.append(Text(f"  and {len(picture.rows) - _MOST_ROWS} more", "dim"))
        if not lines and picture.thinking_since is not None:
            lines.append(running("thinking", now - picture.thinking_since, "", frame))
        yield from lines
