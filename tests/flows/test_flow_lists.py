"""Lists in a flow: a step for each item, and the values of all of them together."""

from __future__ import annotations

import asyncio

import pytest

from tests.flows.kit import Built, Part, Released, Task
from toolkit import (
    Catalog,
    Dispatcher,
    ToolError,
)
from toolkit.flows import Failed, Flow

pytestmark = pytest.mark.anyio


async def test_a_list_runs_a_step_for_each_item_and_joins():
    """The items run at the same time, because the step reads only, and the results are in their order."""
    flow, running, most = Flow[Released]("lists"), [], []

    @flow.step(read_only=True)
    async def split(task: Task) -> list[Part]:
        return [Part(number) for number in range(4)]

    @flow.step(read_only=True)
    async def build(part: Part) -> Built:
        running.append(part.number)
        most.append(len(running))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.remove(part.number)
        return Built(part.number * 10)

    @flow.step
    async def join(built: list[Built]) -> Released:
        return Released(str([part.number for part in built]))

    assert await flow.run(Task()) == Released("[0, 10, 20, 30]")
    assert max(most) > 1


@pytest.mark.parametrize(
    ("safe", "together"),
    [
        (True, True),
        (False, False),
        (lambda arguments: arguments["part"].number < 3, True),
        (lambda arguments: arguments["part"].number < 2, False),
    ],
)
async def test_items_run_together_only_if_that_is_safe(safe, together):
    """A step that changes something runs alone, unless its author states that it is safe beside itself."""
    flow, running, most = Flow("lists"), [], []

    @flow.step(read_only=True)
    async def split(task: Task) -> list[Part]:
        return [Part(1), Part(2)]

    @flow.step(concurrency_safe=safe)
    async def build(part: Part) -> Built:
        running.append(1)
        most.append(len(running))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        running.pop()
        return Built(part.number)

    assert await flow.run(Task()) == [Built(1), Built(2)]
    assert (max(most) > 1) is together


async def test_an_empty_list_is_joined_at_once():
    flow = Flow[list[Built]]("empty")

    @flow.step
    def split(task: Task) -> list[Part]:
        return []

    @flow.step
    def build(part: Part) -> Built:
        raise AssertionError

    assert await flow.run(Task()) == []


async def test_an_item_that_fails_names_itself():
    """The others have run, and are named as what is left."""
    flow = Flow("lists")

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part]:
        return [Part(1), Part(2), Part(3)]

    @flow.step
    def build(part: Part) -> Built:
        if part.number == 2:
            raise ToolError("broken")
        return Built(part.number)

    outcome = await flow.run(Task())
    assert outcome == Failed(
        "build", ("build (item 2): broken",), left=("build (item 1)", "build (item 3)", "build (item 2)")
    )


async def test_an_error_in_one_item_stops_the_others():
    """An exception that the dispatcher raises leaves no task behind."""
    flow, ended = Flow("lists"), []

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part]:
        return [Part(1), Part(2)]

    @flow.step(read_only=True)
    async def build(part: Part) -> Built:
        if part.number == 2:
            raise RuntimeError("bug")
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(part.number)
        return Built(1)

    with pytest.raises(RuntimeError, match="bug"):
        await flow.run(Task(), dispatcher=Dispatcher(Catalog(), raise_bugs=True))
    assert ended == [1]
