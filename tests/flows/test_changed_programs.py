"""A program that is replaced while durable runs are under way: records and requests of the old one are not misused."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.durable.kit import LocalEngine
from tests.flows.kit import Edited, Plan, Released, Task
from toolkit import Decision, ToolError
from toolkit.durable import DurableError, DurableHost
from toolkit.durable.step_gate import WorkerEnds
from toolkit.flows import Failed, Flow, Waiting

pytestmark = pytest.mark.anyio


@pytest.fixture
def database(tmp_path):
    """The address of a database of its own."""
    return f"sqlite:///{tmp_path}/runs.sqlite"


def open_host(database):
    return DurableHost(database, engine=LocalEngine)


def build_flow(log, edited=Edited, *, inserts_review=False, **facts):
    """Return one version of the program."""
    flow = Flow[Released]("release")

    def edit(plan: Plan) -> edited:
        log.append("edit")
        return edited("text")

    def review(old: edited) -> Task:
        log.append("review")
        return Task("reviewed")

    def publish(what: Task if inserts_review else edited) -> Released:
        log.append(f"publish {what}")
        return Released("1")

    for function, hints in (
        (edit, {"plan": Plan, "return": edited}),
        (review, {"old": edited, "return": Task}),
        (publish, {"what": Task if inserts_review else edited, "return": Released}),
    ):
        function.__annotations__ = hints
    flow.step(edit)
    if inserts_review:
        flow.step(review)
    flow.step(destructive=True, **facts)(publish)
    return flow


def build_longer_type():
    """Return `Edited` with a field more, which has a default."""

    @dataclass
    class Edited:
        text: str
        note: str = ""

    return Edited


@pytest.mark.parametrize("facts", [{}, {"back_to": "edit"}])
async def test_a_step_that_has_changed_is_asked_about_again(database, facts):
    """The approval of the old step is not used for the new one, and is not mistaken for a no."""
    log = []
    async with open_host(database) as host:
        waiting = await build_flow(log, **facts).run(Plan(), host, id="r")
    async with open_host(database) as host:
        flow = build_flow(log, build_longer_type(), **facts)
        again = await flow.resume("r", {waiting.requests[0].id: Decision.approve()}, host)
        assert isinstance(again, Waiting)
        assert again.requests[0].id != waiting.requests[0].id
        assert again.requests[0].arguments == {"what": {"text": "text", "note": ""}}
        assert "`publish` has changed since a person agreed" in again.requests[0].reason
        assert log == ["edit"]
        assert await flow.run(Plan(), host, id="r") == again
        assert await flow.resume("r", {again.requests[0].id: Decision.approve()}, host) == Released("1")
    assert len(log) == 2


async def test_a_no_to_a_step_that_has_changed_is_a_no(database):
    """The person does not want it in any form."""
    log = []
    async with open_host(database) as host:
        waiting = await build_flow(log).run(Plan(), host, id="r")
    async with open_host(database) as host:
        flow = build_flow(log, build_longer_type())
        outcome = await flow.resume("r", {waiting.requests[0].id: Decision.deny("too early")}, host)
    assert outcome == Failed("publish", ("too early",), left=("edit",))


async def test_a_step_with_another_value_is_asked_about_again(database):
    """A person has approved the old value. The step does not run with it in the new flow."""
    log = []
    async with open_host(database) as host:
        waiting = await build_flow(log).run(Plan(), host, id="r")
    async with open_host(database) as host:
        flow = build_flow(log, inserts_review=True)
        again = await flow.resume("r", {waiting.requests[0].id: Decision.approve()}, host)
        assert isinstance(again, Waiting)
        assert again.requests[0].arguments == {"what": {"file": "reviewed"}}
        assert await flow.resume("r", {again.requests[0].id: Decision.approve()}, host) == Released("1")
    assert log == ["edit", "review", "publish Task(file='reviewed')"]


async def test_a_retry_belongs_to_its_failed_step(database):
    """A step that a new program has in place of the failed one is not run twice if it fails, too."""
    log = []

    def build(name):
        flow = Flow[Released]("release")

        @flow.step(name=name)
        def publish(plan: Plan) -> Released:
            log.append(name)
            raise ToolError(f"{name} is down")

        return flow

    async with open_host(database) as host:
        await build("old").run(Plan(), host, id="r")
        await host.retry("r")
    async with open_host(database) as host:
        flow = build("new")
        assert (await flow.run(Plan(), host, id="r")).problems == ("new is down",)
        assert log == ["old", "new"]
        # A retry of the new failure counts.
        await host.retry("r")
        assert (await flow.run(Plan(), host, id="r")).problems == ("new is down",)
    assert log == ["old", "new", "new"]


async def test_a_failure_is_not_repeated_after_a_crash(database):
    """The process ends after the new failure was recorded, and before the end of the run was."""
    log = []

    def build(name):
        flow = Flow[Released]("release")

        @flow.step(name=name)
        def publish(plan: Plan) -> Released:
            log.append(name)
            raise ToolError(f"{name} is down")

        return flow

    async with open_host(database) as host:
        await build("old").run(Plan(), host, id="r")
        await host.retry("r")
        flow, end = build("new"), host._journal.end
        del host._kinds._kinds["flow:release"]  # the program is replaced

        def fail(*args, **options):
            raise WorkerEnds("the process ends")

        host._journal.end = fail
        flow.register(host)
        row = await host.get("r")
        await host._activations.perform(row)
        host._journal.end = end
        assert log == ["old", "new"]
        assert (await flow.run(Plan(), host, id="r")).problems == ("new is down",)
    assert log == ["old", "new"]


async def test_a_record_of_a_step_that_gets_another_value_is_not_used(database):
    """The run fails and says why, because the step has happened with the old value."""

    def build(text, **facts):
        flow = Flow[Released]("release")

        @flow.step(name=f"edit_{text}", read_only=True)
        def edit(plan: Plan) -> Edited:
            return Edited(text)

        @flow.step
        def publish(edited: Edited) -> Task:
            return Task(edited.text)

        @flow.step(approval="always")
        def announce(task: Task) -> Released:
            return Released(task.file)

        return flow

    async with open_host(database) as host:
        waiting = await build("a").run(Plan(), host, id="r")
    async with open_host(database) as host:
        with pytest.raises(DurableError, match="'r/publish/1/0/run/1' was done with another value") as caught:
            await build("b").resume("r", {waiting.requests[0].id: Decision.approve()}, host)
        assert caught.value.why == "changed"
    async with open_host(database) as host:
        flow = build("a")
        flow.register(host)
        await host.retry("r")
        assert await flow.run(Plan(), host, id="r") == Released("a")


def build_renamed(log, name="edit", parameter="plan", **facts):
    """Return one version of a program whose first step has another name, or another parameter, in each."""
    flow = Flow[Released]("release")
    scope = {"Plan": Plan, "Edited": Edited, "log": log}
    exec(f"def edit({parameter}: Plan) -> Edited:\n    log.append('edit')\n    return Edited('')", scope)  # noqa: S102 -- the names differ
    flow.step(name=name, **facts)(scope["edit"])

    @flow.step(destructive=True)
    def publish(edited: Edited) -> Released:
        log.append("publish")
        return Released("1")

    return flow


async def test_a_step_that_was_renamed_is_not_run_again(database):
    """The run fails and names the step, and goes on once the step has its name again."""
    log = []
    async with open_host(database) as host:
        waiting = await build_renamed(log).run(Plan(), host, id="r")
    answers = {waiting.requests[0].id: Decision.approve()}
    async with open_host(database) as host:
        with pytest.raises(
            DurableError, match="the run 'r' has done `edit`, which the flow `release` does not"
        ) as caught:
            await build_renamed(log, "write").resume("r", answers, host)
        assert (caught.value.why, log) == ("changed", ["edit"])
        assert '`name="edit"`' in str(caught.value)
    async with open_host(database) as host:
        flow = build_renamed(log)
        flow.register(host)
        await host.retry("r")
        assert await flow.run(Plan(), host, id="r") == Released("1")
    assert log == ["edit", "publish"]


@pytest.mark.parametrize(
    "facts", [{"read_only": True}, {"undo": lambda before: None, "check": lambda before, after: "no"}]
)
async def test_a_renamed_step_without_an_effect_is_accepted(database, facts):
    """A read-only step, or one that was undone, may run again under its new name."""
    log = []
    async with open_host(database) as host:
        await build_renamed(log, **facts).run(Plan(), host, id="r")
    async with open_host(database) as host:
        flow = build_renamed(log, "write", **{name: facts[name] for name in facts if name != "check"})
        if (await host.get("r")).status == "failed":
            flow.register(host)
            await host.retry("r")
        waiting = await flow.run(Plan(), host, id="r")
        assert await flow.resume("r", {waiting.requests[0].id: Decision.approve()}, host) == Released("1")
    assert log[-1] == "publish"


async def test_a_parameter_may_be_renamed(database):
    """The value of the step is the same."""
    log = []
    async with open_host(database) as host:
        waiting = await build_renamed(log).run(Plan(), host, id="r")
    async with open_host(database) as host:
        flow = build_renamed(log, parameter="wish")
        assert await flow.resume("r", {waiting.requests[0].id: Decision.approve()}, host) == Released("1")
    assert log == ["edit", "publish"]


async def test_a_value_of_another_type_with_the_same_fields_is_another_value(database):
    """A person has agreed to what was edited, and not to what was reviewed."""

    @dataclass
    class Reviewed:
        text: str

    def build(*, inserts_review):
        flow = Flow[Released]("release")

        def edit(plan: Plan) -> Edited:
            return Edited("text")

        def review(edited: Edited) -> Reviewed:
            return Reviewed(edited.text)

        def publish(what):
            return Released("1")

        review.__annotations__["return"] = Reviewed
        publish.__annotations__ = {"what": Reviewed if inserts_review else Edited, "return": Released}
        for step in (edit, review) if inserts_review else (edit,):
            flow.step(step)
        flow.step(destructive=True)(publish)
        return flow

    async with open_host(database) as host:
        waiting = await build(inserts_review=False).run(Plan(), host, id="r")
    async with open_host(database) as host:
        flow = build(inserts_review=True)
        again = await flow.resume("r", {waiting.requests[0].id: Decision.approve()}, host)
        assert isinstance(again, Waiting)
        assert again.requests[0].id != waiting.requests[0].id
        assert await flow.resume("r", {again.requests[0].id: Decision.approve()}, host) == Released("1")
