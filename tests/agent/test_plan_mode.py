"""
Planning: only tools that read are offered and run, the host gets the plan, and only the host ends the mode.
"""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from tests.agent.kit import Shed, call, results_of
from toolkit.agent import PLAN_PROMPT, Agent, Run
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import DuplicateTool, ProviderError
from toolkit.hooks import Halt, Modify, Proceed, Replace
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider, UserMessage
from toolkit.results import ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio


@pytest.fixture(params=["permissions", "none"])
def shed(request):
    """With permissions that know modes, and without: then the agent keeps to the mode by itself."""
    shed = Shed()
    if request.param == "none":
        shed.permissions = None
    return shed


async def test_what_only_reads_is_offered_and_run(shed):
    """Nothing else is even told of, but the tool that ends planning."""
    agent = shed.agent([[call("look", what="oak")], "Cut the oak."], mode="plan")
    run = await agent.run("what to do?")
    assert (run.status, run.plan, shed.done) == ("planned", "Cut the oak.", ["look oak"])
    assert agent.asked[0].tools == ("look", "fetch", "exit_plan")


async def test_a_call_that_would_change_something_is_blocked_and_told(shed):
    """The model is told that it plans, and goes on planning."""
    agent = shed.agent([[call("cut", wood="oak"), call("look", what="oak")], "Cut the oak."], mode="plan")
    run = await agent.run("cut it")
    assert (run.status, shed.done) == ("planned", ["look oak"])
    blocked, looked = results_of(run)
    assert (blocked.kind, looked.kind) == ("denied", "ok")
    assert "plan" in blocked.text


async def test_exit_plan_hands_the_plan_over_and_ends_planning(shed):
    """Its siblings have run, and the conversation is whole."""
    agent = shed.agent([[call("exit_plan", plan="1. Cut the oak."), call("look", what="oak")]], mode="plan")
    run = await agent.run("plan")
    assert (run.status, run.plan, run.turns) == ("planned", "1. Cut the oak.", 1)
    assert [result.kind for result in results_of(run)] == ["ok", "ok"]


async def test_an_empty_plan_is_none(shed):
    """The model is told to write one."""
    agent = shed.agent([[call("exit_plan", plan="  ")], [call("exit_plan", plan="Look.")]], mode="plan")
    run = await agent.run("plan")
    assert (run.plan, results_of(run, 0)[0].kind) == ("Look.", "bad_args")


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


async def test_the_mode_of_the_execution_is_the_hosts_choice():
    """And so are the words."""
    shed = Shed()
    agent = shed.agent(["Cut.", [call("cut", wood="oak")], "Done."], mode="plan")
    run = await agent.execute(await agent.run("plan"), "Go!", mode="auto")
    assert (run.status, run.messages[2].text, shed.done) == ("done", "Go!", ["cut oak"])
    more = shed.agent(["Fine."], mode="plan")
    assert (await more.run("and now?", run=run)).status == "done", "the session keeps the mode that the host gave it"


async def test_only_a_planned_run_is_executed_and_not_in_plan_mode():
    """The rest is told."""
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


async def test_a_model_cannot_leave_plan_mode():
    """No call and no text of the model ends the mode. Outside the mode there is nothing to exit."""
    shed = Shed("auto")
    script = [[call("exit_plan", plan="x"), call("cut", wood="oak")], [call("cut", wood="elm")]]
    agent = shed.agent(script, mode="plan")
    planned = await agent.run("plan")
    again = await agent.run("more", run=planned)
    assert (planned.status, again.status, shed.done) == ("planned", "failed", [])
    assert planned.session.mode == "plan"
    free = await shed.agent([[call("exit_plan", plan="x")], "Done."]).run("go")
    assert (free.status, results_of(free)[0].kind) == ("done", "failed")


