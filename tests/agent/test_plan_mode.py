"""Planning: only tools that read are offered and run, the host gets the plan, and only the host ends the mode."""

from __future__ import annotations

import json

import pytest

from tests.agent.kit import Shed, call, results_of
from toolkit.agent import PLAN_PROMPT, Agent, Run
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import DuplicateTool, ProviderError
from toolkit.hooks import Modify, Proceed, Replace
from toolkit.permissions import Permissions
from toolkit.providers import ScriptedProvider, UserMessage
from toolkit.results import ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio


async def test_plan_mode_offers_only_read_only_tools_and_exit_plan(shed):
    agent = shed.agent([[call("look", what="oak")], "Cut the oak."], mode="plan")
    run = await agent.run("what to do?")
    assert (run.status, run.plan, shed.done) == ("planned", "Cut the oak.", ["look oak"])
    assert agent.asked[0].tools == ("look", "fetch", "exit_plan")


async def test_the_model_learns_that_a_change_is_blocked_in_plan_mode(shed):
    """The model goes on planning."""
    agent = shed.agent([[call("cut", wood="oak"), call("look", what="oak")], "Cut the oak."], mode="plan")
    run = await agent.run("cut it")
    assert (run.status, shed.done) == ("planned", ["look oak"])
    blocked, looked = results_of(run)
    assert (blocked.kind, looked.kind) == ("denied", "ok")
    assert "plan" in blocked.text


async def test_exit_plan_hands_the_plan_over_and_ends_planning(shed):
    """Its siblings have run, and the conversation is complete."""
    agent = shed.agent([[call("exit_plan", plan="1. Cut the oak."), call("look", what="oak")]], mode="plan")
    run = await agent.run("plan")
    assert (run.status, run.plan, run.turns) == ("planned", "1. Cut the oak.", 1)
    assert [result.kind for result in results_of(run)] == ["ok", "ok"]


async def test_an_empty_plan_is_refused(shed):
    """The model is told to write one."""
    agent = shed.agent([[call("exit_plan", plan="  ")], [call("exit_plan", plan="Look.")]], mode="plan")
    run = await agent.run("plan")
    assert (run.plan, results_of(run, 0)[0].kind) == ("Look.", "bad_args")


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
    """This holds also when planning goes on, and beside the agent's own."""
    shed = Shed()
    agent = shed.agent([[call("look", what="oak")], "Plan A.", "Plan B."], mode="plan", system="Be kind.")
    run = await agent.run("plan", run=await agent.run("plan"))
    assert run.plan == "Plan B."
    assert [request.system.count(PLAN_PROMPT) for request in agent.asked] == [1, 1, 1]
    assert all(request.system.startswith("Be kind.\n\n") for request in agent.asked)
    assert not any("planning" in message.text for message in run.messages if isinstance(message, UserMessage))


async def test_the_plan_prompt_can_be_replaced():
    """An empty prompt is refused."""
    shed = Shed()
    agent = shed.agent(["Plan."], mode="plan", plan_prompt="Think first.")
    await agent.run("plan")
    assert agent.asked[0].system == "Think first."
    with pytest.raises(ValueError, match="plan_prompt is empty"):
        shed.agent([], plan_prompt=" ")


async def test_plan_tools_chooses_from_the_read_only_tools():
    """Other tools are not offered and do not run."""
    shed = Shed()
    agent = shed.agent([[call("fetch", url="https://a.example")], "Plan."], mode="plan", plan_tools=["look"])
    run = await agent.run("plan")
    assert agent.asked[0].tools == ("look", "exit_plan")
    assert results_of(run)[0].kind == "denied"
    assert "was not chosen" in results_of(run)[0].text


@pytest.mark.parametrize(("chosen", "expected"), [(None, ["peek"]), (["look"], [])])
async def test_search_finds_only_tools_that_can_be_used_while_planning(shed, chosen, expected):
    """Searches, exact names, similar names and the schema in an error do not show other tools."""

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


async def test_a_loaded_run_is_planned_again_in_the_mode_of_the_agent():
    """A saved run is data, and its execution mode is not restored."""
    shed = Shed()
    agent = shed.agent(["Plan.", "Done.", "Another plan."], mode="plan")
    executed = await agent.execute(await agent.run("plan"), mode="bypass")
    assert executed.session.mode == "bypass"
    loaded = Run.loads(executed.dumps())
    assert loaded.session.mode is None
    assert (await agent.run("more", run=loaded)).status == "planned"


async def test_an_approved_call_is_denied_when_a_planning_agent_resumes_the_run():
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
    """Without permissions, no judge would ask."""
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


async def test_a_tool_added_later_does_not_replace_the_agents_exit_plan():
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


async def test_the_host_sees_the_plan_that_hooks_accepted():
    """The first of two plans in one turn counts, and the model learns that."""

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


async def test_an_empty_answer_is_not_a_plan():
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
    """This holds also in a session in which a plan was executed before."""
    agent = Shed().agent(["Plan.", "Done.", "Another plan."], mode="plan", session=Session())
    assert (await agent.execute(await agent.run("plan"))).status == "done"
    assert (await agent.run("something else")).status == "planned"


HANDED = [call("exit_plan", plan="Look."), call("exit_plan", plan="Burn.")]


@pytest.mark.parametrize("plan", ["Look.", HANDED], ids=["text", "exit_plan"])
@pytest.mark.parametrize("change", [None, "Burn.", "Look twice."], ids=["as it was", "a later one", "another"])
async def test_the_model_receives_the_plan_that_the_host_was_shown(plan, change):
    """A plan that was changed in the saved run is sent as it was shown to the host."""
    shed = Shed()
    agent = shed.agent([plan, "Done."], mode="plan")
    saved = json.loads((await agent.run("plan")).dumps())
    planned = Run.from_json(saved if change is None else {**saved, "plan": change})
    run = await agent.execute(planned, "Go!")
    message = run.messages[len(planned.messages)].text
    assert message == "Go!" if change is None else message.startswith("Go!") and message.endswith(f"\n\n{change}")


async def test_a_plan_that_a_hook_changed_is_executed_in_its_changed_form():
    """The host and the model see that form, too."""
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
async def test_a_saved_run_that_planned_without_a_plan_is_refused(plan):
    """Otherwise a person would approve an empty plan, and calls would run."""
    saved = json.loads((await Shed().agent(["Look."], mode="plan").run("plan")).dumps())
    with pytest.raises(ValueError, match="there is no plan"):
        Run.from_json({**saved, "plan": plan})
