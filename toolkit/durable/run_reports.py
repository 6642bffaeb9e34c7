"""
What happened in a durable run, and why it does not go on now, from its database alone.

No tools are loaded for it. All texts of a run are foreign: prompts, replies of models, results of tools and names of
people.

A worker says in the journal when it last showed that it lives, by its own clock. That is for people: other workers
trust the counters alone.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from .._plumbing.wording import format_count
from ..agent.saved.runs import Run
from ..decisions import ApprovalRequest
from ..storage.process_owner import is_alive
from .errors import DurableError
from .journal.records import DEFAULT_QUEUE, EventRow, RunRow, RunStatus, StepRow, WorkerRow, find_queue

if TYPE_CHECKING:  # they load the engine and drivers of databases, which a reader of reports does not need
    from .journal.run_journal import Journal

__all__ = [
    "AGENT",
    "FLOW",
    "RunReport",
    "describe_data",
    "describe_key",
    "describe_record",
    "describe_status",
    "describe_waits",
    "describe_worker",
    "find_prompt",
    "find_reason",
    "format_time",
    "is_gone",
    "is_present",
    "iterate_runs",
    "open_existing_journal",
    "read_report",
    "read_requests",
    "row_to_json",
    "shorten",
]

AGENT = "agent"
"""The kind of the runs that an agent works on."""

FLOW = "flow:"
"""What the kinds of the runs of flows begin with."""

_SQLITE = "sqlite:///"
_PAGE = 500
_MAX_RUNS = 5_000
_MAX_CHARS = 160
_SHORT_ID = 8
_SILENT_SECONDS = 60.0


def open_existing_journal(database: str) -> Journal:
    """
    Open the journal in *database*, which the caller closes. A database that does not exist is not made.

    Raises:
        DurableError: There is no such database, or it cannot be used.
    """
    from .journal.run_journal import open_journal

    path = Path(database.removeprefix(_SQLITE))
    if database.startswith(_SQLITE) and not path.exists():
        raise DurableError(
            f"there is no database {path.absolute()}; name the one that the workers have", why="store"
        ) from None
    return open_journal(database)


def read_requests(row: RunRow) -> tuple[ApprovalRequest, ...]:
    """Return the requests that people have to answer before the run goes on, with those that are decided already."""
    if row.status != "waiting" or row.outcome is None:
        return ()
    try:
        if row.kind == AGENT:
            return Run.from_json(row.outcome["run"]).requests
        return tuple(map(ApprovalRequest.from_json, row.outcome["requests"]))
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DurableError(
            f"what the run {row.id!r} waits for cannot be read: {error}; use the version of toolkit that wrote it",
            why="changed",
        ) from None


def iterate_runs(
    journal: Journal,
    *,
    status: RunStatus | None = None,
    kind: str | None = None,
    max_runs: int = _MAX_RUNS,
    after: str | None = None,
) -> Iterator[RunRow]:
    """Yield the runs in a database, the newest first, or those that come after the run *after*."""
    while max_runs > 0:
        size = min(_PAGE, max_runs)
        page = journal.list(status=status, kind=kind, limit=size, after=after)
        yield from page
        if len(page) < size:
            return
        after, max_runs = page[-1].id, max_runs - len(page)


def row_to_json(row: RunRow) -> dict[str, Any]:
    """Return what a list of runs says about a run. Its secret is left out."""
    return {
        "id": row.id,
        "kind": row.kind,
        "status": row.status,
        "reason": find_reason(row),
        "principal": row.principal,
        "activations": row.epoch,
        "lives": row.lives,
        "seconds": row.seconds,
        "created_at": row.created_at,
        "updated_at": row.updated_at,
        "deadline": row.deadline,
    }


def read_report(journal: Journal, row: RunRow) -> RunReport:
    """Return the report of the run *row* of *journal*."""
    steps, events = journal.read_steps(row.id), journal.read_events(row.id)
    return RunReport(row=row, steps=steps, events=events, workers=journal.list_workers())


@dataclass(frozen=True, slots=True, kw_only=True)
class RunReport:
    """A run, its steps by key, what happened in it in order, and the workers of the database."""

    row: RunRow
    steps: Mapping[str, StepRow]
    events: Sequence[EventRow]
    workers: Sequence[WorkerRow] = ()

    def to_json(self) -> dict[str, Any]:
        """Return the report as JSON. Replies and results are in the outcome, and are not repeated in the steps."""
        requests = read_requests(self.row)
        return {
            **row_to_json(self.row),
            "version": self.row.version,
            "waits": [*describe_waits(self.row, requests, self.workers, find_queue(self.events))],
            "input": dict(self.row.input),
            "requests": [{**request.to_json(), "is_decided": request.id in self.row.decisions} for request in requests],
            "steps": [self._step_to_json(step) for step in self.order_steps()],
            "events": [_event_to_json(event) for event in self.events],
            "outcome": self.row.outcome,
        }

    def order_steps(self) -> list[StepRow]:
        """Return the steps in the order in which they began."""
        return sorted(self.steps.values(), key=lambda step: step.began_at)

    def _step_to_json(self, step: StepRow) -> dict[str, Any]:
        return {
            "key": step.key,
            "state": step.state,
            "what": self.describe_step(step),
            "uncertain": self.is_uncertain(step),
            "activation": step.epoch,
            "seconds": step.seconds,
            "began_at": step.began_at,
            "finished_at": step.finished_at,
        }

    def describe_step(self, step: StepRow) -> str:
        """Return what came of *step*, or that it may or may not have happened."""
        if step.state == "done":
            return describe_record(step.record)
        if not self.is_uncertain(step):
            return "runs, or was cut off just now"
        return "began and has no result: it may or may not have happened"

    def is_uncertain(self, step: StepRow) -> bool:
        """Return whether *step* began in an activation that is over, and has no result."""
        is_current = self.row.status == "running" and step.epoch == self.row.epoch and not is_gone(self.row.worker)
        return step.state == "began" and not is_current

    def describe_event(self, event: EventRow) -> tuple[str, str]:
        """Return what *event* is, and its details. An event of an unknown kind is shown with its data."""
        subject = "" if event.key is None else describe_key(event.key, self.row.id)
        data = event.data
        match event.kind:
            case "created":
                return "started", "" if find_queue([event]) == DEFAULT_QUEUE else describe_data(data)
            case "activated":
                return f"activation {event.epoch}", describe_worker(str(data.get("worker", "")))
            case "began":
                return f"{subject} begins", describe_data(data)
            case "finished":
                step = self.steps.get(event.key or "")
                return (f"{subject} ends", "") if step is None else (subject, describe_record(step.record))
            case "decided":
                request_ids = ", ".join(str(request_id)[:_SHORT_ID] for request_id in data.get("requests", ()))
                return "a person has answered", request_ids
            case "waiting" | "ended":
                return f"the activation ends: {data.get('status', event.kind)}", ""
            case "cancelled":
                return "cancelled", describe_data(data)
            case "retried":
                return "any version may go on" if data.get("any_version") else "queued again", ""
            case "executed":
                return "the plan is to be carried out", f"in mode {data.get('mode')}"
            case "given_back":
                return "the worker ends, and gives the run back", ""
        return " ".join(filter(None, (event.kind, subject))), describe_data(data)


def describe_key(key: str, run_id: str) -> str:
    """Return the *key* of a step of the run *run_id* in words: "reply 2", or for a sub-run "call 1.c1, reply 2"."""
    parts = [unquote(part) for part in key.split("/")]
    if parts[:1] == [run_id]:
        parts = parts[1:]
    pairs = [parts[start : start + 2] for start in range(0, len(parts), 2)]
    words = [["answered call", pair[-1][:_SHORT_ID]] if pair[0] == "resume" else pair for pair in pairs]
    return ", ".join(map(" ".join, words))


def describe_record(record: Mapping[str, Any] | None) -> str:
    """Return what came of a step: the beginning of a reply with its calls, or the kind and the text of a result."""
    match record:
        case {"message": {"text": str(text), "calls": list(calls)}}:
            names = ", ".join(str(call.get("name")) for call in calls if isinstance(call, Mapping))
            return "; ".join(filter(None, (shorten(text), names and f"calls {names}")))
        case {"result": {"tool": tool, "kind": kind, "text": str(text)}}:
            # The text of a call that waits or fails says so itself.
            return f"{tool} {'ok: ' if kind == 'ok' else ''}{shorten(text)}"
    return "" if record is None else describe_data(record)


def describe_data(data: Mapping[str, Any]) -> str:
    """Return the fields of *data* that hold something, on one line."""
    return shorten(_join_fields(data))


def _join_fields(data: Mapping[str, Any]) -> str:
    shown = {name: value for name, value in data.items() if value not in (None, "", {}, [])}
    return ", ".join(f"{name} {_as_words(value)}" for name, value in shown.items())


def _as_words(value: Any) -> str:
    """Return a JSON value on one line: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


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


