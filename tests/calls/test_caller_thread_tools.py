"""
Tools with `thread="caller"`: they run in the thread of `call_sync`'s caller, where its transactions and sessions are.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import signal
import sqlite3
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from toolkit.approvals import Approvals
from toolkit.catalog import Catalog
from toolkit.context import Context, Inject
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import DefinitionError, Transient
from toolkit.hooks import Proceed
from toolkit.permissions import Permissions
from toolkit.policies.retry import RetryPolicy
from toolkit.results import ToolResult
from toolkit.spec import Tool

SOON = 0.02


@pytest.fixture
def catalog():
    """An empty catalog."""
    return Catalog()


@contextlib.contextmanager
def dispatching(catalog, **options):
    """A dispatcher, closed at the end."""
    with contextlib.closing(Dispatcher(catalog, **options)) as dispatcher:
        yield dispatcher


def in_thread(work):
    """What *work* returns in a thread of its own, or raises there."""
    with ThreadPoolExecutor(1) as threads:
        return threads.submit(work).result(30)


@pytest.fixture
def here(catalog):
    """A tool that tells in which thread it runs."""

    @catalog.tool(read_only=True, thread="caller")
    def here() -> int:
        """Tell the thread."""
        return threading.get_ident()


# Where it runs.


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("is_main", [True, False], ids=["the main thread", "another thread"])
def test_the_tool_runs_in_the_thread_of_the_caller(catalog, is_main):
    """`thread="caller"`: the tool runs in the thread of `call_sync`'s caller."""
    with dispatching(catalog) as dispatcher:

        def call():
            results = [dispatcher.call_sync("here"), *dispatcher.call_many_sync([("here", {})] * 3)]
            return [result.value for result in results], [threading.get_ident()] * 4

        values, expected = call() if is_main else in_thread(call)
        assert values == expected


def test_a_connection_of_the_caller_can_be_used_and_its_transaction_holds(catalog):
    """...so that Django's `atomic()` and thread-local sessions hold: the driver refuses other threads."""
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.execute("create table note (text)")

    @catalog.tool(thread="caller")
    def add_note(text: str) -> None:
        """Add a note."""
        connection.execute("insert into note values (?)", (text,))

    @catalog.tool
    def add_elsewhere(text: str) -> None:
        """Add a note in another thread."""
        connection.execute("insert into note values (?)", (text,))

    with contextlib.closing(connection), dispatching(catalog) as dispatcher:
        connection.execute("begin")
        assert dispatcher.call_sync("add_note", {"text": "tea"}).kind == "ok"
        assert connection.execute("select count(*) from note").fetchone() == (1,)
        connection.execute("rollback")
        assert connection.execute("select count(*) from note").fetchone() == (0,)
        assert "thread" in dispatcher.call_sync("add_elsewhere", {"text": "tea"}).text


