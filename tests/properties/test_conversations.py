"""
After any answer of a model, the conversation is one that every provider accepts.

Each call is answered exactly once, right after it, in order; also after pauses, answers, errors and a trip
through JSON. What goes over the wire is looked at as each provider would.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import re

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agent.kit import Shed
from tests.properties.conversation_checks import (
    PROVIDERS,
)
from toolkit.agent import Budget, Run
from toolkit.agent.conversation.valid_messages import find_message_flaw
from toolkit.decisions import Decision
from toolkit.errors import ProviderError, Transient
from toolkit.formats import FORMATS
from toolkit.providers import (
    AssistantMessage,
    Native,
    Reply,
    Request,
    ToolMessage,
    Usage,
)
from toolkit.results import ToolCall

KNOWN = ("look", "cut", "burn", "fetch", "exit_plan")
NAMES = st.sampled_from([*KNOWN, *KNOWN, "lok", "", "cut it!", "a.b", "x" * 90, "é"]) | st.text(max_size=5)
FITTING = {
    "look": {"what": "oak"},
    "cut": {"wood": "oak"},
    "burn": {"wood": "elm"},
    "fetch": {"url": "https://a.example"},
    "exit_plan": {"plan": "Cut it."},
}
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=5,
)
IDS = st.sampled_from(["", "c1", "c1", "c2", "call_1", "call_2", "with space", "x" * 200])
NATIVES = st.none() | st.sampled_from(["anthropic", "openai", "openai_responses", "gemini", "scripted"]).map(
    lambda name: Native(name, [{"type": "text", "text": "my own words"}])
)


@st.composite
def calls(draw) -> ToolCall:
    name = draw(NAMES)
    fits = name in FITTING and draw(st.integers(0, 3)) > 0
    arguments = FITTING[name] if fits else draw(JUNK | st.sampled_from(["{", '{"wood": "ash"}', "[]"]))
    return ToolCall(name, arguments, draw(IDS))


@st.composite
def replies(draw):
    kind = draw(st.sampled_from(["text", "calls", "calls", "calls", "error"]))
    if kind == "error":
        return draw(st.sampled_from([ProviderError("down"), Transient("busy")]))
    message = AssistantMessage(
        text=draw(st.sampled_from(["", " ", "Hm.", "Let me see.\n", "\ud800"])),
        calls=tuple(draw(st.lists(calls(), max_size=4))) if kind == "calls" else (),
        native=draw(NATIVES),
    )
    usual = "calls" if message.calls else "answer"
    stop = draw(st.sampled_from([usual] * 6 + ["answer", "calls", "length", "refusal", "paused", "other"]))
    return Reply(message=message, stop=stop, usage=Usage(input_tokens=draw(st.integers(0, 50))))


OPTIONS = st.fixed_dictionaries(
    {
        "mode": st.sampled_from([None, "plan", "auto", "bypass", "deny_unlisted"]),
        "max_turns": st.integers(1, 6),
        "budget": st.builds(Budget, calls=st.none() | st.integers(1, 5), tokens=st.none() | st.integers(1, 200)),
        "frame_results": st.booleans(),
        "compact_at": st.none() | st.just(1000),
    }
)
ANSWERS = st.lists(st.sampled_from(["approve", "deny", "leave", "grant"]), max_size=12)


async def converse(script, options, answers, prompts) -> list[Run]:
    """Return every run there was, from prompt to prompt and from pause to pause."""
    agent = Shed().agent(script, **options)
    runs: list[Run] = []
    answers = iter(answers)
    run = None
    for prompt in prompts:
        run = await agent.run(prompt, run=run)
        runs.append(run)
        while run.status == "waiting":
            run = Run.loads(run.dumps())
            decisions = {
                request.id: decision for request in run.requests if (decision := decide(next(answers, "deny"), request))
            }
            run = await agent.resume(run, decisions)
            runs.append(run)
        if run.status == "planned":
            run = await agent.execute(run, mode="auto")
            runs.append(run)
            if run.status == "waiting":
                run = await agent.resume(run, {request.id: Decision.deny() for request in run.requests})
                runs.append(run)
            if run.status == "waiting":
                break
    return runs


def decide(answer, request):
    if answer == "approve":
        return Decision.approve()
    if answer == "grant":
        return Decision.approve(grant=request.grants[0]) if request.grants else Decision.approve()
    return Decision.deny("no") if answer == "deny" else None


def find_broken_promises(run: Run) -> list[str]:
    """Return what has to be true of every run, and is not."""
    earlier = [
        result for message in run.messages[:-1] if isinstance(message, ToolMessage) for result in message.results
    ]
    answers = [message for message in run.messages if isinstance(message, AssistantMessage)]
    names = [call.name for message in answers for call in message.calls]
    promises = {
        "every call has one result, in order": find_message_flaw(run.messages) is None,
        "a saved run is the same run": Run.loads(run.dumps()) == run,
        "a run that waits has requests": (run.status == "waiting") == bool(run.requests),
        "the model never reads that something waits": all(result.kind != "waiting" for result in earlier),
        "no message is empty": all(message.text.strip() or message.calls or message.native for message in answers),
        "names can be sent": all(re.fullmatch(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}", name) for name in names),
    }
    return [promise for promise, is_kept in promises.items() if not is_kept]


SCRIPTS = st.lists(replies(), min_size=1, max_size=8)
PROMPTS = st.integers(1, 3).map(lambda count: ["go", "more", "again"][:count])


@given(SCRIPTS, OPTIONS, ANSWERS, PROMPTS)
def test_every_call_is_answered_once_in_order(script, options, answers, prompts):
    """This holds after every run, pause and answer, with any text."""
    runs = asyncio.run(converse(script, options, answers, prompts))
    assert runs
    assert [find_broken_promises(run) for run in runs] == [[] for _ in runs]


@given(SCRIPTS, OPTIONS, ANSWERS)
def test_every_format_takes_the_results(script, options, answers):
    """Eight of them, results of every kind."""
    run = asyncio.run(converse(script, options, answers, ["go"]))[-1]
    for message in run.messages:
        if isinstance(message, ToolMessage):
            for name in FORMATS:
                wire = importlib.import_module(f"toolkit.formats.{name}").results(message.results)
                assert json.loads(json.dumps(wire)) == wire
                assert bool(wire) == bool(message.results)


# As each provider would look at it.


@pytest.mark.parametrize("name", PROVIDERS)
@given(script=SCRIPTS, options=OPTIONS, answers=ANSWERS, prompts=PROMPTS)
@pytest.mark.long
def test_every_provider_gets_a_valid_request(name, script, options, answers, prompts):
    """The case is the body of the next request, for a conversation that ended in any way."""
    kind, check = PROVIDERS[name]
    bodies: list[dict] = []

    def accept_request(request: httpx.Request) -> httpx.Response:
        bodies.append(json.loads(request.content))
        return httpx.Response(400, json={"error": {"message": "enough"}})

    async def sent() -> None:
        run = (await converse(script, options, answers, prompts))[-1]
        async with httpx.AsyncClient(transport=httpx.MockTransport(accept_request)) as client:
            provider = kind("some-model", api_key="k", client=client)
            with pytest.raises(ProviderError):
                await provider.reply(Request(messages=run.messages, catalog=Shed().catalog, session=run.session))

    asyncio.run(sent())
    check(bodies[0])
