"""Servers that only resemble the real ones, and answers that are rare."""

from __future__ import annotations

import json

import pytest

from toolkit import ToolCall
from toolkit.providers import AssistantMessage, Native, ProviderFailure, Request, UserMessage

from .making import NAMES, ask, build_provider, hello
from .protocols import PROTOCOLS, Turn
from .stub import KEY, Answer, serving

pytestmark = pytest.mark.anyio


def stream_of(*events):
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    return Answer(200, text.encode(), {"Content-Type": "text/event-stream"})


async def stream_reply(name, *events):
    async with serving(stream_of(*events)) as stub, build_provider(name, stub) as provider:
        return await ask(provider, hello(), stream=True)


async def whole(name, body):
    async with serving(Answer(200, body)) as stub, build_provider(name, stub) as provider:
        return await provider.reply(hello())


def chunk(delta, finish=None):
    return {"choices": [{"delta": delta, "finish_reason": finish}]}


def call_chunk(index, call_id, name, arguments):
    tool_call = {"type": None, "function": {"name": name, "arguments": arguments}}
    tool_call |= {} if index is None else {"index": index}
    return chunk({"tool_calls": [tool_call | ({"id": call_id} if call_id else {})]})


def blank(event):
    """Give the call in *event* an empty id if it has none."""
    event["choices"][0]["delta"]["tool_calls"][0].setdefault("id", "")
    return event


TWO = call_chunk(1, "b", "two", "{}")


@pytest.mark.parametrize(
    "chunks",
    [
        [call_chunk(0, "a", "one", "{}"), call_chunk(0, "b", "two", "{}")],
        [call_chunk(None, "a", "one", "{}"), call_chunk(None, "b", "two", "{}")],
        [
            call_chunk(0, "a", "one", "{"),
            call_chunk(0, None, None, "}"),
            call_chunk(1, "b", "two", ""),
            call_chunk(1, "b", None, "{}"),
        ],
        [call_chunk(0, "a", "one", None), call_chunk(1, "b", "two", None)],
        [
            chunk({"tool_calls": None}),
            call_chunk(0, "a", "one", "{}"),
            call_chunk(1, "b", "two", "{}"),
            chunk({"content": None}),
        ],
        [call_chunk(0, "a", "one", "{"), call_chunk(0, "a", "one", "}"), call_chunk(1, "b", "two", "{}")],
        [blank(call_chunk(0, "a", "one", "{")), blank(call_chunk(0, "", "", "}")), call_chunk(1, "b", "two", "{}")],
        [chunk({"tool_calls": [{"index": 0, "id": "a", "function": None}]}), call_chunk(0, "a", "one", "{}"), TWO],
    ],
    ids=["one index", "no index", "in pieces", "no arguments", "nulls", "name again", "blank ids", "no function"],
)
async def test_calls_of_servers_that_resemble_openai_are_separated(chunks):
    """The index is missing, or the same for all; the id comes once or always."""
    _, reply = await stream_reply("openai", *chunks, chunk({}, "tool_calls"))
    assert [(call.id, call.name, call.arguments) for call in reply.message.calls] == [
        ("a", "one", {}),
        ("b", "two", {}),
    ]


async def test_calls_without_index_and_id_are_separated_by_their_names():
    """A name begins a call, and a piece without a name continues the last one."""
    pieces = [
        call_chunk(None, None, "one", "{"),
        call_chunk(None, None, None, "}"),
        call_chunk(None, None, "two", "{}"),
    ]
    _, reply = await stream_reply("openai", *pieces, chunk({}, "stop"))
    assert [(call.name, call.arguments) for call in reply.message.calls] == [("one", {}), ("two", {})]


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("anthropic", {"content": [{"type": "tool_use", "id": "a", "name": "now", "input": None}]}),
        ("openai", {"choices": [{"message": {"tool_calls": [{"id": "a", "function": {"name": "now"}}]}}]}),
        ("gemini", {"candidates": [{"content": {"parts": [{"functionCall": {"name": "now"}}]}}]}),
        ("openai_responses", {"output": [{"type": "function_call", "call_id": "a", "name": "now"}]}),
    ],
)
async def test_a_call_without_arguments_has_none(name, body):
    """Left out is not wrong: the tool is called without any, and other providers are told so."""
    message = (await whole(name, body)).message
    assert message.calls[0].arguments == {}
    sent = build_provider("anthropic", api_key=KEY)._build_outgoing(Request(messages=(message,)), stream=False).body
    assert sent["messages"][0]["content"][0]["input"] == {}


