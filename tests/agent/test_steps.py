"""
Runs with steps: what begins, what is kept, and what a run that is done again gets back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.agent.kit import Shed, call, results_of
from tests.agent.step_kit import dispatch
from tests.agent.stepped_runs import resume_with_steps, run_with_steps
from tests.steps.crashing_steps import CrashingSteps, Process
from toolkit.agent import Agent, Budget, Run, sub_run
from toolkit.agent.saved.run_seal import dump_run, load_run
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.errors import ProviderError, Transient
from toolkit.policies.retry import RetryPolicy
from toolkit.providers import ScriptedProvider
from toolkit.providers.base import Reply, Usage
from toolkit.providers.messages import AssistantMessage
from toolkit.results import ToolCall, ToolResult
from toolkit.session import Session
from toolkit.spec import Tool
from toolkit.steps import call_step
from toolkit.steps.session_changes import read_state

pytestmark = pytest.mark.anyio


async def run_twice(make_agent: Callable[[], Agent], steps: CrashingSteps, **options: Any) -> tuple[Run, Run, Agent]:
    """Return a run, the same run done again by another agent, and that agent."""
    options = {"run_id": "r", "steps": steps, "secret": "s", **options}
    first = await run_with_steps(make_agent(), "go", **options)
    agent = make_agent()
    return first, await run_with_steps(agent, "go", **options), agent


# What begins.


async def test_call_begins_only_if_its_tool_runs(steps: CrashingSteps) -> None:
    """A call that is denied, has wrong arguments or is answered by a hook does not begin, and has a record."""

    class Cache:
        async def around(self, call: ToolCall, run: Any) -> ToolResult:
            return ToolResult("from the cache") if call.arguments == {"what": "axe"} else await run()

    shed = Shed("auto", ("deny cut",))
    calls = [call("look", "hit", what="axe"), call("look", "miss", what="saw"), call("look", "bad", where="x")]
    agent = shed.agent(
        [[*calls, call("cut", "denied", wood="oak")], "done"], dispatcher=shed.dispatcher(hooks=[Cache()])
    )
    run = await run_with_steps(agent, "go", run_id="r", steps=steps, secret="s")
    assert [result.kind for result in results_of(run)] == ["ok", "ok", "bad_args", "denied"]
    assert steps.began == ["r/call/1.miss"]
    assert len([key for key in steps.records if "/call/" in key]) == 4


async def test_call_that_is_retried_begins_once(steps: CrashingSteps) -> None:
    """All attempts at a call are one step, and have the same idempotency key."""
    keys: list[str] = []

    async def send(context: Context) -> str:
        """Send something."""
        keys.append(context.idempotency_key)
        if context.attempt < 3:
            raise Transient("busy", happened="no")
        return "sent"

    async def sleep(seconds: float) -> None:
        return None

    dispatcher = dispatch(send, retry=RetryPolicy(attempts=3), sleep=sleep)
    agent = Agent(ScriptedProvider([[call("send", "t1")], "done"]), dispatcher)
    run = await run_with_steps(agent, "go", run_id="r", steps=steps, secret="s")
    assert results_of(run)[0].attempts == 3
    assert steps.began == ["r/call/1.t1"]
    assert len(keys) == 3
    assert len({*keys}) == 1


class SlowHook:
    """A hook that takes its time after the tool, until the event."""

    def __init__(self) -> None:
        self.is_reached, self.may_end = asyncio.Event(), asyncio.Event()

    async def after(self, call: ToolCall, result: ToolResult) -> ToolResult:
        self.is_reached.set()
        await self.may_end.wait()
        return ToolResult(result.text.replace("secret", "***"), kind=result.kind)


def send_secret() -> str:
    """Send something."""
    return "sent secret 17"


@pytest.mark.parametrize("cancellations", [1, 3])
async def test_result_of_a_tool_that_has_returned_is_kept_when_the_run_is_cancelled(
    steps: CrashingSteps, cancellations: int
) -> None:
    """The hooks of the call come to their end, and the cancellation is raised after that."""
    hook = SlowHook()
    agent = Agent(ScriptedProvider([[call("send_secret", "t1")], "done"]), dispatch(send_secret, hooks=[hook]))
    task = asyncio.ensure_future(run_with_steps(agent, "go", run_id="r", steps=steps, secret="s"))
    await hook.is_reached.wait()
    for _ in range(cancellations):
        task.cancel()
        await asyncio.sleep(0)
    hook.may_end.set()
    with pytest.raises(asyncio.CancelledError):
        await task
    again = Agent(ScriptedProvider(["done"]), dispatch(send_secret))
    run = await run_with_steps(again, "go", run_id="r", steps=steps, secret="s")
    assert (results_of(run)[0].text, run.text, steps.cut_keys) == ("sent *** 17", "done", set())


async def test_hook_that_does_not_end_is_cut_off_after_all(
    steps: CrashingSteps, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A cancelled run does not wait for ever for what comes after its tool."""
    monkeypatch.setattr(call_step, "_ENDING_SECONDS", 0.01)
    hook = SlowHook()
    agent = Agent(ScriptedProvider([[call("send_secret", "t1")], "done"]), dispatch(send_secret, hooks=[hook]))
    task = asyncio.ensure_future(run_with_steps(agent, "go", run_id="r", steps=steps, secret="s"))
    await hook.is_reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [key for key in steps.records if "/call/" in key] == []


