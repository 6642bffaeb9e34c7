"""Telling models what came of their calls."""

from __future__ import annotations

import base64
import json

import httpx
import pytest

from tests.formats import sdks
from tests.formats.tools import PNG, module
from toolkit import ToolCall, ToolResult
from toolkit.content import FilePart, ImagePart, TextPart
from toolkit.formats import FORMATS
from toolkit.results import KINDS

IMAGES = {
    "png": PNG,
    "jpeg": b"\xff\xd8\xff\xe0 and so on",
    "gif": b"GIF89a and so on",
    "webp": b"RIFF\x0a\x00\x00\x00WEBPVP8 ",
}
FLAGS = {
    "anthropic": lambda sent: sent[0]["content"][0].get("is_error", False),
    "gemini": lambda sent: "error" in sent[0]["parts"][0]["functionResponse"]["response"],
    "bedrock": lambda sent: sent[0]["content"][0]["toolResult"]["status"] == "error",
    "mcp": lambda sent: sent[0]["isError"],
}


def result(kind="ok", text="done", **fields):
    """Return a result of that kind."""
    fields = {"call_id": "call_7", "tool": "git.log", **fields}
    if kind in ("ok", "waiting"):
        return ToolResult(text, fields.pop("value", None), kind, **fields)
    return ToolResult.failure(kind, text, **fields)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("name", FORMATS)
def test_the_types_of_the_sdk_accept_every_kind_of_result(name, kind):
    """No field of the message is lost, and its text is in it."""
    sent = module(name).results([result(kind)])
    assert sdks.messages(name, sent) == sdks.plain(sent)
    assert "done" in str(sent)


@pytest.mark.parametrize("kind", sorted(KINDS))
@pytest.mark.parametrize("name", FLAGS)
def test_errors_have_a_flag_if_the_provider_has_one(name, kind):
    """A failed result has it, and a waiting one has not."""
    assert FLAGS[name](module(name).results([result(kind)])) is (kind not in ("ok", "waiting"))


@pytest.mark.parametrize("name", FORMATS)
def test_the_result_of_a_waiting_call_says_that_the_call_has_not_run(name):
    """The model must not assume that it ran, and must not call again."""
    text = str(module(name).results([result("waiting", "waiting for approval: it cannot be undone")]))
    assert "it cannot be undone" in text
    assert "It has not run: a person has to agree first" in text
    assert "Do not call it again" in text


@pytest.mark.parametrize("name", ["anthropic", "gemini", "bedrock"])
def test_all_results_of_a_turn_are_one_message(name):
    """Providers that want one message get the results in the order of the calls."""
    results = [result(text=text, call_id=key) for text, key in [("one", "a1"), ("two", "b2"), ("three", "c3")]]
    sent = module(name).results(results)
    assert len(sent) == 1
    assert sent[0]["role"] == "user"
    text = str(sent)
    assert text.index("one") < text.index("two") < text.index("three")
    assert all(key in text for key in ("a1", "b2", "c3"))


@pytest.mark.parametrize("name", ["openai", "openai_responses", "mistral", "ollama", "mcp"])
def test_each_result_is_a_separate_message(name):
    """The messages are in the order of the calls."""
    sent = module(name).results([result(text="one"), result(text="two")])
    assert ["one" in str(sent[0]), "two" in str(sent[1])] == [True, True]
    assert len(sent) == 2


@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_list_of_results_gives_no_messages(name):
    """An empty turn adds nothing, in particular no empty message."""
    assert module(name).results([]) == []


@pytest.mark.parametrize("text", ["", " \n"])
@pytest.mark.parametrize("name", FORMATS)
def test_an_empty_result_is_sent_with_a_text(name, text):
    """Some providers refuse empty text."""
    assert "(no output)" in str(module(name).results([result(text=text)]))


@pytest.mark.parametrize("form", IMAGES)
@pytest.mark.parametrize("name", FORMATS)
def test_images_go_along(name, form):
    """An image is beside the text, with the media type that its bytes have."""
    answer = result(text="see", parts=[ImagePart(IMAGES[form], f"image/{form}")])
    sent = module(name).results([answer])
    assert sdks.messages(name, sent) == sdks.plain(sent)
    text = json.dumps(sdks.plain(sent))
    assert base64.b64encode(IMAGES[form]).decode() in text
    assert name == "ollama" or form in text
    assert "see" in text


@pytest.mark.parametrize("name", ["anthropic", "openai", "openai_responses", "gemini", "mistral"])
def test_a_wrong_media_type_is_put_right(name):
    """A PNG that says it is a JPEG would have the whole request refused."""
    text = str(module(name).results([result(parts=[ImagePart(PNG, "image/jpeg")])]))
    assert "image/png" in text
    assert "image/jpeg" not in text


@pytest.mark.parametrize("name", [name for name in FORMATS if name != "mcp"])
def test_the_text_says_that_an_unsupported_image_is_missing(name):
    """Bytes that no provider shows are not sent."""
    sent = module(name).results([result(parts=[ImagePart(b"<svg/>", "image/svg+xml"), ImagePart(PNG)])])
    text = json.dumps(sdks.plain(sent))
    assert "1 of the images cannot be shown" in text
    assert base64.b64encode(b"<svg/>").decode() not in text