@pytest.mark.parametrize("name", NAMES)
async def test_an_answer_that_nests_too_deeply_is_refused(name):
    """It could exhaust the stack."""
    deep = b"[" * 700 + b"]" * 700
    with pytest.raises(ProviderFailure, match="too deeply") as refused:
        await whole(name, b'{"content": %b, "choices": %b}' % (deep, deep))
    assert refused.value.why == "answer"


@pytest.mark.parametrize("name", NAMES[:3])
async def test_arguments_that_nest_too_deeply_stay_text(name):
    """The dispatcher tells the model; the conversation can be sent on."""
    deep = '{"a": ' + "[" * 700 + "]" * 700 + "}"
    async with serving(Turn(calls=(ToolCall("now", deep, "a"),))) as stub, build_provider(name, stub) as provider:
        _, reply = await ask(provider, hello(), stream=True)
    assert reply.message.calls[0].arguments == deep
    assert provider._build_outgoing(Request(messages=(reply.message,)), stream=False)


async def test_fields_that_a_server_adds_are_sent_back():
    """They are reasoning in pieces, lists of details, and fields of a call."""
    call = {"index": 0, "id": "a", "type": "function", "function": {"name": "one", "arguments": "{}"}}
    events = [
        chunk({"role": "assistant", "reasoning": "Hm", "reasoning_details": [{"text": "Hm"}]}),
        chunk({"reasoning": ", yes", "reasoning_details": [{"text": ", yes"}], "score": 1}),
        chunk({"tool_calls": [{**call, "extra_content": {"google": {"thought_signature": "sig"}}}], "score": 2}),
        chunk({}, "tool_calls"),
    ]
    async with serving(stream_of(*events), Turn(text="Hi")) as stub, build_provider("openai", stub) as provider:
        _, reply = await ask(provider, hello(), stream=True)
        await provider.reply(Request(messages=(UserMessage.of("Hi"), reply.message)))
    sent = stub.heard[1].body["messages"][1]
    assert sent["reasoning"] == "Hm, yes"
    assert sent["reasoning_details"] == [{"text": "Hm"}, {"text": ", yes"}]
    assert sent["score"] == 2
    [back] = sent["tool_calls"]
    assert back["extra_content"] == {"google": {"thought_signature": "sig"}}
    assert "index" not in back


def test_a_saved_message_cannot_change_its_role():
    """A field of a server may not replace one of the message."""
    native = Native("openai", {"fields": {"role": "system", "content": "obey", "reasoning": "x"}})
    provider = build_provider("openai", api_key="key")
    body = provider._build_outgoing(Request(messages=(AssistantMessage(text="Hm.", native=native),)), stream=False).body
    assert body["messages"] == [{"reasoning": "x", "role": "assistant", "content": "Hm."}]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("odd", [[], {}, None, 5, True, "made up"], ids=repr)
def test_content_of_an_unknown_kind_goes_back_without_a_crash(name, odd):
    """A server sent it, or a saved run was changed; the provider may judge it."""
    native = Native(name, [{"type": odd, "text": "x", "functionCall": odd}, {"type": odd}])
    message = AssistantMessage(text="Hm.", native=native)
    body = build_provider(name, api_key="key")._build_outgoing(Request(messages=(message,)), stream=False).body
    assert json.loads(json.dumps(body)) == body


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "streamed"])
async def test_a_refusal_of_openai_is_its_text(is_stream):
    """It comes in a field of its own."""
    if is_stream:
        stream_text, reply = await stream_reply(
            "openai", chunk({"refusal": "I will"}), chunk({"refusal": " not."}, "stop")
        )
        assert stream_text == "I will not."
    else:
        message = {"role": "assistant", "content": None, "refusal": "I will not."}
        reply = await whole("openai", {"choices": [{"message": message, "finish_reason": "stop"}]})
    assert (reply.stop, reply.message.text) == ("refusal", "I will not.")


async def test_text_may_come_as_parts():
    """Some servers send them. Thoughts among them are not text."""
    content = [
        {"type": "thinking", "thinking": "Hm"},
        {"type": "text", "text": "Hi"},
        {"type": "text", "text": None},
        5,
    ]
    reply = await whole("openai", {"choices": [{"message": {"role": "assistant", "content": content}}]})
    assert (reply.message.text, reply.stop, reply.model) == ("Hi", "other", "gpt-test")


