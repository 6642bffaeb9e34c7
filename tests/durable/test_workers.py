"""Workers are told from dead ones by their counters, and what dead ones leave is taken over."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
import time

import pytest

from tests.clocks import Clock, wait_until
from tests.durable.kit import DurableShop, FaultyJournal, LocalEngine, Toys, running, wait_for_status
from toolkit.decisions import Decision
from toolkit.durable.errors import DurableError
from toolkit.durable.journal.run_journal import open_journal
from toolkit.durable.run_jobs import build_job
from toolkit.durable.run_kinds import RunKind, RunKinds
from toolkit.durable.takeover import Takeover
from toolkit.durable.workers import Heart, Observer
from toolkit.storage.process_owner import owner


def observe(clock, *, takeover_seconds=10.0):
    """Return an observer with a clock of its own."""
    return Observer(takeover_seconds, 4.0, clock=clock)


def test_a_worker_whose_counter_stands_still_is_dead():
    """Only the clock of the observer counts."""
    clock = Clock()
    observer = observe(clock)
    for beat in range(6):
        observer.look({"still": 1, "alive": beat})
        assert observer.find_dead() == (["still"] if beat == 5 else [])
        clock.now += 2.0


def test_an_observer_that_was_frozen_takes_no_worker_for_dead():
    """Time in which it did not look does not count, however long it is."""
    clock = Clock()
    observer = observe(clock)
    observer.look({"other": 1})
    clock.now += 3600.0
    observer.look({"other": 1})
    assert observer.find_dead() == []


def test_a_worker_without_a_counter_is_dead():
    """It has ended, or another worker has taken it over."""
    observer = observe(Clock())
    assert observer.is_dead("gone", {"other": 1})
    assert not observer.is_dead("new", {"new": 1})


@pytest.mark.long
def test_a_process_of_this_machine_that_has_ended_is_dead_at_once():
    """It is dead before its counter has stood still for long."""
    code = "from toolkit.storage.process_owner import owner; print(owner())"
    other = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603 -- our own words
    observer = observe(Clock())
    assert observer.is_dead(f"{other}.1", {f"{other}.1": 1})
    assert not observer.is_dead(f"{owner()}.1", {f"{owner()}.1": 1})


def toy_kinds():
    """Return the kinds of a worker that has toys."""
    kinds = RunKinds()
    kinds.add("toy", RunKind(activate=None))
    return kinds


@pytest.fixture
async def toys():
    """Return toy runs of this event loop."""
    return Toys()


@pytest.mark.anyio
async def test_the_runs_of_a_dead_worker_go_on_in_another(toys, tmp_path):
    """A run that a dead process worked on here and now gets a job, and its counter is removed."""
    engine = LocalEngine()
    async with toys.open_host(tmp_path, engine=engine, takeover_seconds=0.1) as host:
        journal = host._journal
        row, _ = journal.create("a", "toy", {}, now=1.0)
        journal.beat("dead", {})
        journal.activate("a", worker="dead", now=1.0, max_lives=9)
        async with running(host.work()):
            row = await wait_for_status(host, "a", "done")
            await wait_until(lambda: "dead" not in journal.read_workers())
    assert (row.epoch, row.lives) == (2, 0)


@pytest.mark.anyio
async def test_a_run_without_a_job_gets_one(toys, tmp_path):
    """A process may die between a change of a run and its job: after start, after a decision, and after a takeover."""
    engine, run_ids = LocalEngine(), ("queued", "decided", "expired", "orphan")
    async with toys.open_host(tmp_path, engine=engine) as host:
        journal = host._journal
        for run_id, data in (("queued", {}), ("decided", {"ask": True}), ("expired", {"ask": True, "expires_at": 5.0})):
            journal.create(run_id, "toy", data, now=1.0)
        journal.create("orphan", "toy", {}, now=1.0)
        journal.activate("orphan", worker="removed", now=1.0, max_lives=9)
        for run_id in ("decided", "expired"):
            journal.activate(run_id, worker="removed", now=1.0, max_lives=9)
            due_at = 5.0 if run_id == "expired" else None
            journal.end(run_id, 1, "waiting", {"request": f"ask-{run_id}"}, used_decisions=(), due_at=due_at, now=1.0)
        await host.decide("decided", {"ask-decided": Decision.approve()})
        engine.jobs.clear()
        host._job_worker.clock = lambda: 10_000_000_000.0
        async with running(host.work()):
            for run_id in run_ids:
                await wait_for_status(host, run_id, "done")
        assert {row.id: row.status for row in journal.list()} == dict.fromkeys(run_ids, "done")


class AwayEngine(LocalEngine):
    """An engine that cannot be reached while *is_away*."""

    is_away = False

    def enqueue(self, job):
        if self.is_away:
            raise DurableError("the engine's database cannot be used", why="store")
        super().enqueue(job)

    def withdraw(self, job_ids):
        if self.is_away:
            raise DurableError("the engine's database cannot be used", why="store")
        super().withdraw(job_ids)


@pytest.mark.anyio
@pytest.mark.parametrize("operation", ["start", "decide", "retry", "cancel"])
async def test_an_operation_that_was_written_without_the_engine_is_executed_later(toys, tmp_path, operation, caplog):
    """The caller need not try again. A timer of a day does not count as the job."""
    engine = AwayEngine()
    async with toys.open_host(tmp_path, engine=engine, takeover_seconds=0.1) as host:
        expires_at = time.time() + 86_400
        if operation in ("decide", "cancel"):
            await host.run("toy", "a", {"ask": True, "expires_at": expires_at})
        if operation == "retry":
            await host.start("toy", "a", {})
            await host.cancel("a")
        engine.is_away = True
        operations = {
            "start": lambda: host.start("toy", "a", {}),
            "decide": lambda: host.decide("a", {"ask-a": Decision.approve()}),
            "retry": lambda: host.retry("a"),
            "cancel": lambda: host.cancel("a"),
        }
        await operations[operation]()
        engine.is_away = False
        async with running(host.work()):
            row = await wait_for_status(host, "a", "cancelled" if operation == "cancel" else "done")
            assert not row.is_open
    assert "its job could not be changed" in caplog.text


@pytest.mark.anyio
async def test_the_requests_of_a_run_that_was_cancelled_are_withdrawn_by_a_worker_if_its_process_died(tmp_path):
    """A process may die between the note that the run is cancelled and the store of approvals."""
    shop = DurableShop(tmp_path)
    async with shop.open(takeover_seconds=0.1) as durable:
        (request,) = (await durable.run("pay", id="a")).requests
        durable.host._journal.cancel("a", "", now=time.time())
        store = durable.agent._toolbox.dispatcher.approvals.store
        assert store.get(request.id).state == "pending"
        async with running(durable.work()):
            await wait_until(lambda: store.get(request.id).state == "denied")
            await wait_until(lambda: not durable.host._journal.get("a").is_open)


@pytest.mark.long
@pytest.mark.anyio
async def test_a_second_job_of_an_active_run_is_ignored(toys, tmp_path):
    """No step begins twice."""
    engine = LocalEngine()
    async with toys.open_host(tmp_path, engine=engine) as host:
        task = asyncio.ensure_future(host.run("toy", "a", {"hold": True}))
        await wait_until(lambda: toys.begun)
        async with running(host.work()):
            engine.enqueue(build_job(await host.get("a")))
            await wait_until(lambda: engine.order)
            toys.release.set()
            assert (await task).status == "done"
            await wait_until(lambda: not engine.delivered)
    assert toys.begun == [("a", 1)]


class FaultyBeats:
    """A journal whose first beats fail."""

    def __init__(self, errors):
        self.errors = errors
        self.beats = threading.Semaphore(0)
        self.removed = []

    def beat(self, worker, data):
        """Raise the next error, if there is one."""
        self.beats.release()
        if self.errors and (error := self.errors.pop(0)) is not None:
            raise error

    def read_workers(self):
        """Return one worker."""
        return {"w": 1}

    def remove_worker(self, worker):
        """Fail."""
        self.removed.append(worker)
        raise DurableError("gone", why="store")


def test_a_heart_goes_on_after_errors(caplog):
    """A database that is gone for a while, and an error of the host, stop no heart. The log says it once."""
    store_error = DurableError("the database is gone", why="store")
    journal = FaultyBeats([None, store_error, store_error, RuntimeError("a bug"), None])
    heart = Heart(journal, "w", observe(Clock()), beat_seconds=0.001, describe=dict, on_beat=lambda: None)
    heart.start()
    heart.start()
    for _ in range(6):
        assert journal.beats.acquire(timeout=30)
    heart.stop()
    heart.stop()
    assert journal.removed == ["w"]
    assert caplog.text.count("cannot show that it lives") == 1
    assert "a bug" in caplog.text


@pytest.mark.anyio
async def test_a_job_for_an_event_loop_that_is_closed_goes_back(toys, tmp_path):
    """The loop of the worker may end before its engine does."""
    loop = asyncio.new_event_loop()
    loop.close()
    async with toys.open_host(tmp_path, engine=LocalEngine()) as host:
        assert host._job_worker._do_job("a", loop) == "return"


@pytest.mark.long
@pytest.mark.anyio
async def test_a_job_is_dropped_when_another_worker_goes_on_with_its_run(toys, tmp_path):
    """It is watched for a while, because a dead worker may still be in the list."""
    engine = LocalEngine()
    async with (
        toys.open_host(tmp_path, engine=LocalEngine(), takeover_seconds=0.4) as owner_host,
        toys.open_host(tmp_path, engine=engine, takeover_seconds=0.4) as other,
    ):
        task = asyncio.ensure_future(owner_host.run("toy", "a", {"hold": True}))
        await wait_until(lambda: toys.begun)
        async with running(other.work()):
            engine.enqueue(build_job(await other.get("a")))
            await wait_until(lambda: engine.order and not engine.delivered)
            assert engine.jobs == {}
            toys.release.set()
            assert (await task).status == "done"
    assert toys.begun == [("a", 1)]


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("error", "is_returned"), [(asyncio.CancelledError(), True), (TimeoutError("of a tool"), False)]
)
async def test_a_job_whose_task_is_cancelled_goes_back(toys, tmp_path, error, is_returned):
    """The end of the event loop cancels its tasks. Other errors are for the engine."""
    async with toys.open_host(tmp_path, engine=LocalEngine()) as host:

        async def fail(run_id):
            raise error

        host._job_worker._activate_job = fail
        loop = asyncio.get_running_loop()
        delivery = asyncio.to_thread(host._job_worker._do_job, "a", loop)
        if is_returned:
            assert await delivery == "return"
        else:
            with pytest.raises(TimeoutError, match="of a tool"):
                await delivery


@pytest.mark.anyio
@pytest.mark.parametrize("method", ["get", "activate"])
async def test_a_job_is_done_although_the_journal_fails_once(toys, tmp_path, method):
    """The engine does not see the error, so the run does not wait until its job is missed."""
    engine = LocalEngine()
    async with toys.open_host(tmp_path, engine=engine, takeover_seconds=5.0) as host:
        await host.start("toy", "a", {})
        journal = FaultyJournal(host._journal)
        host._activations.journal = host._job_worker.journal = journal
        journal.faults[method] = [DurableError("busy", why="store")]
        async with running(host.work()):
            await wait_for_status(host, "a", "done")
    assert journal.faults[method] == []
    assert {job for job, _ in toys.begun} == {"a"}


@pytest.mark.anyio
async def test_an_error_of_the_journal_that_stays_is_raised(toys, tmp_path):
    """A job does not keep its slot for ever."""
    async with toys.open_host(tmp_path, engine=LocalEngine(), takeover_seconds=0.001) as host:
        await host.start("toy", "a", {})
        journal = FaultyJournal(host._journal)
        host._job_worker.journal = journal
        journal.faults["get"] = [DurableError("damaged", why="store") for _ in range(3)]
        with pytest.raises(DurableError, match="damaged"):
            await host._job_worker._activate_job("a")


@pytest.mark.anyio
async def test_the_heart_beats_while_lost_jobs_are_searched(toys, tmp_path):
    """A search that takes long does not make the worker look dead, and ends with the worker."""
    is_searching, may_end = threading.Event(), threading.Event()

    class SlowEngine(LocalEngine):
        def find_missing(self, job_ids):
            is_searching.set()
            may_end.wait(60)
            return []

    async with toys.open_host(tmp_path, engine=SlowEngine(), takeover_seconds=0.05) as host:
        journal = host._journal
        journal.create("a", "toy", {}, now=1.0)
        async with running(host.work()):
            await wait_until(is_searching.is_set)
            before = journal.read_workers()[host.worker]
            await wait_until(lambda: journal.read_workers()[host.worker] > before + 1)
            may_end.set()
    assert not [thread for thread in threading.enumerate() if thread.name == "toolkit-lost-jobs"]


@pytest.mark.anyio
async def test_a_run_of_an_unknown_kind_is_left_to_another_worker(tmp_path, monkeypatch, caplog):
    """It is not activated, so it does not fail. The log says so once."""
    monkeypatch.setattr("toolkit.durable.takeover._PASS_ON_SECONDS", 0.01)
    engine, toys = LocalEngine(), Toys()
    newer = toys.open_host(tmp_path, engine=engine)
    newer.register("new", toys.activate)
    async with toys.open_host(tmp_path, engine=engine) as older, newer:
        async with running(older.work()):
            await newer.start("new", "n", {})
            await newer.start("toy", "t", {})
            await wait_until(lambda: engine.order.count("n") >= 3)
            await wait_for_status(older, "t", "done")
        row = await newer.get("n")
        assert (row.status, row.epoch, row.lives, row.problem) == ("queued", 0, 0, "")
        assert caplog.text.count("run 'n' is left to another worker, because this one has no 'new'") == 1
        async with running(newer.work()):
            await wait_for_status(newer, "n", "done")


def test_a_run_that_another_worker_has_taken_gets_no_job(tmp_path):
    """The other worker may have been faster than the beat."""
    journal, engine = open_journal(f"sqlite:///{tmp_path}/runs.sqlite"), LocalEngine()
    options = {"queue": "toolkit", "kinds": toy_kinds(), "clock": lambda: 100.0, "settle_seconds": 1.0}
    takeover = Takeover(journal, engine, Observer(1.0, 1.0), **options)
    for name in ("stays", "taken", "purged"):
        takeover.leave_to_others(journal.create(name, "new", {}, now=1.0)[0])
    journal.activate("taken", worker="w", now=2.0, max_lives=9)
    journal.cancel("purged", "", now=2.0)
    journal.purge(before=3.0)
    takeover.pass_on()
    assert [(job.run_id, job.delay_seconds) for job, _ in engine.jobs.values()] == [("stays", 10.0)]
    engine.jobs.clear()
    takeover.pass_on()
    assert engine.jobs == {}
    journal.close()


def test_a_run_that_has_ended_gets_no_job(tmp_path):
    """A worker does the job between the look at the run and the look at its job."""
    journal = open_journal(f"sqlite:///{tmp_path}/runs.sqlite")
    journal.create("a", "toy", {}, now=1.0)

    class QuickEngine(LocalEngine):
        def find_missing(self, job_ids):
            for _ in job_ids:
                row = journal.activate("a", worker="w", now=2.0, max_lives=9)
                journal.end("a", row.epoch, "done", {}, used_decisions=(), now=2.0)
            return super().find_missing(job_ids)

    engine = QuickEngine()
    options = {"queue": "toolkit", "kinds": toy_kinds(), "clock": lambda: 100.0, "settle_seconds": 1.0}
    Takeover(journal, engine, Observer(1.0, 1.0), **options).find_lost_jobs()
    assert (journal.get("a").status, engine.jobs) == ("done", {})
    journal.close()


@pytest.mark.parametrize(
    ("changed_at", "is_found"),
    [(50.0, True), (99.5, False), (99_999.0, True)],
    ids=["long ago", "just now", "by a clock that is ahead"],
)
def test_a_run_without_a_job_is_found_with_any_clock(tmp_path, changed_at, is_found):
    """A run that has just changed is about to get its job. A time in the future is not waited for."""
    journal, engine = open_journal(f"sqlite:///{tmp_path}/runs.sqlite"), LocalEngine()
    journal.create("a", "toy", {}, now=changed_at)
    options = {"queue": "toolkit", "kinds": toy_kinds(), "clock": lambda: 100.0, "settle_seconds": 1.0}
    Takeover(journal, engine, Observer(1.0, 1.0), **options).find_lost_jobs()
    assert bool(engine.jobs) is is_found
    journal.close()


def test_a_run_of_a_dead_worker_with_a_fast_clock_is_taken_over(tmp_path):
    """The run had no job, because its worker worked on it for a caller."""
    journal, engine, clock = open_journal(f"sqlite:///{tmp_path}/runs.sqlite"), LocalEngine(), Clock()
    journal.create("a", "toy", {}, now=1.0)
    journal.activate("a", worker="w", now=99_999.0, max_lives=9)
    journal.beat("w", {})
    observer = observe(clock)
    for _ in range(12):
        observer.look(journal.read_workers())
        clock.now += 1.0
    options = {"queue": "toolkit", "kinds": toy_kinds(), "clock": lambda: 100.0, "settle_seconds": 1.0}
    Takeover(journal, engine, observer, **options).take_over_dead()
    assert [job.run_id for job, _ in engine.jobs.values()] == ["a"]
    journal.close()
