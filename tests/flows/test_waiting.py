"""A flow that needs an answer of a person ends as `Waiting`, and goes on with the answer."""

from __future__ import annotations

import asyncio

import pytest

from tests.flows.kit import Built, Edited, Part, Plan, Released, Task
from toolkit import ApprovalError, Catalog, Context, Decision, Dispatcher, Inject, Permissions
from toolkit.flows import Failed, Flow, Problems, Waiting
from toolkit.hooks import Halt, Proceed

pytestmark = pytest.mark.anyio


@pytest.fixture
def release():
    """A flow whose last step asks, and shows what it would publish."""
    flow, flow.log = Flow[Released]("release"), []

    @flow.step(undo=lambda before: flow.log.append("restore"))
    def edit(plan: Plan, problems: Inject[Problems]) -> Edited:
        flow.log.append(f"edit {list(problems)}")
        return Edited(f"text {len(problems)}")

    @flow.step(destructive=True, preview=lambda arguments: f"publish {arguments['edited'].text}", back_to=edit)
    def publish(edited: Edited) -> Released:
        flow.log.append("publish")
        return Released(edited.text)

    return flow


async def test_a_destructive_step_asks_with_its_preview(release):
    """The request shows what the step would do, and nothing is done before the answer."""
    waiting = await release.run(Plan(), id="r1")
    assert isinstance(waiting, Waiting)
    (request,) = waiting.requests
    assert (waiting.id, request.tool, request.preview) == ("r1", "publish", "publish text 0")
    assert release.log == ["edit []"]
    assert "publish" in str(waiting)


async def test_an_approved_step_runs_once(release):
    """Steps that were done before are not done again."""
    waiting = await release.run(Plan())
    decisions = {request.id: Decision.approve(by="ada") for request in waiting.requests}
    assert await release.resume(waiting, decisions) == Released("text 0")
    assert release.log == ["edit []", "publish"]
    # The same answer again gives the same end.
    assert await release.resume(waiting, decisions) == Released("text 0")
    assert release.log == ["edit []", "publish"]


async def test_a_denied_step_goes_back_with_the_reason(release):
    """The person's words are the problems of the step before, and the person is asked again about what it did."""
    waiting = await release.run(Plan())
    again = await release.resume(waiting, {waiting.requests[0].id: Decision.deny("the changelog is missing")})
    assert isinstance(again, Waiting)
    assert release.log == ["edit []", "restore", "edit ['the changelog is missing']"]
    assert again.requests[0].preview == "publish text 1"
    assert again.requests[0].id != waiting.requests[0].id
    assert await release.resume(again, {again.requests[0].id: Decision.approve()}) == Released("text 1")


async def test_a_resume_without_answers_leaves_the_flow_waiting(release):
    waiting = await release.run(Plan())
    assert await release.resume(waiting, {}) == waiting


async def test_answers_that_cannot_be_used(release):
    """The message says what to write."""
    waiting = await release.run(Plan())
    with pytest.raises(ApprovalError, match="does not wait for 'other'; it waits for") as caught:
        await release.resume(waiting, {"other": Decision.approve()})
    assert caught.value.why == "unknown"
    with pytest.raises(TypeError, match="by the ids of the requests"):
        await release.resume(waiting, [Decision.approve()])
    with pytest.raises(ApprovalError, match="was not made for 'eve'"):
        await release.resume(waiting, {waiting.requests[0].id: Decision.approve(principal="eve")})
    # The person can still answer. Where one request waits, the decision alone is enough.
    assert await release.resume(waiting, Decision.approve()) == Released("text 0")


async def test_an_answer_that_comes_too_late_is_a_problem(release):
    """A request that was answered elsewhere, or has expired, does not run."""
    waiting = await release.run(Plan())
    dispatcher, session = waiting.memory.dispatcher, waiting.memory.session
    await dispatcher.resume(waiting.requests[0], Decision.deny("not today", by="bob"), session=session)
    again = await release.resume(waiting, {waiting.requests[0].id: Decision.approve()})
    assert isinstance(again, Waiting)
    assert "restore" in release.log


def build_items(built, **facts):
    """Return a flow that builds three parts. The first and the last one need an answer, unless *facts* say otherwise."""
    flow = Flow("items")

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part]:
        return [Part(1), Part(2), Part(3)]

    @flow.step(**{"approval": lambda arguments: arguments["part"].number != 2, **facts})
    def build(part: Part) -> Built:
        built.append(part.number)
        return Built(part.number)

    return flow


