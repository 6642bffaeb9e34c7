"""Prompt caches: what a request marks for them, and that each request begins with the one before."""

from __future__ import annotations

import json
from functools import partial

import pydantic
import pytest

from tests.formats import sdks
from toolkit import Agent, Session, ToolCall, ToolResult
from toolkit.agent.conversation.compaction import compact_messages
from toolkit.builtin import tool_search_for
from toolkit.providers import (
    AssistantMessage,
    BedrockProvider,
    Native,
    Request,
    ToolMessage,
    UserMessage,
    create_provider,
)

from .judges import validate_messages
from .making import build_provider, catalog, hello
from .prefixes import (
    CLAUDE_AT_BEDROCK,
    FAMILIES,
    SYSTEM,
    build_catalog,
    converse,
    converse_in_two_processes,
    measure_shares,
)
from .protocols import Turn
from .stub import serving

pytestmark = pytest.mark.anyio

each_family = pytest.mark.parametrize("family", FAMILIES)


def body_of(model, request):
    """Return what *model* would send for *request*; nothing leaves the process."""
    return json.loads(json.dumps(model._build_outgoing(request, stream=False).body))


def find_marks(value):
    """Return the marks in *value*."""
    if isinstance(value, dict):
        own = [value[name] for name in ("cache_control", "cachePoint") if name in value]
        return own + [mark for item in value.values() for mark in find_marks(item)]
    return [mark for item in value for mark in find_marks(item)] if isinstance(value, list) else []


def check_shares(family, bodies):
    shares = measure_shares(family, bodies)
    assert len(shares) == 9
    assert min(share for share, has_other_tools in shares if not has_other_tools) > 0.99
    assert sum(has_other_tools for _, has_other_tools in shares) == (0 if FAMILIES[family].is_native else 1)


@each_family
async def test_each_request_begins_with_the_previous_one(family):
    """This holds also after a search, a cut result, and mistakes. Only a loaded tool may change the tools."""
    check_shares(family, await converse(family))


@pytest.mark.long
@each_family
async def test_a_saved_run_goes_on_with_the_same_beginning_in_another_process(family):
    check_shares(family, await converse_in_two_processes(family))


@each_family
async def test_every_request_is_one_that_the_official_types_take(family):
    name = FAMILIES[family].format
    for body in await converse(family):
        if name == "bedrock":
            tools = body["toolConfig"]["tools"]
            assert sdks.messages(name, body["messages"]) == body["messages"]
        else:
            tools = body["tools"]
            validate_messages(name, body)
        assert sdks.tools(name, tools) == tools
        if name == "anthropic":
            blocks = pydantic.TypeAdapter(list[sdks.anthropic.types.TextBlockParam])
            assert blocks.validate_python(body["system"]) == body["system"]


# Marks of Anthropic and Bedrock.


@pytest.mark.parametrize("family", ["anthropic", "anthropic, older models", "bedrock"])
async def test_tools_system_text_and_conversation_are_marked(family):
    """Four marks are the most that the API takes: the conversation has two, at its end and where it ended before."""
    bodies = await converse(family)
    assert [len(find_marks(body)) for body in bodies] == [3] + [4] * 9
    for body in bodies:
        ends = [message for message in body["messages"] if find_marks(message["content"][-1])]
        assert ends[-1] is body["messages"][-1]
        if len(ends) == 2:
            assert body["messages"][body["messages"].index(ends[0]) + 1]["role"] == "assistant"
        assert find_marks(body["system"])


def test_the_lifetime_of_the_cache_is_that_of_every_mark():
    request = hello(system=SYSTEM, catalog=catalog())
    marks = find_marks(body_of(build_provider("anthropic", api_key="k", cache="1h"), request))
    assert marks == [{"type": "ephemeral", "ttl": "1h"}] * 3
    bedrock = BedrockProvider(CLAUDE_AT_BEDROCK, region="us-east-1", api_key="k", cache="1h")
    assert find_marks(body_of(bedrock, request)) == [{"type": "default", "ttl": "1h"}] * 3


@pytest.mark.parametrize(
    "build",
    [
        partial(build_provider, "anthropic", api_key="k"),
        partial(BedrockProvider, CLAUDE_AT_BEDROCK, region="us-east-1", api_key="k"),
    ],
    ids=["anthropic", "bedrock"],
)
def test_no_part_is_marked_for_the_cache_if_the_cache_is_off(build):
    body = body_of(build(cache=False), hello(system=SYSTEM, catalog=catalog()))
    assert find_marks(body) == []
    with pytest.raises(ValueError, match='cache: expected True, False, "5m" or "1h"'):
        build(cache="2h")


