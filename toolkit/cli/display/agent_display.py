"""
Show a user what an agent does while it works.

    with AgentDisplay() as display:
        agent = Agent(provider, dispatcher, on_event=display.show)
        await agent.run("Mend the failing test.")

In a terminal the text and the running calls are redrawn as they change. In a pipe the same lines are written once each.
All text of a model, a tool or a server is passed through `make_visible` first.
"""

from __future__ import annotations

import contextlib
import inspect
import sys
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, Self, TextIO, TypeAlias, cast

from rich.console import Console, RenderableType

from ..._plumbing.forks import unlock_in_children
from ..._plumbing.wording import format_count
from ...agent import Run, events
from ...approvals.askers import Answer, Asker
from ...approvals.terminal.screens import Screen
from ...context import Progress
from ...decisions import ApprovalRequest
from ...errors import ToolkitError
from ...values.rendering import describe_value
from ..output import console_on, escape_unencodable
from .lines import (
    ASCII_MARKS,
    MARKS,
    LiveRegion,
    RegionContent,
    RunningCall,
    render_finished_call,
    render_heading,
    render_text,
)

__all__ = ["AgentDisplay"]

CallPath: TypeAlias = tuple[str, ...]


class AgentDisplay:
    """
    Shows the events of an agent on a console.

    Args:
        console: The console. The default is standard output.
        requests: Whether requests for approval are shown. It is not needed if the asker shows them.
        clock: A function that returns the time in seconds. It measures how long a call takes.
    """

    def __init__(
        self, console: Console | None = None, *, requests: bool = True, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._console = console_on(sys.stdout) if console is None else console
        self._shows_requests = requests
        self._clock = clock
        escape_unencodable(self._console)
        self._marks = MARKS if self._console.encoding.startswith("utf") else ASCII_MARKS
        self._region = LiveRegion(self._console, self._marks, clock)
        self._lock = unlock_in_children(threading.RLock())  # tools report their progress from threads
        # A path is the ids of the calls in whose sub-runs an event happens. The path of the run itself is empty.
        self._unfinished_lines: dict[CallPath, str] = {}
        self._running_calls: dict[CallPath, RunningCall] = {}
        self._pauses = 0
        self._queued_actions: list[Callable[[], None]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._flush_all()
            self._region.stop()

    def show(self, event: events.Event) -> None:
        """Show *event*. Give this method to an agent as `on_event`. It can be called from any thread."""
        self._run_or_queue(lambda: self._show(event, ()))

    def say(self, text: str) -> None:
        """Show one or more lines of the host program's own."""
        self._run_or_queue(lambda: self._announce(text))

    def thinking(self) -> None:
        """Show that the model was asked, until the model says something."""
        self._run_or_queue(lambda: self._draw(thinking=True))

    @contextlib.contextmanager
    def paused(self) -> Iterator[None]:
        """Leave the terminal to an asker inside the block. Events that come meanwhile are shown afterwards."""
        with self._lock:
            self._pauses += 1
            self._flush_all()
            self._region.stop()
        try:
            yield
        finally:
            with self._lock:
                self._pauses -= 1
                while not self._pauses and self._queued_actions:
                    self._queued_actions.pop(0)()
                if not self._pauses and self._running_calls:
                    self._draw()

    def asking(self, asker: Asker) -> Asker:
        """Return *asker*, wrapped so that it has the terminal to itself while it asks."""
        return _PausingAsker(self, asker)

    def _run_or_queue(self, action: Callable[[], None]) -> None:
        # This does not wait for a pause to end. The caller is the event loop, and a person takes time to answer.
        with self._lock:
            if self._pauses:
                self._queued_actions.append(action)
            else:
                action()

    # The events.

    def _show(self, event: events.Event, path: CallPath) -> None:
        match event:
            case events.SubRunEvent():
                self._show(event.event, (*path, event.call_id))
            case events.TextDelta():
                self._show_text(event.text, path)
            case events.ToolStarted():
                self._show_start(event, path)
            case events.ToolProgress():
                self._show_progress(event.progress, path)
            case events.ToolFinished():
                self._show_result(event, path)
            case events.TurnFinished():
                self._flush(path)
                self._draw(thinking=True)
            case events.RunWaits() if not path:  # an outer run waits for the same requests, and shows them
                self._show_requests(event.requests)
            case events.Done():
                self._show_end(event.run, path)
            case events.RunFailed(error=error):
                text = f"failed: {error if isinstance(error, ToolkitError) else describe_value(error)}"
                self._show_heading(text, path, mark=self._marks.bad, style="red")
            case _:
                self._show_note(event, path)

    def _show_note(self, event: events.Event, path: CallPath) -> None:
        """Show an event about the conversation. `Refused` is not shown: `ToolFinished` follows with the reason."""
        match event:
            case events.UserInput():
                self._show_heading(f"the model reads now: {event.message.text}", path)
            case events.CatalogChanged() if not path:  # an outer run reports the same change
                changes = (("added", event.added), ("removed", event.removed))
                parts = [f"{verb}: {', '.join(tool.name for tool in tools)}" for verb, tools in changes if tools]
                self._show_heading(f"the tools have changed ({'; '.join(parts)})", path)
            case events.HandedOver():
                self._show_heading(f"`{event.agent}` goes on with the conversation", path)
            case events.ProviderChanged():
                self._show_heading(f"{event.failed} failed, so {event.asked} is asked: {event.reason}", path)
            case events.Compacted():
                results, cut = format_count(event.results, "old result"), format_count(event.characters, "character")
                verb = "was" if event.results == 1 else "were"
                self._show_heading(f"{results} {verb} cut by {cut}, to make room", path)
            case events.Summarized():
                saved = f"which saves {event.characters:,} characters"
                self._show_heading(f"{event.messages:,} old messages were summed up, {saved}", path)
            case events.SummaryFailed():
                self._show_heading(f"old messages could not be summed up: {event.reason}", path, style="yellow")

    def _show_heading(self, text: str, path: CallPath, *, mark: str = "", style: str = "dim") -> None:
        self._flush(path)
        self._print(render_heading(mark or self._marks.note, text, style=style, indent=self._indent(path)))

    def _show_text(self, text: str, path: CallPath) -> None:
        *complete_lines, self._unfinished_lines[path] = (self._unfinished_lines.get(path, "") + text).split("\n")
        self._draw()
        for line in complete_lines:
            self._print(render_text(line, self._indent(path)))

    def _show_start(self, event: events.ToolStarted, path: CallPath) -> None:
        self._flush(path)
        summary = _add_tool_name(event.summary, event.call.name)
        self._running_calls[(*path, event.call.id)] = RunningCall(summary, self._clock(), self._indent(path))
        self._draw()

    def _show_progress(self, progress: Progress, path: CallPath) -> None:
        place = (*path, progress.call_id)
        if place in self._running_calls:  # a call that was abandoned may still report
            self._running_calls[place] = self._running_calls[place].with_progress(progress)
            self._draw()

    def _show_result(self, event: events.ToolFinished, path: CallPath) -> None:
        self._flush(path)
        row = self._running_calls.pop((*path, event.call.id), None)
        self._draw(thinking=True)
        summary = event.call.name if row is None else row.summary
        for line in render_finished_call(summary, event.result, self._marks, self._indent(path)):
            self._print(line)

    def _show_requests(self, requests: Sequence[ApprovalRequest]) -> None:
        self._flush_all()
        self._region.stop()
        for request in requests if self._shows_requests else ():
            colour = self._console.is_terminal and not self._console.no_color
            Screen(cast("TextIO", self._console.file), colour=colour).show(request, time.time())

    def _show_end(self, run: Run[Any], path: CallPath) -> None:
        self._flush(path)
        if run.status == "stopped":
            self._show_heading(f"stopped: {run.reason}", path, mark=self._marks.bad, style="yellow")
        if path:
            return
        self._running_calls.clear()
        self._region.stop()
        if run.plan is not None:
            self._print(render_heading(self._marks.note, "the plan:", style="bold"))
            for line in run.plan.split("\n"):
                self._print(render_text(line))

    # The printed lines, and the part below them that is redrawn.

    def _announce(self, text: str) -> None:
        self._flush_all()
        for line in text.split("\n"):
            self._print(render_heading(self._marks.note, line, style="bold") if line.strip() else "")

    def _flush_all(self) -> None:
        for path in list(self._unfinished_lines):
            self._flush(path)

    def _flush(self, path: CallPath) -> None:
        """Write the text that was said so far, although its line has not ended."""
        rest = self._unfinished_lines.pop(path, "")
        if rest.strip():
            self._draw()
            self._print(render_text(rest, self._indent(path)))

    def _print(self, line: RenderableType) -> None:
        # The program that reads a pipe wraps the lines itself.
        self._console.print(line, soft_wrap=not self._console.is_terminal, highlight=False)

    def _indent(self, path: CallPath) -> str:
        return self._marks.inner * len(path)

    def _draw(self, *, thinking: bool = False) -> None:
        path = next((path for path, rest in reversed(self._unfinished_lines.items()) if rest), ())
        self._region.show(
            RegionContent(
                unfinished_line=self._unfinished_lines.get(path, ""),
                indent=self._indent(path),
                calls=tuple(self._running_calls.values()),
                thinking_since=self._clock() if thinking else None,
            )
        )


class _PausingAsker:
    """An asker that has the terminal to itself while it asks, because it pauses the display."""

    def __init__(self, display: AgentDisplay, asker: Asker) -> None:
        self._display = display
        self._asker = asker
        self.blocking = getattr(asker, "blocking", False)

    def ask(self, request: ApprovalRequest) -> Answer | Awaitable[Answer]:
        with self._display.paused():
            answer = self._asker.ask(request)
        return self._await_answer(answer) if inspect.isawaitable(answer) else answer

    async def _await_answer(self, answer: Awaitable[Answer]) -> Answer:
        with self._display.paused():
            return await answer


def _add_tool_name(summary: str, name: str) -> str:
    """Return *summary* with the name of the tool in it, because some authors leave the name out."""
    return summary if name in summary.split() else f"{name}: {summary}" if summary else name
