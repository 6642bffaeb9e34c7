"""
Real processes: wait, `kill -9`, resume elsewhere. Never twice, never silently lost.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.approvals.killed_rounds import ending
from tests.approvals.killing import POINTS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")

ROOT = Path(__file__).parents[2]


def rounds(*words: object) -> list[dict[str, Any]]:
    """Return what `killing.py` says of each round."""
    command = [sys.executable, "-m", "tests.approvals.killing", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request):
    """The words that name a database, if the approvals are not in a file."""
    return [] if request.param == "sqlite" else [request.getfixturevalue("postgres_schema_url")]


def seed_of_this_run() -> int:
    """Return another seed at each run, but always the same one where a run decides whether a change lands."""
    return 0 if "CI" in os.environ else random.randrange(2**32)


@pytest.mark.long
def test_kill_at_a_random_line_repeats_no_effect_and_loses_none(tmp_path, url):
    """The process that resumes is killed at a random line of the code; the next process reports what really happened."""
    seed, count = seed_of_this_run(), 10 if url else 20
    outcomes = rounds("kill", tmp_path, seed, count, *url)
    assert len(outcomes) == count + 1
    ends = Counter(map(ending, outcomes))
    assert ends.keys() <= {"ran it", "told that it is unknown", "told the outcome"}
    if count == 20:  # otherwise the rounds would show nothing
        killed = sum(outcome["second"] is None for outcome in outcomes)
        assert (killed >= 16, ends["ran it"] >= 1, ends["told that it is unknown"] >= 1) == (True,) * 3, (seed, ends)


@pytest.mark.long
def test_the_next_process_reports_what_happened_after_a_kill_at_any_step(tmp_path, url):
    """Before the claim the call runs. After it the outcome is unknown, or the call may run again. A stored outcome is reported."""
    outcomes = rounds("points", tmp_path, *url)
    assert all(outcome["second"] is None for outcome in outcomes)
    ends = {(outcome["kind"], outcome["at"]): ending(outcome) for outcome in outcomes}
    claimed = POINTS.index("after settle")
    for kind in ("destructive", "write", "idempotent"):
        lost = "ran it" if kind == "idempotent" else "told that it is unknown"
        expected = ["ran it"] * claimed + [lost] * (len(POINTS) - claimed - 1) + ["told the outcome"]
        assert [ends[kind, point] for point in POINTS] == expected


@pytest.mark.long
def test_only_one_of_four_processes_that_resume_a_call_at_once_runs_the_call(tmp_path, url):
    """The others learn that the request was answered or is running."""
    for outcome in rounds("race", tmp_path, 5, *url):
        whys = [answer["why"] for answer in outcome["answers"]]
        assert (whys.count(None), outcome["effects"]) == (1, 1), outcome
        assert set(whys) <= {None, "answered", "running"}, outcome
