"""
One attempt: where functions run, what they are given, what becomes of those that do not come back.
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import logging
import threading
import warnings
from collections.abc import AsyncIterator, Iterator

import pytest

from tests.clocks import Clock, until
from toolkit.calls.resources import PER_CALL
from toolkit.catalog import Catalog
from toolkit.concurrency.abandoned import AbandonedCalls, CancellableJob, StuckCall
from toolkit.context import Context, Inject
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolkitWarning, Transient
from toolkit.policies.retry import RetryPolicy
from toolkit.session import Session

pytestmark = pytest.mark.anyio

QUICK = RetryPolicy(attempts=3, wait_initial=0)
SOON = 0.02
STARTED = 1.0  # by then a thread has started, also on a busy machine


@pytest.fixture
def catalog():
    """An empty catalog."""
    return Catalog()


@pytest.fixture
def release():
    """Lets threads that hang go on; set at the end, so that none outlives its test."""
    event = threading.Event()
    yield event
    event.set()


# Where functions run.


async def test_a_sync_tool_runs_off_the_loop_with_context_variables(catalog):
    """In a thread of ours, with the caller's context; `thread=False` keeps it on the loop."""
    user = contextvars.ContextVar("user", default="no user")
    user.set("ada")

    def who() -> tuple[str, bool]:
        """Tell who calls, and whether this is the loop's thread."""
        return user.get(), threading.current_thread() is threading.main_thread()

    catalog.tool(name="off")(who)
    catalog.tool(name="on", thread=False)(who)
    async with Dispatcher(catalog) as dispatcher:
        assert (await dispatcher.call("off")).value == ["ada", False]
        assert (await dispatcher.call("on")).value == ["ada", True]


@pytest.mark.parametrize("thread", [True, False])
async def test_a_sync_function_may_return_an_awaitable(catalog, thread):
    """A lambda around a coroutine function, for instance."""

    async def later() -> int:
        return 5

    @catalog.tool(thread=thread)
    def now():
        """Return a coroutine."""
        return later()

    async with Dispatcher(catalog) as dispatcher:
        assert (await dispatcher.call("now")).value == 5


async def test_a_wrapper_counts_for_what_it_is_not_for_what_it_wraps(catalog):
    """A sync wrapper of an async function may return a plain value."""

    async def original(n: int) -> int:
        """Give a number."""
        return n

    @functools.wraps(original)
    def wrapper(n):
        return n + 1

    catalog.tool(wrapper)
    assert (await Dispatcher(catalog).call("original", {"n": 1})).value == 2


async def test_a_cap_bounds_the_threads(catalog, release):
    """Of three calls at once only two are in threads."""
    inside, most = [], []

    @catalog.tool(concurrency_safe=True)
    def work(n: int) -> int:
        """Work."""
        inside.append(n)
        most.append(len(inside))
        release.wait(5)
        inside.remove(n)
        return n

    async with Dispatcher(catalog, max_concurrency=2) as dispatcher:
        calls = [asyncio.ensure_future(dispatcher.call("work", {"n": n})) for n in range(3)]
        await until(lambda: len(inside) == 2)
        release.set()
        results = await asyncio.gather(*calls)
    assert [result.value for result in results] == [0, 1, 2]
    assert max(most) == 2


# Streams.


@pytest.mark.parametrize("style", ["sync", "loop", "async"])
async def test_a_stream_is_reported_and_collected(catalog, style):
    """Each yield is progress, in order; all of them are the value."""
    reports = []

    def count(n: int) -> Iterator[int]:
        """Count."""
        yield from range(n)

    async def later(n: int) -> AsyncIterator[int]:
        """Count."""
        for number in range(n):
            yield number

    catalog.tool(name="count", thread=style == "sync")(later if style == "async" else count)
    async with Dispatcher(catalog, on_progress=reports.append) as dispatcher:
        result = await dispatcher.call("count", {"n": 3}, id="7")
    assert result.value == [0, 1, 2]
    assert [(report.call_id, report.tool, report.value) for report in reports] == [("7", "count", n) for n in range(3)]


