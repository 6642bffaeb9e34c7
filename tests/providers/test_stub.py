"""The stub speaks the real protocols: the official clients understand it."""

from __future__ import annotations

import pytest

from toolkit import ToolCall

from .official import ask
from .protocols import PROTOCOLS, Turn
from .stub import serving

pytestmark = pytest.mark.anyio

CALLS = (ToolCall("read", {"path": "a/ü.txt", "limit": 3}, "call_a1"), ToolCall("now", {}, "call_b2"))
TURNS = {
    "text": Turn(text="Grüße, 世界! 🎉 The end."),
    "calls": Turn(calls=CALLS),
    "everything": Turn(text="Let me see.", calls=CALLS, thought="Hm, which file?"),
}


@pytest.mark.one_case_in(5)
@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("turn", TURNS.values(), ids=TURNS)
@pytest.mark.parametrize("name", PROTOCOLS)
async def test_the_official_client_understands_the_stub(name, turn, stream):
    """Text, parallel calls, thoughts and usage arrive at the provider's own client."""
    async with serving(turn) as stub:
        text, calls = await ask(name, stub.url, stream=stream)
    assert text == turn.text
    assert calls == [(call.name, call.arguments) for call in turn.calls]


@pytest.mark.one_case_in(5)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("name", PROTOCOLS)
async def test_the_official_client_understands_the_stub_byte_by_byte(name, line_end):
    """A stream that is cut between any two bytes is the same stream."""
    async with serving(TURNS["everything"]) as stub:
        stub.line_end = line_end
        stub.split = lambda stream: [stream[place : place + 1] for place in range(len(stream))]
        text, calls = await ask(name, stub.url, stream=True)
    assert text == "Let me see."
    assert len(calls) == 2
