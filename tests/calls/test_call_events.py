"""Events of calls: every call starts once and ends once, with any outcome."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.calls.event_recorders import RECORDERS, AsyncRecorder, Recorder
from tests.clocks import until
from toolkit import (
    Approvals,
    Catalog,
    Context,
    Decision,
    Dispatcher,
    Permissions,
    RetryPolicy,
    Session,
    ToolCall,
    ToolError,
    ToolResult,
    Transient,
)
from toolkit.calls.unstarted import refuse_under_trio
from toolkit.hooks import (
    Ask,
    AttemptStarted,
    Cache,
    CallEnded,
    CallRetried,
    CallStarted,
    Deny,
    Halt,
    HookDecided,
    Modify,
    PersonAnswered,
    PersonAsked,
    Proceed,
    Replace,
)

pytestmark = pytest.mark.anyio

CALLS: dict[str, tuple[str, Any]] = {
    "good": ("act", {"deed": "good"}),
    "text": ("act", '{"deed": "good"}'),
    "bad": ("act", {}),
    "unknown": ("nope", {"deed": "good"}),
    "denied": ("act", {"deed": "denied"}),
    "asked": ("act", {"deed": "asked"}),
    "halted": ("act", {"deed": "halted"}),
    "waiting": ("sign", {}),
    "failing": ("act", {"deed": "failing"}),
    "flaky": ("act", {"deed": "flaky"}),
    "cancelled": ("act", {"deed": "cancelled"}),
    "slow": ("act", {"deed": "slow"}),
    "in a thread": ("read", {}),
}


def make_catalog() -> Catalog:
    """Return tools that do what they are told."""
    catalog = Catalog()

    @catalog.tool
    async def act(deed: str) -> str:
        """Act."""
        if deed == "failing":
            raise ToolError("no")
        if deed == "flaky":
            raise Transient("later", happened="no")
        if deed == "cancelled":
            raise asyncio.CancelledError
        for _ in range(3 if deed == "slow" else 0):
            await asyncio.sleep(0)
        return deed

    @catalog.tool(approval="always")
    async def sign() -> str:
        """Sign."""
        return "signed"

    @catalog.tool(read_only=True)
    def read() -> str:
        """Read."""
        return "text"

    return catalog


class Doorman:
    """A hook that does to each call what it says, and looks at the others."""

    def before(self, call: ToolCall) -> Any:
        outcomes = {"denied": Deny("no"), "asked": Ask("sure?"), "halted": Halt("stop")}
        return outcomes.get(call.arguments.get("deed"), Proceed())

    async def around(self, call: ToolCall, run: Any) -> ToolResult:
        return await run()

    def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        return result


def make_dispatcher(*hooks: Any, **options: Any) -> Dispatcher:
    """Return a dispatcher that tries twice and does not wait between."""
    return Dispatcher(make_catalog(), hooks=hooks, retry=RetryPolicy(attempts=2, wait_initial=0), **options)


@given(
    names=st.lists(st.sampled_from(sorted(CALLS)), max_size=6),
    way=st.sampled_from(sorted(RECORDERS)),
    has_hooks=st.booleans(),
    entrance=st.sampled_from(["call_many", "call_many_sync", "call"]),
)
@settings(deadline=None)
def test_every_call_starts_and_ends_once_with_the_kind_of_its_result(names, way, has_hooks, entrance):
    """Good, bad, unknown, denied, waiting, halted, held back, failing and cancelled ones; each listener is told."""
    recorder = RECORDERS[way]()
    hooks = [Doorman(), recorder] if has_hooks else [recorder]
    calls = [ToolCall(*CALLS[name]) for name in names]
    with_listener, without = make_dispatcher(*hooks), make_dispatcher(*hooks[:-1])
    results = run_calls(with_listener, calls, entrance)
    kinds = {result.call_id: result.kind for result in results}
    assert len(kinds) == len(results) == len(names)
    assert Counter(recorder.starts) == Counter(kinds.keys())
    assert Counter(recorder.ends) == Counter(kinds.items())
    for call_id in kinds:
        own = [type(event) for event in recorder.events if event.call.id == call_id]
        assert (own[0], own[-1]) == (CallStarted, CallEnded)
    # A listener changes nothing.
    assert [result.kind for result in run_calls(without, calls, entrance)] == [result.kind for result in results]
    for dispatcher in (with_listener, without):
        dispatcher.close()


def run_calls(dispatcher: Dispatcher, calls: list[ToolCall], entrance: str) -> list[ToolResult]:
    if entrance == "call_many_sync":
        return dispatcher.call_many_sync(calls)

    async def run() -> list[ToolResult]:
        if entrance == "call_many":
            return await dispatcher.call_many(calls)
        return [await dispatcher.call(call) for call in calls]

    return asyncio.run(run())


@given(
    names=st.lists(st.sampled_from(sorted(CALLS)), min_size=1, max_size=4),
    way=st.sampled_from(["sync", "async"]),
    turns=st.integers(0, 25),
)
@settings(deadline=None)
def test_a_batch_that_is_cancelled_has_as_many_ends_as_starts(names, way, turns):
    """It may be cancelled at every await, including that of a listener."""
    recorder = RECORDERS[way]()

    async def main() -> None:
        dispatcher = make_dispatcher(Doorman(), recorder)
        task = asyncio.ensure_future(dispatcher.call_many([ToolCall(*CALLS[name]) for name in names]))
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait({task})
        await until(lambda: not dispatcher.abandoned)
        dispatcher.close()

    asyncio.run(main())
    assert Counter(recorder.starts) == Counter(call_id for call_id, _ in recorder.ends)
    assert len(set(recorder.starts)) == len(recorder.starts)


async def test_a_plain_call_causes_its_events_in_order():
    recorder = Recorder()
    session = Session(id="s", principal="ada")
    result = await make_dispatcher(recorder).call("act", {"deed": "good"}, id="c", session=session)
    assert recorder.names == ["call_started", "attempt_started", "call_ended"]
    start, attempt, end = recorder.events
    assert (start.call.id, start.call.tool.name, start.call.arguments) == ("c", "act", {"deed": "good"})
    assert (start.call.session, start.call.principal, start.request_id) == (session, "ada", None)
    assert (attempt.number, attempt.error) == (1, None)
    assert end.result is result
    assert (end.kind, end.error, end.verdict) == ("ok", None, None)


async def test_a_listener_cannot_change_the_arguments():
    """It gets a copy, like every hook."""

    class Meddler:
        def on_event(self, event: Any) -> None:
            event.call.arguments["deed"] = "failing"

    assert (await make_dispatcher(Meddler()).call("act", {"deed": "good"})).text == "good"


async def test_the_event_of_an_attempt_has_the_error_of_the_attempt_before():
    recorder = Recorder()
    result = await make_dispatcher(recorder).call("act", {"deed": "flaky"})
    first, second = recorder.of(AttemptStarted)
    assert (first.number, first.error, second.number, str(second.error)) == (1, None, 2, "later")
    assert (result.kind, result.attempts) == ("transient", 2)


async def test_the_event_of_a_retry_comes_before_that_of_its_attempt():
    """It has the seconds since the first attempt, by the clock of the dispatcher."""
    recorder = Recorder()
    await make_dispatcher(recorder, clock=iter(range(100)).__next__).call("act", {"deed": "flaky"})
    (retry,) = recorder.of(CallRetried)
    assert (retry.call.name, retry.number, str(retry.error)) == ("act", 2, "later")
    assert retry.seconds >= 1
    names = [type(event).__name__ for event in recorder.events]
    assert names == ["CallStarted", "AttemptStarted", "CallRetried", "AttemptStarted", "CallEnded"]


async def test_attempts_are_counted_on_after_a_person_has_answered():
    """There is no error then, unless the attempt after the answer failed."""
    recorder, catalog, runs = Recorder(), Catalog(), []

    @catalog.tool(read_only=True)
    async def greet(context: Context) -> str:
        """Greet."""
        runs.append(len(runs) + 1)
        name = await context.ask("name", "Your name?")
        if len(runs) == 2:
            raise Transient("later")
        return f"hello {name}"

    approvals = Approvals(ask=lambda request: Decision.approve(answers={"name": "Ada"}))
    retry = RetryPolicy(attempts=2, wait_initial=0.0)
    result = await Dispatcher(catalog, hooks=[recorder], approvals=approvals, retry=retry).call("greet", {})

    assert (result.text, runs) == ("hello Ada", [1, 2, 3])
    assert [event.number for event in recorder.of(AttemptStarted)] == [1, 2, 3]
    assert [(event.number, str(event.error)) for event in recorder.of(CallRetried)] == [(2, "None"), (3, "later")]


async def test_the_event_of_a_denied_call_names_the_deciding_rule():
    recorder = Recorder()
    dispatcher = make_dispatcher(recorder, permissions=Permissions("auto", rules=["deny act"]))
    result = await dispatcher.call("act", {"deed": "good"})
    (end,) = recorder.of(CallEnded)
    assert (result.kind, end.verdict.word) == ("denied", "deny")
    assert "deny act" in end.verdict.by


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (Deny("no"), Deny("no")),
        (Halt("no"), Halt("no")),
        (Modify({"deed": "other"}), Modify({"deed": "other"})),
        (Ask("sure?"), Ask("sure?")),
        (Proceed(), None),
    ],
)
async def test_an_outcome_other_than_to_proceed_causes_an_event(outcome, expected):
    class Decider:
        def before(self, call: ToolCall) -> Any:
            return outcome

    recorder, decider = Recorder(), Decider()
    await make_dispatcher(decider, recorder).call("act", {"deed": "good"})
    outcomes = [(event.hook, event.outcome) for event in recorder.of(HookDecided)]
    assert outcomes == ([] if expected is None else [(decider, expected)])


async def test_a_result_of_an_around_or_an_after_hook_causes_an_event():
    """A cache that answers is one of them. A hook that hands on the result of the tool is none."""

    class Polite:
        def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
            return ToolResult(f"{result.text}, please")

    recorder, cache, polite = Recorder(), Cache(), Polite()
    dispatcher = make_dispatcher(cache, polite, recorder)
    for _ in range(2):
        await dispatcher.call("read", {})
    outcomes = [(event.hook, type(event.outcome), event.outcome.result.text) for event in recorder.of(HookDecided)]
    assert outcomes == [
        (polite, Replace, "text, please"),
        (cache, Replace, "text"),
        (polite, Replace, "text, please"),
    ]
    assert [event.result.attempts for event in recorder.of(CallEnded)] == [1, 0]


async def test_a_call_that_waits_and_goes_on_starts_again_with_the_request():
    recorder = Recorder()
    dispatcher = make_dispatcher(recorder)
    waiting = await dispatcher.call("sign", {}, id="c")
    request_id = waiting.request.id
    result = await dispatcher.resume(waiting, Decision.approve(by="ada"))
    assert result.text == "signed"
    assert recorder.names == [
        *("call_started", "person_asked", "call_ended"),
        *("call_started", "person_answered", "attempt_started", "call_ended"),
    ]
    assert [event.request_id for event in recorder.of(CallStarted)] == [None, request_id]
    assert [event.request.id for event in recorder.of(PersonAsked)] == [request_id]
    assert [(event.request.id, event.decision.by) for event in recorder.of(PersonAnswered)] == [(request_id, "ada")]
    assert recorder.ends == [("c", "waiting"), ("c", "ok")]


async def test_events_of_asking_a_person_come_between_start_and_end_of_the_call():
    recorder = Recorder()
    approvals = Approvals(ask=lambda request: Decision.deny("not today"))
    result = await make_dispatcher(recorder, approvals=approvals).call("sign", {})
    assert result.kind == "denied"
    assert recorder.names == ["call_started", "person_asked", "person_answered", "call_ended"]


async def test_a_question_of_a_tool_causes_events():
    recorder = Recorder()
    catalog = Catalog()

    @catalog.tool
    async def greet(context: Context) -> str:
        """Greet the user by name."""
        return f"hello {await context.ask('name', 'Your name?')}"

    dispatcher = Dispatcher(catalog, hooks=[recorder])
    waiting = await dispatcher.call("greet", {})
    (question_event,) = recorder.of(PersonAsked)
    (question,) = question_event.request.questions
    assert question.message == "Your name?"
    result = await dispatcher.resume(waiting, Decision.approve(answers={question.key: "Ada"}))
    assert result.text == "hello Ada"
    assert recorder.of(PersonAnswered)[0].decision.answers == {question.key: "Ada"}


async def test_a_refused_answer_leaves_one_end():
    """The call of a request that was answered twice does not start a second time."""
    recorder = Recorder()
    dispatcher = make_dispatcher(recorder)
    waiting = await dispatcher.call("sign", {})
    await dispatcher.resume(waiting, Decision.deny("no"))
    with pytest.raises(Exception, match="was denied"):
        await dispatcher.resume(waiting, Decision.approve())
    assert len(recorder.starts) == len(recorder.ends) == 2


async def test_a_call_in_the_background_ends_with_its_job():
    recorder, may_end = Recorder(), asyncio.Event()
    catalog = Catalog()

    @catalog.tool(background=True)
    async def build(target: str) -> str:
        """Build."""
        await may_end.wait()
        return target

    dispatcher = Dispatcher(catalog, hooks=[recorder])
    receipt = await dispatcher.call("build", {"target": "all", "background": True}, id="c", session=Session())
    assert "job" in receipt.metadata
    assert (recorder.starts, recorder.ends) == (["c"], [])
    may_end.set()
    await until(lambda: recorder.ends)
    assert (recorder.starts, recorder.ends) == (["c"], [("c", "ok")])
    assert recorder.of(CallEnded)[0].result.text == "all"
    dispatcher.close()


@pytest.mark.parametrize("recorder_class", [Recorder, AsyncRecorder])
async def test_a_call_whose_coroutine_is_closed_has_an_end(recorder_class):
    """No code can be awaited then, so an async listener is called a little later."""
    recorder = recorder_class()
    call = make_dispatcher(recorder).call("act", {"deed": "slow"}, id="c")
    while "attempt_started" not in recorder.names:
        call.send(None)
    call.close()
    await until(lambda: recorder.ends)
    assert (recorder.starts, recorder.ends) == (["c"], [("c", "cancelled")])
    assert isinstance(recorder.of(CallEnded)[0].error, GeneratorExit)


async def test_an_interrupt_has_an_end_and_passes():
    catalog, recorder = Catalog(), Recorder()

    @catalog.tool
    async def stop() -> None:
        """Stop the program."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        await Dispatcher(catalog, hooks=[recorder]).call("stop", id="c")
    assert recorder.ends == [("c", "cancelled")]