@pytest.mark.parametrize("style", ["sync", "async"])
@pytest.mark.parametrize("end", ["exception", "timeout", "cancel"])
@pytest.mark.long
async def test_a_stream_is_closed_however_it_ends(catalog, style, end, release):
    """Closing the call closes the generator."""
    closed, started = threading.Event(), threading.Event()

    @catalog.tool(name="stream", destructive=True)
    def count() -> Iterator[int]:
        """Count."""
        try:
            while True:
                yield 1
                started.set()
                if end == "exception":
                    raise ValueError("no more")
        finally:
            closed.set()

    @catalog.tool(name="later", destructive=True)
    async def later() -> AsyncIterator[int]:
        """Count."""
        try:
            while True:
                yield 1
                started.set()
                if end == "exception":
                    raise ValueError("no more")
                await asyncio.sleep(0)
        finally:
            closed.set()

    dispatcher = Dispatcher(catalog)
    name = "stream" if style == "sync" else "later"
    # On a busy machine a thread may take a while to begin; a stream that has not begun cannot be closed.
    task = asyncio.ensure_future(dispatcher.call(name, timeout_seconds=1.5 if end == "timeout" else None))
    if end == "cancel":
        await until(started.is_set)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        assert (await task).kind == ("timeout" if end == "timeout" else "failed")
    assert closed.wait(5)
    await until(lambda: dispatcher.abandoned == 0)
    dispatcher.close()


# What a tool is given.


async def test_context_tells_the_tool_about_its_call(catalog):
    """Call, facts, attempt, deadline, session, resources, logger."""
    clock, contexts = Clock(), []

    @catalog.tool(read_only=True, timeout_seconds=5)
    async def look(n: int, context: Context) -> None:
        """Look around."""
        contexts.append(context)
        if context.attempt == 1:
            raise Transient("again")

    session = Session(id="s", principal="ada")
    dispatcher = Dispatcher(catalog, clock=clock, sleep=clock.sleep, resources={int: 1, str: PER_CALL}, retry=QUICK)
    result = await dispatcher.call("look", {"n": 1}, session=session, resources={float: 2.0}, timeout_seconds=60)
    assert result.kind == "ok"
    first, second = contexts
    assert (first.attempt, second.attempt) == (1, 2)
    assert (first.call.principal, first.session, first.facts.read_only) == ("ada", session, True)
    assert (first.deadline, first.resources) == (clock.now + 5, {int: 1, float: 2.0})
    assert (first.logger.name, first.cancelled, first.call.tool.name) == ("toolkit.tools.look", False, "look")


async def test_a_deadline_is_the_sooner_of_two(catalog):
    """The attempt's limit, or what is left of the call."""
    clock, deadlines = Clock(), []

    @catalog.tool(timeout_seconds=50)
    async def look(context: Context) -> None:
        """Look at the clock."""
        deadlines.append(context.deadline)

    dispatcher = Dispatcher(catalog, clock=clock)
    await dispatcher.call("look", timeout_seconds=7)
    await dispatcher.call("look")
    assert deadlines == [clock.now + 7, clock.now + 50]


async def test_reports_from_a_thread_arrive_on_the_loop(catalog):
    """A listener may be plain async code: it is always called in the loop's thread, in order."""
    reports, threads = [], set()

    def listen(progress):
        reports.append((progress.progress, progress.total, progress.message))
        threads.add(threading.current_thread())

    @catalog.tool
    def work(context: Context) -> int:
        """Work."""
        context.report(1, 2, "half")
        context.report(2, 2, "done")
        return 1

    async with Dispatcher(catalog, on_progress=listen) as dispatcher:
        await dispatcher.call("work")
    assert reports == [(1, 2, "half"), (2, 2, "done")]
    assert threads == {threading.current_thread()}


async def test_a_listener_that_fails_is_no_business_of_the_call(catalog, caplog):
    """Its mistake is logged."""

    @catalog.tool
    async def work(context: Context) -> int:
        """Work."""
        context.report(1)
        return 1

    result = await Dispatcher(catalog, on_progress=lambda progress: 1 / 0).call("work")
    assert result.value == 1
    assert "ZeroDivisionError" in caplog.text