async def test_the_plan_prompt_is_there_once_and_never_twice():
    """Also when planning goes on, and beside the agent's own."""
    shed = Shed()
    agent = shed.agent([[call("look", what="oak")], "Plan A.", "Plan B."], mode="plan", system="Be kind.")
    run = await agent.run("plan", run=await agent.run("plan"))
    assert run.plan == "Plan B."
    assert [request.system.count(PLAN_PROMPT) for request in agent.asked] == [1, 1, 1]
    assert all(request.system.startswith("Be kind.\n\n") for request in agent.asked)
    assert not any("planning" in message.text for message in run.messages if isinstance(message, UserMessage))


async def test_the_plan_prompt_can_be_replaced():
    """By another, not by none."""
    shed = Shed()
    agent = shed.agent(["Plan."], mode="plan", plan_prompt="Think first.")
    await agent.run("plan")
    assert agent.asked[0].system == "Think first."
    with pytest.raises(ValueError, match="plan_prompt is empty"):
        shed.agent([], plan_prompt=" ")


async def test_plan_tools_chooses_among_what_only_reads():
    """What was not chosen is neither offered nor run."""
    shed = Shed()
    agent = shed.agent([[call("fetch", url="https://a.example")], "Plan."], mode="plan", plan_tools=["look"])
    run = await agent.run("plan")
    assert agent.asked[0].tools == ("look", "exit_plan")
    assert results_of(run)[0].kind == "denied"
    assert "was not chosen" in results_of(run)[0].text


@pytest.mark.parametrize(("chosen", "expected"), [(None, ["peek"]), (["look"], [])])
async def test_search_finds_only_tools_that_can_be_used_while_planning(shed, chosen, expected):
    """Neither by a search nor by names, near ones, or the schema in an error."""

    @shed.catalog.tool(read_only=True, defer=True)
    def peek(hole: str) -> str:
        """Look through a hole in the fence."""
        return hole

    @shed.catalog.tool(defer=True)
    def patch(hole: str) -> str:
        """Close a hole in the fence."""
        return hole

    searches = [call("tool_search", query="hole in the fence"), call("tool_search", query="select:patch,peek")]
    mistaken = [call("pach", hole="x"), call("patch", whole="x")]
    agent = shed.agent([searches, mistaken, "Plan."], mode="plan", plan_tools=chosen)
    run = await agent.run("plan")
    assert [[tool["name"] for tool in result.value["tools"]] for result in results_of(run, 0)] == [expected, expected]
    assert list(run.session.loaded) == expected
    assert "`patch`" not in results_of(run, 1)[0].text
    assert "inputSchema" not in results_of(run, 1)[1].text
    assert '"properties"' not in results_of(run, 1)[1].text


@pytest.mark.parametrize(
    ("names", "error", "words"),
    [
        (["cut"], ValueError, "`cut` is not read-only"),
        (["saw"], ValueError, "no tool 'saw'; known are look, cut"),
        ("look", TypeError, r"write \['look'\]"),
    ],
)
def test_plan_tools_that_cannot_be_used_are_refused(names, error, words):
    """Where they are given."""
    with pytest.raises(error, match=words):
        Shed().agent([], plan_tools=names)


async def test_a_provider_error_while_planning_leaves_no_plan():
    """The run failed, and planning can be continued."""
    shed = Shed()
    agent = shed.agent([[call("look", what="oak")], ProviderError("overloaded"), "Plan."], mode="plan")
    run = await agent.run("plan")
    assert (run.status, run.plan, run.reason) == ("failed", None, "overloaded")
    assert (await agent.run(run=run)).plan == "Plan."


async def test_a_plan_that_was_handed_over_waits_for_its_siblings():
    """A call beside it may need a person; then the plan is there once they have answered."""
    shed = Shed()
    agent = shed.agent([[call("exit_plan", plan="Cut."), call("fetch", url="https://a.example")]], mode="plan")
    run = await agent.run("plan")
    assert run.status == "waiting"
    run = await agent.resume(Run.loads(run.dumps()), {run.requests[0].id: Decision.deny()})
    assert (run.status, run.plan) == ("planned", "Cut.")


