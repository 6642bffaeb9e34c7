"""Listeners that keep what they are told."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from toolkit.hooks import CallEnded, CallStarted, Event
from toolkit.hooks.shell.events import EVENT_NAMES

__all__ = ["RECORDERS", "AsyncRecorder", "BlockingRecorder", "Recorder", "name_events"]


class Recorder:
    """A listener that keeps all events."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def on_event(self, event: Event) -> Any:
        self.events.append(event)

    def of(self, kind: type) -> list[Any]:
        """Return the events of one kind."""
        return [event for event in self.events if isinstance(event, kind)]

    @property
    def names(self) -> list[str]:
        return name_events(self.events)

    @property
    def starts(self) -> list[str]:
        """The ids of the calls that have started."""
        return [event.call.id for event in self.of(CallStarted)]

    @property
    def ends(self) -> list[tuple[str, str]]:
        """The ids and the kinds of the calls that have ended."""
        return [(event.call.id, event.kind) for event in self.of(CallEnded)]


class AsyncRecorder(Recorder):
    """The same, and it waits for something."""

    async def on_event(self, event: Event) -> None:
        self.events.append(event)
        await asyncio.sleep(0)


class BlockingRecorder(Recorder):
    """The same, in a thread."""

    blocking = True


RECORDERS = {"sync": Recorder, "async": AsyncRecorder, "blocking": BlockingRecorder}


def name_events(events: Iterable[Event]) -> list[str]:
    """Return the names that *events* have in `toolkit.toml`."""
    return [EVENT_NAMES[type(event)] for event in events]
