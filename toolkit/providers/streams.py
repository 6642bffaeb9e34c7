"""
An answer that comes in pieces: what has come of it, and what it will be.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any, Protocol

from ..errors import Transient
from ..values.rendering import described
from .http.failures import ProviderFailure
from .wire import whole

__all__ = ["ODD", "Assembler", "Incoming", "no_answer"]

ODD = (KeyError, TypeError, ValueError, AttributeError, IndexError)
"""What reading an answer of no known shape raises."""


class Assembler(Protocol):
    """Puts the events of a stream together to the answer that would have come as a whole."""

    @property
    def is_complete(self) -> bool:
        """Whether everything that matters has come."""
        ...

    def feed(self, event: dict[str, Any]) -> str:
        """Take one event in; the text that it shows, if any."""
        ...

    def response(self) -> dict[str, Any]: ...


def no_answer(title: str, error: Exception) -> ProviderFailure:
    """What to raise for an answer that nobody can read."""
    return ProviderFailure(f"{title} sent an answer of no known shape: {described(error)[:200]}", why="answer")


class Incoming:
    """
    A stream that has begun.

    Attributes:
        text: The text that came last; empty at the end.
    """

    def __init__(self, events: AsyncGenerator[dict[str, Any]], assembler: Assembler, title: str) -> None:
        self._events = events
        self._title = title
        self._half = ""
        self._assembler = assembler
        self.text = ""

    async def advance(self) -> None:
        """Go on to the next text, or to the end."""
        self.text = ""
        try:
            async for event in self._events:
                try:
                    text = self._half + self._assembler.feed(event)
                except ODD as error:
                    raise no_answer(self._title, error) from error
                # The other half of a letter is shown with the next piece.
                self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
                self.text = whole(text.removesuffix(self._half))
                if self.text:
                    return
        except Transient:
            if not self._assembler.is_complete:
                raise
        if not self._assembler.is_complete:
            raise Transient(f"{self._title} ended the stream before the answer was complete", happened="maybe")
        self.text, self._half = whole(self._half), ""

    def response(self) -> dict[str, Any]:
        """The answer as it would have come as a whole, once everything is here."""
        try:
            return self._assembler.response()
        except ODD as error:
            raise no_answer(self._title, error) from error

    async def aclose(self) -> None:
        await self._events.aclose()
