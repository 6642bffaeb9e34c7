"""
Agents as tools of other agents: a call is a sub-run, with an agent of its own.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.agent.kit import Shed, call, results_of
from toolkit.agent import Agent, Budget, Run, SubRunEvent, ToolFinished
from toolkit.approvals import Approvals, MemoryApprovals, SQLiteApprovals
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import DefinitionError, DuplicateTool
from toolkit.hooks import CallEnded, PersonAnswered, PersonAsked
from toolkit.permissions import Permissions
from toolkit.providers import AssistantMessage, Reply, ScriptedProvider, Usage

pytestmark = pytest.mark.anyio

ROOT = Path(__file__).parents[2]


@dataclass
class Plank:
    """A plank."""

    wood: str
    metres: int


def expert_in(shed: Shed, script, *, mode="bypass", rules=(), approvals=None, **options) -> Agent:
    """Return an agent with the tools of *shed*, and with permissions of its own."""
    dispatcher = Dispatcher(shed.catalog, permissions=Permissions(mode, rules), approvals=approvals)
    return Agent(ScriptedProvider(script), dispatcher, **options)


def asker(script, *tools, mode="auto", rules=(), approvals=None, **options) -> Agent:
    """Return an agent with *tools*, and with nothing else."""
    dispatcher = Dispatcher(Catalog(*tools), permissions=Permissions(mode, rules), approvals=approvals)
    return Agent(ScriptedProvider(script), dispatcher, **options)


def tool_of(expert, **facts):
    """Return the tool of *expert*. What it does inside is asked about, so the call itself need not be."""
    return expert.as_tool("ask", "Ask.", destructive=False, **facts)


def asking(times=1, prompt="Look."):
    return [[call("ask", f"a{number}", prompt=prompt)] for number in range(times)]


async def approve_all(agent, run, *, saved=True):
    """Answer what a run waits for until it waits no more. Return the run, and the tools that were asked about."""
    tools = []
    while run.status == "waiting":
        run = Run.loads(run.dumps()) if saved else run
        tools += [request.tool for request in run.requests]
        run = await agent.resume(run, {request.id: Decision.approve() for request in run.requests})
    return run, tools


async def test_the_answer_of_an_agent_is_the_result_of_its_tool():
    """It has a conversation, a system prompt and tools of its own."""
    shed = Shed()
    expert = expert_in(shed, [[call("look", what="oak")], "An oak."], system="You know wood.")
    agent = asker([*asking(), "Fine."], tool_of(expert), system="You keep a shed.")
    run = await agent.run("go")
    assert (run.status, run.text, results_of(run)[0].text, shed.done) == ("done", "Fine.", "An oak.", ["look oak"])
    (inner, _), (outer, _) = expert._options.provider.requests, agent._options.provider.requests
    assert (outer.tools, inner.tools) == (("ask",), ("look", "cut", "burn", "fetch"))
    assert (inner.system, [message.text for message in inner.messages]) == ("You know wood.", ["Look."])


async def test_a_typed_answer_is_the_value_of_the_result():
    answer = call("final_answer", answer={"wood": "oak", "metres": 2})
    tool = tool_of(expert_in(Shed(), [[answer]], output=Plank))
    run = await asker([*asking(), "Fine."], tool).run("go")
    assert results_of(run)[0].value == {"wood": "oak", "metres": 2}
    assert set(tool.output_schema["properties"]) == {"wood", "metres"}
    assert set(tool.schema["properties"]) == {"prompt"}


@pytest.mark.parametrize(
    ("tools", "stated", "facts"),
    [
        (["look", "fetch"], {}, (True, False)),
        (["look", "cut"], {}, (False, False)),
        (["look", "burn"], {}, (False, True)),
        (["burn"], {"read_only": True}, (True, False)),
        (["look"], {"destructive": True}, (False, True)),
        ([], {}, (True, False)),
    ],
)
@pytest.mark.parametrize("hands_over", [False, True])
def test_the_facts_follow_from_the_tools_of_the_agent(tools, stated, facts, hands_over):
    """Stated facts win. The tools of agents that the agent hands over to count, too."""
    shed = Shed()
    catalog = shed.catalog.filtered(lambda tool: tool.name in tools)
    agent = Agent(ScriptedProvider([]), catalog, name="other", description="Another.")
    if hands_over:
        agent = Agent(ScriptedProvider([]), [], hand_over_to=[agent])
    tool = agent.as_tool("ask", "Ask.", **stated)
    assert (tool.facts.read_only, tool.facts.destructive) == facts


def test_the_default_name_and_description_are_those_of_the_agent():
    agent = Agent(ScriptedProvider([]), [], name="expert", description="Knows wood.")
    assert (agent.as_tool().name, agent.as_tool().description) == ("expert", "Knows wood.")
    tool = agent.as_tool("ask", timeout_seconds=5, metadata={"team": "wood"})
    assert (tool.name, tool.description, tool.facts.timeout_seconds) == ("ask", "Knows wood.", 5)
    assert tool.facts.metadata["team"] == "wood"


def test_a_tool_that_cannot_be_is_refused():
    agent = Agent(ScriptedProvider([]), [])
    with pytest.raises(ValueError, match="has a name and a description"):
        agent.as_tool("ask")
    with pytest.raises(DefinitionError, match="cannot be a tool's name"):
        agent.as_tool("ask him", "Ask.")
    with pytest.raises(DefinitionError, match="unknown option `tool_name`"):
        agent.as_tool("ask", "Ask.", tool_name="ask")
    with pytest.raises(DuplicateTool, match="the agent ask"):
        Catalog(agent.as_tool("ask", "Ask."), agent.as_tool("ask", "Ask."))
    with pytest.raises(ValueError, match="works in the mode of its caller"):
        Agent(ScriptedProvider([]), [], mode="plan").as_tool("ask", "Ask.")


async def test_an_empty_prompt_is_sent_back():
    expert = expert_in(Shed(), [])
    run = await asker([*asking(prompt=" "), "Fine."], tool_of(expert)).run("go")
    assert (run.text, results_of(run)[0].kind) == ("Fine.", "bad_args")


# What it may do.


@pytest.mark.parametrize(
    ("mode", "rules", "kind", "expected_tools"),
    [
        ("auto", (), "ok", []),
        ("default", ("allow ask",), "ok", ["cut"]),
        ("auto", ("deny cut",), "denied", []),
        ("auto", ("ask cut",), "ok", ["cut"]),
    ],
)
async def test_an_agent_has_no_more_permissions_than_its_caller(mode, rules, kind, expected_tools):
    """This holds even if the agent has wider permissions."""
    shed = Shed()
    expert = expert_in(shed, [[call("cut", wood="oak")], "Done."])
    agent = asker([*asking(), "Fine."], tool_of(expert), mode=mode, rules=rules)
    run, tools = await approve_all(agent, await agent.run("go"))
    inner = expert._options.provider.requests[1].messages[-1].results[0]
    assert (run.text, inner.kind, tools) == ("Fine.", kind, expected_tools)
    assert shed.done == (["cut oak"] if kind == "ok" else [])


@pytest.mark.parametrize(
    ("rules", "facts", "expected_tools"),
    [((), {}, ["burn"]), (("ask ask",), {}, ["ask", "burn"]), ((), {"approval": "always"}, ["ask", "burn"])],
)
@pytest.mark.parametrize("mode", ["default", "auto"])
async def test_a_mode_asks_about_the_calls_inside_and_not_about_the_agent(mode, rules, facts, expected_tools):
    shed = Shed()
    tool = expert_in(shed, [[call("burn", wood="oak")], "Done."]).as_tool("ask", "Ask.", **facts)
    agent = asker([*asking(), "Fine."], tool, mode=mode, rules=rules)
    run, tools = await approve_all(agent, await agent.run("go"))
    assert (run.text, tools, shed.done, tool.facts.destructive) == ("Fine.", expected_tools, ["burn oak"], True)


async def test_a_mode_asks_about_an_agent_outside_of_a_run():
    """There its own permissions alone judge what it does."""
    shed = Shed()
    tool = expert_in(shed, [[call("burn", wood="oak")], "Done."]).as_tool("ask", "Ask.")
    dispatcher = Dispatcher(Catalog(tool), permissions=Permissions("default"))
    (request,) = (await Agent(ScriptedProvider([*asking(), "Fine."]), dispatcher).run("go")).requests
    assert request.tool == "burn"
    assert ((await dispatcher.call("ask", {"prompt": "Look."})).kind, shed.done) == ("waiting", [])


async def test_the_rules_of_an_agent_hold_when_the_agent_is_a_tool():
    shed = Shed()
    expert = expert_in(shed, [[call("cut", wood="oak")], "No."], rules=("deny cut",))
    run = await asker([*asking(), "Fine."], tool_of(expert), mode="bypass").run("go")
    assert (run.text, results_of(run)[0].text, shed.done) == ("Fine.", "No.", [])


async def test_an_agent_as_a_tool_only_reads_in_plan_mode():
    shed = Shed()
    expert = expert_in(shed, [[call("look", what="oak"), call("cut", wood="oak")], "Looked."])
    tool = tool_of(expert, read_only=True)
    run = await asker([*asking(), "The plan."], tool, mode="plan").run("go")
    assert (run.status, run.plan, shed.done) == ("planned", "The plan.", ["look oak"])


# Waiting.


@pytest.mark.parametrize("saved", [False, True])
async def test_a_waiting_call_inside_an_agent_as_a_tool_waits_in_the_caller_and_resumes(saved):
    """The requests are in the store of the caller."""
    shed, store = Shed(), MemoryApprovals()
    expert = expert_in(shed, [[call("cut", wood="oak")], [call("cut", wood="elm")], "All cut."], mode="default")
    tool = tool_of(expert)
    agent = asker([*asking(), "Fine."], tool, approvals=Approvals(store))
    run = await agent.run("go")
    assert [request.tool for request in store.pending()] == ["cut"]
    run, tools = await approve_all(agent, run, saved=saved)
    assert (run.text, results_of(run)[0].text, tools) == ("Fine.", "All cut.", ["cut", "cut"])
    assert (shed.done, store.pending(), run.subs) == (["cut oak", "cut elm"], [], ())


class Ears:
    """A hook that writes down how calls end, and whom people are asked about."""

    def __init__(self):
        self.ends, self.asked = [], []

    def after(self, call, result):
        self.ends.append(("after", call.name, result.kind))
        return result

    def on_event(self, event):
        if isinstance(event, CallEnded):
            self.ends.append(("ended", event.call.name, event.kind))
        elif isinstance(event, PersonAsked | PersonAnswered):
            self.asked.append((type(event).__name__, event.call.name))


async def test_hooks_receive_a_waiting_call_if_its_sub_run_waits():
    expert = expert_in(Shed(), [[call("cut", wood="oak")], "Cut."], mode="default")
    dispatcher = Dispatcher(Catalog(tool_of(expert)), permissions=Permissions("auto"), hooks=[ears := Ears()])
    run = await Agent(ScriptedProvider([*asking(), "Fine."]), dispatcher).run("go")
    assert (run.status, ears.ends) == ("waiting", [("after", "ask", "waiting"), ("ended", "ask", "waiting")])


@pytest.mark.parametrize("shared", [False, True])
async def test_hooks_of_the_caller_receive_a_question_of_the_inner_agent(shared):
    """They receive it once, also if both agents have the hook."""
    shed, ears = Shed(), Ears()
    hooks = [ears] if shared else []
    own = Dispatcher(shed.catalog, permissions=Permissions("default"), hooks=hooks)
    tool = tool_of(Agent(ScriptedProvider([[call("cut", wood="oak")], "Cut."]), own))
    dispatcher = Dispatcher(Catalog(tool), permissions=Permissions("auto"), hooks=[ears])
    agent = Agent(ScriptedProvider([*asking(), "Fine."]), dispatcher)
    run = await agent.resume(await agent.run("go"), Decision.approve())
    assert (run.text, ears.asked) == ("Fine.", [("PersonAsked", "cut"), ("PersonAnswered", "cut")])


async def test_two_calls_at_once_are_two_sub_runs():
    shed = Shed()

    def say(request):
        wood = request.messages[0].text
        return [call("fetch", url=f"https://{wood}.example")] if len(request.messages) == 1 else f"It is {wood}."

    tool = tool_of(expert_in(shed, [say] * 9, mode="default"), read_only=True)
    calls = [call("ask", "a1", prompt="oak"), call("ask", "a2", prompt="elm")]
    agent = asker([calls, "Fine."], tool)
    run = await agent.run("go")
    assert [request.arguments["url"] for request in run.requests] == ["https://oak.example", "https://elm.example"]
    run = await agent.resume(run, {run.requests[1].id: Decision.approve()})
    run, _ = await approve_all(agent, run)
    assert (run.text, [result.text for result in results_of(run)]) == ("Fine.", ["It is oak.", "It is elm."])
    assert run.turns == 6


async def test_a_typed_answer_after_a_pause_is_json():
    answer = [call("final_answer", answer={"wood": "oak", "metres": 2})]
    expert = expert_in(Shed(), [[call("cut", wood="oak")], answer], mode="default", output=Plank)
    agent = asker([*asking(), "Fine."], tool_of(expert))
    run, _ = await approve_all(agent, await agent.run("go"))
    assert (run.text, results_of(run)[0].value) == ("Fine.", {"wood": "oak", "metres": 2})


async def test_a_tool_that_took_the_name_of_an_agent_does_not_go_on_with_its_run():
    shed, approvals = Shed(), Approvals(MemoryApprovals())
    expert = expert_in(shed, [[call("cut", wood="oak")]], mode="default")
    run = await asker(asking(), tool_of(expert), approvals=approvals).run("go")

    def ask(prompt: str) -> str:
        """Ask another agent."""
        return prompt

    agent = asker(["Alone."], ask, approvals=approvals)
    run = await agent.resume(Run.loads(run.dumps()), Decision.approve())
    assert (run.text, results_of(run)[0].kind, shed.done) == ("Alone.", "denied", [])


SCRIPT = """
import asyncio, json, sys

