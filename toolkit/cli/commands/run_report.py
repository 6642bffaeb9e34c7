"""
What happened in a durable run, and why it does not go on now, as JSON for programs and as lines for people.

All texts of a run are foreign: prompts, replies of models, results of tools and names of people.

A worker says in the journal when it last showed that it lives, by its own clock. That is for people: other workers
trust the counters alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from rich.text import Text

from ..._plumbing.wording import format_count
from ...decisions import ApprovalRequest
from ...durable.journal.records import EventRow, RunRow, StepRow, WorkerRow
from ...storage.process_owner import is_alive
from ..display.lines import format_duration
from ..output import to_safe_text
from ..run_database import read_requests

__all__ = ["RunReport", "describe_row", "describe_worker_row", "format_time", "row_to_json"]

_MAX_CHARS = 160
_FLOW = "flow:"
_SHORT_ID = 8
_SILENT_SECONDS = 60.0
_STATUS_STYLES = {"done": "green", "failed": "red", "cancelled": "red", "stopped": "yellow", "waiting": "yellow"}

_UNREMARKABLE = ("queued", "running", "waiting", "planned", "done")


def row_to_json(row: RunRow) -> dict[str, Any]:
    """Return what a list of runs says about a run. Its secret is left out."""
    return {
        "id": row.id,
        "kind": row.kind,
        "status": row.status,
        "reason": _find_reason(row),
        "principal": row.principal,
        "activations": row.epoch,
        "lives": row.lives,
        "seconds": row.seconds,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "deadline": row.deadline,
    }


def describe_row(row: RunRow) -> tuple[str | Text, ...]:
    """Return the cells of a run in a table: id, kind, status, what it is about, when it changed."""
    return (
        row.id,
        row.kind,
        Text(row.status, _STATUS_STYLES.get(row.status, "")),
        _shorten(_find_prompt(row) if row.status in _UNREMARKABLE else _find_reason(row), 60),
        format_time(row.updated_at),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run, its steps by key, what happened in it in order, and the workers of the database."""

    row: RunRow
    steps: Mapping[str, StepRow]
    events: Sequence[EventRow]
    workers: Sequence[WorkerRow] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON. Replies and results are in the outcome, and are not repeated in the steps."""
        return {
            **row_to_json(self.row),
            "version": self.row.version,
            "waits": [*describe_waits(self.row, read_requests(self.row), self.workers)],
            "input": dict(self.row.input),
            "requests": [
                {**request.to_json(), "is_decided": request.id in self.row.decisions}
                for request in read_requests(self.row)
            ],
            "steps": [self._step_to_json(step) for step in self._ordered_steps()],
            "events": [_event_to_json(event) for event in self.events],
            "outcome": self.row.outcome,
        }

    def _ordered_steps(self) -> list[StepRow]:
        return sorted(self.steps.values(), key=lambda step: step.began_at)

    def _step_to_json(self, step: StepRow) -> dict[str, Any]:
        return {
            "key": step.key,
            "state": step.state,
            "what": self._describe_step(step),
            "activation": step.epoch,
            "seconds": step.seconds,
            "began_at": step.began_at,
            "finished_at": step.finished_at,
        }

    def describe(self) -> Iterator[Text]:
        """Yield the lines that tell a person what the run is, and what happened in it step by step."""
        row = self.row
        status = (row.status, f"bold {_STATUS_STYLES.get(row.status, '')}".strip())
        work = f"  {row.kind}, {format_count(row.epoch, 'activation')}, {format_duration(row.seconds)} of work"
        yield Text.assemble(to_safe_text(row.id, "bold"), "  ", status, (work, "dim"))
        for label, text in self._facts():
            yield Text.assemble((f"  {label}: ", "dim"), to_safe_text(text))
        for event in self.events:
            line = _describe_flow_event(event) if row.kind.startswith(_FLOW) else self._describe_event(event)
            yield Text.assemble((f"  {format_time(event.at)}  ", "dim"), line)
        for step in self._ordered_steps():
            if step.state == "began":
                subject = step.key if row.kind.startswith(_FLOW) else describe_key(step.key, row.id)
                yield _line(f"  {subject}", self._describe_step(step), "yellow")

    def _facts(self) -> Iterator[tuple[str, str]]:
        row = self.row
        if prompt := _find_prompt(row):
            yield "prompt", _shorten(prompt, 1_000)
        if row.principal is not None:
            yield "on behalf of", row.principal
        if row.deadline is not None:
            yield "has to end by", f"{format_time(row.deadline)} UTC"
        if reason := _find_reason(row):
            yield "because", reason
        for sentence in describe_waits(row, read_requests(row), self.workers):
            yield "now", sentence
        if row.lives:
            yield "cut off", f"{format_count(row.lives, 'time')} in a row"

    def _describe_event(self, event: EventRow) -> Text:
        """Return one line about *event*. An event of an unknown kind is shown with its data."""
        subject = "" if event.key is None else describe_key(event.key, self.row.id)
        data = event.data
        match event.kind:
            case "created":
                return Text("started")
            case "activated":
                return _line(f"activation {event.epoch}", describe_worker(str(data.get("worker", ""))))
            case "began":
                return _line(f"{subject} begins", _describe_data(data))
            case "finished":
                return self._describe_finished(event, subject)
            case "decided":
                request_ids = ", ".join(str(request_id)[:_SHORT_ID] for request_id in data.get("requests", ()))
                return _line("a person has answered", request_ids, "bold")
            case "waiting" | "ended":
                status = str(data.get("status", event.kind))
                return to_safe_text(f"the activation ends: {status}", _STATUS_STYLES.get(status, ""))
            case "cancelled":
                return _line("cancelled", _describe_data(data), "red")
            case "retried":
                return Text("any version may go on" if data.get("any_version") else "queued again")
            case "executed":
                return _line("the plan is to be carried out", f"in mode {data.get('mode')}", "bold")
            case "given_back":
                return Text("the worker ends, and gives the run back")
        return _line(" ".join(filter(None, (event.kind, subject))), _describe_data(data))

    def _describe_finished(self, event: EventRow, subject: str) -> Text:
        step = self.steps.get(event.key or "")
        if step is None:
            return Text(f"{subject} ends")
        took = f"  {format_duration(step.seconds)}" if step.seconds else ""
        return Text.assemble(_line(subject, _describe_record(step.record)), (took, "dim"))

    def _describe_step(self, step: StepRow) -> str:
        if step.state == "done":
            return _describe_record(step.record)
        if self.row.status == "running" and step.epoch == self.row.epoch:
            return "runs, or was cut off just now"
        return "began and has no result: it may or may not have happened"


def _describe_flow_event(event: EventRow) -> Text:
    from ...flows.story import tell_events  # here, because it loads all of the flows

    (told,) = tell_events([event])
    return _line(str(told), format_duration(told.seconds) if told.seconds else "")


def describe_key(key: str, run_id: str) -> str:
    """Return the *key* of a step of the run *run_id* in words: "reply 2", or for a sub-run "call 1.c1, reply 2"."""
    parts = [unquote(part) for part in key.split("/")]
    if parts[:1] == [run_id]:
        parts = parts[1:]
    pairs = [parts[start : start + 2] for start in range(0, len(parts), 2)]
    words = [["answered call", pair[-1][:_SHORT_ID]] if pair[0] == "resume" else pair for pair in pairs]
    return ", ".join(map(" ".join, words))


def _describe_record(record: Mapping[str, Any] | None) -> str:
    """Return what came of a step: the beginning of a reply with its calls, or the kind and the text of a result."""
    match record:
        case {"message": {"text": str(text), "calls": list(calls)}}:
            names = ", ".join(str(call.get("name")) for call in calls if isinstance(call, Mapping))
            return "; ".join(filter(None, (_shorten(text), names and f"calls {names}")))
        case {"result": {"tool": tool, "kind": kind, "text": str(text)}}:
            # The text of a call that waits or fails says so itself.
            return f"{tool} {'ok: ' if kind == 'ok' else ''}{_shorten(text)}"
    return "" if record is None else _describe_data(record)


def _describe_data(data: Mapping[str, Any]) -> str:
    shown = {name: value for name, value in data.items() if value not in (None, "", {}, [])}
    return _shorten(", ".join(f"{name} {as_words(value)}" for name, value in shown.items()))


def as_words(value: Any) -> str:
    """Return a JSON value on one line: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _line(beginning: str, rest: str, style: str = "") -> Text:
    """Return a line; *beginning* and *rest* may have foreign text in them."""
    line = to_safe_text(beginning, style)
    return line if not rest else Text.assemble(line, ("  ", ""), to_safe_text(rest, "dim"))


