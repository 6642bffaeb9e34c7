"""`@tool(flat=True)`: one struct is the arguments."""

from __future__ import annotations

import asyncio
import copy
from dataclasses import InitVar, dataclass, field
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, NewType, TypeVar

import attrs
import msgspec
import pydantic
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from typing_extensions import NotRequired, TypedDict, Unpack

from toolkit import (
    BadArgs,
    Catalog,
    Context,
    Decision,
    DefinitionError,
    Dispatcher,
    Inject,
    Permissions,
    Reads,
    RetryPolicy,
    Secret,
    Session,
    Tool,
    Transient,
    tool,
)
from toolkit.calls.background.jobs import find_jobs
from toolkit.formats import FORMATS, definitions_for
from toolkit.functions.flat_records import FlatArguments
from toolkit.hooks import Modify
from toolkit.testing import arguments, check_tool
from toolkit.values.codecs.code_writer import UNSURE

MODES = pytest.mark.parametrize("validation", ["fast", "jsonschema"])
T = TypeVar("T")


@dataclass
class DataRefund:
    """
    One refund.

    Attributes:
        amount: How much.
        reason: Why.
    """

    amount: int
    reason: str = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class FrozenRefund:
    __doc__ = DataRefund.__doc__

    amount: int
    reason: str = "none"


class ModelRefund(pydantic.BaseModel):
    __doc__ = DataRefund.__doc__

    amount: int
    reason: str = "none"


@pydantic.dataclasses.dataclass
class CheckedRefund:
    __doc__ = DataRefund.__doc__

    amount: int
    reason: str = "none"


@attrs.define
class AttrsRefund:
    __doc__ = DataRefund.__doc__

    amount: int
    reason: str = "none"


class StructRefund(msgspec.Struct):
    __doc__ = DataRefund.__doc__

    amount: int
    reason: str = "none"


class TupleRefund(NamedTuple):
    """
    One refund.

    Attributes:
        amount: How much.
        reason: Why.
    """

    amount: int
    reason: str = "none"


class DictRefund(TypedDict):
    """
    One refund.

    Attributes:
        amount: How much.
        reason: Why.
    """

    amount: int
    reason: NotRequired[str]


CLASSES = [DataRefund, FrozenRefund, ModelRefund, CheckedRefund, AttrsRefund, StructRefund, TupleRefund, DictRefund]
KINDS = pytest.mark.parametrize("kind", CLASSES, ids=lambda kind: kind.__name__)


def refunding(kind: Any, received: list[Any] | None = None, **options: Any) -> Tool:
    """Return a flat tool that takes a record of this *kind*, and adds it to the list *received*."""

    def refund(order):
        """Refund an order."""
        if received is not None:
            received.append(order)
        return "refunded"

    refund.__annotations__ = {"order": kind, "return": str}
    return Tool.described(refund, flat=True, **options)


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
    """Nothing in a definition names the parameter."""
    definitions = str(definitions_for(format, Catalog(refunding(kind))))
    assert "amount" in definitions
    assert "order'" not in definitions


def test_the_docstring_of_the_function_describes_what_the_class_does_not():
    """The class comes first: it may describe its fields for several functions."""

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


def test_a_model_that_contains_itself_has_one_definition():
    """Its own schema is a reference, and the fields stand at the top all the same."""
    grow = refunding(Tree)
    assert list(grow.schema["properties"]) == ["value", "below"]
    assert list(grow.schema["$defs"]) == ["Tree"]
    assert grow.check({"value": 1, "below": [{"value": 2}]})["below"] == [Tree(value=2)]


@dataclass
class Box(Generic[T]):
    content: T
    label: str = ""


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
    """With the defaults of its class."""
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
    """And what the schema refuses does not."""
    check = refunding(kind).about.checker.compile_check()
    assert check({"amount": 5}, 0)["amount"] == 5
    for wrong in ({}, {"amount": "5"}, {"amount": 5, "more": 1}, [], None):
        assert check(wrong, 0) is UNSURE


