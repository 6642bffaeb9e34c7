"""What our providers send: each message in the provider's own form, taken by the official types."""

from __future__ import annotations

import base64
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.parts import AUDIO_FILES, PDF
from toolkit import ToolCall, ToolResult
from toolkit.content import AudioPart, FilePart, ImagePart, JsonPart, ResourcePart, TextPart
from toolkit.providers import AssistantMessage, Native, Request, ToolMessage, UserMessage

from .judges import validate_messages
from .making import NAMES, ask, build_provider, catalog, hello
from .protocols import SIGNATURE, Turn
from .stub import serving

each_provider = pytest.mark.parametrize("name", NAMES)

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)


def body_of(name, *messages, stream=False, **fields):
    """Return what is sent for these messages; nothing leaves the process."""
    options = {key: fields.pop(key) for key in ("strict", "options", "max_tokens", "model") if key in fields}
    provider = build_provider(name, api_key="key", **options)
    return dict(provider._build_outgoing(Request(messages=messages, **fields), stream=stream).body)


@each_provider
def test_a_user_may_say_everything(name):
    """Texts, values, images and files are sent in order, none of them lost."""
    parts = (TextPart("Look:"), ImagePart(PNG), JsonPart({"a": [1]}), FilePart("file:///x.pdf", "application/pdf", "x"))
    body = body_of(name, UserMessage(parts))
    sent = str(validate_messages(name, body))
    assert base64.b64encode(PNG).decode() in sent
    assert "image/png" in sent
    for words in ("Look:", '{"a":[1]}', "a file, x, application/pdf, file:///x.pdf"):
        assert words in sent


@each_provider
def test_a_user_may_send_sound_and_resources(name):
    """Texts of resources are sent as text, and sound and documents in the provider's form or as words about them."""
    parts = (
        ResourcePart("memo:1", "Buy milk.", "text/plain"),
        ResourcePart("memo:2"),
        ResourcePart("file:///a.zip", b"PK", "application/zip"),
        ResourcePart("file:///a.pdf", PDF, "application/pdf"),
        AudioPart(AUDIO_FILES["wav"], "audio/wav"),
        AudioPart(b"none", "audio/x"),
    )
    sent = str(validate_messages(name, body_of(name, UserMessage(parts))))
    assert "[resource memo:1, text/plain]\\nBuy milk." in sent
    assert "[resource memo:2]" in sent
    assert "(a resource that cannot be shown, [resource file:///a.zip, application/zip, 2 bytes]: only PNG" in sent
    assert base64.b64encode(PDF).decode() in sent
    assert "(a recording that cannot be played, [audio/x, 4 bytes]: " in sent
    plays = name.startswith("gemini") or name == "openai"
    assert (base64.b64encode(AUDIO_FILES["wav"]).decode() in sent) == plays


@each_provider
def test_results_with_sound_go_back(name):
    """The answer of a call with sound stands where the provider looks for it."""
    call = ToolCall("now", {}, "id_1")
    result = ToolResult("a bell", call_id="id_1", tool="now", parts=[AudioPart(AUDIO_FILES["wav"], "audio/wav")])
    body = body_of(name, UserMessage.of("?"), AssistantMessage(calls=(call,)), ToolMessage((result,)))
    assert "a bell" in str(validate_messages(name, body))


@each_provider
def test_unsupported_image_is_described_in_words(name):
    """Bytes that are no image a provider takes would have the whole request refused."""
    body = body_of(name, UserMessage((ImagePart(b"<svg/>", "image/svg+xml"),)))
    assert "only PNG, JPEG, GIF and WebP can" in str(validate_messages(name, body))


@each_provider
@pytest.mark.parametrize("parts", [(), (TextPart(""),), (TextPart(" \n"),)], ids=["none", "empty", "blank"])
def test_an_empty_message_is_sent_with_a_text(name, parts):
    """Providers refuse empty messages."""
    assert "(nothing)" in str(validate_messages(name, body_of(name, UserMessage(parts))))


