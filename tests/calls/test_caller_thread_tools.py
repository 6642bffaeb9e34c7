"""Tools with `thread="caller"` run in the thread of `call_sync`'s caller, where its transactions and sessions are."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import sqlite3
import threading
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.calls.caller_threads import dispatching, in_thread
from toolkit.catalog import Catalog
from toolkit.context import Context, Inject
from toolkit.errors import DefinitionError
from toolkit.spec import Tool


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
    """Each caller has its own session, also with several callers at once."""
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


def test_a_generator_runs_in_the_thread_of_the_caller_to_its_end(catalog):
    """It may read a cursor of a database."""
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
    """This holds also for `call_many_sync`: other tools run beside it, in their own threads."""
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
    """The values that exist are named."""
    with pytest.raises(DefinitionError, match='`thread` has to be True, False or "caller"'):
        Tool.described(len, thread=value)
