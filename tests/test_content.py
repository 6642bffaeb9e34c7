"""Audio and resources as parts: what they accept, how they are stored, and how they become text."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import PurePosixPath
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parts import AUDIO_PARTS, RESOURCE_PARTS
from toolkit import Agent, AudioPart, Catalog, Dispatcher, ResourcePart, ToolCall
from toolkit.agent import Run
from toolkit.content import is_uri, part_from_json
from toolkit.providers import ScriptedProvider, UserMessage
from toolkit.values.part_texts import render_part


@given(AUDIO_PARTS | RESOURCE_PARTS)
def test_a_stored_part_is_the_same_part(part):
    """JSON, a pickle and a copy give back an equal part."""
    assert part_from_json(json.loads(json.dumps(part.to_json()))) == part
    assert pickle.loads(pickle.dumps(part)) == copy.deepcopy(part) == part  # noqa: S301 -- our own bytes
    assert hash(copy.copy(part)) == hash(part)


@pytest.mark.parametrize("data", [bytearray(b"abc"), memoryview(b"abc")], ids=["bytearray", "memoryview"])
def test_bytes_that_can_change_are_copied(data):
    """A part does not change after it was made."""
    assert AudioPart(data, "audio/wav").data == b"abc"
    assert ResourcePart("memo:1", data).content == b"abc"
    assert type(AudioPart(data, "audio/wav").data) is bytes


@pytest.mark.parametrize(
    ("data", "media_type", "error", "message"),
    [
        ("abc", "audio/wav", TypeError, r"AudioPart: data: expected bytes, got str; read a file with `read_bytes\(\)`"),
        (None, "audio/wav", TypeError, "AudioPart: data: expected bytes, got NoneType"),
        (b"abc", None, TypeError, "AudioPart: media_type: expected text such as 'audio/wav', got NoneType"),
        (b"abc", "image/png", ValueError, "expected an audio type .* got 'image/png'; for an image use ImagePart"),
        (b"abc", "wav", ValueError, "AudioPart: media_type: 'wav' is not a media type; write one such as"),
        (b"abc", "", ValueError, "'' is not a media type"),
        (b"abc", "audio/wav\n", ValueError, "is not a media type"),
        (b"abc", "audio/\ud800", ValueError, "is not a media type"),
    ],
)
def test_an_invalid_audio_part_is_refused(data: Any, media_type: Any, error, message):
    """The error names the field, what was given, and what to write."""
    with pytest.raises(error, match=message):
        AudioPart(data, media_type)


@pytest.mark.parametrize(
    ("uri", "content", "media_type", "error", "message"),
    [
        ("notes.txt", "a", None, ValueError, "ResourcePart: uri: 'notes.txt' is not a URI; write one with a scheme"),
        ("C:\\notes.txt", "a", None, ValueError, r"is not a URI; .* a path has `as_uri\(\)`"),
        ("C:/notes.txt", "a", None, ValueError, "is not a URI"),
        ("file:///my notes", "a", None, ValueError, "is not a URI"),
        ("memo:\ud800", "a", None, ValueError, "is not a URI"),
        ("memo:", "a", None, ValueError, "is not a URI"),
        ("", "a", None, ValueError, "'' is not a URI"),
        (PurePosixPath("/a"), "a", None, TypeError, "uri: expected text, got PurePosixPath; a path has"),
        ("memo:1", 5, None, TypeError, "ResourcePart: content: expected text, bytes or None, got int"),
        ("memo:1", ["a"], None, TypeError, "got list"),
        ("memo:1", "a", "text", ValueError, "ResourcePart: media_type: 'text' is not a media type"),
        ("memo:1", "a", 5, TypeError, "ResourcePart: media_type: expected text"),
    ],
)
def test_an_invalid_resource_part_is_refused(uri: Any, content: Any, media_type: Any, error, message):
    """The error names the field, what was given, and what to write."""
    with pytest.raises(error, match=message):
        ResourcePart(uri, content, media_type)


@pytest.mark.parametrize(
    "uri",
    [
        "https://a.example/b?c=d#e",
        "urn:isbn:1",
        "memo:1",
        "file:///a%20b",
        "demo://grün",
        "test://[::1]/x",
        "a+b.c-d:e",
    ],
)
def test_any_scheme_is_a_uri(uri):
    """The protocol leaves schemes to servers."""
    assert is_uri(uri)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"type": "audio", "data": "!", "media_type": "audio/wav"}, "type 'audio' cannot be read: .*base64"),
        ({"type": "audio", "data": None, "media_type": "audio/wav"}, "type 'audio' cannot be read"),
        ({"type": "audio", "data": "", "media_type": "image/png"}, "expected an audio type"),
        ({"type": "audio", "data": ""}, "lacks 'media_type'"),
        ({"type": "resource"}, "lacks 'uri'"),
        ({"type": "resource", "uri": "x"}, "'x' is not a URI"),
        ({"type": "resource", "uri": "memo:1", "text": "a", "blob": "YQ=="}, "has both 'text' and 'blob'"),
        ({"type": "resource", "uri": "memo:1", "text": 5}, "'text' cannot be int"),
        ({"type": "resource", "uri": "memo:1", "blob": "!"}, "base64"),
    ],
)
def test_json_that_is_not_a_part_is_refused(data, message):
    """There is one kind of exception, with the reason."""
    with pytest.raises(ValueError, match=message):
        part_from_json(data)


@pytest.mark.parametrize(
    ("part", "text"),
    [
        (AudioPart(b"abc", "audio/wav"), "[audio/wav, 3 bytes]"),
        (ResourcePart("memo:1"), "[resource memo:1]"),
        (ResourcePart("memo:1", None, "text/plain"), "[resource memo:1, text/plain]"),
        (ResourcePart("memo:1", "Hello."), "[resource memo:1]\nHello."),
        (ResourcePart("memo:1", "", "text/plain"), "[resource memo:1, text/plain]\n"),
        (ResourcePart("memo:1", b"x", "application/zip"), "[resource memo:1, application/zip, 1 byte]"),
    ],
)
def test_a_part_has_a_text(part, text):
    """A model that gets only text is told what there is."""
    assert render_part(part) == text


@given(st.text(max_size=30))
def test_any_text_that_is_called_a_uri_can_be_stored(text):
    """A text is a URI or it is refused; nothing else happens."""
    if is_uri(text):
        assert part_from_json(ResourcePart(text).to_json()).uri == text
    else:
        with pytest.raises(ValueError, match="is not a URI"):
            ResourcePart(text)


@pytest.mark.anyio
async def test_a_stored_run_has_the_same_parts():
    """The prompt and the results of an agent's run come back from the text of the run."""

    def play() -> AudioPart:
        """Play a sound."""
        return AudioPart(b"abc", "audio/wav")

    note = ResourcePart("memo:1", b"\xff", "application/octet-stream")
    provider = ScriptedProvider([[ToolCall("play", {}, "call_1")], "Done."])
    run = await Agent(provider, Dispatcher(Catalog(play))).run(UserMessage.of("Listen:", note))
    stored = Run.loads(run.dumps())
    assert stored.messages == run.messages
    assert stored.messages[0].parts[1] == note
    assert list(stored.messages[2].results[0].parts) == [AudioPart(b"abc", "audio/wav")]
