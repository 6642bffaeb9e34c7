"""Reading what models want called."""

from __future__ import annotations

import base64
import json

import pytest

from tests.formats import sdks
from tests.formats.tools import everything, module
from toolkit import Dispatcher
from toolkit.errors import ProviderError
from toolkit.formats import FORMATS

pytestmark = pytest.mark.anyio

PARALLEL = [name for name in FORMATS if name != "mcp"]
TEXT = ["openai", "openai_responses"]
WITH_IDS = ["anthropic", "openai", "openai_responses", "gemini", "bedrock", "mistral"]


def read(arguments):
    """Return the arguments, whether they are sent as text or as an object."""
    return json.loads(arguments) if isinstance(arguments, str) else arguments


def as_json(response):
    """Return an SDK's object as the JSON that came over the wire."""
    if isinstance(response, dict):
        return response
    return json.loads(response.model_dump_json(by_alias=True, exclude_none=True))


@pytest.mark.parametrize("as_given", [lambda reply: reply, as_json], ids=["object", "json"])
@pytest.mark.parametrize("name", FORMATS)
def test_a_call_keeps_its_name_and_arguments(name, as_given):
    """An SDK's object and its JSON are read alike."""
    wire = module(name).NAMING.wire("git.log")
    [call] = module(name).calls(as_given(sdks.reply(name, [(wire, {"path": "a"}, "id1")])))
    assert (call.name, read(call.arguments)) == ("git.log", {"path": "a"})


@pytest.mark.parametrize("name", PARALLEL)
def test_parallel_calls_keep_their_order(name):
    """Two calls of one tool in one turn are two calls, in the order they were made."""
    sent_calls = [
        ("forecast", {"city": city}, key) for city, key in [("Oslo", "id1"), ("Rome", "id2"), ("Oslo", "id3")]
    ]
    calls = module(name).calls(sdks.reply(name, sent_calls))
    assert [read(call.arguments)["city"] for call in calls] == ["Oslo", "Rome", "Oslo"]


@pytest.mark.parametrize("name", WITH_IDS)
def test_ids_of_calls_are_kept(name):
    """The result is sent back under the id."""
    sent_calls = [("ping", {}, "id1"), ("ping", {}, "id2")]
    assert [call.id for call in module(name).calls(sdks.reply(name, sent_calls))] == ["id1", "id2"]


@pytest.mark.parametrize("name", FORMATS)
async def test_a_call_goes_through_the_dispatcher_and_back(name):
    """The result goes to the provider under the same id."""
    catalog = everything()
    wire = module(name).NAMING.wire
    response = sdks.reply(name, [(wire("mail.search"), {"words": "tea", "folder": None}, "id1")])
    async with Dispatcher(catalog) as dispatcher:
        results = await dispatcher.call_many(module(name).calls(response, catalog))
    assert [(result.kind, result.text) for result in results] == [("ok", "tea")]
    sent = module(name).results(results)
    assert sdks.messages(name, sent) == sdks.plain(sent)
    assert "id1" in str(sent) or name in ("ollama", "mcp")


@pytest.mark.parametrize("name", TEXT)
@pytest.mark.parametrize("text", ['{"path": ', "", "null", "[1]", '{"a": 1, "a": 2}', "no JSON at all"])
@pytest.mark.parametrize("catalog", [None, everything()])
def test_malformed_arguments_are_not_changed(name, text, catalog):
    """The dispatcher describes the problem."""
    response = as_json(sdks.reply(name, [("ping", {}, "id1")]))
    entry = response["output"][1] if name == "openai_responses" else response["choices"][0]["message"]["tool_calls"][0]
    (entry if name == "openai_responses" else entry["function"])["arguments"] = text
    [call] = module(name).calls(response, catalog)
    assert call.arguments == text


