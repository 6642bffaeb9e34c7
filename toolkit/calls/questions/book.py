"""
The questions of a running tool: those that its user has answered, and those that are open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ...errors import DefinitionError
from ...policies.redaction import Redaction
from ...questions import DECLINED, AnsweredQuestion, AnswersNeeded, Question
from ...values.schemas.validator import check_schema
from ...values.schemas.vocabulary import ANNOTATION_KEYWORDS, is_mapping, iter_subschemas
from ...values.strictjson.canonical import encode_canonical
from ...values.strictjson.checks import copy_and_check, copy_json

__all__ = ["CallQuestions", "check_question"]

_SHOWN_KEYWORDS = ANNOTATION_KEYWORDS - {"default"}
"""The keywords that a user only reads. A default is an answer that the user may choose."""


class CallQuestions:
    """
    The questions of one attempt at a call.

    Args:
        tool: The name of the tool, for messages.
        answers: The questions that the user has answered so far.
        redaction: What may not be shown to the user.
    """

    __slots__ = ("_answers", "_open", "_redaction", "_tool")

    def __init__(self, tool: str, answers: Iterable[AnsweredQuestion], redaction: Redaction) -> None:
        self._tool = tool
        self._redaction = redaction
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
            self._open[question.key] = check_question(question, self._tool, self._redaction)
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


def check_question(question: Question, tool: str, redaction: Redaction) -> Question:
    """
    Return *question* of *tool* with a schema that is plain JSON and can be enforced. The schema is a copy.

    Raises:
        DefinitionError: The schema cannot be used, or *redaction* masks a part of it that decides which answers fit.
    """
    schema = _copy_schema(question, tool)
    check_schema(schema, _describe(question, tool))
    for place in _find_masked_places(schema, redaction):
        raise DefinitionError(
            f"{_describe(question, tool)}: a secret is masked in the schema at {place}, so its user could not see what "
            "to answer; offer choices without secrets, such as names, or change `redact=`"
        )
    return Question(key=question.key, message=question.message, schema=schema)


def _find_masked_places(schema: Mapping[str, Any], redaction: Redaction, path: str = "") -> Iterator[str]:
    """Yield each place in *schema* that *redaction* masks. Titles and descriptions may be masked."""
    if not redaction:
        return
    for keyword, value in schema.items():
        if keyword in _SHOWN_KEYWORDS:
            continue
        place = f"{path}{keyword}"
        subschemas = [(steps, inner) for steps, inner in iter_subschemas({keyword: value}) if is_mapping(inner)]
        for steps, inner in subschemas:
            yield from _find_masked_places(inner, redaction, f"{path}{'/'.join(map(str, steps))}/")
        names = list(value) if subschemas and is_mapping(value) else [] if subschemas else value
        if redaction.mask_value(names) != names or redaction.mask_text(keyword) != keyword:
            yield redaction.mask_text(place)


def _copy_schema(question: Question, tool: str) -> dict[str, Any]:
    schema, problems = copy_and_check(dict(question.schema))
    if problems:
        raise DefinitionError(f"{_describe(question, tool)}: the schema is not JSON: {problems[0]}")
    return schema  # type: ignore[no-any-return]  # a copy of a dictionary is one


def _describe(question: Question, tool: str) -> str:
    return f"the question {question.key!r} of `{tool}`"
