"""
The form of a typed answer: which types it takes, and what it reads as an answer.
"""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, TypedDict

import pydantic
import pytest
from annotated_types import Ge
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog
from toolkit.agent.final_answers import UNREAD, AnswerFormat, check_name_is_free, is_final_answer
from toolkit.errors import BadArgs, DefinitionError, DuplicateTool


@dataclass
class Bill:
    total: float
    day: dt.date
    note: str = ""


class Place(TypedDict):
    town: str


class Person(pydantic.BaseModel):
    age: Annotated[int, pydantic.Field(ge=0)]


class Color(Enum):
    RED = "red"


@dataclass
class Unfinished:
    later: Nowhere  # noqa: F821 -- it is not defined on purpose


BILL = {"total": 3, "day": "2026-01-02"}
ANSWERS: list[tuple[Any, Any, Any]] = [
    (Bill, BILL, Bill(3.0, dt.date(2026, 1, 2))),
    (Place, {"town": "Oslo"}, {"town": "Oslo"}),
    (Person, {"age": 3}, Person(age=3)),
    (Color, "red", Color.RED),
    (Literal["yes", "no"], "no", "no"),
    (list[Bill], [BILL], [Bill(3.0, dt.date(2026, 1, 2))]),
    (dict[str, int], {"a": 1}, {"a": 1}),
    (Bill | None, None, None),
    (tuple[int, str], [1, "a"], (1, "a")),
    (Annotated[int, Ge(1)], 5, 5),
    (bool, True, True),
]


FORMS = {
    "arguments": lambda answer_format, sent: answer_format.read_arguments({"answer": sent}),
    "arguments as text": lambda answer_format, sent: answer_format.read_arguments(json.dumps({"answer": sent})),
    "text": lambda answer_format, sent: answer_format.read_text(json.dumps(sent)),
    "code block": lambda answer_format, sent: answer_format.read_text(f"```json\n{json.dumps({'answer': sent})}\n```"),
}
"""How a model may send an answer."""


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("hint", "sent", "value"), ANSWERS, ids=[str(hint) for hint, *_ in ANSWERS])
def test_every_hint_of_our_codecs_can_be_an_answer(hint, sent, value, form):
    """The value is decoded by our codecs."""
    answer_format = AnswerFormat.of(hint)
    answer = FORMS[form](answer_format, sent)
    assert (answer.json, answer.value) == (sent, value)
    assert type(answer.value) is type(value)
    again = answer_format.read_json(answer.json)
    assert again.value == value


@pytest.mark.parametrize(("hint", "sent", "value"), ANSWERS, ids=[str(hint) for hint, *_ in ANSWERS])
def test_a_form_can_be_made_from_its_schema(hint, sent, value):
    """The type is not saved, but its schema is, and it takes the same JSON."""
    answer_format = AnswerFormat.of(hint)
    copy = AnswerFormat.from_schema(json.loads(json.dumps(answer_format.schema)))
    assert copy == answer_format
    assert copy.read_json(sent).json == sent


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner, max_size=3)))
def test_json_that_does_not_fit_the_answer_type_is_refused_with_problems(value):
    answer_format = AnswerFormat.of(Bill)
    with pytest.raises(BadArgs) as raised:
        answer_format.read_json(value)
    assert raised.value.problems


@given(st.floats(allow_nan=False, allow_infinity=False), st.dates(), st.text())
def test_an_answer_goes_to_json_and_back(total, day, note):
    """`read_json` reads the `json` of an answer as the same value."""
    answer_format = AnswerFormat.of(Bill)
    answer = answer_format.read_arguments({"answer": {"total": total, "day": day.isoformat(), "note": note}})
    assert answer.value == Bill(total, day, note)
    assert answer_format.read_json(json.loads(json.dumps(answer.json))).value == answer.value


def test_a_refusal_names_every_problem_and_its_place():
    """The model is told all at once, so that one correction is enough."""
    with pytest.raises(BadArgs) as raised:
        AnswerFormat.of(Bill).read_arguments({"answer": {"total": "much", "when": "now"}})
    assert [problem.path for problem in raised.value.problems] == [
        ("answer", "total"),
        ("answer", "day"),
        ("answer", "when"),
    ]


def test_a_bare_answer_is_read_and_its_problems_are_those_of_the_answer():
    """Models leave out the one key of the object and send the answer itself."""
    answer_format = AnswerFormat.of(Bill)
    assert answer_format.read_arguments(BILL).value.total == 3.0
    with pytest.raises(BadArgs, match=r"^answer\.total: expected a number"):
        answer_format.read_arguments({**BILL, "total": "much"})


def test_repairs_are_reported():
    """An answer is repaired as arguments are, and the repair is listed."""
    answer = AnswerFormat.of(int).read_arguments({"answer": "5"})
    assert answer.value == 5
    assert answer.repairs


def test_nulls_that_strict_mode_forces_are_not_given():
    """A provider's strict mode sends an optional field that is not used as null."""
    assert AnswerFormat.of(Bill).read_text(json.dumps({"answer": {**BILL, "note": None}})).value.note == ""


def test_a_word_alone_is_read_where_the_type_is_a_choice_of_words():
    """A text that is not JSON counts only if it is of the type without a repair."""
    assert AnswerFormat.of(Literal["yes", "no"]).read_text(" yes\n").value == "yes"
    with pytest.raises(BadArgs, match="not JSON"):
        AnswerFormat.of(list[str]).read_text("yes")


@pytest.mark.parametrize("hint", [None, str])
def test_a_text_answer_needs_no_form(hint):
    """An agent without an output type is as simple as before."""
    assert AnswerFormat.of(hint) is None


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        ("Bill", "without quotes"),
        (Bill(1.0, dt.date.min), "has no JSON form"),
        (Callable[[int], int], "cannot send a function"),
        (Unfinished, "Nowhere"),
    ],
    ids=["name", "instance", "function", "undefined"],
)
def test_a_type_without_a_json_form_is_refused_as_output(hint, words):
    with pytest.raises(DefinitionError, match=f"^output: .*{words}"):
        AnswerFormat.of(hint)


@pytest.mark.parametrize(
    "schema",
    [None, 3, {}, {"properties": None}, {"properties": {"answer": 3}}, {"properties": {"answer": {"type": 3}}}],
)
def test_a_malformed_answer_schema_is_refused(schema):
    """A saved run is data that may have been changed."""
    with pytest.raises(ValueError, match="not the form of an answer"):
        AnswerFormat.from_schema(schema)


def test_a_form_from_a_schema_leaves_the_value_as_json():
    """Decoding needs the type."""
    assert AnswerFormat.from_schema(AnswerFormat.of(Bill).schema).read_json(BILL).value == BILL
    assert repr(UNREAD) == "UNREAD"


@pytest.mark.parametrize(
    ("name", "is_meant"),
    [
        ("final_answer", True),
        ("finalAnswer", True),
        ("Final-Answer", True),
        ("answer", False),
        ("final_answer2", False),
    ],
)
def test_a_name_with_other_separators_is_meant(name, is_meant):
    """Models change the case and the separators of names."""
    assert is_final_answer(name) is is_meant


def test_the_name_belongs_to_the_agent():
    """A tool of the host with this name would hide the answer."""

    def final_answer() -> None:
        """Answer."""

    with pytest.raises(DuplicateTool, match=r"`output=`.*cannot be called that.*`filtered`"):
        check_name_is_free(Catalog(final_answer))
    check_name_is_free(Catalog())
