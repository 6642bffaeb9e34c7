"""
The report of a durable run as lines for people.

All texts of a run are foreign: prompts, replies of models, results of tools and names of people.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.text import Text

from .._plumbing.wording import format_count
from ..durable.journal.records import EventRow, RunRow, WorkerRow, find_queue
from ..durable.run_reports import (
    FLOW,
    RunReport,
    describe_key,
    describe_status,
    describe_waits,
    describe_worker,
    find_prompt,
    find_reason,
    format_time,
    is_gone,
    is_present,
    read_requests,
    shorten,
)
from .display.lines import format_duration
from .output import to_safe_text

__all__ = ["describe_report", "describe_row", "describe_worker_row"]

_STATUS_STYLES = {"done": "green", "failed": "red", "cancelled": "red", "stopped": "yellow", "waiting": "yellow"}
_EVENT_STYLES = {"decided": "bold", "executed": "bold", "cancelled": "red"}

_UNREMARKABLE = ("queued", "running", "waiting", "planned", "done")


def describe_row(row: RunRow) -> tuple[str | Text, ...]:
    """Return the cells of a run in a table: id, kind, status, what it is about, when it changed."""
    return (
        row.id,
        row.kind,
        Text(describe_status(row), _STATUS_STYLES.get(row.status, "")),
        shorten(find_prompt(row) if row.status in _UNREMARKABLE else find_reason(row), 60),
        format_time(row.updated_at),
    )


def describe_report(report: RunReport) -> Iterator[Text]:
    """Yield the lines that tell a person what the run is, and what happened in it step by step."""
    row = report.row
    status = (describe_status(row), f"bold {_STATUS_STYLES.get(row.status, '')}".strip())
    work = f"  {row.kind}, {format_count(row.epoch, 'activation')}, {format_duration(row.seconds)} of work"
    yield Text.assemble(to_safe_text(row.id, "bold"), "  ", status, (work, "dim"))
    for label, text in _list_facts(report):
        yield Text.assemble((f"  {label}: ", "dim"), to_safe_text(text))
    for event in report.events:
        line = _describe_flow_event(event) if row.kind.startswith(FLOW) else _describe_event(report, event)
        yield Text.assemble((f"  {format_time(event.at)}  ", "dim"), line)
    for step in report.order_steps():
        if step.state == "began":
            subject = step.key if row.kind.startswith(FLOW) else describe_key(step.key, row.id)
            yield _line(f"  {subject}", report.describe_step(step), "yellow")


def _list_facts(report: RunReport) -> Iterator[tuple[str, str]]:
    row = report.row
    if prompt := find_prompt(row):
        yield "started with" if row.kind.startswith(FLOW) else "prompt", shorten(prompt, 1_000)
    if row.principal is not None:
        yield "on behalf of", row.principal
    if row.deadline is not None:
        yield "has to end by", f"{format_time(row.deadline)} UTC"
    if reason := find_reason(row):
        yield "because", reason
    for sentence in describe_waits(row, read_requests(row), report.workers, find_queue(report.events)):
        yield "now", sentence
    if row.lives:
        yield "cut off", f"{format_count(row.lives, 'time')} in a row"


def _describe_event(report: RunReport, event: EventRow) -> Text:
    beginning, details = report.describe_event(event)
    ending = str(event.data.get("status", event.kind)) if event.kind in ("waiting", "ended") else ""
    line = _line(beginning, details, _STATUS_STYLES.get(ending, _EVENT_STYLES.get(event.kind, "")))
    step = report.steps.get(event.key or "") if event.kind == "finished" else None
    took = f"  {format_duration(step.seconds)}" if step is not None and step.seconds else ""
    return Text.assemble(line, (took, "dim"))


def _describe_flow_event(event: EventRow) -> Text:
    from ..flows.story import tell_events  # here, because it loads all of the flows

    (told,) = tell_events([event])
    return _line(str(told), format_duration(told.seconds) if told.seconds else "")


def _line(beginning: str, rest: str, style: str = "") -> Text:
    """Return a line; *beginning* and *rest* may have foreign text in them."""
    line = to_safe_text(beginning, style)
    return line if not rest else Text.assemble(line, ("  ", ""), to_safe_text(rest, "dim"))


def describe_worker_row(worker: WorkerRow, run_ids: Sequence[str]) -> tuple[str, ...]:
    """Return the cells of a worker in a table: name, host, state, queue, versions, last sign of life, runs."""
    state = (
        "dead"
        if is_gone(worker.name)
        else "works"
        if is_present(worker)
        else "silent"
        if worker.versions
        else "here and now"
    )
    versions = ", ".join(f"{kind} {version}".strip() for kind, version in (worker.versions or {}).items())
    beat = "" if worker.beat_at is None else format_time(worker.beat_at)
    return describe_worker(worker.name), worker.host, state, worker.queue, versions, beat, ", ".join(run_ids)
