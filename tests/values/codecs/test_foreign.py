"""pydantic models, msgspec structs, and types that a user registers: schemas that other libraries wrote."""

import importlib.util
import subprocess
import sys
from dataclasses import dataclass
from datetime import date
from typing import Annotated, Any, Generic, Literal, Optional

import msgspec
import pydantic
import pytest
from pydantic import BaseModel, ConfigDict, Field, RootModel
from pydantic_core import core_schema

from tests.values.codecs.foreign_kit import DAY, INTEGER, TEXT, Kind, Node, T
from toolkit import BadArgs, DefinitionError, Tool

from .kit import problem, read, schema_of, there_and_back, three_ways, tool_for, written


class Item(BaseModel):
    name: str
    count: int = 1


class Order(BaseModel):
    """What was bought."""

    items: list[Item]
    day: date
    note: Optional[str] = Field(None, description="For the driver.")


class Aliased(BaseModel):
    first_name: str = Field(alias="firstName")


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    x: int


class Strict(BaseModel):
    model_config = ConfigDict(strict=True)
    x: int
    day: date


class Page(BaseModel, Generic[T]):
    items: list[T]


class Even(BaseModel):
    x: int

    @pydantic.field_validator("x")
    @classmethod
    def check(cls, x):
        if x % 2:
            raise ValueError("odd")
        return x


class Titled(BaseModel):
    title: str = "title"
    default: dict[str, str] = {"title": "kept"}


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    tricks: list[str]


class Owner(BaseModel):
    pet: Annotated[Cat | Dog, Field(discriminator="kind")]


class Names(RootModel[list[str]]):
    pass


