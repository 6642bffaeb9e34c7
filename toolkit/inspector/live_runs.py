"""The runs of agents and flows that this process has seen, from the events of their dispatcher."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

from ..hooks.events import (
    ConversationSummarized,
    FlowEnded,
    FlowStarted,
    ModelAnswered,
    PromptReceived,
    RunEnded,
    RunStarted,
    SubRunEnded,
    SubRunStarted,
)
from ..providers.base import Usage
from ..results import ToolCall, ToolResult
from .call_rows import show_arguments

__all__ = ["RUN_EVENTS", "LiveRun", "LiveRuns", "usage_to_json"]

_MAX_RUNS = 500
_MAX_MESSAGES = 500
_MAX_TEXT = 20_000

RUN_EVENTS = (
    *(RunStarted, SubRunStarted, PromptReceived, ModelAnswered, ConversationSummarized, RunEnded, SubRunEnded),
    *(FlowStarted, FlowEnded),
)


def usage_to_json(usage: Usage, dollars: float | None = None) -> dict[str, Any]:
    """Return the tokens of a run by parts, with what they have cost if that is known."""
    return {**usage.to_json(), "rest_tokens": usage.rest_tokens, "dollars": dollars}


@dataclass(slots=True, kw_only=True)
class LiveRun:
    """A run of an agent or a flow, with the newest messages of its conversation."""

    id: str
    kind: str
    session: str
    parent: str | None = None
    call_id: str | None = None
    model: str = ""
    status: str = "running"
    about: str = ""
    reason: str = ""
    created_at: float
    updated_at: float
    usage: Usage = field(default_factory=Usage)
    messages: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_MAX_MESSAGES))

    def to_row(self) -> dict[str, Any]:
        """Return the run in a list."""
        return {
            "id": self.id,
            "kind": self.kind,
            "status": self.status,
            "about": self.about[:200],
            "reason": self.reason[:2_000],
            "principal": None,
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            "seconds": self.updated_at - self.created_at,
            "source": "live",
            "parent": self.parent,
            "session": self.session,
            "model": self.model,
        }

    def add_message(
        self,
        role: str,
        text: str,
        calls: tuple[dict[str, Any], ...] = (),
        results: tuple[dict[str, Any], ...] = (),
    ) -> None:
        """Note a message. Long ones are cut."""
        message = {"role": role, "text": text[:_MAX_TEXT], "calls": list(calls), "results": list(results)}
        self.messages.append(message)


class LiveRuns:
    """The newest runs, by their ids. The history that owns it keeps other threads out."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, LiveRun] = OrderedDict()

    def get(self, run_id: str) -> LiveRun | None:
        """Return the run with this id, or None."""
        return self._runs.get(run_id)

    def list_rows(self, status: str | None = None, kind: str | None = None) -> list[dict[str, Any]]:
        """Return the runs, the newest first."""
        runs = [run for run in self._runs.values() if status in (None, run.status) and kind in (None, run.kind)]
        return [run.to_row() for run in sorted(runs, key=lambda run: run.created_at, reverse=True)]

    def list_subs(self, run_id: str) -> list[dict[str, Any]]:
        """Return the runs inside the run with this id."""
        inner = [run for run in self._runs.values() if run.parent == run_id]
        return [{"id": run.id, "call_id": run.call_id, "status": run.status} for run in inner]

    def note(self, event: Any) -> LiveRun:
        """Note an event of `RUN_EVENTS`, and return the run that it is about."""
        run = self._find(event)
        run.updated_at = time.time()
        match event:
            case RunStarted() | SubRunStarted() | FlowStarted():
                run.status = "running"
            case PromptReceived(message=message):
                run.about = run.about or message.text
                run.add_message("user", message.text)
            case ModelAnswered(reply=None, error=error):
                run.add_message("error", type(error).__name__)
            case ModelAnswered(reply=reply):
                run.usage += reply.usage
                run.model = reply.model or run.model
                calls = tuple(_describe_call(call) for call in reply.message.calls)
                run.add_message("assistant", reply.message.text, calls)
            case ConversationSummarized(summary=summary):
                run.add_message("summary", summary)
            case RunEnded() | SubRunEnded():
                run.status, run.reason, run.usage = event.status, event.reason, event.usage
            case FlowEnded():
                run.status, run.reason = event.status, "; ".join(event.problems)
        return run

    def note_result(self, call: ToolCall, result: ToolResult) -> None:
        """Note the result of a call in the run that is under way in its conversation."""
        for run in reversed(self._runs.values()):
            if run.session == call.session_key and run.status == "running" and run.kind == "agent":
                shown = {"id": call.id, "tool": result.tool, "kind": result.kind, "text": result.text[:_MAX_TEXT]}
                run.add_message("tool", "", results=(shown,))
                return

    def _find(self, event: Any) -> LiveRun:
        flow = getattr(event, "flow", None)
        about = event.run if flow is None else flow
        run = self._runs.get(about.id)
        if run is None:
            now = time.time()
            kind = "agent" if flow is None else f"flow:{flow.name}"
            run = LiveRun(id=about.id, kind=kind, session=about.session.id, created_at=now, updated_at=now)
            if flow is None:
                run.parent, run.call_id, run.model = about.parent_id, about.call_id, about.model
            self._runs[run.id] = run
            while len(self._runs) > _MAX_RUNS:
                self._runs.popitem(last=False)
        return run


def _describe_call(call: ToolCall) -> dict[str, Any]:
    """Return a call that a model asks for. Its tool is not known here, so the arguments are masked where it is."""
    arguments, _ = show_arguments(call)
    return {"id": call.id, "name": call.name, "arguments": arguments}
