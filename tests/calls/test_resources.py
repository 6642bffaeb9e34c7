"""`Inject[T]` parameters get what was provided: made once an attempt, and closed after it."""

import asyncio
import contextlib
import functools
import sqlite3
import threading
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import pytest

from tests.clocks import Clock
from toolkit import BadArgs, Catalog, Context, DefinitionError, Facts, Inject, Tool, ToolError, Transient
from toolkit.calls.resources import PER_CALL, build_resources, missing_resources
from toolkit.dispatcher import Dispatcher
from toolkit.results import ToolCall

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")]

T = TypeVar("T")


class Database:
    """Neither callable nor a context manager."""

    def __init__(self, name: str = "default") -> None:
        self.name = name


class Managed(Database):
    """Can be entered, sync and async, and remembers."""

    def __init__(self, name: str = "managed") -> None:
        super().__init__(name)
        self.log: list[str] = []

    def __enter__(self):
        self.log.append("in")
        return self

    def __exit__(self, *error):
        self.log.append("out")


class AsyncManaged(Database):
    def __init__(self) -> None:
        super().__init__("async managed")
        self.log: list[str] = []

    async def __aenter__(self):
        self.log.append("in")
        return self

    async def __aexit__(self, *error):
        self.log.append("out")


class Callable_(Database):
    """A value that can be called."""

    def __call__(self):
        raise AssertionError("a value is not called")


@runtime_checkable
class Askable(Protocol):
    name: str


class Unaskable(Protocol):
    name: str


async def given(kind, *sources, context=None, name="r"):
    """What one parameter of this type gets from *sources*, with everything closed again."""
    async with contextlib.AsyncExitStack() as stack:
        found = await build_resources({name: kind}, sources, context or Context(facts=Facts()), stack)
        return found.get(name)


def make():
    return Database("made")


async def make_async():
    return Database("made")


def make_generator() -> Generator[Database, None, None]:
    yield Database("made")


async def make_async_generator() -> AsyncGenerator[Database, None]:
    yield Database("made")


@contextlib.contextmanager
def make_manager():
    yield Database("made")


@contextlib.asynccontextmanager
async def make_async_manager():
    yield Database("made")


class Factory:
    def __call__(self):
        return Database("made")


class GeneratorFactory:
    def __call__(self):
        yield Database("made")


class Made(Database):
    def __init__(self):
        super().__init__("made")


@pytest.mark.parametrize(
    "resource",
    [
        make,
        make_async,
        make_generator,
        make_async_generator,
        make_manager,
        make_async_manager,
        make_manager(),
        make_async_manager(),
        Factory(),
        Factory().__call__,
        GeneratorFactory(),
        functools.partial(make_generator),
        functools.partial(Database, "made"),
        lambda: make_async(),
        lambda: make_manager(),
        lambda: make_async_manager(),
        Made,
        contextlib.nullcontext(Database("made")),
    ],
    ids=lambda resource: getattr(resource, "__name__", type(resource).__name__),
)
async def test_a_factory_of_any_kind_makes_one(resource):
    """Twice, if asked twice."""
    assert (await given(Database, {Database: resource})).name == "made"
    assert (await given(Database, {Database: resource})).name == "made"


def take_plain(context):
    return Database(context.call.name)


def take_annotated(name: str = "x", *, about: Context):
    return Database(about.call.name)


def take_named(c: "toolkit.Context"):  # noqa: F821
    return Database(c.call.name)


def take_by_position(context: Context, /):
    return Database(context.call.name)


def take_optional(context: Context | None = None):
    return Database("without" if context is None else context.call.name)


def take_optional_named(context: "Context | None" = None):
    return Database("without" if context is None else context.call.name)


def take_nothing(size: int = 5):
    return Database("without")


async def take_async(context: Context):
    yield Database(context.call.name)


def take_keyword(*, context):
    return Database(context.call.name)


class Taking(Database):
    def __init__(self, context: Context) -> None:
        super().__init__(context.call.name)


