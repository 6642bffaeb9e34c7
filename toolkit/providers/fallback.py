"""
A provider that asks the next one if the first is down.

    Agent(FallbackProvider("anthropic:claude-sonnet-4-5", "openai:gpt-5"), tools)

It goes on only if another provider may do better: the first is unavailable or overloaded, has refused because of a rate
limit or an empty account, or broke off before any of its answer was shown. A mistake in the request would be the same
mistake elsewhere. A key that is missing or refused, and an unknown model, are mistakes in the program's set-up, which
must not stay hidden behind a provider that happens to work.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from typing import Any, Self, TypeVar

from .._option_checks import describe_type
from ..errors import Transient
from ..spec import Tool
from .base import Provider, ProviderChanged, Reply, Request, StreamEvent, StructuredProvider
from .creation import create_provider
from .http.failures import ProviderFailure

__all__ = ["FallbackProvider"]

_log = logging.getLogger("toolkit")
_REASONS = ("unavailable", "credit", "broke_off")

T = TypeVar("T")


class FallbackProvider:
    """
    A provider that asks *providers* in turn until one answers. Each is a provider, or a text that names one.

    Every request begins with the first one, after whose own retries the next one is asked. The stream has a
    `ProviderChanged` then, which an agent reports as an event, and the log has a warning. The failure of the last one
    is raised.

    Attributes:
        model: The model of the first provider.
        models: The models of all providers. A budget needs the prices of each.
    """

    name = "fallback"

    def __init__(self, *providers: Provider | str) -> None:
        if len(providers) == 1 and isinstance(providers[0], (list, tuple)):
            raise TypeError("FallbackProvider wants providers, and no list of them; write FallbackProvider(*providers)")
        if len(providers) < 2:
            raise ValueError('FallbackProvider: give two providers or more: ("anthropic:MODEL", "openai:MODEL")')
        self.providers = tuple(map(_choose_provider, providers))
        self.model = self.providers[0].model
        self.models = tuple(
            model for provider in self.providers for model in getattr(provider, "models", (provider.model,))
        )

    async def reply(self, request: Request) -> Reply:
        for provider, follower in self._list_steps():
            try:
                return await provider.reply(request)
            except (ProviderFailure, Transient) as error:
                if follower is None or not _is_worth_another(error):
                    raise
                _describe_change(provider, follower, error)
        raise AssertionError("the last provider has answered or failed")

    async def stream(self, request: Request) -> AsyncIterator[StreamEvent]:
        for provider, follower in self._list_steps():
            has_begun = False
            try:
                async with _closing(provider.stream(request)) as events:
                    async for event in events:
                        has_begun = has_begun or not isinstance(event, ProviderChanged)
                        yield event
            except (ProviderFailure, Transient) as error:
                if follower is None or has_begun or not _is_worth_another(error):
                    raise
                change = _describe_change(provider, follower, error)
            else:
                return
            yield change

    def structures_output(self, tool: Tool, *, has_tools: bool) -> bool:
        return all(
            isinstance(provider, StructuredProvider) and provider.structures_output(tool, has_tools=has_tools)
            for provider in self.providers
        )

    async def aclose(self) -> None:
        """Close the connections of all providers."""
        for provider in self.providers:
            async with _closing(provider):
                pass

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    def __repr__(self) -> str:
        return f"FallbackProvider({', '.join(map(repr, self.providers))})"

    def _list_steps(self) -> Iterator[tuple[Provider, Provider | None]]:
        """Yield each provider with the one that follows it; None after the last one."""
        return zip(self.providers, (*self.providers[1:], None), strict=True)


def _choose_provider(provider: Provider | str) -> Provider:
    if isinstance(provider, str):
        return create_provider(provider)
    if not callable(getattr(provider, "reply", None)) or isinstance(provider, type):
        raise TypeError(f'FallbackProvider: {describe_type(provider)} is no provider; give one, or "PROVIDER:MODEL"')
    return provider


@asynccontextmanager
async def _closing(holder: T) -> AsyncIterator[T]:
    """Close *holder* after the block, if it can be closed. Neither a provider nor its stream need have the method."""
    try:
        yield holder
    finally:
        close: Any = getattr(holder, "aclose", None)
        if close is not None:
            await close()


def _is_worth_another(error: ProviderFailure | Transient) -> bool:
    return isinstance(error, Transient) or error.why in _REASONS


def _describe_change(failed: Provider, asked: Provider, error: Exception) -> ProviderChanged:
    change = ProviderChanged(f"{failed.name}:{failed.model}", f"{asked.name}:{asked.model}", str(error))
    _log.warning("%s failed, so %s is asked: %s", change.failed, change.asked, change.reason)
    return change