ODD = {
    "anthropic": {"content": [{"type": "tool_use", "id": 7, "name": None, "input": None}, "noise", None, 3]},
    "openai": {"choices": [{"message": {"role": "assistant", "tool_calls": [{"id": 7, "function": None}]}}]},
    "openai_responses": {"output": [{"type": "function_call", "call_id": 7, "name": 5}, {"type": "message"}, None]},
    "gemini": {"candidates": [{"content": {"parts": [{"functionCall": {"id": 7}}, {"text": "x"}, None]}}]},
    "bedrock": {"output": {"message": {"content": [{"toolUse": {"toolUseId": 7}}, {"text": "x"}, None]}}},
    "mistral": {"choices": [{"message": {"tool_calls": [{"id": 7, "function": {"arguments": None}}]}}]},
    "ollama": {"message": {"tool_calls": [{"id": 7, "function": {"name": ["x"]}}]}},
    "mcp": {"method": "tools/call", "id": 7, "params": {"name": None}},
}


@pytest.mark.parametrize("with_catalog", [False, True])
@pytest.mark.parametrize("name", FORMATS)
async def test_an_odd_call_is_answered_under_its_id(name, with_catalog):
    """A call without a usable name or arguments still gets its result, because the provider waits for one."""
    catalog = everything()
    [call] = module(name).calls(ODD[name], catalog if with_catalog else None)
    assert (call.name, call.arguments, call.id) == ("", {}, "7")
    async with Dispatcher(catalog) as dispatcher:
        result = await dispatcher.call(call)
    assert (result.kind, result.call_id) == ("not_found", "7")


@pytest.mark.parametrize(
    ("name", "response"),
    [
        ("anthropic", {"content": []}),
        ("anthropic", {"content": "just text"}),
        ("openai", {"choices": []}),
        ("openai", {"choices": [{"message": {"role": "assistant", "content": "hi"}}]}),
        ("openai_responses", {"output": []}),
        ("gemini", {"promptFeedback": {"blockReason": "SAFETY"}}),
        ("gemini", {"candidates": [{"finishReason": "SAFETY"}]}),
        ("gemini", {"role": "model", "parts": [{"text": "hi"}]}),
        ("bedrock", {"role": "assistant", "content": [{"text": "hi"}]}),
        ("mistral", {"choices": [{"message": {"role": "assistant", "content": "hi"}}]}),
        ("ollama", {"message": {"role": "assistant", "content": "hi"}}),
        ("ollama", {"role": "assistant", "content": "hi"}),
    ],
)
def test_a_response_without_calls_has_none(name, response):
    """Text, a refusal, a blocked prompt: nothing to call."""
    assert module(name).calls(response) == []


@pytest.mark.parametrize("response", [None, 42, "text", {}, [], object()], ids=repr)
@pytest.mark.parametrize("name", FORMATS)
def test_a_value_that_is_not_a_response_is_an_error_that_names_the_format(name, response):
    """It is not read as a response without calls."""
    with pytest.raises(ProviderError) as caught:
        module(name).calls(response)
    assert str(caught.value).startswith(("openai" if name == "openai_responses" else name) + ":")


@pytest.mark.parametrize(
    ("name", "response", "place"),
    [
        ("anthropic", {"content": 5}, "`content`"),
        ("openai", {"choices": {}}, "`choices`"),
        ("openai", {"choices": [{"message": {"tool_calls": "x"}}]}, "`tool_calls`"),
        ("openai", {"choices": [{}]}, "`choices`"),
        ("openai_responses", {"output": "x"}, "`output`"),
        ("gemini", {"candidates": [{"content": {"parts": "x"}}]}, "`parts`"),
        ("bedrock", {"output": {}}, "`output`"),
        ("ollama", {"message": 3}, "`message`"),
    ],
)
def test_a_broken_response_is_an_error_with_the_place(name, response, place):
    """Another value stands in place of a list."""
    with pytest.raises(ProviderError) as caught:
        module(name).calls(response)
    assert place in str(caught.value)


@pytest.mark.parametrize("name", FORMATS)
def test_the_message_of_a_provider_error_is_passed_on(name):
    """The JSON of an error is not a response. A long message is cut."""
    with pytest.raises(ProviderError) as caught:
        module(name).calls({"type": "error", "error": {"type": "overloaded", "message": "Overloaded " * 100}})
    assert "the response is an error: Overloaded" in str(caught.value)
    assert len(str(caught.value)) < 400


