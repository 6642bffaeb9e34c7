"""
Questions that a tool asks its user while it runs, because it could not run again from its start.

`Context.ask` ends the tool and runs it again with the answer. A tool that passes a question on from elsewhere, such as
a tool of an MCP server, has begun something that goes on meanwhile. Its question goes to the dispatcher's asker.
"""

from __future__ import annotations

import logging
from typing import Any

from ..approvals.answers import find_answer_problems
from ..decisions import ApprovalRequest
from ..questions import DECLINED, Question
from ..results import ToolCall
from ..spec import Tool
from .settings import Settings

__all__ = ["ask_at_once"]

_log = logging.getLogger("toolkit")

_MAX_TRIES = 3


async def ask_at_once(settings: Settings, tool: Tool, call: ToolCall, question: Question) -> Any:
    """
    Return the answer of the dispatcher's asker to *question*, which *tool* asks while it runs.

    Return `DECLINED` if the asker denies, gives no answer now, fails, or gives no answer that fits in three tries.
    """
    problem = ""
    for _ in range(_MAX_TRIES):
        request = ApprovalRequest(
            tool=tool.name,
            origin=tool.origin,
            call_id=str(call.id),
            reason=f"`{tool.name}` asks while it runs{problem}",
            asked_by=(tool.origin,),
            session=call.session_key or None,
            principal=call.principal,
            questions=(question,),
        )
        try:
            decision = await settings.approvals.answer(request, settings.in_hook_thread)
        except Exception:  # noqa: BLE001 -- the question must not end a call that has begun
            _log.exception("the asker failed at a question of `%s`", tool.name)
            return DECLINED
        if decision is None or not decision.approved or decision.principal not in (None, request.principal):
            return DECLINED
        answer, problems = find_answer_problems(question, (decision.answers or {}).get(question.key, DECLINED))
        if not problems:
            return answer
        problem = f"; the last answer does not fit: {problems[0]}"
    return DECLINED