@pytest.mark.parametrize(
    ("model", "count"),
    [
        ("anthropic.claude-3-haiku-20240307-v1:0", 0),
        ("anthropic.claude-v2:1", 0),
        ("meta.llama3-70b-instruct-v1:0", 0),
        ("eu.anthropic.claude-3-7-sonnet-20250219-v1:0", 3),
        ("anthropic.claude-opus-4-1-20250805-v1:0", 3),
        ("us.amazon.nova-pro-v1:0", 2),
    ],
)
def test_bedrock_gets_cache_points_for_models_that_accept_them(model, count):
    """Others refuse a request with one, and Nova accepts none after the tools."""
    body = body_of(BedrockProvider(model, region="us-east-1", api_key="k"), hello(system=SYSTEM, catalog=catalog()))
    assert len(find_marks(body)) == count


def test_a_single_question_without_tools_is_not_marked():
    """No other request goes on with it, for example with the request for a summary, and writing a cache costs more."""
    body = body_of(build_provider("anthropic", api_key="k"), hello(system=SYSTEM))
    assert find_marks(body["messages"]) == []
    assert find_marks(body["system"])


def test_a_thought_is_not_marked():
    """The API refuses a mark at one."""
    content = [{"type": "text", "text": "Wait."}, {"type": "thinking", "thinking": "Hm.", "signature": "c2ln"}]
    paused = AssistantMessage(text="Wait.", native=Native("anthropic", content))
    body = body_of(build_provider("anthropic", api_key="k"), Request(messages=(UserMessage.of("Go."), paused)))
    assert [bool(find_marks(block)) for block in body["messages"][1]["content"]] == [True, False]


def test_a_cache_mark_of_the_caller_has_to_be_given_as_the_argument():
    with pytest.raises(ValueError, match="`options` cannot hold cache_control"):
        build_provider("anthropic", options={"cache_control": {"type": "ephemeral"}})


# Keys of OpenAI and other servers.


@pytest.mark.parametrize("name", ["openai", "openai_responses"])
def test_the_requests_of_a_session_share_a_cache_key(name):
    """The key does not show the id, which may name the user."""
    session = Session(id="ada@example.com")
    again = Session.from_json(session.to_json())
    model = build_provider(name, api_key="k")
    keys = {body_of(model, hello(session=talk))["prompt_cache_key"] for talk in (session, again)}
    assert len(keys) == 1
    assert "ada" not in keys.pop()
    assert "prompt_cache_key" not in body_of(model, hello())
    elsewhere = build_provider(name, api_key="k", base_url="http://localhost:1/v1")
    assert "prompt_cache_key" not in body_of(elsewhere, hello(session=session))


@pytest.mark.parametrize(("name", "takes"), [("mistral", True), ("fireworks", True), ("groq", False), ("xai", False)])
def test_only_services_that_accept_a_cache_key_get_one(name, takes):
    body = body_of(create_provider(f"{name}:m", api_key="k"), hello(session=Session()))
    assert ("prompt_cache_key" in body) is takes


def test_a_context_cache_of_gemini_holds_the_tools_and_the_system_text():
    """The API refuses them beside the name of a cache."""
    model = build_provider("gemini", api_key="k", strict=True, options={"cachedContent": "cachedContents/a"})
    body = body_of(model, hello(system=SYSTEM, catalog=catalog()))
    assert body.keys() == {"contents", "cachedContent"}


# Tools that the provider loads itself.


def build_search_request(*messages, loaded=(), **fields):
    """Make a request whose catalog has many deferred tools and our `tool_search`."""
    garden = build_catalog()
    garden.add(tool_search_for(garden))
    session = Session()
    session.load(*loaded)
    return Request(messages=(UserMessage.of("Go."), *messages), catalog=garden, session=session, **fields)


def build_search(*names, **fields):
    """Make both messages of a search that found the tools *names*."""
    value = {"tools": [{"name": name, "description": ""} for name in names], **fields}
    result = ToolResult(json.dumps(value), value, tool="tool_search", call_id="c1")
    return AssistantMessage(calls=(ToolCall("tool_search", {"query": "x"}, "c1"),)), ToolMessage((result,))


