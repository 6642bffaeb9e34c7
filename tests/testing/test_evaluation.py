"""
The evaluation of a model's choice of tools: cases, judgement, scores, confusions, and the last run.
"""

from __future__ import annotations

import json
from typing import Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, CatalogError
from toolkit.providers import Reply, ScriptedProvider, Usage
from toolkit.providers.messages import AssistantMessage
from toolkit.results import ToolCall
from toolkit.testing import Evaluation, Score, compare_evaluations, evaluate, make_call, read_cases
from toolkit.testing.evaluation import NO_CALL, EvaluationChange

pytestmark = pytest.mark.anyio


def look_up(order: int, detail: Literal["short", "full"] = "short", note: str | None = None) -> str:
    """Look an order up."""
    return str(order)


def refund(order: int, reason: str, address: dict[str, str] | None = None) -> str:
    """Pay an order back."""
    return str(order)


catalog = Catalog()
catalog.tool(read_only=True, aliases=["find_order"])(look_up)
catalog.tool(defer=True)(refund)

LATE = {"id": "late", "question": "Where is order 7?", "ground_truth": [{"look_up": {"order": [7]}}]}
BROKEN = {"id": "broken", "question": "It broke!", "ground_truth": [{"refund": {"order": [7], "reason": ["It broke"]}}]}
THANKS = {"id": "thanks", "question": "Thank you.", "ground_truth": []}


@pytest.fixture
def write(tmp_path):
    def write(*cases):
        path = tmp_path / "cases.jsonl"
        path.write_text("\n".join(case if isinstance(case, str) else json.dumps(case) for case in cases))
        return path

    return write


@pytest.fixture
def ask(write):
    """Evaluate cases with a script of replies."""

    async def ask(cases, *replies):
        return await evaluate(catalog, read_cases(write(*cases), catalog), ScriptedProvider(replies))

    return ask


def call(name, **arguments):
    return make_call(name, arguments)


async def test_right_and_wrong_cases_are_counted(ask):
    evaluation = await ask([LATE, BROKEN, THANKS], [call("look_up", order=7)], [call("look_up", order=7)], "You too.")
    assert [result.is_right for result in evaluation.results] == [True, False, True]
    assert str(evaluation.score) == "2 of 3 right: 67% (21% to 94%)"
    assert evaluation.results[1].reason == "called look_up, expected refund"
    assert evaluation.confusions() == {("refund", "look_up"): 1}
    assert {name: score.right for name, score in evaluation.scores_by_tool().items()} == {
        NO_CALL: 1,
        "look_up": 1,
        "refund": 0,
    }


async def test_the_right_tool_with_wrong_arguments_counts_as_a_right_choice_only(ask):
    evaluation = await ask([LATE], [call("look_up", order=8)])
    assert (evaluation.tool_choice, evaluation.score) == (Score(1, 1), Score(0, 1))
    assert evaluation.results[0].reason == "look_up: order is 8, expected 7"
    assert evaluation.confusions() == {}


ARGUMENTS = {
    "as expected": ({"order": [7]}, {"order": 7}, True),
    "one of several": ({"order": [6, 7]}, {"order": 7}, True),
    "a float for an integer": ({"order": [7]}, {"order": 7.0}, True),
    "a bool for an integer": ({"order": [1]}, {"order": True}, False),
    "a default that is sent": ({"order": [7]}, {"order": 7, "detail": "short"}, True),
    "null for a parameter without a value": ({"order": [7]}, {"order": 7, "note": None}, True),
    "another value than the default": ({"order": [7]}, {"order": 7, "detail": "full"}, False),
    "a default that is left out": ({"order": [7], "detail": ["short"]}, {"order": 7}, True),
    "a value that may be left out": ({"order": [7], "detail": ["full", ""]}, {"order": 7}, True),
    "a value that has to be sent": ({"order": [7], "detail": ["full"]}, {"order": 7}, False),
    "a text in other letters": ({"order": [7], "note": ["New York, NY"]}, {"order": 7, "note": "new york NY"}, True),
    "a missing argument": ({"order": [7]}, {}, False),
    "no object": ({"order": [7]}, "order=7", False),
}


@pytest.mark.parametrize("name", ARGUMENTS)
async def test_arguments_are_judged_by_the_values_that_are_right(ask, name):
    expected, actual, is_right = ARGUMENTS[name]
    case = {"id": "x", "question": "?", "ground_truth": [{"look_up": expected}]}
    evaluation = await ask([case], [ToolCall("look_up", actual)])
    assert evaluation.results[0].is_right is is_right
    assert bool(evaluation.results[0].reason) is not is_right


async def test_objects_are_judged_as_in_bfcl(ask):
    """Inside an object, each value is a list of the values that are right."""
    address = {"city": ["Berlin", "berlin"], "street": [""]}
    case = {
        "id": "x",
        "question": "?",
        "ground_truth": [{"refund": {"order": [7], "reason": ["x"], "address": [address]}}],
    }
    right = call("refund", order=7, reason="x", address={"city": "Berlin"})
    wrong = call("refund", order=7, reason="x", address={"city": "Paris"})
    assert [(await ask([case], [reply])).score.right for reply in (right, wrong)] == [1, 0]


