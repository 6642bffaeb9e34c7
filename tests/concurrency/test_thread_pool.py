"""Threads are few, are used again, and can be left to themselves."""

import asyncio
import contextvars
import gc
import threading
import weakref

import pytest

from toolkit.concurrency.thread_pool import ThreadPool

pytestmark = pytest.mark.anyio

NAME = contextvars.ContextVar("NAME", default="no name")


@pytest.fixture
def threads():
    """A pool of two threads. No test leaves one of them behind."""
    before = set(threading.enumerate())
    threads = ThreadPool(2)
    yield threads
    threads.close()
    left = [thread for thread in threading.enumerate() if thread not in before]
    for thread in left:
        thread.join(5)
    assert not any(thread.is_alive() for thread in left)


class Gate:
    """A job that says when it runs, and waits to be let go."""

    def __init__(self):
        self.started = threading.Event()
        self.released = threading.Event()

    def __call__(self):
        self.started.set()
        assert self.released.wait(10)
        return threading.current_thread()


async def wait_for_start(gate):
    """Wait for *gate* to be entered without blocking the loop for long."""
    assert await asyncio.get_running_loop().run_in_executor(None, gate.started.wait, 10)


async def test_a_function_runs_in_another_thread(threads):
    """Its result comes back to the loop."""
    thread = await threads.run(threading.current_thread)
    assert thread is not threading.current_thread()
    assert thread.daemon


async def test_context_variables_are_copied(threads):
    """Each job has its own copy, so its changes stay there."""

    def work():
        value = NAME.get()
        NAME.set("another name")
        return value

    NAME.set("me")
    assert await threads.run(work) == "me"
    assert await threads.run(work) == "me"
    assert NAME.get() == "me"


async def test_a_thread_is_used_again(threads):
    """Twenty jobs, one after the other, take one thread, or two on a busy machine."""
    used = {await threads.run(threading.current_thread) for _ in range(20)}
    # A result may be here before its thread is ready for the next job. The second thread, started for that job, may
    # find that the first has taken it.
    assert len(used) <= threads.thread_count <= 2


async def test_no_more_run_at_once_than_may(threads):
    """The third waits for one of the two."""
    gates = [Gate(), Gate(), Gate()]
    futures = [threads.run(gate) for gate in gates]
    await wait_for_start(gates[0])
    await wait_for_start(gates[1])
    assert threads.thread_count == 2
    assert not gates[2].started.is_set()
    gates[0].released.set()
    await wait_for_start(gates[2])
    for gate in gates:
        gate.released.set()
    assert len(set(await asyncio.gather(*futures))) == 2


async def test_a_job_that_hangs_keeps_its_slot_and_no_other(threads):
    """Others go on beside it, however many come."""
    gate = Gate()
    abandoned = threads.run(gate)
    await wait_for_start(gate)
    for number in range(50):
        assert await asyncio.wait_for(threads.run(lambda number=number: number), 10) == number
    assert threads.thread_count == 2
    gate.released.set()
    await abandoned


async def test_every_job_finds_a_thread_while_there_is_room():
    """This holds also in the moment in which an idle thread has just been given another job."""
    threads = ThreadPool(64)
    for _ in range(30):
        gates = [Gate() for _ in range(8)]
        futures = [threads.run(gate) for gate in gates]
        for gate in gates:
            await wait_for_start(gate)
        for gate in gates:
            gate.released.set()
        await asyncio.gather(*futures)
    assert threads.thread_count <= 64
    threads.close()


class Odd(BaseException):
    pass


@pytest.mark.parametrize("error", [ValueError("x"), Odd("x"), SystemExit(3), asyncio.CancelledError("x")])
async def test_an_error_of_a_job_arrives_at_the_caller(threads, error):
    """The thread lives on after any exception."""

    def work():
        raise error

    future = threads.run(work)
    await asyncio.wait({future})
    with pytest.raises(type(error)):
        future.result()
    assert await threads.run(lambda: 5) == 5


async def test_stop_iteration_arrives_as_a_runtime_error(threads):
    """A future cannot hold it."""
    with pytest.raises(RuntimeError, match=r"the tool raised StopIteration\(5\)") as raised:
        await threads.run(_stop)
    assert raised.value.__cause__ is not None


def _stop():
    raise StopIteration(5)


async def test_a_job_that_was_cancelled_in_the_queue_is_not_run(threads):
    """The caller does not need the result any more."""
    gates = [Gate(), Gate()]
    futures = [threads.run(gate) for gate in gates]
    ran = []
    unwanted = threads.run(lambda: ran.append(1))
    unwanted.cancel()
    for gate in gates:
        gate.released.set()
    await asyncio.gather(*futures)
    await threads.run(lambda: None)
    await threads.run(lambda: None)
    assert ran == []


async def test_a_future_that_was_cancelled_takes_no_result(threads):
    """The job ends by itself, and no other job is affected."""
    gate = Gate()
    future = threads.run(gate)
    await wait_for_start(gate)
    future.cancel()
    gate.released.set()
    assert await threads.run(lambda: 5) == 5