def test_an_image_cannot_make_the_client_read_a_file(tmp_path, monkeypatch):
    """Ollama's client takes base64 that is a path for the file of that name; such bytes are no image."""
    secret = tmp_path / "abcd"
    secret.write_text("secret")
    monkeypatch.chdir(tmp_path)
    bodies = []

    def handle(request):
        bodies.append(request.content.decode())
        return httpx.Response(200, json={"message": {"role": "assistant", "content": ""}})

    client = __import__("ollama").Client(transport=httpx.MockTransport(handle))
    hostile = ImagePart(base64.b64decode("abcd"), "image/png")
    client.chat(model="m", messages=module("ollama").results([result(parts=[hostile])]))
    assert base64.b64encode(b"secret").decode() not in bodies[0]
    # The client really does that:
    client.chat(model="m", messages=[{"role": "tool", "content": "", "images": ["abcd"]}])
    assert base64.b64encode(b"secret").decode() in bodies[1]


def test_images_of_a_chat_come_after_all_tool_messages():
    """Tool messages hold text alone, and nothing may stand between them."""
    results = [result(text="one", call_id="a1", parts=[ImagePart(PNG)]), result(text="two", call_id="b2")]
    sent = module("openai").results(results)
    assert [message["role"] for message in sent] == ["tool", "tool", "user"]
    assert "a1" in sent[2]["content"][0]["text"]


@pytest.mark.parametrize(
    ("value", "text", "sent"),
    [
        ({"sum": 5}, '{"sum":5}', {"output": {"sum": 5}}),
        ([1, 2], "[1,2]", {"output": [1, 2]}),
        ({"sum": 5}, '{"sum":5}... cut', {"output": '{"sum":5}... cut'}),
        ({"sum": 5}, "<output>{}</output>", {"output": "<output>{}</output>"}),
        ({"sum": 5}, '{"sum":6}', {"output": '{"sum":6}'}),
        ("text", "text", {"output": "text"}),
        (None, "null", {"output": "null"}),
    ],
    ids=["object", "array", "cut", "framed", "changed", "text", "null"],
)
def test_a_value_is_sent_only_if_the_text_says_the_same(value, text, sent):
    """A cut, framed or changed text is sent in place of the value."""
    [content] = module("gemini").results([result(text=text, value=value)])
    assert content["parts"][0]["functionResponse"]["response"] == sent


def test_bedrock_takes_objects_as_json_and_the_rest_as_text():
    """An array or a text in its `json` is refused, so those are text."""
    results = [result(text='{"a":1}', value={"a": 1}), result(text="[1]", value=[1])]
    [message] = module("bedrock").results(results)
    assert [block["toolResult"]["content"] for block in message["content"]] == [[{"json": {"a": 1}}], [{"text": "[1]"}]]


@pytest.mark.parametrize("name", ["gemini", "ollama"])
def test_an_id_that_the_model_did_not_give_is_not_sent(name):
    """The dispatcher numbers calls without an id; the provider would not know the number."""
    key = {"gemini": "id", "ollama": "tool_call_id"}[name]
    assert f"'{key}'" not in str(module(name).results([result(call_id="call_12")]))
    assert f"'{key}': 'x1'" in str(module(name).results([result(call_id="x1")]))


@pytest.mark.parametrize("name", ["gemini", "ollama", "mistral"])
def test_results_have_the_name_of_the_call(name):
    """Some providers need the name on the wire."""
    wire = module(name).NAMING.wire("git.log")
    assert f"'{wire}'" in str(module(name).results([result()]))


def test_mcp_results_have_structure_and_links():
    """Values are structured content, in an object if they are none; files are links."""
    file = FilePart("file:///notes.txt", "text/plain", "notes.txt")
    results = [
        result(text='{"a":1}', value={"a": 1}, parts=[file, TextPart("a"), FilePart("file:///x")]),
        result(text="[1]", value=[1]),
        result(text="null", value=None),
        result(text="[image]", parts=[ImagePart(b"<svg/>", "image/svg+xml")]),
        result("failed", "no"),
    ]
    sent = module("mcp").results(results)
    structured = [answer.get("structuredContent", "none") for answer in sent]
    assert structured == [{"a": 1}, {"result": [1]}, {"result": None}, "none", "none"]
    assert sent[0]["content"][1:] == [
        {"type": "resource_link", "uri": "file:///notes.txt", "name": "notes.txt", "mimeType": "text/plain"},
        {"type": "resource_link", "uri": "file:///x", "name": "file:///x"},
    ]
    assert sent[3]["content"][1]["mimeType"] == "image/svg+xml"
    assert sdks.messages("mcp", sent) == sdks.plain(sent)


@pytest.mark.parametrize("name", FORMATS)
def test_half_a_letter_can_be_sent(name):
    """No client could write it as UTF-8, and the conversation would be stuck."""
    halves = [result(text="a\ud800b"), result(text='{"a": "\\ud800"}', value={"a": "\ud800"})]
    sent = module(name).results(halves[: 1 if name == "mcp" else 2])
    assert json.dumps(sdks.plain(sent), ensure_ascii=False).encode()
    assert "a?b" in str(sent)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (result(), r"`results` is a list of ToolResult, got one: write \[ToolResult\(\.\.\.\)\]"),
        (None, r"`results` is a list of ToolResult, got None; for none write \[\]"),
        ("done", r"`results` is a list of ToolResult, got one: write \['done'\]"),
        (
            [result(), ToolCall("log", {})],
            r"results\[1\] cannot be ToolCall; give what `Dispatcher.call_many` returned",
        ),
    ],
)
@pytest.mark.parametrize("name", FORMATS)
def test_a_value_that_is_not_a_list_of_results_is_refused_with_the_remedy(name, wrong, words):
    """A single result is a common mistake."""
    with pytest.raises(TypeError, match=words):
        module(name).results(wrong)


@pytest.mark.parametrize("name", FORMATS)
def test_results_may_be_drawn_from_an_iterator(name):
    """A format may read the results twice."""
    answers = [result(parts=(ImagePart(PNG),)), result()]
    assert module(name).results(iter(answers)) == module(name).results(answers)
    assert module(name).results(iter(())) == []