from tests.agent.kit import Shed
from tests.agent.test_agent_as_tool import asker, expert_in, tool_of
from toolkit.agent import Run
from toolkit.approvals import Approvals, SQLiteApprovals
from toolkit.decisions import Decision

shed = Shed()
tool = tool_of(expert_in(shed, ["All cut."], mode="default"))
agent = asker(["Fine."], tool, approvals=Approvals(SQLiteApprovals(sys.argv[1])))
run = asyncio.run(agent.resume(Run.loads(sys.stdin.read()), Decision.approve()))
print(json.dumps([run.to_json(), shed.done]))
"""


@pytest.mark.long
async def test_an_agent_inside_goes_on_in_another_process(tmp_path):
    shed, path = Shed(), tmp_path / "work.approvals.sqlite"
    tool = tool_of(expert_in(shed, [[call("cut", wood="oak")]], mode="default"))
    run = await asker(asking(), tool, approvals=Approvals(SQLiteApprovals(path))).run("go")
    other = await asyncio.create_subprocess_exec(
        sys.executable, "-c", SCRIPT, str(path), cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    output, _ = await other.communicate(run.dumps().encode())
    data, done = json.loads(output)
    finished = Run.from_json(data)
    assert (finished.text, results_of(finished)[0].text, shed.done, done) == ("Fine.", "All cut.", [], ["cut oak"])


# Events, budgets, ends.


async def test_the_events_inside_are_events_of_the_caller():
    """The listener of the inner agent receives them, too."""
    events = []
    expert = expert_in(Shed(), [[call("look", what="oak")], "An oak."], on_event=events.append)
    agent = asker([*asking(), "Fine."], tool_of(expert))
    inside = [event async for event in agent.stream("go") if isinstance(event, SubRunEvent)]
    assert {event.call_id for event in inside} == {"a0"}
    assert [event.event for event in inside] == events
    assert any(isinstance(event, ToolFinished) for event in events)


def spending(step):
    calls = tuple(step) if isinstance(step, list) else ()
    message = AssistantMessage(text="" if calls else step, calls=calls)
    return Reply(message=message, stop="calls" if calls else "answer", usage=Usage(input_tokens=100))


@pytest.mark.parametrize(
    ("own", "outer", "words", "used"),
    [
        ({}, {}, "An oak.", 400),
        ({"max_turns": 1}, {}, "the budget of 1 turn is used up", 300),
        ({"budget": Budget(tokens=50)}, {}, "the budget of 50 tokens is used up", 300),
        ({}, {"budget": Budget(tokens=150)}, "the budget of 150 tokens is used up", 200),
    ],
)
async def test_both_budgets_count(own, outer, words, used):
    expert = expert_in(Shed(), [spending([call("look", what="oak")]), spending("An oak.")], **own)
    agent = asker([*map(spending, asking()), spending("Fine.")], tool_of(expert), **outer)
    run = await agent.run("go")
    assert words in results_of(run)[0].text
    assert run.usage.input_tokens == run.spent.usage.input_tokens == used


async def test_an_agent_that_calls_itself_is_stopped_with_a_reason():
    catalog = Catalog()
    agent = Agent(ScriptedProvider([*asking(4), *["Enough."] * 5]), catalog)
    catalog.add(agent.as_tool("ask", "Ask.", read_only=True))
    run = await agent.run("go")
    refused = agent._options.provider.requests[4].messages[-1].results[0]
    assert (run.text, run.turns, refused.kind) == ("Enough.", 8, "failed")
    assert "sub-runs may not be nested deeper than 3" in refused.text


async def test_a_cancellation_reaches_the_agent_inside():
    thinking, cancelled = asyncio.Event(), []

    async def think(request):
        thinking.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    agent = asker(asking(), tool_of(expert_in(Shed(), [think])))
    task = asyncio.ensure_future(agent.run("go"))
    await thinking.wait()
    task.cancel()
    await asyncio.wait({task})
    assert (cancelled, agent.last_run.stop, results_of(agent.last_run)[0].kind) == ([True], "cancelled", "cancelled")


# Without an agent around it.


async def test_an_agent_as_a_tool_can_be_called_without_a_run():
    """No person can be asked, so what asks is denied, and the model goes on."""
    shed = Shed()
    expert = expert_in(shed, [[call("cut", wood="oak")], "Not cut."], mode="default")
    result = await Dispatcher(Catalog(tool_of(expert))).call("ask", {"prompt": "Cut."})
    assert (result.kind, result.text, shed.done) == ("ok", "Not cut.", [])
    denied = expert._options.provider.requests[1].messages[-1].results[0]
    assert (denied.kind, "no person can be asked" in denied.text) == ("denied", True)
    assert expert._toolbox.dispatcher.approvals.store.pending() == []


async def test_an_agent_as_a_tool_that_gives_no_answer_is_a_failed_call():
    expert = expert_in(Shed(), [[call("look", what="oak")]] * 2, max_turns=1)
    result = await Dispatcher(Catalog(tool_of(expert))).call("ask", {"prompt": "Look."})
    assert (result.kind, "the budget of 1 turn is used up" in result.text) == ("failed", True)
