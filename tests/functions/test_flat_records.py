"""`@tool(flat=True)`: one struct is the arguments."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Annotated, Any, NewType

import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from typing_extensions import TypedDict

from tests.functions.flat_record_kit import (
    KINDS,
    Box,
    DataRefund,
    DictRefund,
    ModelRefund,
    refunding,
)
from toolkit import (
    BadArgs,
    Catalog,
    Context,
    Dispatcher,
    Inject,
    Permissions,
    Tool,
    tool,
)
from toolkit.formats import FORMATS, definitions_for
from toolkit.functions.flat_records import FlatArguments
from toolkit.testing import arguments, check_tool
from toolkit.values.codecs.code_writer import UNSURE

MODES = pytest.mark.parametrize("validation", ["fast", "jsonschema"])


# What the model sees.


@KINDS
def test_the_fields_of_a_record_are_the_arguments(kind):
    """The schema of the record stands at the top, closed, with what the class says about its fields."""
    schema = refunding(kind).schema
    Draft202012Validator.check_schema(schema)
    assert schema["type"] == "object"
    assert list(schema["properties"]) == ["amount", "reason"]
    assert (schema["required"], schema["additionalProperties"]) == (["amount"], False)
    assert [part["description"] for part in schema["properties"].values()] == ["How much.", "Why."]
    assert schema["description"].startswith("One refund.")
    assert "$defs" not in schema
    assert "$ref" not in schema


@pytest.mark.parametrize("format", FORMATS)
@KINDS
def test_every_provider_gets_the_fields(kind, format):
    """The name of the parameter is in no definition."""
    definitions = str(definitions_for(format, Catalog(refunding(kind))))
    assert "amount" in definitions
    assert "order'" not in definitions


def test_the_docstring_of_the_function_describes_undocumented_fields():
    """The class comes first, because it may describe its fields for several functions."""

    @dataclass
    class Plain:
        amount: Annotated[int, "In cents."]
        reason: str = ""

    @tool(catalog=None, flat=True)
    def refund(order: Plain) -> None:
        """
        Refund an order.

        Args:
            order: What is refunded.
            amount: How much.
            reason: Why.
        """

    schema = Tool.of(refund).schema
    assert schema["description"] == "What is refunded."
    assert [part["description"] for part in schema["properties"].values()] == ["In cents.", "Why."]


def test_a_record_that_contains_itself_has_one_definition():
    """The fields stand at the top, because providers want an object there."""

    @dataclass
    class Node:
        value: int
        below: list[Node] = field(default_factory=list)

    received: list[Any] = []
    grow = refunding(Node, received)
    assert list(grow.schema["properties"]) == ["value", "below"]
    assert grow.schema["properties"]["below"]["items"] == {"$ref": "#/$defs/Node"}
    assert list(grow.schema["$defs"]) == ["Node"]
    sent = {"value": 1, "below": [{"value": 2, "below": [{"value": 3}]}]}
    assert Dispatcher([grow]).call_sync("refund", sent).kind == "ok"
    assert received == [Node(1, [Node(2, [Node(3)])])]
    with pytest.raises(BadArgs, match=r"^below\[0\]\.value: "):
        grow.check({"value": 1, "below": [{"value": "x"}]})


class Tree(pydantic.BaseModel):
    value: int
    below: list[Tree] = []


def test_a_recursive_model_has_one_definition():
    """Its own schema is a reference, and the fields stand at the top."""
    grow = refunding(Tree)
    assert list(grow.schema["properties"]) == ["value", "below"]
    assert list(grow.schema["$defs"]) == ["Tree"]
    assert grow.check({"value": 1, "below": [{"value": 2}]})["below"] == [Tree(value=2)]


Small = NewType("Small", DataRefund)


@pytest.mark.parametrize(
    ("kind", "sent", "record"),
    [
        (Box[int], {"content": 3}, Box(3)),
        (Box[DataRefund], {"content": {"amount": 1}, "label": "a"}, Box(DataRefund(1), "a")),
        (Annotated[DataRefund, "What is refunded."], {"amount": 1}, DataRefund(1)),
        (Small, {"amount": 1}, DataRefund(1)),
        ("DataRefund", {"amount": 1}, DataRefund(1)),
    ],
    ids=str,
)
@MODES
def test_generic_and_annotated_records_are_flat(kind, sent, record, validation):
    """So is a record under another name."""
    received: list[Any] = []
    assert Dispatcher([refunding(kind, received)], validation=validation).call_sync("refund", sent).kind == "ok"
    assert received == [record]


# What the function gets.


@MODES
@KINDS
def test_the_function_gets_the_record(kind, validation):
    """The record has the defaults of its class."""
    received: list[Any] = []
    dispatcher = Dispatcher([refunding(kind, received)], validation=validation)
    assert dispatcher.call_sync("refund", {"amount": 5}).kind == "ok"
    assert dispatcher.call_sync("refund", '{"amount": 6, "reason": "late"}').kind == "ok"
    assert received == [kind(amount=5), kind(amount=6, reason="late")]
    assert {type(order) for order in received} == {dict if kind is DictRefund else kind}


@KINDS
def test_the_decoded_arguments_are_the_fields(kind):
    """`check` returns them by their names, and `encode` takes all or some of them."""
    refund = refunding(kind)
    defaults = {} if kind is DictRefund else {"reason": "none"}
    assert refund.check({"amount": 5}) == {"amount": 5, **defaults}
    assert refund.encode(refund.check({"amount": 5})) == {"amount": 5, **defaults}
    assert refund.encode({"reason": "late"}) == {"reason": "late"}
    with pytest.raises(ValueError, match="`more` is not a parameter"):
        refund.encode({"amount": 5, "more": 1})


@KINDS
def test_good_arguments_take_the_fast_path(kind):
    check = refunding(kind).about.checker.compile_check()
    assert check({"amount": 5}, 0)["amount"] == 5


@KINDS
@pytest.mark.parametrize("wrong", [{}, {"amount": "5"}, {"amount": 5, "more": 1}, [], None], ids=repr)
def test_the_fast_path_is_unsure_about_wrong_arguments(kind, wrong):
    assert refunding(kind).about.checker.compile_check()(wrong, 0) is UNSURE


@MODES
@KINDS
def test_problems_name_the_fields(kind, validation):
    """All of them are reported together, and none names the parameter."""
    with pytest.raises(BadArgs) as caught:
        refunding(kind).check({"amount": "much", "reason": 5, "more": 1}, validation=validation)
    assert {problem.path for problem in caught.value.problems} == {("amount",), ("reason",), ("more",)}
    with pytest.raises(BadArgs) as caught:
        refunding(kind).check({}, validation=validation)
    assert [problem.path[:1] for problem in caught.value.problems] in ([("amount",)], [()])
    assert "amount" in str(caught.value)
    assert "order" not in str(caught.value)


@KINDS
def test_fields_of_a_flat_record_are_repaired(kind):
    received: list[Any] = []
    result = Dispatcher([refunding(kind, received)]).call_sync("refund", {"Amount": "5"})
    assert result.kind == "ok"
    assert any("amount" in repair for repair in result.repairs)
    assert received == [kind(amount=5)]


@MODES
def test_a_value_error_of_the_constructor_is_a_problem_of_the_call(validation):
    """The problem is about the arguments as a whole, so it has no place."""

    @dataclass
    class Refund:
        amount: int
        day: date

        def __post_init__(self) -> None:
            if self.amount > 100:
                raise ValueError("more than was paid")

    refund = refunding(Refund)
    with pytest.raises(BadArgs) as caught:
        refund.check({"amount": 200, "day": "2026-05-01"}, validation=validation)
    assert str(caught.value) == "more than was paid"
    with pytest.raises(BadArgs, match="^day: "):
        refund.check({"amount": 200, "day": "2026-02-30"}, validation=validation)


def test_rules_see_the_fields_after_the_constructor():
    """They judge the value that the function gets."""

    @dataclass
    class Refund:
        reason: str

        def __post_init__(self) -> None:
            self.reason = self.reason.lower()

    dispatcher = Dispatcher([refunding(Refund)], permissions=Permissions("bypass", ["deny refund(reason=fraud)"]))
    assert dispatcher.call_sync("refund", {"reason": "FRAUD"}).kind == "denied"
    assert dispatcher.call_sync("refund", {"reason": "late"}).kind == "ok"


@pytest.mark.anyio
async def test_other_parameters_are_filled_as_always():
    """A context, a resource, and a parameter that is hidden stand beside the record."""

    @tool(catalog=None, flat=True, hidden=["step"])
    async def refund(context: Context, order: DataRefund, shop: Inject[str], step: int = 1) -> str:
        """Refund an order."""
        return f"{context.call.name} {order.amount} {shop} {step}"

    assert list(Tool.of(refund).schema["properties"]) == ["amount", "reason"]
    async with Dispatcher([refund], resources={str: "books"}) as dispatcher:
        assert (await dispatcher.call("refund", {"amount": 5})).text == "refund 5 books 1"
        assert await dispatcher.call_typed(refund, {"amount": 6}) == "refund 6 books 1"


def test_a_partial_and_a_keyword_only_parameter_are_flat():
    """One record is left to send."""

    def refund(shop: str, *, order: DataRefund) -> str:
        """Refund an order."""
        return f"{shop} {order.amount}"

    flat = Tool.described(partial(refund, "books"), flat=True, name="refund")
    assert Dispatcher([flat]).call_sync("refund", {"amount": 5}).text == "books 5"


def test_methods_are_flat():
    """They are methods of an object, class methods and static methods, with the decorators in any order."""

    class Shop:
        @tool(flat=True)
        def own(self, order: DataRefund) -> str:
            """Refund an order."""
            return f"own {order.amount}"

        @staticmethod
        @tool(flat=True)
        def static(order: DataRefund) -> str:
            """Refund an order."""
            return f"static {order.amount}"

        @tool(flat=True)
        @classmethod
        def of_class(cls, order: DataRefund) -> str:
            """Refund an order."""
            return f"{cls.__name__} {order.amount}"

    dispatcher = Dispatcher([Shop()])
    texts = [dispatcher.call_sync(name, {"amount": 5}).text for name in ("own", "static", "of_class")]
    assert texts == ["own 5", "static 5", "Shop 5"]


def test_a_record_may_have_a_field_of_the_name_of_another_parameter():
    """The fields are those of the record, and the other parameter is filled by the program."""

    @dataclass
    class Note:
        context: str

    @tool(catalog=None, flat=True)
    def keep(note: Note, context: Context) -> str:
        """Keep a note."""
        return f"{note.context} {context.call.name}"

    assert Dispatcher([keep]).call_sync("keep", {"context": "work"}).text == "work keep"


def test_a_flat_record_may_be_defined_later():
    catalog = Catalog()

    @catalog.tool(flat=True)
    def refund(order: Later) -> int:
        """Refund an order."""
        return order.amount

    @dataclass
    class Later:
        amount: int

    catalog.finish()
    assert list(catalog["refund"].schema["properties"]) == ["amount"]
    assert Dispatcher(catalog).call_sync("refund", {"amount": 5}).value == 5


def test_an_open_record_takes_any_name():
    """A model that allows them keeps further values; one that would ignore them refuses them when it is flat."""

    class Open(pydantic.BaseModel, extra="allow"):
        amount: int

    received: list[Any] = []
    refund = refunding(Open, received)
    assert refund.schema.get("additionalProperties", True) is True
    assert refund.check({"amount": 5, "day": "monday"}) == {"amount": 5, "day": "monday"}
    assert refund.encode({"amount": 5, "day": "monday"}) == {"amount": 5, "day": "monday"}
    assert Dispatcher([refund]).call_sync("refund", {"amount": 5, "day": "monday"}).kind == "ok"
    assert received == [Open(amount=5, day="monday")]


def test_a_flat_typed_dict_accepts_its_extra_items():
    """Each is checked by the type of the items."""

    class Open(TypedDict, extra_items=int):
        name: str

    received: list[Any] = []
    refund = refunding(Open, received)
    assert refund.schema["additionalProperties"] == {"type": "integer"}
    assert Dispatcher([refund]).call_sync("refund", {"name": "a", "day": 5}).kind == "ok"
    assert received == [{"name": "a", "day": 5}]
    with pytest.raises(BadArgs, match="^day: "):
        refund.check({"name": "a", "day": "x"})


def test_the_arguments_may_be_bound_without_the_record():
    """A copy of decoded arguments is put together again."""
    refund = refunding(ModelRefund)
    decoded = refund.check({"amount": 5})
    assert isinstance(copy.copy(decoded), FlatArguments)
    assert copy.copy(decoded).record is decoded.record
    assert refund.signature.bind(decoded) == ([], {"order": ModelRefund(amount=5)})
    assert refund.signature.bind(dict(decoded)) == ([], {"order": ModelRefund(amount=5)})


# The test kit, and other programs.


@KINDS
@pytest.mark.filterwarnings("ignore:.*answered alike:toolkit.ToolkitWarning")
def test_flat_tools_keep_the_laws(kind):
    """Those of the test kit, which draws fields."""
    check_tool(refunding(kind, read_only=True), run=True, examples=10)


@KINDS
@settings(max_examples=5)
@given(data=st.data())
def test_arguments_that_are_drawn_are_fields(kind, data):
    """The strategies read the schema, and the tool accepts what they draw."""
    refund = refunding(kind)
    drawn = data.draw(arguments(refund))
    assert drawn.items() <= refund.check(drawn).items()


@pytest.mark.anyio
async def test_an_mcp_client_sends_the_fields():
    """The server lists the schema of the record."""
    pytest.importorskip("mcp")
    from tests.mcp.serving.kit import NEW, connected

    received: list[Any] = []
    dispatcher = Dispatcher([refunding(ModelRefund, received, read_only=True)])
    async with dispatcher, connected(dispatcher, NEW) as client:
        [listed] = (await client.list_tools()).tools
        assert list(listed.input_schema["properties"]) == ["amount", "reason"]
        await client.call_tool("refund", {"amount": 5})
    assert received == [ModelRefund(amount=5)]


# Nothing is flat that does not say so.


def positional_only(order: DataRefund, /) -> int:
    """Refund an order."""
    return order.amount


def test_a_positional_only_record_is_not_flat_by_default():
    """The slash is about Python callers, and not about a model."""
    assert list(Tool.of(positional_only).schema["properties"]) == ["order"]


@MODES
def test_a_positional_only_record_can_be_flat(validation):
    """It is passed by position."""
    refund = Tool.described(positional_only, flat=True)
    assert list(refund.schema["properties"]) == ["amount", "reason"]
    assert Dispatcher([refund], validation=validation).call_sync("positional_only", {"amount": 5}).value == 5


def test_the_same_function_can_be_a_flat_and_a_nested_tool():
    """They are two tools, and do not replace each other."""
    flat, nested = Tool.described(positional_only, flat=True), Tool.of(positional_only)
    assert not flat.about.is_equivalent(nested.about)
    assert Catalog(flat.renamed("flat"), nested).names() == ["flat", "positional_only"]


def test_flat_is_false_by_default():
    assert Tool.described(positional_only, flat=False).schema == Tool.of(positional_only).schema
