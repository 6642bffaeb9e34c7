"""The runs of agents and flows that this process has seen, from the events of their dispatcher."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from typing import Any

from .._plumbing.newest_items import NewestItems
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
from ..providers.base import Reply, Usage
from ..results import ToolCall, ToolResult
from .call_rows import fits, show_arguments

__all__ = ["RUN_EVENTS", "LiveRun", "LiveRuns", "usage_to_json"]

_MAX_RUNS = 200
_MAX_MESSAGES = 200
_MAX_TEXT = 4_000
_MAX_ABOUT = 200

RUN_EVENTS = (
    *(RunStarted, SubRunStarted, PromptReceived, ModelAnswered, ConversationSummarized, RunEnded, SubRunEnded),
    *(FlowStarted, FlowEnded),
)


def usage_to_json(usage: Usage, dollars: float | None = None) -> dict[str, Any]:
    """Return the tokens of a run by parts, with what they have cost if that is known."""
    return {**usage.to_json(), "rest_tokens": usage.rest_tokens, "dollars": dollars}


@dataclass(slots=True)
class LiveRun:
    """A run of an agent or a flow: its row in a list, and the newest messages of its conversation."""

    row: dict[str, Any]
    usage: Usage = field(default_factory=Usage)
    messages: deque[dict[str, Any]] = field(default_factory=lambda: deque(maxlen=_MAX_MESSAGES))

    def add_message(self, role: str, text: str, **parts: list[dict[str, Any]]) -> None:
        """Note a message. Long ones are cut."""
        self.messages.append({"role": role, "text": text[:_MAX_TEXT], "calls": [], "results": [], **parts})


class LiveRuns:
    """The newest runs, by their ids. The history that owns it keeps other threads out."""

    def __init__(self) -> None:
        self._runs: NewestItems[str, LiveRun] = NewestItems(_MAX_RUNS)

    def get(self, run_id: str) -> LiveRun | None:
        """Return the run with this id, or None."""
        return self._runs.get(run_id)

    def list_rows(self, status: str | None = None, kind: str | None = None) -> list[dict[str, Any]]:
        """Return the runs, the newest first."""
        rows = [run.row for run in [*self._runs.values()]]
        return [row for row in reversed(rows) if status in (None, row["status"]) and kind in (None, row["kind"])]

    def list_subs(self, run_id: str) -> list[dict[str, Any]]:
        """Return the runs inside the run with this id."""
        inner = [run for run in [*self._runs.values()] if run.row["parent"] == run_id]
        return [{"id": run.row["id"], "status": run.row["status"], "messages": []} for run in inner]

    def note(self, event: Any) -> dict[str, Any]:
        """Note an event of `RUN_EVENTS`, and return the row of the run that it is about."""
        run = self._find(event)
        row = run.row
        match event:
            case RunStarted() | SubRunStarted() | FlowStarted():
                row["status"] = "running"
            case PromptReceived(message=message):
                row["about"] = row["about"] or message.text[:_MAX_ABOUT]
                run.add_message("user", message.text)
            case ModelAnswered(reply=None, error=error):
                run.add_message("error", type(error).__name__)
            case ModelAnswered(reply=Reply() as reply):
                run.usage += reply.usage
                row["model"] = reply.model or row["model"]
                run.add_message("assistant", reply.message.text, calls=[*map(_describe_call, reply.message.calls)])
            case ConversationSummarized(summary=summary):
                run.add_message("summary", summary)
            case RunEnded() | SubRunEnded():
                row["status"], row["reason"], run.usage = event.status, event.reason[:_MAX_TEXT], event.usage
            case FlowEnded():
                row["status"], row["reason"] = event.status, "; ".join(event.problems)[:_MAX_TEXT]
        row["updated_at"] = time.time()
        row["seconds"] = row["updated_at"] - row["created_at"]
        return row

    def note_result(self, call: ToolCall, result: ToolResult) -> None:
        """Note the result of a call in the run that is under way in its conversation."""
        for run in reversed(self._runs.values()):
            if (run.row["session"], run.row["status"], run.row["kind"]) == (call.session_key, "running", "agent"):
                row = {"id": call.id, "tool": result.tool, "kind": result.kind, "text": result.text[:_MAX_TEXT]}
                run.add_message("tool", "", results=[row])
                return

    def _find(self, event: Any) -> LiveRun:
        flow = getattr(event, "flow", None)
        about = event.run if flow is None else flow
        run = self._runs.get(about.id)
        if run is None:
            row = {
                "id": about.id,
                "kind": "agent" if flow is None else f"flow:{flow.name}",
                **dict.fromkeys(("status", "about", "reason"), ""),
                "principal": about.session.principal,
                **dict.fromkeys(("created_at", "updated_at"), time.time()),
                "seconds": 0.0,
                "source": "live",
                "parent": getattr(about, "parent_id", None),
                "session": about.session.id,
                "model": getattr(about, "model", ""),
            }
            run = self._runs[about.id] = LiveRun(row)
        return run


def _describe_call(call: ToolCall) -> dict[str, Any]:
    """Return a call that a model asks for. Its tool is not known here, so secrets are masked where it is shown."""
    arguments, _ = show_arguments(call)
    sent = arguments if fits(arguments, _MAX_TEXT) else None
    return {"id": call.id, "name": call.name, "arguments": sent}
