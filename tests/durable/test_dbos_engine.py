"""DBOS delivers jobs, writes JSON only, and leaves the process alone."""

from __future__ import annotations

import inspect
import logging
import subprocess
import sys
import threading

import pytest

from tests.clocks import block_until
from toolkit.durable.engine import RunJob, RunLimits
from toolkit.durable.errors import DurableError

dbos = pytest.importorskip("dbos")
from toolkit.durable.dbos_engine import DbosEngine  # noqa: E402 -- it needs the extra
from toolkit.durable.dbos_json import JsonSerializer, refuse_pickles  # noqa: E402 -- as above


@pytest.fixture
def engine(tmp_path):
    """Return an engine on a new SQLite file."""
    engine = DbosEngine(f"sqlite:///{tmp_path}/runs.sqlite", poll_seconds=0.02)
    yield engine
    engine.stop_worker()
    engine.close()


class Worker:
    """A worker that notes the runs that it gets."""

    def __init__(self, *, delivery="done"):
        self.runs = []
        self.delivery = delivery
        self.gate = threading.Event()
        self.gate.set()
        self.changed = threading.Condition()

    def perform(self, run_id):
        """Do a job."""
        with self.changed:
            self.runs.append(run_id)
            self.changed.notify_all()
        self.gate.wait(30)
        return self.delivery

    def wait_for(self, count):
        """Wait until there were *count* jobs."""
        with self.changed:
            assert self.changed.wait_for(lambda: len(self.runs) >= count, timeout=30)


def test_a_job_is_kept_once_for_several_enqueues(engine):
    """The same id is the same job."""
    for _ in range(2):
        engine.enqueue(RunJob(id="a/1", run_id="a"))
    assert engine.find_missing(["a/1", "a/2"]) == ["a/2"]
    engine.withdraw(["a/1", "a/2"])
    assert engine.find_missing(["a/1"]) == ["a/1"]
    engine.enqueue(RunJob(id="a/1", run_id="a"))
    assert engine.find_missing(["a/1"]) == []
    engine.forget(["a/1"])
    assert engine.find_missing(["a/1"]) == ["a/1"]


def test_the_delay_of_a_job_can_be_changed(engine):
    """A job with another delay is the same job, and one without a delay takes its place."""
    for delay_seconds, status in ((1000.0, "DELAYED"), (2000.0, "DELAYED"), (0.0, "ENQUEUED"), (5.0, "ENQUEUED")):
        engine.enqueue(RunJob(id="a/1", run_id="a", delay_seconds=delay_seconds))
        assert engine._read_status("a/1").status == status


def test_a_job_that_is_made_once_more_keeps_its_priority(engine):
    """A worker that has nothing for a run leaves its job to others, later."""
    engine.enqueue(RunJob(id="a/1", run_id="a", priority=5))
    before = engine._read_status("a/1").priority
    engine.withdraw(["a/1"])
    engine.enqueue(RunJob(id="a/1", run_id="a", delay_seconds=1000.0))
    assert (engine._read_status("a/1").status, engine._read_status("a/1").priority) == ("DELAYED", before)


@pytest.mark.long
def test_jobs_are_delivered_by_priority_and_after_their_delay(engine):
    """A job that waits is delivered at once when it is enqueued again without a delay."""
    engine.enqueue(RunJob(id="low/1", run_id="low", priority=-5))
    engine.enqueue(RunJob(id="usual/1", run_id="usual"))
    engine.enqueue(RunJob(id="high/1", run_id="high", priority=5))
    engine.enqueue(RunJob(id="high/2", run_id="high again", after="high/1"))
    engine.enqueue(RunJob(id="late/1", run_id="late", delay_seconds=1000))
    worker = Worker()
    engine.start_worker("w", worker.perform, RunLimits(concurrency=1))
    worker.wait_for(4)
    assert worker.runs == ["high", "high again", "usual", "low"]
    engine.enqueue(RunJob(id="late/1", run_id="late"))
    worker.wait_for(5)
    assert worker.runs[-1] == "late"


@pytest.mark.long
def test_a_process_has_one_worker_and_any_number_of_clients(engine, tmp_path):
    """A second worker is refused with the database of the first, and its engine can still enqueue."""
    engine.start_worker("w", Worker().perform, RunLimits())
    other = DbosEngine(f"sqlite:///{tmp_path}/other.sqlite")
    with pytest.raises(DurableError, match=r"runs\.sqlite") as caught:
        other.start_worker("x", Worker().perform, RunLimits())
    assert caught.value.why == "busy"
    other.enqueue(RunJob(id="a/1", run_id="a"))
    engine.stop_worker()
    worker = Worker()
    other.start_worker("x", worker.perform, RunLimits())
    worker.wait_for(1)
    other.close()
    engine.start_worker("w", Worker().perform, RunLimits())


