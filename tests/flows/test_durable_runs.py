"""A durable flow is kept in a database: any process goes on with it, and an id is one run."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.clocks import wait_until
from tests.durable.kit import LocalEngine, wait_for_status
from tests.flows.durable_kit import ReleaseFlow, open_host
from tests.flows.kit import Built, Part, Plan, Released, Task, run_with
from toolkit import (
    Agent,
    ApprovalError,
    Approvals,
    Catalog,
    Decision,
    DefinitionError,
    Dispatcher,
    Inject,
    Permissions,
    SQLiteApprovals,
    ToolError,
)
from toolkit.durable import DurableAgent, DurableError, DurableHost
from toolkit.flows import Failed, Flow, Waiting
from toolkit.flows.story import tell_results
from toolkit.providers import ScriptedProvider
from toolkit.steps.base import MemorySteps

pytestmark = pytest.mark.anyio


async def test_a_durable_flow_runs_waits_and_goes_on_in_another_process(database):
    """No finished step is repeated."""
    log = []
    async with open_host(database) as host:
        waiting = await ReleaseFlow(log).flow.run(Task(), host, id="release/7")
        assert isinstance(waiting, Waiting)
        assert (waiting.id, [request.tool for request in waiting.requests]) == ("release/7", ["publish"])
    async with open_host(database) as host:
        flow = ReleaseFlow(log).flow
        assert await flow.run(Task(), host, id="release/7") == waiting
        decisions = {waiting.requests[0].id: Decision.approve(by="ada")}
        assert await flow.resume("release/7", decisions, host) == Released("1")
        assert await flow.run(Task(), host, id="release/7") == Released("1")
        with pytest.raises(DurableError) as caught:
            await flow.resume(waiting, decisions, host)
        assert caught.value.why in ("over", "answered")
    assert log == ["plan", "edit []", "publish"]


async def test_a_step_that_was_cut_is_undone_and_run_again(database):
    """The process ends in the middle of the step, and another one goes on."""
    log = []
    async with open_host(database) as host:
        task = asyncio.create_task(ReleaseFlow(log, crash_in="edit").flow.run(Task(), host, id="r"))
        await wait_until(lambda: "edit []" in log)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with open_host(database) as host:
        waiting = await ReleaseFlow(log).flow.run(Task(), host, id="r")
        assert isinstance(waiting, Waiting)
    assert log == ["plan", "edit []", "restore", "edit []"]


async def test_a_destructive_step_that_was_cut_may_have_happened(database):
    """It was approved and began, so it is not run again."""
    log = []
    async with open_host(database) as host:
        flow = ReleaseFlow(log, crash_in="publish").flow
        waiting = await flow.run(Task(), host, id="r")
        decisions = {waiting.requests[0].id: Decision.approve()}
        task = asyncio.create_task(flow.resume("r", decisions, host))
        await wait_until(lambda: "publish" in log)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    async with open_host(database) as host:
        outcome = await ReleaseFlow(log).flow.run(Task(), host, id="r")
        assert isinstance(outcome, Failed)
        assert outcome.step == "publish"
        assert "may or may not have happened" in outcome.problems[0]
        assert outcome.left == ("edit", "publish, which may or may not have happened")
    assert log == ["plan", "edit []", "publish"]


async def test_a_denial_goes_back_in_another_process(database):
    """The reason of the person reaches the step before."""
    log = []
    async with open_host(database) as host:
        waiting = await ReleaseFlow(log).flow.run(Task(), host, id="r")
    async with open_host(database) as host:
        decisions = {waiting.requests[0].id: Decision.deny("no changelog")}
        again = await ReleaseFlow(log).flow.resume("r", decisions, host)
        assert isinstance(again, Waiting)
        assert again.requests[0].id != waiting.requests[0].id
    assert log == ["plan", "edit []", "restore", "edit ['no changelog']"]


async def test_an_answer_that_cannot_be_accepted_can_be_corrected(database):
    """The run still waits."""
    async with open_host(database) as host:
        flow = ReleaseFlow([]).flow
        waiting = await flow.run(Task(), host, id="r")
        (request,) = waiting.requests
        with pytest.raises(ApprovalError):
            await flow.resume("r", {request.id: Decision.approve(principal="eve")}, host)
        with pytest.raises(DurableError, match="does not wait for 'other'"):
            await flow.resume("r", {"other": Decision.approve()}, host)
        assert await flow.resume("r", {request.id: Decision.approve()}, host) == Released("1")


async def test_a_request_that_expires_is_a_denial(database):
    """The run does not wait any longer."""
    log, now = [], [1000.0]

    def read_time():
        return now[0]

    store = SQLiteApprovals(database.removeprefix("sqlite:///") + ".own")
    approvals = Approvals(store, clock=read_time, expires_seconds=60)
    flow = Flow("late", dispatcher=Dispatcher(Catalog(), permissions=Permissions("auto"), approvals=approvals))

    @flow.step(destructive=True)
    def publish(plan: Plan) -> Released:
        log.append(1)
        return Released("1")

    async with DurableHost(database, engine=LocalEngine, clock=read_time) as host:
        assert isinstance(await flow.run(Plan(), host, id="r"), Waiting)
        now[0] += 61
        assert await flow.run(Plan(), host, id="r") == Failed(
            "publish", ("nobody answered in time, so it was not run",)
        )
    assert log == []


async def test_an_id_is_one_run(database):
    """Another start, another flow and an unknown id are refused."""
    async with open_host(database) as host:
        flow = ReleaseFlow([]).flow
        await flow.run(Task("a"), host, id="r")
        with pytest.raises(DurableError) as caught:
            await flow.run(Task("b"), host, id="r")
        assert caught.value.why == "changed"
        with pytest.raises(DurableError, match="there is no run"):
            await flow.resume("nothing", {}, host)
        other = Flow("other")

        @other.step
        def build(part: Part) -> Built:
            return Built(1)

        assert await other.run(Part(1), host, id="b") == Built(1)
        with pytest.raises(DurableError, match="is of kind 'flow:other'"):
            await flow.replay("b", host)
        with pytest.raises(ValueError, match="flow:release"):
            ReleaseFlow([]).flow.register(host)


async def test_a_cancelled_run_has_failed_with_the_given_reason(database):
    async with open_host(database) as host:
        flow = ReleaseFlow([]).flow
        await flow.run(Task(), host, id="r")
        await host.cancel("r", "not needed")
        outcome = await flow.run(Task(), host, id="r")
        assert outcome == Failed("", ("not needed",), left=("edit",))
        assert str(outcome) == "the run failed: not needed (still in place: edit)"


async def test_replay_describes_a_failed_flow_in_sentences(database):
    """There is a sentence for every step, check and undo."""
    log = []
    async with open_host(database) as host:
        flow = ReleaseFlow(log, check=lambda before, after: "a test fails").flow
        assert await flow.run(Task(), host, id="r") == Failed("edit", ("a test fails",))
        story = await flow.replay("r", host)
    texts = [str(event) for event in story]
    assert [event.text for event in story if event.action != "other" and not event.text.endswith(" began")] == [
        "plan returned Plan",
        "edit returned Edited",
        "the check of edit found a problem: a test fails",
        "the undo of edit was done",
        "edit (attempt 2) returned Edited",
        "the check of edit (attempt 2) found a problem: a test fails",
        "the undo of edit (attempt 2) was done",
    ]
    assert texts[0] == "the run was created"
    edits = [event for event in story if (event.step, event.action) == ("edit", "run")]
    assert {(event.visit, event.item, event.attempt) for event in edits} == {(1, 0, 1), (1, 0, 2)}
    assert all(event.at is not None for event in story)


def build_flow_with_resource():
    """Return a flow with a step that wants a resource."""
    flow = Flow[Released]("resources")

    @flow.step
    def publish(plan: Plan, version: Inject[str]) -> Released:
        return Released(version)

    return flow


async def test_resources_of_the_run_come_before_those_of_the_registration(database):
    """A worker has its own, and a caller may give others."""
    flow = build_flow_with_resource()
    async with open_host(database) as host:
        flow.register(host, resources={str: "registered"})
        assert await flow.run(Plan(), host, id="1") == Released("registered")
        assert await flow.run(Plan(), host, id="2", resources={str: "given"}) == Released("given")


async def test_an_error_of_the_program_is_raised_and_kept(database):
    """A missing resource is a mistake of the host. The run has failed with this reason."""
    flow = build_flow_with_resource()
    async with open_host(database) as host:
        with pytest.raises(DefinitionError, match="`publish` wants str"):
            await flow.run(Plan(), host, id="1")
        outcome = await flow.run(Plan(), host, id="1")
        assert isinstance(outcome, Failed)
        assert "`publish` wants str" in outcome.problems[0]


async def test_a_durable_flow_uses_the_approval_store_of_its_dispatcher(database, tmp_path):
    store = SQLiteApprovals(tmp_path / "own.sqlite")
    flow = Flow("own", dispatcher=Dispatcher(Catalog(), permissions=Permissions("auto"), approvals=Approvals(store)))

    @flow.step(destructive=True)
    def publish(plan: Plan) -> Released:
        return Released("1")

    async with open_host(database) as host:
        waiting = await flow.run(Plan(), host, id="1")
        assert store.get(waiting.requests[0].id) is not None
    assert not (tmp_path / "runs.sqlite.approvals.sqlite").exists()


async def test_an_outcome_of_another_version_is_refused(database):
    """A later program may write other outcomes."""
    flow = ReleaseFlow([]).flow
    async with open_host(database) as host:
        await flow.run(Task(), host, id="r")
        row = await host.get("r")
        runs = flow._durable_runs[host]
        with pytest.raises(DurableError, match="has version 9, and this program reads version 1"):
            await runs.read_outcome(replace(row, outcome={"version": 9}))
        broken = replace(row, status="failed", outcome=None, problem="a bug")
        assert await runs.read_outcome(broken) == Failed("", ("a bug",), left=("edit",))


async def test_an_agent_that_is_durable_has_a_host_for_flows(database):
    """`DurableAgent` and `DurableHost` are the same to a flow."""
    durable = DurableAgent(Agent(ScriptedProvider([]), Catalog()), DurableHost(database, engine=LocalEngine))
    async with durable:
        assert isinstance(await ReleaseFlow([]).flow.run(Task(), durable, id="r"), Waiting)


@pytest.mark.long
async def test_a_flow_in_postgresql(postgres_url):
    """The runs and the approvals are in the same database."""
    log = []
    async with DurableHost(postgres_url, engine=LocalEngine) as host:
        waiting = await ReleaseFlow(log).flow.run(Task(), host, id="r")
    async with DurableHost(postgres_url, engine=LocalEngine) as host:
        decisions = {waiting.requests[0].id: Decision.approve()}
        assert await ReleaseFlow(log).flow.resume("r", decisions, host) == Released("1")
    assert log == ["plan", "edit []", "publish"]


async def test_a_run_of_a_flow_that_begins_elsewhere_now_is_an_error(database):
    """A run of an earlier version of the program is not mistaken for one that has ended."""
    async with open_host(database) as host:
        await ReleaseFlow([]).flow.start(Task(), host, id="r")
    later = Flow("release")

    @later.step
    def plan(plan: Plan) -> Task:
        return Task()

    async with open_host(database) as host:
        later.register(host)
        with pytest.raises(DurableError, match="began with `Task`, and the flow `release` begins with Plan by now"):
            await host.run("flow:release", "r", {"type": "Task", "value": {"file": "parser.py"}})


async def test_mistakes_in_the_arguments_are_named(database):
    """A durable run has an id and a session of its own."""
    flow = ReleaseFlow([]).flow
    async with open_host(database) as host:
        with pytest.raises(TypeError, match="needs an `id`"):
            await flow.run(Task(), host)
        with pytest.raises(TypeError, match="needs a DurableAgent or a DurableHost, got str"):
            await flow.run(Task(), database, id="r")
        with pytest.raises(TypeError, match="only a durable run has a deadline"):
            await flow.run(Task(), deadline_seconds=3)
        with pytest.raises(TypeError, match="with its database"):
            await flow.resume("r", {})
        with pytest.raises(TypeError, match="from its database"):
            await flow.replay("r")


async def test_replay_describes_a_run_in_memory_from_its_waiting_outcome():
    flow = ReleaseFlow([]).flow
    waiting = await flow.run(Task())
    story = [str(event) for event in await flow.replay(waiting)]
    assert story[:3] == ["plan returned Plan", "edit returned Edited", "the check of edit passed"]
    assert story[3].startswith("publish waits for an answer: ")
    again = await flow.resume(waiting, {waiting.requests[0].id: Decision.deny("no")})
    assert "publish was denied: no" in [str(event) for event in await flow.replay(again)]


async def test_replay_names_failed_steps_and_their_items():
    flow = Flow("items")

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part]:
        return [Part(1)]

    @flow.step(attempts=2)
    def build(part: Part) -> Built:
        raise ToolError("no compiler")

    @flow.step(approval="always")
    def check_in(built: list[Built]) -> Released:
        return Released("1")

    steps = MemorySteps()
    await run_with(flow, Task(), steps)
    assert [str(event) for event in tell_results(steps.results)] == [
        "split returned list[Part]",
        "build (item 1) failed: no compiler",
        "build (item 1, attempt 2) failed: no compiler",
    ]


@pytest.mark.parametrize("engine", [LocalEngine, pytest.param(None, marks=pytest.mark.long, id="dbos")])
async def test_a_worker_goes_on_with_a_flow(database, engine):
    """`start` leaves the run to any worker that has registered the flow."""
    log = []
    async with DurableHost(database, engine=engine) as host:
        flow = ReleaseFlow(log).flow
        await flow.start(Task(), host, id="r")
        assert log == []
        worker = asyncio.create_task(host.work(concurrency=1))
        try:
            await wait_for_status(host, "r", "waiting")
            waiting = await flow.run(Task(), host, id="r")
            await host.decide("r", {waiting.requests[0].id: Decision.approve()})
            await wait_for_status(host, "r", "done")
        finally:
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        assert await flow.run(Task(), host, id="r") == Released("1")
    assert log == ["plan", "edit []", "publish"]
