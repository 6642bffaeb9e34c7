"""
One operation of a store: how long it is waited for, and what becomes of it after that.
"""

from __future__ import annotations

import asyncio
import pickle
import threading

import pytest

from tests.clocks import until
from toolkit.approvals import ApprovalError, Approvals, MemoryApprovals
from toolkit.approvals.store_runner import StoreRunner, StoreTimeoutError
from toolkit.concurrency.thread_pool import ThreadPool

pytestmark = pytest.mark.anyio

SOON = 0.3


class Store(MemoryApprovals):
    """A store that blocks."""

    blocking = True


class Desk:
    """A runner with few threads, and work that hangs until it is released."""

    def __init__(self, *, blocking=True, threads=1, cleanup_seconds=SOON):
        self.release, self.done, self.undone, self.entered = threading.Event(), [], [], []
        self.threads = ThreadPool(threads)
        self.approvals = Approvals(Store() if blocking else MemoryApprovals())
        self.runner = StoreRunner(self.approvals, self.threads, cleanup_seconds)

    def hang(self, store):
        self.entered.append(store)
        self.release.wait(30)
        self.done.append("hung")
        return "late"

    def note(self, store):
        self.done.append(threading.current_thread())
        return "noted"

    def undo(self, store, value):
        self.undone.append(value)


@pytest.fixture
def desk():
    """A runner with one thread."""
    desk = Desk()
    yield desk
    desk.release.set()
    desk.threads.close()


@pytest.mark.parametrize("blocking", [False, True])
async def test_only_a_blocking_store_works_in_a_thread(blocking):
    """A store in memory is quicker than a thread."""
    desk = Desk(blocking=blocking)
    assert await desk.runner.run("note", "", desk.note) == "noted"
    assert (desk.done[0] is threading.current_thread()) == (not blocking)
    desk.threads.close()


async def test_an_error_of_a_store_is_raised_to_the_caller(desk):
    """An operation that fails in time is not undone."""

    def fail(store):
        raise KeyError("gone")

    with pytest.raises(KeyError, match="gone"):
        await desk.runner.run("fail", "", fail, on_late=desk.undo)
    assert desk.undone == []


async def test_an_operation_that_comes_too_late_is_undone_in_its_thread(desk):
    """The caller has its error by then, which names the operation and the request."""
    with pytest.raises(StoreTimeoutError, match=r"Store was to claim request r1, and did not answer within 0\.3 s"):
        await desk.runner.run("claim request", "r1", desk.hang, seconds=SOON, on_late=desk.undo)
    assert desk.undone == []
    desk.release.set()
    await until(lambda: desk.undone == ["late"])


async def test_an_operation_that_is_in_time_is_not_undone(desk):
    for _ in range(100):
        assert await desk.runner.run("note", "", desk.note, seconds=10, on_late=desk.undo) == "noted"
    assert desk.undone == []


async def test_a_queued_operation_leaves_the_queue_unless_it_must_happen(desk):
    """A claim without a caller is not tried. An outcome is kept as soon as there is a thread."""
    with pytest.raises(StoreTimeoutError):
        await desk.runner.run("hang", "", desk.hang, seconds=SOON)
    with pytest.raises(StoreTimeoutError):  # in the thread that replaces the first
        await desk.runner.run("hang", "", desk.hang, seconds=SOON)
    with pytest.raises(StoreTimeoutError, match=r"all 2 threads are held by calls that cannot be stopped \(`hang` 2 "):
        await desk.runner.run("note", "", desk.note, seconds=SOON)
    assert desk.threads.queue_length == 0
    with pytest.raises(StoreTimeoutError):
        await desk.runner.run("note", "", desk.note, seconds=SOON, must_happen=True)
    desk.runner.detach("note", desk.note)
    assert desk.threads.queue_length == 2
    desk.release.set()
    await until(lambda: len(desk.done) == 4)


async def test_the_queue_for_a_store_that_hangs_is_bounded(desk, caplog, monkeypatch):
    """Each outcome in the queue holds a result, so the memory would grow without a limit."""
    monkeypatch.setattr("toolkit.approvals.store_runner._MAX_WAITING", 3)
    for _ in range(2):
        with pytest.raises(StoreTimeoutError):
            await desk.runner.run("hang", "", desk.hang, seconds=SOON)
    for _ in range(10):
        desk.runner.detach("note it", desk.note)
        with pytest.raises(StoreTimeoutError):
            await desk.runner.run("note", "", desk.note, seconds=0, must_happen=True)
    assert desk.threads.queue_length == 3
    assert "a store hangs, and 3 operations wait for it: it will not note it" in caplog.text


async def test_only_an_operation_that_must_happen_starts_when_the_time_is_over(desk):
    """A caller whose time is over does not claim a call."""
    with pytest.raises(StoreTimeoutError, match="no time was left for that"):
        await desk.runner.run("note", "", desk.note, seconds=-1)
    assert desk.done == []
    with pytest.raises(StoreTimeoutError):
        await desk.runner.run("hang", "", desk.hang, seconds=-1, must_happen=True)
    desk.release.set()
    await until(lambda: desk.done)


async def test_a_cancellation_at_the_moment_of_the_answer_undoes_the_operation(desk):
    """The store has done it, and no caller learns of that."""
    for _ in range(50):
        desk.undone.clear()
        count = len(desk.done)
        task = asyncio.ensure_future(desk.runner.run("note", "", desk.note, on_late=desk.undo))
        await asyncio.sleep(0)
        while len(desk.done) == count:  # without letting the loop see the answer
            pass
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: desk.undone == ["noted"])


async def test_a_cancelled_lookup_does_not_wait_at_all():
    """There is nothing to be undone or written down."""
    desk = Desk(cleanup_seconds=60)
    task = asyncio.ensure_future(desk.runner.run("hang", "", desk.hang))
    await until(lambda: desk.entered)
    task.cancel()
    done, _ = await asyncio.wait({task}, timeout=10)
    assert done
    desk.release.set()
    desk.threads.close()


async def test_a_failure_after_the_caller_is_gone_is_logged(desk, caplog):
    """This holds for the operation and for undoing it."""

    def fail(store):
        desk.hang(store)
        raise KeyError("gone")

    def refuse(store, value):
        raise KeyError("kept")

    for work, on_late in ((fail, None), (desk.hang, refuse)):
        desk.release.clear()
        with pytest.raises(StoreTimeoutError):
            await desk.runner.run("hang", "", work, seconds=1.0, on_late=on_late)
        desk.release.set()
        await until(lambda: desk.threads.stuck_count == 0)
    assert "a store that was to hang failed after its caller had gone: KeyError('gone')" in caplog.text
    assert "what a store did too late could not be undone: it was to hang" in caplog.text


def test_a_detached_operation_runs_at_once_without_an_event_loop(desk):
    desk.runner.detach("note", desk.note)
    assert desk.done == [threading.current_thread()]


def test_the_error_can_be_pickled():
    """A result that crosses processes carries it."""
    error = StoreTimeoutError(MemoryApprovals(), "claim request", "r1", 1.5)
    copy = pickle.loads(pickle.dumps(error))
    assert (str(copy), copy.why, isinstance(copy, ApprovalError)) == (str(error), "store", True)
