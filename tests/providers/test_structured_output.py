"""
Typed answers through each provider: how the form is sent, which way is chosen, and how the answer comes back.
"""

from __future__ import annotations

import json
import warnings
from dataclasses import dataclass
from typing import Any

import pydantic
import pytest

from toolkit.agent import Agent, TextDelta
from toolkit.agent.final_answers import AnswerFormat
from toolkit.providers import Request, ScriptedProvider, StructuredProvider, UserMessage
from toolkit.results import ToolCall

from .making import NAMES, build_provider, catalog
from .protocols import Turn
from .stub import serving

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # what a package says of itself when it is imported is not ours to mend
    from anthropic.types import OutputConfigParam
    from google.genai import types as gemini_types
    from openai.types.responses import ResponseTextConfigParam
    from openai.types.shared_params import ResponseFormatJSONSchema

pytestmark = pytest.mark.anyio

each_provider = pytest.mark.parametrize("name", NAMES)


@dataclass
class Forecast:
    town: str
    degrees: int
    wind: str = ""


OSLO = {"town": "Oslo", "degrees": 3}
FORM = AnswerFormat.of(Forecast).tool
_PLACES: dict[str, tuple[str, Any]] = {
    "anthropic": ("output_config", OutputConfigParam),
    "openai": ("response_format", ResponseFormatJSONSchema),
    "openai_responses": ("text", ResponseTextConfigParam),
}


def form_in(name: str, body: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of the answer in *body*, after the official types have taken the field and lost nothing."""
    if name == "gemini":
        config = body["generationConfig"]
        config_of_client = gemini_types.GenerationConfig.model_validate(config)
        assert json.loads(config_of_client.model_dump_json(by_alias=True, exclude_unset=True)) == config
        assert config["responseMimeType"] == "application/json"
        return config["responseJsonSchema"]
    place, official = _PLACES[name]
    adapter = pydantic.TypeAdapter(official)
    assert json.loads(adapter.dump_json(adapter.validate_python(body[place]))) == body[place]
    if name == "openai":
        return body[place]["json_schema"]["schema"]
    return body[place]["format"]["schema"]


@each_provider
@pytest.mark.parametrize("stream", [False, True])
def test_the_schema_of_an_answer_is_sent_in_the_field_of_the_provider(name, stream):
    request = Request(messages=(UserMessage.of("?"),), catalog=catalog(), output=FORM)
    body = dict(build_provider(name, api_key="key")._build_outgoing(request, stream=stream).body)
    schema = form_in(name, body)
    assert schema["required"] == ["answer"]
    assert schema["properties"]["answer"]["properties"].keys() == {"town", "degrees", "wind"}
    without = dict(
        build_provider(name, api_key="key")._build_outgoing(Request(messages=request.messages), stream=stream).body
    )
    assert without.keys().isdisjoint({"output_config", "response_format", "text", "generationConfig"})


def test_openais_form_is_strict():
    """Strict mode requires every property, and an optional one may be null."""
    body = build_provider("openai", api_key="key")._build_outgoing(Request(messages=(), output=FORM), stream=False).body
    described = body["response_format"]["json_schema"]
    assert (described["name"], described["strict"]) == ("final_answer", True)
    assert described["schema"]["properties"]["answer"]["required"] == ["town", "degrees", "wind"]


@pytest.mark.parametrize(
    ("name", "options", "has_tools", "is_chosen"),
    [
        ("anthropic", {"model": "claude-sonnet-4-5"}, False, False),
        ("openai", {"model": "gpt-5"}, True, True),
        ("openai", {"model": "gpt-4.1-mini"}, True, True),
        ("openai", {"model": "gpt-4o"}, True, True),
        ("openai", {"model": "gpt-4-turbo"}, True, False),
        ("openai", {"model": "gpt-3.5-turbo"}, True, False),
        ("openai", {"model": "qwen3", "base_url": "http://localhost:11434/v1"}, False, False),
        ("openai_responses", {"model": "gpt-5"}, True, True),
        ("openai_responses", {"model": "gpt-4"}, True, False),
        ("gemini", {"model": "gemini-2.5-pro"}, True, False),
        ("gemini", {"model": "gemini-2.5-pro"}, False, True),
        ("gemini", {"model": "gemini-3-pro"}, True, True),
    ],
)
def test_the_way_is_chosen_by_provider_and_model(name, options, has_tools, is_chosen):
    """The choice is a tool call or the structured output of the provider."""
    provider = build_provider(name, api_key="key", **options)
    assert isinstance(provider, StructuredProvider)
    assert provider.structures_output(FORM, has_tools=has_tools) is is_chosen


def test_a_form_that_strict_mode_cannot_express_is_a_tool():
    """An object with any keys cannot be strict at OpenAI."""
    provider = build_provider("openai", api_key="key", model="gpt-5")
    assert not provider.structures_output(AnswerFormat.of(dict[str, int]).tool, has_tools=False)


def test_the_scripted_provider_can_play_both():
    """The scripted provider calls the tool unless it is told otherwise."""
    assert isinstance(ScriptedProvider([]), StructuredProvider)
    assert not ScriptedProvider([]).structures_output(FORM, has_tools=True)
    assert ScriptedProvider([], structured=True).structures_output(FORM, has_tools=True)


@each_provider
@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_as_text_over_http(name, stream):
    """The provider's own structured output, refused once and then decoded."""
    script = Turn(text='{"answer": {"town": "Oslo"}}'), Turn(text=json.dumps({"answer": {**OSLO, "wind": None}}))
    async with serving(*script) as stub, build_provider(name, stub) as provider:
        on_event = (lambda event: None) if stream else None
        agent = Agent(provider, catalog(), output=Forecast, output_by="provider", on_event=on_event)
        run = await agent.run("How is Oslo?")
    assert (run.output, run.refused_answers) == (Forecast("Oslo", 3), 1)
    assert form_in(name, stub.heard[1].body)["required"] == ["answer"]
    assert "answer.degrees: required" in json.dumps(stub.heard[1].body)


@each_provider
@pytest.mark.parametrize("stream", [False, True])
async def test_an_answer_as_a_call_over_http(name, stream):
    """A tool call, refused once and then decoded."""
    calls = (
        ToolCall("final_answer", {"answer": {"town": "Oslo"}}, "c1"),
        ToolCall("final_answer", {"answer": OSLO}, "c2"),
    )
    async with serving(*(Turn(calls=(call,)) for call in calls)) as stub, build_provider(name, stub) as provider:
        events: list[Any] = []
        on_event = events.append if stream else None
        agent = Agent(provider, catalog(), output=Forecast, output_by="tool", on_event=on_event)
        run = await agent.run("How is Oslo?")
    assert (run.output, run.refused_answers) == (Forecast("Oslo", 3), 1)
    assert "final_answer" in json.dumps(stub.heard[0].body["tools"])
    assert "answer.degrees: required" in json.dumps(stub.heard[1].body)
    assert not any(isinstance(event, TextDelta) for event in events)
