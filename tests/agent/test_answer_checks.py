"""
Agents with a typed answer: how it is asked for, taken, refused, saved and resumed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import Literal

import pytest

from tests.agent.kit import Shed, call, results_of
from toolkit.agent import Agent, NoAnswer, Run, RunSeal, ToolFinished, sub_run
from toolkit.agent.options import AgentKeywords, AgentOptions
from toolkit.agent.prompts import ANSWER_PROMPT
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import DefinitionError, DuplicateTool
from toolkit.permissions import Permissions
from toolkit.providers import AssistantMessage, Reply, ScriptedProvider, UserMessage

pytestmark = pytest.mark.anyio


@dataclass
class Stock:
    wood: str
    planks: int = 0


OAK = {"wood": "oak", "planks": 3}


def answer(id: str = "", **fields):
    """Return a call that hands over an answer."""
    return [call("final_answer", id, answer=fields)]


def build_typed_agent(script, *, structured=False, shed=None, **options) -> Agent[Stock]:
    shed = shed or Shed()
    return Agent(ScriptedProvider(script, structured=structured), shed.dispatcher(), output=Stock, **options)


def requests_of(agent):
    return agent._options.provider.requests


async def test_the_answer_is_a_call_of_a_tool():
    """A typed final answer: `Agent(..., output=Model)` gives `run.output`, decoded by our codecs, by a tool call."""
    agent = build_typed_agent([[call("look", what="oak")], answer(**OAK)], system="Be brief.")
    run = await agent.run("How much?")
    assert run.output == run.unwrap() == Stock("oak", 3)
    assert run.output is run.output
    assert (run.status, run.turns, json.loads(run.text)) == ("done", 2, OAK)
    first = requests_of(agent)[0]
    assert first.tools[-1] == "final_answer"
    assert first.system == f"Be brief.\n\n{ANSWER_PROMPT}"
    assert first.output is None
    assert results_of(run)[0].kind == "ok"


async def test_the_answer_is_a_text_if_the_provider_structures_it():
    """Another provider uses a tool call for a typed answer."""
    agent = build_typed_agent([[call("look", what="oak")], json.dumps({"answer": OAK})], structured=True)
    run = await agent.run("How much?")
    assert run.output == Stock("oak", 3)
    assert json.loads(run.text) == OAK
    first = requests_of(agent)[0]
    assert "final_answer" not in first.tools
    assert first.output.schema["properties"]["answer"]["required"] == ["wood"]
    assert first.system == ""


@pytest.mark.parametrize(("way", "is_offered"), [("tool", True), ("provider", False)])
async def test_the_way_can_be_chosen(way, is_offered):
    """`output_by` overrides what the provider would choose."""
    agent = build_typed_agent([json.dumps(OAK)], structured=is_offered, output_by=way)
    assert (await agent.run("How much?")).output == Stock("oak", 3)
    assert ("final_answer" in requests_of(agent)[0].tools) is is_offered


@pytest.mark.parametrize("structured", [False, True])
async def test_refused_answers_are_sent_back_to_the_model(structured):
    """Refused answers sent back to the model a bounded number of times."""
    wrong = "It is oak." if structured else answer(wood="oak", planks="many")
    agent = build_typed_agent([wrong, "Oak!", json.dumps(OAK)], structured=structured)
    run = await agent.run("How much?")
    assert (run.output, run.refused_answers, run.turns) == (Stock("oak", 3), 2, 3)
    second, third = requests_of(agent)[1:]
    last = second.messages[-1]
    refusal = last.text if isinstance(last, UserMessage) else last.results[0].text
    assert ("not JSON" if structured else "answer.planks: expected an integer") in refusal
    assert ("JSON in the requested form" if structured else "`final_answer`") in third.messages[-1].text


@pytest.mark.parametrize("retries", [0, 1, 2])
async def test_the_number_of_refusals_is_bounded(retries):
    """Refused answers sent back to the model a bounded number of times."""
    agent = build_typed_agent([answer(planks=1)] * 9, output_retries=retries)
    run = await agent.run("How much?")
    assert (run.status, run.stop, run.turns, run.refused_answers) == ("stopped", "output", retries + 1, retries + 1)
    with pytest.raises(
        NoAnswer, match=r"\(output\): the answer was refused .*answer\.wood: required.*`output_retries`"
    ):
        run.unwrap()


async def test_a_new_prompt_starts_with_a_new_count():
    """The run can be continued after its answers were refused."""
    agent = build_typed_agent([answer(planks=1), answer(planks=2), answer(**OAK)], output_retries=1)
    stopped = await agent.run("How much?")
    assert stopped.stop == "output"
    run = await agent.run(run=stopped)
    assert (run.output, run.refused_answers) == (Stock("oak", 3), 0)


async def test_an_answer_beside_other_calls_is_sent_back_and_the_calls_run():
    """The model has not read their results, so its answer cannot rest on them."""
    shed = Shed()
    agent = build_typed_agent([[call("look", what="oak"), *answer(**OAK)], answer(**OAK)], shed=shed)
    run = await agent.run("How much?")
    assert shed.done == ["look oak"]
    assert [(result.tool, result.kind) for result in results_of(run, 0)] == [
        ("look", "ok"),
        ("final_answer", "cancelled"),
    ]
    assert run.output == Stock("oak", 3)


async def test_two_answers_in_one_reply_are_both_sent_back():
    agent = build_typed_agent([answer(**OAK) + answer(wood="elm"), answer(**OAK)])
    run = await agent.run("How much?")
    assert [result.kind for result in results_of(run, 0)] == ["cancelled", "cancelled"]
    assert run.output == Stock("oak", 3)


async def test_the_last_turn_of_a_budget_may_be_the_answer():
    """An answer needs no further turn, and is no call that a budget counts."""
    run = await build_typed_agent([answer(**OAK)], max_turns=1).run("How much?")
    assert (run.output, run.spent.calls) == (Stock("oak", 3), 0)


async def test_an_answer_that_was_cut_off_is_not_taken():
    """A reply that ran out of room may lack half of the answer."""
    cut = Reply(message=AssistantMessage(calls=tuple(answer("c1", wood="oak"))), stop="length")
    run = await build_typed_agent([cut, answer(**OAK)]).run("How much?")
    assert run.output.planks == 3


async def test_planning_is_not_answering():
    """While the model plans there is no typed answer; `execute` gives it."""
    agent = build_typed_agent(["Count oak.", answer(**OAK)], mode="plan")
    planned = await agent.run("How much?")
    assert (planned.status, planned.plan) == ("planned", "Count oak.")
    assert "final_answer" not in requests_of(agent)[0].tools
    assert (await agent.execute(planned)).output == Stock("oak", 3)


async def test_a_typed_run_survives_saving_and_loading():
    """A typed final answer ... survives saving/loading a Run."""
    run = await build_typed_agent([answer(**OAK)]).run("How much?")
    loaded = Run.loads(run.dumps(), output=Stock)
    assert loaded == run
    assert loaded.output == run.output
    assert Run.from_json(json.loads(json.dumps(run.to_json())), output=Stock).output == run.output
    seal = RunSeal(b"thirty-two random bytes, or more.")
    assert seal.open(seal.seal(run), output=Stock).output == run.output


async def test_a_loaded_run_without_its_type_is_an_error():
    """JSON is not silently returned as a value of the type."""
    run = Run.loads((await build_typed_agent([answer(**OAK)]).run("How much?")).dumps())
    assert json.loads(run.text) == OAK
    with pytest.raises(NoAnswer, match=r"Run\.loads\(text, output=\.\.\.\)"):
        run.unwrap()


async def test_a_run_of_another_type_is_refused():
    """A saved run may be of another agent, or an older version of the type."""
    typed, plain = await build_typed_agent([answer(**OAK)]).run("?"), await Shed().agent(["Oak."]).run("?")
    with pytest.raises(ValueError, match="not a run of this type: answer: expected"):
        Run.loads(typed.dumps(), output=list[int])
    with pytest.raises(ValueError, match="not a run of this type: its answer is a text"):
        Run.loads(plain.dumps(), output=Stock)
    with pytest.raises(DefinitionError, match="^output: "):
        Run.loads(plain.dumps(), output=3)


@pytest.mark.parametrize(
    ("field", "value"), [("answer", 3), ("answer", {}), ("refused_answers", -1), ("refused_answers", True)]
)
async def test_a_malformed_saved_answer_is_refused(field, value):
    """The message names the field."""
    data = (await build_typed_agent([answer(**OAK)]).run("?")).to_json()
    with pytest.raises(ValueError, match=f"not a run: `{field}` has to be"):
        Run.from_json({**data, field: value})
    with pytest.raises(ValueError, match="it has an answer, and is not done"):
        Run.from_json({**data, "status": "stopped"})


async def test_a_typed_run_waits_and_is_resumed():
    """A typed final answer ... survives ... resuming, and so does the count of refusals."""
    shed = Shed()
    script = [answer(planks=1), [call("cut", wood="oak")], answer(planks=1), answer(**OAK)]
    agent = build_typed_agent(script, shed=shed)
    waiting = await agent.run("Cut and count.")
    assert (waiting.status, waiting.refused_answers) == ("waiting", 1)
    loaded = Run.loads(waiting.dumps(), output=Stock)
    run = await agent.resume(loaded, {loaded.requests[0].id: Decision.approve()})
    assert (shed.done, run.output, run.refused_answers) == (["cut oak"], Stock("oak", 3), 2)


async def test_permissions_and_hooks_do_not_see_an_answer_as_a_call():
    """The tool is a form: it runs nothing, so a rule that denies everything does not stop the answer."""
    names = []

    class Listener:
        def before(self, call):
            names.append(call.name)

    dispatcher = Dispatcher(Catalog(), permissions=Permissions("default", ["deny *"]), hooks=[Listener()])
    run = await Agent(ScriptedProvider([answer(**OAK)]), dispatcher, output=Stock).run("?")
    assert (run.output, names) == (Stock("oak", 3), [])


async def test_events_tell_of_a_refused_answer():
    """A host can show what was refused."""
    agent = build_typed_agent([answer(planks=1), answer(**OAK)])
    kinds = [event.result.kind async for event in agent.stream("?") if isinstance(event, ToolFinished)]
    assert kinds == ["bad_args", "ok"]


async def test_a_conversation_goes_on_after_a_typed_answer():
    """The next prompt has its own answer."""
    agent = build_typed_agent([answer(**OAK), answer(wood="elm")])
    first = await agent.run("Oak?")
    second = await agent.run("Elm?", run=first)
    assert (first.output, second.output) == (Stock("oak", 3), Stock("elm"))


@pytest.mark.parametrize("options", [{}, {"output": str}], ids=["no output", "str"])
async def test_the_answer_is_a_text_by_default(options):
    agent = Shed().agent(["Three."], **options)
    run = await agent.run("How many?")
    assert (run.output, run.answer) == ("Three.", None)
    assert "final_answer" not in agent.asked[0].tools


async def test_the_final_answer_tool_is_absent_by_default():
    run = await Shed().agent([[call("final_answer", answer=1)], "Three."]).run("How many?")
    assert results_of(run)[0].kind == "not_found"


async def test_a_choice_of_words_is_an_answer():
    """Every type hint that has a codec can be the type of an answer."""
    agent = Agent(ScriptedProvider([[call("final_answer", answer="no")]]), Catalog(), output=Literal["yes", "no"])
    assert (await agent.run("Is there oak?")).output == "no"


async def test_a_users_provider_works_without_structured_output():
    """A provider without structured output gets the tool."""

    class Parrot:
        name, model = "parrot", "grey"

        async def reply(self, request):
            assert [tool.name for tool in request.catalog.offered()] == ["final_answer"]
            return Reply(message=AssistantMessage(calls=tuple(answer("c1", **OAK))), stop="calls")

    assert (await Agent(Parrot(), [], output=Stock).run("?")).output == Stock("oak", 3)
    with pytest.raises(ValueError, match=r'output_by: Parrot has no structured output; write output_by="tool"'):
        Agent(Parrot(), [], output=Stock, output_by="provider")


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"output": "Stock"}, DefinitionError, "without quotes"),
        ({"output": Stock("oak")}, DefinitionError, "has no JSON form"),
        ({"output_retries": -1}, ValueError, "output_retries has to be 0 or more"),
        ({"output_retries": "2"}, TypeError, "output_retries cannot be str"),
        ({"output_by": "provder"}, ValueError, "did you mean `provider`"),
    ],
)
def test_invalid_options_are_refused_at_construction(options, error, words):
    """The error has the option and the remedy."""
    with pytest.raises(error, match=words):
        Agent(ScriptedProvider([]), [], **options)


def test_a_tool_of_the_same_name_is_refused():
    """The host's own `final_answer` would hide the agent's."""

    def final_answer() -> None:
        """Answer."""

    with pytest.raises(DuplicateTool, match="`final_answer`"):
        Agent(ScriptedProvider([]), [final_answer], output=Stock)
    Agent(ScriptedProvider([]), [final_answer])


def test_the_options_for_type_checkers_are_those_of_the_agent():
    """A new option of `Agent` has to be in both."""
    options = {option.name for option in fields(AgentOptions)} - {"provider", "output"}
    assert (
        options | {"hand_over_to", "mode", "plan_tools", "session", "telemetry"} == AgentKeywords.__annotations__.keys()
    )


def helper_catalog(shed, stocks):
    @shed.catalog.tool(read_only=True)
    async def ask_helper(question: str, context: Context) -> str:
        """Ask a helper."""
        stock = await sub_run(question, context=context, output=Stock)
        stocks.append(stock)
        return f"{stock.planks} of {stock.wood}"

    return shed


async def test_a_sub_run_has_a_typed_answer():
    """A typed final answer ... sub-agents too."""
    stocks = []
    shed = helper_catalog(Shed(), stocks)
    agent = shed.agent([[call("ask_helper", question="oak?")], answer(planks=1), answer(**OAK), "Three."])
    run = await agent.run("How much?")
    assert (stocks, run.output, results_of(run)[0].text) == ([Stock("oak", 3)], "Three.", "3 of oak")
    assert ["final_answer" in request.tools for request in agent.asked] == [False, True, True, False]
    assert run.refused_answers == 0


async def test_a_sub_run_of_a_typed_agent_answers_with_a_text():
    """The type belongs to the agent's own answer."""
    shed = Shed()

    @shed.catalog.tool(read_only=True)
    async def ask_helper(question: str, context: Context) -> str:
        """Ask a helper."""
        return await sub_run(question, context=context)

    agent = build_typed_agent([[call("ask_helper", question="oak?")], "Three.", answer(**OAK)], shed=shed)
    run = await agent.run("How much?")
    assert (results_of(run, 0)[0].text, run.output) == ("Three.", Stock("oak", 3))


