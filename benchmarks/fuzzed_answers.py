"""
Answers as no provider should send them, for the four providers: mutated JSON, mutated, cut and endless event streams.

A provider returns a reply or raises `ProviderFailure`, within its limit of time; anything else is a violation.
"""

from __future__ import annotations

import json
import logging
import random
from collections import Counter
from collections.abc import AsyncIterator, Callable
from typing import Any

import httpx

from tests.clocks import Clock
from tests.providers.making import NAMES, ask, build_provider, catalog, hello
from tests.providers.protocols import PROTOCOLS, Turn
from tests.providers.stub import KEY
from toolkit import RetryPolicy, ToolCall
from toolkit.providers import ProviderFailure

from .fuzzed_calls import mutate
from .violations import Report

__all__ = ["run"]

_TURNS = (
    Turn(text="Hello, é."),
    Turn(text="Look.", calls=(ToolCall("files--read", {"path": "a", "limit": 3}, "a"), ToolCall("now", {}, "b"))),
    Turn(calls=(ToolCall("now", '{"broken": ', "c"),), thought="Hm."),
    Turn(text="", stop="length"),
)
_TOTAL_SECONDS = 50.0
_STATUSES = (200, 200, 200, 200, 200, 200, 204, 301, 400, 401, 404, 413, 429, 500, 503, 529)


async def run(count: int, *, seed: int = 7) -> Report:
    """Have the providers read *count* answers, and report what came of them."""
    logging.disable(logging.CRITICAL)
    chance, ends, violations = random.Random(seed), Counter[str](), list[str]()
    answer: list[httpx.Response] = []
    clock = Clock()
    async with httpx.AsyncClient(transport=httpx.MockTransport(lambda request: answer[0])) as client:
        providers = {
            name: build_provider(
                name,
                client=client,
                api_key=KEY,
                base_url="http://stub",
                retry=RetryPolicy(attempts=1),
                timeout_seconds=10,
                total_seconds=_TOTAL_SECONDS,
                clock=clock,
            )
            for name in NAMES
        }
        request = hello(catalog=catalog())
        for number in range(count):
            name, is_stream = NAMES[number % len(NAMES)], bool(number // len(NAMES) % 2)
            answer[:] = [_response(name, is_stream, chance, clock)]
            clock.now = 0.0
            try:
                await ask(providers[name], request, stream=is_stream)
                ends["replies"] += 1
            except ProviderFailure as failure:
                ends[failure.why] += 1
            except Exception as error:  # noqa: BLE001 -- any other is a violation
                content = getattr(answer[0], "_content", b"")[:200]  # an endless answer has none
                violations.append(f"{name}, stream {is_stream}: {type(error).__name__}: {error} ({content!r})")
            if clock.now > _TOTAL_SECONDS + 2:
                violations.append(f"{name}, stream {is_stream}: read on for {clock.now} s")
    logging.disable(logging.NOTSET)
    shown = ", ".join(f"{end} {number:,}" for end, number in ends.most_common())
    return Report(f"{count:,} fuzzed provider answers ({shown})", violations)


def _response(name: str, is_stream: bool, chance: random.Random, clock: Clock) -> httpx.Response:
    protocol, turn = PROTOCOLS[name], chance.choice(_TURNS)
    change = _changer(chance)
    if is_stream:
        content, kind = _stream(list(protocol.events(turn, "model")), change, chance), "text/event-stream"
    else:
        content, kind = _dumped(change(protocol.whole(turn, "model"))).encode(errors="replace"), "application/json"
    if chance.random() < 0.3:
        content = _damaged(content, chance)
    headers = {"Content-Type": chance.choice((kind, kind, kind, "text/html", "application/json; charset=utf-16"))}
    if chance.random() < 0.05:
        headers["Retry-After"] = chance.choice(("0", "-1", "soon", "9" * 400, "Wed, 21 Oct 2015 07:28:00 GMT"))
    is_endless = chance.random() < 0.1
    body = _endless(content, chance, clock) if is_endless else content
    return httpx.Response(chance.choice(_STATUSES), content=body, headers=headers)


async def _endless(content: bytes, chance: random.Random, clock: Clock) -> AsyncIterator[bytes]:
    """Yield *content*, and then one part of it again and again; each takes a second."""
    parts = content.splitlines(keepends=True) + [block + b"\n\n" for block in content.split(b"\n\n")] + [b" "]
    part = chance.choice(parts) or b"\n"
    yield content or b" "
    while True:
        clock.now += 1
        yield part


def _changer(chance: random.Random) -> Callable[[Any], Any]:
    times = chance.choice((0, 1, 1, 2, 5))

    def change(value: Any) -> Any:
        for _ in range(times):
            value = mutate(value, chance)
        return value

    return change


def _stream(events: list[tuple[str, Any]], change: Callable[[Any], Any], chance: random.Random) -> bytes:
    """Return *events* as a stream, with some of them changed, left out, repeated or out of order."""
    match chance.randrange(5):
        case 0:
            del events[chance.randrange(len(events))]
        case 1:
            events.insert(chance.randrange(len(events) + 1), chance.choice(events))
        case 2:
            chance.shuffle(events)
        case 3:
            events = events[: chance.randrange(len(events) + 1)]
    changed = chance.randrange(len(events)) if events else 0
    lines = []
    for at, (name, data) in enumerate(events):
        body = change(data) if at == changed and not isinstance(data, str) else data
        lines.append(f"event: {name}\n" if name else "")
        lines.append(f"data: {body if isinstance(body, str) else _dumped(body)}\n\n")
    return "".join(lines).encode(errors="replace")


def _dumped(value: Any) -> str:
    return json.dumps(value, default=repr, skipkeys=True)


def _damaged(content: bytes, chance: random.Random) -> bytes:
    damaged = bytearray(content)
    for _ in range(chance.choice((1, 3, 20))):
        if damaged:
            damaged[chance.randrange(len(damaged))] = chance.randrange(256)
    return bytes(damaged[: chance.randrange(len(damaged) + 1)] if chance.random() < 0.3 else damaged)
