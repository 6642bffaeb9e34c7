"""Processes that create, take, begin, decide and cancel the same run at once: one of them succeeds."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from toolkit.durable.errors import RunTakenOver
from toolkit.durable.journal.run_journal import open_journal

ROOT = Path(__file__).parents[3]
pytestmark = pytest.mark.long


class Contenders:
    """Processes that are told the same thing at the same time."""

    def __init__(self, processes):
        self._processes = processes

    def do(self, method, *arguments, **options):
        """Have all processes call *method*, and return their answers."""
        line = json.dumps([method, arguments, options]) + "\n"
        for process in self._processes:
            process.stdin.write(line)
        for process in self._processes:
            process.stdin.flush()
        return [json.loads(process.stdout.readline()) for process in self._processes]


@pytest.fixture
def contenders(journal_url):
    """Return three processes that have opened the same database, which did not exist."""
    with contextlib.ExitStack() as stack:
        processes = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-m", "tests.durable.journal.contending", journal_url],
                    cwd=ROOT,
                    env={**os.environ, "PYTHONPATH": str(ROOT)},
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(3)
        ]
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        yield Contenders(processes)
        for process in processes:
            process.stdin.close()
            assert process.wait() == 0


def test_one_of_several_processes_succeeds(contenders, journal_url):
    """Each round is one run, on which three processes do the same at once."""
    journal = open_journal(journal_url)
    for number in range(15):
        run = f"r/{number}"
        created = contenders.do("create", run, "agent", {"prompt": "go"}, now=1.0)
        assert sorted(is_new for _, is_new in created) == [False, False, True]
        assert len({secret for secret, _ in created}) == 1

        epochs = contenders.do("activate", run, worker="w", now=2.0, max_lives=9)
        assert sorted(epochs) == [1, 2, 3]
        assert sorted(contenders.do("activate", run, worker="w", now=2.0, max_lives=9, epoch=3), key=str) == [
            4,
            "fenced",
            "fenced",
        ]

        began = contenders.do("begin", run, 4, f"{run}/call/1", {}, now=3.0)
        assert sorted(began) == ["fenced", "fenced", "ok"]
        finished = contenders.do("finish", run, 4, f"{run}/call/1", {}, seconds=1, now=3.0)
        assert sorted(finished) == ["fenced", "fenced", "ok"]

        ended = contenders.do("end", run, 4, "waiting", {}, used_decisions=[], now=4.0)
        assert sorted(ended, key=str) == [4, "fenced", "fenced"]
        assert sorted(contenders.do("decide", run, {"q": {}}, now=5.0), key=str) == [4, "answered", "answered"]
        assert contenders.do("cancel", run, "", now=6.0) == [5, 5, 5]
        assert sorted(contenders.do("retry", run, now=7.0), key=str) == [5, "busy", "busy"]
        kinds = [event.kind for event in journal.read_events(run)]
        assert sorted(kinds) == sorted(
            ["created", *["activated"] * 4, "began", "finished", "waiting", "decided", "cancelled", "retried"]
        )
    journal.close()


def test_an_activation_sees_every_step_that_began_before_it(journal_url):
    """
    A step begins before the new activation, which reads it, or it is fenced. So no step of the old activation
    stops the new one.
    """
    old, new = open_journal(journal_url), open_journal(journal_url)
    for number in range(12):
        run = f"r{number}"
        old.create(run, "agent", {}, now=1.0)
        old.activate(run, worker="old", now=2.0, max_lives=9)
        began = []

        def begin_many(run=run, began=began):
            for place in range(60):
                try:
                    old.begin(run, 1, f"{run}/call/{place}", {}, now=3.0)
                except RunTakenOver:
                    return
                began.append(f"{run}/call/{place}")

        thread = threading.Thread(target=begin_many)
        thread.start()
        while not began:
            pass
        new.activate(run, worker="new", now=4.0, max_lives=9)
        steps = new.read_steps(run).keys()
        thread.join()
        assert steps == set(began)
        assert new.read_steps(run).keys() == steps
    old.close()
    new.close()
