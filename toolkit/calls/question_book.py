"""
The questions of a running tool: those that its user has answered, and those that are open.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..errors import DefinitionError
from ..questions import DECLINED, AnsweredQuestion, AnswersNeeded, Question
from ..values.schemas.validator import check_schema
from ..values.strictjson.canonical import encode_canonical
from ..values.strictjson.checks import copy_and_check, copy_json

__all__ = ["CallQuestions", "check_question"]


class CallQuestions:
    """
    The questions of one attempt at a call.

    Args:
        tool: The name of the tool, for messages.
        answers: The questions that the user has answered so far.
    """

    __slots__ = ("_answers", "_open", "_tool")

    def __init__(self, tool: str, answers: Iterable[AnsweredQuestion]) -> None:
        self._tool = tool
        self._answers = {answered.question.key: answered for answered in answers}
        self._open: dict[str, Question] = {}

    @property
    def open_count(self) -> int:
        """How many questions have no answer yet."""
        return len(self._open)

    def ask(self, question: Question) -> bool:
        """
        Return whether *question* has an answer. If it has none, note it as open.

        Raises:
            DefinitionError: The schema of the question cannot be used, or its key stands for another question.
        """
        answered = self._answers.get(question.key)
        known = self._open.get(question.key) if answered is None else answered.question
        if known is None:
            self._open[question.key] = check_question(question, self._tool)
        elif (what := self._find_difference(question, known)) is not None:
            raise DefinitionError(
                f"`{self._tool}` asks the question {question.key!r} with another {what} than before; a tool that runs "
                "again has to ask the same, so give another question a key of its own"
            )
        return answered is not None

    def get_answer(self, key: str) -> Any:
        """Return the user's answer, or raise `AnswersNeeded` with all open questions if there is none."""
        if key not in self._answers:
            raise AnswersNeeded(self._open.values())
        answer = self._answers[key].answer
        return answer if answer is DECLINED else copy_json(answer)  # the tool may change its copy

    def _find_difference(self, question: Question, known: Question) -> str | None:
        """Return what differs between *question* and *known*, which was asked before; None if they are the same."""
        if question.message != known.message:
            return "message"
        # The schemas are compared as text, because 1 and true are equal in Python.
        is_same = encode_canonical(_copy_schema(question, self._tool)) == encode_canonical(dict(known.schema))
        return None if is_same else "schema"


def check_question(question: Question, tool: str) -> Question:
    """
    Return *question* of *tool* with a schema that is plain JSON and can be enforced. The schema is a copy.

    Raises:
        DefinitionError: The schema cannot be used.
    """
    schema = _copy_schema(question, tool)
    check_schema(schema, _describe(question, tool))
    return Question(key=question.key, message=question.message, schema=schema)


def _copy_schema(question: Question, tool: str) -> dict[str, Any]:
    schema, problems = copy_and_check(dict(question.schema))
    if problems:
        raise DefinitionError(f"{_describe(question, tool)}: the schema is not JSON: {problems[0]}")
    return schema  # type: ignore[no-any-return]  # a copy of a dictionary is one


def _describe(question: Question, tool: str) -> str:
    return f"the question {question.key!r} of `{tool}`"