@pytest.mark.parametrize(
    ("resource", "name"),
    [
        (take_plain, "read"),
        (lambda context: Database(context.call.name), "read"),
        (take_annotated, "read"),
        (take_named, "read"),
        (take_by_position, "read"),
        (take_async, "read"),
        (take_keyword, "read"),
        (take_optional, "read"),
        (take_optional_named, "read"),
        (take_nothing, "without"),
        (Taking, "read"),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
async def test_a_factory_gets_the_context_if_it_asks(resource, name):
    """By annotation, or by taking one parameter that has none."""
    context = Context(facts=Facts(), call=ToolCall("read"))
    assert (await given(Database, {Database: resource}, context=context)).name == name


async def test_a_factory_that_wants_something_else_is_refused():
    """With what it wants, instead of a context where an address should be."""

    def connect(url: str):
        return Database(url)

    with pytest.raises(DefinitionError, match=r"Database cannot be made: its factory wants `url`"):
        await given(Database, {Database: connect})
    with pytest.raises(DefinitionError, match="wants `url`, `size`"):
        await given(Database, {Database: lambda url, size: None})


@pytest.mark.parametrize("value", [Database("v"), Managed("v"), AsyncManaged(), Callable_("v")])
async def test_a_value_is_given_as_it_is(value):
    """Also one that could be called or entered: it is what was asked for."""
    assert await given(Database, {Database: value}) is value
    assert getattr(value, "log", []) == []


@pytest.mark.parametrize("value", [None, 5, "text", {"a": 1}])
async def test_what_cannot_be_called_is_a_value(value):
    """Whatever type it was provided as."""
    assert await given(Database, {Database: value}) is value


@pytest.mark.parametrize("kind", [Askable, Unaskable, Database | None, list[int]])
async def test_protocols_and_other_hints_work_as_keys(kind):
    """Whether or not `isinstance` can be asked."""
    value = Managed("v")
    assert await given(kind, {kind: value}) is value
    assert (await given(kind, {kind: make})).name == "made"


@pytest.mark.parametrize("kind", [Managed, AsyncManaged])
async def test_what_a_factory_makes_is_entered_and_closed(kind):
    """It was made for this attempt alone."""
    made = []

    def factory():
        made.append(kind())
        return made[-1]

    async with contextlib.AsyncExitStack() as stack:
        found = await build_resources({"r": Database}, [{Database: factory}], Context(facts=Facts()), stack)
        assert found["r"] is made[0]
        assert made[0].log == ["in"]
    assert made[0].log == ["in", "out"]


async def test_an_awaitable_that_was_asked_for_is_a_value():
    """It is given, not awaited."""

    class Promise:
        def __await__(self):
            raise AssertionError("not ours to await")

    assert isinstance(await given(Promise, {Promise: lambda: Promise()}), Promise)


async def test_a_generator_that_was_asked_for_is_a_value():
    """Then its items are the tool's business."""
    found = await given(Generator, {Generator: make_generator})
    assert next(found).name == "made"


async def test_a_builtin_that_does_not_say_what_it_takes_is_called_without():
    """There is nothing to read."""
    assert await given(dict, {dict: type("Odd", (dict,), {"__signature__": 5})}) == {}


async def test_the_call_comes_before_the_catalog_and_the_dispatcher():
    """In that order."""
    one, two, three = Database("1"), Database("2"), Database("3")
    assert await given(Database, {Database: one}, {Database: two}, {Database: three}) is one
    assert await given(Database, {}, {Database: two}, {Database: three}) is two
    assert await given(Database, {}, {}, {Database: three}) is three


async def test_what_each_call_brings_is_looked_for_elsewhere():
    """`PER_CALL` is a promise, not a resource."""
    one = Database()
    assert repr(PER_CALL) == "PER_CALL"
    assert await given(Database, {Database: one}, {}, {Database: PER_CALL}) is one
    with pytest.raises(DefinitionError, match="`` wants Database, and none is provided; give `resources=`"):
        await given(Database, {}, {}, {Database: PER_CALL})


async def test_one_is_made_for_all_parameters_of_a_type():
    """Two parameters, one instance, closed once."""
    made = []

    def factory():
        made.append(Managed())
        return made[-1]

    async with contextlib.AsyncExitStack() as stack:
        found = await build_resources(
            {"a": Database, "b": Database}, [{Database: factory}], Context(facts=Facts()), stack
        )
    assert found["a"] is found["b"]
    assert made[0].log == ["in", "out"]


@dataclass(slots=True, kw_only=True, eq=False)
class OwnContext(Context):
    user: str = ""


class GenericContext(Context, Generic[T]):
    pass


@pytest.mark.parametrize(
    ("kind", "context"), [(Context, Context), (OwnContext, OwnContext), (GenericContext[int], GenericContext)]
)
async def test_a_context_is_the_context(kind, context):
    """No resource is needed for it."""
    own = context(facts=Facts())
    assert await given(kind, context=own) is own


async def test_a_context_of_the_users_is_a_resource():
    """A factory can make one of the plain one."""
    found = await given(OwnContext, {OwnContext: lambda context: OwnContext(facts=context.facts, user="me")})
    assert found.user == "me"
    with pytest.raises(DefinitionError, match="wants OwnContext"):
        await given(OwnContext)


# Through a dispatcher.


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
    """What came last may need what came first."""

    async def use(one: Inject[One], two: Inject[Two]) -> str:
        recorder.log.append("run")
        return one + two

    async with dispatcher_for(use, recorder) as dispatcher:
        result = await dispatcher.call("use", {})
    assert result.value == "onetwo"
    assert recorder.log == ["one in", "two in", "run", "two out", "one out"]


@pytest.mark.parametrize("style", ["async", "sync", "generator", "async generator"])
async def test_every_style_of_tool_has_its_resources_to_the_end(recorder, style):
    """Also while a generator is being read."""

    async def use_async(one: Inject[One]) -> str:
        recorder.log.append("run")
        return one

    def use_sync(one: Inject[One]) -> str:
        recorder.log.append("run")
        return one

    def use_generator(one: Inject[One]):
        yield one
        recorder.log.append("run")

    async def use_async_generator(one: Inject[One]):
        yield one
        recorder.log.append("run")

    tools = {"async": use_async, "sync": use_sync, "generator": use_generator, "async generator": use_async_generator}
    async with dispatcher_for(tools[style], recorder) as dispatcher:
        result = await dispatcher.call(tools[style].__name__, {})
    assert result.unwrap() in ("one", ["one"])
    assert recorder.log == ["one in", "run", "one out"]


@pytest.mark.parametrize(
    "make", [lambda: contextlib.closing(sqlite3.connect(":memory:")), lambda: connected()], ids=["manager", "generator"]
)
async def test_a_connection_is_made_in_the_thread_that_uses_it(make):
    """sqlite3 refuses a connection from another thread, to use it and to close it."""
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


def connected():
    connection = sqlite3.connect(":memory:")
    yield connection
    connection.close()


async def test_async_resources_of_a_sync_tool_live_on_the_loop(recorder):
    """They are entered and closed there; what is sync is closed before, in the tool's own thread."""
    threads = []

    def use(two: Inject[Two], one: Inject[One]) -> str:
        threads.append(threading.current_thread())
        recorder.log.append("run")
        return one + two

    async with dispatcher_for(use, recorder) as dispatcher:
        result = await dispatcher.call("use", {})
    assert result.unwrap() == "onetwo"
    assert recorder.log == ["two in", "one in", "run", "one out", "two out"]
    assert threads != [threading.main_thread()]


async def test_what_was_made_is_in_the_context(recorder):
    """Not the factory: a tool that looks it up there wants to use it."""

    async def use(one: Inject[One], context: Context) -> bool:
        return context.resources[One] is one

    async with dispatcher_for(use, recorder) as dispatcher:
        assert (await dispatcher.call("use", {})).unwrap() is True


async def test_each_attempt_has_its_own(recorder):
    """A connection that failed is not used again."""
    failures = [Transient("busy"), Transient("busy")]

    async def use(one: Inject[One], context: Context) -> int:
        if failures:
            raise failures.pop()
        return context.attempt

    async with dispatcher_for(use, recorder) as dispatcher:
        result = await dispatcher.call("use", {})
    assert result.value == 3
    assert recorder.log == ["one in", "one sees Transient", "one out"] * 2 + ["one in", "one out"]


async def test_resources_are_closed_after_a_failure(recorder):
    """And told of it."""

    async def use(one: Inject[One], two: Inject[Two]) -> str:
        raise ValueError("no")

    async with dispatcher_for(use, recorder) as dispatcher:
        result = await dispatcher.call("use", {})
    assert result.kind == "failed"
    assert recorder.log[2:] == ["two sees ValueError", "two out", "one sees ValueError", "one out"]


async def test_resources_are_closed_after_a_cancellation(recorder):
    """Before it is passed on."""
    started = asyncio.Event()

    async def use(one: Inject[One], two: Inject[Two]) -> None:
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

    async def use(one: Inject[One]) -> None:
        await asyncio.Event().wait()

    async with dispatcher_for(use, recorder, facts={"timeout_seconds": 0.01}) as dispatcher:
        result = await dispatcher.call("use", {})
    assert result.kind == "timeout"
    assert recorder.log == ["one in", "one sees CancelledError", "one out"]


async def test_a_resource_that_fails_to_come_closes_those_that_came(recorder):
    """And the tool never runs."""
    ran = []

    async def use(one: Inject[One], other: Inject[Database]) -> None:
        ran.append(True)

    def broken():
        raise ToolError("no database")

    catalog = Catalog()
    catalog.tool(use)
    async with Dispatcher(catalog, resources={One: recorder.sync("one"), Database: broken}) as dispatcher:
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


async def attempted(manager, error):
    """What comes of an attempt that raises *error* while *manager* is entered."""
    async with contextlib.AsyncExitStack() as stack:
        await build_resources({"r": Database}, [{Database: lambda: manager}], Context(facts=Facts()), stack)
        if error is not None:
            raise error
        return "fine"
    return "swallowed"


@pytest.mark.parametrize("kind", [Swallowing, AsyncSwallowing])
async def test_a_resource_cannot_swallow_a_failure(kind):
    """What failed has failed."""
    with pytest.raises(ValueError, match="no"):
        await attempted(kind(), ValueError("no"))


@pytest.mark.parametrize("kind", [Swallowing, AsyncSwallowing])
async def test_a_resource_that_fails_to_close_fails_the_attempt(kind):
    """A commit that failed is no success."""
    with pytest.raises(OSError, match="commit"):
        await attempted(kind(OSError("commit")), None)


@pytest.mark.parametrize("kind", [Swallowing, AsyncSwallowing])
async def test_the_tools_own_failure_is_not_hidden_by_a_failure_to_close(kind, caplog):
    """It says more, and decides whether to try again; the other is logged."""
    with pytest.raises(ValueError, match="no"):
        await attempted(kind(OSError("rollback")), ValueError("no"))
    assert "rollback" in caplog.text


@pytest.mark.parametrize("kind", [Swallowing, AsyncSwallowing])
async def test_a_resource_may_put_a_failure_into_our_words(kind):
    """That is a translation, not another failure."""
    with pytest.raises(BadArgs, match="no such row"):
        await attempted(kind(BadArgs("no such row")), KeyError("row"))


async def test_a_resource_that_raises_the_same_error_again_says_nothing_new(caplog):
    """Nothing is logged for it."""
    error = ValueError("no")
    with pytest.raises(ValueError, match="no"):
        await attempted(Swallowing(error), error)
    assert caplog.text == ""


# What is missing.


def wants(database: Inject[Database], context: Context, path: str) -> None: ...


def may_do_without(path: str, database: Inject[Database] = None) -> str:
    return "nothing" if database is None else database.name


def test_what_nobody_provides_is_named():
    """A context is always there."""
    assert missing_resources(Tool.of(wants), {}) == ["Database"]
    assert missing_resources(Tool.of(wants), {Database: PER_CALL}) == []
    assert missing_resources(Tool.of(wants), {Database: make}) == []


def test_what_has_a_default_may_be_missing():
    """Its author said so."""
    assert missing_resources(Tool.of(may_do_without), {}) == []


async def test_a_default_stands_in_for_what_nobody_provides():
    """A value that is provided replaces the default."""
    catalog = Catalog()
    catalog.tool(may_do_without)
    async with Dispatcher(catalog) as dispatcher:
        assert (await dispatcher.call("may_do_without", {"path": "a"})).unwrap() == "nothing"
        resources: dict[Any, Any] = {Database: Database("some")}
        assert (await dispatcher.call("may_do_without", {"path": "a"}, resources=resources)).unwrap() == "some"


def test_a_context_of_the_users_is_missed_too():
    """The dispatcher cannot make one."""

    def function(context: OwnContext) -> None: ...

    assert missing_resources(Tool.of(function), {}) == ["OwnContext"]
