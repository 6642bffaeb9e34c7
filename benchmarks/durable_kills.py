"""
Kills of processes that work on durable runs, at random lines of the code, on SQLite and PostgreSQL.

A run of an agent has parallel reads, calls that are not idempotent, approvals and a sub-run. A run of a flow has
parallel steps, a failing check, an undo and an approval. The next process continues each run, until it is done: no
effect is doubled, none is lost, and a call "may have happened" only if it was cut.

Answers are killed at lines of `start`, `decide`, `retry` and `cancel`, and a worker goes on with what they have
written. A process that is frozen is taken over, and wakes up before or after its run has ended.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from .violations import Report

__all__ = ["run"]

_ROOT = Path(__file__).parents[1]
_KILLS_PER_FOLDER = 50
_SCENARIOS = {
    "agent": "tests.durable.killing",
    "flow": "tests.flows.killing",
    "answer": "tests.durable.killed_answers",
    "freeze": "tests.durable.freezing",
    "agents in a flow": "tests.flows.killing_agents",
    "agents in a flow, frozen": "tests.flows.freezing_agents",
}


async def run(count: int, *, seed: int = 7) -> Report:
    """Kill or freeze *count* processes, as many of each scenario, a quarter on PostgreSQL if it is installed."""
    return await asyncio.to_thread(_run, count, seed)


def _run(count: int, seed: int) -> Report:
    from tests.postgres import find_programs, run_server  # needs pytest

    programs, share = find_programs(), -(-count // len(_SCENARIOS))
    if programs is None:
        reports = [_kill(scenario, share, seed, None) for scenario in _SCENARIOS]
        reports[0].line = f"without PostgreSQL, which is not installed: {reports[0].line}"
    else:
        with run_server(programs) as server:
            reports = []
            for scenario in _SCENARIOS:
                with server.database() as url:  # the ids of the runs are the same in each scenario
                    reports += [_kill(scenario, share - share // 4, seed, None), _kill(scenario, share // 4, seed, url)]
    lines = "; ".join(report.line for report in reports)
    return Report(lines, [violation for report in reports for violation in report.violations])


def _kill(scenario: str, count: int, seed: int, postgres_url: str | None) -> Report:
    runs = killed = unknown = 0
    violations: list[str] = []
    for start in range(0, count, _KILLS_PER_FOLDER):
        words = [
            str(seed + start),
            str(min(_KILLS_PER_FOLDER, count - start)),
            *([postgres_url] if postgres_url else []),
        ]
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-m", _SCENARIOS[scenario], folder, *words]
            done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
        if done.returncode:
            violations.append(f"seed {seed + start}: the process ended with {done.returncode}: {done.stderr[-300:]}")
        for report in map(json.loads, done.stdout.splitlines()):
            runs += 1
            killed += report["kills"]
            unknown += len((report["outcome"] or {}).get("unknown", ()))
            violations += [f"run {report['run']}, lines {report['deaths']}: {text}" for text in report["violations"]]
    if killed < count:
        violations.append(f"only {killed} of {count} processes were killed")
    where = f"{scenario}, {'SQLite' if postgres_url is None else 'PostgreSQL'}"
    line = f"{where}: {killed:,} processes of {runs:,} runs killed, {unknown:,} calls may have happened"
    return Report(line, [f"{where}, {violation}" for violation in violations])
