"""
Run the same agent with every provider.

With the argument `live` and a key in the environment, the model is asked. Otherwise each provider gets a
prepared answer, so this runs without a key and a network.

    python examples/17_providers.py live
"""

import asyncio
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx

from toolkit import Agent, tool
from toolkit.providers import AnthropicProvider, GeminiProvider, OpenAIProvider, OpenAIResponsesProvider, Provider

TEXT = "It is half past nine."


@tool(read_only=True)
async def clock() -> str:
    """Tell the time."""
    return "09:30"


@dataclass(frozen=True)
class Candidate:
    """Hold a provider, the variable of its key, a model, and an answer as its server would write it."""

    make: Callable[..., Provider]
    key: str
    model: str
    answer: dict[str, Any]


CANDIDATES = [
    Candidate(
        AnthropicProvider,
        "ANTHROPIC_API_KEY",
        "claude-sonnet-4-5",
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "text", "text": TEXT}],
            "stop_reason": "end_turn",
            "usage": {"input_tokens": 20, "output_tokens": 6},
        },
    ),
    Candidate(
        OpenAIProvider,  # with base_url=: Ollama, vLLM, OpenRouter and other servers that speak Chat Completions
        "OPENAI_API_KEY",
        "gpt-5",
        {
            "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": TEXT}}],
            "usage": {"prompt_tokens": 20, "completion_tokens": 6, "total_tokens": 26},
        },
    ),
    Candidate(
        OpenAIResponsesProvider,
        "OPENAI_API_KEY",
        "gpt-5",
        {
            "object": "response",
            "status": "completed",
            "output": [{"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": TEXT}]}],
            "usage": {"input_tokens": 20, "output_tokens": 6, "total_tokens": 26},
        },
    ),
    Candidate(
        GeminiProvider,
        "GEMINI_API_KEY",
        "gemini-2.5-pro",
        {
            "candidates": [{"finishReason": "STOP", "content": {"role": "model", "parts": [{"text": TEXT}]}}],
            "usageMetadata": {"promptTokenCount": 20, "candidatesTokenCount": 6},
        },
    ),
]


async def main(live: bool) -> None:
    for candidate in CANDIDATES:
        options: dict[str, Any] = {}
        if not (live and os.environ.get(candidate.key)):
            answer = candidate.answer
            transport = httpx.MockTransport(lambda request, answer=answer: httpx.Response(200, json=answer))
            options = {"api_key": "none", "client": httpx.AsyncClient(transport=transport)}
        provider = candidate.make(candidate.model, **options)
        run = await Agent(provider, [clock], system="You are a clock.").run("What time is it?")
        print(
            f"{provider.name:17} {run.status}: {run.text} ({run.usage.input_tokens} + {run.usage.output_tokens} tokens)"
        )


asyncio.run(main("live" in sys.argv))
