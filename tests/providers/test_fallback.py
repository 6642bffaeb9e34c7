"""`FallbackProvider`: when it goes to the next provider, and how a run is told."""

from __future__ import annotations

import logging
import re

import pytest

from toolkit import Agent, ProviderError, Transient
from toolkit.agent import Budget, ProviderChanged, TextDelta
from toolkit.providers import FallbackProvider, Price, ProviderFailure, Reply, ScriptedProvider
from toolkit.spec import Tool

from .making import NAMES, ask, build_provider, hello
from .stub import Answer, serving

pytestmark = pytest.mark.anyio

both_ways = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
DOWN = ProviderFailure("overloaded", why="unavailable")


def build_scripted(*replies, model="m", structured=False):
    return ScriptedProvider(replies, model=model, structured=structured)


class Breaking:
    """Shows some of its answer, and breaks off."""

    name, model = "breaking", "b-1"

    async def reply(self, request):
        raise Transient("cut")

    async def stream(self, request):
        yield TextDelta("It is")
        raise ProviderFailure("cut", why="broke_off")


class Plain:
    """Has an iterator for a stream that cannot be closed, and cannot be closed itself."""

    name, model = "plain", "p-1"

    async def reply(self, request):
        return await build_scripted("Noon.").reply(request)

    def stream(self, request):
        return PlainStream(self.reply(request))


class PlainStream:
    def __init__(self, reply) -> None:
        self._reply = reply

    def __aiter__(self):
        return self

    async def __anext__(self) -> Reply:
        if self._reply is None:
            raise StopAsyncIteration
        reply, self._reply = self._reply, None
        return await reply


async def ask_both(first, *others, stream):
    """Return the text of the answer, and what a stream said of a change."""
    fallback = FallbackProvider(first, *others)
    if not stream:
        return (await fallback.reply(hello())).message.text, []
    events = [event async for event in fallback.stream(hello())]
    return events[-1].message.text, [event for event in events if isinstance(event, ProviderChanged)]


@both_ways
@pytest.mark.parametrize(
    "failure",
    [
        DOWN,
        ProviderFailure("no credit", why="credit"),
        ProviderFailure("cut", why="broke_off"),
        Transient("connection reset"),
    ],
    ids=str,
)
async def test_the_next_one_is_asked_if_the_first_is_down(failure, stream, caplog):
    text, changes = await ask_both(
        build_scripted(failure, model="a-1"), build_scripted("Noon.", model="b-1"), stream=stream
    )
    assert text == "Noon."
    expected = ProviderChanged("scripted:a-1", "scripted:b-1", str(failure))
    assert changes == ([expected] if stream else [])
    assert caplog.messages == [f"scripted:a-1 failed, so scripted:b-1 is asked: {failure}"]
    assert caplog.records[0].levelno == logging.WARNING


@both_ways
@pytest.mark.parametrize("why", ["key", "permission", "model", "context", "schema", "request", "answer"])
async def test_a_mistake_is_not_sent_to_the_next_provider(why, stream):
    """It would be the same mistake there, or hide one in the set-up of the program."""
    second = build_scripted("Noon.")
    with pytest.raises(ProviderFailure, match="wrong"):
        await ask_both(build_scripted(ProviderFailure("wrong", why=why)), second, stream=stream)
    assert second.requests == []


@both_ways
async def test_an_error_that_does_not_say_why_is_raised(stream):
    with pytest.raises(ProviderError, match="odd"):
        await ask_both(build_scripted(ProviderError("odd")), build_scripted("Noon."), stream=stream)


async def test_no_other_provider_is_asked_once_text_was_streamed():
    second = build_scripted("Noon.")
    with pytest.raises(ProviderFailure, match="cut"):
        await ask_both(Breaking(), second, stream=True)
    assert second.requests == []


@both_ways
async def test_the_failure_of_the_last_one_is_raised(stream):
    with pytest.raises(ProviderFailure, match="also down"):
        await ask_both(
            build_scripted(DOWN),
            build_scripted(DOWN),
            build_scripted(ProviderFailure("also down", why="unavailable")),
            stream=stream,
        )


@both_ways
async def test_every_request_begins_with_the_first_one(stream):
    first = build_scripted(DOWN, "Eleven.")
    fallback = FallbackProvider(first, build_scripted("Noon."))
    assert [(await ask(fallback, hello(), stream=False))[1].message.text for _ in range(2)] == ["Noon.", "Eleven."]


