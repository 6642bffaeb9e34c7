"""A plan is carried out once, in the mode that the host chooses, also if runs of its session or a cancellation come between."""

from __future__ import annotations

import asyncio
import threading

import pytest

from tests.agent.kit import Shed, call, results_of
from toolkit.agent import PLAN_PROMPT, Run
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.hooks import Halt
from toolkit.session import Session

pytestmark = pytest.mark.anyio


async def test_a_plan_is_executed_in_the_same_conversation():
    """The host says so; the messages go on, and what was forbidden is now asked about."""
    shed = Shed()
    agent = shed.agent(
        [[call("exit_plan", plan="Cut the oak.")], [call("cut", wood="oak")], "It is cut."],
        mode="plan",
        dispatcher=shed.dispatcher(Approvals(ask=lambda request: True)),
    )
    planned = await agent.run("plan it")
    run = await agent.execute(planned)
    assert (run.status, run.text, run.plan, shed.done) == ("done", "It is cut.", None, ["cut oak"])
    assert run.messages[: len(planned.messages)] == planned.messages
    assert run.id == planned.id
    assert run.messages[3].text == "The plan is approved. Carry it out."
    assert (agent.asked[1].tools, PLAN_PROMPT in agent.asked[1].system) == (("look", "cut", "burn", "fetch"), False)


async def test_the_host_chooses_the_mode_and_the_prompt_of_the_execution():
    shed = Shed()
    agent = shed.agent(["Cut.", [call("cut", wood="oak")], "Done."], mode="plan")
    run = await agent.execute(await agent.run("plan"), "Go!", mode="auto")
    assert (run.status, run.messages[2].text, shed.done) == ("done", "Go!", ["cut oak"])
    more = shed.agent(["Fine."], mode="plan")
    assert (await more.run("and now?", run=run)).status == "done", "the session keeps the mode that the host gave it"


async def test_executing_an_unplanned_run_or_in_an_unfit_mode_is_refused():
    shed = Shed()
    planned = await shed.agent(["Cut."], mode="plan").run("plan")
    done = await shed.agent(["Hello."]).run("hello")
    agent = shed.agent([])
    with pytest.raises(ValueError, match="the run is done"):
        await agent.execute(done)
    with pytest.raises(ValueError, match="cannot be executed in mode"):
        await agent.execute(planned, mode="plan")
    with pytest.raises(ValueError, match="there is no mode 'fast'"):
        await agent.execute(planned, mode="fast")


async def test_a_plan_is_carried_out_once(tmp_path):
    """A second click in this process or another runs no call, and gets an error."""
    shed = Shed("auto")
    path = tmp_path / "approvals.sqlite"
    first = shed.agent(
        ["Cut.", [call("cut", wood="oak")], "Done."],
        mode="plan",
        dispatcher=shed.dispatcher(Approvals(SQLiteApprovals(path))),
    )
    planned = await first.run("plan")
    assert (await first.execute(planned, mode="auto")).status == "done"
    second = shed.agent(
        [[call("cut", wood="oak")], "Done."], dispatcher=shed.dispatcher(Approvals(SQLiteApprovals(path)))
    )
    for agent, run in ((first, planned), (second, Run.loads(planned.dumps()))):
        with pytest.raises(ApprovalError, match="carried out already") as refused:
            await agent.execute(run, mode="auto")
        assert refused.value.why == "answered"
    assert shed.done == ["cut oak"]
    assert SQLiteApprovals(path).pending() == []


async def test_two_simultaneous_executions_of_a_plan_do_the_work_once():
    """The second is refused, and does not change the mode."""
    shed = Shed("auto")
    agent = shed.agent(["Cut.", [call("cut", wood="oak")], "Done."], mode="plan")
    planned = await agent.run("plan")
    both = [agent.execute(planned, mode="auto"), agent.execute(planned, mode="auto")]
    done, refused = await asyncio.gather(*both, return_exceptions=True)
    assert (done.status, type(refused), shed.done) == ("done", ApprovalError, ["cut oak"])


