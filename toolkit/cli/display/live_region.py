"""
The part of a terminal that is redrawn while an agent works: what is being said, and the calls under way.

Lines that are printed appear above it. It shows one picture, which is replaced as
a whole, because it is drawn by another thread.
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
_REDRAWN_PER_SECOND = 10


@dataclass(frozen=True, slots=True)
class Row:
    """A call under way: since when, and what it reports of itself."""

    summary: str
    since: float
    indent: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """
    What is shown.

    Attributes:
        said: A line that has not ended yet.
        thinking_since: Since when the model has been asked; shown if there is nothing else.
    """

    said: str = ""
    indent: str = ""
    rows: tuple[Row, ...] = ()
    thinking_since: float | None = None


class Region:
    """Nothing at all where the console is no terminal."""

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
            # Itself, and not what it shows now: rich draws it again below every line that is printed.
            self._live = Live(self, console=self._console, refresh_per_second=_REDRAWN_PER_SECOND, transient=True)
            self._live.start(refresh=True)

    def stop(self) -> None:
        """Vanish, and leave the terminal to others."""
        if self._live is not None:
            self._live.stop()
            self._live = None  # one that is started again would erase what was written since

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        picture, now = self._picture, self._clock()
        frame = self._marks.spinner[int(now * _REDRAWN_PER_SECOND) % len(self._marks.spinner)]
        shown: list[RenderableType] = []
        if picture.said:
            shown.append(said(picture.said[-_MOST_SAID:], picture.indent))
        rows = picture.rows[:_MOST_ROWS]
        shown += [running(row.summary, now - row.since, row.note, frame, row.indent) for row in rows]
        if len(picture.rows) > _MOST_ROWS:
            shown.append(Text(f"  and {len(picture.rows) - _MOST_ROWS} more", "dim"))
        if not shown and picture.thinking_since is not None:
            shown.append(running("thinking", now - picture.thinking_since, "", frame))
        yield from shown