async def test_a_typed_sub_run_waits_and_is_resumed_in_another_process():
    """A typed final answer ... survives saving/loading a Run and resuming; sub-agents too."""
    stocks = []
    shed = helper_catalog(Shed(), stocks)
    script = [
        [call("ask_helper", question="oak?")],
        [call("cut", wood="oak")],
        answer(planks=1),
        answer(**OAK),
        "Three.",
    ]
    agent = shed.agent(script)
    waiting = await agent.run("How much?")
    loaded = Run.loads(waiting.dumps())
    assert loaded == waiting
    run = await agent.resume(loaded, {loaded.requests[0].id: Decision.approve()})
    assert (run.output, stocks) == ("Three.", [])  # the rest of the tool's own code is not run
    assert results_of(run)[0].value == OAK
    assert "final_answer" in agent.asked[2].tools


async def test_a_saved_sub_run_with_a_changed_form_is_refused():
    """A saved run is data that may have been changed."""
    shed = helper_catalog(Shed(), [])
    waiting = await shed.agent([[call("ask_helper", question="oak?")], [call("cut", wood="oak")]]).run("?")
    data = waiting.to_json()
    data["subs"][0]["output"] = {"properties": {"answer": {"type": 3}}}
    with pytest.raises(ValueError, match=r"subs\[0\]: not the form of an answer"):
        Run.from_json(data)
