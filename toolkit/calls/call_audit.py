"""
The audit log, as one call writes to it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any

from ..policies.audit import AuditError
from ..results import ToolResult
from .call_state import CallState
from .settings import MAX_NOTE_SECONDS

__all__ = ["CallAudit"]

_log = logging.getLogger("toolkit")


class CallAudit:
    """The lines in the audit log about the call of *state*. Without an audit log, nothing is written."""

    def __init__(self, state: CallState) -> None:
        self._state = state

    async def write(self, event: str, **fields: Any) -> None:
        """Add a line about the call: its id, tool, origin, session, principal and *fields*, with secrets masked."""
        state = self._state
        audit = state.settings.audit
        if audit is None:
            return
        call, redaction = state.call, state.redaction()
        line = {
            "call_id": call.id,
            "tool": state.plan.name,
            **state.plan.audit_origin,
            "session": call.session_key or None,
            "principal": call.principal,
            **redaction.mask_value(fields),
        }
        await state.within(state.settings.in_thread(lambda: audit.write(event, **line)))

    async def write_intent(self, arguments: Any) -> None:
        """Add the line that the call is about to run, with its *arguments* and what people have changed in them."""
        await self.write("intent", arguments=arguments, **self._describe_edits())

    def _describe_edits(self) -> dict[str, Any]:
        edits = self._state.edits
        return {"edits": [edit.to_json() for edit in edits]} if edits else {}

    async def write_outcome(self, result: ToolResult) -> None:
        """Add the line about the end of the call. A failure is only logged, because the call has happened."""
        if self._state.settings.audit is None:
            return
        has_limit = self._state.deadline.at is not None
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
                    **({} if self._state.repeats is None else {"repeats": self._state.repeats.request.id}),
                )
        except AuditError as error:
            _log.error("the outcome of call %s is missing in the audit log: %s", result.call_id, error)
        except TimeoutError:
            _log.error("the outcome of call %s may be missing in the audit log: writing takes too long", result.call_id)
