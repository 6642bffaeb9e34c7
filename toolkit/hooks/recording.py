"""
What is being recorded now, and by which hooks. They also record the agents and flows that start meanwhile.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any, Protocol

__all__ = ["Recording", "SpanRecorder", "current_recording", "find_recorders"]


class SpanRecorder(Protocol):
    """A hook that records what happens, such as `Telemetry`. It also records the agents and flows that tools start."""

    def on_event(self, event: Any) -> object: ...

    def trace_parent(self) -> str | None: ...


class Recording(Protocol):
    """What its *owner* records now, such as a span, as a part of the recording *outer*."""

    @property
    def owner(self) -> SpanRecorder: ...

    @property
    def outer(self) -> Recording | None: ...


current_recording: ContextVar[Recording | None] = ContextVar("toolkit_recording", default=None)


def find_recorders() -> list[SpanRecorder]:
    """Return the hooks that record what the calling code is a part of."""
    recorders: list[SpanRecorder] = []
    recording = current_recording.get()
    while recording is not None:
        if recording.owner not in recorders:
            recorders.append(recording.owner)
        recording = recording.outer
    return recorders
