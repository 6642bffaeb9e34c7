"""`@tool` in every way it can be written; the function stays itself."""

import functools
import math
from dataclasses import dataclass

import pytest

from toolkit import Catalog, DefinitionError, DuplicateTool, Tool, default_catalog, tool


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


@pytest.mark.parametrize("way", WAYS)
def test_the_function_comes_back_as_it_is(way):
    """The same object, with its tool on it, in the catalog it was meant for."""

    def greet(name: str) -> str:
        """Greet."""
        return f"Hello {name}"

    catalog = Catalog()
    assert WAYS[way](greet, catalog) is greet
    assert greet("you") == "Hello you"
    assert greet.__tool__ is Tool.of(greet)
    assert greet.__tool__.function is greet
    assert greet.__tool__.facts.read_only is ("(..." in way or "f, ..." in way)
    assert (greet in catalog) is ("catalog" in way and "None" not in way)
    assert (greet in default_catalog) is ("catalog" not in way)


@pytest.mark.anyio
async def test_an_async_function_stays_async():
    """Awaiting it needs no machinery."""

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
def test_what_takes_no_attributes_is_known_to_the_catalog_alone(function):
    """It comes back as it is, too."""
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


def test_a_decorated_function_is_added_as_its_author_described_it():
    """Without options nothing is stated anew."""

    @tool(destructive=True, catalog=None)
    def wipe():
        """Wipe."""

    catalog = Catalog()
    tool(wipe, catalog=catalog)
    catalog.tool(wipe)
    assert catalog["wipe"] is wipe.__tool__


def test_one_function_may_be_two_tools():
    """Under two names."""

    def read(path: str):
        """Read."""

    tool(read)
    tool(read, name="look", read_only=True)
    assert default_catalog.names()[-2:] == ["read", "look"]
    assert Tool.of(read).name == "read"


def test_a_refused_function_is_left_alone():
    """Nothing is attached when the name is taken."""
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
    """Whatever catalog is named there."""
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


def test_a_function_from_outside_a_class_body_is_no_method():
    """Where it was written counts."""

    def helper(a: int):
        """Help."""

    class Service:
        run = staticmethod(tool(helper))
        again = tool(staticmethod(helper), name="again")

    assert default_catalog.names()[-1] == "helper"
    assert Tool.of(helper).name == "helper"
    assert Catalog(Service()).names() == ["again"]


def test_mistakes_show_where_they_are_made():
    """At decoration, with the function named."""
    with pytest.raises(DefinitionError, match=r"mistaken: `read_only`.*unknown option `wibble`"):

        @tool(read_only="yes", wibble=1)
        def mistaken():
            """Do."""

    with pytest.raises(DefinitionError, match="cannot be called"):
        tool("read")
