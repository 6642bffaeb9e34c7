"""Streams that come in pieces of any size, and say odd things on the way."""

from __future__ import annotations

import json

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import ProviderError, ToolCall, ToolResult
from toolkit.providers import ProviderFailure, Request, ToolMessage, UserMessage

from .making import NAMES, ask, build_provider, hello
from .protocols import PROTOCOLS, Turn
from .stub import Answer, Breaking, serving

pytestmark = pytest.mark.anyio

each_provider = pytest.mark.parametrize("name", NAMES)

texts = st.text(st.characters(codec="utf-8"), max_size=30)
calls = st.lists(
    st.builds(
        ToolCall,
        st.sampled_from(["now", "read"]),
        st.dictionaries(texts, texts | st.integers() | st.lists(st.booleans(), max_size=2), max_size=3),
    ),
    max_size=3,
).map(lambda calls: tuple(ToolCall(call.name, call.arguments, f"id_{number}") for number, call in enumerate(calls)))
turns = st.builds(Turn, text=texts, calls=calls, thought=texts)


@pytest.mark.unmeasured
@each_provider
@given(
    turn=turns,
    line_end=st.sampled_from(["\n", "\r\n"]),
    between=st.sampled_from(["", ": keep-alive\n\n", "\n"]),
    cuts=st.lists(st.integers(0, 3000), max_size=12),
)
async def test_a_streamed_answer_is_the_same_for_any_cut_of_the_stream(name, turn, line_end, between, cuts):
    """It equals the whole answer, and so does the text that was shown."""

    def split(stream):
        places = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
        return [stream[start:stop] for start, stop in zip(places, places[1:], strict=False)]

    async with serving(turn, turn) as stub, httpx.AsyncClient(verify=False) as client:
        stub.split, stub.line_end, stub.between = split, line_end, between
        provider = build_provider(name, stub, client=client)
        stream_text, streamed = await ask(provider, hello(), stream=True)
        _, whole = await ask(provider, hello(), stream=False)
    assert stream_text == streamed.message.text == turn.text
    assert streamed.message.calls == () or streamed.stop == "calls"
    assert [(call.name, call.arguments) for call in streamed.message.calls] == [
        (call.name, call.arguments) for call in turn.calls
    ]
    assert (streamed.stop, streamed.usage, streamed.model) == (whole.stop, whole.usage, whole.model)
    assert streamed.message.text == whole.message.text


@each_provider
async def test_a_stream_is_shown_piece_by_piece(name):
    """No piece is empty."""
    async with serving(Turn(text="Hello there, world")) as stub, build_provider(name, stub) as provider:
        pieces = [event.text async for event in provider.stream(hello()) if hasattr(event, "text")]
    assert pieces == ["Hello", " ther", "e, wo", "rld"]


STOPS = [
    ("anthropic", "end_turn", "answer"),
    ("anthropic", "stop_sequence", "answer"),
    ("anthropic", "max_tokens", "length"),
    ("anthropic", "model_context_window_exceeded", "length"),
    ("anthropic", "refusal", "refusal"),
    ("anthropic", "pause_turn", "paused"),
    ("anthropic", "tool_use", "other"),
    ("anthropic", "something_new", "other"),
    ("openai", "stop", "answer"),
    ("openai", "length", "length"),
    ("openai", "content_filter", "refusal"),
    ("openai", "tool_calls", "other"),
    ("openai", "something_new", "other"),
    ("openai_responses", "max_output_tokens", "length"),
    ("openai_responses", "content_filter", "refusal"),
    ("openai_responses", "something_new", "other"),
    ("gemini", "MAX_TOKENS", "length"),
    ("gemini", "SAFETY", "refusal"),
    ("gemini", "RECITATION", "refusal"),
    ("gemini", "PROHIBITED_CONTENT", "refusal"),
    ("gemini", "MALFORMED_FUNCTION_CALL", "other"),
]


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("name", "server_stop", "stop"), STOPS)
async def test_the_reason_of_the_end_is_the_same_in_every_protocol(name, server_stop, stop, stream):
    """An unknown word is the reason `other`."""
    async with serving(Turn(text="Hi", stop=server_stop)) as stub, build_provider(name, stub) as provider:
        _, reply = await ask(provider, hello(), stream=stream)
    assert reply.stop == stop


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("name", "server_stop"), [("openai", "stop"), ("anthropic", "end_turn"), ("gemini", "STOP")])
async def test_calls_count_as_calls_for_any_stop_reason_of_the_server(name, server_stop, stream):
    """Some servers stop, and have calls."""
    turn = Turn(calls=(ToolCall("now", {}, "id_1"),), stop=server_stop)
    async with serving(turn) as stub, build_provider(name, stub) as provider:
        _, reply = await ask(provider, hello(), stream=stream)
    assert reply.stop == "calls"


