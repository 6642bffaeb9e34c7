"""Random flows with random failures, killed at any point: they end as they would have, and leave the same behind."""

from __future__ import annotations

import asyncio
import re
from dataclasses import dataclass, make_dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.flows.kit import run_with
from tests.steps.crashing_steps import CrashingSteps, Disk, Killed, Process
from toolkit import Catalog, Context, Dispatcher, Inject, ToolError
from toolkit.flows import Failed, Flow, Problems

TYPES = [make_dataclass(f"T{index}", [("generation", int), ("trial", int), ("item", int)]) for index in range(6)]
"""What a step returns: how often the flow has gone back so far, and how often the step was tried in this visit."""


@dataclass(frozen=True)
class StepPlan:
    """
    A step of a random flow.

    Attributes:
        bad: In each generation, how many trials its check refuses.
        raises: How many trials raise an error after the effect.
        back: How many steps it goes back; 0 for none.
        splits: Whether it returns a list, so that the next step runs for each item.
    """

    bad: tuple[int, ...]
    raises: int
    attempts: int
    back: int
    splits: bool


STEPS = st.builds(
    StepPlan,
    bad=st.lists(st.integers(0, 3), max_size=3).map(tuple),
    raises=st.sampled_from([0, 0, 0, 1]),
    attempts=st.integers(1, 3),
    back=st.integers(0, 2),
    splits=st.booleans(),
)


class World:
    """
    What the steps of a flow have done. A crash does not change it.

    Attributes:
        standing: The keys of the effects that stand.
        done: The keys of all effects, in order.
        undone: The keys of all undos, in order.
        misplaced: The undos of an effect that was not the last one that stood.
    """

    def __init__(self, plans):
        self.standing, self.done, self.undone, self.misplaced = [], [], [], []
        self.flow = Flow("random", max_visits=4)
        roles = []  # "one", or the place in a split: "split", "item", "join"
        for index, plan in enumerate(plans):
            before = roles[-1] if roles else "one"
            splits = plan.splits and before not in ("split",) and index + 1 < len(plans)
            role = "item" if before == "split" else "split" if splits else "one"
            self.add_step(index, plan, role=role, is_join=before == "item")
            roles.append(role)

    def add_step(self, index, plan, *, role, is_join):
        """Add the step that takes the type of this index and returns the next one."""
        name, output = f"s{index}", TYPES[index + 1]

        def check(before, after):
            last = after[-1] if isinstance(after, list) else after
            bad = plan.bad[last.generation] if last.generation < len(plan.bad) else 0
            return f"g{last.generation} t{last.trial}" if last.trial <= bad else None

        def undo(before, context: Context):
            key = context.call.id.replace("/undo/", "/run/")
            self.undone.append(key)
            if key in self.standing:
                if self.standing[-1] != key:
                    self.misplaced.append(key)
                self.standing.remove(key)

        async def step(value, problems, context):
            last = value[-1] if isinstance(value, list) else value
            generation, trial = last.generation, 1
            if problems:
                generation, trial = map(int, re.search(r"g(\d+) t(\d+)", problems[0]).groups())
                generation, trial = (generation, trial + 1) if problems.step == name else (generation + 1, 1)
            self.done.append(context.call.id)
            self.standing.append(context.call.id)
            if trial <= plan.raises:
                raise ToolError(f"g{generation} t{trial}")
            items = [output(generation, trial, item) for item in (1, 2)]
            return items if role == "split" else output(generation, trial, last.item)

        step.__name__ = step.__qualname__ = name
        step.__annotations__ = {
            "value": list[TYPES[index]] if is_join else TYPES[index],
            "problems": Inject[Problems],
            "context": Context,
            "return": list[output] if role == "split" else output,
        }
        back = {"back_to": f"s{index - plan.back}"} if 0 < plan.back <= index else {}
        self.flow.step(check=check, undo=undo, attempts=plan.attempts, **back)(step)


def run_world(plans, kills=()):
    """Run a new flow, whose processes are killed at these points. Return the world, the outcome and the points."""
    world, disk = World(plans), Disk()
    dispatcher = Dispatcher(Catalog())

    async def run():
        for kill_at in kills:
            try:
                return await run_with(
                    world.flow, TYPES[0](0, 0, 0), CrashingSteps(Process([kill_at]), disk), dispatcher=dispatcher
                )
            except Killed:
                continue
        process = Process()
        steps = CrashingSteps(process, disk)
        return await run_with(world.flow, TYPES[0](0, 0, 0), steps, dispatcher=dispatcher), process.passed_points

    outcome = asyncio.run(run())
    return world, *(outcome if isinstance(outcome, tuple) else (outcome, 0))


def shorten(keys):
    """Return the steps, visits and items of keys, without the attempts, which a crash adds to."""
    return sorted(key.rpartition("/run/")[0] for key in keys)


@pytest.mark.long
@pytest.mark.unmeasured
@given(
    plans=st.lists(STEPS, min_size=1, max_size=5), share=st.floats(0, 1), more=st.lists(st.integers(1, 12), max_size=2)
)
def test_a_killed_flow_has_the_same_end_as_one_without_a_crash(plans, share, more):
    """No effect is repeated, and every undo is of the last effect."""
    calm, outcome, points = run_world(plans)
    assert calm.misplaced == []
    assert len(set(calm.undone)) == len(calm.undone)
    assert len(set(calm.done)) == len(calm.done)
    if isinstance(outcome, Failed):
        assert set(outcome.left) == {name_item(key) for key in calm.standing}

    kills = [1 + int(share * (points - 1)), *more]
    world, killed_outcome, _ = run_world(plans, kills)
    assert killed_outcome == outcome
    assert shorten(world.standing) == shorten(calm.standing)
    assert world.misplaced == []
    assert len(set(world.done)) == len(world.done)
    # An undo runs again only if the process ended in it.
    assert len(world.undone) - len(set(world.undone)) <= len(kills)


def name_item(key):
    """Return how a flow names the step and the item of a key."""
    _, step, _, item, *_ = key.split("/")
    return step if item == "0" else f"{step} (item {item})"
