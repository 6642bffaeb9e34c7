"""A host works on runs here and now, or as a worker, and ends in good order."""

from __future__ import annotations

import asyncio
import time

import pytest

from tests.clocks import wait_until
from tests.durable.kit import LocalEngine, Toys, running, wait_for_status
from toolkit.decisions import Decision
from toolkit.durable import DurableHost
from toolkit.durable.errors import DurableError
from toolkit.durable.run_jobs import build_job

pytestmark = pytest.mark.anyio


@pytest.fixture
async def toys():
    """Return toy runs of this event loop."""
    return Toys()


@pytest.fixture
async def host(toys, tmp_path):
    """Return a host with toy runs and an engine in memory."""
    async with toys.open_host(tmp_path, engine=LocalEngine()) as host:
        yield host


async def test_the_same_id_returns_the_outcome_and_repeats_no_step(host, toys):
    """A run that has ended does not begin again."""
    first = await host.run("toy", "a/b", {"n": 1})
    second = await host.run("toy", "a/b", {"n": 1})
    assert (first.status, second.status) == ("done", "done")
    assert toys.begun == [("a/b", 1)]


async def test_another_input_under_the_same_id_is_refused(host):
    """An id belongs to one input."""
    await host.run("toy", "a", {"n": 1})
    with pytest.raises(DurableError) as caught:
        await host.run("toy", "a", {"n": 2})
    assert caught.value.why == "changed"


async def test_a_run_that_waits_goes_on_with_a_decision(host):
    """`resume` applies decisions here and now."""
    waiting = await host.run("toy", "a", {"ask": True})
    assert waiting.status == "waiting"
    assert (await host.run("toy", "a", {"ask": True})).status == "waiting"
    row = await host.resume("a", {"ask-a": Decision.deny("no")})
    assert (row.status, row.outcome) == ("done", {"answers": {"ask-a": False}})


@pytest.mark.parametrize(
    ("decisions", "why"),
    [({"ask-b": Decision.approve()}, "unknown"), ({"ask-a": Decision.approve()}, "answered")],
)
async def test_decisions_for_another_run_or_twice_are_refused(host, decisions, why):
    """A decision counts once, and for its own run."""
    await host.run("toy", "a", {"ask": True})
    await host.decide("a", {"ask-a": Decision.approve()})
    with pytest.raises(DurableError) as caught:
        await host.decide("a", decisions)
    assert caught.value.why == why


async def test_a_decision_for_a_run_that_is_over_is_too_late(host):
    """A run that is over takes no decision."""
    await host.run("toy", "a", {})
    with pytest.raises(DurableError) as caught:
        await host.resume("a", {"x": Decision.approve()})
    assert caught.value.why == "over"


@pytest.mark.parametrize("decisions", [Decision.approve(), {"ask-a": True}])
async def test_decisions_of_another_type_are_refused(host, decisions):
    """Decisions are a dictionary of decisions."""
    await host.run("toy", "a", {"ask": True})
    with pytest.raises(TypeError):
        await host.decide("a", decisions)


@pytest.mark.parametrize("method", ["get", "events", "cancel", "retry"])
async def test_every_method_raises_an_error_for_an_unknown_run(host, method):
    with pytest.raises(DurableError) as caught:
        await getattr(host, method)("nothing")
    assert caught.value.why == "unknown"


async def test_a_decision_without_a_worker_is_kept_for_the_next_one(host):
    """A decision enqueues the next activation, also if no worker is alive."""
    await host.run("toy", "a", {"ask": True})
    await host.decide("a", {"ask-a": Decision.approve()})
    async with running(host.work()):
        row = await wait_for_status(host, "a", "done")
    assert row.outcome == {"answers": {"ask-a": True}}


async def test_a_request_expires_by_the_engine(host):
    """A run that waits goes on by itself when its request has expired."""
    row = await host.start("toy", "a", {"ask": True, "expires_at": time.time() + 0.1})
    async with running(host.work()):
        row = await wait_for_status(host, "a", "done")
    assert row.outcome == {"answers": {}}


async def test_a_run_begins_once_for_two_callers(host, toys):
    """The second caller waits for the first."""
    first = asyncio.ensure_future(host.run("toy", "a", {"hold": True}))
    await wait_until(lambda: toys.begun)
    second = asyncio.ensure_future(host.run("toy", "a", {"hold": True}))
    await asyncio.wait({second}, timeout=0.01)
    toys.release.set()
    assert [(await first).status, (await second).status] == ["done", "done"]
    assert toys.begun == [("a", 1)]