@pytest.mark.parametrize("name", ["anthropic", "openai", "openai_responses"])
async def test_arguments_that_were_cut_are_passed_on_as_text(name):
    """The dispatcher words what is wrong with them, and the conversation can go on."""
    turn = Turn(calls=(ToolCall("read", '{"path": "a', "id_1"),), stop="" if name == "openai_responses" else "length")
    async with serving(turn, Turn(text="Sorry.")) as stub, build_provider(name, stub) as provider:
        _, reply = await ask(provider, hello(), stream=True)
        results = ToolMessage((ToolResult("bad", call_id="id_1", tool="read"),))
        await provider.reply(Request(messages=(UserMessage.of("Hi"), reply.message, results)))
    assert reply.message.calls[0].arguments == '{"path": "a'
    assert "path" in str(stub.heard[1].body)


@each_provider
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
async def test_every_call_of_a_turn_has_a_different_id(name, stream):
    """Gemini gives none, and some servers the same to all."""
    ids = ["", ""] if name in ("gemini", "openai") else ["same", "same"]
    turn = Turn(calls=tuple(ToolCall("now", {"n": number}, key) for number, key in enumerate(ids)))
    async with serving(turn) as stub, build_provider(name, stub) as provider:
        _, reply = await ask(provider, hello(), stream=stream)
    call_ids = [call.id for call in reply.message.calls]
    assert len(set(call_ids)) == 2
    assert all(call_ids)


# Errors that come with status 200


def build_error_answer(name, error):
    """Make an error as an event in the middle of a stream, the way each provider says it."""
    event = {**error, "type": "error"} if name == "openai_responses" else {"type": "error", "error": error}
    text = f"event: error\ndata: {json.dumps(event)}\n\n"
    return Answer(200, text.encode(), {"Content-Type": "text/event-stream"})


@each_provider
async def test_a_transient_error_before_the_first_text_is_tried_again(name):
    """A server may report an overload in the stream."""
    error = {"type": "overloaded_error", "code": "server_error", "message": "busy", "status": "UNAVAILABLE"}
    async with (
        serving(build_error_answer(name, error), Turn(text="Hi")) as stub,
        build_provider(name, stub) as provider,
    ):
        stream_text, _ = await ask(provider, hello(), stream=True)
    assert stream_text == "Hi"


@each_provider
async def test_a_permanent_error_in_a_stream_is_raised_with_its_message(name):
    error = {"type": "invalid_request_error", "code": "context_length_exceeded", "message": "too long"}
    async with serving(build_error_answer(name, error)) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderFailure, match="too long") as failed:
            await ask(provider, hello(), stream=True)
    assert failed.value.why == "context"
    assert len(stub.heard) == 1


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize(("code", "is_retried"), [("server_error", True), ("invalid_prompt", False)])
async def test_a_response_that_failed_is_an_error(code, is_retried, stream):
    """The Responses API says so in the response itself."""
    failed = {"status": "failed", "error": {"code": code, "message": "it failed"}, "output": []}
    event = f'data: {{"type": "response.failed", "response": {json.dumps(failed)}}}\n\n'.encode()
    answer = Answer(200, event, {"Content-Type": "text/event-stream"}) if stream else Answer(200, failed)
    async with serving(answer, Turn(text="Hi")) as stub, build_provider("openai_responses", stub) as provider:
        if is_retried:
            assert (await ask(provider, hello(), stream=stream))[1].message.text == "Hi"
        else:
            with pytest.raises(ProviderFailure, match="it failed"):
                await ask(provider, hello(), stream=stream)