async def test_the_items_of_a_list_wait_together():
    """If they may run beside each other, all requests come at once, and items that need no answer are done."""
    built = []
    flow = build_items(built, concurrency_safe=True)
    waiting = await flow.run(Task())
    assert [request.arguments for request in waiting.requests] == [{"part": {"number": 1}}, {"part": {"number": 3}}]
    assert built == [2]
    first, last = (request.id for request in waiting.requests)
    still = await flow.resume(waiting, {last: Decision.approve()})
    assert [request.id for request in still.requests] == [first]
    assert await flow.resume(still, {first: Decision.approve()}) == [Built(1), Built(2), Built(3)]
    assert built == [2, 3, 1]


async def test_an_item_waits_for_the_item_before_it():
    """If items run one after the other, no effect comes before that of the first item."""
    built = []
    flow = build_items(built)
    outcome, questions = await flow.run(Task()), []
    while isinstance(outcome, Waiting):
        questions.append((outcome.requests[0].arguments["part"]["number"], list(built)))
        outcome = await flow.resume(outcome, {outcome.requests[0].id: Decision.approve()})
    assert questions == [(1, []), (3, [1, 2])]
    assert outcome == [Built(1), Built(2), Built(3)]


@pytest.mark.parametrize("concurrency_safe", [True, False])
async def test_no_item_starts_after_one_that_has_halted_the_flow(concurrency_safe):
    """Those that had started before are finished."""
    built = []
    flow = build_items(built, approval="never", concurrency_safe=concurrency_safe)

    class Hook:
        def before(self, call):
            return Halt("enough") if call.name == "build" and call.arguments["part"]["number"] == 1 else Proceed()

    dispatcher = Dispatcher(Catalog(), hooks=[Hook()], max_concurrency=1)
    outcome = await flow.run(Task(), dispatcher=dispatcher)
    assert (outcome.problems, outcome.left, built) == (("build (item 1): enough",), (), [])


async def test_the_requests_of_a_flow_that_has_ended_are_withdrawn():
    """The flow does not wait for an answer that cannot help, and a later approval runs nothing."""
    built, requests = [], []
    flow = build_items(built, approval=lambda arguments: arguments["part"].number == 1, concurrency_safe=True)

    class Hook:
        def before(self, call):
            return Halt("enough") if call.name == "build" and call.arguments["part"]["number"] == 3 else Proceed()

        def after(self, call, result):
            requests.extend([] if result.request is None else [result.request])
            return result

    dispatcher = Dispatcher(Catalog(), hooks=[Hook()])
    outcome = await flow.run(Task(), dispatcher=dispatcher)
    assert (outcome.step, outcome.problems) == ("build", ("build (item 3): enough",))
    with pytest.raises(ApprovalError, match="was denied"):
        await dispatcher.extended(flow.catalog).resume(requests[0].id, Decision.approve())
    assert built == [2]