def _event_to_json(event: EventRow) -> dict[str, Any]:
    return {
        "number": event.number,
        "at": event.at,
        "activation": event.epoch,
        "kind": event.kind,
        "key": event.key,
        # The record of a step has a place of its own.
        "data": {name: value for name, value in event.data.items() if name != "record"},
    }


def _find_prompt(row: RunRow) -> str:
    """Return the text of the prompt; for another kind of run, what it was started with."""
    prompt = row.input.get("prompt", row.input)
    return prompt if isinstance(prompt, str) else as_words(prompt)


def _find_reason(row: RunRow) -> str:
    outcome = row.outcome or {}
    run = outcome.get("run", outcome)
    reason = run.get("reason") if isinstance(run, Mapping) else None
    return row.problem or (reason if isinstance(reason, str) else "")


def _shorten(text: str, max_chars: int = _MAX_CHARS) -> str:
    first = " ".join(text.split())
    return first if len(first) <= max_chars else f"{first[: max_chars - 3]}..."


def describe_waits(row: RunRow, requests: Sequence[ApprovalRequest], workers: Sequence[WorkerRow]) -> Iterator[str]:
    """Yield sentences that say why the run *row* does not go on now."""
    since = f"since {format_time(row.updated_at)} UTC"
    open_requests = [request for request in requests if request.id not in row.decisions]
    if row.status == "running":
        yield f"{describe_worker(row.worker)} works on it, {since}"
    elif row.status == "waiting":
        for request in open_requests:
            until = "" if request.expires_at is None else f", until {format_time(request.expires_at)} UTC"
            whose = "" if request.principal is None else f" on behalf of {request.principal}"
            yield f"a person has to answer request {request.id} of `{request.tool}`{whose}, {since}{until}"
        if row.due_at is not None:
            yield f"it goes on without an answer at {format_time(row.due_at)} UTC"
    if row.status == "queued" or row.decisions:
        yield f"it needs a worker, {since}: {_describe_workers_for(row, [*filter(is_present, workers)])}"


