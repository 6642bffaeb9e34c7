"""Resources of a call: when the dispatcher makes them, where they live, and when it closes them."""

import asyncio
import contextlib
import sqlite3
import threading

import pytest

from tests.clocks import Clock
from toolkit import BadArgs, Catalog, Context, Facts, Inject, ToolError, Transient
from toolkit.calls.resources import build_resources
from toolkit.dispatcher import Dispatcher

from .resource_kit import Database

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")]


class Recorder:
    """Resources that write down when they come and go."""

    def __init__(self):
        self.log = []

    def sync(self, name):
        @contextlib.contextmanager
        def resource():
            self.log.append(f"{name} in")
            try:
                yield name
            except BaseException as error:
                self.log.append(f"{name} sees {type(error).__name__}")
                raise
            finally:
                self.log.append(f"{name} out")

        return resource

    def asynchronous(self, name):
        @contextlib.asynccontextmanager
        async def resource():
            with self.sync(name)():
                yield name

        return resource


class One(str):
    pass


class Two(str):
    pass


@pytest.fixture
def recorder():
    return Recorder()


def dispatcher_for(function, recorder, **options):
    catalog = Catalog()
    facts = options.pop("facts", {})
    catalog.tool(**facts)(function)
    clock = Clock()
    resources = {One: recorder.sync("one"), Two: recorder.asynchronous("two")}
    return Dispatcher(catalog, resources=resources, sleep=clock.sleep, chance=lambda: 1.0, **options)


async def test_resources_are_closed_in_reverse_order(recorder):
    """A later resource may need an earlier one."""

    async def use(first: Inject[One], second: Inject[Two]) -> str:
        recorder.log.append("run")
        return first + second

    async with dispatcher_for(use, recorder) as dispatcher:
        result = await dispatcher.call("use", {})
    assert result.value == "onetwo"
    assert recorder.log == ["one in", "two in", "run", "two out", "one out"]


@pytest.mark.parametrize("style", ["async", "sync", "generator", "async generator"])
async def test_every_style_of_tool_has_its_resources_to_the_end(recorder, style):
    """This holds also while a generator is being read."""

    async def use_async(first: Inject[One]) -> str:
        recorder.log.append("run")
        return first

    def use_sync(first: Inject[One]) -> str:
        recorder.log.append("run")
        return first

    def use_generator(first: Inject[One]):
        yield first
        recorder.log.append("run")

    async def use_async_generator(first: Inject[One]):
        yield first
        recorder.log.append("run")

    tools = {"async": use_async, "sync": use_sync, "generator": use_generator, "async generator": use_async_generator}
    async with dispatcher_for(tools[style], recorder) as dispatcher:
        result = await dispatcher.call(tools[style].__name__, {})
    assert result.unwrap() in ("one", ["one"])
    assert recorder.log == ["one in", "run", "one out"]


