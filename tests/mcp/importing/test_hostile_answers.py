"""Answers of a hostile server: each spoils its own call at most, and the next call works."""

from __future__ import annotations

import asyncio

import pytest

from toolkit import Dispatcher
from toolkit.content import AudioPart, FilePart, ImagePart, ResourcePart, TextPart


@pytest.fixture(autouse=True)
def still_works(dispatcher):
    """After each test the server still answers."""
    yield
    assert dispatcher.call_sync("evil_echo", {"text": "here"}).text == "here"


def call(dispatcher, name, text=None):
    """Call a tool of the hostile server."""
    return dispatcher.call_sync(f"evil_{name}", {} if text is None else {"text": str(text)})


def test_a_call_returns_the_answer_of_the_server(dispatcher):
    """The text of the answer is the text and the value of the result."""
    result = call(dispatcher, "echo", "hello")

    assert (result.kind, result.text, result.value, result.parts) == ("ok", "hello", "hello", [])


def test_garbage_between_messages_is_skipped(dispatcher):
    """Lines that are not messages change nothing."""
    assert call(dispatcher, "garbage").text == "after garbage"


def test_answers_in_another_order_reach_their_calls(dispatcher):
    """Each call gets the answer with its own id."""

    async def call_all():
        return await asyncio.gather(*(dispatcher.call("evil_hold", {"text": text}) for text in "abc"))

    assert [result.text for result in dispatcher.wait_for(call_all)] == ["a", "b", "c"]


@pytest.mark.parametrize(("tool", "text"), [("repeat", "first"), ("unasked", "right"), ("drip", "slowly")])
def test_further_answers_are_dropped(dispatcher, tool, text):
    """The first answer with the id counts, also if others come, and if it comes slowly."""
    assert call(dispatcher, tool).text == text


@pytest.mark.parametrize(
    ("tool", "words"),
    [
        ("deep", "not valid MCP"),
        ("no_mcp", "not valid MCP: "),
        ("no_object", "not valid MCP"),
        ("bad_image", "not base64"),
        ("huge_backwards", "at most 2,000,000 are read"),
        ("wrong_value", "output schema"),
        ("no_value", "output schema"),
    ],
)
def test_an_answer_that_cannot_be_used_is_a_failure_that_has_happened(dispatcher, tool, words):
    """The call ran, so its result says so and advises against a second call."""
    result = call(dispatcher, tool)

    assert result.kind == "failed"
    assert result.error.details == {"ran": True}
    assert words in result.text
    assert "do not call it again" in result.text


@pytest.mark.long
def test_an_answer_of_50_megabytes_is_refused(dispatcher):
    """An answer above the limit is not kept in memory, and fails its call."""
    result = call(dispatcher, "huge")

    assert result.kind == "failed"
    assert "50,000,08" in result.text


def test_a_structured_value_is_the_value(dispatcher):
    """Structured content that fits the output schema is the value, and the text is sent once."""
    result = call(dispatcher, "right_value")

    assert (result.text, result.value, result.parts) == ('{"n": 5}', {"n": 5}, [])


def test_an_error_of_the_tool_is_a_failure(dispatcher):
    """The error text of the server is the message of a failed call."""
    result = call(dispatcher, "fail")

    assert (result.kind, result.error.message) == ("failed", "no such issue")


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-32603, "failed"),
        (-32602, "bad_args"),
        (-32601, "failed"),
        (-32000, "failed"),
        (-32700, "failed"),
        (-32019, "failed"),
    ],
)
def test_an_error_of_the_protocol_is_named(dispatcher, code, kind):
    """An error gives the server's name and its message, without characters that act on a terminal."""
    result = call(dispatcher, "refuse", code)

    assert result.kind == kind
    assert "evil" in result.text
    assert "no way" in result.text


@pytest.mark.parametrize("tool", ["sample", "roots"])
def test_sampling_and_roots_are_declined(dispatcher, tool):
    """A server that asks for a model's answer or for folders gets an error."""
    assert "not supported" in call(dispatcher, tool).text


def test_an_address_to_log_in_at_becomes_a_request_for_credentials(dispatcher):
    """The call waits for the person, who is told the address."""
    result = call(dispatcher, "log_in")

    assert result.kind == "waiting"
    assert (result.request.auth.provider, result.request.auth.url) == ("evil", "https://login.example")


def test_progress_arrives_as_progress_of_the_call(servers):
    """Each report has the numbers and the cleaned message of the server."""
    reports = []
    with_listener = Dispatcher(servers, on_progress=reports.append)
    assert with_listener.call_sync("evil_progress", {"text": "3"}).kind == "ok"
    with_listener.close()

    assert [(report.tool, report.progress, report.total, report.message) for report in reports] == [
        ("evil_progress", float(step), 3.0, "step") for step in range(3)
    ]


def test_a_flood_of_progress_is_thinned(servers):
    """Beyond a hundred at once, reports are dropped."""
    reports = []
    with_listener = Dispatcher(servers, on_progress=reports.append)
    assert with_listener.call_sync("evil_progress", {"text": "400"}).kind == "ok"
    with_listener.close()

    assert 100 <= len(reports) < 300


def test_media_arrive_as_parts(dispatcher):
    """Images, sound, resources and links are parts of the result, in the server's order."""
    result = call(dispatcher, "media")

    assert result.kind == "ok"
    assert list(result.parts) == [
        TextPart("look"),
        ImagePart(b"img", "image/png"),
        AudioPart(b"snd", "audio/wav"),
        ResourcePart("memo://1", "note", "text/plain"),
        ResourcePart("memo://2", b"b"),
        FilePart("file:///a.txt", "text/plain", "a.txt"),
    ]
    assert result.text.startswith("look")
