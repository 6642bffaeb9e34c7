"""A flow that is run again after a crash ends as it would have without it, and does nothing twice."""

from __future__ import annotations

import json

import pytest

from tests.flows.kit import Built, Edited, Part, Plan, Released, Task, run_with
from tests.steps.crashing_steps import CrashingSteps, Disk, Killed, Process
from toolkit import Catalog, Decision, Dispatcher, Inject, Permissions
from toolkit.durable.errors import DurableError
from toolkit.flows import Failed, Flow, Problems
from toolkit.flows.step_calls import build_key
from toolkit.flows.value_types import FlowValue
from toolkit.flows.visits import Paused

pytestmark = pytest.mark.anyio


class Shop:
    """A flow whose effects are on a list outside of it. *facts* are those of the step `edit`."""

    def __init__(self, **facts):
        self.effects, self.undone = [], []
        self.flow = flow = Flow[Released]("release")

        @flow.step(read_only=True)
        async def plan(task: Task) -> Plan:
            return Plan([task.file])

        @flow.step(**facts)
        async def edit(plan: Plan, problems: Inject[Problems]) -> Edited:
            self.effects.append(len(problems))
            return Edited(f"good {len(problems)}")

        @flow.step(idempotent=True)
        async def publish(edited: Edited) -> Released:
            return Released(edited.text)


async def run_until_end(shop, kill_at, *, value=None, dispatcher=None):
    """Run the flow, kill it at one point, and run it again to its end."""
    disk = Disk()
    steps = CrashingSteps(Process([kill_at]), disk)
    try:
        return await run_with(shop.flow, value or Task(), steps, dispatcher=dispatcher)
    except Killed:
        return await run_with(shop.flow, value or Task(), CrashingSteps(Process(), disk), dispatcher=dispatcher)


def is_cut(kill_at):
    """Return whether the second step was cut: it had begun, and had no record."""
    return kill_at in (4 + 2, 4 + 3)


@pytest.mark.parametrize("kill_at", range(1, 13))
async def test_a_step_with_an_undo_is_undone_and_run_again_after_a_crash(kill_at):
    """The outcome is the same, and every effect but the last one is undone."""
    shop = Shop(undo=lambda before: shop.undone.append(shop.effects.pop() if shop.effects else None))
    assert await run_until_end(shop, kill_at) == FlowValue("Released", {"version": "good 0"})
    assert len(shop.effects) == 1
    assert len(shop.undone) == int(is_cut(kill_at))


@pytest.mark.parametrize("kill_at", range(1, 13))
async def test_an_idempotent_step_is_repeated(kill_at):
    """It has no undo, and needs none."""
    shop = Shop(idempotent=True)
    assert await run_until_end(shop, kill_at) == FlowValue("Released", {"version": "good 0"})
    assert len(shop.effects) == 1 + (kill_at == 4 + 3)


@pytest.mark.parametrize("kill_at", range(1, 13))
async def test_another_step_is_not_repeated(kill_at):
    """The flow fails and says that the step may or may not have happened, but only if it was cut."""
    shop = Shop()
    outcome = await run_until_end(shop, kill_at)
    assert len(shop.effects) <= 1
    if is_cut(kill_at):
        assert outcome == Failed(
            "edit",
            ("it may or may not have happened",),
            left=("edit, which may or may not have happened",),
        )
    else:
        assert outcome == FlowValue("Released", {"version": "good 0"})


async def test_a_crash_is_not_an_attempt():
    """A step with one attempt is still checked once after it was cut."""
    shop = Shop(check=lambda before, after: None, undo=lambda before: shop.effects.pop(), attempts=1)
    assert await run_until_end(shop, 4 + 3) == FlowValue("Released", {"version": "good 0"})


@pytest.mark.parametrize("kill_at", range(1, 20))
async def test_the_items_of_a_list_are_found_again(kill_at):
    """This holds also if they ran beside each other."""
    flow, built = Flow("items"), []

    @flow.step(read_only=True)
    async def split(task: Task) -> list[Part]:
        return [Part(1), Part(2), Part(3)]

    @flow.step(idempotent=True, concurrency_safe=True)
    async def build(part: Part) -> Built:
        built.append(part.number)
        return Built(part.number * 10)

    class Holder:
        pass

    shop = Holder()
    shop.flow = flow
    outcome = await run_until_end(shop, kill_at)
    assert outcome == FlowValue("list[Built]", [{"number": 10}, {"number": 20}, {"number": 30}])
    assert set(built) == {1, 2, 3}


# Requests.


@pytest.mark.parametrize("kill_at", range(1, 8))
async def test_a_request_keeps_its_id(kill_at):
    """A step that asks is asked about once, before and after a crash, and runs once after the answer."""
    flow, ran = Flow("asking"), []

    @flow.step(read_only=True)
    async def plan(task: Task) -> Plan:
        return Plan([task.file])

    @flow.step(destructive=True)
    async def publish(plan: Plan) -> Released:
        ran.append(1)
        return Released("1")

    disk, dispatcher = Disk(), Dispatcher(Catalog(), permissions=Permissions("auto"))
    ids = set()
    for _ in range(2):
        try:
            outcome = await run_with(flow, Task(), CrashingSteps(Process([kill_at]), disk), dispatcher=dispatcher)
        except Killed:
            outcome = await run_with(flow, Task(), CrashingSteps(Process(), disk), dispatcher=dispatcher)
        assert isinstance(outcome, Paused)
        ids |= {request.id for request in outcome.requests}
    (request_id,) = ids
    decisions = {request_id: Decision.approve(by="ada")}
    outcome = await run_with(flow, Task(), CrashingSteps(Process(), disk), decisions=decisions, dispatcher=dispatcher)
    assert outcome == FlowValue("Released", {"version": "1"})
    # Without the decision, which was used, the record of the answered call is enough.
    assert await run_with(flow, Task(), CrashingSteps(Process(), disk), dispatcher=dispatcher) == outcome
    assert ran == [1]


# Records of another program.


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"type": "Plan", "value": {"folders": []}}, "the record does not fit the type `Plan`, which has changed"),
        ({"type": "Draft", "value": {}}, "the type `Draft`, and no step of this flow takes or returns it any more"),
        ({"files": []}, 'the record is not {"type": ..., "value": ...}'),
    ],
)
async def test_a_record_of_a_type_that_changed(value, message):
    """The error names the step and the type, and says what to do."""
    shop, disk = Shop(), Disk()
    await run_with(shop.flow, Task(), CrashingSteps(Process(), disk))
    key = "run%2F1/plan/1/0/run/1"
    record = json.loads(disk.records[key])
    disk.records[key] = json.dumps({**record, "result": {**record["result"], "value": value}})
    with pytest.raises(DurableError, match=message.replace("{", r"\{").replace("...", r"\.\.\.")) as caught:
        await run_with(shop.flow, Task(), CrashingSteps(Process(), disk))
    assert caught.value.why == "changed"
    assert "plan" in str(caught.value)


async def test_values_are_stored_with_the_names_of_their_types():
    """A record can be read without the program."""
    shop, disk = Shop(), Disk()
    await run_with(shop.flow, Task("a.py"), CrashingSteps(Process(), disk))
    result = json.loads(disk.records["run%2F1/plan/1/0/run/1"])["result"]
    assert result["value"] == {"type": "Plan", "value": {"files": ["a.py"]}}


def test_parts_of_keys_are_escaped():
    """A slash in the id of a run does not make two runs one."""
    assert build_key("a/b", "c%2Fd", 1) == "a%2Fb/c%252Fd/1"
