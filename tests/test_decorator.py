"""`@tool` in every way it can be written; the function stays itself."""

import functools
import math
import textwrap
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import pytest

from toolkit import (
    Catalog,
    CatalogError,
    DefinitionError,
    Dispatcher,
    DuplicateTool,
    Tool,
    default_catalog,
    tool,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*no parameter has a type:toolkit.ToolkitWarning")


@pytest.fixture(autouse=True)
def clean_default_catalog():
    """What a test registers is gone after it."""
    with default_catalog.isolated():
        yield


WAYS = {
    "@tool": lambda function, catalog: tool(function),
    "@tool()": lambda function, catalog: tool()(function),
    "@tool(...)": lambda function, catalog: tool(read_only=True)(function),
    "tool(f, ...)": lambda function, catalog: tool(function, read_only=True),
    "@tool(catalog=...)": lambda function, catalog: tool(catalog=catalog)(function),
    "tool(f, catalog=...)": lambda function, catalog: tool(function, catalog=catalog),
    "@catalog.tool": lambda function, catalog: catalog.tool(function),
    "@catalog.tool()": lambda function, catalog: catalog.tool()(function),
    "@catalog.tool(...)": lambda function, catalog: catalog.tool(read_only=True)(function),
    "catalog=None": lambda function, catalog: tool(function, catalog=None),
}


def build_greet():
    def greet(name: str) -> str:
        """Greet."""
        return f"Hello {name}"

    return greet


@pytest.mark.parametrize("way", WAYS)
def test_the_decorator_returns_the_function_itself(way):
    """The function has its tool, and the tool is in the right catalog."""
    catalog = Catalog()
    functions = [build_greet()]  # no name stands for it yet, as for a function below its decorator
    greet = WAYS[way](functions[0], catalog)
    assert greet is functions[0]
    assert greet("you") == "Hello you"
    assert greet.__tool__ is Tool.of(greet)
    assert greet.__tool__.function is greet
    assert greet.__tool__.facts.read_only is ("(..." in way or "f, ..." in way)
    assert (greet in catalog) is ("catalog" in way and "None" not in way)
    assert (greet in default_catalog) is ("catalog" not in way)


@pytest.mark.anyio
async def test_an_async_function_stays_async():
    @tool
    async def greet(name: str) -> str:
        """Greet."""
        return f"Hello {name}"

    assert await greet("you") == "Hello you"


def test_a_wrappers_copy_of_a_tool_does_not_count():
    """`functools.wraps` copies attributes; the wrapper is another function."""

    @tool(destructive=True, catalog=None)
    def wipe():
        """Wipe."""

    @functools.wraps(wipe)
    def wrapper():
        return wipe()

    assert wrapper.__tool__.function is wipe
    assert not Tool.of(wrapper).facts.destructive
    tool(wrapper, read_only=True, catalog=None)
    assert Tool.of(wrapper).function is wrapper
    assert Tool.of(wipe).facts.destructive


# Options given in one catalog.


def log_calls(function):
    def wrapper():
        return function()

    return wrapper


def count_words(text: str) -> int:
    """Count the words."""
    return len(text.split())


class Words:
    @staticmethod
    def count(text: str) -> int:
        """Count the words."""
        return len(text.split())

    @classmethod
    def sort(cls, text: str) -> list[str]:
        """Sort the words."""
        return sorted(text.split())

    def keep(self, text: str) -> str:
        """Keep the words."""
        return text


class Callable:
    def __call__(self, text: str) -> str:
        """Do."""
        return text


def build_existing():
    closure, here = build_greet(), functools.wraps(count_words)(lambda text: count_words(text))

    class Local:
        @staticmethod
        def count(text: str) -> int:
            """Count the words."""
            return len(text.split())

    return {
        "of another module": textwrap.shorten,
        "of this module": count_words,
        "a closure": closure,
        "a wrapper": here,
        "a static method": Words.count,
        "a class method": Words.sort,
        "a method": Words().keep,
        "a static method of a local class": Local.count,
        "a partial": functools.partial(count_words, "a b"),
        "an object": Callable(),
        "a builtin": math.sqrt,
    }


GIVING = {
    "catalog.tool": lambda function, catalog, **options: catalog.tool(**options)(function),
    "tool(f, catalog=)": lambda function, catalog, **options: tool(function, catalog=catalog, **options),
    "tool(catalog=)(f)": lambda function, catalog, **options: tool(catalog=catalog, **options)(function),
}


@pytest.mark.parametrize("give", GIVING.values(), ids=GIVING)
@pytest.mark.parametrize("kind", build_existing())
def test_options_given_in_one_catalog_hold_there_only(kind, give):
    """This works for an existing function of any author; the function itself is not changed."""
    existing = build_existing()
    function = existing[kind]
    first, second, third = Catalog(), Catalog(), Catalog()
    give(function, first, read_only=True, name="mine", description="Mine.")
    second.tool(function)
    third.add(function)
    assert (first["mine"].facts.read_only, first["mine"].description) == (True, "Mine.")
    for other in [*second, *third, Tool.of(function)]:
        assert not other.facts.read_only
        assert other.name != "mine"
        assert other.description != "Mine."


def test_decorating_a_function_of_another_module_leaves_no_trace():
    """Other modules use the same function."""
    Catalog().tool(read_only=True)(textwrap.indent)
    assert not hasattr(textwrap.indent, "__tool__")


def test_adding_a_function_again_keeps_the_options_of_this_catalog():
    """Another catalog is not asked."""
    catalog = Catalog()
    catalog.tool(read_only=True)(count_words)
    catalog.add(count_words)
    catalog.tool(count_words)
    assert catalog["count_words"].facts.read_only
    with pytest.raises(DuplicateTool):
        catalog.tool(destructive=True)(count_words)


def test_options_on_the_definition_belong_to_the_function():
    """They go with it into every catalog."""
    first = Catalog()

    def decorate_like_a_library(**options):
        def inner(function):
            return first.tool(**options)(function)

        return inner

    @first.tool(destructive=True)
    def one():
        """Do."""

    @tool(destructive=True)
    def two():
        """Do."""

    @decorate_like_a_library(destructive=True)
    def three():
        """Do."""

    @first.tool(destructive=True)
    @functools.cache
    def four():
        """Do."""

    @first.tool(destructive=True, name="five", description="Do.")
    @log_calls
    def five():
        """Do."""

    second = Catalog(one, two, three, four, five)
    assert second.names() == ["one", "two", "three", "four", "five"]
    assert all(member.facts.destructive for member in second)


def test_options_without_a_catalog_belong_to_the_function():
    def look():
        """Look."""

    tool(look, catalog=None, read_only=True)
    assert Catalog(look)["look"].facts.read_only


# Static methods, class methods, context managers.


def test_a_staticmethod_object_is_added_like_its_function():
    """Outside of a class body it is a function like any other."""
    catalog = Catalog()
    method = staticmethod(count_words)
    assert tool(method, catalog=catalog, read_only=True) is method
    assert catalog["count_words"].facts.read_only
    assert Dispatcher(catalog).call_sync("count_words", {"text": "a b"}).value == 2
    assert Catalog(staticmethod(count_words)).names() == ["count_words"]


def test_a_classmethod_object_is_refused_with_the_remedy():
    """It cannot be called without its class."""
    catalog = Catalog()
    with pytest.raises(DefinitionError, match="a classmethod needs its class; decorate it in the class body"):
        tool(vars(Words)["sort"], catalog=catalog)
    with pytest.raises(CatalogError, match="add the method as the class or an instance provides it"):
        catalog.add(vars(Words)["sort"])
    tool(Words.sort, catalog=catalog)
    assert Dispatcher(catalog).call_sync("sort", {"text": "b a"}).value == ["a", "b"]


@contextmanager
def opened(path: str):
    """Open a file."""
    yield path


@asynccontextmanager
async def connected(host: str):
    """Connect."""
    yield host


class Managers:
    @contextmanager
    def opened(self, path: str):
        """Open a file."""
        yield path


@pytest.mark.parametrize(
    "function",
    [opened, connected, functools.partial(opened, "a"), Managers().opened],
    ids=["sync", "async", "partial", "method"],
)
@pytest.mark.parametrize("give", [tool(catalog=Catalog()), Catalog, lambda f: Tool.from_schema("x", "X.", {}, f)])
def test_a_context_manager_function_is_refused_with_the_remedy(function, give):
    """Its result is a context manager, which no model can use."""
    words = r"(opened|connected): .* returns a context manager, .*: use it in a function of your own"
    with pytest.raises(DefinitionError, match=words):
        give(function)


def test_a_function_decorated_by_a_context_manager_can_be_a_tool():
    @opened("a")
    def read(path: str) -> str:
        """Read."""
        return path

    assert Dispatcher(Catalog(read)).call_sync("read", {"path": "b"}).value == "b"


class Frozen:
    __slots__ = ()

    def __call__(self):
        """Do."""


@dataclass(frozen=True)
class FrozenRecord:
    def __call__(self):
        """Do."""


class Refusing:
    def __call__(self):
        """Do."""

    def __setattr__(self, name, value):
        raise ValueError("nothing may be set")


@pytest.mark.parametrize("function", [math.sqrt, [].append, Frozen(), FrozenRecord(), Refusing()])
def test_a_function_that_takes_no_attributes_is_known_only_to_the_catalog(function):
    """The decorator returns the same object."""
    catalog = Catalog()
    assert tool(function, catalog=catalog, read_only=True) is function
    assert catalog[catalog.names()[0]].facts.read_only
    assert function in catalog
    assert not hasattr(function, "__tool__")


def test_a_decorated_function_keeps_the_facts_of_its_author():
    """Someone else may state others elsewhere, but not here."""

    @tool(destructive=True)
    def wipe():
        """Wipe."""

    catalog = Catalog()
    tool(wipe, read_only=True, catalog=catalog)
    assert catalog["wipe"].facts.read_only
    assert Tool.of(wipe).facts.destructive
    with pytest.raises(DuplicateTool):
        tool(wipe, read_only=True)
    assert default_catalog["wipe"].facts.destructive


def test_a_decorated_function_is_added_with_its_own_options():
    """Options are replaced only by new ones."""

    @tool(destructive=True, catalog=None)
    def wipe():
        """Wipe."""

    catalog = Catalog()
    tool(wipe, catalog=catalog)
    catalog.tool(wipe)
    assert catalog["wipe"] is wipe.__tool__


def test_one_function_may_be_two_tools_with_two_names():
    def read(path: str):
        """Read."""

    tool(read)
    tool(read, name="look", read_only=True)
    assert default_catalog.names()[-2:] == ["read", "look"]
    assert Tool.of(read).name == "read"


def test_a_refused_function_is_not_changed():
    """No tool is attached to it."""
    catalog = Catalog()

    @catalog.tool
    def taken():
        """Take."""

    def other():
        """Take."""

    with pytest.raises(DuplicateTool):
        catalog.tool(name="taken")(other)
    assert not hasattr(other, "__tool__")


def test_a_class_body_only_describes():
    catalog = Catalog()

    class Service:
        @tool
        def one(self):
            """Do."""

        @catalog.tool(read_only=True)
        def two(self):
            """Do."""

    assert not catalog
    assert "one" not in default_catalog
    assert Service.one.__tool__.is_method
    catalog.add(Service())
    assert catalog.names() == ["one", "two"]
    assert catalog["two"].facts.read_only


def test_a_function_from_outside_a_class_body_is_not_a_method():
    def helper(a: int):
        """Help."""

    class Service:
        run = staticmethod(tool(helper))
        again = tool(staticmethod(helper), name="again")

    assert default_catalog.names()[-1] == "helper"
    assert Tool.of(helper).name == "helper"
    assert Catalog(Service()).names() == ["again"]


def test_mistakes_are_reported_at_decoration():
    """The error names the function."""
    with pytest.raises(DefinitionError, match=r"(?s)mistaken: `read_only`.*unknown option `wibble`"):

        @tool(read_only="yes", wibble=1)
        def mistaken():
            """Do."""

    with pytest.raises(DefinitionError, match="cannot be called"):
        tool("read")
