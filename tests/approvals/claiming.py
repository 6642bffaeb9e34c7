"""
A process that claims requests, for tests that race it or kill it.

    python -m tests.approvals.claiming live                        says who it is
    python -m tests.approvals.claiming race STORE METHOD ID...     waits for a line, opens; again before each id
    python -m tests.approvals.claiming work STORE ID...            claims and finishes one after the other
    python -m tests.approvals.claiming fork STORE ID               two processes with one store
    python -m tests.approvals.claiming claim STORE ID              as on another machine: claims, and waits for the end
    python -m tests.approvals.claiming leave STORE ID              the same, and a child that it forked waits as well

A store is the path of a file of SQLite, or the address of a database of PostgreSQL.

Everything it does is said in a line on standard output as soon as it is done; nothing waits but for a line.
"""

from __future__ import annotations

import os
import sys

from toolkit.approvals import PostgresApprovals, SQLiteApprovals
from toolkit.approvals.store import Settlement
from toolkit.storage import process_owner
from toolkit.storage.process_owner import owner

NOW = 1000.0
DEAD = "the dead"


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def open_store(place: str) -> SQLiteApprovals | PostgresApprovals:
    """Return the store at *place*."""
    return PostgresApprovals(place) if place.startswith("postgresql:") else SQLiteApprovals(place)


def live() -> None:
    say(owner())
    sys.stdin.read()


def race(path: str, method: str, *ids: str) -> None:
    say(owner())
    sys.stdin.readline()
    store = open_store(path)
    say("open")
    for request_id in ids:
        sys.stdin.readline()
        if method == "settle":
            say(store.settle(request_id, Settlement("claimed", by=owner(), owner=owner(), now=NOW)))
        else:
            say(store.reclaim(request_id, from_owner=DEAD, owner=owner(), now=NOW))


def work(path: str, *ids: str) -> None:
    store = open_store(path)
    say(owner())
    for request_id in ids:
        store.settle(
            request_id, Settlement("claimed", by="work", owner=owner(), now=NOW, arguments={"edited": request_id * 100})
        )
        say("claimed", request_id)
        store.finish(request_id, {"text": request_id * 200}, owner=owner())
        say("done", request_id)


def fork(path: str, request_id: str) -> None:
    store, parent = open_store(path), owner()
    store.get(request_id)
    child = os.fork()
    if child == 0:
        store.settle(request_id, Settlement("claimed", by="child", owner=owner(), now=NOW))
        os._exit(0 if owner() != parent else 1)
    _, status = os.waitpid(child, 0)
    say(os.waitstatus_to_exitcode(status))
    say(store.settle(request_id, Settlement("claimed", by="parent", owner=owner(), now=NOW)))


def claim(path: str, request_id: str) -> None:
    # The other processes cannot see the processes of another machine.
    process_owner._identify_machine = lambda proc: "e" * 16
    store = open_store(path)
    say(owner(), store.settle(request_id, Settlement("claimed", by="claim", owner=owner(), now=NOW)))
    sys.stdin.read()


def leave(path: str, request_id: str) -> None:
    process_owner._identify_machine = lambda proc: "e" * 16
    store = open_store(path)
    is_settled = store.settle(request_id, Settlement("claimed", by="leave", owner=owner(), now=NOW))
    child = os.fork()
    if child:
        say(owner(), is_settled, child)
    sys.stdin.read()


if __name__ == "__main__":
    {command.__name__: command for command in (live, race, work, fork, claim, leave)}[sys.argv[1]](*sys.argv[2:])