@each_provider
def test_results_with_images_go_back(name):
    """The model sees the images of a tool."""
    call = ToolCall("now", {}, "id_1")
    result = ToolResult("a clock", call_id="id_1", tool="now", parts=[ImagePart(PNG)])
    body = body_of(name, UserMessage.of("?"), AssistantMessage(calls=(call,)), ToolMessage((result,)))
    sent = str(validate_messages(name, body))
    assert base64.b64encode(PNG).decode() in sent
    assert "a clock" in sent


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("anthropic", lambda body: body["system"]),
        ("openai", lambda body: body["messages"][0]),
        ("openai_responses", lambda body: body["instructions"]),
        ("gemini", lambda body: body["systemInstruction"]),
    ],
    ids=NAMES,
)
def test_the_system_prompt_is_in_the_place_of_the_provider(name, place):
    expected = {
        "anthropic": [{"type": "text", "text": "Be kind.", "cache_control": {"type": "ephemeral"}}],
        "openai": {"role": "system", "content": "Be kind."},
        "gemini": {"parts": [{"text": "Be kind."}]},
    }
    body = body_of(name, UserMessage.of("Hi"), system="Be kind.")
    assert place(body) == expected.get(name, "Be kind.")
    without = str(body_of(name, UserMessage.of("Hi")))
    assert not any(word in without for word in ("system", "instructions"))


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("anthropic", lambda body: body["max_tokens"]),
        ("openai", lambda body: body["max_completion_tokens"]),
        ("openai_responses", lambda body: body["max_output_tokens"]),
        ("gemini", lambda body: body["generationConfig"]["maxOutputTokens"]),
    ],
    ids=NAMES,
)
def test_the_limit_of_a_request_wins_over_that_of_the_provider(name, place):
    """A request may ask for less, or for more."""
    assert place(body_of(name, UserMessage.of("Hi"), max_tokens=50)) == 50
    provider = build_provider(name, api_key="key", max_tokens=50)
    assert place(provider._build_outgoing(hello(max_tokens=9), stream=False).body) == 9


def test_anthropic_always_gets_a_limit():
    """The API does not do without."""
    assert body_of("anthropic", UserMessage.of("Hi"))["max_tokens"] == 16_000


def test_another_server_gets_the_limit_under_its_old_name():
    """Servers that only resemble OpenAI do not know the new one."""
    provider = build_provider("openai", base_url="http://localhost:11434/v1", max_tokens=5)
    body = provider._build_outgoing(hello(), stream=False).body
    assert body["max_tokens"] == 5
    assert "max_completion_tokens" not in body


@each_provider
def test_tools_are_offered_by_their_names_on_the_wire(name):
    """The definitions are those of the format, with strict ones if asked for."""
    provider = build_provider(name, api_key="key", strict=True)
    outgoing = provider._build_outgoing(hello(catalog=catalog()), stream=False)
    wire = "files.read" if name == "gemini" else "files--read"
    assert outgoing.sent.tools == {wire: "files.read", "now": "now"}
    strict = {"mode": "VALIDATED"} if name == "gemini" else "'strict': True"
    assert str(strict) in str(outgoing.body)


@each_provider
def test_options_are_added_and_merged(name):
    """An object is merged with ours, None takes a field away, anything else is added."""
    options = {"metadata": {"a": 1}, "generationConfig": {"temperature": 0.5}, "stream_options": None, "store": None}
    body = body_of(name, UserMessage.of("Hi"), stream=True, max_tokens=5, options=options)
    assert body["metadata"] == {"a": 1}
    assert body["generationConfig"]["temperature"] == 0.5
    assert "stream_options" not in body
    assert "store" not in body
    if name == "gemini":
        assert body["generationConfig"]["maxOutputTokens"] == 5


def test_a_request_tells_openai_not_to_store_the_response():
    """Every request carries the whole conversation."""
    assert body_of("openai_responses", UserMessage.of("Hi"))["store"] is False


# A provider gets back its own native content. Other providers do not get it.


@each_provider
@pytest.mark.anyio
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_thoughts_are_sent_back_unchanged(name, stream):
    """Signatures, encrypted reasoning and a server's own fields come back to the provider that made them."""
    call = ToolCall("now", {}, "id_1")
    script = Turn(text="Hm.", calls=(call,), thought="I wonder."), Turn(text="Yes.")
    async with serving(*script) as stub, build_provider(name, stub) as provider:
        _, first = await ask(provider, hello(), stream=stream)
        results = ToolMessage((ToolResult("noon", call_id="id_1", tool="now"),))
        await ask(provider, Request(messages=(UserMessage.of("Hi"), first.message, results)), stream=stream)
    sent = str(stub.heard[1].body)
    assert "I wonder." in sent
    assert sent.count("I wonder.") == 1
    if name != "openai":
        validate_messages(name, stub.heard[1].body)
        assert SIGNATURE in sent


@each_provider
def test_the_reply_of_another_provider_is_sent_without_its_native_form(name):
    """A conversation may change providers. Text and calls stay, and foreign thoughts do not."""
    native = Native("elsewhere", [{"type": "thinking", "thinking": "secret thought", "signature": "x"}])
    message = AssistantMessage(text="Hm.", calls=(ToolCall("files.read", {"path": "a"}, "id_1"),), native=native)
    result = ToolResult("noon", call_id="id_1", tool="files.read")
    body = body_of(name, UserMessage.of("Hi"), message, ToolMessage((result,)))
    sent = str(validate_messages(name, body))
    assert "secret thought" not in sent
    assert "Hm." in sent
    assert sent.count("id_1") == 2
    assert sent.count("files.read" if name == "gemini" else "files--read") >= 1