def find_prompt(row: RunRow) -> str:
    """Return the text of the prompt; for a flow, the type of the value that it was started with, and its fields."""
    match row.input:
        case {"prompt": str(prompt)}:
            return prompt
        case {"message": {"parts": [*parts]}}:
            texts = [part["text"] if "text" in part else f"[{part.get('type')}]" for part in parts]
            return "\n".join(map(str, texts))
        case {"type": str(name), "value": Mapping() as value}:
            return ": ".join(filter(None, (name, _join_fields(value))))
        case {"type": str(), "value": value}:
            return _as_words(value)
    return _join_fields(row.input)


def find_reason(row: RunRow) -> str:
    """Return why the run is not done; empty if there is no reason."""
    outcome = row.outcome or {}
    run = outcome.get("run", outcome)
    reason = run.get("reason") if isinstance(run, Mapping) else None
    return row.problem or (reason if isinstance(reason, str) else "")


def shorten(text: str, max_chars: int = _MAX_CHARS) -> str:
    """Return *text* on one line of at most *max_chars* characters."""
    first = " ".join(text.split())
    return first if len(first) <= max_chars else f"{first[: max_chars - 3]}..."


def describe_waits(
    row: RunRow, requests: Sequence[ApprovalRequest], workers: Sequence[WorkerRow], queue: str | None
) -> Iterator[str]:
    """
    Yield sentences that say why the run *row* of *queue* does not go on now.

    If the queue is None, it is not known, and all workers count.
    """
    since = f"since {format_time(row.updated_at)} UTC"
    open_requests = [request for request in requests if request.id not in row.decisions]
    worker_words = _describe_workers_for(row, [*filter(is_present, workers)], queue)
    if row.status == "running" and is_gone(row.worker):
        yield f"it was running in {describe_worker(row.worker)}, which is gone; it needs a worker: {worker_words}"
    elif row.status == "running":
        yield f"{describe_worker(row.worker)} works on it, {since}"
    elif row.status == "waiting":
        for request in open_requests:
            until = "" if request.expires_at is None else f", until {format_time(request.expires_at)} UTC"
            whose = "" if request.principal is None else f" on behalf of {request.principal}"
            yield f"a person has to answer request {request.id} of `{request.tool}`{whose}, {since}{until}"
        if row.due_at is not None and open_requests:
            yield f"it goes on without an answer at {format_time(row.due_at)} UTC"
    if row.status == "queued" or row.decisions:
        yield f"it needs a worker, {since}: {worker_words}"