class SlowStore(MemoryApprovals):
    """Keeps what it is given as soon as it may."""

    blocking = True

    def __init__(self) -> None:
        super().__init__()
        self.asked, self.may = threading.Event(), threading.Event()

    def add(self, record):
        self.asked.set()
        assert self.may.wait(10)
        super().add(record)


async def cancel_while_asking(agent, planned, store):
    """Execute *planned*, and cancel that while the store is asked."""
    executing = asyncio.ensure_future(agent.execute(planned, mode="auto"))
    assert await asyncio.to_thread(store.asked.wait, 10)
    executing.cancel()
    store.may.set()
    with pytest.raises(asyncio.CancelledError):
        await executing


async def test_a_plan_that_is_cancelled_during_a_store_request_can_continue():
    """It is used up, and its remaining steps are in `last_run`."""
    shed, store = Shed("auto"), SlowStore()
    agent = shed.agent(
        ["Cut.", [call("cut", wood="oak")], "Done."], mode="plan", dispatcher=shed.dispatcher(Approvals(store))
    )
    planned = await agent.run("plan")
    await cancel_while_asking(agent, planned, store)
    assert (agent.last_run.status, agent.last_run.stop, shed.done) == ("stopped", "cancelled", [])
    assert (await agent.run(run=agent.last_run)).status == "done"
    with pytest.raises(ApprovalError, match="carried out already"):
        await agent.execute(planned, mode="auto")
    assert shed.done == ["cut oak"]


async def test_a_plan_whose_store_hangs_can_be_cancelled():
    """The caller is free after `cleanup_seconds`; whether the plan is used up is not known, so nothing is run."""
    shed, store = Shed("auto"), SlowStore()
    dispatcher = shed.dispatcher(Approvals(store), cleanup_seconds=0.05)
    agent = shed.agent(["Cut.", [call("cut", wood="oak")], "Done."], mode="plan", dispatcher=dispatcher)
    planned = await agent.run("plan")
    executing = asyncio.ensure_future(agent.execute(planned, mode="auto"))
    assert await asyncio.to_thread(store.asked.wait, 10)
    for _ in range(2):
        executing.cancel()
        await asyncio.sleep(0)
    done, _ = await asyncio.wait({executing}, timeout=10)
    assert done
    assert executing.cancelled()
    store.may.set()
    assert shed.done == []
    assert planned.session.state == {}


async def test_a_hook_that_keeps_a_cancelled_plan_from_starting_does_not_hide_the_cancellation():
    """The caller, such as a timeout, relies on the cancellation."""

    class Door:
        is_shut = False

        def agent_started(self, session, *, details):
            return Halt("it is late") if self.is_shut else None

    shed, store, door = Shed("auto"), SlowStore(), Door()
    agent = shed.agent(["Cut."], mode="plan", dispatcher=shed.dispatcher(Approvals(store), hooks=[door]))
    planned = await agent.run("plan")
    door.is_shut = True
    await cancel_while_asking(agent, planned, store)
    assert (agent.last_run.stop, agent.last_run.reason) == ("halt", "it is late")


async def test_plan_of_another_run_stays_if_the_second_run_is_cancelled():
    """The cancellation is what the second is told, and there is nothing to go on with."""
    shed, store = Shed("auto"), SlowStore()
    store.may.set()
    agent = shed.agent(["Cut.", "Done."], mode="plan", dispatcher=shed.dispatcher(Approvals(store)))
    planned = await agent.run("plan")
    done = await agent.execute(planned, mode="auto")
    store.asked.clear()
    store.may.clear()
    await cancel_while_asking(agent, planned, store)
    assert agent.last_run is done
    assert planned.session.state == {}


async def test_a_refused_execution_does_not_change_the_mode():
    """A second click cannot take a conversation out of plan mode."""
    agent = Shed().agent(["Cut.", "Done.", "Plan."], mode="plan", session=Session())
    planned = await agent.run("plan")
    await agent.execute(planned)
    again = await agent.run("something else")
    with pytest.raises(ApprovalError):
        await agent.execute(planned, mode="bypass")
    assert (again.status, again.session.mode) == ("planned", "plan")


