"""
Show what an agent does, as lines that a person can trust, and in a region below them that is redrawn.

A line that the display itself writes begins with a mark in the first column. Text of a model or a tool is passed
through `make_visible` and indented by two columns, so that it cannot pass for a line of the display.

The region has the unfinished line of text, and the running calls. It shows one picture. The picture is replaced as a
whole, because another thread draws it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from types import MappingProxyType

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.live import Live
from rich.progress_bar import ProgressBar
from rich.text import Text

from ..._plumbing.wording import format_count
from ...context import Progress
from ...providers.base import Usage
from ...results import Kind, ToolResult
from ...values.visible import make_visible

__all__ = [
    "ASCII_MARKS",
    "MARKS",
    "LiveRegion",
    "RegionContent",
    "RunningCall",
    "describe_usage",
    "format_duration",
    "format_time",
    "list_parts",
    "render_finished_call",
    "render_heading",
    "render_text",
]

_MIN_WIDTH = 20
_BAR_WIDTH = 20
_BAR_ROOM = 45  # for the bar, the time before it, and the numbers after it
_MAX_CALLS = 8
_MAX_TOOLS = 3
_MAX_LINE_CHARACTERS = 2000
_REDRAWS_PER_SECOND = 10
# The largest number of lines that is shown of a result, and of characters in each line.
_MAX_SHOWN_IF_OK = (1, 200)
_MAX_SHOWN_IF_FAILED = (3, 500)


@dataclass(frozen=True, slots=True)
class Marks:
    """
    The signs that begin the lines of the display.

    `inner` stands before each line of a sub-run, and `dash` before a remark that a result has more lines. A running
    call shows the signs of `spinner`, one after the other.
    """

    good: str
    bad: str
    waits: str
    note: str
    inner: str
    dash: str
    spinner: str

    def for_kind(self, kind: Kind) -> str:
        return {"ok": self.good, "waiting": self.waits}.get(kind, self.bad)


MARKS = Marks(good="✓", bad="✗", waits="…", note="•", inner="↳ ", dash="–", spinner="⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")  # noqa: RUF001 -- the dash is used on purpose
ASCII_MARKS = Marks(good="+", bad="x", waits="?", note="*", inner="> ", dash="-", spinner="-\\|/")

_STYLES: Mapping[str, str] = MappingProxyType({"ok": "green", "waiting": "yellow", "denied": "yellow"})


class DisplayLine:
    """
    A line to be printed on a console.

    If the line is wrapped, its text continues in the column where it began, so that no part of it gets into the first
    column.
    """

    def __init__(self, start: Text, text: Text) -> None:
        self._start = start
        self._text = text

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        if options.no_wrap:
            yield Text().append_text(self._start).append_text(self._text)
            return
        start = self._start
        for piece in self._text.wrap(console, max(_MIN_WIDTH, options.max_width - start.cell_len)) or [Text()]:
            yield Text().append_text(start).append_text(piece)
            start = Text(" " * self._start.cell_len)


def render_text(text: str, indent: str = "") -> DisplayLine:
    """Return a line of text that a model or a tool wrote."""
    return DisplayLine(Text(f"{indent}  ", "dim"), Text(make_visible(text)))


def render_heading(mark: str, text: str, *, style: str = "", indent: str = "") -> DisplayLine:
    """Return a line of the display; foreign text in *text* is passed through `make_visible`."""
    return DisplayLine(_start(indent, mark, style), Text(make_visible(text, keep_lines=False), style))


def render_running_call(call: RunningCall, now: float, frame: str, console: Console, options: ConsoleOptions) -> Text:
    """Return the line of a call that is running. It is one row, and is cut if it is too long."""
    seconds = now - call.started_at
    max_width = None if call.share is None else max(_MIN_WIDTH, options.max_width - _BAR_ROOM)
    line = Text(no_wrap=True, overflow="ellipsis").append_text(_start(call.indent, frame, "cyan"))
    line.append(make_visible(call.summary, keep_lines=False)[:max_width])
    if seconds >= 1:
        line.append(f"  {format_duration(seconds)}", "dim")
    if call.share is not None:
        line.append("  ").append_text(_render_bar(call.share, console, options))
    return line.append(f"  {make_visible(call.note, keep_lines=False)}", "dim") if call.note else line


def _render_bar(share: float, console: Console, options: ConsoleOptions) -> Text:
    bar = ProgressBar(total=1.0, completed=share, width=_BAR_WIDTH)
    text = Text.assemble(*((segment.text, segment.style or "") for segment in console.render(bar, options)))
    text.pad_right(_BAR_WIDTH - text.cell_len)  # without colours, the rest of the bar is not drawn
    return text


def render_finished_call(summary: str, result: ToolResult, marks: Marks, indent: str = "") -> Iterator[DisplayLine]:
    """Yield the lines of a call that has ended: a line of the display, then the beginning of the result."""
    style = _STYLES.get(result.kind, "red")
    kind = "" if result.kind == "ok" else f"  {result.kind.replace('_', ' ')}"
    took = f"  {format_duration(result.duration_seconds)}" if result.attempts else ""
    text = Text.assemble(make_visible(summary, keep_lines=False), (kind, style), (took, "dim"))
    yield DisplayLine(_start(indent, marks.for_kind(result.kind), style), text)
    for line in _summarize_result(result, marks):
        yield DisplayLine(Text(f"{indent}    ", "dim"), Text(line, "dim" if result.kind == "ok" else style))


def _start(indent: str, mark: str, style: str) -> Text:
    return Text.assemble((indent, "dim"), (f"{mark} ", style))


def _summarize_result(result: ToolResult, marks: Marks) -> Iterator[str]:
    error = result.error
    text = result.text if error is None or not error.message else error.message
    lines = [line for line in text.splitlines() if line.strip()]
    max_lines, max_characters = _MAX_SHOWN_IF_OK if result.kind == "ok" else _MAX_SHOWN_IF_FAILED
    for line in lines[:max_lines]:
        yield make_visible(line[:max_characters]) + "..." * (len(line) > max_characters)
    if len(lines) > max_lines:
        yield f"{marks.dash} and {format_count(len(lines) - max_lines, 'more line')}"


def format_duration(seconds: float) -> str:
    """Return a time in words for people: `3 ms`, `1.2 s`, `2 min 5 s`."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 59.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


