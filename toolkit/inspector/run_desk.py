"""
The runs of agents and flows: those that this process has seen, and those of a database, which may be another process's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, get_args

from ..agent.saved.runs import Run
from ..dispatcher import Dispatcher
from ..durable.journal.records import EventRow, RunStatus
from ..durable.journal.run_journal import Journal
from ..durable.run_reports import (
    AGENT,
    FLOW,
    RunReport,
    find_prompt,
    iterate_runs,
    open_host,
    read_report,
    row_to_json,
    shorten,
)
from ..errors import DefinitionError, ToolkitError
from ..flows.flow import Flow
from ..flows.story import find_steps_done, list_left, tell_events
from ..hooks.shell.events import mask_secrets
from ..results import ToolCall
from .api_requests import ApiError
from .history import History
from .live_runs import LiveRun, usage_to_json
from .run_database import RunDatabase

__all__ = ["RunDesk", "describe_flow"]

_MAX_RUNS = 1_000
_MAX_EVENTS = 5_000
_MAX_TEXT = 20_000
_MAX_ABOUT = 200
_CAN_BE_RETRIED = ("failed", "stopped", "cancelled")
_CAN_BE_CANCELLED = ("queued", "running", "waiting", "planned")

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

    async def list_all(self, status: str | None, kind: str | None, limit: int, after: str | None) -> Json:
        """Return a page of the runs in the database; with the first page, the live ones."""
        if status is not None and status not in get_args(RunStatus):
            raise ApiError(400, f"`status` has to be one of {', '.join(get_args(RunStatus))}")
        limit = min(limit, _MAX_RUNS)
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

    async def read(self, run_id: str) -> Json:
        """
        Return one run in full.

        Raises:
            ApiError: There is no such run.
        """
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

    async def cancel(self, run_id: str, reason: str) -> Json:
        """Cancel a run of the database, and return its row."""
        async with open_host(await self._require_database(run_id)) as host:
            return {"run": row_to_json(await host.cancel(run_id, reason))}

    async def retry(self, run_id: str, *, deadline_seconds: float | None, any_version: bool) -> Json:
        """Queue a run of the database again, and return its row."""
        async with open_host(await self._require_database(run_id)) as host:
            row = await host.retry(run_id, deadline_seconds=deadline_seconds, any_version=any_version)
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
        row = report.row
        data = report.to_json()
        waiting = {name: data[name] for name in ("waits", "requests")}
        steps = [
            {**step_data, "uncertain": report.is_uncertain(step)}
            for step_data, step in zip(data["steps"], report.order_steps(), strict=True)
        ]
        about = {"about": shorten(find_prompt(row), _MAX_ABOUT), "prompt": find_prompt(row)[:_MAX_TEXT]}
        events = report.events[-_MAX_EVENTS:]
        is_flow = row.kind.startswith(FLOW)
        texts = [str(line) for line in tell_events(events)] if is_flow else [_tell(report, event) for event in events]
        return {
            **row_to_json(row),
            **_EMPTY,
            **_FROM_DATABASE,
            **about,
            **waiting,
            **(self._describe_conversation(report) if row.kind == AGENT else {}),
            "steps": steps,
            "events": [
                {"at": event.at, "kind": event.kind, "text": text, "key": event.key}
                for event, text in zip(events, texts, strict=True)
            ],
            "flow": _describe_position(row.kind, report.events) if is_flow else None,
            "can": [] if self._read_only else _list_actions(row.status),
        }

    def _describe_conversation(self, report: RunReport) -> Json:
        """Return the conversation of an agent, from its outcome; before there is one, from its steps."""
        try:
            run = Run.from_json((report.row.outcome or {})["run"])
        except (KeyError, ValueError, TypeError):  # there is none yet, or another version wrote it
            records = [step.record for step in report.order_steps() if step.record is not None]
            messages = [self._show_record(record) for record in records]
            return {"messages": [message for message in messages if message is not None]}
        cost = float(run.spent.cost + run.spent.tool_cost)
        subs = [{"id": sub.run.id, "call_id": sub.call_id, "status": sub.run.status} for sub in run.subs]
        return {
            "plan": run.plan,
            "messages": [self._show_message(message.to_json()) for message in run.messages],
            "usage": usage_to_json(run.usage, cost or None),
            "subs": subs,
        }

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
            case {"result": {"tool": str(), "kind": str()} as result}:
                return {"role": "tool", "text": "", "calls": [], "results": [_show_result(result)]}
        return None

    def _show_call(self, call: Mapping[str, Any]) -> Json:
        """Return a call that a model asked for, without the secrets of its tool."""
        name, arguments = str(call.get("name")), call.get("arguments")
        masked_call = ToolCall(name, arguments, tool=self._dispatcher.catalog.get(name))
        return {"id": call.get("id"), "name": name, "arguments": mask_secrets(masked_call, arguments)}

    def _mask(self, data: Json) -> Json:
        redaction = self._dispatcher.settings.redaction
        masked: Json = redaction.mask_value(data) if redaction else data
        return masked


_FROM_DATABASE: Json = {"source": "database", "parent": None}
_EMPTY: Json = {
    **dict.fromkeys(("waits", "messages", "steps", "events", "requests", "subs", "can"), ()),
    **dict.fromkeys(("plan", "usage", "flow")),
}


def _list_actions(status: str) -> list[str]:
    return ["cancel"] * (status in _CAN_BE_CANCELLED) + ["retry"] * (status in _CAN_BE_RETRIED)


def _tell(report: RunReport, event: EventRow) -> str:
    return "  ".join(filter(None, report.describe_event(event)))


def _show_result(result: Mapping[str, Any]) -> Json:
    text = str(result.get("text", ""))[:_MAX_TEXT]
    return {"id": result.get("call_id"), "tool": result.get("tool"), "kind": result.get("kind", "ok"), "text": text}


def _describe_position(kind: str, events: Sequence[EventRow]) -> Json:
    """Return where a run of a flow is: the steps that began and have not ended, what is done, and what is left."""
    open_steps: dict[str, None] = {}
    for event, line in zip(events, tell_events(events), strict=True):
        result = event.data.get("record", {}).get("result", {}) if event.kind == "finished" else {}
        if line.step and (event.kind == "began" or result.get("kind") == "waiting"):
            open_steps[line.step] = None
        elif line.step and event.kind == "finished":
            open_steps.pop(line.step, None)
    about = {"position": [*open_steps], "left": [*list_left(events)], "done": [*find_steps_done(events)]}
    return {"name": kind.removeprefix(FLOW), **about}


def describe_flow(flow: Flow[Any]) -> Json:
    """Return the graph of *flow*, as text for Mermaid and as nodes and edges; or what is wrong with it."""
    try:
        graph = flow.graph
    except DefinitionError as error:
        return {"name": flow.name, "mermaid": "", "nodes": [], "edges": [], "problem": str(error)}
    nodes = [
        {
            "name": node.name,
            "takes": node.takes.name,
            "returns": [ref.name for ref in node.returns],
            "check": None if node.check is None else node.check.name,
            "undo": None if node.undo is None else node.undo.name,
            "back_to": node.back_to,
            "start": node.name in graph.starts,
            "attempts": node.attempts,
        }
        for node in graph.nodes.values()
    ]
    names = ("source", "target", "type", "is_fan_out", "is_join")
    edges = [{name: getattr(edge, name) for name in names} for edge in graph.list_edges()]
    return {"name": flow.name, "mermaid": flow.mermaid(), "nodes": nodes, "edges": edges}