def _describe_workers_for(row: RunRow, workers: Collection[WorkerRow]) -> str:
    """Return which of the *workers* can go on with *row*, and what to do if none can."""
    fitting = [worker for worker in workers if worker.may_work_on(row)]
    if fitting:
        return f"{format_count(len(fitting), 'worker')} can go on with it"
    versions = {worker.versions[row.kind] for worker in workers if worker.versions and row.kind in worker.versions}
    if versions:
        others = ", ".join(sorted(versions))
        return (
            f"it began with version {row.version} of {row.kind!r}, and the workers have {others}; start a worker of "
            f"that version, or let any go on with 'toolkit runs retry {row.id} --any-version'"
        )
    if workers:
        return f"none of the {format_count(len(workers), 'worker')} has {row.kind!r}; start one that has it"
    return "no worker lives; start one with 'toolkit worker'"


def is_present(worker: WorkerRow) -> bool:
    """Return whether *worker* takes runs from the queue, and has shown lately that it lives."""
    if worker.versions is None or is_alive(worker.name.partition(".")[0]) is False:
        return False
    return worker.beat_at is not None and time.time() - worker.beat_at < _SILENT_SECONDS


def describe_worker_row(worker: WorkerRow, run_ids: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of a worker in a table: name, host, state, versions, last sign of life, runs."""
    is_dead = is_alive(worker.name.partition(".")[0]) is False
    state = "dead" if is_dead else "works" if is_present(worker) else "silent" if worker.versions else "here and now"
    versions = ", ".join(f"{kind} {version}".strip() for kind, version in (worker.versions or {}).items())
    beat = "" if worker.beat_at is None else format_time(worker.beat_at)
    return describe_worker(worker.name), worker.host, state, versions, beat, ", ".join(run_ids)


def describe_worker(name: str) -> str:
    """Return the name of a worker in short: its process, and the beginning of the name of its machine."""
    machine, _, rest = name.partition("/")
    process = rest.partition("/")[0]
    return f"process {process} on {machine[:8]}" if process.isdigit() else name


def format_time(seconds: float) -> str:
    """Return a time since 1970 in words, in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