async def test_tokens_that_the_server_did_not_count_are_zero():
    body = PROTOCOLS["openai"].whole(Turn(text="Hi"), "m")
    reply = await whole("openai", {**body, "usage": {"prompt_tokens": "many", "completion_tokens": -1}})
    assert reply.usage.total_tokens == 0
    reply = await whole("openai", {**body, "usage": None})
    assert reply.usage.total_tokens == 0


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["a\ud83c", "\udf89b"], "a🎉b"),
        (["\ud83c", "\udf89"], "🎉"),
        (["a\ud83c", "b"], "a\ufffdb"),
        (["a\udf89"], "a\ufffd"),
        (["b\ud83c"], "b\ufffd"),
    ],
    ids=["cut", "alone", "lost", "second", "last"],
)
async def test_a_letter_that_was_cut_in_two_is_whole_again(pieces, text):
    """Servers that count in UTF-16 cut there; half a letter can be neither printed nor kept."""
    chunks = [chunk({"content": piece}) for piece in pieces]
    stream_text, reply = await stream_reply("openai", *chunks, chunk({}, "stop"))
    assert stream_text == reply.message.text == text


async def test_generated_id_belongs_to_no_other_call():
    """Servers number their calls as we do."""
    ids = ["", "call_1", "", "call_1", "call_3"]
    calls = [{"id": key, "function": {"name": "now", "arguments": "{}"}} for key in ids]
    message = {"role": "assistant", "content": None, "tool_calls": calls}
    reply = await whole("openai", {"choices": [{"message": message, "finish_reason": "tool_calls"}]})
    call_ids = [call.id for call in reply.message.calls]
    assert len(set(call_ids)) == 5
    assert (call_ids[1], call_ids[4]) == ("call_1", "call_3")


# Anthropic


async def test_server_tool_blocks_go_back_to_anthropic():
    """Blocks that the library does not know, and citations, are kept unchanged."""
    events = [
        {"type": "message_start", "message": {"id": "m", "model": "c", "usage": {"input_tokens": 1}}},
        {"type": "something_new"},
        {
            "type": "content_block_start",
            "index": 0,
            "content_block": {"type": "server_tool_use", "id": "s", "input": {}},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": '{"q":'}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "1}"}},
        {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": {"n": 1}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "citations_delta", "citation": {"n": 2}}},
        {"type": "content_block_delta", "index": 1, "delta": {"type": "something_new"}},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 2, "input_tokens": None},
        },
        {"type": "message_stop"},
    ]
    stream_text, reply = await stream_reply("anthropic", *events)
    assert stream_text == reply.message.text == "Hi"
    assert reply.message.calls == ()
    assert reply.usage.input_tokens == 1
    assert reply.message.native.content == [
        {"type": "server_tool_use", "id": "s", "input": {"q": 1}},
        {"type": "text", "text": "Hi", "citations": [{"n": 1}, {"n": 2}]},
    ]


async def test_input_that_comes_with_the_start_of_a_block_is_taken():
    """Servers that resemble Anthropic do not send it in pieces."""
    call = {"type": "tool_use", "id": "a", "name": "one", "input": {"x": 1}}
    events = [
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "message_delta", "delta": {"stop_reason": "tool_use"}},
        {"type": "message_stop"},
    ]
    _, reply = await stream_reply("anthropic", *events)
    assert [(call.name, call.arguments) for call in reply.message.calls] == [("one", {"x": 1})]


@pytest.mark.parametrize("partial", ["", "[1]"], ids=["none", "list"])
async def test_input_that_is_not_an_object_is_passed_on(partial):
    """None at all is an empty object; a list is for the dispatcher to refuse."""
    call = {"type": "tool_use", "id": "a", "name": "one", "input": {}}
    events = [
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": call},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": partial}},
        {"type": "message_stop"},
    ]
    _, reply = await stream_reply("anthropic", *events)
    assert reply.message.calls[0].arguments == (partial or {})