@pytest.mark.long
def test_two_queues_of_one_database_have_their_own_workers(engine, tmp_path):
    """The worker of each queue starts, and gets the jobs of its own queue only."""
    other = DbosEngine(f"sqlite:///{tmp_path}/runs.sqlite", name="billing", poll_seconds=0.02)
    engine.enqueue(RunJob(id="a/1", run_id="a"))
    other.enqueue(RunJob(id="b/1", run_id="b"))
    for own, run_id in ((engine, "a"), (other, "b")):
        worker = Worker()
        own.start_worker("w", worker.perform, RunLimits())
        worker.wait_for(1)
        own.stop_worker()
        assert worker.runs == [run_id]
    other.close()


@pytest.mark.long
def test_the_dbos_of_the_user_is_not_changed(engine, tmp_path):
    """A process that uses DBOS for something else cannot have a worker."""
    dbos.DBOS(config={"name": "mine", "system_database_url": f"sqlite:///{tmp_path}/mine.sqlite"})
    try:
        with pytest.raises(DurableError, match="something else") as caught:
            engine.start_worker("w", Worker().perform, RunLimits())
        assert caught.value.why == "busy"
    finally:
        dbos.DBOS.destroy()


@pytest.mark.long
def test_the_jobs_of_a_dead_worker_are_delivered_to_another(engine):
    """A job that a worker has and does not end goes to the next one."""
    first = Worker(delivery="lost")
    first.gate.clear()
    engine.enqueue(RunJob(id="a/1", run_id="a"))
    engine.start_worker("first", first.perform, RunLimits())
    first.wait_for(1)
    engine.stop_worker()
    assert engine.take_back("first") == ["a/1"]
    second = Worker()
    engine.start_worker("second", second.perform, RunLimits())
    second.wait_for(1)
    first.gate.set()
    engine.stop_worker()
    assert engine.take_back("second") == []


@pytest.mark.long
def test_limits_hold_for_all_and_for_each_principal(engine):
    """At most one run of a principal is under way, and another principal does not wait for it."""
    worker = Worker()
    worker.gate.clear()
    for number in (1, 2):
        for principal in ("ada", "bob"):
            engine.enqueue(RunJob(id=f"{principal}-{number}/1", run_id=f"{principal}-{number}", principal=principal))
    engine.start_worker("w", worker.perform, RunLimits(per_principal=1, total_concurrency=3, rate=(100, 1.0)))
    worker.wait_for(2)
    assert sorted(run.partition("-")[0] for run in worker.runs) == ["ada", "bob"]
    worker.gate.set()
    worker.wait_for(4)


@pytest.mark.long
def test_a_job_that_a_worker_returns_is_delivered_again(engine):
    """It goes back to the queue, and is the same job."""
    worker = Worker(delivery="return")
    engine.enqueue(RunJob(id="a/1", run_id="a"))
    engine.start_worker("w", worker.perform, RunLimits())
    worker.wait_for(2)
    worker.delivery = "done"
    worker.wait_for(3)
    wait_for_status(engine, "a/1", "SUCCESS")


@pytest.mark.long
@pytest.mark.parametrize("is_taken", [True, False])
def test_a_lost_job_stays_with_the_worker_that_owns_it(engine, is_taken):
    """A worker that was taken over changes nothing about the job; otherwise the job is done."""
    worker = Worker(delivery="lost")
    worker.gate.clear()
    engine.enqueue(RunJob(id="a/1", run_id="a"))
    engine.start_worker("w", worker.perform, RunLimits())
    worker.wait_for(1)
    if is_taken:
        engine._client.cancel_workflows(["a/1"])
    worker.gate.set()
    wait_for_status(engine, "a/1", "CANCELLED" if is_taken else "SUCCESS")


@pytest.mark.long
@pytest.mark.parametrize(("delivery", "status"), [("done", "CANCELLED"), ("return", "ENQUEUED")])
def test_the_delivery_of_a_stopped_worker_still_counts(engine, delivery, status):
    """DBOS is gone by then, so the client writes the status."""
    worker = Worker(delivery=delivery)
    worker.gate.clear()
    engine.enqueue(RunJob(id="a/1", run_id="a"))
    engine.start_worker("w", worker.perform, RunLimits())
    worker.wait_for(1)
    engine.stop_worker()
    worker.gate.set()
    wait_for_status(engine, "a/1", status)


