"""Messages are values that go to JSON and back."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parts import AUDIO_PARTS, RESOURCE_PARTS
from toolkit import ToolCall, ToolResult
from toolkit.content import FilePart, ImagePart, JsonPart, TextPart
from toolkit.providers import AssistantMessage, Native, ToolMessage, UserMessage, message_from_json
from toolkit.providers.messages import MessageCache

texts = st.text(max_size=20)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
parts = (
    st.builds(TextPart, texts)
    | st.builds(JsonPart, json_values)
    | st.builds(ImagePart, st.binary(max_size=9), st.sampled_from(["image/png", "image/gif"]))
    | st.builds(FilePart, texts, st.none() | texts, st.none() | texts)
    | AUDIO_PARTS
    | RESOURCE_PARTS
)
calls = st.builds(ToolCall, texts, st.dictionaries(texts, json_values, max_size=3) | texts, texts)
results = st.builds(
    ToolResult, texts, json_values, st.sampled_from(["ok", "failed", "denied"]), call_id=texts, tool=texts
)
messages = (
    st.builds(UserMessage, st.lists(parts, max_size=3).map(tuple))
    | st.builds(
        AssistantMessage,
        text=texts,
        calls=st.lists(calls, max_size=2).map(tuple),
        native=st.none() | st.builds(Native, texts, json_values),
    )
    | st.builds(ToolMessage, st.lists(results, max_size=2).map(tuple))
)


@given(messages)
def test_a_message_comes_back_unchanged_from_json(message):
    """This holds also through text, as a file has it."""
    data = json.loads(json.dumps(message.to_json()))
    assert message_from_json(data) == message
    assert message_from_json(data).to_json() == data


def test_messages_with_equal_content_are_equal():
    """Calls and results are compared by their content."""
    first, second = (AssistantMessage(calls=(ToolCall("now", {"a": 1}, "x"),)) for _ in range(2))
    assert first == second
    assert first != AssistantMessage(calls=(ToolCall("now", {"a": 2}, "x"),))
    assert first != UserMessage.of("now")
    assert first != "now"


def test_the_short_way_makes_parts():
    """Texts and parts in any order; the text is what was said in words."""
    message = UserMessage.of("What is", ImagePart(b"x"), "this?")
    assert message.parts == (TextPart("What is"), ImagePart(b"x"), TextPart("this?"))
    assert message.text == "What is\nthis?"


def test_json_shares_no_object_with_the_message():
    """A change of one does not change the other."""
    call = ToolCall("now", {"a": [1]}, "x")
    message = AssistantMessage(calls=(call,), native=Native("p", [{"b": 2}]))
    data = message.to_json()
    data["calls"][0]["arguments"]["a"].append(2)
    data["native"]["content"][0]["b"] = 3
    assert call.arguments == {"a": [1]}
    assert message.native.content == [{"b": 2}]
    read = message_from_json(message.to_json())
    assert read.calls[0].arguments is not call.arguments


def test_a_message_cannot_be_changed():
    with pytest.raises(AttributeError):
        AssistantMessage(text="a").text = "b"
    with pytest.raises(TypeError):
        hash(UserMessage.of("a"))


DEEP = json.loads("[" * 500 + "]" * 500)
for _ in range(2000):
    DEEP = [DEEP]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (None, "expected an object, got NoneType"),
        ([], "expected an object, got list"),
        ({}, "version None cannot be read; version 1 can"),
        ({"version": True}, "version True"),
        ({"version": 2, "role": "user"}, "version 2"),
        ({"version": 1}, "unknown role None; known are user, assistant, tool"),
        ({"version": 1, "role": ["user"]}, "unknown role"),
        ({"version": 1, "role": "user"}, "'parts' cannot be NoneType"),
        ({"version": 1, "role": "user", "parts": [{"type": "text", "text": 5}]}, r"parts\[0\].*'text' cannot be int"),
        (
            {"version": 1, "role": "user", "parts": [{"type": "text"}]},
            r"parts\[0\]: a part of type 'text' lacks 'text'",
        ),
        ({"version": 1, "role": "user", "parts": [{"type": "image", "data": 5, "media_type": ""}]}, r"parts\[0\]"),
        (
            {"version": 1, "role": "user", "parts": [{"type": "audio", "data": "", "media_type": "text/plain"}]},
            r"parts\[0\]: .*expected an audio type",
        ),
        ({"version": 1, "role": "user", "parts": [{"type": "resource", "uri": "x"}]}, r"parts\[0\]: .*is not a URI"),
        ({"version": 1, "role": "user", "parts": [{"type": "file", "uri": None}]}, r"parts\[0\].*'uri'"),
        ({"version": 1, "role": "user", "parts": [{"type": "file", "uri": "a", "name": 5}]}, r"parts\[0\].*'name'"),
        (
            {"version": 1, "role": "user", "parts": [{"type": "file", "uri": "a", "media_type": []}]},
            r"parts\[0\].*'media_type' cannot be list",
        ),
        ({"version": 1, "role": "user", "parts": [5]}, r"parts\[0\]: a part of type None"),
        ({"version": 1, "role": "user", "parts": [{"type": "json", "value": DEEP}]}, r"parts\[0\]"),
        ({"version": 1, "role": "assistant", "text": 5, "calls": []}, "'text' cannot be int"),
        ({"version": 1, "role": "assistant", "text": "", "calls": [5]}, r"calls\[0\]"),
        ({"version": 1, "role": "assistant", "text": "", "calls": [{"id": "", "name": 5}]}, r"calls\[0\].*'name'"),
        ({"version": 1, "role": "assistant", "text": "", "calls": [], "native": 5}, "'native' cannot be int"),
        ({"version": 1, "role": "assistant", "text": "", "calls": [], "native": {}}, "'provider' cannot be NoneType"),
        ({"version": 1, "role": "tool", "results": [{"version": 9}]}, r"results\[0\]: a result of version 9"),
        ({"version": 1, "role": "tool", "results": [None]}, r"results\[0\]"),
    ],
)
def test_malformed_message_data_is_refused_with_the_place(data, words):
    with pytest.raises(ValueError, match=words):
        message_from_json(data)


def test_words_of_a_provider_that_nest_too_deeply_are_refused():
    """A saved conversation is not trusted: any program may have written it."""
    native = {"provider": "openai", "content": DEEP}
    with pytest.raises(ValueError, match="nests too deeply"):
        message_from_json({"version": 1, "role": "assistant", "text": "", "calls": [], "native": native})


@given(st.lists(st.tuples(st.sampled_from(["append", "replace", "cut"]), st.integers(0, 5)), max_size=12))
def test_a_message_cache_returns_the_values_of_the_current_messages(changes):
    """The conversation may have grown, been changed or been cut."""
    conversation: list[UserMessage] = []
    cache = MessageCache(lambda message: message.text)
    for number, (change, place) in enumerate(changes):
        if change == "append" or not conversation:
            conversation.append(UserMessage.of(str(number)))
        elif change == "replace":
            conversation[place % len(conversation)] = UserMessage.of(str(number))
        else:
            del conversation[place:]
        assert list(cache.values_for(conversation)) == [message.text for message in conversation]


def test_a_message_cache_computes_each_value_once_while_the_conversation_grows():
    keyed_texts: list[str] = []
    cache = MessageCache(lambda message: keyed_texts.append(message.text))
    conversation = [UserMessage.of(name) for name in "abc"]
    for length in (1, 2, 3, 3):
        cache.values_for(conversation[:length])
    assert keyed_texts == ["a", "b", "c"]


def test_a_message_that_cannot_be_converted_does_not_stand_for_another():
    """A second request raises again, and the other values are in their places."""

    def make(message):
        if message.text == "b":
            raise ValueError("not b")
        return message.text

    cache = MessageCache(make)
    conversation = [UserMessage.of(name) for name in "abc"]
    for _ in range(2):
        with pytest.raises(ValueError, match="not b"):
            cache.values_for(conversation)
    assert list(cache.values_for([*conversation[:1], conversation[2]])) == ["a", "c"]


def test_a_value_that_is_not_json_is_saved_in_a_similar_json_form():
    """A number that JSON does not have becomes a text, for example."""
    data = UserMessage.of(JsonPart({"a": float("nan"), "b": (1, 2)})).to_json()
    assert data["parts"] == [{"type": "json", "value": {"a": "nan", "b": [1, 2]}}]
    json.dumps(data, allow_nan=False)