async def test_tool_that_has_not_returned_is_cancelled_at_once(steps: CrashingSteps) -> None:
    """Its later work is its own cleanup."""
    reached, events = asyncio.Event(), list[str]()

    async def wait() -> str:
        """Wait for ever."""
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            events.append("cleaned")
        return ""

    agent = Agent(ScriptedProvider([[call("wait", "t1")], "done"]), dispatch(wait))
    task = asyncio.ensure_future(run_with_steps(agent, "go", run_id="r", steps=steps, secret="s"))
    await reached.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (events, steps.began) == (["cleaned"], ["r/call/1.t1"])
    assert [key for key in steps.records if "/call/" in key] == []


async def test_call_in_the_background_begins_without_harm(steps: CrashingSteps) -> None:
    """A call that goes on in the background runs, although its step has its record before the tool begins."""
    done = asyncio.Event()
    catalog = Catalog()

    @catalog.tool(background=True)
    async def build() -> str:
        """Build something."""
        done.set()
        return "built"

    agent = Agent(ScriptedProvider([[call("build", "t1", background=True)], "done"]), catalog, mode="bypass")
    run = await run_with_steps(agent, "go", run_id="r", steps=steps, secret="s")
    assert results_of(run)[0].kind == "ok"
    await asyncio.wait_for(done.wait(), 10)


@pytest.mark.parametrize("is_kept", [True, False])
async def test_call_in_the_background_takes_effect_only_after_its_step_is_kept(is_kept: bool) -> None:
    """A step that was not kept starts the call again, so the first job must not have run."""
    has_result, is_reached, has_ended = asyncio.Event(), asyncio.Event(), asyncio.Event()
    ran: list[str] = []

    class Lost(Exception):
        pass

    class SlowStart:
        async def around(self, call: ToolCall, run: Any) -> ToolResult:
            await has_result.wait()
            is_reached.set()
            try:
                return await run()
            finally:
                has_ended.set()

    class LateSteps:
        async def reply(self, key: str, ask: Any) -> Reply:
            return await ask()

        async def call(self, key: str, call: ToolCall, work: Any, **options: Any) -> ToolResult:
            result = await work(refuse_begin)
            has_result.set()
            await is_reached.wait()
            for _ in range(50):  # the job goes as far as it can
                await asyncio.sleep(0)
            assert ran == []
            if not is_kept:
                raise Lost
            return result

    async def refuse_begin() -> None:
        raise AssertionError("the job has its name before it begins")

    async def build() -> str:
        """Build something."""
        ran.append("built")
        return "built"

    dispatcher = dispatch(Tool.described(build, background=True), hooks=[SlowStart()])
    agent = Agent(ScriptedProvider([[call("build", "t1", background=True)], "done"]), dispatcher)
    running = run_with_steps(agent, "go", run_id="r", steps=LateSteps(), secret="s")
    if is_kept:
        assert results_of(await running)[0].kind == "ok"
    else:
        with pytest.raises(Lost):
            await running
    await asyncio.wait_for(has_ended.wait(), 10)
    assert ran == ["built"] * is_kept


async def test_tool_does_not_run_if_begin_raises() -> None:
    """Steps that refuse to begin keep the tool from running, and what they raise then leaves the run."""

    class Taken(Exception):
        pass

    class FencedSteps:
        async def reply(self, key: str, ask: Any) -> Reply:
            return await ask()

        async def call(self, key: str, call: ToolCall, work: Any, *, may_repeat: bool, session: Session) -> ToolResult:
            async def begin() -> None:
                raise Taken(key)

            assert (await work(begin)).is_error
            raise Taken(key)

    shed = Shed("bypass")
    agent = shed.agent([[call("cut", "t1", wood="oak")], "done"])
    with pytest.raises(Taken, match=r"r/call/1\.t1"):
        await run_with_steps(agent, "go", run_id="r", steps=FencedSteps(), secret="s")
    assert shed.done == []