async def test_permissions_in_plan_mode_make_an_agent_plan():
    """The mode is that of the session, also if `Permissions` has set it."""
    shed = Shed("plan")
    agent = shed.agent(["Plan."])
    assert (await agent.run("hello")).status == "planned"
    session = Session()
    Permissions().set_mode("plan", session=session)
    assert (await Shed().agent(["Plan."], session=session).run("hello")).status == "planned"


async def test_a_loaded_run_is_planned_again_in_the_agents_own_mode():
    """A saved run is data: the mode it was executed in does not come back with it."""
    shed = Shed()
    agent = shed.agent(["Plan.", "Done.", "Another plan."], mode="plan")
    executed = await agent.execute(await agent.run("plan"), mode="bypass")
    assert executed.session.mode == "bypass"
    loaded = Run.loads(executed.dumps())
    assert loaded.session.mode is None
    assert (await agent.run("more", run=loaded)).status == "planned"


async def test_what_was_approved_for_doing_is_not_done_while_planning():
    """A run that waits, taken over by an agent that plans, stays with reading."""
    shed = Shed()
    shed.permissions = None

    @shed.catalog.tool(approval="always")
    async def paint(wood: str) -> str:
        """Paint wood."""
        shed.done.append("paint")
        return "painted"

    dispatcher = shed.dispatcher()
    waiting = await shed.agent([[call("paint", wood="oak")]], dispatcher=dispatcher).run("go")
    planner = shed.agent(["Plan."], dispatcher=dispatcher, mode="plan")
    run = await planner.resume(waiting, {waiting.requests[0].id: Decision.approve()})
    assert (run.status, shed.done, results_of(run)[0].kind) == ("planned", [], "denied")


async def test_mode_without_permissions_is_refused():
    """Without permissions there is no judge that would ask."""
    shed = Shed()
    shed.permissions = None
    with pytest.raises(ValueError, match="no permissions"):
        shed.agent([], mode="auto")
    agent = shed.agent(["Cut.", [call("cut", wood="oak")], "Done."], mode="plan")
    planned = await agent.run("plan")
    with pytest.raises(ValueError, match=r"no permissions.*mode=None"):
        await agent.execute(planned)
    assert (await agent.execute(planned, mode=None)).status == "done"
    assert shed.done == ["cut oak"]


def test_a_tool_cannot_pass_for_the_one_that_ends_planning():
    """The name is the agent's own."""
    catalog = Catalog()

    @catalog.tool
    def exit_plan() -> None:
        """Leave."""

    with pytest.raises(DuplicateTool, match="`exit_plan` is the agent's own tool"):
        Agent(ScriptedProvider([]), Dispatcher(catalog))


async def test_a_tool_that_ends_planning_and_comes_later_does_not_count():
    """The agent's own stays."""
    shed = Shed()
    agent = shed.agent([[call("exit_plan", plan="Mine.")]], mode="plan")

    @shed.catalog.tool(read_only=True)
    def exit_plan(plan: str) -> str:
        """Leave."""
        return "left"

    assert (await agent.run("plan")).plan == "Mine."


async def test_a_plan_that_a_hook_withholds_is_not_handed_over():
    """The result says so, and planning goes on."""

    class Strict:
        def after(self, call, result):
            return (
                ToolResult.failure("denied", "too short")
                if call.name == "exit_plan" and len(call.arguments["plan"]) < 5
                else result
            )

    shed = Shed()
    script = [[call("exit_plan", plan="x")], [call("exit_plan", plan="Cut the oak.")]]
    run = await shed.agent(script, mode="plan", dispatcher=shed.dispatcher(hooks=[Strict()])).run("plan")
    assert (run.plan, results_of(run, 0)[0].kind) == ("Cut the oak.", "denied")
    run = await shed.agent(script[:1], mode="plan", dispatcher=shed.dispatcher(hooks=[Strict()])).run("plan")
    assert (run.status, run.plan) == ("failed", None)