async def test_inject_takes_the_nearest_resource(catalog):
    """Given with the call, then by the catalog, then on the dispatcher."""

    @catalog.tool
    async def which(name: Inject[str]) -> str:
        """Tell which."""
        return name

    provided = catalog.provided({str: "catalog"})
    assert (await Dispatcher(catalog, resources={str: "dispatcher"}).call("which")).text == "dispatcher"
    assert (await Dispatcher(provided, resources={str: "dispatcher"}).call("which")).text == "catalog"
    assert (await Dispatcher(provided).call("which", resources={str: "call"})).text == "call"


async def test_resources_are_made_for_each_attempt_and_closed_after_it(catalog):
    """Also if it fails; and not before the verdict."""
    events = []

    def connect(context: Context) -> Iterator[str]:
        events.append(f"open {context.attempt}")
        try:
            yield "connection"
        finally:
            events.append("close")

    @catalog.tool(read_only=True)
    async def use(connection: Inject[str]) -> str:
        """Use it."""
        events.append("use")
        if len(events) < 4:
            raise Transient("again")
        return connection

    result = await Dispatcher(catalog, resources={str: connect}, retry=QUICK).call("use")
    assert result.text == "connection"
    assert events == ["open 1", "use", "close", "open 2", "use", "close"]


@pytest.mark.parametrize(("when", "attempts"), [("before", 3), ("after", 1)])
async def test_a_resource_that_fails_is_not_mistaken_for_the_tool(catalog, when, attempts):
    """Before the function began nothing can have happened; after it came back, something has."""
    ran = []

    def connect() -> Iterator[str]:
        if when == "before":
            raise ConnectionResetError("lost")
        yield "connection"
        raise Transient("lost at the end")

    @catalog.tool
    async def use(connection: Inject[str]) -> str:
        """Use it."""
        ran.append(True)
        return connection

    result = await Dispatcher(catalog, resources={str: connect}, retry=QUICK).call("use")
    assert (result.kind, result.attempts, len(ran)) == ("transient", attempts, 0 if when == "before" else 1)
    assert ("may or may not" in result.text) == (when == "after")


async def test_a_resource_missing_at_the_call_is_an_internal_error(catalog):
    """Declared as given with each call, and then not given."""

    @catalog.tool
    async def use(connection: Inject[str]) -> str:
        """Use it."""
        return connection

    result = await Dispatcher(catalog, resources={str: PER_CALL}).call("use")
    assert (result.kind, "str" in result.text) == ("internal", True)


async def test_a_resource_may_not_swallow_a_failure(catalog):
    """What it hides would look like a result."""

    class Swallows:
        def __enter__(self):
            return "connection"

        def __exit__(self, *exception):
            return True

    @catalog.tool
    async def use(connection: Inject[str]) -> str:
        """Use it."""
        raise ValueError("lost")

    assert (await Dispatcher(catalog, resources={str: Swallows}).call("use")).kind == "failed"


async def test_a_tool_added_later_is_looked_at_too(catalog):
    """A missing resource is reported when the tool is added, until the dispatcher is closed."""
    dispatcher = Dispatcher(catalog)

    async def use(connection: Inject[str]) -> str:
        """Use it."""
        return connection

    with pytest.warns(ToolkitWarning, match="wants str"):
        catalog.add(use)
    dispatcher.close()
    with warnings.catch_warnings(record=True) as later_warnings:
        catalog.add(use, replace=True)
    assert (later_warnings, catalog["use"].function) == ([], use)


# Time.


@pytest.mark.parametrize(("facts", "attempts"), [({"read_only": True}, 3), ({}, 1), ({"destructive": True}, 1)])
async def test_an_async_tool_is_cancelled_and_cleans_up(catalog, facts, attempts):
    """A timeout is tried again only if that is harmless; its cleanup is awaited each time."""
    cleaned = []

    @catalog.tool(timeout_seconds=SOON, **facts)
    async def hang() -> None:
        """Hang."""
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(True)

    result = await Dispatcher(catalog, retry=QUICK).call("hang")
    assert (result.kind, result.attempts, len(cleaned)) == ("timeout", attempts, attempts)
    assert ("may or may not have happened" in result.text) == (not facts.get("read_only"))


