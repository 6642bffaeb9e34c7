"""
Conversations that one agent hands over to another, in one run.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agent.crashing_world import CrashingWorld, describe
from tests.agent.kit import Shed, call, results_of
from toolkit.agent import Agent, Budget, HandedOver, Run, Summarized, TurnFinished, sub_run
from toolkit.approvals import Approvals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import DuplicateTool, ProviderError
from toolkit.hooks import PersonAnswered, PersonAsked
from toolkit.permissions import Permissions
from toolkit.providers import AssistantMessage, Price, Reply, ScriptedProvider, Usage
from toolkit.providers.messages import ToolMessage

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]


def helper(name, script, tools=(), *, mode="default", rules=(), approvals=None, model="scripted", **options) -> Agent:
    """Return an agent with a name, and with permissions of its own."""
    catalog = tools if isinstance(tools, Catalog) else Catalog(*tools)
    dispatcher = Dispatcher(catalog, permissions=Permissions(mode, rules), approvals=approvals)
    options = {"name": name, "description": f"Knows {name}.", "system": f"You are {name}.", **options}
    return Agent(ScriptedProvider(script, model=model), dispatcher, **options)


def requests_of(agent):
    return agent._options.provider.requests


def handing(name, id=""):
    return call(f"hand_over_to_{name}", id)


async def approve_all(agent, run):
    """Answer what a run waits for until it waits no more; it is saved and read in between."""
    tools = []
    while run.status == "waiting":
        run = Run.loads(run.dumps())
        tools += [request.tool for request in run.requests]
        run = await agent.resume(run, {request.id: Decision.approve() for request in run.requests})
    return run, tools


async def test_another_agent_goes_on_with_the_conversation():
    """It has another provider, system prompt and tools. There is one run, and the answer is that of the last agent."""
    shed = Shed()
    wood = helper("wood", [[call("look", what="oak")], "An oak."], shed.catalog)
    front = helper("front", [[handing("wood", "h1")]], hand_over_to=[wood])
    run = await front.run("What is it?")
    assert (run.status, run.text, run.agent, run.turns, shed.done) == ("done", "An oak.", "wood", 3, ["look oak"])
    (first,), (second, third) = requests_of(front), requests_of(wood)
    assert (first.tools, first.system) == (("hand_over_to_wood",), "You are front.")
    assert (second.tools, second.system) == (("look", "cut", "burn", "fetch"), "You are wood.")
    assert (len(second.messages), len(third.messages)) == (3, 5)
    assert second.messages[-1].results[0].text == "The conversation was handed over to `wood`, which goes on from here."
    (tool,) = first.catalog.offered()
    assert tool.description == "Hand the conversation over to `wood`, which goes on in your place. Knows wood."


async def test_the_events_name_the_agent_that_goes_on():
    wood = helper("wood", ["An oak."])
    front = helper("", [[handing("wood")]], hand_over_to=[wood])
    events = [event async for event in front.stream("go")]
    assert [event for event in events if isinstance(event, HandedOver)] == [HandedOver("agent", "wood")]
    turns = [event.run.agent for event in events if isinstance(event, TurnFinished)]
    assert turns == ["wood", "wood"]  # a run that is continued from there goes on with the second agent


@pytest.mark.parametrize("saved", [False, True])
async def test_a_conversation_continues_with_its_current_agent(saved):
    wood = helper("wood", ["An oak.", "Two metres."])
    front = helper("front", [[handing("wood")]], hand_over_to=[wood])
    run = await front.run("What is it?")
    run = await front.run("How long is it?", run=Run.loads(run.dumps()) if saved else run)
    assert (run.text, run.agent, run.turns) == ("Two metres.", "wood", 1)
    own = helper("wood", ["And old."])
    assert (await own.run("How old is it?", run=run)).text == "And old."


async def test_run_handed_over_to_an_unknown_agent_is_refused():
    front = helper("front", [[handing("wood")]], hand_over_to=[helper("wood", ["An oak."])])
    run = await front.run("What is it?")
    with pytest.raises(ValueError, match="handed over to `wood`, and this agent hands over to no agent of that name"):
        await helper("other", []).run("go", run=run)


async def test_a_run_that_is_interrupted_goes_on_with_the_agent_that_was_named():
    """The call had its result, and the turn was cut off."""
    started = asyncio.Event()

    async def wait() -> str:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()

    wood = helper("wood", ["An oak."])
    front = helper("front", [[handing("wood"), call("wait")]], [wait], mode="bypass", hand_over_to=[wood])
    task = asyncio.ensure_future(front.run("go"))
    await started.wait()
    task.cancel()
    await asyncio.wait({task})
    run = Run.loads(front.last_run.dumps())
    assert (run.stop, run.agent) == ("cancelled", "")
    run = await front.run(run=run)
    assert (run.text, run.agent) == ("An oak.", "wood")


# Back and forth.


async def test_a_conversation_can_come_back():
    wood = helper("wood", [[call("look", what="oak")], [handing("front")]], Shed().catalog)
    front = helper("front", [[handing("wood")], "Wood says: an oak.", "Yes."], hand_over_to=[wood])
    wood.hand_over_to(front)
    run = await front.run("What is it?")
    assert (run.text, run.agent) == ("Wood says: an oak.", "")
    assert (await front.run("Really?", run=run)).text == "Yes."


async def test_agents_that_only_hand_over_are_asked_to_do_something_else():
    """When each agent has passed the conversation on, the next hand-over is refused."""
    shed = Shed()
    wood = helper("wood", [[handing("front")], "Fine, I do it."], shed.catalog)
    script = [*[[handing("wood")]] * 3, [call("look", what="elm")], [handing("wood")]]
    front = helper("front", script, shed.catalog, hand_over_to=[wood])
    wood.hand_over_to(front)
    run = await front.run("go")
    results = [message.results[0] for message in run.messages if isinstance(message, ToolMessage)]
    assert [result.kind for result in results] == ["ok", "ok", "failed", "failed", "ok", "ok"]
    assert "go on with it yourself" in results[2].text
    assert (run.text, run.agent) == ("Fine, I do it.", "wood")


async def test_the_first_of_two_hand_overs_counts():
    wood, iron = helper("wood", ["Wood."]), helper("iron", [])
    front = helper("front", [[handing("wood"), handing("iron")]], hand_over_to=[wood, iron])
    run = await front.run("go")
    assert (run.text, [result.kind for result in results_of(run)]) == ("Wood.", ["ok", "failed"])
    assert "handed over to `wood` already" in results_of(run)[1].text


async def test_three_agents_in_a_row():
    last = helper("last", ["Here."])
    middle = helper("middle", [[handing("last")]], hand_over_to=[last])
    run = await helper("front", [[handing("middle")]], hand_over_to=[middle]).run("go")
    assert (run.text, run.agent, run.turns) == ("Here.", "last", 3)


# What holds for all agents of a run.


@pytest.mark.parametrize(
    ("mode", "rules", "asks"),
    [("bypass", (), []), ("default", (), ["cut"]), ("auto", ("ask cut",), ["cut"])],
)
async def test_no_agent_has_more_permissions_than_the_first_one(mode, rules, asks):
    shed = Shed()
    wood = helper("wood", [[call("cut", wood="oak")], "Cut."], shed.catalog, mode="bypass")
    front = helper("front", [[handing("wood")]], mode=mode, rules=rules, hand_over_to=[wood])
    run, tools = await approve_all(front, await front.run("go"))
    assert (run.text, tools, shed.done) == ("Cut.", asks, ["cut oak"])


async def test_a_wait_of_the_second_agent_is_one_of_the_run():
    shed = Shed()
    wood = helper("wood", [[call("cut", wood="oak")], "Cut."], shed.catalog)
    front = helper("front", [[handing("wood")]], hand_over_to=[wood])
    run = await front.run("go")
    assert (run.status, run.agent, [request.tool for request in run.requests]) == ("waiting", "wood", ["cut"])
    assert [request.id for request in front._toolbox.dispatcher.approvals.store.pending()] == [run.requests[0].id]
    run, _ = await approve_all(front, run)
    assert (run.text, run.agent, shed.done) == ("Cut.", "wood", ["cut oak"])


async def test_a_call_beside_the_hand_over_is_answered_first():
    shed = Shed()
    wood = helper("wood", ["It is cut."])
    front = helper("front", [[call("cut", wood="oak"), handing("wood")]], shed.catalog, hand_over_to=[wood])
    run = await front.run("go")
    assert (run.status, run.agent) == ("waiting", "")
    run, _ = await approve_all(front, run)
    assert (run.text, run.agent, shed.done) == ("It is cut.", "wood", ["cut oak"])


async def test_a_hand_over_can_be_denied():
    front = helper("front", [[handing("wood")], "Then I do it."], rules=("ask hand_over_to_wood",))
    front.hand_over_to(helper("wood", []))
    run = await front.run("go")
    run = await front.resume(run, Decision.deny("stay"))
    assert (run.text, run.agent) == ("Then I do it.", "")


@pytest.mark.parametrize("way", ["dispatcher", "agent"])
async def test_a_plan_is_made_and_executed_by_the_second_agent(way):
    shed = Shed()
    cut = [call("cut", wood="oak")]
    wood = helper("wood", [cut, "Cut it.", cut, "Cut."], shed.catalog, mode="bypass")
    modes = {"mode": "plan"} if way == "dispatcher" else {}
    front = helper("front", [[handing("wood")]], hand_over_to=[wood], **modes)
    if way == "agent":
        front = Agent(
            front._options.provider, Dispatcher(Catalog(), permissions=Permissions()), mode="plan", hand_over_to=[wood]
        )
    run = await front.run("go")
    assert (run.status, run.plan, run.agent, shed.done) == ("planned", "Cut it.", "wood", [])
    run = await front.execute(run, mode="bypass")
    assert (run.text, shed.done) == ("Cut.", ["cut oak"])


@dataclass
class Plank:
    """A plank."""

    wood: str


async def test_the_answer_has_the_type_of_the_first_agent():
    wood = helper("wood", [[call("final_answer", answer={"wood": "oak"})]])
    front = helper("front", [[handing("wood")]], hand_over_to=[wood], output=Plank)
    run = await front.run("go")
    assert (run.output, run.agent) == (Plank("oak"), "wood")
    with pytest.raises(ValueError, match="`wood` has another one"):
        helper("front", [], hand_over_to=[helper("wood", [], output=Plank)])


async def test_one_budget_counts_for_all_agents_of_a_run():
    """The price is that of each model."""

    def spending(step):
        calls = tuple(step) if isinstance(step, list) else ()
        message = AssistantMessage(text="" if calls else step, calls=calls)
        usage = Usage(input_tokens=1_000_000)
        return Reply(message=message, stop="calls" if calls else "answer", usage=usage, model="a-new-name")

    prices = {"scripted": Price(input=1, output=1), "dear": Price(input=5, output=1)}
    wood = helper("wood", [spending("An oak.")], model="dear", max_turns=1, budget=Budget(tokens=5))
    front = helper("front", [spending([handing("wood")])], hand_over_to=[wood], budget=Budget(cost=99, prices=prices))
    run = await front.run("go")
    assert (run.text, run.spent.cost, run.usage.input_tokens) == ("An oak.", 6, 2_000_000)
    cheap = Budget(cost=99, prices={"scripted": Price(input=1, output=1)})
    front = helper("front", [], hand_over_to=[wood], budget=cheap)
    with pytest.raises(ProviderError, match="no price is known for the model 'dear'"):
        await front.run("go")


async def test_a_long_conversation_is_summarized_by_its_current_agent():
    def say(request):
        return "Oak, as before." if request.system.startswith("You sum up") else "An oak."

    wood = helper("wood", [say] * 9, compact_at=1000)
    front = helper("front", ["Yes."] * 3 + [[handing("wood")]], hand_over_to=[wood])
    run = None
    for prompt in ("a" * 900, "b" * 900, "c" * 900):
        run = await front.run(prompt, run=run)
    events = [event async for event in front.stream("What is it?", run=run)]
    assert [event.summary.text for event in events if isinstance(event, Summarized)] == ["Oak, as before."]
    assert (events[-1].run.text, events[-1].run.agent) == ("An oak.", "wood")


async def test_results_stay_framed_after_a_hand_over():
    shed = Shed()
    wood = helper("wood", [[call("look", what="oak")], "An oak."], shed.catalog)
    front = helper("front", [[handing("wood")]], hand_over_to=[wood], frame_results=True)
    await front.run("go")
    last = requests_of(wood)[-1]
    assert all(
        '<result id="' in message.results[0].text for message in last.messages if isinstance(message, ToolMessage)
    )
    assert '<result id="...">' in last.system


async def test_an_agent_without_tools_is_offered_one_after_a_hand_over():
    """Some providers refuse a conversation with calls, and without tools."""
    wood = helper("wood", ["An oak."])
    await helper("front", [[handing("wood")]], hand_over_to=[wood]).run("go")
    assert requests_of(wood)[0].tools == ("read_output",)


async def test_a_sub_run_of_a_tool_is_not_handed_over():
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def ask(context: Context) -> str:
        """Ask a helper."""
        return await sub_run("sub", context=context)

    front = helper("front", [[call("ask")], [handing("wood")], "No.", "Fine."], catalog)
    front.hand_over_to(helper("wood", []))
    run = await front.run("go")
    assert (run.text, results_of(run)[0].text, requests_of(front)[1].tools) == ("Fine.", "No.", ("ask",))


async def test_an_agent_that_is_a_tool_can_hand_over_inside():
    """The run around it stays with its own agent; what waits inside goes on with the right one."""
    shed = Shed()
    wood = helper("wood", [[call("cut", wood="oak")], "Cut."], shed.catalog)
    inner = helper("inner", [[handing("wood")]], hand_over_to=[wood])
    outer = helper("outer", [[call("inner", prompt="Cut.")], "Fine."], [inner.as_tool(read_only=True)])
    run = await outer.run("go")
    assert (run.agent, run.subs[0].run.agent) == ("", "wood")
    run, _ = await approve_all(outer, run)
    assert (run.text, results_of(run)[0].text, shed.done) == ("Fine.", "Cut.", ["cut oak"])


# Other processes.


SCRIPT = """
import asyncio, json, sys

