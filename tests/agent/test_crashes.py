"""
A run with steps that is killed at any point, and done again: nothing is lost, and nothing happens twice.
"""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.agent.crashing_world import CrashingWorld, describe
from tests.example_counts import limit_examples
from tests.steps.crashing_steps import Killed, Process

pytestmark = pytest.mark.anyio


EFFECTS = {"cut oak", "cut ash", "cut pine", "put elm", "burn fir", "cut box", "burn bay"}


async def check_world(world: CrashingWorld, expected: list[tuple[str, str, str]]) -> None:
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
        world = CrashingWorld(asks_at_once=asks_at_once)
        run = await world.run()
        assert run.status == "done"
        assert world.effects == Counter(EFFECTS)
        assert not world.steps.cut_keys
        _undisturbed[asks_at_once] = world.process.passed_points, describe(run)
    return _undisturbed[asks_at_once]


@pytest.mark.parametrize("asks_at_once", [False, True])
async def test_run_that_is_not_killed_is_the_same_as_without_steps(asks_at_once: bool) -> None:
    """Steps change nothing in a run that is not killed, and each step has one record."""
    world = CrashingWorld(asks_at_once=asks_at_once)
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
        await check_world(CrashingWorld([point], asks_at_once=asks_at_once), expected)


@pytest.mark.parametrize("point", [5, 30, 55, 80, 105])
async def test_run_is_finished_after_a_crash(point: int) -> None:
    """A run that is killed at one of a few points ends in the same way, and no effect is doubled or lost."""
    _, expected = await run_undisturbed(asks_at_once=False)
    await check_world(CrashingWorld([point]), expected)


@pytest.mark.long
@settings(max_examples=limit_examples(25), deadline=None)
@given(st.sets(st.integers(1, 200), max_size=6), st.booleans())
async def test_run_is_finished_after_several_crashes(crash_points: set[int], asks_at_once: bool) -> None:
    """A run that is killed several times ends in the same way, and no effect is doubled or lost."""
    _, expected = await run_undisturbed(asks_at_once=asks_at_once)
    await check_world(CrashingWorld(crash_points, asks_at_once=asks_at_once), expected)


def test_a_killed_process_passes_no_further_point() -> None:
    process = Process([2])
    process.pass_point()
    with pytest.raises(Killed):
        process.pass_point()
    with pytest.raises(Killed):
        process.pass_point()
    assert process.passed_points == 2