async def test_a_cleanup_that_never_ends_is_not_awaited_for_ever(catalog, caplog):
    """The task is reported, counted, and not started again beside itself."""
    stubborn = asyncio.Event()

    @catalog.tool(timeout_seconds=SOON, idempotent=True)
    async def hang() -> str:
        """Ignore being cancelled."""
        while not stubborn.is_set():
            try:
                await stubborn.wait()
            except asyncio.CancelledError:
                continue
        return "done"

    dispatcher = Dispatcher(catalog, cleanup_seconds=SOON, retry=QUICK)
    result = await dispatcher.call("hang")
    assert (result.kind, result.attempts, dispatcher.abandoned) == ("timeout", 1, 1)
    assert "did not end" in caplog.text
    assert (await dispatcher.call("hang")).kind == "failed"
    stubborn.set()
    await until(lambda: dispatcher.abandoned == 0)
    assert (await dispatcher.call("hang")).text == "done"


async def test_a_tool_that_finishes_while_it_is_stopped_has_finished(catalog):
    """Its value is known, so it is the result."""

    @catalog.tool(timeout_seconds=SOON)
    async def close() -> str:
        """Finish at the last moment."""
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return "just in time"
        return "never"

    assert (await Dispatcher(catalog).call("close")).text == "just in time"


