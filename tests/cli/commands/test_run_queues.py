"""The queue of a run: the commands of `toolkit runs` find it by themselves, and say which workers serve it."""

from __future__ import annotations

import asyncio
import contextlib
import sqlite3
import time

import pytest

from tests.cli.commands.kept_runs import DATABASE, add_waiting
from toolkit.durable import DurableHost
from toolkit.storage.process_owner import owner


def list_queues(folder):
    """Return the queues in which activations wait for a worker."""
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite")) as connection:
        rows = connection.execute("SELECT queue_name FROM workflow_status WHERE status = 'ENQUEUED'").fetchall()
    return [queue for (queue,) in rows]


def find_waits(shop, run_id):
    """Return the sentences that say why a run does not go on."""
    return "\n".join(shop.run("runs", "show", run_id, "--database", DATABASE, "-o", "json").json["waits"])


def beat(journal, **data):
    """Let a worker of this process show that it lives."""
    journal.beat(f"{owner()}.w", {"host": "here", "beat_at": time.time(), "versions": {"agent": ""}, **data})


@pytest.mark.long
@pytest.mark.parametrize(
    ("options", "queue"), [([], "billing"), (["--queue", "other-one"], "other-one")], ids=["its own", "a chosen one"]
)
def test_an_answer_goes_to_the_queue_of_the_run(shop, journal, options, queue):
    """In another queue the run would wait for ever, because the workers of its own queue do not see it there."""
    add_waiting(journal, "a", queue="billing")
    ran = shop.run("runs", "approve", "a", *options, "--database", DATABASE)
    assert ran.code == 0, ran.err
    assert list_queues(shop.folder) == [queue]
    assert journal.find_queue("a") == queue
    assert f"no worker of the queue '{queue}' lives" in find_waits(shop, "a")


@pytest.mark.long
def test_a_retried_run_goes_to_its_queue(shop, journal):
    """A cancelled run can be retried without the name of its queue."""
    journal.create("a", "agent", {"prompt": "Go."}, queue="billing", now=time.time())
    assert shop.run("runs", "cancel", "a", "--database", DATABASE).code == 0
    assert shop.run("runs", "retry", "a", "--database", DATABASE).code == 0
    assert list_queues(shop.folder) == ["billing"]


def test_a_host_notes_its_queue_in_the_run(shop, journal):
    """A program that starts a run need not say it twice."""

    async def start():
        async with DurableHost(DATABASE, name="billing") as host:
            host.register("agent", None)
            await host.start("agent", "a", {"prompt": "Go."})

    asyncio.run(start())
    assert "no worker of the queue 'billing' lives; start one with 'toolkit worker --queue billing'" in find_waits(
        shop, "a"
    )


def test_only_workers_of_its_queue_count_for_a_run(shop, journal):
    """A worker of another queue never gets the run, whatever agents it has."""
    journal.create("a", "agent", {"prompt": "Go."}, now=time.time())
    beat(journal, queue="billing")
    assert "no worker of the queue 'toolkit' lives; start one with 'toolkit worker'" in find_waits(shop, "a")
    assert "billing" in shop.run("runs", "workers", "--database", DATABASE, "-o", "text").out
    beat(journal, queue="toolkit")
    assert "1 worker can go on with it" in find_waits(shop, "a")