def format_time(seconds: float) -> str:
    """Return a time in *seconds* since 1970 for people."""
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return "a time that is none"


@dataclass(frozen=True, slots=True)
class RunningCall:
    """
    A running call: its summary, the time of its start, and the progress that it reports.

    *share* is how much of the work is done, from 0 to 1; None if the call did not report a total.
    """

    summary: str
    started_at: float
    indent: str = ""
    note: str = ""
    share: float | None = None

    def with_progress(self, progress: Progress) -> RunningCall:
        """Return this call with *progress* in place of what it reported before."""
        done, total = progress.progress, progress.total
        numbers = "" if done is None else f"{done:g}" + (f"/{total:g}" if total else "")
        share = done / total if done is not None and total else math.nan
        return replace(
            self,
            note=" ".join(filter(None, (numbers, progress.message))),
            share=share if 0 <= share < math.inf else None,  # a tool may report any numbers
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class RegionContent:
    """
    The content of the region: a line of text that has not ended yet, with the signs before it, and the running calls.

    If there is nothing else to show, the region shows how long ago the model was asked: `thinking_since`.
    """

    unfinished_line: str = ""
    indent: str = ""
    calls: tuple[RunningCall, ...] = ()
    thinking_since: float | None = None


class LiveRegion:
    """The part of the terminal that is redrawn. It shows nothing if the console is no terminal, or a dumb one."""

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
        lines += [render_running_call(row, now, frame, console, options) for row in rows]
        if len(picture.calls) > _MAX_CALLS:
            lines.append(Text(f"  and {len(picture.calls) - _MAX_CALLS} more", "dim"))
        if not lines and picture.thinking_since is not None:
            thinking = RunningCall("thinking", picture.thinking_since)
            lines.append(render_running_call(thinking, now, frame, console, options))
        yield from lines


def list_parts(usage: Usage) -> list[tuple[str, int]]:
    """Return the parts of the input with their tokens: definitions, the results of each tool, and the rest."""
    results = sorted(usage.result_tokens.items(), key=lambda item: item[1], reverse=True)
    return [
        ("definitions", usage.definition_tokens),
        *((f"results of {name}", tokens) for name, tokens in results),
        ("rest", usage.rest_tokens),
    ]


def describe_usage(usage: Usage) -> str:
    """Return how much was read and written, and what was read, on one line. Of the tools it names the largest."""
    definitions, *results, rest = list_parts(usage)
    others = sum(tokens for _, tokens in results[_MAX_TOOLS:])
    parts = [definitions, *results[:_MAX_TOOLS], ("results of other tools", others), rest]
    shown = ", ".join(f"{name} {tokens:,}" for name, tokens in parts if tokens)
    read = format_count(usage.input_tokens + usage.unreported_tokens, "token")
    estimate = f" (of these, {usage.unreported_tokens:,} by our own estimate)" if usage.unreported_tokens else ""
    return f"{read} read{estimate} and {usage.output_tokens:,} written" + (f"; read: {shown}" if shown else "")
