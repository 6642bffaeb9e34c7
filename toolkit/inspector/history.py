"""
The history of the calls of a dispatcher: a hook that is told what happens, and keeps it within limits.

The newest 100,000 calls have a row. The newest ones are there in full, up to 64 MB together. Secrets are masked before
anything is kept, as the dispatcher masks them.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

from .._plumbing.forks import unlock_in_children
from .._plumbing.newest_items import NewestItems
from ..context import Progress
from ..hooks.events import (
    AttemptStarted,
    CallEnded,
    CallStarted,
    CatalogChanged,
    Event,
    HookDecided,
    PersonAnswered,
    PersonAsked,
)
from ..hooks.shell.events import tool_name_of
from ..hooks.stats import Stats
from ..policies.audit import encode_line
from ..policies.redaction import Redaction
from ..results import ToolCall
from ..session import Session
from .call_rows import CallRow, LiveCall, describe_result, show_arguments
from .event_log import EventLog
from .live_runs import RUN_EVENTS, LiveRuns

__all__ = ["History"]

_MAX_NAME_CHARS = 200
_MAX_SESSIONS = 200
_MAX_DECISIONS = 500
_PROGRESS_SECONDS = 0.1
"""How often the progress of one call is told."""


class History:
    """
    A hook that keeps what the calls, runs and flows of a dispatcher do, for an `Inspector`.

    Give it to a dispatcher whose calls, or whose agents' calls, the inspector has to show:
    `Dispatcher(catalog, hooks=[history], on_progress=history.on_progress)`.

    Args:
        max_calls: How many calls have a row.
        max_bytes: How many bytes the calls that are there in full may have together.

    Attributes:
        events: What happens, for pages that listen.
        stats: The numbers of each tool.
        runs: The runs of agents and flows.
        decisions: What people have decided, the newest last.
        redaction: What masks the secrets of all calls, as the dispatcher has it. The inspector sets it.
    """

    def __init__(self, *, max_calls: int = 100_000, max_bytes: int = 64 * 1024 * 1024) -> None:
        self.events = EventLog()
        self.stats = Stats(max_tools=10_000)
        self.runs = LiveRuns()
        self.decisions: deque[dict[str, Any]] = deque(maxlen=_MAX_DECISIONS)
        self.redaction = Redaction()
        self._rows: deque[CallRow] = deque(maxlen=max_calls)
        self._last = 0
        self._live: dict[str, list[LiveCall]] = {}
        self._details: OrderedDict[int, bytes] = OrderedDict()
        self._free_bytes = max_bytes
        self._sessions: NewestItems[str, Session] = NewestItems(_MAX_SESSIONS)
        self._lock = unlock_in_children(threading.RLock())

    # What a dispatcher tells. No method waits.

    def on_event(self, event: Event) -> None:
        """Keep what *event* tells."""
        note = self._NOTES.get(type(event))
        with self._lock:
            if note is not None:
                note(self, event)
            elif isinstance(event, RUN_EVENTS):
                self.events.add("run", self.redaction.mask_value(self.runs.note(event)))
            elif isinstance(event, CatalogChanged):
                names = {"added": event.added, "removed": event.removed}
                self.events.add("catalog", {key: [tool.name for tool in tools] for key, tools in names.items()})

    def on_progress(self, progress: Progress) -> None:
        """Keep how far a call has come. A call that reports often is told every tenth of a second."""
        with self._lock:
            live = next((live for live in reversed(self._live.get(progress.call_id, ()))), None)
            now = time.time()
            if live is not None and now - live.told_at >= _PROGRESS_SECONDS:
                live.told_at = now
                message = None if progress.message is None else progress.message[:_MAX_NAME_CHARS]
                live.row.progress = {"current": progress.progress, "total": progress.total, "message": message}
                self.events.add("call", live.row.to_json())

    def _start(self, event: CallStarted) -> LiveCall:
        call = event.call
        row = self.add_row(
            id=str(call.id)[:_MAX_NAME_CHARS],
            tool=tool_name_of(call)[:_MAX_NAME_CHARS],
            session=call.session_key or None,
            turn=call.turn,
            started_at=time.time(),
            request=event.request_id,
        )
        live = LiveCall(row, call)
        live.add_step(time.time(), "started")
        self._live.setdefault(row.id, []).append(live)
        if call.session is not None:
            self.remember(call.session)
        self.events.add("call", row.to_json())
        return live

    def _find(self, call: ToolCall) -> LiveCall:
        """Return the call that runs, or begin with it here: its start may not have been told."""
        for live in reversed(self._live.get(str(call.id)[:_MAX_NAME_CHARS], ())):
            if live.row.session == (call.session_key or None) and live.call.name == call.name:
                live.call = call
                return live
        return self._start(CallStarted(call))

    def _note_hook(self, event: HookDecided) -> None:
        outcome = type(event.outcome).__name__
        reason = str(getattr(event.outcome, "reason", "") or "")
        text = ": ".join(filter(None, (type(event.hook).__name__, outcome, reason[:2_000])))
        self._find(event.call).add_step(time.time(), "hook", text)

    def _note_attempt(self, event: AttemptStarted) -> None:
        live = self._find(event.call)
        live.row.attempts = event.number
        # The message of an error may hold a secret. The result has it, masked, among its retries.
        text = "" if event.error is None else f"after {type(event.error).__name__}"
        live.add_step(time.time(), "attempt", text, number=event.number)
        if event.number > 1:
            self.events.add("call", live.row.to_json())

    def _note_asked(self, event: PersonAsked) -> None:
        live, request = self._find(event.call), event.request
        live.row.request = request.id
        live.add_step(time.time(), "asked", request.reason, request=request.id)
        self.events.add("approval", {"id": request.id, "tool": request.tool, "state": "open", "at": time.time()})

    def _note_answered(self, event: PersonAnswered) -> None:
        request, decision = event.request, event.decision
        word = "approved" if decision.approved else "denied"
        by = "" if decision.by is None else f" by {decision.by}"
        self._find(event.call).add_step(time.time(), "answered", f"{word}{by}", request=request.id)
        self.add_decision(
            id=request.id, tool=request.tool, approved=decision.approved, by=decision.by, reason=decision.reason
        )

    def _end(self, event: CallEnded) -> None:
        live, result = self._find(event.call), event.result
        row, now = live.row, time.time()
        row.kind, row.progress = event.kind, None
        row.seconds = now - (row.started_at or now)
        if result is not None:
            row.seconds = result.duration_seconds or row.seconds
            row.attempts, row.alias, row.cost = result.attempts, result.alias, result.cost
            row.repairs, row.chars = len(result.repairs), len(result.text)
            row.request = row.request if result.request is None else result.request.id
            self.runs.note_result(event.call, result)
        live.add_step(now, "ended", event.kind)
        self._forget_live(live)
        arguments, cut = show_arguments(event.call)
        outcome, cut_fields = describe_result(result)
        details = {
            "arguments": arguments,
            "principal": event.call.principal,
            "verdict": None if event.verdict is None else asdict(event.verdict),
            "result": outcome,
            "cut": [*cut, *cut_fields],
            "steps": live.steps,
        }
        if event.redaction is not None and (redaction := event.redaction()):
            details = redaction.mask_value(details)
        self.keep_details(row, details)
        self.stats.on_event(event)
        self.events.add("call", row.to_json())

    def _forget_live(self, live: LiveCall) -> None:
        others = self._live[live.row.id]
        others.remove(live)
        if not others:
            del self._live[live.row.id]

    _NOTES: dict[type, Callable[[History, Any], object]] = {  # noqa: RUF012 -- it is never changed
        CallStarted: _start,
        HookDecided: _note_hook,
        AttemptStarted: _note_attempt,
        PersonAsked: _note_asked,
        PersonAnswered: _note_answered,
        CallEnded: _end,
    }

    # What is added from elsewhere, such as an audit log.

    def add_row(self, **fields: Any) -> CallRow:
        """Add a call, and return its row."""
        with self._lock:
            self._last += 1
            row = CallRow(number=self._last, **fields)
            self._rows.append(row)
            return row

    def keep_details(self, row: CallRow, details: dict[str, Any]) -> None:
        """Keep *details* of the call in *row*, and forget those of the oldest calls if there are too many."""
        data = encode_line({**row.to_json(), **details}).encode("ascii")
        with self._lock:
            self._details[row.number] = data
            self._free_bytes -= len(data)
            while self._free_bytes < 0:
                self._free_bytes += len(self._details.popitem(last=False)[1])

    def add_decision(self, **fields: Any) -> dict[str, Any]:
        """Keep what a person has decided, as `api/approvals` shows it, tell the listeners, and return it."""
        decision = {"at": time.time(), "run": None, **fields}
        with self._lock:
            self.decisions.append(decision)
            self.events.add("approval", {**decision, "state": "answered"})
        return decision

    def remember(self, session: Session) -> None:
        """Keep *session*, so that the page can make calls in it."""
        self._sessions[session.id] = session

    # What a page reads.

    def find_session(self, session_id: str) -> Session | None:
        """Return the conversation with this id, if its calls were seen lately."""
        return self._sessions.get(session_id)

    def find_number(self, call_id: str) -> int | None:
        """Return the number of the newest call with this id."""
        with self._lock:
            return next((row.number for row in reversed(self._rows) if row.id == call_id), None)

    def list_calls(
        self, fits: Callable[[CallRow], bool], *, before: int | None, limit: int
    ) -> tuple[list[dict[str, Any]], int | None, int]:
        """Return the newest *limit* calls that fit, the number to go on before, and how many calls fit."""
        with self._lock:
            rows = [*self._rows]
        fitting = [row for row in rows if fits(row)]
        older = fitting if before is None else [row for row in fitting if row.number < before]
        page = [row.to_json() for row in reversed(older[-limit:])]
        return page, page[-1]["number"] if len(older) > limit else None, len(fitting)

    def read_call(self, number: int) -> bytes | dict[str, Any] | None:
        """Return a call in full: as JSON text once it has ended, as an object while it runs; None if there is none."""
        with self._lock:
            place = number - self._last - 1  # the numbers have no gaps
            if not -len(self._rows) <= place < 0:
                return None
            if number in self._details:
                return self._details[number]
            row = self._rows[place]
            live = next((live for live in self._live.get(row.id, ()) if live.row is row), None)
            if live is None:
                return {**row.to_json(), "forgotten": True}
            described: dict[str, Any] = self.redaction.mask_value(live.describe())
            return described
