"""
Our providers, made to talk to the stub, and what they are asked.
"""

from __future__ import annotations

from typing import Any

from toolkit import Catalog, RetryPolicy
from toolkit.providers import (
    AnthropicProvider,
    GeminiProvider,
    OpenAIProvider,
    OpenAIResponsesProvider,
    Reply,
    Request,
    TextDelta,
    UserMessage,
)

from .stub import KEY, Stub

__all__ = ["NAMES", "ask", "build_provider", "catalog", "hello"]

_PROVIDERS: dict[str, tuple[Any, str, str]] = {
    "anthropic": (AnthropicProvider, "claude-test", ""),
    "openai": (OpenAIProvider, "gpt-test", "/v1"),
    "openai_responses": (OpenAIResponsesProvider, "gpt-test", "/v1"),
    "gemini": (GeminiProvider, "gemini-test", ""),
}
NAMES = list(_PROVIDERS)


def build_provider(name: str, stub: Stub | None = None, *, slept: list[float] | None = None, **options: Any) -> Any:
    """Make the provider of this name at *stub*; the waits that it would have made go to *slept*."""
    kind, model, path = _PROVIDERS[name]
    waits = [] if slept is None else slept

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    if stub is not None:
        options = {"base_url": f"{stub.url}{path}", "api_key": KEY, **options}
    return kind(options.pop("model", model), **{"sleep": sleep, "retry": RetryPolicy(wait_jitter=0), **options})


def catalog() -> Catalog:
    """Return a catalog of two tools, one with a dot in its name."""
    tools = Catalog()

    @tools.tool(read_only=True, name="files.read")
    def read(path: str, limit: int = 10) -> str:
        """Read a file."""
        return f"{path} {limit}"

    @tools.tool(read_only=True)
    def now() -> str:
        """Tell the time."""
        return "noon"

    return tools


def hello(**fields: Any) -> Request:
    """Return a request that says hello."""
    return Request(messages=(UserMessage.of("Hello"),), **fields)


async def ask(provider: Any, request: Request, *, stream: bool) -> tuple[str, Reply]:
    """Return what was shown while the answer came, and the answer."""
    if not stream:
        return "", await provider.reply(request)
    events = [event async for event in provider.stream(request)]
    assert all(isinstance(event, TextDelta) for event in events[:-1])
    return "".join(event.text for event in events[:-1]), events[-1]
