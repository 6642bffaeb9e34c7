"""An answer that arrives as a stream: its text so far, and the whole answer at the end."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Protocol

from ..errors import Transient
from ..values.rendering import describe_value
from .http.exchange import WholeAnswer
from .http.failures import ProviderFailure
from .http.time_limits import TimeLimits
from .wire import join_surrogates

__all__ = ["SHAPE_ERRORS", "Assembler", "IncomingStream", "build_unreadable_failure"]

SHAPE_ERRORS = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""The exceptions that are raised when an answer has an unknown shape."""


class Assembler(Protocol):
    """
    Builds from the events of a stream the answer that the provider would have sent without streaming.

    Attributes:
        size: How much of the answer has arrived, in characters and parts. An event that adds nothing, such as a ping,
            a status or an unknown event, leaves it as it is.
    """

    size: int

    @property
    def is_complete(self) -> bool:
        """Whether every necessary part of the answer has arrived."""
        ...

    def feed(self, event: dict[str, Any]) -> str:
        """Add one event, and return the new text of the answer in it; empty if there is none."""
        ...

    def response(self) -> dict[str, Any]: ...


def build_unreadable_failure(title: str, error: Exception) -> ProviderFailure:
    """Return the failure to raise for an answer that cannot be read."""
    return ProviderFailure(f"{title} sent an answer of no known shape: {describe_value(error)[:200]}", why="answer")


class IncomingStream:
    """A stream that has started. Its `text` is what arrived last; it is empty at the end."""

    def __init__(
        self, events: AsyncGenerator[dict[str, Any]], assembler: Assembler, title: str, limits: TimeLimits
    ) -> None:
        self._events = events
        self._limits = limits
        self._title = title
        self._pending_surrogate = ""
        self._assembler = assembler
        self._whole: WholeAnswer | None = None
        self.text = ""

    async def advance(self) -> None:
        """Read events up to the next text, or up to the end. Raise `Transient` if the stream broke off."""
        self.text = ""
        try:
            async for event in self._events:
                if isinstance(event, WholeAnswer):
                    self._whole = event
                    return
                size = self._assembler.size
                try:
                    text = self._pending_surrogate + self._assembler.feed(event)
                except SHAPE_ERRORS as error:
                    raise build_unreadable_failure(self._title, error) from error
                if self._assembler.size > size:
                    self._limits.note_progress()
                # A surrogate without its second half is kept, and shown with the next piece.
                self._pending_surrogate = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
                self.text = join_surrogates(text.removesuffix(self._pending_surrogate))
                if self.text:
                    return
        except Transient:
            # A connection that breaks after the whole answer has arrived does no harm.
            if not self._assembler.is_complete:
                raise
        if not self._assembler.is_complete:
            raise Transient(f"{self._title} ended the stream before the answer was complete", happened="maybe")
        self.text, self._pending_surrogate = join_surrogates(self._pending_surrogate), ""

    def response(self) -> dict[str, Any]:
        """Return the answer as it would have arrived without streaming. Call this at the end of the stream."""
        try:
            return self._assembler.response() if self._whole is None else self._whole
        except SHAPE_ERRORS as error:
            raise build_unreadable_failure(self._title, error) from error

    async def aclose(self) -> None:
        await self._events.aclose()