async def test_cancelling_a_limited_call_stops_the_tool(catalog):
    """The tool's own task is cancelled and awaited before the cancellation passes on."""
    started, cleaned = asyncio.Event(), []

    @catalog.tool(timeout_seconds=60)
    async def hang() -> None:
        """Hang."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    task = asyncio.ensure_future(Dispatcher(catalog).call("hang"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert cleaned == [True]


async def test_a_sync_tool_that_cannot_be_stopped_is_abandoned(catalog, release, caplog):
    """Reported and counted; the same call is refused while it runs, and its flag tells it to stop."""
    flags = []

    @catalog.tool(timeout_seconds=STARTED, idempotent=True, concurrency_safe=True)
    def hang(context: Context, n: int = 1) -> bool:
        """Hang."""
        release.wait(5)
        flags.append(context.cancelled)
        return True

    dispatcher = Dispatcher(catalog, retry=QUICK)
    with caplog.at_level(logging.WARNING, logger="toolkit"):
        result = await dispatcher.call("hang")
    assert (result.kind, result.attempts, dispatcher.abandoned) == ("timeout", 1, 1)
    assert "could not be stopped" in result.text
    assert "still runs" in result.retries[-1]
    assert "still runs in a thread" in caplog.text
    refused = await dispatcher.call("hang", {"n": 1})
    assert (refused.kind, refused.attempts, "still runs" in refused.text) == ("failed", 0, True)
    release.set()
    await until(lambda: dispatcher.abandoned == 0)
    assert flags == [True]
    dispatcher.close()


@pytest.mark.parametrize("safe", [False, lambda arguments: False, lambda arguments: 1 / 0])
async def test_other_unsafe_calls_wait_for_an_abandoned_one(catalog, release, safe):
    """Safe ones do not."""

    @catalog.tool(timeout_seconds=STARTED, concurrency_safe=safe)
    def hang() -> None:
        """Hang."""
        release.wait(5)

    @catalog.tool
    async def write() -> str:
        """Write."""
        return "written"

    @catalog.tool(read_only=True)
    async def read() -> str:
        """Read."""
        return "read"

    dispatcher = Dispatcher(catalog)
    assert (await dispatcher.call("hang")).kind == "timeout"
    assert (await dispatcher.call("read")).text == "read"
    limited = await dispatcher.call("write", timeout_seconds=SOON)
    assert (limited.kind, limited.attempts) == ("timeout", 0)
    waiting = asyncio.ensure_future(dispatcher.call("write"))
    for _ in range(10):
        await asyncio.sleep(0)
    assert not waiting.done()
    release.set()
    assert (await waiting).text == "written"
    dispatcher.close()


def test_an_abandoned_call_is_remembered_beyond_its_loop(catalog, release):
    """The thread outlives the loop that started it; another loop waits for it all the same."""

    @catalog.tool(timeout_seconds=STARTED)
    def hang() -> None:
        """Hang."""
        release.wait(5)

    @catalog.tool
    async def write() -> str:
        """Write."""
        release.set()
        return "written"

    dispatcher = Dispatcher(catalog)
    asyncio.run(dispatcher.call("hang"))
    assert dispatcher.abandoned == 1

    async def later() -> str:
        asyncio.get_running_loop().call_soon(release.set)
        return (await dispatcher.call("write")).text

    assert asyncio.run(later()) == "written"
    assert dispatcher.abandoned == 0
    dispatcher.close()


async def test_a_call_that_never_got_a_thread_was_never_started(catalog, release):
    """Once no abandoned thread is replaced any more, the caller learns that nothing happened, and who has them."""
    ran = []

    @catalog.tool(concurrency_safe=True)
    def hang(n: int) -> None:
        """Hang."""
        ran.append(n)
        release.wait(5)

    dispatcher = Dispatcher(catalog, max_concurrency=1)
    for n in (1, 2):
        task = asyncio.ensure_future(dispatcher.call("hang", {"n": n}))
        await until(lambda n=n: n in ran)
        task.cancel()
        await asyncio.wait({task})
    third = await dispatcher.call("hang", {"n": 3}, timeout_seconds=SOON)
    assert (third.kind, third.error.details["happened"], dispatcher.abandoned) == ("timeout", "no", 2)
    assert "all 2 threads are held by calls that cannot be stopped (`hang` 2 times)" in third.text
    assert dispatcher.abandoned_threads == 2
    release.set()
    await until(lambda: dispatcher.abandoned_threads == dispatcher.abandoned == 0)
    assert ran == [1, 2]
    dispatcher.close()


async def test_cancelling_a_sync_call_abandons_its_thread(catalog, release):
    """The cancellation passes on at once; the thread is counted until it ends."""
    started = threading.Event()

    @catalog.tool
    def hang() -> None:
        """Hang."""
        started.set()
        release.wait(5)
        raise ValueError("not reported")

    dispatcher = Dispatcher(catalog)
    task = asyncio.ensure_future(dispatcher.call("hang"))
    await until(started.is_set)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert dispatcher.abandoned == 1
    release.set()
    await until(lambda: dispatcher.abandoned == 0)
    dispatcher.close()


# Jobs, and what is kept in mind.


def test_a_job_is_called_off_or_run_but_not_both():
    """The first of the two decides."""
    ran = []
    job = CancellableJob(lambda: ran.append(True))
    assert job.cancel()
    assert job() is None
    other = CancellableJob(lambda: "done")
    assert other() == "done"
    assert not other.cancel()
    assert ran == []


def test_a_job_tells_of_its_end_also_if_it_is_over():
    """A callback that is added late is called too."""
    events = []
    job = CancellableJob(lambda: events.append("work"))
    job.call_when_over(lambda: events.append("then"))
    job()
    job.call_when_over(lambda: events.append("late"))
    assert events == ["work", "then", "late"]


async def test_waiting_for_the_abandoned_ends_with_the_last_unsafe_one():
    """Safe ones and other callers' need no waiting for; time may run out."""
    abandoned, me = AbandonedCalls(), ("s1", None)
    first = abandoned.add(StuckCall("write", me, "a", is_alone=True))
    second = abandoned.add(StuckCall("send", me, "b", is_alone=True))
    abandoned.add(StuckCall("read", me, "c", is_alone=False))
    abandoned.add(StuckCall("write", ("s1", "bob"), "d", is_alone=True))
    assert abandoned.blockers(me, "write") == ["write", "send"]
    assert not await abandoned.wait_for_blockers(me, "write", 0)
    waiting = asyncio.ensure_future(abandoned.wait_for_blockers(me, "write", None))
    await asyncio.sleep(0)
    first()
    await asyncio.sleep(0)
    assert not waiting.done()
    second()
    assert await waiting
    assert await abandoned.wait_for_blockers(me, "write", 0)
    assert abandoned.alive == 2


def test_a_stuck_call_that_changes_nothing_holds_up_its_own_tool_alone():
    """No caller sees what it reads any more, so calls of other tools cannot disturb it."""
    me = ("s1", None)
    read = StuckCall("read", me, "a", is_alone=True, is_read_only=True)
    assert read.holds_up(me, "read")
    assert not read.holds_up(me, "write")
    write = StuckCall("write", me, "a", is_alone=True)
    assert write.holds_up(me, "read")
