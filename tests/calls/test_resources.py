"""`Inject[T]` parameters get what was provided: made once an attempt, and closed after it."""

import contextlib
import functools
from collections.abc import AsyncGenerator, Generator
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

import pytest

from toolkit import Catalog, Context, DefinitionError, Facts, Inject, Tool
from toolkit.calls.resources import PER_CALL, build_resources, missing_resources
from toolkit.dispatcher import Dispatcher
from toolkit.results import ToolCall

from .resource_kit import Database

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")]

T = TypeVar("T")


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


async def build_resource(kind, *sources, context=None, name="r"):
    """Return what one parameter of this type gets from *sources*, with everything closed again."""
    async with contextlib.AsyncExitStack() as stack:
        resources = await build_resources({name: kind}, sources, context or Context(facts=Facts()), stack)
        return resources.get(name)


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
async def test_a_factory_of_any_kind_makes_a_resource(resource):
    assert (await build_resource(Database, {Database: resource})).name == "made"
    assert (await build_resource(Database, {Database: resource})).name == "made"


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
async def test_a_factory_can_get_the_context(resource, name):
    """It asks by an annotation, or by having one parameter without an annotation."""
    context = Context(facts=Facts(), call=ToolCall("read"))
    assert (await build_resource(Database, {Database: resource}, context=context)).name == name


async def test_a_factory_with_another_parameter_is_refused():
    """The error names what the factory wants."""

    def connect(url: str):
        return Database(url)

    with pytest.raises(DefinitionError, match=r"Database cannot be made: its factory wants `url`"):
        await build_resource(Database, {Database: connect})
    with pytest.raises(DefinitionError, match="wants `url`, `size`"):
        await build_resource(Database, {Database: lambda url, size: None})


@pytest.mark.parametrize("value", [Database("v"), Managed("v"), AsyncManaged(), Callable_("v")])
async def test_a_resource_that_is_a_value_is_passed_unchanged(value):
    """This holds even if the value could be called or entered."""
    assert await build_resource(Database, {Database: value}) is value
    assert getattr(value, "log", []) == []


@pytest.mark.parametrize("value", [None, 5, "text", {"a": 1}])
async def test_a_resource_that_is_not_callable_is_a_value(value):
    """The type under which it was provided does not matter."""
    assert await build_resource(Database, {Database: value}) is value


@pytest.mark.parametrize("kind", [Askable, Unaskable, Database | None, list[int]])
async def test_protocols_and_other_hints_work_as_keys(kind):
    """Whether or not `isinstance` can be asked."""
    value = Managed("v")
    assert await build_resource(kind, {kind: value}) is value
    assert (await build_resource(kind, {kind: make})).name == "made"


@pytest.mark.parametrize("kind", [Managed, AsyncManaged])
async def test_a_context_manager_from_a_factory_is_entered_and_closed(kind):
    """It serves only this attempt."""
    resources = []

    def factory():
        resources.append(kind())
        return resources[-1]

    async with contextlib.AsyncExitStack() as stack:
        built = await build_resources({"r": Database}, [{Database: factory}], Context(facts=Facts()), stack)
        assert built["r"] is resources[0]
        assert resources[0].log == ["in"]
    assert resources[0].log == ["in", "out"]


async def test_an_awaitable_of_the_wanted_type_is_not_awaited():
    class Promise:
        def __await__(self):
            raise AssertionError("not ours to await")

    assert isinstance(await build_resource(Promise, {Promise: lambda: Promise()}), Promise)


async def test_a_generator_of_the_wanted_type_is_not_read():
    resource = await build_resource(Generator, {Generator: make_generator})
    assert next(resource).name == "made"


async def test_a_factory_without_a_readable_signature_is_called_without_arguments():
    assert await build_resource(dict, {dict: type("Odd", (dict,), {"__signature__": 5})}) == {}


async def test_resources_of_the_call_win_over_those_of_the_catalog_and_the_dispatcher():
    """Resources of the catalog win over those of the dispatcher."""
    first, second, third = Database("1"), Database("2"), Database("3")
    assert await build_resource(Database, {Database: first}, {Database: second}, {Database: third}) is first
    assert await build_resource(Database, {}, {Database: second}, {Database: third}) is second
    assert await build_resource(Database, {}, {}, {Database: third}) is third


async def test_a_resource_marked_per_call_is_taken_from_the_call():
    """`PER_CALL` is a promise, not a resource."""
    database = Database()
    assert repr(PER_CALL) == "PER_CALL"
    assert await build_resource(Database, {Database: database}, {}, {Database: PER_CALL}) is database
    with pytest.raises(DefinitionError, match="`` wants Database, and none is provided; give `resources=`"):
        await build_resource(Database, {}, {}, {Database: PER_CALL})


async def test_one_is_made_for_all_parameters_of_a_type():
    """Two parameters, one instance, closed once."""
    resources = []

    def factory():
        resources.append(Managed())
        return resources[-1]

    async with contextlib.AsyncExitStack() as stack:
        built = await build_resources(
            {"a": Database, "b": Database}, [{Database: factory}], Context(facts=Facts()), stack
        )
    assert built["a"] is built["b"]
    assert resources[0].log == ["in", "out"]


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
    assert await build_resource(kind, context=own) is own


async def test_a_context_of_the_users_is_a_resource():
    """A factory can make one of the plain one."""
    resource = await build_resource(
        OwnContext, {OwnContext: lambda context: OwnContext(facts=context.facts, user="me")}
    )
    assert resource.user == "me"
    with pytest.raises(DefinitionError, match="wants OwnContext"):
        await build_resource(OwnContext)


# What is missing.


def wants(database: Inject[Database], context: Context, path: str) -> None: ...


def may_do_without(path: str, database: Inject[Database] = None) -> str:
    return "nothing" if database is None else database.name


def test_a_missing_resource_is_named():
    assert missing_resources(Tool.of(wants), {}) == ["Database"]
    assert missing_resources(Tool.of(wants), {Database: PER_CALL}) == []
    assert missing_resources(Tool.of(wants), {Database: make}) == []


def test_a_resource_with_a_default_may_be_missing():
    assert missing_resources(Tool.of(may_do_without), {}) == []


async def test_default_stands_in_for_a_missing_resource():
    """A value that is provided replaces the default."""
    catalog = Catalog()
    catalog.tool(may_do_without)
    async with Dispatcher(catalog) as dispatcher:
        assert (await dispatcher.call("may_do_without", {"path": "a"})).unwrap() == "nothing"
        resources: dict[Any, Any] = {Database: Database("some")}
        assert (await dispatcher.call("may_do_without", {"path": "a"}, resources=resources)).unwrap() == "some"


def test_a_context_class_of_the_user_has_to_be_provided():
    def function(context: OwnContext) -> None: ...

    assert missing_resources(Tool.of(function), {}) == ["OwnContext"]