async def test_the_same_plan_can_be_made_and_executed_again():
    """It counts as another plan later in the conversation."""
    shed = Shed("auto")
    cut = [call("cut", wood="oak")]
    agent = shed.agent(["Cut.", cut, "Done.", "Cut.", cut, "Done."], mode="plan", session=Session())
    done = await agent.execute(await agent.run("plan"), mode="auto")
    shed.permissions.set_mode("plan", session=done.session)
    again = await agent.run("plan again", run=done)
    assert (again.status, again.id) == ("planned", done.id)
    assert (await agent.execute(again, mode="auto")).status == "done"
    assert shed.done == ["cut oak", "cut oak"]


@pytest.mark.parametrize(("prompt", "mode"), [("Go!", "fast"), (" ", "auto"), ("Go!", "plan")])
async def test_a_bad_mode_or_prompt_does_not_use_the_plan_up(prompt, mode):
    """The plan can be executed afterwards."""
    agent = Shed().agent(["Cut.", "Done."], mode="plan")
    planned = await agent.run("plan")
    with pytest.raises(ValueError):
        await agent.execute(planned, prompt, mode=mode)
    assert (await agent.execute(planned)).status == "done"


@pytest.mark.parametrize(("first", "second"), [("plan", "auto"), ("auto", "plan"), (None, "plan"), ("plan", "default")])
async def test_a_run_does_not_change_the_mode_of_another_in_its_session(first, second):
    """A planning run could write otherwise, or a working run could not."""
    shed, session = Shed(), Session()
    beside = shed.agent(["Never."], mode=second, session=session)
    refused: list[str] = []

    async def meanwhile(request):
        with pytest.raises(ValueError, match=f"under way in this session in mode '{first or 'default'}'") as caught:
            await beside.run("and this?")
        refused.append(str(caught.value))
        return [call("cut", wood="oak")]

    run = await shed.agent([meanwhile, "Done."], mode=first, session=session).run("go")
    assert (len(refused), session.mode) == (1, first)
    assert [result.kind for result in results_of(run)] == {"plan": ["denied"], "auto": ["ok"]}.get(first, ["waiting"])
    assert (await beside.run("and now?")).text == "Never.", "when it is over, the next may choose"
    assert session.state == {}


async def test_a_plan_is_not_executed_beside_a_run_in_another_mode():
    """The attempt does not use the plan up."""
    shed, session = Shed(), Session()
    agent = shed.agent(["Cut."], mode="plan", session=session)
    planned = await agent.run("plan")
    late = shed.agent(["Done."], session=session)

    async def meanwhile(request):
        with pytest.raises(ValueError, match="under way"):
            await late.execute(planned)
        return "Another plan."

    assert (await shed.agent([meanwhile], mode="plan", session=session).run("plan more")).status == "planned"
    assert (await late.execute(planned)).status == "done"


async def test_no_run_comes_between_a_plan_and_its_execution_mode(tmp_path):
    """A store in a file takes time. A run that starts at that moment is refused, and the plan is not lost."""
    shed, session = Shed(), Session()
    dispatcher = shed.dispatcher(Approvals(SQLiteApprovals(tmp_path / "approvals.db")))
    agent = shed.agent(
        ["Cut.", [call("look", what="oak")], "Done."], mode="plan", session=session, dispatcher=dispatcher
    )
    planned = await agent.run("plan")
    beside = [shed.agent(["Never."], mode=mode, session=session, dispatcher=dispatcher) for mode in ("plan", None)]
    executed, *refused = await asyncio.gather(
        agent.execute(planned),
        *(agent_of_session.run("and this?") for agent_of_session in beside),
        return_exceptions=True,
    )
    assert (executed.status, session.mode, session.state) == ("done", "default", {})
    assert ["about to be carried out" in str(error) for error in refused] == [True, True]


async def test_runs_of_one_mode_go_on_side_by_side_in_a_session():
    """This holds also where one names the mode that the other has without saying so."""
    shed, session = Shed(), Session()
    beside = shed.agent(["Two."], mode="default", session=session)

    async def meanwhile(request):
        return (await beside.run("two?")).text

    assert (await shed.agent([meanwhile], session=session).run("one?")).text == "Two."
