"""
The audit log, as one call writes to it.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from ..decisions import ApprovalRequest, Decision
from ..policies.audit import AuditError
from ..questions import AnsweredQuestion
from ..results import ToolResult
from ..values.rendering import as_json
from .approval_request import mask_secrets
from .call_frame import CallFrame
from .settings import MAX_NOTE_SECONDS

__all__ = ["CallAudit"]

_log = logging.getLogger("toolkit")


class CallAudit:
    """The lines in the audit log about the call of *frame*. Without an audit log, nothing is written."""

    def __init__(self, frame: CallFrame) -> None:
        self._frame = frame

    async def write(self, event: str, **fields: Any) -> None:
        """Add a line about the call: its id, tool, origin, session, principal and *fields*, with secrets masked."""
        frame = self._frame
        audit = frame.settings.audit
        if audit is None:
            return
        call, redaction = frame.call, frame.redaction()
        line = {
            "call_id": call.id,
            "tool": frame.plan.name,
            **frame.plan.audit_origin,
            "session": call.session_key or None,
            "principal": call.principal,
            **redaction.mask_value(fields),
        }
        await frame.within(frame.settings.in_thread(lambda: audit.write(event, **line)))

    async def write_asked(self, request: ApprovalRequest) -> None:
        """Add the line that a person is asked about the call."""
        questions = {"questions": [question.to_json() for question in request.questions]} if request.questions else {}
        asked_by = list(request.asked_by)
        await self.write("asked", request=request.id, reason=request.reason, asked_by=asked_by, **questions)

    async def write_answered(
        self, request: ApprovalRequest, decision: Decision, answers: Sequence[AnsweredQuestion]
    ) -> None:
        """Add the line with the *decision* of a person, and with their *answers* to the questions of the tool."""
        fields: dict[str, Any] = {"approved": decision.approved, "by": decision.by, "reason": decision.reason}
        fields["grant"] = None if decision.grant is None else decision.grant.shown
        if decision.arguments is not None:
            fields["arguments"] = self._mask_edited(decision.arguments)
        if answers:
            fields["answers"] = [answered.to_json() for answered in answers]
        await self.write("answered", request=request.id, **fields)

    def _mask_edited(self, arguments: Mapping[str, Any]) -> Any:
        """Return the *arguments* that a person wrote, with the old and the new secrets masked."""
        frame = self._frame
        redaction = frame.plan.redaction(frame.decoded, frame.arguments, arguments)
        return redaction.mask_value(as_json(mask_secrets(arguments, frame.plan.tool)))

    async def write_intent(self, arguments: Any) -> None:
        """Add the line that the call is about to run, with its *arguments* and what people have changed in them."""
        await self.write("intent", arguments=arguments, **self._describe_edits())

    def _describe_edits(self) -> dict[str, Any]:
        edits = self._frame.edits
        return {"edits": [edit.to_json() for edit in edits]} if edits else {}

    async def write_outcome(self, result: ToolResult) -> None:
        """Add the line about the end of the call. A failure is only logged, because the call has happened."""
        if self._frame.settings.audit is None:
            return
        has_limit = self._frame.deadline.at is not None
        try:
            async with asyncio.timeout(None if has_limit else MAX_NOTE_SECONDS):
                await self.write(
                    "outcome",
                    kind=result.kind,
                    attempts=result.attempts,
                    duration_seconds=round(result.duration_seconds, 6),
                    chars=len(result.text),
                    truncated=result.truncated,
                    **self._describe_edits(),
                    **({} if self._frame.repeats is None else {"repeats": self._frame.repeats.request.id}),
                )
        except AuditError as error:
            _log.error("the outcome of call %s is missing in the audit log: %s", result.call_id, error)
        except TimeoutError:
            _log.error("the outcome of call %s may be missing in the audit log: writing takes too long", result.call_id)
