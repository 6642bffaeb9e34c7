"""
A run of ten turns at a model on loopback, and how much of each request is the beginning of the next one.

A provider reads the tools first, then the system text, then the conversation, and its prompt cache holds beginnings.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from toolkit import Agent, Catalog, Dispatcher, Tool, ToolCall
from toolkit.agent import Run
from toolkit.builtin import read_output_for
from toolkit.providers import BedrockProvider, create_provider

from .making import build_provider
from .protocols import Turn
from .stub import KEY, serving

__all__ = ["FAMILIES", "Family", "Share", "converse", "converse_in_two_processes", "measure_shares", "read_body"]

CLAUDE_AT_BEDROCK = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
SYSTEM = "You look after a garden. " * 20
_MARKS = ("cache_control", "cachePoint")


class Family(NamedTuple):
    """
    A provider, or a way in which it is used.

    Attributes:
        format: The name of its format.
        places: Where the parts of its requests are, in the order in which it reads them.
        is_native: Whether it keeps deferred tools out of the prompt itself.
    """

    format: str
    places: tuple[str, ...]
    is_native: bool = False


_ANTHROPIC, _RESPONSES = ("tools", "system", "messages"), ("tools", "instructions", "input")
FAMILIES = {
    "anthropic": Family("anthropic", _ANTHROPIC, is_native=True),
    "openai_responses": Family("openai_responses", _RESPONSES, is_native=True),
    "bedrock": Family("bedrock", ("toolConfig", "system", "messages")),
    "openai": Family("openai", ("tools", "messages")),
    "mistral": Family("openai", ("tools", "messages")),
    "gemini": Family("gemini", ("tools", "systemInstruction", "contents")),
    "anthropic, older models": Family("anthropic", _ANTHROPIC),
    "openai_responses, older models": Family("openai_responses", _RESPONSES),
}


class Share(NamedTuple):
    """How much of a request is the beginning of the next one, 0 to 1, and whether that one has other tools."""

    share: float
    has_other_tools: bool


def build_catalog() -> Catalog:
    """Return tools of which most are deferred."""
    catalog = Catalog(read_output_for())

    @catalog.tool(read_only=True)
    def look(what: str) -> str:
        """Look at something in the garden."""
        return f"a {what} " * 10

    @catalog.tool(read_only=True)
    def survey() -> str:
        """Describe all of the garden, at length."""
        return "\n".join(f"bed {number}: tulips" for number in range(2000))

    @catalog.tool(read_only=True, defer=True)
    def forecast(day: str) -> str:
        """Tell the weather of a day."""
        return f"sun on {day}"

    schema = {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]}
    for number in range(20):
        name, text = f"measure_{number}", f"Measure the weather at station {number}."
        catalog.add(Tool.from_schema(name, text, schema, lambda arguments: 7, read_only=True, defer=True))
    return catalog


def build_agent(family: str, url: str) -> tuple[Any, Agent]:
    """Return the provider of *family* at *url*, and an agent that uses it."""
    if family == "bedrock":
        model = BedrockProvider(CLAUDE_AT_BEDROCK, region="us-east-1", base_url=url, api_key=KEY)
    elif family == "mistral":
        model = create_provider("mistral:mistral-large-latest", base_url=f"{url}/v1", api_key=KEY)
    else:
        format_name, _, is_native = FAMILIES[family]
        options = {"native_loading": is_native} if format_name in ("anthropic", "openai_responses") else {}
        model = build_provider(format_name, SimpleNamespace(url=url), **options)
    return model, Agent(model, Dispatcher(build_catalog(), max_chars=8000), system=SYSTEM)


def write_script(family: str) -> list[Turn]:
    """Return what the model says: it searches, calls what it found, gets a result that is cut, and makes mistakes."""
    metadata = {"is_search": True} if family == "openai_responses" else None
    search = ToolCall("tool_search", {"query": "the weather of a day", "limit": 2}, "search", metadata=metadata)
    thought = "" if FAMILIES[family].format == "openai" else "Hm."  # OpenAI's own type of a message has none
    looks = tuple(ToolCall("look", {"what": f"tree_{number}"}, f"look_{number}") for number in range(9))
    return [
        Turn(text="I look.", calls=looks[:1]),
        Turn(calls=(search, looks[1])),
        Turn(thought=thought, calls=(ToolCall("forecast", {"day": "Monday"}, "forecast_1"),)),
        Turn(calls=(ToolCall("survey", {}, "survey_1"),)),
        Turn(text="I have looked."),
        Turn(calls=looks[2:5]),
        Turn(thought=thought, calls=(ToolCall("look", {"where": "here"}, "look_wrongly"),)),
        Turn(calls=(ToolCall("measure_rain", {}, "unknown"),)),
        Turn(text="Once more.", calls=looks[5:6]),
        Turn(text="That is all."),
    ]


async def converse(family: str) -> list[dict[str, Any]]:
    """Return the bodies of the ten requests of a run and of the run that goes on with it."""
    async with serving(*write_script(family)) as stub:
        model, agent = build_agent(family, stub.url)
        async with model:
            first = await agent.run("Look around.")
            second = await agent.run("Go on.", run=first)
    assert (first.status, second.status) == ("done", "done"), (first.reason, second.reason)
    return [request.body for request in stub.heard]


async def converse_in_two_processes(family: str) -> list[dict[str, Any]]:
    """Return the bodies of the ten requests if another process goes on with the run, which was saved as text."""
    async with serving(*write_script(family)) as stub:
        model, agent = build_agent(family, stub.url)
        async with model:
            run = await agent.run("Look around.")
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", __name__, family, stub.url),
            stdin=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        )
        _, errors = await process.communicate(run.dumps().encode())
    assert process.returncode == 0, errors.decode()
    return [request.body for request in stub.heard]


def read_body(family: str, body: dict[str, Any]) -> list[str]:
    """Return the parts of *body* as JSON, as the provider reads them, without the marks of its cache."""
    return [json.dumps(_remove_marks(body.get(place)), ensure_ascii=False) for place in FAMILIES[family].places]


def _remove_marks(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _remove_marks(item) for name, item in value.items() if name not in _MARKS}
    if isinstance(value, list):
        return [_remove_marks(item) for item in value if not isinstance(item, dict) or "cachePoint" not in item]
    return value


def measure_shares(family: str, bodies: list[dict[str, Any]]) -> list[Share]:
    """Return how much of each request the next one begins with."""
    requests = [read_body(family, body) for body in bodies]
    shares = []
    for earlier, later in pairwise(requests):
        texts = ["\n".join(earlier), "\n".join(later)]
        shares.append(Share(len(os.path.commonprefix(texts)) / len(texts[0]), earlier[0] != later[0]))
    return shares


async def _continue_run(family: str, url: str, run: Run) -> None:
    model, agent = build_agent(family, url)
    async with model:
        done = await agent.run("Go on.", run=run)
    assert done.status == "done", done.reason


if __name__ == "__main__":
    asyncio.run(_continue_run(sys.argv[1], sys.argv[2], Run.loads(sys.stdin.read())))
