"""
A run with steps that is killed at any point, and done again: nothing is lost, and nothing happens twice.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.crashing_steps import CrashingSteps, Killed, MortalStore, Process, resume_with_steps, run_with_steps
from tests.agent.kit import call
from tests.example_counts import limit_examples
from toolkit.agent import Agent, Run, sub_run
from toolkit.agent.saved.run_seal import dump_run, load_run
from toolkit.approvals import Approvals
from toolkit.calls.resources import PER_CALL
from toolkit.catalog import Catalog
from toolkit.context import Context, Inject
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider
from toolkit.providers.base import Request
from toolkit.providers.messages import AssistantMessage, ToolMessage
from toolkit.steps.base import ONLY_SUB_RUNS, ONLY_SUB_RUNS_KEY

pytestmark = pytest.mark.anyio

SCRIPT: dict[str, list[Any]] = {
    "main": [
        [call("look", "r1", what="axe"), call("look", "r2", what="saw"), call("look", "r3", what="log")],
        [call("cut", "w1", wood="oak"), call("delegate", "d1"), call("cut", "w2", wood="ash")],
        [call("put", "p1", wood="elm"), call("burn", "b1", wood="fir"), call("burn", "no", wood="yew")],
        [call("cut", "w1", wood="pine")],
        "all done",
    ],
    "inside": [
        [call("cut", "s1", wood="box"), call("look", "r1", what="bin")],
        [call("burn", "s2", wood="bay")],
        "done inside",
    ],
}
"""What the model says, by the prompt of the run and the number of its turns so far."""


def answer(request: Request) -> Any:
    prompt = request.messages[0].text
    return SCRIPT[prompt][sum(isinstance(message, AssistantMessage) for message in request.messages)]


@dataclass
class World:
    """Everything that survives a killed process, and what was done in it."""

    crash_points: Collection[int] = ()
    asks_at_once: bool = False
    effects: Counter[str] = field(default_factory=Counter)
    keys: dict[str, set[str]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.process = Process(self.crash_points)
        self.steps = CrashingSteps(self.process)
        self.store = MortalStore(self.process)

    def do(self, effect: str, context: Context) -> str:
        self.process.pass_point()
        self.effects[effect] += 1
        self.keys.setdefault(effect, set()).add(context.idempotency_key)
        self.process.pass_point()
        return effect

    def start_process(self) -> Agent:
        """Return the agent as another process would make it."""
        self.process.is_dead = False
        approvals = Approvals(self.store, ask=decide if self.asks_at_once else None)
        dispatcher = Dispatcher(
            CATALOG, permissions=Permissions("auto"), approvals=approvals, resources={World: PER_CALL}
        )
        return Agent(ScriptedProvider(itertools.repeat(answer)), dispatcher)

    async def run(self) -> Run:
        """Return the run that is done, after as many lives of the process as it takes."""
        saved: str | None = None
        while True:
            try:
                agent = self.start_process()
                run = await self._work(agent, saved)
                self.process.pass_point()
            except BaseException:
                if not self.process.is_dead:
                    raise
                continue
            if run.status != "waiting":
                return run
            saved = json.dumps(dump_run(run))

    async def _work(self, agent: Agent, saved: str | None) -> Run:
        options: dict[str, Any] = {"steps": self.steps, "secret": "s", "resources": {World: self}}
        if saved is None:
            return await run_with_steps(agent, "main", run_id="r/1", **options)
        run = load_run(json.loads(saved))
        decisions = {request.id: decide(request) for request in run.requests}
        return await resume_with_steps(agent, run, decisions, **options)


CATALOG = Catalog()


@CATALOG.tool(read_only=True)
async def look(what: str, world: Inject[World]) -> str:
    """Look at something."""
    world.process.pass_point()
    return f"a {what}"


@CATALOG.tool
async def cut(wood: str, world: Inject[World], context: Context) -> str:
    """Cut wood."""
    return world.do(f"cut {wood}", context)


@CATALOG.tool(idempotent=True)
async def put(wood: str, world: Inject[World], context: Context) -> str:
    """Put wood away."""
    return world.do(f"put {wood}", context)


@CATALOG.tool(destructive=True)
async def burn(wood: str, world: Inject[World], context: Context) -> str:
    """Burn wood."""
    return world.do(f"burn {wood}", context)


@CATALOG.tool(metadata={ONLY_SUB_RUNS_KEY: ONLY_SUB_RUNS})
async def delegate(context: Context) -> str:
    """Let the model do something inside."""
    return await sub_run("inside", context=context)


def decide(request: Any) -> Decision:
    return Decision.deny("too old") if request.call_id == "no" else Decision.approve(by="ada")


def describe(run: Run) -> list[tuple[str, str, str]]:
    """Return the results of a run by the ids of their calls, and what the model said."""
    return [
        entry
        for message in run.messages
        for entry in (
            [(result.call_id, result.kind, result.text) for result in message.results]
            if isinstance(message, ToolMessage)
            else [("", "said", message.text)]
        )
    ]


EFFECTS = {"cut oak", "cut ash", "cut pine", "put elm", "burn fir", "cut box", "burn bay"}


async def check_world(world: World, expected: list[tuple[str, str, str]]) -> None:
    """Run *world* to its end, and check what happened in it."""
    run = await world.run()
    assert run.id == "r/1"
    assert run.status == "done"
    entries = describe(run)
    assert [entry[0] for entry in entries] == [entry[0] for entry in expected]
    for entry, expected_entry in zip(entries, expected, strict=True):
        if "may or may not have happened" in entry[2]:
            assert world.steps.cut_keys, entry
        else:
            assert entry == expected_entry
    maybe_count = sum("may or may not have happened" in entry[2] for entry in entries)
    inner_cuts = {key for key in world.steps.cut_keys if key.count("/") > 2}
    assert maybe_count == len(world.steps.cut_keys - inner_cuts), entries
    assert all(count == 1 for effect, count in world.effects.items() if effect != "put elm"), world.effects
    assert all(len(keys) == 1 for keys in world.keys.values())
    assert len(EFFECTS - world.effects.keys()) <= len(world.steps.cut_keys)


_undisturbed: dict[bool, tuple[int, list[tuple[str, str, str]]]] = {}


async def run_undisturbed(*, asks_at_once: bool) -> tuple[int, list[tuple[str, str, str]]]:
    if asks_at_once not in _undisturbed:
        world = World(asks_at_once=asks_at_once)
        run = await world.run()
        assert run.status == "done"
        assert world.effects == Counter(EFFECTS)
        assert not world.steps.cut_keys
        _undisturbed[asks_at_once] = world.process.passed_points, describe(run)
    return _undisturbed[asks_at_once]


@pytest.mark.parametrize("asks_at_once", [False, True])
async def test_run_that_is_not_killed_is_the_same_as_without_steps(asks_at_once: bool) -> None:
    """Steps change nothing in a run that is not killed, and each step has one record."""
    world = World(asks_at_once=asks_at_once)
    run = await world.run()
    assert run.text == "all done"
    assert world.effects == Counter(EFFECTS)
    keys = list(world.steps.records)
    assert "r%2F1/reply/1" in keys
    assert {"r%2F1/call/1.r1", "r%2F1/call/2.w1", "r%2F1/call/2.d1/reply/1", "r%2F1/call/2.d1/call/1.r1"} <= {*keys}
    assert run.reply_count == 5


@pytest.mark.long
@pytest.mark.parametrize("asks_at_once", [False, True])
async def test_run_is_finished_after_a_crash_at_each_point(asks_at_once: bool) -> None:
    """A run that is killed at any one point ends in the same way, and no effect is doubled or lost."""
    points, expected = await run_undisturbed(asks_at_once=asks_at_once)
    for point in range(1, points + 1):
        await check_world(World([point], asks_at_once=asks_at_once), expected)


@pytest.mark.parametrize("point", [5, 30, 55, 80, 105])
async def test_run_is_finished_after_a_crash(point: int) -> None:
    """A run that is killed at one of a few points ends in the same way, and no effect is doubled or lost."""
    _, expected = await run_undisturbed(asks_at_once=False)
    await check_world(World([point]), expected)


@pytest.mark.long
@settings(max_examples=limit_examples(25), deadline=None)
@given(st.sets(st.integers(1, 200), max_size=6), st.booleans())
async def test_run_is_finished_after_several_crashes(crash_points: set[int], asks_at_once: bool) -> None:
    """A run that is killed several times ends in the same way, and no effect is doubled or lost."""
    _, expected = await run_undisturbed(asks_at_once=asks_at_once)
    await check_world(World(crash_points, asks_at_once=asks_at_once), expected)


def test_killed_process_does_nothing_more() -> None:
    """After the point at which it is killed, a process passes no other point."""
    process = Process([2])
    process.pass_point()
    with pytest.raises(Killed):
        process.pass_point()
    with pytest.raises(Killed):
        process.pass_point()
    assert process.passed_points == 2