async def test_a_run_that_two_hosts_start_begins_once(host, toys, tmp_path):
    """The other host waits for the end of the run."""
    async with toys.open_host(tmp_path, engine=LocalEngine()) as other:
        tasks = [asyncio.ensure_future(owner.run("toy", "a", {"hold": True})) for owner in (host, other)]
        await wait_until(lambda: toys.begun)
        await asyncio.wait(tasks, timeout=0.1)
        toys.release.set()
        assert [(await task).status for task in tasks] == ["done", "done"]
    assert toys.begun == [("a", 1)]


async def test_an_error_of_the_work_fails_the_run_and_reaches_the_caller(host, toys):
    """The run is kept as failed, and can be retried."""
    with pytest.raises(RuntimeError, match="boom"):
        await host.run("toy", "a", {"fail": "boom"})
    row = await host.get("a")
    assert (row.status, row.problem) == ("failed", "RuntimeError: boom")
    assert row.outcome == {"status": "failed", "reason": "RuntimeError: boom"}
    assert (await host.retry("a")).status == "queued"
    async with running(host.work()):
        await wait_for_status(host, "a", "failed")
    assert toys.begun == [("a", 1), ("a", 2)]


async def test_a_run_of_a_kind_that_the_host_does_not_have_fails_here(host, toys, tmp_path):
    """A worker leaves it to others; a caller who goes on with it here is told which kind is missing."""
    async with toys.open_host(tmp_path, engine=LocalEngine()) as other:
        other.register("other", toys.activate)
        assert (await other.run("other", "a", {"ask": True})).status == "waiting"
    with pytest.raises(DurableError, match="has no 'other'"):
        await host.resume("a", {"ask-a": Decision.approve()})


async def test_cancelling_stops_the_work_at_once(host, toys):
    """A run that is under way here ends with the call of `cancel`."""
    async with running(host.work()):
        await host.start("toy", "a", {"hold": True})
        await wait_until(lambda: toys.begun)
        await host.cancel("a", "enough")
        await wait_until(lambda: not host._activations.has("a"))
    row = await host.get("a")
    assert (row.status, row.problem, toys.ended) == ("cancelled", "enough", [])


async def test_another_process_notices_a_cancellation_with_its_next_beat(host, toys, tmp_path):
    """The heart of a worker sees that its activation is not the newest."""
    async with toys.open_host(tmp_path, engine=LocalEngine()) as other:
        task = asyncio.ensure_future(host.run("toy", "a", {"hold": True}))
        await wait_until(lambda: toys.begun)
        await other.cancel("a")
        row = await task
    assert (row.status, toys.ended) == ("cancelled", [])


async def test_a_cancelled_caller_gives_the_run_back(host, toys):
    """A worker goes on with it."""
    task = asyncio.ensure_future(host.run("toy", "a", {"hold": True}))
    await wait_until(lambda: toys.begun)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    row = await host.get("a")
    assert (row.status, row.lives) == ("queued", 0)
    toys.release.set()
    async with running(host.work()):
        await wait_for_status(host, "a", "done")


@pytest.mark.parametrize("method", ["start", "decide", "resume", "retry"])
async def test_a_run_whose_caller_is_cancelled_has_its_job(toys, tmp_path, method):
    """A run in the journal is also enqueued if the caller is cancelled between the two."""
    engine = LocalEngine()
    async with toys.open_host(tmp_path, engine=engine) as host:
        if method == "retry":
            await host.start("toy", "a", {})
            await host.cancel("a")
        elif method != "start":
            await host.run("toy", "a", {"ask": True})
        write = getattr(host._journal, "create" if method == "start" else "decide" if method == "resume" else method)
        loop, task = asyncio.get_running_loop(), None

        def write_and_cancel(*args, **options):
            result = write(*args, **options)
            loop.call_soon_threadsafe(task.cancel)
            return result

        setattr(host._journal, write.__name__, write_and_cancel)
        arguments = {"start": ("toy", "a", {}), "retry": ("a",)}.get(method, ("a", {"ask-a": Decision.approve()}))
        task = asyncio.ensure_future(getattr(host, method)(*arguments))
        with pytest.raises(asyncio.CancelledError):
            await task
        row = await host.get("a")
        assert row.status in ("queued", "waiting")
        assert build_job(row).id in engine.jobs


