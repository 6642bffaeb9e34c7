"""
A store that several processes share, and what happens when one of them is killed.
"""

from __future__ import annotations

import os
import random
import sqlite3
from contextlib import ExitStack, closing

import pytest

from tests.approvals.claiming import DEAD, NOW, open_store
from tests.approvals.processes import line, running, tell
from toolkit.approvals.records import Record
from toolkit.approvals.store import Settlement
from toolkit.decisions import ApprovalRequest
from toolkit.storage.process_owner import is_alive, owner

pytestmark = pytest.mark.first_cases(4)

PROCESSES = 8


def record(request_id, **fields):
    """Return a record that is pending."""
    request = ApprovalRequest(tool="write", call_id="c", reason="asks", created_at=NOW, id=request_id)
    return Record(request=request, **{"arguments": {"path": "a"}, "identity": "i", **fields})


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.long)])
def place(request, tmp_path):
    """Where a store could be: the path of a file, or the address of a database."""
    if request.param == "sqlite":
        return str(tmp_path / "approvals.db")
    return request.getfixturevalue("postgres_schema_url")


@pytest.mark.long
@pytest.mark.parametrize("method", ["settle", "reclaim"])
def test_only_one_of_many_processes_succeeds(place, method):
    """The processes open the file, and answer each request, at the same moment."""
    ids = [str(number) for number in range(5)]
    with ExitStack() as stack:
        processes = [stack.enter_context(running("race", place, method, *ids)) for _ in range(PROCESSES)]
        owners = [line(process) for process in processes]
        for process in processes:
            tell(process)
        assert [line(process) for process in processes] == ["open"] * PROCESSES
        store = open_store(place)
        for request_id in ids:
            store.add(record(request_id))
            if method == "reclaim":
                store.settle(request_id, Settlement("claimed", by=None, owner=DEAD, now=NOW))
            for process in processes:
                tell(process)
            lines = [line(process) for process in processes]
            assert sorted(lines) == ["False"] * (PROCESSES - 1) + ["True"]
            assert store.get(request_id).claim.owner == owners[lines.index("True")]


@pytest.mark.parametrize("seed", range(10))
def test_a_killed_process_leaves_no_half_written_record(place, seed):
    """A reported change is there. Any other record is as before or after, and can be taken over once."""
    chance = random.Random(seed)
    ids = [str(number) for number in range(6)]
    store = open_store(place)
    for request_id in ids:
        store.add(record(request_id))
    with running("work", place, *ids) as process:
        who = line(process)
        lines = [line(process) for _ in range(chance.randrange(2 * len(ids) - 1))]
        for _ in range(chance.randrange(30_000)):
            pass  # it goes on meanwhile, so that it is anywhere when it dies
        process.kill()
        lines += process.stdout.read().splitlines()
    assert is_alive(who) is False

    after = open_store(place)
    if not place.startswith("postgresql:"):
        with closing(sqlite3.connect(place)) as connection:
            assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    for request_id in ids:
        stored = after.get(request_id)
        possible = (
            {"done"}
            if f"done {request_id}" in lines
            else {"claimed", "done"}
            if f"claimed {request_id}" in lines
            else None
        )
        assert stored.state in (possible or {"pending", "claimed", "done"})
        assert stored.request == record(request_id).request
        assert stored.arguments == ({"path": "a"} if stored.state == "pending" else {"edited": request_id * 100})
        assert stored.outcome == ({"text": request_id * 200} if stored.state == "done" else None)
        if stored.state == "claimed":
            assert stored.claim.owner == who
            assert after.reclaim(request_id, from_owner=who, owner=owner(), now=NOW)
            assert not after.reclaim(request_id, from_owner=who, owner=owner(), now=NOW)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
def test_a_store_can_be_used_on_both_sides_of_a_fork(place):
    """The child answers under a name of its own, and the parent sees it."""
    store = open_store(place)
    store.add(record("one"))
    with running("fork", place, "one") as process:
        assert [line(process), line(process)] == ["0", "False"]
    assert store.get("one").decided_by == "child"
