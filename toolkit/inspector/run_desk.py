"""
The runs of agents and flows: those that this process has seen, and those of a database, which may be another process's.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any, TypeAlias, get_args

from starlette.requests import Request

from ..agent.saved.runs import Run
from ..dispatcher import Dispatcher
from ..durable.journal.records import RunStatus
from ..durable.journal.run_journal import Journal
from ..durable.run_hosts import open_host
from ..durable.run_reports import (
    AGENT,
    FLOW,
    RunReport,
    find_prompt,
    iterate_runs,
    read_report,
    row_to_json,
    shorten,
)
from ..errors import ToolkitError
from ..flows.story import tell_events
from ..hooks.shell.events import mask_secrets
from ..results import ToolCall
from .api_requests import ApiError, read_body, read_id, read_number, read_seconds, require_text
from .flow_views import describe_flow_run
from .history import History
from .live_runs import LiveRun, usage_to_json
from .run_database import RunDatabase

__all__ = ["RunDesk"]

_MAX_RUNS = 1_000
_MAX_EVENTS = 5_000
_MAX_TEXT = 20_000
_MAX_ABOUT = 200
_INNER = "/inner/"
_ACTIONS = {"cancel": ("queued", "running", "waiting", "planned"), "retry": ("failed", "stopped", "cancelled")}

Json: TypeAlias = dict[str, Any]


class RunDesk:
    """Lists, shows, cancels and retries runs. All that is shown is masked as *dispatcher* masks it."""

    def __init__(
        self, dispatcher: Dispatcher, history: History, database: RunDatabase | None, *, read_only: bool
    ) -> None:
        self._dispatcher = dispatcher
        self._history = history
        self._database = database
        self._read_only = read_only

    async def list_all(self, request: Request) -> Json:
        """Return a page of the runs in the database; with the first page, the live ones."""
        status, kind, after = (request.query_params.get(name) or None for name in ("status", "kind", "after"))
        if status is not None and status not in get_args(RunStatus):
            raise ApiError(400, f"`status` has to be one of {', '.join(get_args(RunStatus))}")
        limit = min(max(1, read_number(request, "limit", 100)), _MAX_RUNS)
        rows = [] if after is not None else self._history.runs.list_rows(status, kind)[:limit]
        rows, following, problem = [self._mask(row) for row in rows], None, None
        try:
            kept_rows = await self._read_rows(status, kind, limit + 1, after)
        except ToolkitError as error:
            kept_rows, problem = [], str(error)
        if len(kept_rows) > limit:
            kept_rows, following = kept_rows[:limit], kept_rows[limit - 1]["id"]
        kept_ids = {row["id"] for row in kept_rows}
        return {
            "runs": [*(row for row in rows if row["id"] not in kept_ids), *kept_rows],
            "next": following,
            "problem": problem,
        }

    async def _read_rows(self, status: Any, kind: str | None, limit: int, after: str | None) -> list[Json]:
        if self._database is None:
            return []
        rows = await self._database.read(
            lambda journal: [*iterate_runs(journal, status=status, kind=kind, max_runs=limit, after=after)]
        )
        return [
            self._mask({**row_to_json(row), "about": shorten(find_prompt(row), _MAX_ABOUT), **_FROM_DATABASE})
            for row in rows
        ]

    async def read(self, request: Request) -> Json:
        """
        Return one run in full.

        Raises:
            ApiError: There is no such run.
        """
        run_id = require_text(request, "id")
        live, report = self._history.runs.get(run_id), None
        try:
            report = await self._read_report(run_id)
        except ToolkitError:
            if live is None:
                raise
        if report is not None:
            return self._mask(self._describe_report(report))
        if live is None:
            raise ApiError(404, f"there is no run {run_id[:200]!r}")
        return self._mask(self._describe_live(live))

    async def _read_report(self, run_id: str) -> RunReport | None:
        if self._database is None:
            return None

        def read(journal: Journal) -> RunReport | None:
            row = journal.get(run_id)
            return None if row is None else read_report(journal, row)

        return await self._database.read(read)

    async def cancel(self, request: Request) -> Json:
        """Cancel a run of the database, and return its row."""
        body = await read_body(request)
        run_id, reason = read_id(body, "run"), str(body.get("reason") or "")
        async with open_host(await self._require_database(run_id), run_id=run_id) as host:
            return {"run": row_to_json(await host.cancel(run_id, reason))}

    async def retry(self, request: Request) -> Json:
        """Queue a run of the database again, and return its row."""
        body = await read_body(request)
        run_id, seconds = read_id(body, "run"), read_seconds(body, "deadline_seconds")
        async with open_host(await self._require_database(run_id), run_id=run_id) as host:
            row = await host.retry(run_id, deadline_seconds=seconds, any_version=body.get("any_version") is True)
            return {"run": row_to_json(row)}

    async def _require_database(self, run_id: str) -> str:
        """Return the address of the database, if it can be used. One that is gone is not made."""
        if self._database is None:
            raise ApiError(404, f"there is no run {run_id[:200]!r} of a database; start with --database")
        await self._read_report(run_id)
        return self._database.address

    def _describe_live(self, live: LiveRun) -> Json:
        messages = [{**message, "calls": [*map(self._show_call, message["calls"])]} for message in live.messages]
        return {
            **live.row,
            **_EMPTY,
            "prompt": live.messages[0]["text"] if live.messages else "",
            "messages": messages,
            "usage": usage_to_json(live.usage),
            "subs": self._history.runs.list_subs(live.row["id"]),
        }

    def _describe_report(self, report: RunReport) -> Json:
        row, data = report.row, report.to_json()
        prompt, events = find_prompt(row), report.events[-_MAX_EVENTS:]
        is_flow = row.kind.startswith(FLOW)
        if is_flow:
            texts = [line.text for line in tell_events(events)]
        else:
            texts = ["  ".join(filter(None, report.describe_event(event))) for event in events]
        return {
            **row_to_json(row),
            **_EMPTY,
            **_FROM_DATABASE,
            **{name: data[name] for name in ("waits", "requests", "steps")},
            "about": shorten(prompt, _MAX_ABOUT),
            "prompt": prompt[:_MAX_TEXT],
            **self._describe_conversation(report),
            "events": [
                {"at": event.at, "kind": event.kind, "text": text, "key": event.key}
                for event, text in zip(events, texts, strict=True)
            ],
            "flow": describe_flow_run(report) if is_flow else None,
            "can": [name for name in _ACTIONS if row.status in _ACTIONS[name] and not self._read_only],
        }

    def _describe_conversation(self, report: RunReport) -> Json:
        """Return what was said, from the outcome of an agent; before there is one, and in runs inside, from steps."""
        row, conversations = report.row, self._list_messages(report)
        own: Json = {"messages": conversations.pop(row.id, [])}
        with contextlib.suppress(KeyError, ValueError, TypeError):  # there is none yet, or another version wrote it
            run = Run.from_json((row.outcome or {})["run"])
            usage = usage_to_json(run.usage, float(run.spent.cost + run.spent.tool_cost) or None)
            messages = [self._show_message(message.to_json()) for message in run.messages]
            own = {"plan": run.plan, "messages": messages, "usage": usage}
        subs = [
            {"id": key, "status": _find_status(report, key), "messages": messages}
            for key, messages in conversations.items()
        ]
        return {**own, "subs": subs}

    def _list_messages(self, report: RunReport) -> dict[str, list[Json]]:
        """Return the messages that the steps have recorded, by the key of the run that they belong to."""
        conversations: dict[str, list[Json]] = {}
        for step in report.order_steps():
            message = self._show_record(step.record or {})
            # In a flow, only agents talk. In a call of an agent, `sub_run` adds to the key of the call.
            if message is not None and (report.row.kind == AGENT or _INNER in step.key):
                conversations.setdefault(step.key.rsplit("/", 2)[0], []).append(message)
        return conversations

    def _show_message(self, data: Mapping[str, Any]) -> Json:
        """Return a saved message. What only its provider reads is left out."""
        parts = data.get("parts", ())
        text = data.get("text") or "\n".join(part["text"] for part in parts if part.get("type") == "text")
        return {
            "role": data.get("role", "assistant"),
            "text": text[:_MAX_TEXT],
            "calls": [self._show_call(call) for call in data.get("calls", ())],
            "results": [_show_result(result) for result in data.get("results", ())],
        }

    def _show_record(self, record: Mapping[str, Any]) -> Json | None:
        match record:
            case {"message": {"text": str(), "calls": list()} as message}:
                return self._show_message(message)
            case {"result": {"tool": str(tool), "kind": str()} as result} if tool:  # a note of a run has no tool
                return {"role": "tool", "text": "", "calls": [], "results": [_show_result(result)]}
        return None

    def _show_call(self, call: Mapping[str, Any]) -> Json:
        """Return a call that a model asked for, without the secrets of its tool."""
        name, arguments = str(call.get("name")), call.get("arguments")
        masked_call = ToolCall(name, arguments, tool=self._dispatcher.catalog.get(name))
        return {"id": call.get("id"), "tool": name, "arguments": mask_secrets(masked_call, arguments)}

    def _mask(self, data: Json) -> Json:
        redaction = self._dispatcher.settings.redaction
        masked: Json = redaction.mask_value(data) if redaction else data
        return masked


_FROM_DATABASE: Json = {"source": "database", "parent": None}
_EMPTY: Json = {
    **dict.fromkeys(("waits", "messages", "steps", "events", "requests", "subs", "can"), ()),
    **dict.fromkeys(("plan", "usage", "flow")),
}


def _show_result(result: Mapping[str, Any]) -> Json:
    text = str(result.get("text", ""))[:_MAX_TEXT]
    return {"id": result.get("call_id"), "tool": result.get("tool"), "kind": result.get("kind", "ok"), "text": text}


def _find_status(report: RunReport, key: str) -> str:
    """Return how the call ended in which the run *key* was started."""
    step = report.steps.get(key.rpartition(_INNER)[0] or key)
    if step is None or step.record is None:
        return report.row.status
    kind = step.record["result"].get("kind", "ok")
    return {"ok": "done", "waiting": "waiting"}.get(kind, "failed")