def test_a_thread_local_session_of_the_caller_is_seen(catalog):
    """Each caller has its own, also when several call at once."""
    local, meeting = threading.local(), threading.Barrier(3, timeout=30)

    @catalog.tool(read_only=True, thread="caller")
    def user() -> str:
        """Tell who calls."""
        meeting.wait()
        return local.name

    with dispatching(catalog) as dispatcher:
        users = {}

        def call(name):
            local.name = name
            users[name] = dispatcher.call_sync("user").value

        threads = [threading.Thread(target=call, args=(name,)) for name in ("ada", "bob", "eve")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert users == {"ada": "ada", "bob": "bob", "eve": "eve"}


class Database:
    """A resource that remembers the threads in which it was opened, used and closed."""

    def __init__(self):
        self.threads = [threading.get_ident()]

    def __enter__(self):
        self.threads.append(threading.get_ident())
        return self

    def __exit__(self, *exception):
        self.threads.append(threading.get_ident())


def test_resources_are_made_and_closed_in_the_thread_of_the_caller(catalog):
    """A connection that a call injects belongs to the thread that uses it."""
    opened = []

    def open_database():
        opened.append(Database())
        return opened[-1]

    @catalog.tool(thread="caller")
    def use(database: Inject[Database], context: Context) -> int:
        """Use the database."""
        database.threads.append(threading.get_ident())
        return context.attempt

    with dispatching(catalog, resources={Database: open_database}) as dispatcher:
        assert dispatcher.call_sync("use").value == 1
    assert opened[0].threads == [threading.get_ident()] * 4


def test_a_generator_is_drained_in_the_thread_of_the_caller(catalog):
    """All of it: a cursor of a database may be behind it."""
    progress = []

    @catalog.tool(read_only=True, thread="caller")
    def rows() -> Iterator[int]:
        """Yield rows."""
        for _ in range(3):
            yield threading.get_ident()

    with dispatching(catalog, on_progress=progress.append) as dispatcher:
        assert dispatcher.call_sync("rows").value == [threading.get_ident()] * 3
    assert len(progress) == 3


def test_the_tool_has_the_context_variables_of_the_caller(catalog):
    """The application and the request of Flask are context variables; what the tool sets does not leak."""
    request = contextvars.ContextVar("request", default="none")

    @catalog.tool(read_only=True, thread="caller")
    def path() -> str:
        """Tell the path of the request."""
        path = request.get()
        request.set("changed")
        return path

    token = request.set("/tea")
    try:
        with dispatching(catalog) as dispatcher:
            assert [dispatcher.call_sync("path").value for _ in range(2)] == ["/tea", "/tea"]
    finally:
        request.reset(token)


@pytest.mark.anyio
@pytest.mark.usefixtures("here")
async def test_under_await_the_caller_is_the_thread_of_the_event_loop(catalog):
    """The code that awaits runs there, so its session is there too. As with `thread=False`, the loop waits."""
    with dispatching(catalog) as dispatcher:
        assert (await dispatcher.call("here")).value == threading.get_ident()
        assert [result.value for result in await dispatcher.call_many([("here", {})])] == [threading.get_ident()]
        assert dispatcher.call_sync("here").value == threading.get_ident()
        loop_thread = threading.get_ident()
        assert (await asyncio.to_thread(dispatcher.call_sync, "here")).value != loop_thread


@pytest.mark.anyio
async def test_under_await_resources_and_generators_stay_on_the_loop(catalog):
    """There is no other thread that could wait for them."""

    @catalog.tool(read_only=True, thread="caller")
    def rows(database: Inject[Database]) -> Iterator[int]:
        """Yield rows."""
        yield from database.threads

    with dispatching(catalog, resources={Database: Database}) as dispatcher:
        assert set((await dispatcher.call("rows")).value) == {threading.get_ident()}


@pytest.mark.usefixtures("here")
@pytest.mark.parametrize("style", ["async", "sync", "caller"])
def test_a_tool_that_calls_another(catalog, style):
    """An async tool passes its caller on; a sync tool that uses `call_sync` is the caller itself."""

    @catalog.tool(name="async", read_only=True)
    async def outer_async() -> list[int]:
        """Await another tool."""
        return [threading.get_ident(), (await dispatcher.call("here")).value]

    def outer() -> list[int]:
        """Call another tool."""
        return [threading.get_ident(), dispatcher.call_sync("here").value]

    catalog.tool(name="sync", read_only=True)(outer)
    catalog.tool(name="caller", read_only=True, thread="caller")(outer)
    with dispatching(catalog) as dispatcher:
        own, other = dispatcher.call_sync(style).value
    assert (own == threading.get_ident()) is (style == "caller")
    assert other == (own if style == "sync" else threading.get_ident())


@settings(max_examples=10, deadline=None)
@given(st.lists(st.sampled_from(["caller", "pool", "async"]), max_size=8))
def test_a_batch_keeps_its_order_and_the_caller_runs_one_tool_at_a_time(kinds):
    """Also for `call_many_sync`: other tools run beside it, in their own threads."""
    catalog, running = Catalog(), []

    @catalog.tool(read_only=True, thread="caller")
    def caller(n: int) -> list[int]:
        """Run in the caller's thread."""
        running.append(n)
        alone = len(running) == 1
        running.remove(n)
        return [n, int(alone and threading.get_ident() == thread)]

    @catalog.tool(read_only=True)
    def pool(n: int) -> list[int]:
        """Run in another thread."""
        return [n, int(threading.get_ident() != thread)]

    @catalog.tool(read_only=True, name="async")
    async def loop(n: int) -> list[int]:
        """Run on the loop."""
        return [n, int(threading.get_ident() != thread)]

    thread = threading.get_ident()
    with dispatching(catalog) as dispatcher:
        results = dispatcher.call_many_sync([(kind, {"n": n}) for n, kind in enumerate(kinds)])
    assert [result.value for result in results] == [[n, 1] for n in range(len(kinds))]


# What else happens to a call.


def test_hooks_run_where_they_always_run(catalog, here):
    """Before, around and after the tool: on the loop, and not in the thread of the caller."""
    threads = []

    class Watch:
        def before(self, call):
            threads.append(threading.get_ident())
            return Proceed()

        async def around(self, call, run):
            threads.append(threading.get_ident())
            return await run()

        def after(self, call, result):
            threads.append(threading.get_ident())
            return result

    with dispatching(catalog, hooks=[Watch()]) as dispatcher:
        assert dispatcher.call_sync("here").value == threading.get_ident()
    assert len(threads) == 3
    assert threading.get_ident() not in threads


def test_every_attempt_runs_in_the_thread_of_the_caller(catalog):
    """Retries too; the caller's thread is free between them."""
    threads = []

    @catalog.tool(idempotent=True, thread="caller")
    def flaky() -> str:
        """Fail twice."""
        threads.append(threading.get_ident())
        if len(threads) < 3:
            raise Transient("busy")
        return "done"

    with dispatching(catalog, retry=RetryPolicy(attempts=3, wait_initial=0)) as dispatcher:
        result = dispatcher.call_sync("flaky")
    assert (result.text, result.attempts, threads) == ("done", 3, [threading.get_ident()] * 3)


@pytest.mark.parametrize("limit", ["tool", "call"])
@pytest.mark.parametrize("ending", ["value", "error", "generator"])
def test_a_time_limit_cannot_free_the_caller(limit, ending):
    """
    The caller waits for the end of the tool, which can see that its time is over. A value that comes late counts.

    An error that comes late, or a stream that was cut, is a timeout.
    """

    began = []

    def slow(context: Context) -> str:
        """Take too long."""
        began.append(True)
        assert context.stop.wait(30)
        if ending == "error":
            raise ValueError("too late")
        return "late"

    def slow_rows(context: Context) -> Iterator[int]:
        """Yield for too long."""
        began.append(True)
        yield 1
        assert context.stop.wait(30)
        yield 2

    # A busy machine may not start the tool within a short limit, and then it has a longer one.
    for seconds in (SOON, 10 * SOON, 100 * SOON):
        catalog = Catalog()
        function = slow_rows if ending == "generator" else slow
        catalog.tool(name="slow", thread="caller", timeout_seconds=seconds if limit == "tool" else None)(function)
        with dispatching(catalog) as dispatcher:
            result = dispatcher.call_sync("slow", timeout_seconds=seconds if limit == "call" else None)
            assert dispatcher.abandoned == 0
        if began:
            break
    assert result.kind == ("ok" if ending == "value" else "timeout")
    assert result.text == "late" if ending == "value" else "took longer than " in result.text
    assert "could not be stopped" not in result.text


def test_a_tool_that_gets_no_turn_within_its_limit_is_not_started(catalog):
    """The result names the tool that holds the thread."""
    entered, release, started = threading.Event(), threading.Event(), []

    @catalog.tool(concurrency_safe=True, thread="caller")
    def hold() -> None:
        """Hold the thread."""
        entered.set()
        assert release.wait(30)

    @catalog.tool(concurrency_safe=True, thread="caller", timeout_seconds=SOON)
    def late() -> None:
        """Come too late."""
        started.append(1)

    class Release:
        """Lets the first tool go on when the second has its result."""

        def after(self, call, result):
            if call.name == "late":
                release.set()
            return result

    with dispatching(catalog, hooks=[Release()], retry=RetryPolicy(attempts=1)) as dispatcher:
        first, second = dispatcher.call_many_sync([("hold", {}), ("late", {})])
    assert (first.kind, second.kind, started) == ("ok", "timeout", [])
    assert "could not be started within 0.02 s: the thread of the caller is held by `hold`" in second.text


def test_errors_of_the_tool_are_results(catalog):
    """`SystemExit` does not end the program, though the tool runs in the program's own thread."""

    @catalog.tool(thread="caller")
    def leave() -> None:
        """Leave."""
        raise SystemExit(3)

    @catalog.tool(thread="caller")
    def stop() -> None:
        """Stop."""
        raise StopIteration

    with dispatching(catalog) as dispatcher:
        assert [dispatcher.call_sync(name).kind for name in ("leave", "stop")] == ["failed", "failed"]


def test_bugs_are_raised_with_the_frames_of_the_tool(catalog):
    """With `raise_bugs`, as from a plain function."""

    @catalog.tool(thread="caller")
    def broken() -> None:
        """Break."""
        raise ZeroDivisionError

    with dispatching(catalog, raise_bugs=True) as dispatcher, pytest.raises(ZeroDivisionError) as raised:
        dispatcher.call_sync("broken")
    assert any(entry.name == "broken" for entry in raised.traceback)


def test_ctrl_c_in_the_tool_passes_on_after_the_other_calls_were_cancelled(catalog):
    """It interrupts the tool itself, as it would interrupt any function; the dispatcher works afterwards."""
    cleaned, ready = [], threading.Event()

    @catalog.tool(read_only=True, thread="caller")
    def interrupted() -> None:
        """Be interrupted."""
        assert ready.wait(30)
        signal.raise_signal(signal.SIGINT)

    @catalog.tool(read_only=True)
    async def beside() -> None:
        """Wait beside it."""
        ready.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    @catalog.tool(read_only=True, thread="caller")
    def never() -> None:
        """Be called off."""
        cleaned.append(False)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with dispatching(catalog) as dispatcher:
            with pytest.raises(KeyboardInterrupt):
                dispatcher.call_many_sync([("interrupted", {}), ("beside", {}), ("never", {})])
            assert (cleaned, dispatcher.abandoned) == ([True], 0)
            assert dispatcher.call_sync("never").kind == "ok"
    finally:
        signal.signal(signal.SIGINT, handler)


def test_an_interrupt_that_a_tool_raises_in_another_thread_is_a_result(catalog):
    """Ctrl-C arrives in the main thread alone."""

    @catalog.tool(thread="caller")
    def interrupt() -> None:
        """Interrupt."""
        raise KeyboardInterrupt

    with dispatching(catalog) as dispatcher:
        assert in_thread(lambda: dispatcher.call_sync("interrupt")).kind == "failed"


def test_closing_the_dispatcher_frees_the_caller_after_the_tool(catalog):
    """The tool cannot be stopped, so the caller hears of the close when its thread is free."""
    entered, release = threading.Event(), threading.Event()

    @catalog.tool(thread="caller")
    def hold() -> None:
        """Hold the thread."""
        entered.set()
        assert release.wait(30)

    dispatcher = Dispatcher(catalog, cleanup_seconds=SOON)

    def close():
        assert entered.wait(30)
        dispatcher.close()
        release.set()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(RuntimeError, match="the dispatcher is closed"):
        dispatcher.call_sync("hold")
    closing.join(30)


@pytest.mark.usefixtures("here")
def test_a_call_that_outlives_its_caller_is_refused(catalog):
    """A task that goes on after `call_sync` has returned has no thread to run the tool in."""
    tasks, goes_on = [], asyncio.Event()

    @catalog.tool
    async def start() -> None:
        """Start a call and leave it."""

        async def later() -> ToolResult:
            await goes_on.wait()
            return await dispatcher.call("here")

        tasks.append(asyncio.create_task(later()))

    async def finish() -> ToolResult:
        goes_on.set()
        return await tasks[0]

    with dispatching(catalog) as dispatcher:
        dispatcher.call_sync("start")
        result = dispatcher.wait_for(finish)
    assert (result.kind, "that caller no longer waits" in result.text) == ("failed", True)


# Approvals.


@pytest.mark.usefixtures("here")
def test_an_approved_call_runs_in_the_thread_of_resume_sync(catalog):
    """The first caller has its answer, that the call waits, and may be gone."""
    with dispatching(catalog, permissions=Permissions("default", ["ask here"])) as dispatcher:
        waiting = in_thread(lambda: dispatcher.call_sync("here"))
        assert waiting.kind == "waiting"
        assert dispatcher.resume_sync(waiting.request.id, Decision.approve()).value == threading.get_ident()


@pytest.mark.usefixtures("here")
def test_a_call_that_is_approved_while_it_waits_runs_in_the_thread_of_its_caller(catalog):
    """The asker has a thread of its own, and the caller's thread waits for it."""
    threads = []

    class Asker:
        blocking = True

        def ask(self, request):
            threads.append(threading.get_ident())
            return Decision.approve()

    permissions, approvals = Permissions("default", ["ask here"]), Approvals(ask=Asker())
    with dispatching(catalog, permissions=permissions, approvals=approvals) as dispatcher:
        assert dispatcher.call_sync("here").value == threading.get_ident()
    assert threads != [threading.get_ident()]


# The option.


async def handle(arguments: dict) -> None:
    """Handle a call."""


@pytest.mark.parametrize(
    "define",
    [
        lambda: Tool.described(handle, thread="caller"),
        lambda: Tool.described(staticmethod(handle), thread="caller"),
        lambda: Tool.from_schema("handle", "Handle a call.", {"type": "object"}, handle, thread="caller"),
    ],
    ids=["function", "static method", "handler"],
)
def test_an_async_function_cannot_run_in_the_thread_of_the_caller(define):
    """It is refused at decoration, with the remedy."""
    with pytest.raises(DefinitionError, match="write the function without `async`"):
        define()


@pytest.mark.parametrize("value", ["callers", "main", 1, ""])
def test_another_value_is_refused(value):
    """And the values that exist are named."""
    with pytest.raises(DefinitionError, match='`thread` has to be True, False or "caller"'):
        Tool.described(len, thread=value)