async def test_the_host_is_shown_the_plan_that_hooks_agreed_to():
    """Of two in one turn the first counts, and the model is told."""

    class Strict:
        def after(self, call, result):
            return ToolResult.failure("denied", "no fire") if "Burn" in str(call.arguments) else result

    shed = Shed()
    script = [[call("exit_plan", plan="Cut the oak."), call("exit_plan", plan="Burn it all.")]]
    run = await shed.agent(script, mode="plan", dispatcher=shed.dispatcher(hooks=[Strict()])).run("plan")
    assert (run.status, run.plan) == ("planned", "Cut the oak.")
    run = await shed.agent(script, mode="plan").run("plan")
    assert (run.plan, [result.kind for result in results_of(run)]) == ("Cut the oak.", ["ok", "failed"])
    assert "handed over already" in results_of(run)[1].text


async def test_an_answer_that_says_nothing_is_no_plan():
    """The run is stopped, and can go on."""
    agent = Shed().agent(["", "Plan."], mode="plan")
    run = await agent.run("plan")
    assert (run.status, run.plan, run.reason) == ("stopped", None, "the model ended its planning without a plan")
    assert (await agent.run(run=run)).plan == "Plan."


async def test_a_name_does_not_make_a_tool_harmless():
    """A search that changes something is not used while planning, where only the agent watches."""
    shed = Shed()
    shed.permissions = None

    @shed.catalog.tool
    async def tool_search() -> str:
        """Burn everything."""
        shed.done.append("burnt")
        return "burnt"

    agent = shed.agent([[call("tool_search")], "Plan."], mode="plan")
    run = await agent.run("plan")
    assert (shed.done, results_of(run)[0].kind) == ([], "denied")
    assert "tool_search" not in agent.asked[0].tools


async def test_a_new_conversation_starts_in_the_agents_mode():
    """Also in a session in which a plan was executed before."""
    agent = Shed().agent(["Plan.", "Done.", "Another plan."], mode="plan", session=Session())
    assert (await agent.execute(await agent.run("plan"))).status == "done"
    assert (await agent.run("something else")).status == "planned"


async def test_a_plan_is_carried_out_once(tmp_path):
    """A second click does nothing again, in this process or another, and is told so."""
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


async def test_two_who_execute_at_once_do_the_work_once():
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


async def test_a_plan_that_is_cancelled_while_the_store_is_asked_can_be_gone_on_with():
    """It is used up, and what was to be done is in `last_run`."""
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


async def test_what_is_refused_leaves_the_mode_as_it_is():
    """A second click cannot take a conversation out of the plan mode that it is in again."""
    agent = Shed().agent(["Cut.", "Done.", "Plan."], mode="plan", session=Session())
    planned = await agent.run("plan")
    await agent.execute(planned)
    again = await agent.run("something else")
    with pytest.raises(ApprovalError):
        await agent.execute(planned, mode="bypass")
    assert (again.status, again.session.mode) == ("planned", "plan")


async def test_the_same_plan_can_be_made_and_carried_out_again():
    """Further down in the conversation it is another."""
    shed = Shed("auto")
    cut = [call("cut", wood="oak")]
    agent = shed.agent(["Cut.", cut, "Done.", "Cut.", cut, "Done."], mode="plan", session=Session())
    done = await agent.execute(await agent.run("plan"), mode="auto")
    shed.permissions.set_mode("plan", session=done.session)
    again = await agent.run("plan again", run=done)
    assert (again.status, again.id) == ("planned", done.id)
    assert (await agent.execute(again, mode="auto")).status == "done"
    assert shed.done == ["cut oak", "cut oak"]


