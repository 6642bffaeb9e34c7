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

from .lines import Marks, render_running_call, render_text

__all__ = ["LiveRegion", "RegionContent", "RunningCall"]

_MAX_CALLS = 8
_MAX_LINE_CHARACTERS = 2000
_REDRAWS_PER_SECOND = 10


@dataclass(frozen=True, slots=True)
class RunningCall:
    """A running call: its summary, the time of its start, and the progress that it reports."""

    summary: str
    started_at: float
    indent: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionContent:
    """
    The content of the region.

    Attributes:
        unfinished_line: A line of text that has not ended yet.
        indent: The signs before that line.
        calls: The running calls.
        thinking_since: The time at which the model was asked; None if it was not. The region shows how long ago that
            was, if there is nothing else to show.
    """

    unfinished_line: str = ""
    indent: str = ""
    calls: tuple[RunningCall, ...] = ()
    thinking_since: float | None = None


class LiveRegion:
    """
    The part of the terminal that is redrawn.

    It shows nothing if the console is no terminal, or a dumb one.
    """

    def __init__(self, console: Console, marks: Marks, clock: Callable[[], float]) -> None:
        self._console = console
        self._marks = marks
        self._clock = clock
        self._can_redraw = console.is_terminal and not console.is_dumb_terminal
        self._content = RegionContent()
        self._live: Live | None = None

    def show(self, content: RegionContent) -> None:
        """Show *content* from now on."""
        self._content = content
        if self._can_redraw and self._live is None:
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
        picture, now = self._content, self._clock()
        frame = self._marks.spinner[int(now * _REDRAWS_PER_SECOND) % len(self._marks.spinner)]
        lines: list[RenderableType] = []
        if picture.unfinished_line:
            lines.append(render_text(picture.unfinished_line[-_MAX_LINE_CHARACTERS:], picture.indent))
        rows = picture.calls[:_MAX_CALLS]
        lines += [render_running_call(row.summary, now - row.started_at, row.note, frame, row.indent) for row in rows]
        if len(picture.calls) > _MAX_CALLS:
            lines.append(Text(f"  and {len(picture.calls) - _MAX_CALLS} more", "dim"))
        if not lines and picture.thinking_since is not None:
            lines.append(render_running_call("thinking", now - picture.thinking_since, "", frame))
        yield from lines