NATIVES = {
    "anthropic": [{"type": "tool_use", "id": "other", "name": "wipe", "input": {}}],
    "openai": {"fields": {"reasoning": "native"}, "calls": [{"id": "other", "extra": "native"}]},
    "openai_responses": [{"type": "function_call", "call_id": "other", "name": "wipe", "arguments": "{}"}],
    "gemini": [{"functionCall": {"name": "wipe", "args": {}}}],
}


@each_provider
def test_words_that_do_not_fit_the_message_are_not_sent(name):
    """A saved conversation is data: a provider's words with other calls than the message has are passed over."""
    native = Native(name, NATIVES[name])
    message = AssistantMessage(calls=(ToolCall("now", {}, "id_1"),), native=native)
    result = ToolResult("noon", call_id="id_1", tool="now")
    sent = str(body_of(name, UserMessage.of("Hi"), message, ToolMessage((result,))))
    assert "wipe" not in sent
    assert "'extra'" not in sent


@each_provider
@pytest.mark.parametrize("content", [None, "x", 5, [1], {"a": 1}, ["x"], {"fields": 3, "calls": 4}], ids=str)
def test_native_content_of_an_unknown_shape_does_not_replace_the_text(name, content):
    """It may come from a file."""
    message = AssistantMessage(text="Hm.", native=Native(name, content))
    assert "Hm." in str(validate_messages(name, body_of(name, UserMessage.of("Hi"), message)))