async def test_items_run_one_by_one_if_their_facts_are_unknown():
    """A function in the options of a step may raise."""
    built = []
    flow = build_items(built, approval="never", concurrency_safe=lambda arguments: 1 // 0)
    assert await flow.run(Task()) == [Built(1), Built(2), Built(3)]


async def cancel_approved(flow, began):
    """Approve what a run waits for, and cancel the run once *began* is set. Return what can be resumed again."""
    waiting = await flow.run(Plan())
    decisions = {waiting.requests[0].id: Decision.approve()}
    task = asyncio.create_task(flow.resume(waiting, decisions))
    await began.wait()
    task.cancel()
    await asyncio.wait({task})
    return waiting, decisions


@pytest.mark.parametrize("facts", [{"idempotent": True}, {"undo": lambda plan: None}])
async def test_an_approved_step_that_was_cancelled_has_its_attempt_still(facts):
    """A process that is told to end costs a step no attempt, so people are asked again."""
    flow, began, log = Flow[Released]("cancelled"), asyncio.Event(), []

    @flow.step(approval="always", **facts)
    async def publish(plan: Plan) -> Released:
        log.append("publish")
        began.set()
        if len(log) == 1:
            await asyncio.Event().wait()
        return Released("1")

    waiting, decisions = await cancel_approved(flow, began)
    outcome = await flow.resume(waiting, decisions)
    if isinstance(outcome, Waiting):
        outcome = await flow.resume(outcome, {outcome.requests[0].id: Decision.approve()})
    assert (outcome, log) == (Released("1"), ["publish"] * 2)


async def test_a_step_may_ask_its_user():
    """`context.ask` works as in every tool."""
    flow = Flow[Released]("asking")

    @flow.step
    async def publish(plan: Plan, context: Context) -> Released:
        return Released(await context.ask("version", "Which version?"))

    waiting = await flow.run(Plan())
    (request,) = waiting.requests
    decision = Decision.approve(answers={"version": "1.2"})
    assert await flow.resume(waiting, {request.id: decision}) == Released("1.2")


async def test_checks_and_undos_may_have_to_be_approved():
    """In a mode that asks before changes, an undo asks, too."""
    flow, log = Flow("careful"), []

    @flow.step(read_only=True)
    def plan(task: Task) -> Plan:
        return Plan()

    @flow.step(idempotent=True, check=lambda before, after: "wrong", undo=lambda before: log.append("undo"))
    def edit(plan: Plan) -> Edited:
        return Edited("")

    dispatcher = Dispatcher(Catalog(), permissions=Permissions("default", ["ask edit.check"]))
    outcome, questions = await flow.run(Task(), dispatcher=dispatcher), []
    while isinstance(outcome, Waiting):
        questions.append(outcome.requests[0].tool)
        outcome = await flow.resume(outcome, {outcome.requests[0].id: Decision.approve()})
    assert questions == ["edit", "edit.check", "edit.undo"]
    assert outcome == Failed("edit", ("wrong",))
    assert log == ["undo"]


async def test_an_undo_on_the_way_back_may_have_to_be_approved():
    """The flow waits in the middle of the way, and goes on from there."""
    flow, log = Flow("careful"), []

    @flow.step(read_only=True)
    def split(task: Task) -> list[Part]:
        return [Part(1), Part(2)]

    @flow.step(undo=lambda before: log.append(f"undo {before.number}"))
    def build(part: Part) -> Built:
        log.append(f"build {part.number}")
        return Built(part.number)

    def is_rebuilt(before, after):
        return None if len(log) > 3 else "once more"

    @flow.step(read_only=True, check=is_rebuilt, back_to=build)
    def join(built: list[Built]) -> Released:
        return Released("1")

    dispatcher = Dispatcher(Catalog(), permissions=Permissions("auto", ["ask build.undo"]))
    outcome, questions = await flow.run(Task(), dispatcher=dispatcher), []
    while isinstance(outcome, Waiting):
        questions += [request.arguments["before"]["value"]["number"] for request in outcome.requests]
        outcome = await flow.resume(outcome, {outcome.requests[0].id: Decision.approve()})
    assert outcome == Released("1")
    assert questions == [2, 1]
    assert log == ["build 1", "build 2", "undo 2", "undo 1", "build 1", "build 2"]


async def test_two_resumes_at_once_run_an_approved_step_once(release):
    """The second one waits for the first, and returns the same end."""
    waiting = await release.run(Plan())
    decisions = {waiting.requests[0].id: Decision.approve()}
    ends = await asyncio.gather(*(release.resume(waiting, decisions) for _ in range(3)))
    assert ends == [Released("text 0")] * 3
    assert release.log == ["edit []", "publish"]


async def test_resumes_in_two_event_loops_run_an_approved_step_once(release):
    """One loop is in another thread, and waits for its turn."""
    waiting = await release.run(Plan())
    decisions = {waiting.requests[0].id: Decision.approve()}
    async with waiting.memory.steps.take_turn():
        elsewhere = asyncio.create_task(
            asyncio.to_thread(lambda: asyncio.run(release.resume(waiting, decisions))), name="elsewhere"
        )
        cancelled = asyncio.create_task(release.resume(waiting, decisions))
        await asyncio.sleep(0)
        cancelled.cancel()
        here = asyncio.create_task(release.resume(waiting, decisions))
        await asyncio.wait({cancelled})
        assert release.log == ["edit []"]
    assert await asyncio.gather(here, elsewhere) == [Released("text 0")] * 2
    assert release.log == ["edit []", "publish"]


@pytest.mark.parametrize("facts", [{}, {"idempotent": True}, {"undo": lambda plan: None}])
async def test_a_step_that_was_cancelled_in_memory_is_repeated_only_if_that_is_safe(facts):
    """It may have happened. It is repeated if it is idempotent, or can be undone."""
    flow, log = Flow[Released]("cancelled"), []
    began, gate = asyncio.Event(), asyncio.Event()

    @flow.step(destructive=True)
    def edit(plan: Plan) -> Edited:
        return Edited("")

    @flow.step(**facts)
    async def publish(edited: Edited) -> Released:
        log.append("publish")
        began.set()
        await gate.wait()
        return Released("1")

    waiting, decisions = await cancel_approved(flow, began)
    gate.set()
    outcome = await flow.resume(waiting, decisions)
    if facts:
        assert (outcome, log) == (Released("1"), ["publish"] * 2)
    else:
        assert outcome.left == ("edit", "publish, which may or may not have happened")
        assert log == ["publish"]


async def test_another_flow_cannot_resume_a_run(release):
    """The message names the flow of the run."""
    other = Flow("other")

    @other.step
    def publish(plan: Plan) -> Released:
        return Released("other")

    waiting = await release.run(Plan())
    with pytest.raises(TypeError, match="is one of another flow, `release`"):
        await other.resume(waiting, {waiting.requests[0].id: Decision.approve()})