def test_a_stream_is_to_be_collected_first():
    """An iterator of events is the likeliest mistake, and has its own advice."""
    with pytest.raises(ProviderError, match="collect it first"):
        module("openai").calls(iter([]))


def test_tools_that_the_provider_runs_are_not_ours():
    """Server tools, toolsets and hosted searches are answered by those whose they are."""
    block = {"type": "tool_use", "id": "1", "name": "click", "input": {}, "toolset_name": "browser"}
    used = {"type": "server_tool_use", "id": "2", "name": "web_search", "input": {}}
    assert module("anthropic").calls({"content": [block, used]}) == []
    hosted = {"type": "tool_search_call", "execution": "server", "arguments": {}, "call_id": None}
    assert module("openai_responses").calls({"output": [hosted]}) == []
    ran = {"toolUse": {"toolUseId": "1", "name": "x", "input": {}, "type": "server_tool_use"}}
    assert module("bedrock").calls({"output": {"message": {"content": [ran]}}}) == []


@pytest.mark.parametrize(
    ("namespace", "tool_name"),
    [(None, "list_orders"), ("", "list_orders"), ("list_orders", "list_orders"), ("crm", "crm.list_orders")],
)
def test_a_namespace_is_part_of_the_name(namespace, tool_name):
    """A namespace equal to the name of the tool is dropped, because a tool that was loaded alone comes back so."""
    item = {"type": "function_call", "call_id": "1", "name": "list_orders", "arguments": "{}", "namespace": namespace}
    [call] = module("openai_responses").calls({"output": [item]})
    assert call.name == tool_name


@pytest.mark.parametrize(
    ("name", "response"),
    [
        ("openai", {"role": "assistant", "tool_calls": [{"id": "1", "custom": {"name": "run", "input": "ls"}}]}),
        ("openai_responses", {"output": [{"type": "custom_tool_call", "call_id": "1", "name": "run", "input": "ls"}]}),
    ],
)
def test_a_call_of_a_custom_tool_is_passed_on(name, response):
    """We define none, but a model that calls one wants an answer."""
    [call] = module(name).calls(response)
    assert (call.name, call.arguments, call.id) == ("run", "ls", "1")


@pytest.mark.parametrize("key", ["thought_signature", "thoughtSignature"])
def test_the_signature_of_a_thought_is_kept(key):
    """Gemini wants it back with the call. A program that keeps the conversation finds it in the metadata."""
    signature = b"\x00\x01" if key == "thought_signature" else base64.b64encode(b"\x00\x01").decode()
    part = {"functionCall": {"name": "ping"}, key: signature}
    [call] = module("gemini").calls({"candidates": [{"content": {"parts": [part]}}]})
    assert call.metadata == {"thought_signature": base64.b64encode(b"\x00\x01").decode()}
    assert call.id == ""


def test_an_id_that_only_the_sdk_made_up_is_ignored():
    """Mistral's types say "null" where the model gave no id."""
    message = {"role": "assistant", "tool_calls": [{"function": {"name": "ping", "arguments": "{}"}, "id": "null"}]}
    assert [call.id for call in module("mistral").calls(message)] == [""]


def test_the_id_of_an_mcp_request_is_the_id_of_the_call():
    """It may be a number or a text."""
    request = {"jsonrpc": "2.0", "id": 5, "method": "tools/call", "params": {"name": "ping"}}
    assert [call.id for call in module("mcp").calls(request)] == ["5"]
    assert [call.id for call in module("mcp").calls(request["params"])] == [""]


def test_a_mapping_that_is_not_a_dictionary_is_read():
    """Some SDKs have their own mappings."""
    from types import MappingProxyType

    block = {"type": "tool_use", "id": "1", "name": "ping", "input": MappingProxyType({"a": 1})}
    [call] = module("anthropic").calls({"content": [block]})
    assert call.arguments == {"a": 1}
    assert type(call.arguments) is dict


@pytest.mark.parametrize("name", FORMATS)
def test_calls_are_looked_up_only_in_a_catalog(name):
    """The error for a list of functions has the remedy."""
    with pytest.raises(TypeError, match=r"catalog cannot be list; give Catalog\("):
        module(name).calls(sdks.reply(name, [("forecast", {"city": "Oslo"}, "id1")]), [len])
