"""
Kills of processes that answer requests in an approvals store, at random lines of the code.

Each call is asked in one process, approved in a second that is killed, and approved again in a third: it happens at
most once (twice only if its tool is idempotent), and nothing is lost without a word.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from .violations import Report

__all__ = ["run"]

_ROOT = Path(__file__).parents[1]
_ROUNDS = 50


async def run(count: int, *, seed: int = 7) -> Report:
    """Kill *count* processes, and report how the calls ended."""
    return await asyncio.to_thread(_run, count, seed)


def _run(count: int, seed: int) -> Report:
    from tests.approvals.killed_rounds import ending  # needs pytest

    ends, violations, killed = Counter[str](), list[str](), 0
    for start in range(0, count, _ROUNDS):
        with tempfile.TemporaryDirectory() as folder:
            words = ["kill", folder, str(seed + start), str(min(_ROUNDS, count - start))]
            done = subprocess.run(
                [sys.executable, "-m", "tests.approvals.killing", *words],
                cwd=_ROOT,
                capture_output=True,
                text=True,
                check=False,
            )
        if done.returncode or done.stderr:
            violations.append(f"seed {seed + start}: the process ended with {done.returncode}: {done.stderr[-300:]}")
        for line in done.stdout.splitlines():
            found = json.loads(line)
            killed += found["at"] > 0 and found["second"] is None
            try:
                ends[ending(found)] += 1
            except AssertionError as error:
                violations.append(f"seed {seed + start}, line {found['at']}: {error}")
    shown = ", ".join(f"{end} {number:,}" for end, number in ends.most_common())
    return Report(f"{count:,} processes with an approvals store, {killed:,} of them killed ({shown})", violations)