@pytest.mark.parametrize(
    "make", [lambda: contextlib.closing(sqlite3.connect(":memory:")), lambda: connect()], ids=["manager", "generator"]
)
async def test_a_connection_is_made_in_the_thread_that_uses_the_connection(make):
    """sqlite3 refuses to use or close a connection in another thread."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def count(words: list[str], database: Inject[sqlite3.Connection]) -> int:
        """Count words."""
        database.execute("create table word (text)")
        database.executemany("insert into word values (?)", [(word,) for word in words])
        return database.execute("select count(*) from word").fetchone()[0]

    async with Dispatcher(catalog, resources={sqlite3.Connection: make}) as dispatcher:
        result = await dispatcher.call("count", {"words": ["a", "b"]})
    assert result.unwrap() == 2


def connect():
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


async def test_async_resources_of_a_sync_tool_live_on_the_loop(recorder):
    """They are entered and closed there. Sync resources are closed before, in the thread of the tool."""
    threads = []

    def use(second: Inject[Two], first: Inject[One]) -> str:
        threads.append(threading.current_thread())
        recorder.log.append("run")
        return first + second

    async with dispatcher_for(use, recorder) as dispatcher:
        result = await dispatcher.call("use", {})
    assert result.unwrap() == "onetwo"
    assert recorder.log == ["two in", "one in", "run", "one out", "two out"]
    assert threads != [threading.main_thread()]


async def test_the_context_has_the_resource_and_not_its_factory(recorder):
    async def use(first: Inject[One], context: Context) -> bool:
        return context.resources[One] is first

    async with dispatcher_for(use, recorder) as dispatcher:
        assert (await dispatcher.call("use", {})).unwrap() is True


async def test_each_attempt_gets_a_new_resource(recorder):
    """A connection that failed is not used again."""
    failures = [Transient("busy"), Transient("busy")]

    async def use(first: Inject[One], context: Context) -> int:
        if failures:
            raise failures.pop()
        return context.attempt

    async with dispatcher_for(use, recorder) as dispatcher:
        result = await dispatcher.call("use", {})
    assert result.value == 3
    assert recorder.log == ["one in", "one sees Transient", "one out"] * 2 + ["one in", "one out"]


async def test_resources_see_the_error_and_are_closed_after_a_failure(recorder):
    async def use(first: Inject[One], second: Inject[Two]) -> str:
        raise ValueError("no")

    async with dispatcher_for(use, recorder) as dispatcher:
        result = await dispatcher.call("use", {})
    assert result.kind == "failed"
    assert recorder.log[2:] == ["two sees ValueError", "two out", "one sees ValueError", "one out"]


async def test_resources_are_closed_before_a_cancellation_propagates(recorder):
    started = asyncio.Event()

    async def use(first: Inject[One], second: Inject[Two]) -> None:
        started.set()
        await asyncio.Event().wait()

    async with dispatcher_for(use, recorder) as dispatcher:
        task = asyncio.ensure_future(dispatcher.call("use", {}))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert recorder.log[-1] == "one out"


async def test_resources_are_closed_after_a_timeout(recorder):
    """The limit is the attempt's, its resources included."""

    async def use(first: Inject[One]) -> None:
        await asyncio.Event().wait()

    async with dispatcher_for(use, recorder, facts={"timeout_seconds": 0.01}) as dispatcher:
        result = await dispatcher.call("use", {})
    assert result.kind == "timeout"
    assert recorder.log == ["one in", "one sees CancelledError", "one out"]


async def test_a_factory_that_fails_closes_the_resources_made_before(recorder):
    """The tool does not run."""
    ran = []

    async def use(first: Inject[One], other: Inject[Database]) -> None:
        ran.append(True)

    def break_down():
        raise ToolError("no database")

    catalog = Catalog()
    catalog.tool(use)
    async with Dispatcher(catalog, resources={One: recorder.sync("one"), Database: break_down}) as dispatcher:
        result = await dispatcher.call("use", {})
    assert result.kind == "failed"
    assert "no database" in result.text
    assert recorder.log[-1] == "one out"
    assert ran == []


class Swallowing:
    """Says that everything is fine."""

    def __init__(self, raising=None):
        self.raising = raising

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self.raising:
            raise self.raising
        return True


class AsyncSwallowing(Swallowing):
    __enter__ = __exit__ = None

    async def __aenter__(self):
        return self

    async def __aexit__(self, *error):
        return Swallowing.__dict__["__exit__"](self, *error)


async def attempt(manager, error):
    """Return what comes of an attempt that raises *error* while *manager* is entered."""
    async with contextlib.AsyncExitStack() as stack:
        await build_resources({"r": Database}, [{Database: lambda: manager}], Context(facts=Facts()), stack)
        if error is not None:
            raise error
        return "fine"
    return "swallowed"


@pytest.mark.parametrize("kind", [Swallowing, AsyncSwallowing])
async def test_a_resource_cannot_swallow_a_failure(kind):
    with pytest.raises(ValueError, match="no"):
        await attempt(kind(), ValueError("no"))


@pytest.mark.parametrize("kind", [Swallowing, AsyncSwallowing])
async def test_a_resource_that_fails_to_close_fails_the_attempt(kind):
    """A commit that failed is no success."""
    with pytest.raises(OSError, match="commit"):
        await attempt(kind(OSError("commit")), None)


@pytest.mark.parametrize("kind", [Swallowing, AsyncSwallowing])
async def test_the_failure_of_the_tool_is_not_hidden_by_a_failure_to_close(kind, caplog):
    """It decides about a retry, and the other one is logged."""
    with pytest.raises(ValueError, match="no"):
        await attempt(kind(OSError("rollback")), ValueError("no"))
    assert "rollback" in caplog.text


@pytest.mark.parametrize("kind", [Swallowing, AsyncSwallowing])
async def test_a_resource_may_put_a_failure_into_our_words(kind):
    """That is a translation, not another failure."""
    with pytest.raises(BadArgs, match="no such row"):
        await attempt(kind(BadArgs("no such row")), KeyError("row"))


async def test_a_resource_that_raises_the_same_error_again_causes_no_log(caplog):
    error = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        await attempt(Swallowing(error), error)
    assert caplog.text == ""
