"""The type of a value is that of the object which the step returned, also if hooks change its JSON."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any

import pytest

from tests.flows.kit import Released, Task
from toolkit import Catalog, Dispatcher, ToolResult
from toolkit.flows import Failed, Flow
from toolkit.hooks import Proceed, Replace

pytestmark = pytest.mark.anyio


@dataclass
class Approved:
    text: Any


@dataclass
class Rejected:
    text: Any


def build_flow(value, *, hooks=(), redact=()):
    """Return a flow whose first step returns *value*, and whose second one runs for what is approved."""
    flow = Flow[Released | Rejected]("review", dispatcher=Dispatcher(Catalog(), hooks=hooks, redact=redact))

    @flow.step(read_only=True)
    def review(task: Task) -> Approved | Rejected:
        return value

    @flow.step
    def publish(approved: Approved) -> Released:
        return Released(approved.text)

    return flow


class ChangeText:
    """Changes the value of a result, and leaves the rest."""

    def __init__(self, value):
        self.value = value

    def after(self, call, result):
        if call.name == "review":
            result.value = self.value
        return result


class PutInPlace:
    """Puts another result in the place of that of the step."""

    def __init__(self, value):
        self.value = value

    def before(self, call):
        return Replace(ToolResult("", self.value)) if call.name == "review" else Proceed()


async def test_a_masked_value_does_not_become_a_value_of_another_type():
    """A rejected value is not published."""
    outcome = await build_flow(Rejected("it has hunter2 in it"), redact=["hunter2"]).run(Task())
    assert isinstance(outcome, Failed)
    assert outcome.step == "review"


async def test_a_value_that_a_hook_has_changed_keeps_its_type():
    """Its fields are those of the hook."""
    assert await build_flow(Rejected("a"), hooks=[ChangeText({"text": "b"})]).run(Task()) == Rejected("b")
    assert await build_flow(Approved("a"), hooks=[ChangeText({"text": "b"})]).run(Task()) == Released("b")


@pytest.mark.parametrize("value", [{"other": 1}, 3, object()])
async def test_a_value_that_a_hook_made_unfit_fails_the_step(value):
    outcome = await build_flow(Rejected("a"), hooks=[ChangeText(value)]).run(Task())
    assert isinstance(outcome, Failed)
    assert outcome.step == "review"


async def test_a_value_that_a_hook_has_put_in_place_must_fit_one_type():
    """A hook cannot say which of two types it means by the JSON alone, but by an object."""
    outcome = await build_flow(Rejected("a"), hooks=[PutInPlace({"text": "b"})]).run(Task())
    assert isinstance(outcome, Failed)
    assert "a hook replaced its value with one that can be `Approved` or `Rejected`" in outcome.problems[0]
    outcome = await build_flow(Rejected("a"), hooks=[PutInPlace({"other": "b"})]).run(Task())
    assert "a hook replaced its value with one of another type" in outcome.problems[0]
    flow = Flow[Rejected]("one", dispatcher=Dispatcher(Catalog(), hooks=[PutInPlace({"text": "b"})]))

    @flow.step
    def review(task: Task) -> Rejected:
        return Rejected("a")

    assert await flow.run(Task()) == Rejected("b")


@pytest.mark.parametrize("value", [(1, 2), {1}, {1: 2}, dt.date(2026, 1, 1), b"a", float("nan"), "\ud800"])
async def test_a_value_that_is_not_json_fails_the_step(value):
    """It would be another value after a crash."""
    outcome = await build_flow(Rejected(value)).run(Task())
    assert isinstance(outcome, Failed)
    assert outcome.problems[0].startswith("the step ran, but this `Rejected` ")
