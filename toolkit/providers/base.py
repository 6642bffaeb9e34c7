"""
What the agent asks of a provider, and what it gets.

A provider translates: neutral messages and a catalog into one request in its own format, and
the answer back. It keeps no conversation. Nobody has to subclass anything to be one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Literal, Protocol, TypeAlias

from ..catalogs.views import CatalogView
from ..session import Session
from .messages import AssistantMessage, Message
from .prices import Price, Prices, price_of

__all__ = ["Provider", "Reply", "Request", "StopReason", "StreamEvent", "TextDelta", "Usage"]

StopReason: TypeAlias = Literal["answer", "calls", "length", "refusal", "paused", "other"]
"""Why the model stopped: it has answered, it wants tools called, it ran out of room, it or a filter refused, it
paused and wants to go on, or something else."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """
    Tokens that were used.

    Attributes:
        input_tokens: Everything that was read, cached or not.
        output_tokens: Everything that was written, thinking included.
        cached_tokens: The part of the input that the provider had kept from before.
        cache_write_tokens: The part of the input that it keeps from now on.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{each.name: getattr(self, each.name) + getattr(other, each.name) for each in fields(Usage)})

    def cost(self, prices: Price | Prices, model: str = "") -> Decimal:
        """What it costs: by one price, or by a table in which *model* is looked up."""
        price = prices if isinstance(prices, Price) else price_of(model, prices)
        return price.of(
            input=self.input_tokens,
            output=self.output_tokens,
            cached=self.cached_tokens,
            cache_write=self.cache_write_tokens,
        )

    def to_json(self) -> dict[str, int]:
        return {each.name: getattr(self, each.name) for each in fields(Usage)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Usage:
        """The inverse of `to_json`; `ValueError` for what is none."""
        if not isinstance(data, Mapping):
            raise ValueError(f"not a usage: expected an object, got {type(data).__name__}")  # noqa: TRY004 -- unread JSON
        known = {each.name for each in fields(Usage)}
        for name, value in data.items():
            if name not in known or type(value) is not int or value < 0:
                raise ValueError(f"not a usage: {name!r} cannot be {value!r}")
        return cls(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    One turn, as the agent asks for it.

    Attributes:
        catalog: What may be offered in this turn; the provider makes the definitions.
        session: Whose loaded tools are offered too.
        max_tokens: The most the model may write; the provider's own setting if not given.
    """

    messages: tuple[Message, ...]
    system: str = ""
    catalog: CatalogView | None = None
    session: Session | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """
    One turn, as the model answered it.

    Attributes:
        model: The model that answered, as the provider names it.
        id: The provider's name for the answer.
    """

    message: AssistantMessage
    stop: StopReason
    usage: Usage = Usage()
    model: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text, as it comes."""

    text: str


StreamEvent: TypeAlias = TextDelta | Reply


class Provider(Protocol):
    """
    A model that can be asked.

    Failures are `ProviderError`s, worded for whoever runs the agent; what is worth trying again was tried again.

    Attributes:
        name: Whose format it speaks; `Native.provider` of what it says.
        model: The model that is asked for.
    """

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    async def reply(self, request: Request) -> Reply:
        """The whole answer."""
        ...

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """The answer as it comes: pieces of text, then exactly one `Reply` with everything in it."""
        ...