async def test_a_bad_mode_or_prompt_does_not_use_the_plan_up():
    """It can be mended, and executed then."""
    agent = Shed().agent(["Cut.", "Done."], mode="plan")
    planned = await agent.run("plan")
    for prompt, mode in (("Go!", "fast"), (" ", "auto"), ("Go!", "plan")):
        with pytest.raises(ValueError):
            await agent.execute(planned, prompt, mode=mode)
    assert (await agent.execute(planned)).status == "done"


@pytest.mark.parametrize(("first", "second"), [("plan", "auto"), ("auto", "plan"), (None, "plan"), ("plan", "default")])
async def test_a_run_does_not_change_the_mode_of_another_in_its_session(first, second):
    """Otherwise one that plans could write, or one that works could not."""
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
    """And is not used up by the attempt."""
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


async def test_no_run_comes_between_a_plan_and_the_mode_that_it_is_executed_in(tmp_path):
    """A store in a file takes its time; what starts meanwhile is refused, and the plan is not lost."""
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
    """Also where one names the mode that the other has without saying so."""
    shed, session = Shed(), Session()
    beside = shed.agent(["Two."], mode="default", session=session)

    async def meanwhile(request):
        return (await beside.run("two?")).text

    assert (await shed.agent([meanwhile], session=session).run("one?")).text == "Two."


HANDED = [call("exit_plan", plan="Look."), call("exit_plan", plan="Burn.")]


@pytest.mark.parametrize("plan", ["Look.", HANDED], ids=["text", "exit_plan"])
@pytest.mark.parametrize("change", [None, "Burn.", "Look twice."], ids=["as it was", "a later one", "another"])
async def test_what_the_host_was_shown_is_what_the_model_is_told(plan, change):
    """A saved run is data. A plan that was changed in it is told as it was shown to the host."""
    shed = Shed()
    agent = shed.agent([plan, "Done."], mode="plan")
    saved = json.loads((await agent.run("plan")).dumps())
    planned = Run.from_json(saved if change is None else {**saved, "plan": change})
    run = await agent.execute(planned, "Go!")
    message = run.messages[len(planned.messages)].text
    assert message == "Go!" if change is None else message.startswith("Go!") and message.endswith(f"\n\n{change}")


async def test_a_plan_that_a_hook_changed_is_the_one_that_is_carried_out():
    """The host judges what the hook has made of it, and so does the model."""
    shed = Shed()

    class Shorter:
        def before(self, call):
            return Modify({"plan": "Look."}) if call.name == "exit_plan" else Proceed()

    agent = shed.agent(
        [[call("exit_plan", plan="Look. Burn.")], "Done."], mode="plan", dispatcher=shed.dispatcher(hooks=[Shorter()])
    )
    planned = await agent.run("plan")
    assert planned.plan == "Look."
    assert (await agent.execute(planned)).messages[3].text.endswith("\n\nLook.")


async def test_a_hook_that_answers_for_exit_plan_has_no_plan_to_show():
    """Planning goes on until there is one."""
    shed = Shed()

    class Stands:
        def before(self, call):
            return Replace(ToolResult("Fine.")) if call.arguments == {"plan": "Burn."} else Proceed()

    agent = shed.agent(
        [[call("exit_plan", plan="Burn.")], [call("exit_plan", plan="Look.")]],
        mode="plan",
        dispatcher=shed.dispatcher(hooks=[Stands()]),
    )
    run = await agent.run("plan")
    assert (run.status, run.plan, run.turns) == ("planned", "Look.", 2)


@pytest.mark.parametrize("plan", [None, " "])
async def test_a_saved_run_that_planned_has_a_plan(plan):
    """Otherwise a person would agree to nothing, and something would be done."""
    saved = json.loads((await Shed().agent(["Look."], mode="plan").run("plan")).dumps())
    with pytest.raises(ValueError, match="there is no plan"):
        Run.from_json({**saved, "plan": plan})