from tests.agent.kit import Shed
from tests.agent.test_hand_overs import helper
from toolkit.agent import Run
from toolkit.approvals import Approvals, SQLiteApprovals
from toolkit.decisions import Decision

shed = Shed()
wood = helper("wood", ["Cut."], shed.catalog)
front = helper("front", [], hand_over_to=[wood], approvals=Approvals(SQLiteApprovals(sys.argv[1])))
run = asyncio.run(front.resume(Run.loads(sys.stdin.read()), Decision.approve()))
print(json.dumps([run.to_json(), shed.done]))
"""


@pytest.mark.long
async def test_a_run_that_was_handed_over_goes_on_in_another_process(tmp_path):
    shed, path = Shed(), tmp_path / "work.approvals.sqlite"
    wood = helper("wood", [[call("cut", wood="oak")]], shed.catalog)
    front = helper("front", [[handing("wood")]], hand_over_to=[wood], approvals=Approvals(SQLiteApprovals(path)))
    run = await front.run("go")
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SCRIPT, str(path), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    output, _ = await other.communicate(run.dumps().encode())
    data, done = json.loads(output)
    finished = Run.from_json(data)
    assert (finished.text, finished.agent, done) == ("Cut.", "wood", ["cut oak"])


class TeamWorld(CrashingWorld):
    """Three agents with steps: one hands over, and one is a tool of the other. Their process can be killed."""

    SCRIPT = {
        "main": [
            [call("cut", "w1", wood="oak"), handing("wood", "h1")],
            [call("ask", "a1", prompt="inside"), call("burn", "b1", wood="fir")],
            "all done",
        ],
        "inside": [[call("cut", "s1", wood="box"), call("burn", "s2", wood="bay")], "done inside"],
    }

    def start_process(self) -> Agent:
        dispatcher = super().start_process()._toolbox._source
        provider = ScriptedProvider(itertools.repeat(self._answer))
        inner = Agent(provider, dispatcher)
        tools = Catalog(inner.as_tool("ask", "Ask.", destructive=False))
        wood = Agent(
            provider, dispatcher.extended(dispatcher.catalog.merged(tools)), name="wood", description="Knows wood."
        )
        return Agent(provider, dispatcher, hand_over_to=[wood])

    def _answer(self, request):
        turn = sum(isinstance(message, AssistantMessage) for message in request.messages)
        return self.SCRIPT[request.messages[0].text][turn]


@pytest.mark.parametrize("asks_at_once", [False, True])
@pytest.mark.parametrize("distance", [13, pytest.param(3, marks=pytest.mark.long)])
async def test_a_run_of_several_agents_is_finished_after_a_crash_at_each_point(distance, asks_at_once):
    """No step is repeated, and the same agents go on. The long run tries one point in three."""
    undisturbed = TeamWorld(asks_at_once=asks_at_once)
    expected = await undisturbed.run()
    assert (expected.status, expected.agent) == ("done", "wood")
    assert set(undisturbed.effects) == {"cut oak", "cut box", "burn bay", "burn fir"}
    for point in range(1, undisturbed.process.passed_points + 1, distance):
        world = TeamWorld(crash_points=[point], asks_at_once=asks_at_once)
        run = await world.run()
        assert (run.status, run.agent, run.text) == ("done", "wood", "all done"), point
        assert all(count == 1 for count in world.effects.values()), (point, world.effects)
        if not world.steps.cut_keys:
            assert describe(run) == describe(expected), point


# What is refused.


def test_agents_that_cannot_be_handed_over_to_are_refused():
    wood, nameless = helper("wood", []), Agent(ScriptedProvider([]), [])
    with pytest.raises(ValueError, match="by its name and its description"):
        helper("front", [], hand_over_to=[nameless])
    with pytest.raises(TypeError, match="`hand_over_to` is a list of agents, got one"):
        helper("front", [], hand_over_to=wood)
    with pytest.raises(TypeError, match="hand_over_to wants agents, got str"):
        helper("front", [], hand_over_to=["wood"])
    with pytest.raises(ValueError, match="cannot hand a conversation over to itself"):
        wood.hand_over_to(wood)
    with pytest.raises(DuplicateTool, match="hands over to the agent `wood`"):
        helper("front", [], hand_over_to=[wood, helper("wood", [])])
    with pytest.raises(ValueError, match="two agents of one conversation are called `wood`"):
        helper("front", [], hand_over_to=[wood, helper("iron", [], hand_over_to=[helper("wood", [])])])
    mindful = Agent(ScriptedProvider([]), [], mode="plan", name="mindful", description="Plans.")
    front = helper("front", [])
    with pytest.raises(ValueError, match="cannot have the mode 'plan'"):
        front.hand_over_to(mindful)
    assert list(front._hand_overs) == []
    with pytest.raises(ValueError, match="cannot have the mode 'plan'"):
        helper("front", [], hand_over_to=[mindful])


def test_a_tool_with_the_name_of_a_hand_over_is_refused():
    def hand_over_to_wood() -> str:
        """Hand over."""
        return ""

    def final_answer() -> str:
        """Answer."""
        return ""

    with pytest.raises(DuplicateTool, match="give one of the two another name"):
        helper("front", [], [hand_over_to_wood], hand_over_to=[helper("wood", [])])
    with pytest.raises(DuplicateTool, match="is how an agent with `output=` gets its answer"):
        helper("front", [], output=Plank, hand_over_to=[helper("wood", [], [final_answer])])


async def test_a_hand_over_without_a_run_fails():
    front = helper("front", [], hand_over_to=[helper("wood", [])])
    result = await front._toolbox.dispatcher.call("hand_over_to_wood", {})
    assert (result.kind, "no conversation here" in result.text) == ("failed", True)


async def test_hooks_of_the_first_agent_receive_a_question_of_the_next():
    class Ears:
        listens_to = (PersonAsked, PersonAnswered)
        heard = []

        def on_event(self, event):
            self.heard.append((type(event).__name__, event.call.name))

    other = helper("wood", [[call("cut", wood="oak")], "Cut."], Shed().catalog)
    dispatcher = Dispatcher(Catalog(), permissions=Permissions("default"), hooks=[Ears()])
    agent = Agent(ScriptedProvider([[handing("wood")]]), dispatcher, hand_over_to=[other])
    run = await agent.resume(await agent.run("go"), Decision.approve())
    assert (run.text, Ears.heard) == ("Cut.", [("PersonAsked", "cut"), ("PersonAnswered", "cut")])