async def test_calls_may_come_in_any_order(ask):
    """A call that fits two expectations is given to the one that needs it."""
    case = {"id": "x", "question": "?", "ground_truth": [{"look_up": {"order": [1, 2]}}, {"look_up": {"order": [1]}}]}
    first, second = call("look_up", order=1), call("look_up", order=2)
    assert [
        (await ask([case], list(calls))).score.right for calls in ((first, second), (second, first), (second, second))
    ] == [1, 1, 0]


async def test_further_answers_are_right_too(ask):
    case = {**LATE, "alternatives": [[{"refund": {"order": [7], "reason": ["late"]}}], []]}
    replies = [[call("look_up", order=7)], [call("refund", order=7, reason="late")], "It is late."]
    assert [(await ask([case], reply)).score.right for reply in replies] == [1, 1, 1]


async def test_an_alias_is_the_tool(ask):
    assert (await ask([LATE], [call("find_order", order=7)])).score.right == 1


async def test_a_call_too_many_is_a_confusion(ask):
    evaluation = await ask([LATE, THANKS], "No idea.", [call("refund", order=1, reason="x")])
    assert evaluation.confusions() == {("look_up", NO_CALL): 1, (NO_CALL, "refund"): 1}


async def test_questions_of_bfcl_are_read_and_deferred_tools_offered(write):
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Hi"}]
    provider = ScriptedProvider(["x", "y"])
    cases = read_cases(write({**THANKS, "question": [messages]}, "", {**LATE, "question": messages[1:]}), catalog)
    await evaluate(catalog, cases, provider, system="Be kind.")
    assert [request.system for request in provider.requests] == ["Be brief.", "Be kind."]
    assert [request.messages[0].text for request in provider.requests] == ["Hi", "Hi"]
    assert provider.requests[0].tools == ("look_up", "refund")


MISTAKES = {
    "{": "line 1: Expecting property name",
    "[]": "line 1: ",
    '{"ground_truth": []}': "line 1: 'question' is missing",
    '{"question": "?"}': "line 1: 'ground_truth' is missing",
    '{"question": "?", "ground_truth": [{"lok_up": {}}]}': "there is no tool 'lok_up'; did you mean 'look_up'",
    '{"question": "?", "ground_truth": [{"look_up": {"ordr": [1]}}]}': "no parameter 'ordr'; did you mean 'order'",
    '{"question": "?", "ground_truth": [{"look_up": {"order": 1}}]}': r"order: expected a list .* such as \[1\]",
    '{"question": [[], []], "ground_truth": []}': "several turns",
    '{"question": [{"role": "tool", "content": ""}], "ground_truth": []}': "the role 'tool'",
    '{"id": 1, "question": "?", "ground_truth": []}\n{"id": 1, "question": "?", "ground_truth": []}': "line 2: the id '1'",
}


@pytest.mark.parametrize("text", MISTAKES)
def test_a_mistake_in_a_case_names_its_line(write, text):
    with pytest.raises(CatalogError, match=rf"cases.jsonl, .*{MISTAKES[text]}"):
        read_cases(write(text), catalog)


def test_a_file_that_is_not_there_is_named(tmp_path):
    with pytest.raises(CatalogError, match="cannot read the cases in .*none.jsonl"):
        read_cases(tmp_path / "none.jsonl", catalog)


async def test_tokens_are_added_up(ask):
    reply = Reply(message=AssistantMessage(text="x"), stop="answer", usage=Usage(input_tokens=10, output_tokens=3))
    evaluation = await ask([LATE, THANKS], reply, reply)
    assert evaluation.usage == Usage(input_tokens=20, output_tokens=6)


async def test_an_evaluation_can_be_kept_and_compared(ask):
    old = await ask([LATE, BROKEN, THANKS], [call("look_up", order=7)], "x", "y")
    new = await ask([LATE, BROKEN, THANKS], "x", [call("refund", order=7, reason="it broke.")], "y")
    restored = Evaluation.from_json(json.loads(json.dumps(old.to_json())))
    assert restored.to_json() == json.loads(json.dumps(old.to_json()))
    assert compare_evaluations(restored, new) == EvaluationChange(("broken",), ("late",))
    assert compare_evaluations(old, old).chance == 1.0


@pytest.mark.parametrize("data", [None, [], {}, {"version": 2}, {"version": 1, "results": [{}]}])
def test_malformed_evaluation_data_is_refused(data):
    with pytest.raises(ValueError, match="evaluation"):
        Evaluation.from_json(data)


@given(st.integers(1, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_the_interval_is_that_of_wilson(counts):
    """At both ends the observed rate is 1.96 standard errors of that end away."""
    score = Score(*counts)
    for end in score.interval:
        distance = (score.rate - end) ** 2
        assert distance == pytest.approx(1.959964**2 * end * (1 - end) / score.total, rel=1e-4, abs=1e-12)


@given(st.integers(0, 500).flatmap(lambda total: st.tuples(st.integers(0, total), st.just(total))))
def test_the_interval_holds_the_rate(counts):
    score = Score(*counts)
    low, high = score.interval
    assert 0 <= low <= score.rate + 1e-12
    assert score.rate - 1e-12 <= high <= 1


@pytest.mark.parametrize(("right", "wrong", "chance"), [(0, 0, 1.0), (1, 1, 1.0), (0, 5, 0.0625), (8, 1, 0.0390625)])
def test_the_chance_is_that_of_the_exact_test(right, wrong, chance):
    assert EvaluationChange(("x",) * right, ("x",) * wrong).chance == chance
