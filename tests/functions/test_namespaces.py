"""Annotations mean what they meant where they were written."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

import pytest

from toolkit import Catalog, DefinitionError, Tool, tool
from toolkit.functions.namespaces import Scope, is_in_class_body

if TYPE_CHECKING:
    from decimal import Decimal as Unimported

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")

Number = int
date = "not a type"


def properties(function):
    return Tool.of(function).schema["properties"]


def test_string_annotations_are_looked_up_in_the_module():
    """`from __future__ import annotations` makes every annotation a string."""

    def take(a: Number, b: list[Number] | None = None): ...

    assert properties(take)["a"] == {"type": "integer"}


def test_names_of_the_enclosing_function_are_found():
    """No closure keeps them."""

    @dataclass
    class Local:
        x: int

    def take(a: Local) -> Local: ...

    assert list(properties(take)["a"]["properties"]) == ["x"]
    assert Tool.of(take).output_schema is not None


def make_tool():
    Hidden = float

    @tool(catalog=None)
    def take(a: Hidden, b: Later):
        """Take."""

    Later = bool  # noqa: F841 -- named by an annotation
    return take


def test_names_defined_later_in_an_enclosing_function_are_found():
    """The tool waits for them, and the function may have ended since."""
    take = make_tool()
    assert properties(take) == {"a": {"type": "number"}, "b": {"type": "boolean"}}


def test_a_name_in_the_closure_of_a_function_is_found_later():
    def make():
        Kept = int

        def take(a: Kept):
            return Kept(a)

        return take

    assert properties(make()) == {"a": {"type": "integer"}}


def test_a_name_that_only_the_ended_function_knew_is_a_clear_error():
    """The name cannot be found any more, and the message says which one it is."""

    def make():
        Gone = int

        def take(a: Gone): ...

        return take

    waiting = Tool.of(make())
    with pytest.raises(DefinitionError, match=r"take: an annotation names `Gone`, which is not defined"):
        _ = waiting.schema


def test_a_cell_that_is_empty_yet_is_not_an_error():
    """The name is looked up again when the tool is used."""

    @tool(catalog=None)
    def take(a: Node):
        """Take."""
        return Node(a)

    @dataclass
    class Node:
        x: int

    assert list(properties(take)["a"]["properties"]) == ["x"]


def test_names_of_a_class_body_are_found():
    """A type defined beside the method, and the class itself."""

    class Service:
        @dataclass
        class Query:
            text: str

        @tool
        def find(self, query: Query, other: Service.Query | None = None):
            """Find."""

    (find_tool,) = Catalog(Service())
    arguments = find_tool.check({"query": {"text": "x"}, "other": {"text": "y"}})
    assert arguments == {"query": Service.Query("x"), "other": Service.Query("y")}


def test_a_method_does_not_hide_the_type_of_its_name():
    """A class with a method `list` still takes lists."""

    class Folder:
        limit = 5
        int = None

        @tool
        def list(self): ...

        @tool
        def read(self, names: list[str], count: int = 3):
            """Read."""

    schema = Catalog(Folder())["read"].schema
    assert schema["properties"]["names"] == {"type": "array", "items": {"type": "string"}}
    assert schema["properties"]["count"] == {"type": "integer", "default": 3}


def test_a_type_variable_of_a_generic_class_is_read_by_its_bound():
    T = TypeVar("T", bound=int)

    class Box(Generic[T]):
        @tool
        def put(self, item: T):
            """Put."""

    (put_tool,) = Catalog(Box())
    assert put_tool.schema["properties"]["item"] == {"type": "integer"}


def test_type_parameters_of_a_function_are_read():
    """`def first[T: int](item: T)`, as newer Pythons write it."""

    def first(item: T): ...  # noqa: F821

    first.__type_params__ = (TypeVar("T", bound=int),)
    assert properties(first) == {"item": {"type": "integer"}}


def test_a_name_only_for_type_checkers_is_read():
    """It may stand in parameters and in the return annotation."""

    def take(a: Unimported) -> Unimported: ...

    read = Tool.of(take)
    assert read.schema["properties"]["a"]["format"] == "decimal"
    assert read.output_schema["format"] == "decimal"


def test_an_unknown_name_is_an_error_at_first_use():
    """Decorating works, as the name could still come; using does not."""

    def take(a: Undefined): ...  # noqa: F821

    waiting = Tool.of(take)
    with pytest.raises(DefinitionError, match=r"names `Undefined`, which is not defined; define or import it"):
        waiting.check({})
    # A failed attempt leaves the tool waiting.
    with pytest.raises(DefinitionError, match="Undefined"):
        Catalog(waiting).finish()


LATER = """
    from __future__ import annotations
    from dataclasses import dataclass
    from toolkit import tool

    @tool(catalog=None, examples=[{"order": {"items": [{"sku": "a"}]}}])
    def place(order: Order, *, note: str = "") -> Receipt:
        "Place an order."
        return order

    @tool(catalog=None)
    def peek() -> Receipt:
        "See the last receipt."

    @dataclass
    class Order:
        items: list[Item]

    @dataclass
    class Item:
        sku: str

    @dataclass
    class Receipt:
        number: int