def _describe_workers_for(row: RunRow, all_workers: Collection[WorkerRow], queue: str | None) -> str:
    """Return which of *all_workers* can go on with *row*, and what to do if none can."""
    workers = [worker for worker in all_workers if queue in (None, worker.queue)]
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
    is_default = queue in (None, DEFAULT_QUEUE)
    whose = "" if is_default and not all_workers else f" of the queue {queue!r}"
    return f"no worker{whose} lives; start one with 'toolkit worker{'' if is_default else f' --queue {queue}'}'"


def is_present(worker: WorkerRow) -> bool:
    """Return whether *worker* takes runs from the queue, and has shown lately that it lives."""
    if worker.versions is None or is_gone(worker.name):
        return False
    return worker.beat_at is not None and time.time() - worker.beat_at < _SILENT_SECONDS


def is_gone(worker_name: str) -> bool:
    """Return whether the process of a worker has certainly ended. That cannot be seen from another machine."""
    return is_alive(worker_name.partition(".")[0]) is False


def describe_status(row: RunRow) -> str:
    """Return the status of a run, and what has happened since it was written, as far as that can be seen."""
    if row.status == "running" and is_gone(row.worker):
        return "running, but its process is gone"
    return "waiting, and answered" if row.status == "waiting" and row.decisions else row.status


def describe_worker(name: str) -> str:
    """Return the name of a worker in short: its process, and the beginning of the name of its machine."""
    machine, _, rest = name.partition("/")
    process = rest.partition("/")[0]
    return f"process {process} on {machine[:8]}" if process.isdigit() else name


def format_time(seconds: float) -> str:
    """Return a time since 1970 in words, in UTC."""
    return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S}"