class Shout:
    """Stands for text in capitals, as `EmailStr` stands for an address."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source, handler):
        return core_schema.no_info_after_validator_function(str.upper, core_schema.str_schema(max_length=5))


@pydantic.dataclasses.dataclass
class Checked:
    x: pydantic.PositiveInt
    day: date = DAY


@pydantic.dataclasses.dataclass
class CheckedBox(Generic[T]):
    item: T


@dataclass
class Holder:
    order: Order
    items: list[Item]


@pytest.mark.parametrize(
    ("hint", "value", "form", "schema"),
    [
        (
            Item,
            Item(name="a", count=2),
            {"name": "a", "count": 2},
            {"type": "object", "properties": {"name": TEXT, "count": INTEGER | {"default": 1}}, "required": ["name"]},
        ),
        (
            Order,
            Order(items=[Item(name="a")], day=DAY),
            {"items": [{"name": "a", "count": 1}], "day": "2024-05-01", "note": None},
            None,
        ),
        (Aliased, Aliased(firstName="a"), {"firstName": "a"}, None),
        (Closed, Closed(x=1), {"x": 1}, None),
        (Strict, Strict(x=1, day=DAY), {"x": 1, "day": "2024-05-01"}, None),
        (Node, Node(value=1, children=[Node(value=2)]), {"value": 1, "children": [{"value": 2, "children": []}]}, None),
        (Page[Item], Page[Item](items=[Item(name="a")]), {"items": [{"name": "a", "count": 1}]}, None),
        (Page[int], Page[int](items=[1]), {"items": [1]}, None),
        (Even, Even(x=2), {"x": 2}, None),
        (Owner, Owner(pet=Dog(kind="dog", tricks=["sit"])), {"pet": {"kind": "dog", "tricks": ["sit"]}}, None),
        (Names, Names(["a"]), ["a"], {"type": "array", "items": TEXT}),
        (RootModel[int], RootModel[int](3), 3, INTEGER),
        (Shout, "HEY", "HEY", TEXT | {"maxLength": 5}),
        (pydantic.HttpUrl, pydantic.HttpUrl("https://a.b/"), "https://a.b/", None),
        (Checked, Checked(1, DAY), {"x": 1, "day": "2024-05-01"}, None),
        (CheckedBox[int], CheckedBox[int](1), {"item": 1}, None),
        (
            Holder,
            Holder(Order(items=[], day=DAY), [Item(name="a")]),
            {"order": {"items": [], "day": "2024-05-01", "note": None}, "items": [{"name": "a", "count": 1}]},
            None,
        ),
    ],
)
def test_pydantic_types_go_three_ways(hint, value, form, schema, validation):
    """A model is described and converted by pydantic, by its aliases, nested as any other type."""
    three_ways(hint, value, form, schema_of(hint) if schema is None else schema, validation)


@pytest.mark.parametrize(
    ("hint", "form", "words"),
    [
        (Item, {"name": 3}, "value.name: expected a string"),
        (Item, {"name": "a", "count": "3"}, "value.count: expected an integer"),
        (Item, {"name": "a", "count": True}, "value.count: expected an integer"),
        (list[Order], [{"items": [{}], "day": "2024-05-01"}], "value[0].items[0].name: required, but missing"),
        (Order, {"items": [], "day": "soon"}, "value.day: "),
        (Holder, {"order": {"items": [], "day": "soon"}, "items": []}, "value.order.day: "),
        (Aliased, {"first_name": "a"}, "value.firstName: required"),
        (Closed, {"x": 1, "y": 2}, "value.y: unknown key"),
        (Even, {"x": 1}, "value.x: odd"),
        (list[Even | None], [None, {"x": 1}], "value[1].x: odd"),
        (Node, {"value": 1, "children": [{"value": "x"}]}, "value.children[0].value: expected an integer"),
        (Shout, "too long", "value: expected at most 5 characters"),
        (pydantic.HttpUrl, "no url", "value: "),
        (Checked, {"x": 0}, "value.x: expected more than 0"),
        (Owner, {"pet": {"kind": "cow"}}, "value.pet"),
    ],
)
def test_pydantic_is_not_the_judge_of_shape(hint, form, words, validation):
    """The schema refuses what pydantic alone would coerce; what its validators say has its path."""
    assert words in problem(hint, form, validation)


@pytest.mark.parametrize(
    ("hint", "form"), [(Item, {"name": "a", "count": 3.0}), (Strict, {"x": 3.0, "day": "2024-05-01"})]
)
def test_a_whole_number_may_be_written_as_a_float(hint, form, validation):
    """`3.0` is an integer in JSON, for a strict model too."""
    received = read(hint, form, validation)
    assert [value for value in vars(received).values() if type(value) is int] == [3]


def test_pydantic_schemas_are_kept_short():
    """Titles that repeat names, and OpenAPI's discriminator, are left out; data is left alone."""
    assert "title" not in str(tool_for(Order).schema)
    assert "discriminator" not in str(tool_for(Owner).schema)
    properties = schema_of(Titled)["properties"]
    assert properties["title"] == TEXT | {"default": "title"}
    assert properties["default"]["default"] == {"title": "kept"}


def test_pydantic_descriptions_are_kept():
    """The model reads the docstring of the class and the descriptions of its fields."""
    schema = schema_of(Order)
    assert schema["description"] == "What was bought."
    assert schema["properties"]["note"]["description"] == "For the driver."


def test_a_package_that_pydantic_misses_is_named():
    """`EmailStr` wants another package, which the message names."""
    if importlib.util.find_spec("email_validator"):
        pytest.skip("it is there")
    with pytest.raises(DefinitionError, match="parameter `value`: pydantic cannot describe EmailStr: email-validator"):
        tool_for(pydantic.EmailStr)


def test_a_model_that_cannot_be_described_is_refused():
    """pydantic's own reason is passed on, with a remedy."""
    model = pydantic.create_model("Odd", function=(__import__("collections").abc.Callable, ...))
    with pytest.raises(DefinitionError, match="parameter `value`: pydantic cannot describe Odd: .*register_codec"):
        tool_for(model)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Item, {"name": "a"}),
        (Item, Even(x=2)),
        (Shout, 3),
        (Item, Item.model_construct(name=3)),
        (Checked, Item(name="a")),
    ],
)
def test_other_objects_do_not_encode(hint, value):
    """A value of another class, or one that was forced into its class, has no form here."""
    with pytest.raises((TypeError, ValueError)):
        written(hint, value)


