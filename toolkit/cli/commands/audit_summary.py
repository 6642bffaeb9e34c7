"""`toolkit stats`: sum up in numbers what an audit log says about each tool, or what a saved run has cost the model."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import click

from ..._plumbing.wording import format_count
from ...agent import Run
from ...hooks.stats import compute_percentile
from ...policies.audit import AuditLog
from ...providers.base import Usage
from ...values.text_limits import estimate_tokens
from ..command import subcommand
from ..display.lines import describe_usage, format_duration, format_time, list_parts
from ..failures import Failure
from ..output import Output

__all__ = ["AuditSummary", "ToolSummary", "command", "summarize_log"]

_UNKNOWN = "(unknown)"
_MAX_TOOLS = 10_000
_MAX_DURATIONS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSummary:
    """
    The numbers of one tool. The tool "(unknown)" stands for all names that no tool has.

    Attributes:
        tool: The name of the tool.
        calls: How many calls have ended.
        kinds: How many calls ended in each kind of result.
        verdicts: How many calls were allowed, asked about and denied.
        answers: How many requests a person approved and refused.
        retries: The number of attempts beyond the first one of each call.
        p50_seconds: Half of the calls that ran took at most this long.
        p95_seconds: 95 % of the calls that ran took at most this long.
        chars: The number of characters in the texts of all results together.
        tokens: The tokens that these are for a model that reads each text once, estimated.
    """

    tool: str
    calls: int
    kinds: dict[str, int]
    verdicts: dict[str, int]
    answers: dict[str, int]
    retries: int
    p50_seconds: float
    p95_seconds: float
    chars: int
    tokens: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditSummary:
    """
    The numbers of a whole log.

    Attributes:
        tools: The numbers of each tool.
        first: The time of the first line, in seconds since 1970; None if no line has a time.
        last: The time of the last line, in the same way.
        unreadable: How many lines of the log cannot be read.
    """

    tools: tuple[ToolSummary, ...]
    first: float | None
    last: float | None
    unreadable: int


class _Counts:
    def __init__(self) -> None:
        self.kinds: Counter[str] = Counter()
        self.verdicts: Counter[str] = Counter()
        self.answers: Counter[str] = Counter()
        self.seconds: deque[float] = deque(maxlen=_MAX_DURATIONS)
        self.retries = self.chars = 0

    def add_line(self, line: Mapping[str, Any]) -> None:
        match line.get("event"):
            case "outcome":
                self.kinds[str(line.get("kind"))[:40]] += 1
                attempts = _number(line.get("attempts"))
                self.retries += int(max(0, attempts - 1))
                self.chars += int(_number(line.get("chars")))
                if attempts:
                    self.seconds.append(_number(line.get("duration_seconds")))
            case "verdict":
                self.verdicts[str(line.get("word"))[:40]] += 1
            case "answered":
                self.answers["approved" if line.get("approved") is True else "refused"] += 1


def summarize_log(lines: Iterable[Mapping[str, Any]]) -> AuditSummary:
    """Sum up *lines*, as `AuditLog.read` returns them. The tools are in the order of their first lines."""
    counts: dict[str, _Counts] = {}
    first = last = None
    unreadable = 0
    for line in lines:
        if line.get("event") == "unreadable":
            unreadable += 1
            continue
        at = line.get("at")
        if isinstance(at, (int, float)):
            first, last = at if first is None else first, at
        if "tool" in line:
            counts.setdefault(_choose_tool_name(line, counts), _Counts()).add_line(line)
    tools = tuple(_summarize_tool(name, tool_counts) for name, tool_counts in counts.items())
    return AuditSummary(tools=tools, first=first, last=last, unreadable=unreadable)


def _choose_tool_name(line: Mapping[str, Any], counts: Mapping[str, Any]) -> str:
    # A model can invent names that no tool has, without limit, so they are counted together.
    name = str(line["tool"])[:100]
    is_invented = line.get("kind") == "not_found" or (name not in counts and len(counts) >= _MAX_TOOLS)
    return _UNKNOWN if is_invented else name


def _summarize_tool(name: str, counts: _Counts) -> ToolSummary:
    sorted_seconds = sorted(counts.seconds)
    return ToolSummary(
        tool=name,
        calls=counts.kinds.total(),
        kinds=dict(counts.kinds),
        verdicts=dict(counts.verdicts),
        answers=dict(counts.answers),
        retries=counts.retries,
        p50_seconds=compute_percentile(0.50, sorted_seconds),
        p95_seconds=compute_percentile(0.95, sorted_seconds),
        chars=counts.chars,
        tokens=estimate_tokens(counts.chars),
    )


def _number(value: Any) -> float:
    return value if isinstance(value, (int, float)) and 0 <= value < float("inf") else 0


@subcommand("stats")
@click.argument("log", type=click.Path(exists=True, dir_okay=False))
def command(output: Output, log: str) -> None:
    """Sum up an audit log or a saved run in numbers.

    For each tool of a log: how many calls there were, how they ended, what decided about them, how long they took, and
    how much they returned. LOG is a file that Dispatcher(audit=AuditLog(path)) or --audit has written. No tool is
    imported or run.

    LOG may also be a run that --save has saved. Then you see how many tokens the model has read, and for what: the
    definitions of the tools, the results of each tool, and the rest. The parts are estimates that add up to what the
    provider has reported.

    \b
    Examples:
      toolkit call tools.py free_days year=2026 --audit calls.jsonl
      toolkit stats calls.jsonl
      toolkit stats run.json
    """
    run = _load_run(log)
    if run is not None:
        _show_usage(run.usage, output)
        return
    summary = summarize_log(AuditLog.read(log))
    if summary.unreadable and summary.first is None and not summary.tools:
        raise Failure(f"{log} is no audit log and no run: name a file that --audit or --save has written")
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
            f"{tally.tokens:,}",
        )
        for tally in summary.tools
    ]
    columns = ["tool", "calls", "not ok", "verdicts", "people", "retries", "p50", "p95", "characters", "tokens"]
    output.table(columns, rows)
    if summary.first is not None and summary.last is not None:
        output.show(f"from {format_time(summary.first)} to {format_time(summary.last)}")


def _load_run(path: str) -> Run[Any] | None:
    """Return the run that was saved to *path*; None if the file is something else."""
    with open(path, "rb") as file:
        if b'"event":' in file.readline(200):  # the beginning of a line of a log, which may be very long
            return None
        file.seek(0)
        try:
            return Run.loads(file.read())
        except ValueError:
            return None


def _show_usage(usage: Usage, output: Output) -> None:
    if output.is_json:
        output.json({**usage.to_json(), "rest_tokens": usage.rest_tokens})
        return
    parts = list_parts(usage)
    total = max(1, sum(tokens for _, tokens in parts))
    rows = [(name, f"{tokens:,}", f"{tokens / total:.0%}") for name, tokens in parts]
    output.table(["read by the model", "tokens", "share"], rows)
    output.show(describe_usage(usage).partition(";")[0])


def _format_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name.replace('_', ' ')} {count:,}" for name, count in counts.items())
