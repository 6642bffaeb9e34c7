"""A passing failure is tried again, as long as no part of the answer was shown."""

from __future__ import annotations

import pytest

from toolkit import RetryPolicy, Transient
from toolkit.providers import ProviderFailure

from .making import NAMES, ask, build_provider, hello
from .protocols import Turn
from .stub import Answer, Breaking, Reset, Silent, serving

pytestmark = pytest.mark.anyio

each_provider = pytest.mark.parametrize("name", NAMES)
STREAM = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
BUSY = {"error": {"type": "overloaded_error", "message": "busy", "code": 503}}


@each_provider
@STREAM
async def test_a_failure_that_may_pass_is_tried_again(name, stream):
    """The server is overloaded, then resets the connection, and then answers. The waits are those of the policy."""
    slept = []
    async with (
        serving(Answer(529, BUSY), Reset(), Turn(text="Hi")) as stub,
        build_provider(name, stub, slept=slept) as provider,
    ):
        _, reply = await ask(provider, hello(), stream=stream)
    assert reply.message.text == "Hi"
    assert slept == [0.2, 0.4]
    assert len(stub.heard) == 3


@pytest.mark.one_case_in(5)
@each_provider
@STREAM
@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"Retry-After-Ms": "2500"}, 2.5),
        ({"X-RateLimit-Remaining-Tokens": "0", "X-RateLimit-Reset-Tokens": "1m2s"}, 62.0),
    ],
    ids=["seconds", "milliseconds", "reset"],
)
async def test_the_requested_wait_is_kept(name, headers, seconds, stream):
    """It may be in Retry-After and in similar headers."""
    slept = []
    retry = RetryPolicy(wait_jitter=0, retry_after_max=100)
    script = Answer(429, BUSY, headers), Turn(text="Hi")
    async with serving(*script) as stub, build_provider(name, stub, slept=slept, retry=retry) as provider:
        await ask(provider, hello(), stream=stream)
    assert slept == [seconds]


@each_provider
@STREAM
async def test_the_error_after_the_last_attempt_has_their_number_and_the_failure(name, stream):
    """The last failure is the cause."""
    async with serving(*[Answer(503, BUSY)] * 3) as stub, build_provider(name, stub) as provider:
        with pytest.raises(ProviderFailure, match="busy.*3 attempts were made") as failed:
            await ask(provider, hello(), stream=stream)
    assert failed.value.why == "unavailable"
    assert isinstance(failed.value.__cause__, Transient)
    assert not isinstance(failed.value, Transient)


@each_provider
async def test_a_wait_that_is_too_long_is_not_waited_for(name):
    """The policy says how long one may be kept waiting."""
    slept = []
    async with (
        serving(Answer(429, BUSY, {"Retry-After": "3600"})) as stub,
        build_provider(name, stub, slept=slept) as provider,
    ):
        with pytest.raises(ProviderFailure, match="asked to wait 3,600 s"):
            await provider.reply(hello())
    assert slept == []


async def test_a_server_that_forbids_a_retry_is_not_asked_again():
    """It sends `x-should-retry: false`."""
    async with (
        serving(Answer(500, BUSY, {"x-should-retry": "false"})) as stub,
        build_provider("openai", stub) as provider,
    ):
        with pytest.raises(ProviderFailure, match="busy"):
            await provider.reply(hello())
    assert len(stub.heard) == 1


@each_provider
@STREAM
async def test_a_connection_that_is_refused_three_times_is_an_error_with_the_address(name, stream):
    async with serving() as stub:
        pass
    slept = []
    with pytest.raises(ProviderFailure, match=f"127.0.0.1:{stub.port}.*3 attempts") as failed:
        await ask(build_provider(name, stub, slept=slept), hello(), stream=stream)
    assert failed.value.why == "unavailable"
    assert len(slept) == 2


@each_provider
@STREAM
async def test_silence_has_an_end(name, stream):
    """A server that accepts and says nothing is given up after the time that was set."""
    options = {"timeout_seconds": 0.05, "retry": RetryPolicy(attempts=1)}
    async with serving(Silent()) as stub, build_provider(name, stub, **options) as provider:
        with pytest.raises(ProviderFailure, match="only one attempt is allowed"):
            await ask(provider, hello(), stream=stream)


@each_provider
@pytest.mark.parametrize("is_reset", [False, True], ids=["ended", "reset"])
async def test_a_stream_that_breaks_before_anything_was_shown_is_tried_again(name, is_reset):
    """No part of the answer was shown."""
    turn = Turn(text="Hello there, how are you?")
    broken = Breaking(turn, 0 if name == "gemini" else 1, is_reset)
    async with serving(broken, turn) as stub, build_provider(name, stub) as provider:
        stream_text, reply = await ask(provider, hello(), stream=True)
    assert stream_text == reply.message.text == turn.text
    assert len(stub.heard) == 2


@each_provider
@pytest.mark.parametrize("is_reset", [False, True], ids=["ended", "reset"])
async def test_a_stream_that_breaks_after_something_was_shown_is_not(name, is_reset):
    """The caller decides: part of it was seen."""
    turn = Turn(text="Hello there, how are you? " * 9)
    async with serving(Breaking(turn, 12, is_reset), turn) as stub, build_provider(name, stub) as provider:
        stream = provider.stream(hello())
        first = await anext(stream)
        with pytest.raises(ProviderFailure, match="broke off after [0-9]+ characters had been shown") as failed:
            async for _ in stream:
                pass
    assert first.text == "Hello"
    assert failed.value.why == "broke_off"
    assert isinstance(failed.value.__cause__, Transient)
    assert len(stub.heard) == 1


@each_provider
async def test_a_stream_can_be_left(name):
    """A caller may close the stream early, and the provider can still be used."""
    async with serving(Turn(text="Hello there"), Turn(text="Again")) as stub, build_provider(name, stub) as provider:
        stream = provider.stream(hello())
        await anext(stream)
        await stream.aclose()
        _, reply = await ask(provider, hello(), stream=True)
    assert reply.message.text == "Again"
