"""A run stays in the queue that it was made for, whichever program or worker gives it its next job."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from tests.clocks import Clock
from tests.durable.kit import LocalEngine, Toys, running, wait_for_status
from toolkit.decisions import Decision
from toolkit.durable.engine import RunJob
from toolkit.durable.journal.run_journal import open_journal
from toolkit.durable.run_kinds import RunKind, RunKinds
from toolkit.durable.takeover import Takeover
from toolkit.durable.workers import Observer


@pytest.fixture
async def toys():
    """Return toy runs of this event loop."""
    return Toys()


@pytest.fixture
def journal(tmp_path):
    """Return a journal with a run of the queue `billing`, and one of the queue `toolkit`."""
    journal = open_journal(f"sqlite:///{tmp_path}/runs.sqlite")
    journal.create("b", "toy", {}, queue="billing", now=1.0)
    journal.create("t", "toy", {}, queue="toolkit", now=1.0)
    yield journal
    journal.close()


def make_takeover(journal, engine, observer=None):
    """Return what a worker of the queue `toolkit` does at its beats."""
    kinds = RunKinds()
    kinds.add("toy", RunKind(activate=None))
    options = {"queue": "toolkit", "kinds": kinds, "clock": lambda: 100.0, "settle_seconds": 1.0}
    return Takeover(journal, engine, observer or Observer(1.0, 1.0), **options)


def list_jobs(folder):
    """Return the queue, the application and the version of each job that waits."""
    with contextlib.closing(sqlite3.connect(folder / "runs.sqlite")) as connection:
        statement = "SELECT queue_name, application_name, application_version FROM workflow_status WHERE status IN "
        return connection.execute(statement + "('ENQUEUED', 'DELAYED')").fetchall()


IN_BILLING = ("billing", "billing", "billing-1")


@pytest.mark.anyio
async def test_what_a_program_of_another_queue_decides_stays_in_the_queue_of_the_run(toys, tmp_path):
    """In another queue the run would wait for ever, and the search for lost runs would find that it has a job."""
    async with toys.open_host(tmp_path, name="billing") as billing, toys.open_host(tmp_path) as other:
        await billing.run("toy", "a", {"ask": True})
        await other.decide("a", {"ask-a": Decision.approve()})
        assert list_jobs(tmp_path) == [IN_BILLING]
        await other.cancel("a")
        assert list_jobs(tmp_path) == []
        await other.retry("a")
        assert list_jobs(tmp_path) == [IN_BILLING]


@pytest.mark.anyio
async def test_the_timer_of_a_run_is_in_its_queue(toys, tmp_path):
    """A program that works on the run here and now leaves what comes later to the workers of the run."""
    data = {"ask": True, "expires_at": 10_000_000_000.0}
    async with toys.open_host(tmp_path, name="billing") as billing, toys.open_host(tmp_path) as other:
        await billing._create("toy", "a", data, None, None)
        assert (await other.run("toy", "a", data)).status == "waiting"
        assert list_jobs(tmp_path) == [IN_BILLING]


@pytest.mark.anyio
@pytest.mark.long
async def test_the_workers_of_the_queue_get_what_another_program_has_answered(toys, tmp_path):
    """The job counts as one of their own."""
    async with (
        toys.open_host(tmp_path, name="billing") as billing,
        toys.open_host(tmp_path) as other,
        running(billing.work()),
    ):
        await billing.start("toy", "a", {"ask": True})
        await wait_for_status(billing, "a", "waiting")
        await other.decide("a", {"ask-a": Decision.approve()})
        await wait_for_status(billing, "a", "done")


def test_a_worker_gives_no_job_to_lost_runs_of_another_queue(journal):
    """Its own agents of the same name may have other instructions, models and resources."""
    engine = LocalEngine()
    make_takeover(journal, engine).find_lost_jobs()
    assert list(engine.jobs) == ["t/1"]


def test_a_run_of_a_dead_worker_goes_back_to_its_queue(journal):
    """Any worker may see first that another one is dead."""
    for run_id in ("b", "t"):
        journal.activate(run_id, worker="w", now=2.0, max_lives=9)
    journal.beat("w", {})
    clock, engine = Clock(), LocalEngine()
    observer = Observer(10.0, 4.0, clock=clock)
    for _ in range(12):
        observer.look(journal.read_workers())
        clock.now += 1.0
    make_takeover(journal, engine, observer).take_over_dead()
    assert {job.run_id: job.queue for job, _ in engine.jobs.values()} == {"b": "billing", "t": "toolkit"}


def test_a_run_that_is_left_to_others_stays_in_its_queue(journal):
    """A worker that somebody has moved a run to passes it on where it belongs."""
    engine = LocalEngine()
    takeover = make_takeover(journal, engine)
    takeover.leave_to_others(journal.get("b"))
    takeover.pass_on()
    assert [job.queue for job, _ in engine.jobs.values()] == ["billing"]


def test_a_run_that_was_made_before_queues_were_noted_keeps_the_queue_of_its_jobs(tmp_path):
    """The engine knows it from the job before."""
    from toolkit.durable.dbos_engine import DbosEngine

    url = f"sqlite:///{tmp_path}/runs.sqlite"
    with contextlib.closing(DbosEngine(url, name="billing")) as billing, contextlib.closing(DbosEngine(url)) as other:
        billing.enqueue(RunJob(id="a/1", run_id="a"))
        other.enqueue(RunJob(id="a/2", run_id="a", after="a/1"))
        assert list_jobs(tmp_path) == [IN_BILLING, IN_BILLING]


def test_a_job_in_the_wrong_queue_is_moved_when_it_is_made_again(tmp_path):
    """So `toolkit runs retry --any-version --queue` brings a run back that waits where no worker is."""
    from toolkit.durable.dbos_engine import DbosEngine

    with contextlib.closing(DbosEngine(f"sqlite:///{tmp_path}/runs.sqlite")) as engine:
        engine.enqueue(RunJob(id="a/1", run_id="a"))
        engine.enqueue(RunJob(id="a/1", run_id="a", queue="billing"))
        assert list_jobs(tmp_path) == [IN_BILLING]