@pytest.mark.parametrize(
    ("hint", "value", "form"),
    [
        (Item | Even | str, Even(x=2), {"x": 2}),
        (Item | Even | str, "a", "a"),
        (Shout | int, "HEY", "HEY"),
        (Cat | Dog | None, Dog(kind="dog", tricks=[]), {"kind": "dog", "tricks": []}),
        (RootModel[int] | str, RootModel[int](3), 3),
        (RootModel[int] | str, "a", "a"),
        (Node | list[Node], [Node(value=1)], [{"value": 1, "children": []}]),
        (dict[str, Any] | Closed, Closed(x=1), {"x": 1}),
        (str | Shout, "HEY", "HEY"),
    ],
)
def test_foreign_types_are_distinguished_in_unions(hint, value, form, validation):
    """Their schemas decide which member a value belongs to."""
    there_and_back(hint, value, form, validation)
    there_and_back(list[hint | None], [None, value], [None, form], validation)


@pytest.mark.parametrize("hint", [set[Item], set[Checked]])
def test_models_that_cannot_be_hashed_cannot_be_in_a_set(hint):
    """A model is hashable if it is frozen."""
    with pytest.raises(DefinitionError, match="cannot be hashed"):
        tool_for(hint)


def test_a_frozen_model_can_be_in_a_set(validation):
    """It is compared by value, as its JSON form is."""
    assert read(set[Closed], [{"x": 1}, {"x": 2}], validation) == {Closed(x=1), Closed(x=2)}
    assert problem(set[Closed], [{"x": 1}, {"x": 1.0}], validation)


def namesakes():
    """Return two recursive models of one name."""

    class Node(BaseModel):
        left: "Optional[Node]" = None

    first = Node

    class Node(BaseModel):  # noqa: F811 -- namesakes are what is tried
        right: "Optional[Node]" = None

    return first, Node


def test_types_with_the_same_name_have_different_definitions(validation):
    """A definition's name is free or gets a number; references follow."""
    first, second = namesakes()
    hint = tuple[first, second]
    there_and_back(
        hint,
        (first(left=first()), second(right=second())),
        [{"left": {"left": None}}, {"right": {"right": None}}],
        validation,
    )
    assert sorted(tool_for(hint).schema["$defs"]) == ["Node", "Node_2"]
    assert problem(hint, [{"left": {"left": 3}}, {}], validation)
    assert problem(hint, [{}, {"right": {"right": 3}}], validation)


def incomplete(base):
    """Return a class that names another which is not defined yet."""

    class Early(base):
        late: "DefinedLater"  # noqa: F821 -- not yet

    return Early


@pytest.mark.parametrize("base", [BaseModel, msgspec.Struct])
def test_a_class_may_wait_for_another(base, validation, monkeypatch):
    """A name that is not defined yet waits for the first use; one that never comes is named then."""
    hint = incomplete(base)
    tool = tool_for(list[hint])
    with pytest.raises(DefinitionError, match="DefinedLater|Early"):
        _ = tool.schema
    monkeypatch.setitem(globals(), "DefinedLater", Item if base is BaseModel else Kind)
    form = {"late": {"name": "a"} if base is BaseModel else {"x": 1}}
    assert isinstance(tool.check({"value": [form]}, validation=validation)["value"][0], hint)


def test_no_foreign_package_is_imported_unless_used():
    """Reading plain signatures loads neither pydantic nor attrs nor msgspec."""
    script = (
        "import sys, toolkit\n"
        "from dataclasses import dataclass\n"
        "from toolkit.spec import Tool\n"
        "@dataclass\n"
        "class Point:\n"
        "    x: int\n"
        "def move(to: Point, by: list[int] | None = None):\n"
        "    'Move.'\n"
        "tool = Tool.described(move)\n"
        "tool.check({'to': {'x': 1}})\n"
        "assert not {'pydantic', 'attr', 'attrs', 'msgspec', 'annotated_types', 'jsonschema'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


class Cat(BaseModel):
    kind: Literal["cat"] = "cat"
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    born: date | None = None


def test_models_are_distinguished_by_their_tag():
    """The problems of the model that was meant are reported, at their own place."""

    def adopt(pet: Cat | Dog) -> None:
        """Adopt a pet."""

    with pytest.raises(BadArgs) as refused:
        Tool.of(adopt).check({"pet": {"kind": "dog", "born": "soon"}})
    assert [problem.path for problem in refused.value.problems] == [("pet", "born")]
