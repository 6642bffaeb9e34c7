"""What can be added, and which tools are in it."""

import functools
import sys
from dataclasses import dataclass, field
from types import SimpleNamespace
from unittest import mock

import pytest

from toolkit import BadArgs, Catalog, CatalogError, DefinitionError, Tool, default_catalog, tool

pytestmark = [
    pytest.mark.filterwarnings("ignore:.*has no docstring:toolkit.ToolkitWarning"),
    pytest.mark.filterwarnings("ignore:.*no parameter has a type:toolkit.ToolkitWarning"),
]


def run(spec, arguments):
    args, kwargs = spec.signature.bind(spec.check(arguments))
    return spec.function(*args, **kwargs)


# Objects with decorated methods.


class Base:
    def __init__(self, name="base"):
        self.name = name

    @tool(read_only=True)
    def find(self, text: str):
        """Find."""
        return self.name, text

    @tool
    def close(self):
        """Close."""

    def helper(self):
        """Not a tool."""

    @property
    def broken(self):
        raise AssertionError("a property was asked")

    @functools.cached_property
    def slow(self):
        raise AssertionError("a cached property was asked")


class Sub(Base):
    @tool(destructive=True)
    def find(self, text: str, *, deep: bool = False):
        """Find better."""
        return "sub", text

    def close(self):
        """Not a tool here."""

    @tool
    def extra(self):
        """More."""


def test_the_decorated_methods_of_an_object_are_added_bound():
    """They come in the order of the class, and no other attribute is read."""
    catalog = Catalog(Base("mine"))
    assert catalog.names() == ["find", "close"]
    assert catalog["find"].facts.read_only
    assert run(catalog["find"], {"text": "x"}) == ("mine", "x")


def test_a_decorated_method_is_not_registered_without_an_instance():
    assert "find" not in default_catalog
    with pytest.raises(CatalogError, match=r"Base\.find is a method of a class; add an instance"):
        Catalog(Base.find)
    with pytest.raises(CatalogError, match="add an instance"):
        Catalog(Base.find.__tool__)


def test_an_overriding_method_replaces_the_tool_of_the_base_class():
    """If it is decorated, the new tool has the same place. Otherwise there is no tool."""
    catalog = Catalog(Sub())
    assert catalog.names() == ["find", "extra"]
    assert catalog["find"].facts.destructive
    assert list(catalog["find"].schema["properties"]) == ["text", "deep"]


def test_two_objects_of_one_class_can_be_added_with_a_prefix():
    first, second = Base("one"), Base("two")
    catalog = Catalog(first, Catalog(second).prefixed("second_"))
    assert run(catalog["find"], {"text": "x"}) == ("one", "x")
    assert run(catalog["second_find"], {"text": "x"}) == ("two", "x")


def test_one_class_is_read_once():
    """All its objects share the result."""
    assert Catalog(Base())["find"].about is Catalog(Base())["find"].about


class Mixed:
    @tool
    @classmethod
    def made(cls):
        """Make."""
        return cls

    @classmethod
    @tool
    def also_made(cls):
        """Make."""
        return cls

    @tool
    @staticmethod
    def alone(a: int):
        """Do."""
        return a

    @staticmethod
    @tool
    def also_alone(a: int):
        """Do."""
        return a

    @staticmethod
    @tool
    def bare():
        """Do."""
        return "bare"

    @tool
    def odd(this, a: int):
        """Do."""
        return this, a

    @tool
    @functools.cache  # noqa: B019 -- the object lives as long as the test
    def kept(self, a: int):
        """Do."""
        return a

    @tool
    async def later(self, a: int):
        """Do."""

    class Nested:
        @staticmethod
        @tool
        def deep(a: int):
            """Do."""
            return a


def test_every_kind_of_method_is_bound():
    """The decorators may be in both orders, and `self` may have any name."""
    mixed = Mixed()
    catalog = Catalog(mixed)
    assert catalog.names() == ["made", "also_made", "alone", "also_alone", "bare", "odd", "kept", "later"]
    assert run(catalog["made"], {}) is run(catalog["also_made"], {}) is Mixed
    assert run(catalog["alone"], {"a": 1}) == run(catalog["also_alone"], {"a": 1}) == 1
    assert run(catalog["bare"], {}) == "bare"
    assert run(catalog["odd"], {"a": 1}) == (mixed, 1)
    assert run(catalog["kept"], {"a": 1}) == 1
    assert catalog["later"].signature.style == "async"
    assert Catalog(Mixed.Nested()).names() == ["deep"]


def test_static_and_class_methods_need_no_object():
    """They can be added by themselves."""
    catalog = Catalog(Mixed.made, Mixed.also_made, Mixed.alone, Mixed.also_alone, Mixed.Nested.deep)
    assert run(catalog["made"], {}) is Mixed
    assert run(catalog["also_alone"], {"a": 1}) == run(catalog["deep"], {"a": 1}) == 1


@dataclass(slots=True)
class Counter:
    counts: list[int] = field(default_factory=list)

    @tool
    def count(self, n: int):
        """Count."""
        self.counts.append(n)


def test_a_dataclass_instance_may_have_tools():
    """It need not be hashable, and need not have a dictionary."""
    counter = Counter()
    run(Catalog(counter)["count"], {"n": 3})
    assert counter.counts == [3]


class Callable:
    def __call__(self):
        """Call."""

    @tool
    def method(self):
        """Do."""


