"""Sound, documents and resources reach every provider in its own form, or the text says that they are missing."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from tests.formats import sdks
from tests.formats.tools import PNG, module
from tests.parts import AUDIO_FILES, PDF
from toolkit import AudioPart, Catalog, Dispatcher, ResourcePart, Tool, ToolResult
from toolkit.formats import FORMATS

PROVIDERS = [name for name in FORMATS if name != "mcp"]
PLAYED = {"openai": {"wav", "mp3"}, "mistral": {"wav", "mp3"}, "gemini": set(AUDIO_FILES), "mcp": set(AUDIO_FILES)}
DOCUMENT_KEYS = {
    "anthropic": '"type": "document"',
    "bedrock": '"document": {"format": "pdf"',
    "openai": '"type": "file"',
    "openai_responses": '"type": "input_file"',
    "gemini": '"mimeType": "application/pdf"',
    "mistral": '"type": "document_url"',
}


def send(name: str, *parts: Any, text: str = "see", value: Any = None) -> str:
    """Return what *name* sends for a result with *parts*, which its SDK accepts as it is."""
    sent = module(name).results([ToolResult(text, value, call_id="call_1", tool="play", parts=parts)])
    assert sdks.messages(name, sent) == sdks.plain(sent)
    return json.dumps(sdks.plain(sent))


def encode(data: bytes) -> str:
    return base64.b64encode(data).decode()


@pytest.mark.parametrize("form", AUDIO_FILES)
@pytest.mark.parametrize("name", FORMATS)
def test_sound_is_sent_or_the_text_says_that_it_is_missing(name, form):
    """A provider that accepts the format gets the bytes; for any other the text says why it does not."""
    sent = send(name, AudioPart(AUDIO_FILES[form], "audio/wav"))
    is_played = form in PLAYED.get(name, ())
    assert (encode(AUDIO_FILES[form]) in sent) == is_played
    assert ("1 of the recordings cannot be shown" in sent) == (not is_played)


def test_the_text_says_which_sound_can_be_played():
    """The model can ask for another format, or knows that there is none."""
    assert "(1 of the recordings cannot be shown: only WAV and MP3 can)" in send("openai", AudioPart(b"x", "audio/x"))
    assert "(1 of the recordings cannot be shown: this provider accepts none)" in send(
        "ollama", AudioPart(b"x", "audio/x")
    )


def test_sound_in_a_chat_names_its_call():
    """Tool messages hold text alone, so sound follows in a user message, after a line that says what it is."""
    (_, user) = module("openai").results(
        [ToolResult("a", call_id="id_1", tool="play", parts=[AudioPart(AUDIO_FILES["mp3"], "audio/mpeg")])]
    )
    assert user["content"] == [
        {"type": "text", "text": "A recording from the result of `play` (id_1):"},
        {"type": "input_audio", "input_audio": {"data": encode(AUDIO_FILES["mp3"]), "format": "mp3"}},
    ]


def test_gemini_gets_sound_after_all_function_responses():
    """A function response holds images and documents alone."""
    results = [
        ToolResult("a", call_id="x1", tool="play", parts=[AudioPart(AUDIO_FILES["wav"], "audio/x-wav")]),
        ToolResult("b", call_id="x2", tool="look"),
    ]
    ((*answers, label, sound),) = (content["parts"] for content in module("gemini").results(results))
    assert ["functionResponse" in answer for answer in answers] == [True, True]
    assert label == {"text": "A recording from the result of `play` (x1):"}
    assert sound == {"inlineData": {"mimeType": "audio/wav", "data": encode(AUDIO_FILES["wav"])}}


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_document_in_a_resource_is_sent_as_one(name):
    """A provider without documents, such as Ollama, is told that one cannot be shown."""
    sent = send(name, ResourcePart("file:///a.pdf", PDF, "application/pdf"))
    if name not in DOCUMENT_KEYS:
        assert encode(PDF) not in sent
        assert "1 of the resources cannot be shown: only PNG, JPEG, GIF and WebP can" in sent
    else:
        assert encode(PDF) in sent
        assert DOCUMENT_KEYS[name] in sent
        assert "cannot be shown" not in sent


@pytest.mark.parametrize("name", PROVIDERS)
def test_an_image_in_a_resource_is_an_image(name):
    """Every provider shows it, for any media type that it states."""
    assert encode(PNG) in send(name, ResourcePart("file:///a", PNG))


def test_bytes_are_sound_only_if_the_resource_has_such_a_media_type():
    """Two bytes are the beginning of an MP3 file, and of many others."""
    data = b"\xff\xfb\x90\x00"
    assert encode(data) in send("gemini", ResourcePart("file:///a", data, "audio/mpeg"))
    assert encode(data) not in send("gemini", ResourcePart("file:///a", data, "application/octet-stream"))


@pytest.mark.parametrize("name", PROVIDERS)
def test_the_text_says_that_other_bytes_are_missing(name):
    """No provider reads a ZIP file; the model learns that there is one."""
    sent = send(name, ResourcePart("file:///a.zip", b"PK\3\4", "application/zip"))
    assert encode(b"PK\3\4") not in sent
    assert "1 of the resources cannot be shown: only PNG" in sent
    assert "(not shown: [resource file:///a.zip, application/zip, 4 bytes])" in sent


@pytest.mark.parametrize("name", PROVIDERS)
def test_a_resource_that_the_text_does_not_name_is_named(name):
    """A tool that writes its own text may forget it."""
    link = ResourcePart("memo:1", None, "text/plain")
    assert "(not shown: [resource memo:1, text/plain])" in send(name, link)
    assert "not shown" not in send(name, link, text="see [resource memo:1, text/plain]")


def test_not_every_resource_is_named():
    """A result with thousands of links stays short."""
    sent = send("anthropic", *(ResourcePart(f"memo:{number}") for number in range(1000)))
    assert "[resource memo:9] and 990 more)" in sent
    assert len(sent) < 1000


@pytest.mark.parametrize("name", ["bedrock", "gemini"])
def test_a_part_is_not_lost_because_of_a_value(name):
    """These providers get the value in place of the text, unless the text says more."""
    options: dict[str, Any] = {"text": '{"a":1}', "value": {"a": 1}}
    assert '{"a": 1}' in send(name, **options)
    assert "1 of the resources cannot be shown" in send(name, ResourcePart("memo:1", b"x"), **options)


def test_documents_of_a_turn_have_different_names():
    """Bedrock refuses two documents of one name, and characters of an id that a name cannot have."""
    part = ResourcePart("file:///a.pdf", PDF)
    results = [ToolResult("a", call_id=call_id, tool="look", parts=[part, part]) for call_id in ("call_1", "call:2")]
    (message,) = module("bedrock").results(results)
    names = [
        block["document"]["name"]
        for answer in message["content"]
        for block in answer["toolResult"]["content"]
        if "document" in block
    ]
    assert names == ["document-1-call-1", "document-2-call-1", "document-1-call-2", "document-2-call-2"]


def play() -> AudioPart:
    """Play a sound."""
    return AudioPart(AUDIO_FILES["wav"], "audio/wav")


def play_and_tell() -> tuple[str, AudioPart]:
    """Play a sound and say what it is."""
    return "a bell", play()


def fetch() -> ResourcePart:
    """Fetch a note."""
    return ResourcePart("memo:1", "Buy milk.", "text/plain")


def fetch_many() -> list[ResourcePart | AudioPart]:
    """Fetch notes and sounds."""
    return [fetch(), play()]


@pytest.mark.anyio
@pytest.mark.parametrize("function", [play, play_and_tell, fetch, fetch_many], ids=lambda function: function.__name__)
@pytest.mark.parametrize("name", FORMATS)
async def test_a_returned_part_is_content(name, function):
    """The tool promises no structured content, and what it returns reaches the provider."""
    assert Tool.of(function).output_schema is None
    async with Dispatcher(Catalog(function)) as dispatcher:
        result = await dispatcher.call(function.__name__, id="call_7")
    assert result.kind == "ok"
    sent = module(name).results([result])
    assert sdks.messages(name, sent) == sdks.plain(sent)
    text = json.dumps(sdks.plain(sent))
    assert text.count("Buy milk.") == ("fetch" in function.__name__)
    assert "structuredContent" not in text
    if name in PLAYED and function is not fetch:
        assert encode(AUDIO_FILES["wav"]) in text