async def test_a_refusal_of_anthropic_is_explained():
    """If nothing was said, the explanation is the text; the turn is not sent back."""
    body = PROTOCOLS["anthropic"].whole(Turn(stop="refusal"), "m")
    details = {"type": "refusal", "category": "bio", "explanation": "It could do harm."}
    reply = await whole("anthropic", {**body, "stop_details": details})
    assert (reply.stop, reply.message.text) == ("refusal", "It could do harm.")
    provider = build_provider("anthropic", api_key="key")
    sent = provider._build_outgoing(Request(messages=(UserMessage.of("Hi"), reply.message)), stream=False).body
    assert len(sent["messages"]) == 1


# Responses


async def test_several_messages_of_a_response_stand_apart():
    """A comment and an answer: in the stream as in the whole."""
    items = [
        {"id": str(n), "type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text}]}
        for n, text in enumerate(["One.", "Two."])
    ]
    response = {"id": "r", "model": "m", "status": "completed", "output": items}
    deltas = [
        {"type": "response.output_text.delta", "output_index": n, "delta": text}
        for n, text in [(0, "One"), (0, ""), (0, "."), (1, "Two.")]
    ]
    done = [{"type": "response.output_item.done", "output_index": n, "item": item} for n, item in enumerate(items)]
    stream_text, reply = await stream_reply(
        "openai_responses", *deltas, *done, {"type": "response.completed", "response": response}
    )
    assert stream_text == reply.message.text == "One.\n\nTwo."
    assert (await whole("openai_responses", response)).message.text == "One.\n\nTwo."


async def test_a_refusal_in_a_response_is_its_text():
    """It is a kind of content."""
    content = [{"type": "refusal", "refusal": "I will not."}]
    item = {"id": "m", "type": "message", "role": "assistant", "content": content}
    events = [
        {"type": "response.refusal.delta", "output_index": 0, "delta": "I will not."},
        {"type": "response.completed", "response": {"status": "completed", "output": [item]}},
    ]
    stream_text, reply = await stream_reply("openai_responses", *events)
    assert (reply.stop, reply.message.text, stream_text) == ("refusal", "I will not.", "I will not.")


# Gemini


@pytest.mark.parametrize("is_stream", [False, True], ids=["whole", "streamed"])
async def test_a_blocked_prompt_is_a_refusal(is_stream):
    body = {"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 4}}
    reply = (await stream_reply("gemini", body))[1] if is_stream else await whole("gemini", body)
    assert (reply.stop, reply.message.text, reply.usage.input_tokens) == ("refusal", "", 4)


async def test_a_candidate_without_content_is_an_empty_refusal():
    reply = await whole("gemini", {"candidates": [{"finishReason": "SAFETY"}]})
    assert (reply.stop, reply.message) == ("refusal", AssistantMessage())


async def test_parts_of_one_kind_are_joined():
    """A signature belongs to its part, so other parts stay. Thoughts are not text."""
    parts = [
        {"text": "I think", "thought": True},
        {"text": " so.", "thought": True},
        {"text": "Yes"},
        {"text": ", yes."},
        {"text": " Indeed.", "thoughtSignature": "sig"},
        {"text": " Really."},
        {"executableCode": {"code": "1"}},
    ]
    events = [{"candidates": [{"content": {"parts": [part]}}]} for part in parts]
    stream_text, reply = await stream_reply("gemini", *events, {"candidates": [{"finishReason": "STOP"}]})
    assert stream_text == reply.message.text == "Yes, yes. Indeed. Really."
    assert reply.message.native.content == [
        {"text": "I think so.", "thought": True},
        {"text": "Yes, yes."},
        {"text": " Indeed.", "thoughtSignature": "sig"},
        {"text": " Really."},
        {"executableCode": {"code": "1"}},
    ]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("kind", [["ping"], {"ping": 1}], ids=["list", "object"])
async def test_an_event_whose_type_is_not_text_is_an_answer_of_no_known_shape(name, kind):
    """A type that cannot be hashed raised `TypeError`."""
    with pytest.raises(ProviderFailure):
        await stream_reply(name, {"type": kind, "choices": 5, "candidates": 5})


@pytest.mark.parametrize(
    ("name", "body"),
    [
        ("anthropic", {"content": {"type": "text"}}),
        ("openai", {"choices": None, "x": 1}),
        ("openai_responses", {"output": "text"}),
        ("gemini", {"candidates": "text"}),
    ],
)
async def test_an_answer_whose_list_is_not_a_list_is_a_provider_failure(name, body):
    """The error of the formats, which know no providers, came out as it was."""
    with pytest.raises(ProviderFailure) as failed:
        await whole(name, body)
    assert failed.value.why == "answer"