class CallableTool:
    @tool
    def __call__(self):
        """Call."""
        return "called"

    @tool
    def method(self):
        """Do."""


def test_only_the_decorated_methods_of_a_callable_object_are_tools():
    """Calling the object is a tool only if `__call__` is decorated, and it is named like the class."""
    assert Catalog(Callable()).names() == ["method"]
    catalog = Catalog(CallableTool())
    assert catalog.names() == ["callable_tool", "method"]
    assert run(catalog["callable_tool"], {}) == "called"


class Answering:
    """Answers every question, and has a tool."""

    lazy = SimpleNamespace()

    def __getattr__(self, name):
        return mock.Mock()

    @tool
    def real(self):
        """Do."""


def test_an_object_that_has_every_attribute_gives_only_its_real_tools():
    assert Catalog(Answering()).names() == ["real"]


class Proxy:
    """Like a framework's context-local object: it may not be looked at now."""

    def __getattr__(self, name):
        raise RuntimeError("outside of its context")


class WithProxy:
    request = Proxy()

    @tool
    def real(self):
        """Do."""


def test_a_proxy_beside_the_tools_is_not_disturbed():
    """An attribute that raises when it is read is passed over."""
    assert Catalog(WithProxy()).names() == ["real"]
    with pytest.raises(CatalogError, match="is not a tool"):
        Catalog(Proxy())


class Shelf:
    @tool
    def find(self):
        """Find."""

    @tool
    @classmethod
    def count(cls):
        """Count."""


class QuietShelf(Shelf):
    def find(self): ...

    def count(self): ...


def test_an_object_whose_tools_are_overridden_names_the_overrides():
    """A subclass that overrides a tool without the decorator has no tool of that name."""
    with pytest.raises(CatalogError) as caught:
        Catalog(QuietShelf())
    assert str(caught.value).endswith(
        "is not a tool: `QuietShelf.find` overrides the tool `Shelf.find`, `QuietShelf.count` overrides the tool "
        "`Shelf.count`; decorate the method of the subclass, too"
    )


# Callable things.


@pytest.mark.parametrize("double", [mock.Mock(), mock.MagicMock()])
def test_a_mock_can_be_added(double):
    """The tool accepts any arguments."""
    (mock_tool,) = Catalog(double)
    run(mock_tool, {"anything": 1})
    double.assert_called_once_with(anything=1)


def test_a_mock_of_a_function_has_its_signature():
    """So a test can use it in place of the function."""

    def send(to: str):
        """Send."""

    double = mock.create_autospec(send)
    (send_tool,) = Catalog(double)
    run(send_tool, {"to": "me"})
    double.assert_called_once_with(to="me")
    with pytest.raises(BadArgs):
        send_tool.check({"to": 5})


# Tools by their shape.


class Shaped:
    name = "shaped"
    description = "Has the shape of a tool."
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}

    def call(self, arguments):
        return self, arguments


@dataclass
class Record:
    name: str
    description: str | None
    schema: dict

    async def call(self, arguments):
        return arguments


class Methods:
    def name(self):
        return "by_methods"

    @property
    def description(self):
        return "Says it by methods."

    def schema(self):
        return {}

    call = staticmethod(lambda arguments: arguments)


def test_an_object_with_the_shape_of_a_tool_is_a_tool():
    """No subclass is needed."""
    shaped = Shaped()
    catalog = Catalog(shaped, Record("record", None, {}), Methods())
    assert catalog.names() == ["shaped", "record", "by_methods"]
    assert run(catalog["shaped"], {"a": 1}) == (shaped, {"a": 1})
    assert catalog["record"].signature.style == "async"
    assert catalog["record"].description == "Record"
    assert catalog["by_methods"].description == "Says it by methods."
    with pytest.raises(BadArgs):
        catalog["shaped"].check({"a": "x"})


def test_an_object_with_an_invalid_name_or_schema_is_refused():
    with pytest.raises(DefinitionError, match="cannot be a tool's name"):
        Catalog(Record("not a name", "Is a record.", {}))
    with pytest.raises(DefinitionError, match="has to be a dictionary"):
        Catalog(Record("record", "Is a record.", "schema"))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("read", "`catalog.load` adds a module by name"),
        (sys, "use `catalog.load`"),
        (Base, "add an instance"),
        (5, "add a function"),
        (None, "add a function"),
        ([5], "add a function"),
    ],
)
def test_a_value_that_is_not_a_tool_is_refused_with_a_hint(value, words):
    """The hint says what to do instead."""
    with pytest.raises(CatalogError, match=words):
        Catalog(value)


@pytest.mark.parametrize("gather", [list, tuple, set])
def test_a_list_of_functions_is_a_tool_for_each_function(gather):
    """It may contain lists and catalogs."""

    def double(number: int) -> int:
        """Return twice the number."""
        return 2 * number

    def halve(number: int) -> float:
        """Return half of the number."""
        return number / 2

    assert sorted(Catalog(gather([double, halve])).names()) == ["double", "halve"]
    assert sorted(Catalog([[double], Catalog(halve)]).names()) == ["double", "halve"]


# Catalogs.


def test_a_catalog_that_is_added_brings_its_aliases():
    """Aliases of a view are included."""

    def read():
        """Read."""

    source = Catalog(Tool.described(read, aliases=["cat"])).alias("less", "read")
    assert Catalog(source)["less"] is Catalog(source)["cat"] is source["read"]
    assert Catalog(source.prefixed("fs_"))["fs_less"].name == "fs_read"