async def test_a_run_whose_event_loop_was_closed_is_given_back(toys, tmp_path):
    """Another host goes on with it although the process lives, and the first host can be closed."""
    first = toys.open_host(tmp_path, engine=LocalEngine())
    tasks = []

    def work_in_another_loop():
        loop = asyncio.new_event_loop()
        tasks.append(loop.create_task(first.run("toy", "a", {"hold": True})))
        loop.run_until_complete(wait_until(lambda: toys.begun))
        loop.close()

    await asyncio.to_thread(work_in_another_loop)
    toys.release = asyncio.Event()
    toys.release.set()
    async with toys.open_host(tmp_path, engine=LocalEngine()) as second:
        assert (await second.run("toy", "a", {"hold": True})).status == "done"
    await first.close()
    assert toys.begun == [("a", 1), ("a", 2)]


async def test_a_worker_that_ends_gives_its_runs_back(host, toys):
    """The run is queued again, and counts as no life."""
    async with running(host.work(grace_seconds=0.0)):
        await host.start("toy", "a", {"hold": True})
        await wait_until(lambda: toys.begun)
    row = await host.get("a")
    assert (row.status, row.lives) == ("queued", 0)
    assert list(host._queue._engine.jobs) == ["a/1"]


async def test_closing_a_host_gives_its_runs_back(toys, tmp_path):
    """The caller is told that the run goes on elsewhere."""
    host = toys.open_host(tmp_path, engine=LocalEngine())
    task = asyncio.ensure_future(host.run("toy", "a", {"hold": True}))
    await wait_until(lambda: toys.begun)
    await host.close()
    with pytest.raises(DurableError) as caught:
        await task
    assert caught.value.why == "busy"


async def test_closing_a_host_ends_its_worker(toys, tmp_path):
    """`work` returns, and its runs are given back."""
    host = toys.open_host(tmp_path, engine=LocalEngine())
    task = asyncio.ensure_future(host.work(grace_seconds=0.0))
    await host.start("toy", "a", {"hold": True})
    await wait_until(lambda: toys.begun)
    with pytest.raises(DurableError, match="already"):
        await host.work()
    await host.close()
    await task
    async with toys.open_host(tmp_path, engine=LocalEngine()) as other:
        assert (await other.get("a")).status == "queued"


@pytest.mark.parametrize("is_broken", [False, True])
async def test_a_worker_that_is_cancelled_during_its_start_is_stopped(toys, tmp_path, is_broken):
    """No job is delivered afterwards, and the host can have a worker again."""
    loop, engine = asyncio.get_running_loop(), LocalEngine()
    start_worker = engine.start_worker

    def start_late(*arguments):
        loop.call_soon_threadsafe(task.cancel)
        if is_broken:
            raise DurableError("the engine cannot start", why="store")
        start_worker(*arguments)

    engine.start_worker = start_late
    async with toys.open_host(tmp_path, engine=engine) as host:
        task = asyncio.ensure_future(host.work())
        with pytest.raises(asyncio.CancelledError):
            await task
        assert is_broken or engine._stop.is_set()
        engine.start_worker = start_worker
        await host.start("toy", "a", {})
        async with running(host.work()):
            await wait_for_status(host, "a", "done")


async def test_an_error_while_a_worker_ends_is_logged(host, caplog):
    """The error comes from the engine, and the worker ends."""

    def fail():
        raise RuntimeError("the engine is stuck")

    async with running(host.work()):
        await wait_until(lambda: host._job_worker._until_end is not None)
        host._queue._engine.stop_worker = fail
    assert "could not give all its runs back" in caplog.text
    assert "the engine is stuck" in caplog.text


async def test_a_worker_can_be_started_again(host, toys):
    """A host that has ended its work can work again."""
    for run_id in ("a", "b"):
        async with running(host.work()):
            await host.start("toy", run_id, {})
            await wait_for_status(host, run_id, "done")