@MODES
@KINDS
def test_problems_name_the_fields(kind, validation):
    """All of them at once, and none names the parameter."""
    with pytest.raises(BadArgs) as caught:
        refunding(kind).check({"amount": "much", "reason": 5, "more": 1}, validation=validation)
    assert {problem.path for problem in caught.value.problems} == {("amount",), ("reason",), ("more",)}
    with pytest.raises(BadArgs) as caught:
        refunding(kind).check({}, validation=validation)
    assert [problem.path[:1] for problem in caught.value.problems] in ([("amount",)], [()])
    assert "amount" in str(caught.value)
    assert "order" not in str(caught.value)


@KINDS
def test_fields_are_repaired(kind):
    """As any argument is."""
    received: list[Any] = []
    result = Dispatcher([refunding(kind, received)]).call_sync("refund", {"Amount": "5"})
    assert result.kind == "ok"
    assert any("amount" in repair for repair in result.repairs)
    assert received == [kind(amount=5)]


@MODES
def test_what_the_constructor_refuses_is_a_problem_of_the_call(validation):
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


def test_what_the_constructor_changes_is_what_rules_see():
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
    """What is left to send is one record."""

    def refund(shop: str, *, order: DataRefund) -> str:
        """Refund an order."""
        return f"{shop} {order.amount}"

    flat = Tool.described(partial(refund, "books"), flat=True, name="refund")
    assert Dispatcher([flat]).call_sync("refund", {"amount": 5}).text == "books 5"


def test_methods_are_flat():
    """Of an object, of a class, and of neither, whichever decorator stands first."""

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


def test_a_name_that_is_defined_later_is_read_later():
    """As in any signature."""
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


def test_a_typed_dict_with_extra_items_takes_those():
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


# Facts, rules and people.


@pytest.mark.anyio
@KINDS
async def test_functions_given_as_options_get_the_fields(kind):
    """And so does the rule language: the fields are the arguments."""
    arguments_by_option: dict[str, Any] = {}

    def note(name: str, answer: Any) -> Any:
        return lambda arguments: arguments_by_option.setdefault(name, dict(arguments)) and answer

    names = {"validate": None, "approval": False, "preview": "x", "preflight": [], "concurrency_safe": True}
    refund = refunding(kind, **{name: note(name, answer) for name, answer in names.items()})
    async with Dispatcher([refund], permissions=Permissions("default")) as dispatcher:
        result = await dispatcher.call("refund", {"amount": 5, "reason": "late"})
        assert result.kind == "waiting"
        await dispatcher.call_many([("refund", {"amount": 5, "reason": "late"})] * 2)
    assert arguments_by_option.keys() >= {"validate", "approval", "preview", "preflight"}
    assert all(arguments == {"amount": 5, "reason": "late"} for arguments in arguments_by_option.values())


@KINDS
def test_rules_name_the_fields(kind):
    """A rule about a parameter is a rule about a field."""
    dispatcher = Dispatcher([refunding(kind)], permissions=Permissions("bypass", ["deny refund(amount=100)"]))
    assert [dispatcher.call_sync("refund", {"amount": amount}).kind for amount in (100, 5)] == ["denied", "ok"]


@pytest.mark.anyio
@KINDS
async def test_a_person_agrees_to_the_fields(kind):
    """The request shows them, and what was approved runs."""
    received: list[Any] = []
    async with Dispatcher([refunding(kind, received, approval="always")]) as dispatcher:
        waiting = await dispatcher.call("refund", {"amount": 5, "reason": "late"})
        assert (waiting.kind, waiting.request.arguments) == ("waiting", {"amount": 5, "reason": "late"})
        assert (await dispatcher.resume(waiting, Decision.approve())).kind == "ok"
    assert received == [kind(amount=5, reason="late")]


