"""
The `Provider` protocol: the request that the agent sends, and the reply that it gets.

A provider translates neutral messages and a catalog into one request in its own format, and the answer back
into a reply. It keeps no conversation. A class need not inherit from anything to be a provider.
"""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, fields
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
        definition_tokens: The part of the input that were definitions of tools. An agent estimates it, and the parts
            below; they do not count when usages are compared.
        result_tokens: The part of the input that were results, by the names of the tools.
        unreported_tokens: The tokens of requests for which the provider has reported none, by estimate. They are in the
            parts, and not in `input_tokens`.
    """

    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    definition_tokens: int = field(default=0, compare=False)
    result_tokens: Mapping[str, int] = field(default_factory=dict, compare=False)
    unreported_tokens: int = field(default=0, compare=False)

    @property
    def total_tokens(self) -> int:
        return self.input_tokens + self.output_tokens

    @property
    def rest_tokens(self) -> int:
        """The input that was neither definitions nor results: prompts, instructions, and what the model has said."""
        parts = self.definition_tokens + sum(self.result_tokens.values())
        return self.input_tokens + self.unreported_tokens - parts

    def __add__(self, other: Usage) -> Usage:
        return self._combine(other, operator.add)

    def __sub__(self, other: Usage) -> Usage:
        return self._combine(other, operator.sub)

    def _combine(self, other: Usage, combine: Callable[[int, int], int]) -> Usage:
        mine, others = self.result_tokens, other.result_tokens
        results = {name: combine(mine.get(name, 0), others.get(name, 0)) for name in {**mine, **others}}
        counts = {name: combine(getattr(self, name), getattr(other, name)) for name in _COUNTS}
        return Usage(**counts, result_tokens={name: tokens for name, tokens in results.items() if tokens})

    def cost(self, prices: Price | Prices, model: str = "") -> Decimal:
        """Return what the tokens cost. *prices* is one price, or a table in which *model* is looked up."""
        price = prices if isinstance(prices, Price) else price_of(model, prices)
        return price.of(
            input=self.input_tokens,
            output=self.output_tokens,
            cached=self.cached_tokens,
            cache_write=self.cache_write_tokens,
        )

    def to_json(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(Usage)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Usage:
        """Return the `Usage` that `to_json` wrote. Raise `ValueError` if *data* is not the JSON of a `Usage`."""
        if not isinstance(data, Mapping):
            raise ValueError(f"not a usage: expected an object, got {type(data).__name__}")  # noqa: TRY004 -- unread JSON
        counts = {name: value for name, value in data.items() if name != "result_tokens"}
        results = data.get("result_tokens", {})
        if not isinstance(results, Mapping):
            raise ValueError(f"not a usage: 'result_tokens' cannot be {results!r:.60}")  # noqa: TRY004 -- unread JSON
        for name, value in (*counts.items(), *results.items()):
            if type(value) is not int or value < 0:
                raise ValueError(f"not a usage: {name!r} cannot be {value!r}")
        if unknown_names := [name for name in counts if name not in _COUNTS]:
            raise ValueError(f"not a usage: {unknown_names[0]!r} is not known")
        usage = cls(**counts, result_tokens=dict(results))
        if usage.rest_tokens < 0:
            raise ValueError("not a usage: the parts of the input are more than the input")
        return usage


_COUNTS = tuple(item.name for item in fields(Usage) if item.name != "result_tokens")


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
"""What a provider yields while a model answers; the last one is the whole reply."""


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
