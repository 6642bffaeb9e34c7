"""`timeout_seconds` limits the time without progress, and `total_seconds` the time of a whole answer."""

from __future__ import annotations

import itertools
import json
import zlib

import httpx
import pytest

from tests.clocks import Clock
from toolkit import RetryPolicy, ToolCall
from toolkit.providers import ProviderFailure

from .making import NAMES, ask, build_provider, hello
from .protocols import PROTOCOLS, Turn
from .stub import KEY

pytestmark = pytest.mark.anyio

TURN = Turn(text="A few words.", thought="Let me think.", calls=(ToolCall("now", {"at": "the end of a week"}, "a"),))
each_provider = pytest.mark.parametrize("name", NAMES)


def line(event: object) -> bytes:
    return f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n".encode()


def build_timed_provider(name, chunks, *, headers=None, clock, seconds_per_chunk=1.0, **options):
    """Return the provider of *name*; its server needs *seconds_per_chunk* for each of *chunks*, on *clock*."""

    async def body():
        for chunk in chunks:
            if seconds_per_chunk:
                clock.now += seconds_per_chunk
            yield chunk

    def answer(request):
        return httpx.Response(200, content=body(), headers=headers or {"content-type": "text/event-stream"})

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    options = {"retry": RetryPolicy(attempts=1), "timeout_seconds": 10, "total_seconds": 1000, **options}
    return build_provider(name, api_key=KEY, client=client, clock=clock, **options)


def anthropic_delta(delta):
    return {"type": "content_block_delta", "index": 0, "delta": delta}


def openai_delta(delta):
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}


def gemini_parts(*parts):
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}}]}


ODD_EVENTS = [{}, {"type": "ping"}, {"type": "odd", "text": "x", "delta": "x"}]
IDLE_EVENTS = {
    "anthropic": [
        {"type": "message_start", "message": {"id": "m", "usage": {"input_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        anthropic_delta({"type": "text_delta", "text": ""}),
        anthropic_delta({"type": "input_json_delta", "partial_json": ""}),
        anthropic_delta({"type": "odd_delta", "odd": "x"}),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {}, "usage": {"output_tokens": 1}},
    ],
    "openai": [
        {"choices": []},
        {"choices": [], "usage": {"prompt_tokens": 1}},
        openai_delta({}),
        openai_delta({"role": "assistant", "content": ""}),
        openai_delta({"reasoning_content": None, "tool_calls": []}),
        openai_delta({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "now", "arguments": ""}}]}),
    ],
    "openai_responses": [
        {"type": "response.created", "response": {"id": "r", "status": "in_progress"}},
        {"type": "response.queued", "response": {"id": "r"}},
        {"type": "response.in_progress", "response": {"id": "r"}},
        {"type": "response.output_text.delta", "output_index": 0, "delta": ""},
        {"type": "response.web_search_call.searching", "output_index": 0},
    ],
    "gemini": [
        {"candidates": []},
        {"usageMetadata": {"promptTokenCount": 1}},
        gemini_parts(),
        gemini_parts({"text": ""}),
        gemini_parts({"text": "", "thought": True}),
    ],
}
OPENING = {"anthropic": [IDLE_EVENTS["anthropic"][1]]}


@pytest.mark.parametrize(
    ("name", "event"),
    [(name, event) for name in NAMES for event in ODD_EVENTS + IDLE_EVENTS[name]],
    ids=lambda value: json.dumps(value)[:60] if isinstance(value, dict) else value,
)
async def test_an_event_that_adds_nothing_to_the_answer_is_not_progress(name, event):
    """The same event may count once, when it begins a part of the answer."""
    clock = Clock()
    opening = map(line, OPENING.get(name, []))
    provider = build_timed_provider(name, itertools.chain(opening, itertools.repeat(line(event))), clock=clock)
    with pytest.raises(ProviderFailure, match=r"sent no part of an answer for 10 s") as failed:
        await ask(provider, hello(), stream=True)
    assert failed.value.why == "unavailable"
    assert clock.now - 1000 <= 13


