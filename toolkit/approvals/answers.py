"""
Checking the answers to the questions of a request, against the schema of each question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..errors import Problem, find_nearest
from ..policies.redaction import Redaction
from ..questions import DECLINED, AnsweredQuestion, Question
from ..values.schemas.messages import explain_errors
from ..values.schemas.validator import compile_schema
from ..values.strictjson.checks import copy_and_check
from .records import ApprovalError, Record

__all__ = ["answer_questions", "find_answer_problems"]

_MAX_PROBLEMS = 10


def answer_questions(
    record: Record, answers: Mapping[str, Any] | None, redaction: Redaction
) -> tuple[AnsweredQuestion, ...]:
    """
    Return the questions of *record* with their *answers*, in the order of the questions.

    Raises:
        ApprovalError: A question has no answer, an answer has no question, or an answer does not fit its schema.
    """
    answers = {} if answers is None else dict(answers)
    questions = record.asked_questions
    problems = [*_find_wrong_keys(questions, answers, redaction)]
    answered = []
    for question in questions:
        if question.key in answers:
            answer, answer_problems = find_answer_problems(question, answers[question.key], redaction)
            problems += [f"the answer to {question.key!r} does not fit: {problem}" for problem in answer_problems]
            answered.append(AnsweredQuestion(question=question, answer=answer))
    if problems:
        more = f"; and {len(problems) - _MAX_PROBLEMS} more" if len(problems) > _MAX_PROBLEMS else ""
        raise ApprovalError(
            f"request {record.request.id}: {'; '.join(problems[:_MAX_PROBLEMS])}{more}; the request is still open, so "
            "answer it again",
            why="answers",
        )
    return tuple(answered)


def _find_wrong_keys(questions: Sequence[Question], answers: Mapping[Any, Any], redaction: Redaction) -> Iterator[str]:
    """Yield what is wrong with the keys of *answers*."""
    keys = [question.key for question in questions]
    if not keys and answers:
        yield "it asks no question, so an answer has no place; leave answers= out"
        return
    for key in answers:
        if key not in keys:
            near = find_nearest(key, keys, max_items=1) if isinstance(key, str) else []
            remedy = f"did you mean {near[0]!r}?" if near else f"it asks {', '.join(map(repr, keys))}"
            yield f"it does not ask {redaction.mask_text(str(key))[:64]!r}; {remedy}"
    for question in questions:
        if question.key not in answers:
            yield (
                f"its question {question.key!r} has no answer; give Decision.approve(answers={{{question.key!r}: "
                "...}), with DECLINED if the user does not want to answer"
            )


def find_answer_problems(
    question: Question, answer: Any, redaction: Redaction | None = None
) -> tuple[Any, list[Problem]]:
    """
    Return a copy of *answer* as plain JSON, and why it cannot be the answer to *question*. `DECLINED` always can.

    The problems are masked with *redaction*.
    """
    if redaction is None:
        return _find_problems(question, answer)
    copied, problems = _find_problems(question, answer)
    if not problems:
        return copied, []
    # The answer is masked before it is quoted, because a quote may be cut, and a part of a secret is not recognised.
    masked = redaction.mask_value(copied)
    if masked != copied:
        problems = _find_problems(question, masked)[1] or [Problem("it is refused, and it may not be shown")]
    return copied, [
        Problem(redaction.mask_text(problem.message), tuple(redaction.mask_value(list(problem.path))))
        for problem in problems
    ]


def _find_problems(question: Question, answer: Any) -> tuple[Any, list[Problem]]:
    if answer is DECLINED:
        return answer, []
    copied, problems = copy_and_check(answer)
    if problems:
        return None, problems
    try:
        return copied, explain_errors(compile_schema(dict(question.schema)).iter_errors(copied))
    except ValueError as error:  # the check would take too long
        return copied, [Problem(str(error))]