@each_provider
@pytest.mark.parametrize(
    "data",
    [
        "{",
        "[1]",
        '{"type": "content_block_delta", "index": 7, "delta": {}, "choices": [5], "candidates": [5]}',
        '{"type": "response.output_text.delta", "choices": 5, "candidates": 5}',
        '{"type": "message_start", "message": 5, "choices": [{"delta": 5}], "candidates": [{"content": {"parts": 5}}]}',
    ],
    ids=["cut", "list", "odd type", "odd index", "odd list"],
)
async def test_a_strange_event_is_an_error_and_no_crash(name, data):
    """The caller gets a `ProviderError` for anything that a server may send."""
    answer = Answer(200, f"data: {data}\n\n".encode(), {"Content-Type": "text/event-stream"})
    async with serving(*[answer] * 3) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderError):
            await ask(provider, hello(), stream=True)


ODD_ENDS = {
    "anthropic": [
        {"type": "message_start", "message": {}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": None}},
        {"type": "message_stop"},
    ],
    "openai_responses": [
        {"type": "response.output_item.done", "output_index": None, "item": {}},
        {"type": "response.output_item.done", "output_index": 1, "item": {}},
        {"type": "response.completed", "response": {}},
    ],
}


@pytest.mark.parametrize(("name", "events"), ODD_ENDS.items(), ids=list(ODD_ENDS))
async def test_events_that_make_no_answer_are_a_provider_failure(name, events):
    """Each of them is valid, but not all together."""
    text = "".join(f"data: {json.dumps(event)}\n\n" for event in events)
    answer = Answer(200, text.encode(), {"Content-Type": "text/event-stream"})
    async with serving(answer) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderFailure, match="no known shape"):
            await ask(provider, hello(), stream=True)


async def test_events_of_any_length_are_bounded():
    """One event cannot fill the memory."""
    answer = Answer(200, b"data: " + b"x" * 9_000_000, {"Content-Type": "text/event-stream"})
    async with serving(answer) as stub, build_provider("openai", stub) as provider:
        with pytest.raises(ProviderFailure, match="an event of more than 8,388,608 bytes"):
            await ask(provider, hello(), stream=True)


async def test_a_stream_without_end_is_bounded():
    answer = Answer(200, (b": " + b"x" * 1_000_000 + b"\n\n") * 70, {"Content-Type": "text/event-stream"})
    async with serving(answer) as stub, build_provider("openai", stub) as provider:
        with pytest.raises(ProviderFailure, match="more than 67,108,864 bytes"):
            await ask(provider, hello(), stream=True)


async def test_a_stream_that_breaks_after_its_answer_is_complete():
    """Only the number of tokens is missing then."""
    turn = Turn(text="Hi")
    async with serving(Breaking(turn, 3, True)) as stub, build_provider("openai", stub) as provider:
        stream_text, reply = await ask(provider, hello(), stream=True)
    assert (stream_text, reply.stop) == ("Hi", "answer")
    assert reply.usage.total_tokens == 0


async def test_the_last_line_of_a_stream_may_be_missing():
    """Servers forget the empty one, and some the marker of the end."""
    events = [{"choices": [{"delta": {"content": "Hi"}}]}, {"choices": [{"delta": {}, "finish_reason": "stop"}]}]
    text = "\n\n".join(f"data: {json.dumps(event)}" for event in events)
    answers = [
        Answer(200, end.encode(), {"Content-Type": "text/event-stream"}) for end in (text, f"{text}\n\ndata: [DONE]")
    ]
    async with serving(*answers) as stub, build_provider("openai", stub) as provider:
        assert [(await ask(provider, hello(), stream=True))[0] for _ in answers] == ["Hi", "Hi"]