@pytest.mark.parametrize(
    ("name", "model", "is_native"),
    [
        ("anthropic", "claude-sonnet-4-5-20250929", True),
        ("anthropic", "claude-opus-5", True),
        ("anthropic", "claude-opus-4-1-20250805", False),
        ("anthropic", "claude-sonnet-4-20250514", False),
        ("anthropic", "claude-3-5-haiku-latest", False),
        ("openai_responses", "gpt-5.4-mini", True),
        ("openai_responses", "gpt-6-sol", True),
        ("openai_responses", "gpt-5.2", False),
        ("openai_responses", "gpt-5", False),
        ("openai_responses", "gpt-4.1", False),
    ],
)
def test_newer_models_load_tools_themselves(name, model, is_native):
    assert build_provider(name, api_key="k", model=model).native_loading is is_native
    assert build_provider(name, api_key="k", model=model, native_loading=not is_native).native_loading is not is_native
    assert not build_provider(name, api_key="k", model=model, base_url="http://localhost:1").native_loading


def test_a_tool_that_no_result_refers_to_is_defined():
    """The search was summed up, or the tool was loaded in another way."""
    model = build_provider("anthropic", api_key="k")
    search = build_search("forecast")
    body = body_of(model, build_search_request(*search, loaded=["forecast", "measure_3"]))
    names = [tool["name"] for tool in body["tools"] if not tool.get("defer_loading")]
    assert names == ["read_output", "look", "survey", "tool_search", "measure_3"]
    assert body["messages"][2]["content"][0]["content"] == [{"type": "tool_reference", "tool_name": "forecast"}]
    body = body_of(model, build_search_request(loaded=["forecast"]))
    assert [tool["name"] for tool in body["tools"] if not tool.get("defer_loading")][-1] == "forecast"


def test_a_search_that_was_a_function_call_gets_a_function_result():
    """It was made at another provider or by an older version, so the definitions describe the found tools."""
    model = build_provider("openai_responses", api_key="k", native_loading=True)
    body = body_of(model, build_search_request(*build_search("forecast"), loaded=["forecast"]))
    assert [item.get("type") for item in body["input"][1:]] == ["function_call", "function_call_output"]
    assert [tool.get("name", tool["type"]) for tool in body["tools"]][-2:] == ["forecast", "tool_search"]


def test_notes_of_a_search_are_sent_as_text():
    """Names that were not loaded, and notes, have no place in a reference."""
    search = build_search("forecast", further={"measure_1": "Measure the weather"}, note="look closer")
    body = body_of(build_provider("anthropic", api_key="k"), build_search_request(*search, loaded=["forecast"]))
    text = body["messages"][2]["content"][-1]["text"]
    assert "measure_1" in text
    assert "look closer" in text


def test_deferred_tools_are_not_sent_without_our_search():
    """No result could refer to them."""
    request = Request(messages=(UserMessage.of("Go."),), catalog=build_catalog())
    assert len(body_of(build_provider("anthropic", api_key="k"), request)["tools"]) == 3


async def test_a_search_at_openai_is_called_and_answered_as_a_search():
    """The answer to a failed search has no tools, and a text has the reason."""
    search = ToolCall("tool_search", {"query": "x", "limit": 0}, "c1", metadata={"is_search": True})
    async with serving(Turn(calls=(search,)), Turn(text="Never mind.")) as stub:
        model = build_provider("openai_responses", stub, native_loading=True)
        async with model:
            run = await Agent(model, build_catalog()).run("Go.")
    assert run.text == "Never mind."
    item, answer, text = stub.heard[1].body["input"][1:]
    assert (item["type"], answer["type"], answer["tools"]) == ("tool_search_call", "tool_search_output", [])
    assert item["call_id"] == answer["call_id"] == "c1"
    assert "expected 1 to 50" in text["content"][0]["text"]


async def test_a_search_whose_result_was_cut_still_loads_its_tools():
    """The text is gone, and the names stay."""
    _, answer = build_search("forecast")
    answer.results[0].text = "x" * 5000
    later = [message for _ in range(2) for message in build_search()]
    cut = compact_messages([UserMessage.of("Go."), *build_search("forecast")[:1], answer, *later], 1000)
    assert cut is not None
    body = body_of(
        build_provider("anthropic", api_key="k"), build_search_request(*cut.messages[1:3], loaded=["forecast"])
    )
    assert body["messages"][2]["content"][0]["content"] == [{"type": "tool_reference", "tool_name": "forecast"}]
