"""
Runs inside runs: what they inherit, what they may not do, and how their waits come out.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.agent.kit import Shed, call, results_of
from tests.agent.subrun_kit import script_by_prompt, shed_with_helper, spending
from tests.providers.protocols import Turn
from tests.providers.stub import KEY, serving
from toolkit.agent import Budget, Done, Run, SubRunEvent, TextDelta, ToolFinished, ToolStarted, is_in_run, sub_run
from toolkit.approvals import Approvals, MemoryApprovals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.durable import DurableAgent
from toolkit.errors import ProviderError, ToolError, Transient
from toolkit.hooks import Halt, Proceed
from toolkit.policies.retry import RetryPolicy
from toolkit.providers import AssistantMessage, Price, Reply, ScriptedProvider, Usage, UserMessage
from toolkit.session import Session
from toolkit.spec import Tool
from toolkit.steps.base import MemorySteps

pytestmark = pytest.mark.anyio


async def test_a_tool_can_let_the_model_work_on_a_prompt():
    """The sub-run has a separate conversation and system prompt, and its answer goes to the tool."""
    shed = shed_with_helper()
    agent = shed.agent(
        script_by_prompt(go=[[call("help", task="sub")], "Fine."], sub=[[call("look", what="oak")], "An oak."])
    )
    run = await agent.run("go")
    assert (run.status, run.text, shed.done) == ("done", "Fine.", ["look oak"])
    assert results_of(run)[0].text == "the helper says: An oak."
    inner = agent.asked[1]
    assert (inner.system, [type(message) for message in inner.messages]) == ("You are a helper.", [UserMessage])
    assert (inner.tools, len(run.messages), run.subs) == (("look", "cut", "help"), 4, ())


@pytest.mark.parametrize(
    ("system", "inner_system"),
    [(None, "Never push."), ("", ""), ("You are a helper.", "You are a helper.")],
)
async def test_a_sub_run_without_a_system_prompt_has_that_of_its_parent(system, inner_system):
    """The instruction files of the parent hold in sub-runs at every depth, and after a wait."""
    shed = Shed()
    prompts = iter(["deep", "deeper"])

    @shed.catalog.tool(name="help", read_only=True)
    async def helper(context: Context) -> str:
        """Have a helper do something."""
        return await sub_run(next(prompts), context=context, system=system)

    help_call = [call("help")]
    script = script_by_prompt(
        go=[help_call, "Fine."], deep=[help_call, "Hm."], deeper=[[call("cut", wood="oak")], "Cut."]
    )
    agent = shed.agent(script, system="Never push.")
    run = await agent.run("go")
    run = await agent.resume(run, {request.id: Decision.approve() for request in run.requests})
    assert run.status == "done"
    systems = [(request.messages[0].text, request.system) for request in agent.asked]
    assert systems == [
        ("go", "Never push."),
        ("deep", inner_system),
        ("deeper", inner_system),
        ("deeper", inner_system),
        ("deep", inner_system),
        ("go", "Never push."),
    ]


async def test_a_sub_run_may_call_only_the_tools_that_it_gets():
    """It cannot call a tool that its parent may not call, either. Deferred tools that it was given are offered."""
    shed = shed_with_helper("auto", tools=("look", "dig", "nothing"))

    @shed.catalog.tool(defer=True, read_only=True)
    async def dig() -> str:
        """Dig."""
        return "a hole"

    script = script_by_prompt(
        go=[[call("help", task="sub")], "Fine."], sub=[[call("cut", wood="oak"), call("dig")], "Hm."]
    )
    agent = shed.agent(script)
    await agent.run("go")
    assert agent.asked[1].tools == ("look", "dig")
    assert [result.kind for result in agent.asked[2].messages[-1].results] == ["not_found", "ok"]
    assert shed.done == []


async def test_the_requests_of_a_sub_run_have_the_id_of_its_session():
    """A provider makes the key of its prompt cache of the id, which has to be the same in every turn."""
    shed = shed_with_helper("auto", tools=("look",))
    script = script_by_prompt(go=[[call("help", task="sub")], "Fine."], sub=[[call("look", what="oak")], "Hm."])
    agent = shed.agent(script)
    run = await agent.run("go")
    assert [request.session.id for request in agent.asked] == [run.session.id] * 4


async def test_a_tool_object_that_is_given_to_a_sub_run_is_found_by_identity():
    """Its name here does not matter. A tool that only has its name, or its function, is another one."""
    shed = Shed("bypass")
    other = Catalog()

    @other.tool
    async def look(what: str) -> str:
        """Pass for one that reads."""
        return "changed"

    look_again = Tool.described(shed.catalog["look"].function, name="look_again", read_only=False)

    @other.tool(read_only=True)
    async def ask(context: Context) -> str:
        """Ask a helper."""
        return await sub_run("Help.", context=context, tools=[shed.catalog["look"], "elm"])

    other.add(look_again)
    catalog = shed.catalog.prefixed("shed_").merged(other)
    agent = shed.agent([[call("ask")], "Helped.", "Done."], dispatcher=Dispatcher(catalog))
    assert (await agent.run("go")).status == "done"
    assert agent.asked[1].tools == ("shed_look",)


async def test_a_sub_run_without_a_list_of_tools_has_those_of_its_parent():
    """It cannot end the planning of its parent."""
    shed = shed_with_helper("plan", tools=None)
    script = script_by_prompt(go=[[call("help", task="sub")], "Plan."], sub=[[call("exit_plan", plan="x")], "Hm."])
    agent = shed.agent(script)
    run = await agent.run("go")
    assert (run.status, run.plan) == ("planned", "Plan.")
    assert agent.asked[1].tools == ("look", "fetch", "help")
    assert agent.asked[2].messages[-1].results[0].kind == "not_found"


async def test_a_sub_run_has_the_mode_of_its_parent():
    """In plan mode it only reads, and has no plan prompt, because it is not asked for a plan."""
    shed = shed_with_helper("plan")
    script = script_by_prompt(go=[[call("help", task="sub")], "Plan."], sub=[[call("cut", wood="oak")], "No."])
    agent = shed.agent(script)
    await agent.run("go")
    assert (shed.done, agent.asked[1].system) == ([], "You are a helper.")
    assert agent.asked[2].messages[-1].results[0].kind == "denied"


async def test_the_turns_and_tokens_and_calls_of_a_sub_run_count_for_its_parent():
    """The limit holds for both together."""

    def spending(step):
        calls = tuple(step) if isinstance(step, list) else ()
        message = AssistantMessage(text="" if calls else step, calls=calls)
        return Reply(message=message, stop="calls" if calls else "answer", usage=Usage(input_tokens=100))

    def script():
        return script_by_prompt(
            go=[spending([call("help", "c1", task="sub")]), spending("Fine.")],
            sub=[spending([call("look", "c1", what="oak")]), spending("An oak.")],
        )

    run = await shed_with_helper().agent(script()).run("go")
    assert (run.turns, run.spent.calls, run.usage.input_tokens, run.spent.usage.input_tokens) == (4, 2, 400, 400)
    shed = shed_with_helper()
    run = await shed.agent(script(), budget=Budget(tokens=200)).run("go")
    assert (run.status, run.stop, shed.done) == ("stopped", "tokens", [])
    assert "200 tokens" in results_of(run)[0].text


async def test_sub_runs_are_not_nested_without_end():
    """The model is told to do without."""
    shed = shed_with_helper()
    deep = script_by_prompt(go=[[call("help", task="go")]] * 9 + ["I did it."] * 9)
    run = await shed.agent(deep, budget=Budget(depth=2), max_turns=20).run("go")
    assert run.status == "done"
    none = shed.agent(script_by_prompt(go=[[call("help", task="sub")], "Alone."]), budget=Budget(depth=0))
    run = await none.run("go")
    assert "nested deeper than 0" in results_of(run)[0].text


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (ProviderError("overloaded"), "overloaded"),
        (Reply(message=AssistantMessage(text="Hm"), stop="length"), "ran out of room"),
    ],
)
async def test_a_sub_run_that_is_not_finished_is_a_failed_call(reply, words):
    """The model of the parent reads why."""
    shed = shed_with_helper()
    run = await shed.agent(script_by_prompt(go=[[call("help", task="sub")], "Alone."], sub=[reply])).run("go")
    assert (run.status, results_of(run)[0].kind) == ("done", "failed")
    assert words in results_of(run)[0].text


async def test_a_halt_inside_ends_the_run_outside():
    """`Halt` ends the outer run too."""
    shed = shed_with_helper("auto")

    class Fire:
        def before(self, call):
            return Halt("fire") if call.name == "cut" else Proceed()

    script = script_by_prompt(
        go=[[call("help", task="sub"), call("look", what="elm")]], sub=[[call("cut", wood="oak")]]
    )
    run = await shed.agent(script, dispatcher=shed.dispatcher(hooks=[Fire()])).run("go")
    assert (run.status, run.stop, run.reason) == ("stopped", "halt", "fire")
    assert results_of(run)[0].kind == "halted"


async def test_the_events_of_a_sub_run_carry_the_id_of_the_call():
    shed = shed_with_helper()
    script = script_by_prompt(go=[[call("help", "c1", task="sub")], "Fine."], sub=[[call("look", what="oak")], "Oak."])
    events = [event async for event in shed.agent(script).stream("go")]
    inside = [event for event in events if isinstance(event, SubRunEvent)]
    assert {event.call_id for event in inside} == {"c1"}
    kinds = [type(event.event) for event in inside]
    assert kinds[:2] == [ToolStarted, ToolFinished]
    assert TextDelta in kinds
    assert sum(isinstance(event, Done) for event in events) == 1


# What it is not.


async def test_a_sub_run_without_a_run_fails():
    """`is_in_run()` tells a tool whether there is a run."""
    shed = shed_with_helper("bypass")
    result = await shed.dispatcher().call("help", {"task": "sub"}, session=Session())
    assert (result.kind, "no agent here" in result.text, is_in_run()) == ("failed", True, False)


async def test_one_call_has_one_sub_run_at_a_time():
    """Two that waited could not both be its result."""
    shed = Shed("bypass")
    facts = []

    @shed.catalog.tool(read_only=True)
    async def both(context: Context) -> str:
        """Ask two helpers at once."""
        facts.append(is_in_run())
        answers = await asyncio.gather(
            sub_run("sub", context=context), sub_run(UserMessage.of("sub"), context=context), return_exceptions=True
        )
        return " ".join(map(str, answers))

    async def slowly(request):
        await asyncio.sleep(0)
        return "One."

    def say(request):
        return (
            slowly(request)
            if request.messages[0].text == "sub"
            else [call("both")]
            if len(request.messages) == 1
            else "Fine."
        )

    run = await shed.agent([say] * 9).run("go")
    assert results_of(run)[0].text.startswith("One. one call has one sub-run at a time")
    assert facts == [True]


async def test_a_sub_run_of_a_call_that_a_tool_has_made_cannot_wait():
    """The run around it could not be saved, so the request could not be answered."""
    shed, other = Shed(), shed_with_helper()

    @shed.catalog.tool(read_only=True)
    async def ask() -> str:
        """Call a tool of another dispatcher."""
        return (await other.dispatcher().call("help", {"task": "sub"}, id="inner")).text

    agent = shed.agent(script_by_prompt(go=[[call("ask")], "Fine."], sub=[[call("cut", wood="oak")], "Not cut."]))
    run = await agent.run("go")
    assert (run.text, results_of(run)[0].text, shed.done) == ("Fine.", "the helper says: Not cut.", [])
    assert agent.asked[2].messages[-1].results[0].kind == "denied"
    assert Run.loads(run.dumps()).subs == ()


async def test_a_tool_that_catches_the_pause_of_its_sub_run_still_waits():
    shed = Shed()

    @shed.catalog.tool(read_only=True)
    async def shrug(context: Context) -> str:
        """Ask a helper, and ignore its failure."""
        try:
            return await sub_run("sub", context=context)
        except ToolError:
            return "no help"

    agent = shed.agent(script_by_prompt(go=[[call("shrug")], "Fine."], sub=[[call("cut", wood="oak")], "Cut."]))
    run = await agent.run("go")
    assert run.status == "waiting"
    run = await agent.resume(run, {run.requests[0].id: Decision.approve()})
    assert (run.status, results_of(run)[0].text) == ("done", "Cut.")


# A provider and a budget of its own.


def shed_with_expert(provider=None, budget=None, **options) -> Shed:
    """Return a shed in which one tool lets another model work on a prompt, within a budget of its own."""
    shed = Shed(**options)

    @shed.catalog.tool(name="ask", read_only=True)
    async def ask_expert(context: Context) -> str:
        """Ask an expert."""
        return await sub_run("sub", context=context, provider=provider, budget=budget)

    return shed


async def approve_all(agent, run):
    """Answer what a run waits for until it waits no more; it is saved and read in between."""
    while run.status == "waiting":
        run = Run.loads(run.dumps())
        run = await agent.resume(run, {request.id: Decision.approve() for request in run.requests})
    return run


async def test_a_sub_run_uses_the_provider_that_it_gets():
    expert = ScriptedProvider([[call("look", what="oak")], "An oak."])
    shed = shed_with_expert(expert)
    agent = shed.agent([[call("ask")], "Fine."])
    run = await agent.run("go")
    assert (run.text, results_of(run)[0].text, run.turns) == ("Fine.", "An oak.", 4)
    assert (len(agent.asked), len(expert.requests)) == (2, 2)


async def test_a_sub_run_that_waits_goes_on_with_its_provider():
    expert = ScriptedProvider([[call("cut", wood="oak")], "Cut."])
    shed = shed_with_expert(expert)
    agent = shed.agent([[call("ask")], "Fine."])
    run = await agent.run("go")
    run = await agent.resume(run, Decision.approve())
    assert (run.text, results_of(run)[0].text, shed.done) == ("Fine.", "Cut.", ["cut oak"])


async def test_a_sub_run_whose_provider_is_not_saved_is_denied_with_the_remedy():
    """None of its calls can be approved any more."""
    store = MemoryApprovals()
    shed = shed_with_expert(ScriptedProvider([[call("cut", wood="oak")]]))
    agent = shed.agent([[call("ask")], "Alone."], dispatcher=shed.dispatcher(Approvals(store)))
    run = Run.loads((await agent.run("go")).dumps())
    run = await agent.resume(run, Decision.approve())
    (result,) = results_of(run)
    assert (run.text, result.kind, shed.done, store.pending()) == ("Alone.", "denied", [], [])
    assert "let it name one in a text" in result.text


@pytest.mark.parametrize("durable", [False, True])
async def test_a_provider_that_a_text_names_is_there_after_the_run_was_saved(monkeypatch, durable, tmp_path):
    async with serving(Turn(calls=(call("cut", "c1", wood="oak"),)), Turn(text="Cut.")) as stub:
        monkeypatch.setenv("LITELLM_PROXY_API_BASE", f"{stub.url}/v1")
        monkeypatch.setenv("LITELLM_PROXY_API_KEY", KEY)
        budget = Budget(calls=5, cost=1, prices={"some-model": Price(input=1, output=2)})
        shed = shed_with_expert("litellm:some-model", budget)
        agent = shed.agent([[call("ask", "a1")], "Fine."])
        if durable:
            tmp_path.chmod(0o700)
            async with DurableAgent(agent, f"sqlite:///{tmp_path}/runs.sqlite") as runs:
                run = await runs.run("go", id="r")
                run = await runs.resume("r", {request.id: Decision.approve() for request in run.requests})
        else:
            run = await approve_all(agent, await agent.run("go"))
    assert (run.text, results_of(run)[0].text, shed.done) == ("Fine.", "Cut.", ["cut oak"])
    assert [request.body["model"] for request in stub.heard] == ["some-model", "some-model"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"provider": 5}, "a provider has `reply` and `stream`, and 5 has not"),
        ({"provider": "claude:opus"}, "did you mean `anthropic`"),
        ({"budget": 100}, "budget cannot be .*; give Budget"),
    ],
)
async def test_a_provider_or_budget_of_a_wrong_type_is_refused(options, words):
    shed = shed_with_expert(**options)
    agent = shed.agent([[call("ask")]], dispatcher=shed.dispatcher(raise_bugs=True))
    with pytest.raises((TypeError, ValueError), match=words):
        await agent.run("go")


async def test_a_run_whose_steps_are_kept_wants_the_provider_as_a_text():
    shed = shed_with_expert(ScriptedProvider([]))
    agent = shed.agent([[call("ask")]], dispatcher=shed.dispatcher(raise_bugs=True), steps=MemorySteps())
    with pytest.raises(TypeError, match='name it in a text, such as "anthropic:MODEL"'):
        await agent.run("go")


async def test_a_model_without_a_price_is_refused_before_a_sub_run_uses_the_model():
    expert = ScriptedProvider(["Never."], model="dear")
    shed = shed_with_expert(expert)
    budget = Budget(cost=1, prices={"scripted": Price(input=1, output=1)})
    run = await shed.agent([[call("ask")], "Alone."], budget=budget).run("go")
    assert (run.text, expert.requests) == ("Alone.", [])
    assert "no price is known for the model 'dear'" in results_of(run)[0].text


@pytest.mark.parametrize(
    ("own", "parents", "words", "used", "status"),
    [
        (150, None, "150 tokens", 400, "done"),
        (150, 1000, "150 tokens", 400, "done"),
        (1000, 150, "150 tokens", 200, "stopped"),
        (1000, 1000, "Oaks.", 500, "done"),
    ],
)
async def test_the_smaller_of_two_budgets_counts(own, parents, words, used, status):
    """The use of the sub-run counts in both."""
    shed = shed_with_expert(budget=Budget(tokens=own))
    look = spending([call("look", what="oak")])
    script = script_by_prompt(go=[spending([call("ask")]), spending("Fine.")], sub=[look, look, spending("Oaks.")])
    run = await shed.agent(script, budget=Budget(tokens=parents)).run("go")
    assert words in results_of(run)[0].text
    assert (run.usage.input_tokens, run.spent.usage.input_tokens, run.status) == (used, used, status)


async def test_the_calls_of_a_sub_run_are_counted_over_its_pauses():
    shed = shed_with_expert(budget=Budget(calls=2))
    cuts = [[call("cut", wood="oak")], [call("cut", wood="elm"), call("cut", wood="ash")]]
    agent = shed.agent(script_by_prompt(go=[[call("ask")], "Fine."], sub=[*cuts, "Tired."]))
    run = await approve_all(agent, await agent.run("go"))
    assert (run.text, results_of(run)[0].text, shed.done) == ("Fine.", "Tired.", ["cut oak", "cut elm"])
    inner = [request for request in agent.asked if request.messages[0].text == "sub"]
    assert "the budget of 2 tool calls is used up" in inner[-1].messages[-1].results[1].text
    assert run.spent.calls == 3


async def test_a_budget_can_forbid_nested_sub_runs():
    shed = shed_with_expert(budget=Budget(depth=0))
    script = script_by_prompt(go=[[call("ask")], "Fine."], sub=[[call("ask")], "Alone."])
    agent = shed.agent(script)
    run = await agent.run("go")
    assert results_of(run)[0].text == "Alone."
    assert "nested deeper than 1" in agent.asked[2].messages[-1].results[0].text


async def test_the_retries_of_a_sub_run_are_those_of_its_budget():
    shed, attempts = shed_with_expert(budget=Budget(retries=1)), []

    @shed.catalog.tool(read_only=True)
    async def knock() -> str:
        """Knock."""
        attempts.append(1)
        raise Transient("the door is closed", happened="no")

    async def sleep(seconds: float) -> None:
        return None

    script = script_by_prompt(go=[[call("ask")], "Fine."], sub=[[call("knock")], "No answer."])
    dispatcher = shed.dispatcher(retry=RetryPolicy(attempts=5), sleep=sleep)
    run = await shed.agent(script, dispatcher=dispatcher).run("go")
    assert (results_of(run)[0].text, len(attempts), run.spent.retries) == ("No answer.", 2, 1)