def test_reasoning_without_its_content_is_left_out():
    """The provider keeps no items, so an item that only has an id could not be found there."""
    items = [{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": None}]
    items.append({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hm."}]})
    body = body_of("openai_responses", AssistantMessage(text="Hm.", native=Native("openai_responses", items)))
    assert [item["type"] for item in body["input"]] == ["message"]


def test_blank_blocks_are_not_sent_back_to_anthropic():
    """The API says such things and does not take them."""
    blocks = [{"type": "text", "text": "\n"}, {"type": "thinking", "thinking": "x", "signature": "y"}]
    body = body_of("anthropic", AssistantMessage(text="\n", native=Native("anthropic", blocks)))
    assert [block["type"] for block in body["messages"][0]["content"]] == ["thinking"]


@pytest.mark.parametrize(("model", "is_signed"), [("gemini-2.5-pro", False), ("gemini-3-pro", True)])
def test_a_foreign_call_is_signed_for_models_that_need_a_signature(model, is_signed):
    """From the third generation on, a call without a signature is refused unless it says where it comes from."""
    message = AssistantMessage(calls=(ToolCall("now", {}, "a"), ToolCall("now", {}, "b")))
    parts = body_of("gemini", message, model=model)["contents"][0]["parts"]
    assert ["thoughtSignature" in part for part in parts] == [is_signed, False]


@each_provider
@pytest.mark.parametrize("arguments", ['{"path": ', "[1]", '"x"', ""], ids=["cut", "list", "text", "none"])
def test_arguments_that_are_not_an_object_are_sent_as_one(name, arguments):
    """Providers refuse a conversation with such a call; the model still sees what it wrote."""
    message = AssistantMessage(calls=(ToolCall("now", arguments, "id_1"),))
    sent = str(validate_messages(name, body_of(name, UserMessage.of("Hi"), message)))
    assert ("INVALID_JSON" in sent) == bool(arguments)


@each_provider
@pytest.mark.parametrize("made_up", ["", "rm -rf /", "schön", "x" * 300])
def test_a_name_that_the_model_made_up_can_be_sent(name, made_up):
    """Otherwise the provider would refuse every later request."""
    body = body_of(name, AssistantMessage(calls=(ToolCall(made_up, {}, "id_1"),)))
    [message] = validate_messages(name, body)
    call = {
        "anthropic": lambda: message["content"][0]["name"],
        "openai": lambda: message["tool_calls"][0]["function"]["name"],
        "openai_responses": lambda: message["name"],
        "gemini": lambda: message["parts"][0]["functionCall"]["name"],
    }[name]()
    assert call.isascii()
    assert 1 <= len(call) <= 128
    assert call.replace("-", "").replace("_", "").replace(".", "").isalnum() or set(call) <= {"_"}


texts = st.text(max_size=20)
arguments = st.dictionaries(texts, st.integers() | texts | st.none() | st.lists(texts, max_size=2), max_size=3)


@st.composite
def conversations(draw):
    """Draw a valid conversation of some turns: every call has its result, in order."""
    messages = []
    for turn in range(draw(st.integers(1, 3))):
        parts = st.builds(TextPart, texts) | st.builds(ImagePart, st.just(PNG) | st.binary(max_size=5))
        messages.append(UserMessage(tuple(draw(st.lists(parts, max_size=3)))))
        calls = [
            ToolCall(
                draw(st.sampled_from(["now", "files.read", "nope"])), draw(arguments | texts), f"id_{turn}_{number}"
            )
            for number in range(draw(st.integers(0, 2)))
        ]
        messages.append(AssistantMessage(text=draw(texts), calls=tuple(calls)))
        if calls:
            results = [ToolResult(draw(texts), call_id=call.id, tool=call.name) for call in calls]
            messages.append(ToolMessage(tuple(results)))
    return tuple(messages)


@pytest.mark.unmeasured
@each_provider
@given(messages=conversations())
def test_any_conversation_is_accepted_by_the_official_types(name, messages):
    """The body has the provider's form for any conversation, and every call has its answer."""
    body = body_of(name, *messages)
    sent = str(validate_messages(name, body))
    for message in messages:
        if isinstance(message, AssistantMessage):
            assert all(sent.count(call.id) == 2 for call in message.calls)


ODD_IDS = {"anthropic": "functions.read:0", "openai": "x" * 41, "openai_responses": "x" * 65}


@pytest.mark.parametrize("name", list(ODD_IDS))
@pytest.mark.parametrize("is_native", [False, True], ids=["foreign", "own"])
def test_an_id_that_the_provider_refuses_is_sent_as_another(name, is_native):
    """A conversation may come from a server with ids of its own. The call and its result stay together."""
    odd = ODD_IDS[name]
    words = {
        "anthropic": [{"type": "tool_use", "id": odd, "name": "now", "input": {}}],
        "openai": {"calls": [{"id": odd, "extra": 1}]},
        "openai_responses": [{"type": "function_call", "call_id": odd, "name": "now", "arguments": "{}"}],
    }
    message = AssistantMessage(
        calls=(ToolCall("now", {}, odd),), native=Native(name, words[name]) if is_native else None
    )
    sent = str(
        body_of(name, UserMessage.of("Hi"), message, ToolMessage((ToolResult("noon", call_id=odd, tool="now"),)))
    )
    assert odd not in sent
    assert len(set(re.findall("call_[0-9a-f]{24}", sent))) == 1
    assert len(re.findall("call_[0-9a-f]{24}", sent)) == 2


def test_another_server_gets_its_own_ids_back():
    """Some servers compare them, and some put a signature into them."""
    provider = build_provider("openai", base_url="http://localhost:1/v1")
    message = AssistantMessage(calls=(ToolCall("now", {}, "x" * 200),))
    request = Request(messages=(message, ToolMessage((ToolResult("noon", call_id="x" * 200, tool="now"),))))
    assert str(provider._build_outgoing(request, stream=False).body).count("x" * 200) == 2


@pytest.mark.parametrize(
    ("model", "is_asked"),
    [("gpt-6", True), ("o5-mini", True), ("gpt-4.1", False), ("ft:gpt-4o:x", False), ("gpt-5.1-chat-latest", False)],
)
def test_reasoning_is_requested_only_from_models_that_have_it(model, is_asked):
    """OpenAI stores nothing, so reasoning that is not sent back is lost. Other models refuse the option."""
    body = body_of("openai_responses", UserMessage.of("Hi"), model=model)
    assert body.get("include") == (["reasoning.encrypted_content"] if is_asked else None)
    options = {"include": None}
    assert "include" not in body_of("openai_responses", UserMessage.of("Hi"), model=model, options=options)


@pytest.mark.parametrize("native", [None, [{"functionCall": {"name": "clock:now", "args": {}, "id": "call_7"}}]])
def test_a_result_for_gemini_has_the_name_and_the_id_of_its_call(native):
    """The model may have used an alias, or a name that no tool has."""
    message = AssistantMessage(
        calls=(ToolCall("clock:now", {}, "call_7"),), native=Native("gemini", native) if native else None
    )
    body = body_of("gemini", message, ToolMessage((ToolResult("noon", call_id="call_7", tool="now"),)))
    call, answer = (content["parts"][0] for content in validate_messages("gemini", body))
    call, answer = call["functionCall"], answer["functionResponse"]
    assert (answer["name"], answer.get("id")) == (call["name"], call.get("id"))


def test_results_without_their_calls_keep_their_names():
    """A conversation that was cut is still told as it is."""
    body = body_of("gemini", UserMessage.of("Hi"), ToolMessage((ToolResult("noon", call_id="x", tool="now"),)))
    assert body["contents"][1]["parts"][0]["functionResponse"]["name"] == "now"