def wait_for_status(engine, job_id, status):
    """Wait until DBOS says so about a job."""
    block_until(lambda: (row := engine._read_status(job_id)) is not None and row.status == status)


@pytest.mark.long
def test_a_job_of_another_program_is_refused(engine):
    """Its argument is not the id of a run."""
    options = {"workflow_name": "toolkit.activation", "queue_name": "toolkit", "queue_partition_key": "-"}
    engine._client.enqueue({**options, "workflow_id": "x/1", "app_version": "toolkit-1"}, 5)
    engine.start_worker("w", Worker().perform, RunLimits())
    wait_for_status(engine, "x/1", "ERROR")


class Unpickled:
    """An object whose pickle runs code when it is read."""

    def __reduce__(self):
        return (print, ("a pickle was read",))


@pytest.mark.long
def test_a_pickle_in_the_queue_is_refused(engine, tmp_path, capsys):
    """A row that another serializer has written is not read, and the worker goes on."""
    client = dbos.DBOSClient(system_database_url=f"sqlite:///{tmp_path}/runs.sqlite", application_name="toolkit")
    options = {"workflow_name": "toolkit.activation", "queue_name": "toolkit", "queue_partition_key": "-"}
    client.enqueue({**options, "workflow_id": "evil/1", "app_version": "toolkit-1", "priority": 1}, Unpickled())
    engine.enqueue(RunJob(id="good/1", run_id="good"))
    worker = Worker()
    engine.start_worker("w", worker.perform, RunLimits(concurrency=1))
    worker.wait_for(1)
    assert worker.runs == ["good"]
    assert client.list_workflows(workflow_ids=["evil/1"], load_input=False, load_output=False)[0].status == "ERROR"
    client.destroy()
    assert "a pickle was read" not in capsys.readouterr().out


def test_pickles_are_refused_only_while_a_worker_runs():
    """The DBOS of the user can read its own pickles otherwise."""
    pickles = inspect.signature(dbos.DBOSClient).parameters["serializer"].default
    text = pickles.serialize({"a": 1})
    with refuse_pickles(), pytest.raises(DurableError, match="pickle"):
        pickles.deserialize(text)
    assert pickles.deserialize(text) == {"a": 1}


def test_the_serializer_writes_json_and_the_text_of_an_exception():
    serializer = JsonSerializer()
    inputs = {"args": ("a",), "kwargs": {}}
    assert serializer.deserialize(serializer.serialize(inputs)) == inputs
    error = serializer.deserialize(serializer.serialize(ValueError("no")))
    assert isinstance(error, DurableError)
    assert "ValueError: no" in str(error)


@pytest.mark.parametrize("value", [{1, 2}, float("nan"), object()], ids=["set", "nan", "object"])
def test_the_serializer_refuses_a_value_that_is_not_json(value):
    with pytest.raises(DurableError) as caught:
        JsonSerializer().serialize(value)
    assert caught.value.why == "value"


def test_the_serializer_refuses_a_pickle():
    with pytest.raises(DurableError):
        JsonSerializer().deserialize("gASVBQAAAAAAAABLAS4=")


def test_the_log_of_dbos_goes_to_the_handlers_of_the_user(engine):
    """DBOS adds no handler that writes to the console, and its records reach the root logger."""
    logger = logging.getLogger("dbos")
    assert not any(isinstance(handler, logging.StreamHandler) for handler in logger.handlers)
    assert logger.propagate


@pytest.mark.long
def test_importing_the_host_does_not_load_dbos():
    """Only a worker needs it."""
    code = "import sys, toolkit.durable.host; sys.exit('dbos' in sys.modules or 'sqlalchemy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0  # noqa: S603 -- our own words


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"concurrency": 0}, "concurrency"),
        ({"per_principal": 0}, "per_principal"),
        ({"rate": (0, 1)}, "rate"),
        ({"rate": (1,)}, "rate"),
    ],
)
def test_limits_are_checked(options, message):
    """A limit that allows nothing is refused."""
    with pytest.raises(ValueError, match=message):
        RunLimits(**options)


def test_a_database_that_cannot_be_used_is_named(tmp_path):
    """The error is a `DurableError` for any error of DBOS."""
    with pytest.raises(DurableError) as caught:
        DbosEngine(f"sqlite:///{tmp_path}/no/folder/runs.sqlite")
    assert caught.value.why == "store"


def test_a_timer_does_not_count_as_the_job_of_an_answer(engine):
    """The process that has kept the answer may have died before it enqueued the job."""
    engine.enqueue(RunJob(id="a/2", run_id="a", delay_seconds=86_400.0))
    assert engine.find_missing(["a/2"]) == ["a/2"]