@pytest.mark.anyio
async def test_a_hook_changes_the_fields():
    """They are checked again, and the record is made anew."""

    class Halve:
        def before(self, call):
            return Modify({**call.arguments, "amount": call.arguments["amount"] // 2})

    received: list[Any] = []
    async with Dispatcher([refunding(DataRefund, received)], hooks=[Halve()]) as dispatcher:
        await dispatcher.call("refund", {"amount": 10})
    assert received == [DataRefund(5)]


@pytest.mark.anyio
async def test_a_second_attempt_gets_a_new_record():
    """What the first one has changed is forgotten."""
    amounts = []

    @tool(catalog=None, flat=True, idempotent=True)
    async def refund(order: DataRefund) -> str:
        """Refund an order."""
        amounts.append(order.amount)
        order.amount = 0
        if len(amounts) == 1:
            raise Transient("busy")
        return "refunded"

    async with Dispatcher([refund], retry=RetryPolicy(wait_initial=0)) as dispatcher:
        assert (await dispatcher.call("refund", {"amount": 5})).kind == "ok"
    assert amounts == [5, 5]


def test_markers_count_on_the_fields():
    """A path is checked, and a secret is masked, as on a parameter."""

    class Upload(pydantic.BaseModel):
        path: Annotated[Path, Reads]
        key: Annotated[str, Secret] = pydantic.Field(alias="apiKey")

    signature = refunding(Upload).signature
    assert signature.accesses == {"path": Reads}
    assert signature.secrets == {"apiKey"}
    assert refunding(Annotated[DataRefund, Secret]).signature.secrets == {"amount", "reason"}
    assert refunding(Box[Annotated[str, Secret]]).signature.secrets == {"content"}


def test_a_secret_field_is_in_no_message():
    """Nor in the representation of the call."""

    @dataclass
    class Login:
        key: Annotated[str, Secret]
        port: int

    result = Dispatcher([refunding(Login)]).call_sync("refund", {"key": "hunter2", "port": "x"})
    assert result.kind == "bad_args"
    assert "port" in result.text
    assert "hunter2" not in result.text


def test_examples_are_checked_against_the_fields():
    """They are arguments as a model should send them."""
    assert refunding(DataRefund, examples=[{"amount": 5}]).facts.examples == ({"amount": 5},)
    with pytest.raises(DefinitionError, match="example 1 does not fit the schema: "):
        refunding(DataRefund, examples=[{"order": {"amount": 5}}])


@pytest.mark.anyio
async def test_a_flat_tool_may_run_in_the_background():
    """The parameter `background` stands beside the fields, and the record does not get it."""
    received: list[Any] = []
    refund = refunding(DataRefund, received, background=True)
    assert list(refund.schema["properties"]) == ["amount", "reason", "background"]
    assert refund.check({"amount": 5}) == {"amount": 5, "reason": "none", "background": False}
    assert refund.check({"amount": 5, "background": True})["background"] is True
    assert refund.encode({"amount": 5, "background": True}) == {"amount": 5, "background": True}
    session = Session()
    async with Dispatcher([refund]) as dispatcher:
        assert (await dispatcher.call("refund", {"amount": 5})).text == "refunded"
        await dispatcher.call("refund", {"amount": 6, "background": True}, session=session)
        [job] = find_jobs(session).all()
        await asyncio.to_thread(job.wait, 20)
    assert received == [DataRefund(5), DataRefund(6)]
    with pytest.raises(BadArgs, match="^background: "):
        refund.check({"amount": 5, "background": "x"})


def test_a_record_with_a_field_background_cannot_have_the_fact():
    """One name cannot mean two things."""

    @dataclass
    class Picture:
        background: str

    with pytest.raises(DefinitionError, match="the fact `background` adds a parameter `background`"):
        refunding(Picture, background=True)


def test_a_schema_by_hand_is_enforced_on_the_fields():
    """The annotations say how they are decoded."""
    written = {"type": "object", "properties": {"amount": {"type": "integer", "maximum": 9}}, "required": ["amount"]}
    refund = refunding(DataRefund, schema={**written, "additionalProperties": False})
    assert refund.check({"amount": 5}).record == DataRefund(5)
    with pytest.raises(BadArgs, match="^amount: "):
        refund.check({"amount": 10})
    with pytest.raises(DefinitionError, match="properties that the function does not take: order"):
        refunding(DataRefund, schema={"type": "object", "properties": {"order": {"type": "object"}}})


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


# What cannot be flat.


class Options(TypedDict):
    amount: int


@dataclass
class Hashed:
    amount: int
    salt: InitVar[int]


class Rendered(pydantic.BaseModel):
    amount: int

    @pydantic.model_serializer
    def render(self) -> str:
        return "a refund"


class Listed(msgspec.Struct, array_like=True):
    amount: int


class Rooted(pydantic.RootModel[dict[str, int]]):
    pass


def nothing() -> None:
    """Refund an order."""


def injected_alone(context: Context) -> None:
    """Refund an order."""


def two(order: DataRefund, other: int) -> None:
    """Refund an order."""


def with_more(order: DataRefund, **more: int) -> None:
    """Refund an order."""


def unpacked(**order: Unpack[Options]) -> None:
    """Refund an order."""


def several(*orders: DataRefund) -> None:
    """Refund orders."""


def optional(order: DataRefund | None) -> None:
    """Refund an order."""


def either(order: DataRefund | Options) -> None:
    """Refund an order."""


def in_a_list(order: list[DataRefund]) -> None:
    """Refund an order."""


def mapping(order: dict[str, int]) -> None:
    """Refund an order."""


def untyped(order) -> None:
    """Refund an order."""


def number(order: int) -> None:
    """Refund an order."""


def with_default(order: DataRefund = DataRefund(1)) -> None:  # noqa: B008 -- the default is the point
    """Refund an order."""


def forgetful(order: Hashed) -> None:
    """Refund an order."""


def rendered(order: Rendered) -> None:
    """Refund an order."""


def array(order: Listed) -> None:
    """Refund an order."""


def rooted(order: Rooted) -> None:
    """Refund an order."""


def marked(order: Annotated[DataRefund, Reads]) -> None:
    """Refund an order."""


FIELDS = r"parameter `order`: `flat=True` makes the fields of a record the arguments"


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (nothing, r"`flat=True` makes .* and a model sends nothing; take one parameter that is a record"),
        (injected_alone, r"a model sends nothing"),
        (two, r"a model sends `order`, `other`; take one parameter that is a record, or leave `flat` out"),
        (with_more, r"a model sends `order`, `\*\*more`; take one parameter"),
        (unpacked, r"a model sends `amount`; take one parameter"),
        (several, r"a model sends `\*orders`; take one parameter"),
        (optional, rf"{FIELDS}, and .*DataRefund \| None has no fields to send one by one"),
        (either, rf"{FIELDS}, and .* has no fields"),
        (in_a_list, rf"{FIELDS}, and list\[.*\] has no fields"),
        (mapping, rf"{FIELDS}, and dict\[str, int\] has no fields"),
        (untyped, rf"{FIELDS}, and Any has no fields"),
        (number, rf"{FIELDS}, and int has no fields"),
        (with_default, rf"{FIELDS}, so its default would never be used; give the fields their defaults"),
        (forgetful, rf"{FIELDS}, but Hashed does not keep `salt`, so no rule .* make it a plain field"),
        (rendered, rf"{FIELDS}, and Rendered has no fields to send one by one"),
        (array, rf"{FIELDS}, and Listed has no fields"),
        (rooted, rf"{FIELDS}, and Rooted has no fields"),
        (marked, r"parameter `order`: it is marked `Reads`, .* mark the field that names the target"),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_what_cannot_be_flat_is_refused_at_decoration(function, words):
    """The message names the function, the parameter and the remedy."""
    with pytest.raises(DefinitionError, match=rf"^{__name__}\.{function.__name__}: .*{words}"):
        tool(function, catalog=None, flat=True)


@dataclass
class Inner:
    path: Annotated[Path, Reads]


@dataclass
class Outer:
    inner: Inner


def test_a_marker_deeper_in_a_record_is_refused():
    """It has no effect there, flat or not."""
    with pytest.raises(DefinitionError, match="parameter `order`: field `inner`: `Reads` counts on a parameter"):
        refunding(Outer)


def test_a_flat_that_is_no_bool_is_refused():
    """Like any option."""
    with pytest.raises(DefinitionError, match="`flat` has to be True or False, got 1"):
        Tool.described(nothing, flat=1)


def test_a_handler_is_not_flat():
    """It gets the whole object already."""
    with pytest.raises(DefinitionError, match="`flat` is about parameters, but a handler gets all arguments"):
        Tool.from_schema("x", "X.", {"type": "object"}, lambda arguments: None, flat=True)


# Nothing is flat that does not say so.


def positional_only(order: DataRefund, /) -> int:
    """Refund an order."""
    return order.amount


def test_a_positional_only_record_is_not_flat_by_itself():
    """The slash says how Python callers pass the value, and says nothing about a model."""
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


def test_false_is_the_default():
    """It can be written out."""
    assert Tool.described(positional_only, flat=False).schema == Tool.of(positional_only).schema