async def test_a_deadline_stops_a_run(host, toys):
    """It stops the run while it works, and before it begins."""
    row = await host.run("toy", "a", {"hold": True}, deadline_seconds=0.1)
    assert (row.status, row.outcome["reason"]) == ("stopped", "the deadline of the run has passed")
    await host.run("toy", "b", {"ask": True}, deadline_seconds=0.1)
    async with running(host.work()):
        row = await wait_for_status(host, "b", "stopped")
    assert toys.ended == []


async def test_a_run_that_its_deadline_stopped_is_retried_with_more_time(host, toys):
    """Without a new deadline it would be stopped at once, so that is refused."""
    await host.run("toy", "a", {"hold": True}, deadline_seconds=0.05)
    with pytest.raises(DurableError, match="more time") as caught:
        await host.retry("a")
    assert caught.value.why == "over"
    toys.release.set()
    row = await host.retry("a", deadline_seconds=60)
    assert row.deadline > time.time() + 30
    assert (await host.run("toy", "a", {"hold": True})).status == "done"


@pytest.mark.parametrize(
    "use",
    [
        lambda host: host.run("toy", "a", {}),
        lambda host: host.start("toy", "b", {}),
        lambda host: host.get("a"),
        lambda host: host.list(),
        lambda host: host.work(),
        lambda host: host.purge(before=1.0),
    ],
    ids=["run", "start", "get", "list", "work", "purge"],
)
async def test_a_host_can_be_closed_twice_and_not_used_afterwards(toys, tmp_path, use):
    """Every method then raises an error that names the remedy."""
    host = toys.open_host(tmp_path, engine=LocalEngine())
    await host.run("toy", "a", {})
    await asyncio.gather(host.close(), host.close())
    await host.close()
    with pytest.raises(DurableError, match="make a new one"):
        await use(host)


async def test_purging_removes_runs_that_are_over(host):
    """A run that waits stays."""
    await host.run("toy", "a", {})
    await host.run("toy", "b", {"ask": True})
    assert await host.purge(before=time.time() + 1) == 1
    assert [row.id for row in await host.list()] == ["b"]


async def test_events_are_in_order(host):
    await host.run("toy", "a", {"ask": True})
    await host.resume("a", {"ask-a": Decision.approve()})
    kinds = [event.kind for event in await host.events("a")]
    assert kinds == ["created", "activated", "waiting", "decided", "activated", "ended"]


@pytest.mark.parametrize("name", ["a", "Billing", "my queue", "", None, "x" * 300])
async def test_an_invalid_name_of_a_queue_is_refused(toys, tmp_path, name):
    with pytest.raises(ValueError, match="cannot be the name of a queue; give 3 to 256 characters"):
        toys.open_host(tmp_path, name=name)


@pytest.mark.parametrize(
    ("option", "value", "error"),
    [
        ("max_lives", 0, ValueError),
        ("max_lives", "3", TypeError),
        ("max_lives", 1.5, TypeError),
        ("takeover_seconds", 0, ValueError),
        ("takeover_seconds", float("inf"), ValueError),
        ("takeover_seconds", float("nan"), ValueError),
        ("takeover_seconds", "10", TypeError),
    ],
)
async def test_an_invalid_option_of_a_host_is_refused(toys, tmp_path, option, value, error):
    with pytest.raises(error, match=option):
        toys.open_host(tmp_path, **{option: value})


def test_a_host_refuses_a_path_as_its_address():
    with pytest.raises(DurableError, match="address"):
        DurableHost("runs.sqlite")


async def test_a_kind_is_registered_once_and_before_its_runs(host, toys):
    with pytest.raises(ValueError, match="already"):
        host.register("toy", toys.activate)
    with pytest.raises(ValueError, match="register"):
        await host.run("other", "a", {})


@pytest.mark.parametrize(
    ("deadline_seconds", "error"), [(0, ValueError), (1e300, ValueError), ("5", TypeError), (True, TypeError)]
)
async def test_an_invalid_deadline_is_refused(host, deadline_seconds, error):
    with pytest.raises(error, match="deadline_seconds"):
        await host.run("toy", "a", {}, deadline_seconds=deadline_seconds)


async def test_other_invalid_arguments_of_a_host_are_refused(host):
    """Each error names the argument."""
    with pytest.raises(ValueError, match="waiting"):
        await host.list(status="wait")
    with pytest.raises(TypeError, match="before"):
        await host.purge(before="x")
    with pytest.raises(ValueError, match="priority"):
        await host.start("toy", "a", {}, priority=2_000_000)