@pytest.mark.parametrize("is_reply", [True, False])
async def test_failure_of_steps_in_a_sub_run_leaves_the_run(steps: CrashingSteps, is_reply: bool) -> None:
    """If the steps fail inside a sub-run, that is no result of the call: it ends the whole run."""

    class Full(Exception):
        pass

    class FullSteps(CrashingSteps):
        def _keep(self, key: str, record: dict[str, Any]) -> None:
            if key == ("r/call/1.t1/call/1.t2/reply/1" if is_reply else "r/call/1.t1/call/1.t2/call/1.t3"):
                raise Full(key)
            super()._keep(key, record)

    async def ask(depth: int, context: Context) -> str:
        """Ask inside."""
        return await sub_run("inside", context=context) if depth else "answer"

    script = [
        [call("ask", "t1", depth=2)],
        [call("ask", "t2", depth=1)],
        [call("ask", "t3", depth=0)],
        "in",
        "out",
        "end",
    ]
    agent = Agent(ScriptedProvider(script), dispatch(ask))
    full_steps = FullSteps(Process())
    with pytest.raises(Full):
        await run_with_steps(agent, "go", run_id="r", steps=full_steps, secret="s")
    assert "r/call/1.t1" not in full_steps.records


# What a run that is done again gets back.


async def test_run_that_is_repeated_asks_no_model_and_runs_no_tool(steps: CrashingSteps) -> None:
    """All steps of the run are kept, and it has the same conversation."""
    shed = Shed("bypass")
    script = [[call("look", "t1", what="axe"), call("cut", "t2", wood="oak")], "done"]
    first, second, agent = await run_twice(lambda: shed.agent(script), steps)
    assert shed.done == ["look axe", "cut oak"]
    assert agent.asked == []
    assert [message.to_json() for message in second.messages] == [message.to_json() for message in first.messages]
    assert (second.id, second.session.id, second.usage) == (first.id, first.session.id, first.usage)


async def test_limits_count_the_use_of_earlier_processes(steps: CrashingSteps) -> None:
    """The seconds of earlier processes do not stop kept steps, and stop the first other one."""
    shed = Shed("bypass")

    def make_agent() -> Agent:
        return shed.agent([[call("look", "t1", what="axe")], "done"], budget=Budget(seconds=60), clock=lambda: 0.0)

    first = await run_with_steps(make_agent(), "go", run_id="r", steps=steps, secret="s", spent_seconds=59.0)
    assert first.status == "done"
    again = await run_with_steps(make_agent(), "go", run_id="r", steps=steps, secret="s", spent_seconds=61.0)
    assert again.status == "done"
    assert again.spent.seconds == 61.0
    del steps.records["r/reply/2"]
    late = await run_with_steps(make_agent(), "go", run_id="r", steps=steps, secret="s", spent_seconds=61.0)
    assert (late.status, late.stop) == ("stopped", "seconds")
    assert [result.text for result in results_of(late)] == ["a axe"]
    del steps.records["r/call/1.t1"]
    later = await run_with_steps(make_agent(), "go", run_id="r", steps=steps, secret="s", spent_seconds=61.0)
    assert (later.status, later.stop) == ("stopped", "seconds")
    assert "no time is left: it was not run" in results_of(later)[0].text


async def test_kept_call_counts_the_use_of_its_sub_runs(steps: CrashingSteps) -> None:
    """The turns, calls and tokens of a sub-run count also if only the result of its call is kept."""

    async def ask(context: Context) -> str:
        """Ask inside."""
        return await sub_run("inside", context=context)

    def say(text: str, *calls: ToolCall) -> Reply:
        usage = Usage(input_tokens=10, output_tokens=5)
        return Reply(message=AssistantMessage(text=text, calls=calls), stop="calls" if calls else "answer", usage=usage)

    shed = Shed("bypass")
    shed.catalog.add(ask)
    script = [say("", call("ask", "t1")), say("", call("look", "t2", what="axe")), say("inside"), say("done")]
    first, second, _ = await run_twice(lambda: shed.agent(script), steps)
    assert (second.spent.turns, second.spent.calls, second.usage.total_tokens) == (4, 2, 60)
    assert (second.spent.usage, second.usage) == (first.spent.usage, first.usage)
    assert results_of(second)[0].metadata is None


async def test_plan_is_handed_over_again(steps: CrashingSteps) -> None:
    """A run that has planned has its plan again, although `exit_plan` is not run again."""
    shed = Shed("plan")
    script = [[call("exit_plan", "t1", plan="1. cut")], "done"]
    first, second, agent = await run_twice(lambda: shed.agent(script), steps)
    assert (first.status, first.plan) == (second.status, second.plan) == ("planned", "1. cut")
    assert agent.asked == []


async def test_tools_that_were_found_stay_found(steps: CrashingSteps) -> None:
    """The session changes of a kept call are made again."""
    shed = Shed("bypass")
    shed.catalog.tool(defer=True, read_only=True)(_weigh)
    script = [[call("tool_search", "t1", query="weigh")], "done"]
    first, second, agent = await run_twice(lambda: shed.agent(script), steps)
    assert "_weigh" in first.session.loaded
    assert read_state(second.session) == read_state(first.session)
    assert agent.asked == []