@both_ways
async def test_a_fallback_may_be_one_of_the_providers(stream):
    """That another one was asked is not an answer that was shown."""
    text, changes = await ask_both(
        FallbackProvider(build_scripted(DOWN), build_scripted(DOWN)), build_scripted("Noon."), stream=stream
    )
    assert (text, len(changes)) == ("Noon.", 2 if stream else 0)


@both_ways
async def test_a_users_provider_works_in_a_fallback(stream):
    fallback = FallbackProvider(build_scripted(DOWN), Plain())
    async with fallback:
        assert (await ask_both(build_scripted(DOWN), Plain(), stream=stream))[0] == "Noon."


@both_ways
@pytest.mark.parametrize("name", NAMES)
async def test_an_overloaded_server_is_left_after_its_retries(name, stream):
    """The first server is tried three times, and then the second."""
    overloaded = Answer(529, {"error": {"type": "overloaded_error", "message": "Overloaded"}})
    async with serving(overloaded, overloaded, overloaded) as stub, build_provider(name, stub) as first:
        text, _ = await ask_both(first, build_scripted("Noon."), stream=stream)
    assert (text, len(stub.heard)) == ("Noon.", 3)


@pytest.mark.parametrize(
    ("first", "second", "expected"), [(True, True, True), (True, False, False), (False, True, False)]
)
def test_structured_output_is_used_if_all_providers_have_it(first, second, expected):
    def answer(number: int) -> None:
        """Answer."""

    fallback = FallbackProvider(build_scripted(structured=first), build_scripted(structured=second))
    assert fallback.structures_output(Tool.of(answer), has_tools=False) is expected


async def test_a_run_reports_the_change():
    fallback = FallbackProvider(build_scripted(DOWN, model="a-1"), build_scripted("Noon.", model="b-1"))
    events = [event async for event in Agent(fallback, []).stream("What time is it?")]
    assert events[0] == ProviderChanged("scripted:a-1", "scripted:b-1", "overloaded")
    assert events[-1].run.text == "Noon."


async def test_the_model_that_answered_is_paid_for():
    """Its price counts, and not that of the model that failed."""
    prices = {"a-1": Price(input=1, output=1), "b-1": Price(input=1000, output=1000)}
    reply = await build_scripted("Noon.", model="b-1").reply(hello())
    usage = type(reply.usage)(input_tokens=1000, output_tokens=0)
    answered = Reply(message=reply.message, stop="answer", usage=usage, model="b-1")
    fallback = FallbackProvider(build_scripted(DOWN, model="a-1"), build_scripted(answered, model="b-1"))
    run = await Agent(fallback, [], budget=Budget(cost=100, prices=prices)).run("What time is it?")
    assert run.spent.cost == 1
    with pytest.raises(ProviderError, match="b-1"):
        Agent(fallback, [], budget=Budget(cost=100, prices={"a-1": prices["a-1"]}))


def test_texts_name_the_providers():
    fallback = FallbackProvider("anthropic:claude-sonnet-4-5", "groq:llama-3.3-70b")
    assert [provider.name for provider in fallback.providers] == ["anthropic", "groq"]
    assert (fallback.model, fallback.models) == ("claude-sonnet-4-5", ("claude-sonnet-4-5", "llama-3.3-70b"))
    assert FallbackProvider("groq:m", fallback).models == ("m", "claude-sonnet-4-5", "llama-3.3-70b")


@pytest.mark.parametrize(
    ("providers", "words"),
    [
        (["anthropic:claude-sonnet-4-5"], "give two providers or more"),
        ([[build_scripted(), build_scripted()]], "write FallbackProvider(*providers)"),
        (["grok:x", "anthropic:y"], "did you mean `xai`?"),
        ([build_scripted(), None], "None is no provider"),
        ([build_scripted(), ScriptedProvider], "the class ScriptedProvider is no provider"),
        ([[build_scripted(), build_scripted()], build_scripted()], "list is no provider"),
    ],
)
def test_an_invalid_provider_is_refused_at_construction(providers, words):
    with pytest.raises((TypeError, ValueError), match=re.escape(words)):
        FallbackProvider(*providers)
