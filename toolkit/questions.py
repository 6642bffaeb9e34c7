"""
The questions that a running tool asks its user, and the answers.

The records here are plain JSON, so that a program can store, send and show them elsewhere. `DECLINED` has a form of its
own there, which no answer can have.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, final

from ._plumbing.records import record

__all__ = ["DECLINED", "AnsweredQuestion", "AnswersNeeded", "Declined", "Question", "find_answers_needed"]

_MAX_KEY_CHARS = 200
_MAX_SHOWN_CHARS = 200


@final
class Declined:
    """
    The class of `DECLINED`, the answer of a user who does not want to answer a question.

    It is false, so that `if await context.ask(...)` does not take it for a yes. Tell it from other answers with `is`.
    """

    __slots__ = ()

    def __new__(cls) -> Declined:
        return DECLINED

    def __bool__(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "DECLINED"

    def __reduce__(self) -> str:
        return "DECLINED"  # a copy, and what a pickle gives back, is the same object


DECLINED: Final = object.__new__(Declined)
"""The answer of a user who does not want to answer."""


@record(frozen=True, slots=True, kw_only=True)
class Question:
    """
    A question that a tool asks its user.

    Attributes:
        key: The name of the question, which is unique in its call. An answer names the question by it.
        message: What the user reads.
        schema: The JSON Schema that an answer has to fit.
        request: The method and the parameters of a request to an MCP client, if its program answers, and no person.
    """

    key: str
    message: str
    schema: Mapping[str, Any]
    request: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        for name, text in (("key", self.key), ("message", self.message)):
            if not isinstance(text, str):
                raise TypeError(f"the {name} of a question is a text, got {type(text).__name__}")
            if not text.strip():
                raise ValueError(f"the {name} of a question is empty; write one")
        if len(self.key) > _MAX_KEY_CHARS:
            raise ValueError(f"the key of a question has at most {_MAX_KEY_CHARS} characters, got {len(self.key):,}")
        if not isinstance(self.schema, Mapping):
            raise TypeError(
                f"the schema of the question {self.key!r} is a JSON Schema as a dictionary, such as "
                f'{{"type": "integer"}}; got {type(self.schema).__name__}'
            )
        if self.request is not None and not (isinstance(self.request, Mapping) and "method" in self.request):
            raise TypeError(f"the request of the question {self.key!r} has a method and parameters")

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain JSON."""
        request = {} if self.request is None else {"request": dict(self.request)}
        return {"key": self.key, "message": self.message, "schema": dict(self.schema), **request}

    @classmethod
    def from_json(cls, data: Any) -> Question:
        """Return the question that `to_json` wrote; raise `ValueError` for anything else."""
        if not isinstance(data, Mapping) or data.keys() - {"request"} != {"key", "message", "schema"}:
            raise ValueError(f"{data!r:.60} is no Question: it has to have a key, a message and a schema")
        try:
            return cls(**data)
        except (TypeError, ValueError) as error:
            raise ValueError(f"{data!r:.60} is no Question: {error}") from None


@record(frozen=True, slots=True, kw_only=True)
class AnsweredQuestion:
    """
    A question with the answer of the user.

    Attributes:
        question: The question.
        answer: A JSON value that fits the schema of the question, or `DECLINED`.
    """

    question: Question
    answer: Any

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain JSON. In place of an answer, `DECLINED` has a field of its own."""
        answer = {"declined": True} if self.answer is DECLINED else {"answer": self.answer}
        return {**self.question.to_json(), **answer}

    @classmethod
    def from_json(cls, data: Any) -> AnsweredQuestion:
        """Return the record that `to_json` wrote; raise `ValueError` for anything else."""
        fields = dict(data) if isinstance(data, Mapping) else {}
        if ("answer" in fields) == ("declined" in fields) or fields.get("declined", True) is not True:
            raise ValueError(f"{data!r:.60} is no AnsweredQuestion: it has to have an answer, or to be declined")
        answer = DECLINED if fields.pop("declined", False) else fields.pop("answer")
        return cls(question=Question.from_json(fields), answer=answer)


class AnswersNeeded(BaseException):
    """
    Raised by `Context.ask` if the user has not answered yet. The call waits, and runs again from its start.

    It is no `Exception`, so that a tool that catches all errors of its own does not catch it.
    """

    def __init__(self, questions: Iterable[Question]) -> None:
        self.questions = tuple(questions)
        shown = [question.message[:_MAX_SHOWN_CHARS] for question in self.questions]
        super().__init__(f"it asks: {'; '.join(shown)}")


def find_answers_needed(error: BaseException) -> AnswersNeeded | None:
    """
    Return the questions that *error* is about; None if it is another error.

    A task group collects the errors of its tasks in a group. If all of them are about questions, they count as one.
    """
    if isinstance(error, AnswersNeeded):
        return error
    if not isinstance(error, BaseExceptionGroup):
        return None
    parts = [find_answers_needed(part) for part in error.exceptions]
    needed = [part for part in parts if part is not None]
    if len(needed) < len(parts):
        return None
    return AnswersNeeded({question.key: question for part in needed for question in part.questions}.values())