async def test_bytes_that_cannot_be_unpacked_are_an_error():
    """We ask for plain bytes, and a server may send others."""
    answer = Answer(200, b"garbage", {"Content-Encoding": "gzip"})
    async with serving(answer) as stub, build_provider("openai", stub) as provider:
        with pytest.raises(ProviderFailure, match="compressed data is damaged") as failed:
            await provider.reply(hello())
    assert failed.value.why == "answer"
    assert len(stub.heard) == 1


# Servers that do not stream.


@each_provider
@pytest.mark.parametrize("media_type", ["application/json; charset=utf-8", "text/plain", "text/event-stream"])
async def test_one_whole_answer_in_place_of_a_stream_is_taken(name, media_type):
    """Some servers ignore the wish for a stream, and some of them name the wrong media type."""
    turn = Turn(text="It is noon.", calls=(ToolCall("now", {}, "id_1"),))
    async with serving() as stub, build_provider(name, stub) as provider:
        whole = PROTOCOLS[name].whole(turn, provider.model)
        stub.script += [Answer(200, whole, {"Content-Type": media_type}), turn]
        stream_text, reply = await ask(provider, hello(), stream=True)
        assert reply == await provider.reply(hello())
    assert stream_text == reply.message.text == turn.text
    assert [call.name for call in reply.message.calls] == ["now"]


@each_provider
@pytest.mark.parametrize(
    ("status", "body"),
    [
        (400, {"error": {"message": "Streaming is not supported by this model."}}),
        (400, {"error": {"message": "Unsupported value.", "param": "stream", "code": "unsupported_value"}}),
        (422, {"detail": "this server does not stream"}),
    ],
)
async def test_a_server_that_refuses_to_stream_gets_a_request_without_streaming(name, status, body):
    """It is asked for a stream once, and not in every turn."""
    script = Answer(status, body), Turn(text="Noon."), Turn(text="One.")
    async with serving(*script) as stub, build_provider(name, stub) as provider:
        answers = [await ask(provider, hello(), stream=True) for _ in range(2)]
    assert [(stream_text, reply.message.text) for stream_text, reply in answers] == [
        ("Noon.", "Noon."),
        ("One.", "One."),
    ]
    streamed = [request.body.get("stream") or "streamGenerateContent" in request.path for request in stub.heard]
    assert list(map(bool, streamed)) == [True, False, False]


@each_provider
async def test_a_refusal_that_is_not_about_streaming_leaves_streaming_on(name):
    """The error is that of the request without a stream."""
    refusals = Answer(400, {"error": {"message": "bad stream of words"}}), Answer(400, {"error": {"message": "no"}})
    async with serving(*refusals, Turn(text="Noon.")) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderFailure, match="refused the request .400.: no"):
            await ask(provider, hello(), stream=True)
        await ask(provider, hello(), stream=True)
    assert stub.heard[2].body.get("stream") or "streamGenerateContent" in stub.heard[2].path


@each_provider
async def test_an_error_in_place_of_a_stream_is_an_error(name):
    """The server is asked once, because no status says that the error would pass."""
    async with (
        serving(Answer(200, {"error": {"message": "no such thing"}})) as stub,
        build_provider(name, stub) as provider,
    ):
        with pytest.raises(ProviderFailure, match="no such thing"):
            await ask(provider, hello(), stream=True)
    assert len(stub.heard) == 1


@each_provider
@pytest.mark.parametrize(
    ("body", "problem"), [({"some": "answer"}, "an answer of no known shape"), ([1], "what is no JSON object")]
)
async def test_a_body_that_is_not_an_answer_and_not_a_stream_is_an_error(name, body, problem):
    async with serving(Answer(200, body)) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderFailure, match=problem) as failed:
            await ask(provider, hello(), stream=True)
    assert failed.value.why == "answer"
    assert len(stub.heard) == 1
