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

from tests.approvals.killing import POINTS

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="it forks")

ROOT = Path(__file__).parents[2]
MAYBE = "may or may not have happened"


def rounds(*words: object) -> list[dict[str, Any]]:
    """What `killing.py` says of each round."""
    command = [sys.executable, "-m", "tests.approvals.killing", *map(str, words)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=1800, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


@pytest.fixture(params=["sqlite", "postgres"])
def url(request):
    """The words that name a database, if the approvals are not in a file."""
    return [] if request.param == "sqlite" else [request.getfixturevalue("postgres_schema_url")]


def ending(found: dict[str, Any]) -> str:
    """How a round ended for the last process, checked against what really happened."""
    first, second = found["third"]
    effects = found["effects"]
    assert (second["why"], second["outcome"] is not None) == ("answered", True), found
    assert found["intents"] >= effects, found
    assert effects <= (2 if found["kind"] == "idempotent" else 1), found
    text, kind = first["outcome"]["text"], first["outcome"]["kind"]
    if MAYBE in text:
        assert (first["why"], kind, effects) == (None, "failed", found["effects_then"]), found
        assert found["kind"] != "idempotent", found
        return "told that nobody knows"
    assert (kind, text) == ("ok", "did it"), found
    if first["why"] is not None:
        assert (first["why"], effects, found["effects_then"]) == ("answered", 1, 1), found
        return "told what came of it"
    # It ran now: for the first time, or again because that is harmless.
    assert effects == found["effects_then"] + 1, found
    assert found["effects_then"] == 0 or found["kind"] == "idempotent", found
    return "ran it"


def seed_of_this_run() -> int:
    """Return another seed at each run, but always the same one where a run decides whether a change lands."""
    return 0 if "CI" in os.environ else random.randrange(2**32)


@pytest.mark.long
def test_at_random_points_nothing_happens_twice_or_is_lost(tmp_path, url):
    """The process that resumes is killed at a random line of the code; the next one tells the truth."""
    seed, count = seed_of_this_run(), 10 if url else 20
    found = rounds("kill", tmp_path, seed, count, *url)
    assert len(found) == count + 1
    ends = Counter(map(ending, found))
    assert ends.keys() <= {"ran it", "told that nobody knows", "told what came of it"}
    if count == 20:  # otherwise the rounds would show nothing
        killed = sum(each["second"] is None for each in found)
        assert (killed >= 16, ends["ran it"] >= 1, ends["told that nobody knows"] >= 1) == (True,) * 3, (seed, ends)


@pytest.mark.long
def test_at_every_step_of_the_store_and_the_effect_the_next_one_tells_the_truth(tmp_path, url):
    """Before the claim the call runs. After it the outcome is unknown, or the call may run again. A stored outcome is reported."""
    found = rounds("points", tmp_path, *url)
    assert all(each["second"] is None for each in found)
    ends = {(each["kind"], each["at"]): ending(each) for each in found}
    claimed = POINTS.index("after settle")
    for kind in ("destructive", "write", "idempotent"):
        lost = "ran it" if kind == "idempotent" else "told that nobody knows"
        expected = ["ran it"] * claimed + [lost] * (len(POINTS) - claimed - 1) + ["told what came of it"]
        assert [ends[kind, point] for point in POINTS] == expected


@pytest.mark.long
def test_of_four_processes_that_resume_at_once_one_runs(tmp_path, url):
    """The others are told that it was answered, or runs."""
    for found in rounds("race", tmp_path, 5, *url):
        whys = [each["why"] for each in found["answers"]]
        assert (whys.count(None), found["effects"]) == (1, 1), found
        assert set(whys) <= {None, "answered", "running"}, found