async def test_a_bug_that_is_raised_has_an_end():
    catalog, recorder = Catalog(), Recorder()

    @catalog.tool
    async def divide() -> float:
        """Divide by zero."""
        return 1 / 0

    with pytest.raises(ZeroDivisionError) as caught:
        await Dispatcher(catalog, hooks=[recorder], raise_bugs=True).call("divide", id="c")
    assert recorder.ends == [("c", "internal")]
    assert recorder.of(CallEnded)[0].error is caught.value


async def test_a_call_cancelled_during_its_end_event_withdraws_its_request():
    """The caller does not get the result, so a later approval must not run the call."""
    reached = asyncio.Event()

    class Slow:
        async def on_event(self, event: Any) -> None:
            if isinstance(event, CallEnded):
                reached.set()
                await asyncio.Event().wait()

    approvals, recorder = Approvals(), Recorder()
    task = asyncio.ensure_future(make_dispatcher(Slow(), recorder, approvals=approvals).call("sign", {}))
    await reached.wait()
    assert len(approvals.store.pending()) == 1
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert approvals.store.pending() == []
    assert [kind for _, kind in recorder.ends] == ["waiting"]


async def test_calls_inside_a_tool_cause_events():
    recorder = Recorder()
    catalog = Catalog()

    @catalog.tool
    async def outer() -> str:
        """Call the other tool."""
        return (await dispatcher.call("inner", {}, id="inner")).text

    @catalog.tool
    async def inner() -> str:
        """Say something."""
        return "hi"

    dispatcher = Dispatcher(catalog, hooks=[recorder])
    await dispatcher.call("outer", {}, id="outer")
    assert recorder.starts == ["outer", "inner"]
    assert recorder.ends == [("inner", "ok"), ("outer", "ok")]


async def test_a_call_that_is_refused_under_trio_starts_and_ends():
    """After-hooks may need asyncio. An async listener is called in order."""
    recorder, later = Recorder(), AsyncRecorder()
    await refuse_under_trio(ToolCall("act", {}, "c"), make_dispatcher(recorder, later).settings)
    await until(lambda: later.ends)
    assert (recorder.starts, recorder.ends) == (later.starts, later.ends) == (["c"], [("c", "internal")])
    assert later.names == ["call_started", "call_ended"]