@each_provider
@pytest.mark.parametrize("chunk", [b": still here\n", b"\n", b"\r\n", b"x", b"data: x", b"event: message\n"])
async def test_bytes_that_complete_no_event_are_not_progress(name, chunk):
    clock = Clock()
    provider = build_timed_provider(name, itertools.repeat(chunk), clock=clock)
    with pytest.raises(ProviderFailure, match=r"sent no part of an answer for 10 s"):
        await ask(provider, hello(), stream=True)
    assert clock.now - 1000 <= 12


@each_provider
async def test_a_slow_stream_that_adds_to_the_answer_is_read_to_its_end(name):
    """Text, thoughts and arguments are progress, and only the longest pause between them counts."""
    events = [line(event) for _, event in PROTOCOLS[name].events(TURN, "model")]
    clock = Clock()
    provider = build_timed_provider(name, events, clock=clock, seconds_per_chunk=1.0, timeout_seconds=5)
    stream_text, reply = await ask(provider, hello(), stream=True)
    assert (stream_text, reply.message.text) == (TURN.text, TURN.text)
    assert [call.name for call in reply.message.calls] == ["now"]


@each_provider
@pytest.mark.parametrize("media_type", ["application/json", "text/html", ""])
@pytest.mark.parametrize("is_streamed", [True, False], ids=["streamed", "whole"])
async def test_a_body_that_drips_is_given_up(name, media_type, is_streamed):
    """An answer that is no stream makes progress only when all of it is there."""
    clock = Clock()
    provider = build_timed_provider(name, itertools.repeat(b" "), headers={"content-type": media_type}, clock=clock)
    with pytest.raises(ProviderFailure, match=r"sent no part of an answer for 10 s"):
        await ask(provider, hello(), stream=is_streamed)
    assert clock.now - 1000 <= 12


async def test_one_compressed_chunk_that_unfolds_to_many_is_given_up_in_time():
    """The client is not waiting here: it needs a second for every look at the clock."""
    seconds = itertools.count()
    chunk = zlib.compress(b": still here\n" * 500_000)
    headers = {"content-type": "text/event-stream", "content-encoding": "deflate"}
    provider = build_timed_provider(
        "openai", [chunk], headers=headers, clock=lambda: next(seconds), seconds_per_chunk=0
    )
    with pytest.raises(ProviderFailure, match=r"sent no part of an answer for 10 s"):
        await ask(provider, hello(), stream=True)


async def test_a_stream_of_real_events_ends_at_the_total_limit():
    """Events without end are progress, so the limit of the whole answer stops them."""
    clock = Clock()
    events = itertools.repeat(line(openai_delta({"content": "x"})))
    provider = build_timed_provider("openai", events, clock=clock, total_seconds=100)
    with pytest.raises(ProviderFailure, match=r"did not answer within 100 s.*broke off") as failed:
        await ask(provider, hello(), stream=True)
    assert failed.value.why == "broke_off"
    assert clock.now - 1000 <= 102


async def test_the_total_limit_covers_all_attempts_and_their_waits():
    clock = Clock()
    provider = build_timed_provider(
        "openai",
        itertools.repeat(b" "),
        clock=clock,
        total_seconds=25,
        retry=RetryPolicy(attempts=99),
        sleep=clock.sleep,
    )
    with pytest.raises(ProviderFailure, match=r"did not answer within 25 s.*there was no time left"):
        await ask(provider, hello(), stream=False)
    assert clock.now - 1000 <= 27


async def test_time_that_the_reader_takes_does_not_count():
    clock = Clock()
    events = [line(event) for _, event in PROTOCOLS["openai"].events(Turn(text="word " * 20), "model")]
    provider = build_timed_provider("openai", events, clock=clock, total_seconds=100)
    async for _ in provider.stream(hello()):
        clock.now += 5_000
    assert clock.now > 90_000
