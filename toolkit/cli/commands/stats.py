"""
`toolkit stats`: sum up an audit log in numbers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from datetime import UTC, datetime

import click

from ..._plumbing.wording import format_count
from ...policies.audit import AuditLog
from ..command import subcommand
from ..display.lines import format_duration
from ..failures import Failure
from ..output import Output
from .audit_summary import AuditSummary, summarize_log

__all__ = ["command"]


@subcommand("stats")
@click.argument("log", type=click.Path(exists=True, dir_okay=False))
def command(output: Output, log: str) -> None:
    """Sum up an audit log in numbers.

    For each tool: how many calls there were, how they ended, what decided about
    them, and how long they took. LOG is a file that Dispatcher(audit=AuditLog(path))
    or --audit has written. No tool is imported or run.

    \b
    Examples:
      toolkit call tools.py free_days year=2026 --audit calls.jsonl
      toolkit stats calls.jsonl
    """
    summary = summarize_log(AuditLog.read(log))
    if summary.unreadable and summary.first is None and not summary.tools:
        raise Failure(f"{log} is no audit log: none of its lines can be read; name a file that --audit has written")
    if summary.unreadable:
        verb = "is" if summary.unreadable == 1 else "are"
        output.note(f"{format_count(summary.unreadable, 'line')} of the log cannot be read, and {verb} left out")
    if output.is_json:
        output.json(asdict(summary))
    else:
        _show(summary, output)


def _show(summary: AuditSummary, output: Output) -> None:
    rows = [
        (
            tally.tool,
            f"{tally.calls:,}",
            _format_counts({kind: count for kind, count in tally.kinds.items() if kind != "ok"}),
            _format_counts(tally.verdicts),
            _format_counts(tally.answers),
            f"{tally.retries:,}",
            format_duration(tally.p50_seconds),
            format_duration(tally.p95_seconds),
            f"{tally.chars:,}",
        )
        for tally in summary.tools
    ]
    columns = ["tool", "calls", "not ok", "verdicts", "people", "retries", "p50", "p95", "characters"]
    output.table(columns, rows)
    if summary.first is not None and summary.last is not None:
        output.show(f"from {_format_time(summary.first)} to {_format_time(summary.last)}")


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())


def _format_time(seconds: float) -> str:
    try:
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"
    except (OverflowError, ValueError, OSError):
        return "a time that is none"
