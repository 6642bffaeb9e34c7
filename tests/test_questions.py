"""
Questions and answers as records: their JSON, and the answer that is none.
"""

from __future__ import annotations

import copy
import json
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.questions import DECLINED, AnsweredQuestion, AnswersNeeded, Declined, Question, find_answers_needed

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=5,
)
TEXTS = st.text(min_size=1, max_size=8).filter(str.strip)
QUESTIONS = st.builds(Question, key=TEXTS, message=TEXTS, schema=st.dictionaries(st.text(), JSON, max_size=2))
ASKED = Question(key="size", message="Which size?", schema={"type": "string"})


@given(QUESTIONS, JSON | st.just(DECLINED))
def test_an_answered_question_comes_back_unchanged_from_json(question, answer):
    """No JSON value is confused with `DECLINED`."""
    answered = AnsweredQuestion(question=question, answer=answer)
    read = AnsweredQuestion.from_json(json.loads(json.dumps(answered.to_json())))
    assert read == answered
    assert (read.answer is DECLINED) == (answer is DECLINED)


@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_declined_is_one_object(copied):
    """A copy, a pickle and a new object of the class are the same object, and it is false."""
    assert copied(DECLINED) is DECLINED
    assert Declined() is DECLINED
    assert not DECLINED


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("x", "is no AnsweredQuestion"),
        ({**ASKED.to_json()}, "it has to have an answer, or to be declined"),
        ({**ASKED.to_json(), "answer": 1, "declined": True}, "it has to have an answer, or to be declined"),
        ({**ASKED.to_json(), "declined": False}, "it has to have an answer, or to be declined"),
        ({**ASKED.to_json(), "answer": 1, "more": 1}, "is no Question: it has to have a key"),
        ({**ASKED.to_json(), "key": 1, "answer": 1}, "is no Question: the key of a question is a text"),
    ],
)
def test_malformed_data_of_an_answered_question_is_refused(data, words):
    """The error says what is missing."""
    with pytest.raises(ValueError, match=words):
        AnsweredQuestion.from_json(data)


def test_a_question_to_a_program_keeps_its_request():
    """The other questions have the form that they always had."""
    question = Question(key="a", message="A?", schema={}, request={"method": "roots/list", "params": {}})
    assert Question.from_json(question.to_json()) == question
    assert "request" not in ASKED.to_json()
    with pytest.raises(ValueError, match="has a method and parameters"):
        Question.from_json({**question.to_json(), "request": {"params": {}}})


def test_a_group_of_questions_is_one():
    """Groups inside groups too, but not with another error in them."""
    other = Question(key="b", message="B?", schema={})
    needed = BaseExceptionGroup("", [AnswersNeeded([ASKED]), BaseExceptionGroup("", [AnswersNeeded([other, ASKED])])])
    questions = find_answers_needed(needed)
    assert questions is not None
    assert questions.questions == (ASKED, other)
    assert find_answers_needed(BaseExceptionGroup("", [AnswersNeeded([ASKED]), ValueError("x")])) is None
    assert find_answers_needed(ValueError("x")) is None
