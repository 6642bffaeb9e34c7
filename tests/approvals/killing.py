"""
Processes that wait, resume and get killed, for `test_kill.py`.

    python -m tests.approvals.killing kill FOLDER SEED COUNT [URL]   killed at COUNT random lines of the code
    python -m tests.approvals.killing points FOLDER [URL]            killed at every step that matters
    python -m tests.approvals.killing race FOLDER COUNT [URL]        several resume at once

With a URL, the approvals are in that database of PostgreSQL; otherwise in a file of SQLite in the folder.

One warm process forks a child for every part of a round, and prints a line of JSON for each round. Nothing
sleeps: a child is killed by itself, at a step, or by its parent, once it has said what it had to say.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.killed_children import count_lines, die, fork, say
from toolkit.approvals import ApprovalError, Approvals, PostgresApprovals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.policies.audit import AuditLog

FACTS: dict[str, dict[str, Any]] = {
    "destructive": {"destructive": True},
    "write": {},
    "idempotent": {"idempotent": True},
}
POINTS = [
    *("before get", "after get", "before settle", "after settle", "before effect", "after effect"),
    *("before finish", "after finish"),
]

Step = Callable[[str], None]


def nothing(step: str) -> None:
    """Do nothing: no process is killed at this point."""


class RoundPlace:
    """Where one round happens: a store, a log, and a file with one line for every effect."""

    def __init__(self, folder: Path, kind: str, url: str) -> None:
        folder.mkdir()
        self.store = url or str(folder / "x.approvals.sqlite")
        self.audit = folder / "audit.jsonl"
        self.effects = folder / "effects"
        self.kind = kind

    def dispatcher(self, step: Step = nothing) -> Dispatcher:
        """Make the dispatcher anew, as every process does."""
        catalog = Catalog()

        @catalog.tool(name="act", **FACTS[self.kind])
        def act(text: str) -> str:
            """Add a line."""
            step("before effect")
            handle = os.open(self.effects, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
            os.write(handle, f"{text}\n".encode())
            os.fsync(handle)
            os.close(handle)
            step("after effect")
            return f"did {text}"

        stepping = SteppingPostgres if self.store.startswith("postgresql:") else SteppingSQLite
        approvals = Approvals(stepping(self.store, step))
        return Dispatcher(catalog, permissions=Permissions(), approvals=approvals, audit=AuditLog(self.audit))

    def done(self) -> int:
        """Return how often it really happened."""
        return len(self.effects.read_text().splitlines()) if self.effects.exists() else 0

    def intents(self) -> int:
        return sum(line["event"] == "intent" for line in AuditLog.read(self.audit))


class Stepping:
    """A store that says what it is about to do, and what it has done."""

    def __init__(self, place: str, step: Step) -> None:
        super().__init__(place)
        self._step = step

    def __getattribute__(self, name: str) -> Any:
        method = super().__getattribute__(name)
        if name not in ("get", "settle", "finish"):
            return method

        def stepping(*args: Any, **options: Any) -> Any:
            self._step(f"before {name}")
            result = method(*args, **options)
            self._step(f"after {name}")
            return result

        return stepping


class SteppingSQLite(Stepping, SQLiteApprovals):
    """In a file."""


class SteppingPostgres(Stepping, PostgresApprovals):
    """On a server."""


# What the children do.


async def ask_request(place: RoundPlace) -> str:
    """Call, and wait for a person: the request's id."""
    result = await place.dispatcher().call("act", {"text": "it"}, principal="ada")
    assert result.request is not None, result.text
    return result.request.id


async def answer_request(
    place: RoundPlace, request: str, step: Step = nothing, start: Callable[[], None] = lambda: None
) -> dict[str, Any]:
    """Approve, and say what came of it; *start* is called when everything is ready."""
    dispatcher = place.dispatcher(step)
    start()
    try:
        result = await dispatcher.resume(request, Decision.approve(by="ada", principal="ada"))
    except ApprovalError as error:
        return {"why": error.why, "outcome": error.outcome}
    return {"why": None, "outcome": result.to_json()}


def round_of(place: RoundPlace, resume: Callable[[str], Any]) -> dict[str, Any]:
    """Run one call: asked in one process, resumed in a second that may be killed, and in a third that tells."""
    request = fork(lambda: asyncio.run(ask_request(place)), kill=True)
    second = fork(lambda: resume(request))
    effects = place.done()
    third = fork(lambda: [asyncio.run(answer_request(place, request)) for _ in range(2)])
    return {
        "kind": place.kind,
        "second": second,
        "effects_then": effects,
        "third": third,
        "effects": place.done(),
        "intents": place.intents(),
    }


def answer_and_count(place: RoundPlace, request: str, number: int) -> dict[str, Any]:
    """Answer the request, and count the lines that run; *claimed* is the one after which it is claimed."""
    start, line_count = count_lines(number, __file__)
    marks = {}
    answer = asyncio.run(answer_request(place, request, lambda name: marks.setdefault(name, line_count()), start))
    return {**answer, "lines": line_count(), "claimed": marks.get("before settle", 0)}


def kill(folder: str, seed: str, count: str, url: str = "") -> None:
    """Rounds with a random line each; a first one, unharmed, tells how many lines there are."""
    chance = random.Random(int(seed))  # noqa: S311 -- it chooses where to die
    place = RoundPlace(Path(folder) / "whole", "write", url)
    whole = round_of(place, lambda request: answer_and_count(place, request, 0))
    say({"seed": seed, "at": 0, **whole})
    lines, claimed = whole["second"]["lines"], whole["second"]["claimed"]
    for number in range(int(count)):
        place = RoundPlace(Path(folder) / str(number), list(FACTS)[number % len(FACTS)], url)
        # Every other one after the claim, where it matters most.
        at = chance.randint(claimed if number % 2 else 1, lines)
        outcome = round_of(place, lambda request, place=place, at=at: answer_and_count(place, request, at))
        say({"seed": seed, "at": at, **outcome})


def points(folder: str, url: str = "") -> None:
    """Rounds that end at every step of the store and of the effect."""
    for kind in FACTS:
        for point in POINTS:
            place = RoundPlace(Path(folder) / f"{kind} {point}", kind, url)

            def step(name: str, point: str = point) -> None:
                if name == point:
                    die()

            outcome = round_of(
                place, lambda request, place=place, step=step: asyncio.run(answer_request(place, request, step))
            )
            say({"at": point, **outcome})


def race(folder: str, count: str, url: str = "") -> None:
    """Rounds in which four processes resume at the same moment."""
    for number in range(int(count)):
        place = RoundPlace(Path(folder) / str(number), list(FACTS)[number % len(FACTS)], url)
        request = fork(lambda place=place: asyncio.run(ask_request(place)), kill=True)
        gate, opener = os.pipe()
        children = []
        for _ in range(4):
            reader, writer = os.pipe()
            child = os.fork()
            if child == 0:
                os.close(opener)
                os.read(gate, 1)
                os.write(writer, json.dumps(asyncio.run(answer_request(place, request))).encode())
                os._exit(0)
            os.close(writer)
            children.append((child, reader))
        os.close(gate)
        os.close(opener)  # the end of the pipe is what all of them wait for
        answers = []
        for child, reader in children:
            with open(reader, "rb") as pipe:
                answers.append(json.loads(pipe.read()))
            os.waitpid(child, 0)
        say({"kind": place.kind, "answers": answers, "effects": place.done()})


if __name__ == "__main__":
    {command.__name__: command for command in (kill, points, race)}[sys.argv[1]](*sys.argv[2:])
