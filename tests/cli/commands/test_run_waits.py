"""`toolkit runs show`, `workers` and `purge`: what the person on duty wants to know, and the space on the disk."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.cli.commands.kept_runs import DATABASE, add_waiting
from toolkit.storage.process_owner import owner


def beat(journal, name="w", **data):
    """Let a worker of this process show that it lives."""
    journal.beat(f"{owner()}.{name}", {"host": "here", "beat_at": time.time(), "versions": {"agent": "v1"}, **data})


def find_waits(shop, run_id):
    """Return the sentences that say why a run does not go on."""
    return "\n".join(shop.run("runs", "show", run_id, "--database", DATABASE, "-o", "json").json["waits"])


def test_a_waiting_run_shows_the_reason_and_both_times(shop, journal):
    """The times are the beginning and the deadline. An answer that was given waits for a worker."""
    (request,) = add_waiting(journal, "a")
    waits = find_waits(shop, "a")
    assert f"a person has to answer request {request.id} of `pay`, since 20" in waits
    assert ", until 20" in waits
    report = shop.run("runs", "show", "a", "--database", DATABASE, "-o", "text").out
    assert f"now: a person has to answer request {request.id}" in report
    journal.decide("a", {request.id: {"version": 1, "approved": True}}, now=time.time())
    assert "it needs a worker, since 20" in find_waits(shop, "a")
    assert "no worker lives; start one with 'toolkit worker'" in find_waits(shop, "a")


def test_a_run_whose_process_was_killed_is_not_shown_as_running(shop, journal):
    """Its step may have happened, and another worker can go on with it."""
    dead_process = owner()[:-1] + ("0" if owner()[-1] != "0" else "1")
    journal.create("a", "agent", {"prompt": "Go."}, now=time.time())
    journal.activate("a", worker=f"{dead_process}.w1", version="v1", now=time.time(), max_lives=9)
    journal.begin("a", 1, "a/call/c1", {"tool": "pay"}, now=time.time())
    waits = find_waits(shop, "a")
    assert waits.startswith("it was running in process ")
    assert "which is gone; it needs a worker: no worker lives; start one with 'toolkit worker'" in waits
    report = shop.run("runs", "show", "a", "--database", DATABASE, "-o", "text").out
    assert "running, but its process is gone" in report
    assert "began and has no result: it may or may not have happened" in report
    beat(journal)
    assert "1 worker can go on with it" in find_waits(shop, "a")
    assert "its process is gone" in shop.run("runs", "list", "--database", DATABASE, "-o", "text").out


def test_an_answered_run_says_only_that_a_worker_is_missing(shop, journal):
    """The command that answers says so, too."""
    add_waiting(journal, "a")
    ran = shop.run("runs", "approve", "a", "--database", DATABASE, "-o", "text")
    assert "approved: pay (request " in ran.err
    assert "now: it needs a worker, since 20" in ran.err
    assert "no worker lives; start one with 'toolkit worker'" in ran.err
    report = shop.run("runs", "show", "a", "--database", DATABASE, "-o", "text").out
    assert "waiting, and answered" in report
    assert "without an answer" not in report
    assert "a person has to answer" not in report


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ({}, "1 worker can go on with it"),
        ({"versions": {"agent": "v2"}}, "it began with version v1 of 'agent', and the workers have v2; start a worker"),
        ({"versions": {"agent": "v2"}}, "'toolkit runs retry a --any-version'"),
        ({"versions": {"flow:x": "v1"}}, "none of the 1 worker has 'agent'"),
        ({"versions": None}, "no worker lives"),
        ({"beat_at": 5.0}, "no worker lives"),
    ],
)
def test_a_queued_run_says_which_worker_is_missing(shop, journal, data, expected):
    """It has the remedy as well."""
    journal.create("a", "agent", {"prompt": "Go."}, now=time.time())
    journal.activate("a", worker="w", version="v1", now=time.time(), max_lives=9)
    journal.give_back("a", 1, now=time.time())
    beat(journal, **data)
    assert expected in find_waits(shop, "a")


def test_workers_are_listed_with_their_versions_life_signs_and_runs(shop, journal):
    """A silent worker is listed until another one has taken over its runs."""
    beat(journal, "busy")
    beat(journal, "old", beat_at=5.0, versions={"flow:x": ""})
    journal.create("a", "agent", {"prompt": "Go."}, now=1.0)
    journal.activate("a", worker=f"{owner()}.busy", now=2.0, max_lives=9)
    busy, old = shop.run("runs", "workers", "--database", DATABASE, "-o", "json").json
    assert (busy["versions"], busy["runs"], busy["host"]) == ({"agent": "v1"}, ["a"], "here")
    assert (old["versions"], old["runs"], old["beat_at"]) == ({"flow:x": ""}, [], 5.0)
    lines = shop.run("runs", "workers", "--database", DATABASE, "-o", "text").out
    assert "agent v1" in lines
    assert "works" in lines
    assert "silent" in lines


def test_the_list_of_workers_says_if_it_is_empty(shop, journal):
    """Otherwise a person could not know whether this is the right database."""
    assert "no process works on runs" in shop.run("runs", "workers", "--database", DATABASE, "-o", "text").err


def test_purged_runs_give_their_space_back_to_the_disk(shop, journal):
    """The other runs stay."""
    for number in range(60):
        journal.create(f"r{number}", "agent", {"prompt": "x" * 50_000}, now=1.0)
        journal.cancel(f"r{number}", "", now=2.0)
    add_waiting(journal, "stays")
    before = Path("runs.sqlite").stat().st_size
    ran = shop.run("runs", "purge", "--days", "30", "--database", DATABASE, "-o", "json")
    assert ran.json == {"purged": 60}, ran.err
    assert before > 1_000_000
    assert Path("runs.sqlite").stat().st_size < 500_000
    assert [row.id for row in journal.list()] == ["stays"]


def test_a_purge_of_a_database_that_does_not_exist_makes_none(shop):
    """A mistyped name is an error."""
    ran = shop.run("runs", "purge", "--days", "1", "--database", "sqlite:///other.sqlite")
    assert (ran.code, Path("other.sqlite").exists()) == (2, False)
