"""
The questions of a running tool: those that its user has answered, those that are open, and those asked while it runs.

`Context.ask` ends the tool and runs it again with the answer. A tool that passes a question on from elsewhere, such as
a tool of an MCP server, has begun something that goes on meanwhile. Its question goes to the dispatcher's asker. It is
checked, masked and written to the audit log as the questions of `Context.ask` are.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from ..approvals.answers import find_answer_problems
from ..decisions import ApprovalRequest, Decision
from ..errors import DefinitionError
from ..policies.redaction import Redaction
from ..questions import DECLINED, AnsweredQuestion, AnswersNeeded, Question
from ..values.schemas.validator import check_schema
from ..values.schemas.vocabulary import ANNOTATION_KEYWORDS, is_mapping, iter_subschemas
from ..values.strictjson.canonical import encode_canonical
from ..values.strictjson.checks import copy_and_check, copy_json
from .approval.case import ApprovalCase
from .call_frame import CallFrame

__all__ = ["CallQuestions", "ask_at_once", "check_question"]

_log = logging.getLogger("toolkit")

_MAX_TRIES = 3
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
        if question.request != known.request:
            return "request"
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
    return replace(question, schema=schema)


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


async def ask_at_once(frame: CallFrame, question: Question, reasons: list[str] | None = None) -> Any:
    """
    Return the answer of the dispatcher's asker to *question*, which the tool of *frame* asks while it runs.

    Return `DECLINED` if the asker denies, gives no answer now, fails, or gives no answer that fits in three tries, and
    if the audit log cannot be written. If no person has declined, why there is no answer is added to *reasons*.

    Raises:
        DefinitionError: The schema of the question cannot be used. No person was asked.
    """
    question = check_question(question, frame.plan.name, frame.redaction())
    reasons = [] if reasons is None else reasons
    try:
        return await _ask_person(frame, question, reasons)
    except Exception:  # noqa: BLE001 -- the question must not end a call that has begun
        _log.exception("a question of `%s` failed, so it counts as declined", frame.plan.name)
        reasons.append("the asker or the audit log failed; the log says how")
        return DECLINED


async def _ask_person(frame: CallFrame, question: Question, reasons: list[str]) -> Any:
    """Return the answer to *question*, after its two lines in the audit log."""
    case, request = ApprovalCase(frame), _build_request(frame, question)
    await case.write_asked(request)
    shown, by = request, None
    for _ in range(_MAX_TRIES):
        decision = await frame.settings.approvals.answer(shown, frame.settings.in_hook_thread)
        if decision is None:
            reasons.append("the asker left it open, and such a question is answered at once or not at all")
            return DECLINED
        if decision.principal not in (None, request.principal):
            decision = Decision.deny(f"the answer is on behalf of {decision.principal!r}", by=decision.by)
        if not decision.approved:
            if decision.reason:
                reasons.append(frame.redaction().render_reason(decision.reason))
            await case.write_answered(request, decision, ())
            return DECLINED
        if question.key not in (answers := decision.answers or {}):
            reasons.append("the asker agreed without an answer; return Decision.approve(answers={question.key: ...})")
        answer = answers.get(question.key, DECLINED)
        by = decision.by
        answer, problems = find_answer_problems(question, answer, frame.redaction())
        if not problems:
            reason = ""
            break
        problem = frame.redaction().render_reason(str(problems[0]))
        shown = replace(request, reason=f"{request.reason}; the last answer does not fit: {problem}")
    else:
        answer, reason = DECLINED, f"no answer fits in {_MAX_TRIES} tries"
        reasons.append(reason)
    # Arguments and a grant have no meaning here, so they are not in the line.
    counted = Decision(approved=True, reason=reason, by=by)
    await case.write_answered(request, counted, [AnsweredQuestion(question=question, answer=answer)])
    return answer


def _build_request(frame: CallFrame, question: Question) -> ApprovalRequest:
    """Return what the person is shown: the request with *question*, with all secrets of the call masked."""
    tool, call = frame.plan.tool, frame.call
    request = ApprovalRequest(
        tool=tool.name,
        origin=tool.origin,
        call_id=str(call.id),
        reason=f"`{tool.name}` asks while it runs",
        asked_by=(tool.origin,),
        session=call.session_key or None,
        principal=call.principal,
        questions=(question,),
    )
    return frame.redaction().mask_request(request)
