"""
Questions that a tool asks its user while it runs, because it could not run again from its start.

`Context.ask` ends the tool and runs it again with the answer. A tool that passes a question on from elsewhere, such as
a tool of an MCP server, has begun something that goes on meanwhile. Its question goes to the dispatcher's asker. It is
checked, masked and written to the audit log as the questions of `Context.ask` are.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from typing import Any

from ...approvals.answers import find_answer_problems
from ...decisions import ApprovalRequest, Decision
from ...questions import DECLINED, AnsweredQuestion, Question
from ..approval.case import ApprovalCase
from ..approval.request import render_reason
from ..call_frame import CallFrame
from .book import check_question

__all__ = ["ask_at_once"]

_log = logging.getLogger("toolkit")

_MAX_TRIES = 3


async def ask_at_once(frame: CallFrame, question: Question) -> Any:
    """
    Return the answer of the dispatcher's asker to *question*, which the tool of *frame* asks while it runs.

    Return `DECLINED` if the asker denies, gives no answer now, fails, or gives no answer that fits in three tries, and
    if the audit log cannot be written.

    Raises:
        DefinitionError: The schema of the question cannot be used. No person was asked.
    """
    question = check_question(question, frame.plan.name, frame.redaction())
    try:
        return await _ask_person(frame, question)
    except Exception:  # noqa: BLE001 -- the question must not end a call that has begun
        _log.exception("a question of `%s` failed, so it counts as declined", frame.plan.name)
        return DECLINED


async def _ask_person(frame: CallFrame, question: Question) -> Any:
    """Return the answer to *question*, after its two lines in the audit log."""
    case, request = ApprovalCase(frame), _build_request(frame, question)
    await case.write_asked(request)
    shown, by = request, None
    for _ in range(_MAX_TRIES):
        decision = await frame.settings.approvals.answer(shown, frame.settings.in_hook_thread)
        if decision is None:
            return DECLINED
        if decision.principal not in (None, request.principal):
            decision = Decision.deny(f"the answer is on behalf of {decision.principal!r}", by=decision.by)
        if not decision.approved:
            await case.write_answered(request, decision, ())
            return DECLINED
        answer = (decision.answers or {}).get(question.key, DECLINED)
        by = decision.by
        answer, problems = find_answer_problems(question, answer, frame.redaction())
        if not problems:
            reason = ""
            break
        problem = render_reason(str(problems[0]), frame.redaction())
        shown = replace(request, reason=f"{request.reason}; the last answer does not fit: {problem}")
    else:
        answer, reason = DECLINED, f"no answer fits in {_MAX_TRIES} tries"
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
