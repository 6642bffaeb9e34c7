"""A retry of a durable run that ended as `Failed` gives the failed step new attempts, and repeats no effect."""

from __future__ import annotations

import pytest

from tests.durable.kit import LocalEngine
from tests.flows.kit import Built, Edited, Part, Plan, Released, Task
from toolkit import Catalog, Decision, Dispatcher, Inject, Permissions, ToolError
from toolkit.durable import DurableHost
from toolkit.flows import Failed, Flow, Problems, Waiting
from toolkit.hooks import Halt, Proceed

pytestmark = pytest.mark.anyio


@pytest.fixture
async def host(tmp_path):
    """A host with a database of its own."""
    async with DurableHost(f"sqlite:///{tmp_path}/runs.sqlite", engine=LocalEngine) as host:
        yield host


def build_flow(log, **facts):
    """Return a flow whose last step fails until "up" is in the log."""
    flow = Flow[Released]("release", max_visits=1, dispatcher=Dispatcher(Catalog(), permissions=Permissions("bypass")))

    @flow.step
    def edit(plan: Plan) -> Edited:
        log.append("edit")
        return Edited("text")

    @flow.step(**facts)
    def publish(edited: Edited, problems: Inject[Problems]) -> Released:
        log.append(f"publish {list(problems)}")
        if "up" not in log:
            raise ToolError("the service is down")
        return Released("1")

    return flow


async def test_a_retry_gives_the_failed_step_new_attempts(host):
    """The steps before are not run again, and each retry is one more visit."""
    log = []
    flow = build_flow(log)
    down = Failed("publish", ("the service is down",), left=("edit", "publish"))
    assert await flow.run(Plan(), host, id="r") == down
    assert await flow.run(Plan(), host, id="r") == down
    await host.retry("r")
    assert await flow.run(Plan(), host, id="r") == down
    await host.retry("r")
    log.append("up")
    assert await flow.run(Plan(), host, id="r") == Released("1")
    again = "publish ['the service is down']"
    assert log == ["edit", "publish []", again, "up", again]


async def test_a_retry_after_a_cancellation_does_not_belong_to_the_failed_step(host):
    """A run that fails after that has failed, and is not run again without a request."""
    log = []
    flow = build_flow(log)
    await flow.start(Plan(), host, id="r")
    await host.cancel("r")
    await host.retry("r")
    assert isinstance(await flow.run(Plan(), host, id="r"), Failed)
    assert log == ["edit", "publish []"]


async def test_a_destructive_step_that_has_run_is_not_retried(host):
    """The outcome says why the retry was of no use."""
    log = []
    flow = build_flow(log, destructive=True)
    await flow.run(Plan(), host, id="r")
    await host.retry("r")
    outcome = await flow.run(Plan(), host, id="r")
    reason = (
        "a retry does not run it again, because it has run, is destructive and has no `undo`; start a run with another "
        "id"
    )
    assert outcome == Failed("publish", ("the service is down", reason), left=("edit", "publish"))
    assert log == ["edit", "publish []"]


async def test_a_step_whose_undo_failed_is_not_retried(host):
    """Its remaining effect is not known."""
    log = []
    flow = build_flow(log, undo=lambda before: 1 / 0)
    await flow.run(Plan(), host, id="r")
    await host.retry("r")
    outcome = await flow.run(Plan(), host, id="r")
    assert "because `publish` may have done something that was not undone" in outcome.problems[-1]
    assert log == ["edit", "publish []"]


async def test_a_person_who_refused_is_asked_again_by_a_retry(host):
    """The retry makes a new request."""
    flow = Flow[Released]("asks")

    @flow.step(destructive=True)
    def publish(plan: Plan) -> Released:
        return Released("1")

    waiting = await flow.run(Plan(), host, id="r")
    denied = await flow.resume("r", {waiting.requests[0].id: Decision.deny("not today")}, host)
    assert denied == Failed("publish", ("not today",))
    await host.retry("r")
    again = await flow.run(Plan(), host, id="r")
    assert isinstance(again, Waiting)
    assert again.requests[0].id != waiting.requests[0].id
    assert await flow.resume("r", {again.requests[0].id: Decision.approve()}, host) == Released("1")


@pytest.mark.parametrize("can_be_undone", [False, True])
async def test_the_items_that_had_passed_are_not_run_again(host, can_be_undone):
    """If they can be undone, they were, and run again."""
    flow, log, faults = Flow("items"), [], [2]
    facts = {"undo": lambda part: log.append(f"undo {part.number}")} if can_be_undone else {}

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part]:
        return [Part(1), Part(2), Part(3)]

    @flow.step(**facts)
    def build(part: Part) -> Built:
        log.append(part.number)
        if part.number in faults:
            raise ToolError("no compiler")
        return Built(part.number)

    outcome = await flow.run(Task(), host, id="r")
    assert outcome.left == (() if can_be_undone else ("build (item 1)", "build (item 3)", "build (item 2)"))
    faults.clear()
    await host.retry("r")
    log.append("retry")
    assert await flow.run(Task(), host, id="r") == [Built(1), Built(2), Built(3)]
    assert log[log.index("retry") :] == (["retry", 1, 2, 3] if can_be_undone else ["retry", 2])


async def test_a_step_that_a_hook_halted_is_retried(host):
    """The step had not run."""
    stops = [True]

    class Hook:
        def before(self, call):
            return Halt("maintenance") if stops else Proceed()

    flow = Flow[Released]("halted", dispatcher=Dispatcher(Catalog(), hooks=[Hook()]))

    @flow.step
    def publish(plan: Plan) -> Released:
        return Released("1")

    assert await flow.run(Plan(), host, id="r") == Failed("publish", ("maintenance",))
    stops.clear()
    await host.retry("r")
    assert await flow.run(Plan(), host, id="r") == Released("1")


async def test_a_flow_that_came_to_a_step_too_often_gets_one_visit_more(host):
    """The limit is for loops without a person."""
    flow, log = Flow[Released]("loop", max_visits=2), []

    @flow.step(undo=lambda plan: None)
    def edit(plan: Plan) -> Edited:
        log.append("edit")
        return Edited("")

    @flow.step(read_only=True, back_to=edit)
    def test(edited: Edited) -> Released:
        if log.count("edit") < 3:
            raise ToolError("a test fails")
        return Released("1")

    outcome = await flow.run(Plan(), host, id="r")
    assert (outcome.step, log) == ("edit", ["edit"] * 2)
    await host.retry("r")
    assert await flow.run(Plan(), host, id="r") == Released("1")
    assert log == ["edit"] * 3