"""


def test_types_defined_later_in_the_module_are_found(write_module):
    """They may be used in parameters, in records and in the result."""
    module = importlib.import_module(write_module("orders_later", LATER))
    place = Tool.of(module.place)
    assert list(place.output_schema["properties"]) == ["number"]
    assert place.check({"order": {"items": [{"sku": "a"}]}})["order"] == module.Order([module.Item("a")])
    assert list(Tool.of(module.peek).output_schema["properties"]) == ["number"]


def test_examples_are_checked_when_the_types_are_defined(write_module):
    """They wait with the signature, and `finish` finds the bad one."""
    source = LATER.replace('{"sku": "a"}', '{"sku": 5}')
    module = importlib.import_module(write_module("orders_with_bad_example", source))
    with pytest.raises(DefinitionError, match="example 1 does not fit the schema"):
        Catalog(module.place).finish()


def test_a_tool_whose_result_waits_is_checked_at_decoration():
    """Only the return annotation waits, and examples are checked against the parameters at once."""

    def take(a: int) -> Undefined: ...  # noqa: F821

    with pytest.raises(DefinitionError, match="example 1"):
        Tool.described(take, examples=[{"a": "x"}])
    assert Tool.described(take, examples=[{"a": 1}]).output_schema is None


def test_finish_reports_the_missing_names_of_all_tools():
    def one(a: Missing): ...  # noqa: F821

    def two(a: Absent): ...  # noqa: F821

    with pytest.raises(DefinitionError) as error:
        Catalog(one, two).finish()
    assert len(str(error.value).splitlines()) == 2


def test_the_types_of_a_wrapped_function_are_found_in_its_own_module(write_module):
    """The module of the wrapper does not know them."""
    module = importlib.import_module(
        write_module(
            "wrapped_elsewhere",
            """
            from __future__ import annotations
            Amount = int
            def pay(amount: Amount): "Pay."
            """,
        )
    )
    import functools

    @functools.wraps(module.pay)
    def wrapper(*args, **kwargs):
        return module.pay(*args, **kwargs)

    assert properties(wrapper) == {"amount": {"type": "integer"}}


def test_the_scope_of_a_builtin_is_that_of_its_module():
    """A builtin has no globals."""
    assert "len" in Scope(len).global_names
    assert "len" in Scope(object()).global_names


def test_a_function_with_the_name_of_its_class_is_not_a_class_body():
    """Methods are described only inside a class definition."""

    def f(): ...

    f.__qualname__ = "test_a_function_with_the_name_of_its_class_is_not_a_class_body.f"
    assert not is_in_class_body(f)
    assert not is_in_class_body(len)


def test_a_class_of_classes_has_no_type_parameters():
    """From Python 3.12 on, `type` has a descriptor by that name, not a tuple."""
    assert "T" not in Scope(type).local_names()
    assert Scope(dict).local_names().keys() == Scope(type).local_names().keys()