def test_the_loop_may_end_before_the_job(threads):
    """`asyncio.run` does not wait for it, and the thread does not mind."""
    gate = Gate()

    async def leave():
        threads.run(gate)
        await wait_for_start(gate)

    asyncio.run(leave())
    gate.released.set()

    async def come_back():
        return await threads.run(lambda: 5)

    assert asyncio.run(come_back()) == 5


def test_two_event_loops_can_share_a_pool(threads):
    results = {}

    def run(name):
        async def work():
            return [await threads.run(lambda number=number: (name, number)) for number in range(50)]

        results[name] = asyncio.run(work())

    runners = [threading.Thread(target=run, args=(name,)) for name in "ab"]
    for runner in runners:
        runner.start()
    for runner in runners:
        runner.join()
    assert results == {name: [(name, number) for number in range(50)] for name in "ab"}


async def test_closing_ends_idle_threads_at_once():
    """None is left when it returns."""
    before = set(threading.enumerate())
    threads = ThreadPool(5)
    gates = [Gate() for _ in range(5)]
    futures = [threads.run(gate) for gate in gates]
    for gate in gates:
        await wait_for_start(gate)
    threads_of_pool = [thread for thread in threading.enumerate() if thread.name == "toolkit" and thread not in before]
    for gate in gates:
        gate.released.set()
    await asyncio.gather(*futures)
    threads.close()
    for thread in threads_of_pool:
        thread.join(5)  # one that was still handing over its result
    assert threads.thread_count == 0
    assert len(threads_of_pool) == 5
    assert not any(thread.is_alive() for thread in threads_of_pool)


async def test_running_and_waiting_jobs_finish_after_closing():
    threads = ThreadPool(1)
    gate = Gate()
    busy, waiting = threads.run(gate), threads.run(lambda: 5)
    await wait_for_start(gate)
    threads.close()
    threads.close()
    gate.released.set()
    thread = await busy
    assert await waiting == 5
    thread.join(5)
    assert threads.thread_count == 0


async def test_a_closed_pool_takes_no_job(threads):
    threads.close()
    with pytest.raises(RuntimeError, match="the dispatcher is closed"):
        threads.run(lambda: 5)


async def test_a_thread_without_work_ends_by_itself():
    """A pool that was not closed leaves no thread behind."""
    threads = ThreadPool(1, idle_seconds=0)
    first = await threads.run(threading.current_thread)
    first.join(5)
    assert threads.thread_count == 0
    second = await threads.run(threading.current_thread)
    assert second is not first
    second.join(5)


async def test_a_waiting_thread_keeps_no_object_of_the_last_call(threads):
    """Its values and the frames of its traceback are freed."""

    class Heavy:
        pass

    heavy = Heavy()
    reference = weakref.ref(heavy)

    def work(heavy):
        raise ValueError("x")

    future = threads.run(lambda heavy=heavy: work(heavy))
    with pytest.raises(ValueError):
        await future
    del heavy, future
    for _ in range(500):  # another thread may do the next piece of work, while this one is still letting go
        await threads.run(lambda: None)
        gc.collect()
        if reference() is None:
            break
    assert reference() is None


async def test_running_a_job_needs_a_running_event_loop(threads):
    def outside():
        with pytest.raises(RuntimeError, match="no running event loop"):
            threads.run(lambda: 5)

    await threads.run(outside)


class Exhausted(threading.Thread):
    """A thread of a system that has no more than one to give."""

    left = 1

    def start(self):
        if not Exhausted.left:
            raise RuntimeError("can't start new thread")
        Exhausted.left -= 1
        super().start()


async def test_a_system_without_threads_is_an_error_only_if_there_are_none():
    """Those that are there do the work, one after another."""
    Exhausted.left = 1
    threads = ThreadPool(5, make_thread=Exhausted)
    gate = Gate()
    first, second = threads.run(gate), threads.run(lambda: 5)
    assert threads.thread_count == 1
    gate.released.set()
    await first
    assert await second == 5
    threads.close()

    Exhausted.left = 0
    threads = ThreadPool(5, make_thread=Exhausted)
    with pytest.raises(RuntimeError, match="can't start new thread"):
        threads.run(lambda: 5)
    Exhausted.left = 1
    assert await threads.run(lambda: 6) == 6
    threads.close()


async def test_a_thread_that_waits_for_another_lends_its_slot():
    """A job that waits for a job of the same pool would wait for ever in a pool of one."""
    threads = ThreadPool(1)

    def outer():
        async def inner():
            return await threads.run(lambda: 5)

        with threads.lend_slot():
            return asyncio.run(inner())

    assert await asyncio.wait_for(threads.run(outer), 10) == 5
    with threads.lend_slot():  # not one of its threads: nothing to lend
        assert await threads.run(lambda: 6) == 6
    threads.close()


async def test_a_waiting_job_gets_a_slot_that_is_lent():
    threads = ThreadPool(1)
    done = threading.Event()

    def outer():
        with threads.lend_slot():
            return done.wait(10)

    first = threads.run(outer)
    second = threads.run(done.set)
    assert await first
    await second
    threads.close()
