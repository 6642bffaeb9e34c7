"""
Name a model in one text, and a second one for when the first is down.

Without the argument `live`, a server in this process answers, so this runs without keys and without a network.

    python examples/17_providers.py live
"""

import asyncio
import sys
from typing import Any

import httpx

from toolkit import Agent, RetryPolicy, tool
from toolkit.providers import FallbackProvider, create_provider

# Six of the 41 providers: four formats of their own, and two of the services that have OpenAI's format.
MODELS = [
    "anthropic:claude-sonnet-4-5",
    "openai:gpt-5",
    "openai_responses:gpt-5",
    "gemini:gemini-2.5-pro",
    "groq:llama-3.3-70b-versatile",
    "ollama:qwen3:8b",
]
TEXT = "It is half past nine."
# What the servers answer, by the end of the address.
ANSWERS: dict[str, dict[str, Any]] = {
    "/messages": {"content": [{"type": "text", "text": TEXT}], "stop_reason": "end_turn"},
    "/completions": {"choices": [{"finish_reason": "stop", "message": {"role": "assistant", "content": TEXT}}]},
    "/responses": {
        "status": "completed",
        "output": [{"type": "message", "content": [{"type": "output_text", "text": TEXT}]}],
    },
    ":generateContent": {"candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": TEXT}]}}]},
}


@tool(read_only=True)
async def clock() -> str:
    """Tell the time."""
    return "09:30"


def answer(request: httpx.Request) -> httpx.Response:
    if request.url.host == "api.groq.com":
        return httpx.Response(503, json={"error": {"message": "overloaded"}})
    return httpx.Response(200, json=next(body for end, body in ANSWERS.items() if request.url.path.endswith(end)))


async def main(live: bool) -> None:
    options: dict[str, Any] = {"retry": RetryPolicy(attempts=1)}
    if not live:
        client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
        options |= {"api_key": "none", "client": client}
    for model in MODELS:
        # `Agent(model, [clock])` does the same, with the key in the environment.
        run = await Agent(create_provider(model, **options), [clock]).run("What time is it?")
        print(f"{model:30} {run.status}: {run.text if run.status == 'done' else run.reason}")

    groq, ollama = (create_provider(model, **options) for model in MODELS[-2:])
    run = await Agent(FallbackProvider(groq, ollama), [clock]).run("What time is it?")
    print(f"{'groq, else ollama':30} {run.status}: {run.text}")


asyncio.run(main("live" in sys.argv))
