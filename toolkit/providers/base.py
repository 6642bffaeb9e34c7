"""
The `Provider` protocol: the request that the agent sends, and the reply that it gets.

A provider translates neutral messages and a catalog into one request in its own format, and the answer back
into a reply. It keeps no conversation. A class need not inherit from anything to be a provider.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, Literal, Protocol, TypeAlias, runtime_checkable

from ..catalogs.views import CatalogView
from ..session import Session
from ..spec import Tool
from .messages import AssistantMessage, Message
from .prices import Price, Prices, price_of

__all__ = [
    "Provider",
    "ProviderChanged",
    "Reply",
    "Request",
    "StopReason",
    "StreamEvent",
    "StructuredProvider",
    "TextDelta",
    "Usage",
]

StopReason: TypeAlias = Literal["answer", "calls", "length", "refusal", "paused", "other"]
"""Why the model stopped: it has answered, it wants to call tools, it reached the length limit, it or a filter
refused, it paused and wants to continue, or another reason."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """
    The number of tokens that were used.

    Attributes:
        input_tokens: All tokens that the model read, cached or not.
        output_tokens: All tokens that the model wrote, with those of its thinking.
        cached_tokens: The part of the input that was already in the provider's cache.
        cache_write_tokens: The part of the input that the provider has written to its cache.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(**{field.name: getattr(self, field.name) + getattr(other, field.name) for field in fields(Usage)})

    def __sub__(self, other: Usage) -> Usage:
        return Usage(**{field.name: getattr(self, field.name) - getattr(other, field.name) for field in fields(Usage)})

    def cost(self, prices: Price | Prices, model: str = "") -> Decimal:
        """Return what the tokens cost. *prices* is one price, or a table in which *model* is looked up."""
        price = prices if isinstance(prices, Price) else price_of(model, prices)
        return price.of(
            input=self.input_tokens,
            output=self.output_tokens,
            cached=self.cached_tokens,
            cache_write=self.cache_write_tokens,
        )

    def to_json(self) -> dict[str, int]:
        return {field.name: getattr(self, field.name) for field in fields(Usage)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Usage:
        """Return the `Usage` that `to_json` wrote. Raise `ValueError` if *data* is not the JSON of a `Usage`."""
        if not isinstance(data, Mapping):
            raise ValueError(f"not a usage: expected an object, got {type(data).__name__}")  # noqa: TRY004 -- unread JSON
        names = {field.name for field in fields(Usage)}
        for name, value in data.items():
            if name not in names or type(value) is not int or value < 0:
                raise ValueError(f"not a usage: {name!r} cannot be {value!r}")
        return cls(**data)


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """
    The agent's request for one turn.

    Attributes:
        catalog: The tools that may be offered in this turn. The provider makes the definitions.
        session: The session whose loaded tools are offered too.
        max_tokens: The maximum number of tokens that the model may write; the provider's own setting if not given.
        output: A tool whose arguments are the form of the final answer. If it is given, the provider has to make the
            model's text follow the schema of the tool. The agent gives it only to a provider with a method
            `structures_output`; see `StructuredProvider`.
    """

    messages: tuple[Message, ...]
    system: str = ""
    catalog: CatalogView | None = None
    session: Session | None = None
    max_tokens: int | None = None
    output: Tool | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """
    The model's answer for one turn.

    Attributes:
        model: The name of the model that answered, as the provider states it.
        id: The id that the provider gave to the answer.
    """

    message: AssistantMessage
    stop: StopReason
    usage: Usage = Usage()
    model: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the answer's text, reported when it arrives."""

    text: str


@dataclass(frozen=True, slots=True)
class ProviderChanged:
    """
    A provider has failed before any of its answer was shown, and another one is asked instead.

    Attributes:
        failed: The provider and the model that failed: "anthropic:claude-sonnet-4-5".
        asked: The provider and the model that are asked now.
        reason: Why the first one failed.
    """

    failed: str
    asked: str
    reason: str


StreamEvent: TypeAlias = TextDelta | ProviderChanged | Reply


class Provider(Protocol):
    """
    A service that answers requests with the replies of a model.

    A failure is raised as `ProviderError`, with a message for the host that runs the agent. The provider has already
    retried a failure that is worth a retry.

    Attributes:
        name: The name of the provider's format. It is also `Native.provider` in its messages.
        model: The name of the requested model.
    """

    @property
    def name(self) -> str: ...

    @property
    def model(self) -> str: ...

    async def reply(self, request: Request) -> Reply:
        """Return the whole answer to *request*."""
        ...

    def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        """
        Yield the answer while it arrives: pieces of text, and then exactly one `Reply` with the whole answer.

        A provider that asks others may yield `ProviderChanged` before the text.
        """
        ...


@runtime_checkable
class StructuredProvider(Protocol):
    """A provider that can make the model's text follow a schema itself; see `Request.output`."""

    def structures_output(self, tool: Tool, *, has_tools: bool) -> bool:
        """
        Return whether a final answer in the form of *tool* is better asked for as text than as a call of *tool*.

        *has_tools* says whether the request offers tools besides.
        """
        ...
