"""
Cancelling at any moment: every call has a result, and the conversation can go on.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.kit import Shed, call, results_of
from toolkit.agent import Agent, Done, Run
from toolkit.agent.conversation.valid_messages import find_message_flaw
from toolkit.decisions import Decision
from toolkit.hooks import Proceed, RunEnded
from toolkit.providers import ScriptedProvider

pytestmark = pytest.mark.anyio


class Diary:
    """A hook that takes its time where an agent starts, and where it is told that it has ended."""

    def __init__(self) -> None:
        self.ended: list[str] = []

    def before(self, call):
        return Proceed()

    async def agent_started(self, session, *, details):
        await asyncio.sleep(0)

    async def on_event(self, event):
        if isinstance(event, RunEnded):
            await asyncio.sleep(0)
            self.ended.append(event.status)


def slow_shed() -> Shed:
    """Return a shed whose tools take several turns of the loop."""
    shed = Shed("bypass")
    shed.catalog.remove("look")

    @shed.catalog.tool(read_only=True)
    async def look(what: str) -> str:
        """Look for a while."""
        for _ in range(3):
            await asyncio.sleep(0)
        shed.done.append(f"look {what}")
        return what

    @shed.catalog.tool
    async def dig(where: str) -> str:
        """Dig for a while."""
        for _ in range(3):
            await asyncio.sleep(0)
        shed.done.append(f"dig {where}")
        return where

    return shed


async def reply_slowly(request):
    await asyncio.sleep(0)
    turn = len(request.messages) // 2
    if turn >= 2:
        return "Done."
    names = ("look", "look", "dig", "dig", "look")
    return [call(name, f"c{turn}{n}", **{"where" if name == "dig" else "what": str(n)}) for n, name in enumerate(names)]


async def cancel_after(turns: int, work) -> bool:
    """Let *work* go on for so many turns of the loop, then cancel it; whether that came in time."""
    task = asyncio.ensure_future(work)
    for _ in range(turns):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    return task.cancelled()


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("turns", range(45))
async def test_a_run_can_be_cancelled_at_every_await(turns):
    """The conversation is valid, results that were there are kept, hooks are told, and it goes on afterwards."""
    shed, diary, events = slow_shed(), Diary(), []
    agent = Agent(ScriptedProvider([reply_slowly] * 9), shed.dispatcher(hooks=[diary]), on_event=events.append)
    was_cancelled = await cancel_after(turns, agent.run("go"))
    run = agent.last_run
    if run is None:
        assert turns == 0, "only what was never started leaves nothing"
        return
    assert find_message_flaw(run.messages) is None
    assert events[-1] == Done(run)
    assert run.status == ("stopped" if run.stop == "cancelled" else "done")
    assert was_cancelled or run.status == "done"
    texts = [result.text for message in run.messages if hasattr(message, "results") for result in message.results]
    assert sum(not text.startswith("error: cancelled") for text in texts) == len(shed.done)
    again = Run.loads(run.dumps())
    prompt = "again" if run.status == "done" else None
    assert (await agent.run(prompt, run=again)).status == "done"
    assert diary.ended[-1] == "done"


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("turns", range(30))
async def test_a_resume_can_be_cancelled_at_every_await(turns):
    """Results are kept, open requests still wait, and nothing runs twice."""
    shed = slow_shed()
    shed.permissions.set_mode("default")
    calls = [call("fetch", url="https://a.example"), call("fetch", url="https://b.example"), call("dig", where="x")]
    agent = shed.agent([calls, "Done.", "Done."])
    run = await agent.run("go")
    first, second = run.requests
    await cancel_after(turns, agent.resume(run, {first.id: Decision.approve(), second.id: Decision.approve()}))
    run = agent.last_run
    assert find_message_flaw(run.messages) is None
    while run.status == "waiting":
        run = await agent.resume(run, {request.id: Decision.approve() for request in run.requests})
    if run.status == "stopped":
        run = await agent.run(run=run)
    assert run.status == "done"
    assert all(shed.done.count(effect) == 1 for effect in shed.done)


async def test_the_result_of_a_cancelled_call_says_that_the_call_may_have_happened():
    """The result of a call that never started says that it did not happen."""
    shed, digging = Shed("bypass"), asyncio.Event()

    @shed.catalog.tool
    async def dig() -> str:
        """Dig for ever."""
        digging.set()
        await asyncio.Event().wait()

    agent = shed.agent([[call("cut", wood="oak"), call("dig"), call("cut", wood="elm")]])
    task = asyncio.ensure_future(agent.run("go"))
    await digging.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    done, started, never = results_of(agent.last_run)
    assert (done.text, done.kind) == ("cut oak", "ok")
    assert (started.error.details["happened"], never.error.details["happened"]) == ("maybe", "no")
    assert agent.last_run.stop == "cancelled"


async def test_a_cancelled_resume_without_an_asker_leaves_no_waiting_call():
    """Calls held back behind it do not run, and their results say so."""
    shed, digging = Shed(), asyncio.Event()

    @shed.catalog.tool
    async def dig() -> str:
        """Dig for ever."""
        digging.set()
        await asyncio.Event().wait()

    agent = shed.agent([[call("dig"), call("cut", wood="elm")], "Done."])
    run = await agent.run("go")
    task = asyncio.ensure_future(agent.resume(run, {run.requests[0].id: Decision.approve()}))
    await digging.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (agent.last_run.status, agent.last_run.requests) == ("stopped", ())
    assert [result.kind for result in results_of(agent.last_run)] == ["cancelled", "cancelled"]
    assert (await agent.run(run=agent.last_run)).status == "done"


async def test_a_request_that_waits_when_a_run_is_cancelled_can_still_be_answered():
    """A run that is cancelled while a call waits for a person is saved as a waiting run."""
    shed, digging = Shed(), asyncio.Event()

    @shed.catalog.tool(read_only=True)
    async def dig() -> str:
        """Dig for ever."""
        digging.set()
        await asyncio.Event().wait()

    agent = shed.agent([[call("cut", wood="oak"), call("dig")], "Done."])
    task = asyncio.ensure_future(agent.run("go"))
    await digging.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    run = agent.last_run
    assert (run.status, run.stop, [request.tool for request in run.requests]) == ("waiting", "cancelled", ["cut"])
    run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert (run.status, shed.done) == ("done", ["cut oak"])


async def test_a_timeout_around_a_run_cancels_the_run():
    """`last_run` has the messages up to the timeout."""
    shed, timer = Shed(), asyncio.timeout(None)

    async def forever(request):
        timer.reschedule(asyncio.get_running_loop().time())
        await asyncio.Event().wait()

    agent = shed.agent([[call("look", what="oak")], forever])
    with pytest.raises(TimeoutError):
        async with timer:
            await agent.run("go")
    assert (agent.last_run.stop, len(agent.last_run.messages)) == ("cancelled", 3)


async def test_a_closed_run_is_stored_without_awaiting():
    """A loop may be closed while the run is in the middle of something."""
    diary = Diary()
    agent = Shed().agent([reply_slowly], dispatcher=Shed().dispatcher(hooks=[diary]))
    running = agent.run("go")
    for _ in range(2):
        running.send(None)
    running.close()
    assert (agent.last_run.status, agent.last_run.stop, diary.ended) == ("stopped", "cancelled", [])