async def _weigh(wood: str) -> str:
    """Weigh wood."""
    return wood


async def test_messages_of_a_person_are_recorded_with_the_reply(steps: CrashingSteps) -> None:
    """A replayed run has them too, also those that came after the answer."""
    shed = Shed("bypass")

    def speak(text: str) -> Callable[[Any], str]:
        return lambda request: (agent.say(text), "answer")[1]

    agent = shed.agent([speak("and the saw?"), "the saw, too"])
    first = await run_with_steps(agent, "go", run_id="r", steps=steps, secret="s")
    again = await run_with_steps(shed.agent([]), "go", run_id="r", steps=steps, secret="s")
    assert [message.text for message in first.messages] == ["go", "answer", "and the saw?", "the saw, too"]
    assert first.messages == again.messages
    assert again.text == "the saw, too"


async def test_unread_messages_of_a_saved_run_are_read_once(steps: CrashingSteps) -> None:
    """A waiting run reads its new messages when it goes on, and only once when that is repeated."""
    shed = Shed("auto")
    agent = shed.agent([lambda request: (agent.say("hurry"), [call("burn", "t1", wood="oak")])[1], "done"])
    waiting = await run_with_steps(agent, "go", run_id="r", steps=steps, secret="s")
    assert [message.text for message in waiting.unread] == ["hurry"]
    saved = dump_run(waiting)
    for own_agent in (agent, shed.agent([], dispatcher=agent._toolbox._source)):
        run = load_run(saved)
        decisions = {request.id: Decision.approve() for request in run.requests}
        ended = await resume_with_steps(own_agent, run, decisions, steps=steps, secret="s")
        assert [message.text for message in ended.messages if hasattr(message, "parts")] == ["go", "hurry"]
        assert ended.text == "done"
    assert shed.done == ["burn oak"]


async def test_conversation_that_goes_on_has_other_keys(steps: CrashingSteps) -> None:
    """A second prompt with `Agent(steps=...)` continues the numbers of the first, and both can be replayed."""
    shed = Shed("bypass")
    script = [[call("cut", "t1", wood="oak")], "one", [call("cut", "t1", wood="ash")], "two"]
    start = Run(id="talk", status="stopped")
    texts = []
    for own_script in (script, []):
        agent = shed.agent(own_script, steps=steps)
        first = await agent.run("go", run=start)
        second = await agent.run("on", run=Run.loads(first.dumps()))
        texts.append((first.text, second.text, second.reply_count))
    assert texts == [("one", "two", 4)] * 2
    assert shed.done == ["cut oak", "cut ash"]


async def test_two_sub_runs_of_one_call_are_recorded_under_different_keys(steps: CrashingSteps) -> None:
    """A call that starts one sub-run after the other gets both answers again."""
    calls = []

    async def ask(context: Context) -> str:
        """Ask inside, twice."""
        calls.append(1)
        return await sub_run("a", context=context) + await sub_run("b", context=context)

    def make_agent() -> Agent:
        return Agent(ScriptedProvider([[call("ask", "t1")], "one", "two", "done"]), dispatch(ask))

    await run_with_steps(make_agent(), "go", run_id="r", steps=steps, secret="s")
    assert {"r/call/1.t1/reply/1", "r/call/1.t1/sub/1.2/reply/1"} <= steps.records.keys()


# Summaries.


async def test_summaries_are_steps(steps: CrashingSteps) -> None:
    """A summary is kept, and the run that is done again has it without asking the model."""
    run, again, agent = await run_twice(lambda: _make_long_agent("the axe was looked at"), steps)
    assert run.summary is not None
    assert run.summary == again.summary
    assert any("/summary/" in key for key in steps.records)
    assert agent.asked == []


async def test_failed_summary_is_kept(steps: CrashingSteps) -> None:
    """It is not asked for again, because the run has gone on without it."""
    run, again, agent = await run_twice(lambda: _make_long_agent(ProviderError("busy")), steps)
    assert run.summary is again.summary is None
    assert run.text == again.text == "done"
    assert agent.asked == []


def _make_long_agent(summary: Any) -> Agent:
    shed = Shed("bypass")

    def reply(request: Any) -> Any:
        if request.catalog is None:
            if isinstance(summary, Exception):
                raise summary
            return summary
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
        has_looked = turn >= 6 or (turn and "summ" in request.messages[0].text)
        return "done" if has_looked else [call("look", f"t{turn}", what="axe " * 100)]

    agent = Agent(ScriptedProvider([reply] * 20), shed.dispatcher(), compact_at=2000)
    agent.asked = agent._options.provider.requests  # type: ignore[attr-defined]  # as `Shed.agent` does
    return agent
