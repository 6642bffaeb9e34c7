"""A wrong tag of a discriminated union is answered with all tags, also if it is missing, at every depth."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

import msgspec
import pytest
from pydantic import BaseModel, Discriminator, Field

from tests.values.codecs.kit import problem
from toolkit import Tool
from toolkit.values.schemas.messages import explain_errors
from toolkit.values.schemas.union_tags import find_tags, resolve_members
from toolkit.values.schemas.validator import compile_schema


@pytest.fixture(params=["fast", "jsonschema"])
def validation(request):
    """Both ways of checking a call give the same answer."""
    return request.param


@dataclass
class Circle:
    kind: Literal["circle"]
    radius: int


@dataclass
class Square:
    kind: Literal["square", "box"]
    side: int


@dataclass
class Dot:
    kind: Literal["dot"] = "dot"


@dataclass
class Plain:
    x: int


@dataclass
class Group:
    shape: Circle | Square | Group
    kind: Literal["group"] = "group"


class Left(TypedDict):
    side: Literal["left"]
    inches: int


class Right(TypedDict):
    side: Literal["right"]
    metres: int


class Step(enum.IntEnum):
    ONE = 1
    TWO = 2


@dataclass
class First:
    step: Literal[Step.ONE]


@dataclass
class Second:
    step: Literal[Step.TWO]
    more: int


class Cat(BaseModel):
    kind: Literal["cat"]
    meow: int


class Dog(BaseModel):
    kind: Literal["dog"] = "dog"
    bark: int


class Eel(BaseModel):
    kind: Literal["eel", "moray"]
    zap: int


class Home(BaseModel):
    pet: Annotated[Cat | Dog | Eel, Field(discriminator="kind")]


class Zoo(BaseModel):
    pets: list[Annotated[Cat | Eel, Discriminator("kind")]]


class Black(BaseModel):
    kind: Literal["cat"]
    color: Literal["black"]


class White(BaseModel):
    kind: Literal["cat"]
    color: Literal["white"]


class Nest(BaseModel):
    pet: Annotated[Annotated[Black | White, Field(discriminator="color")] | Dog, Field(discriminator="kind")]


class Ask(msgspec.Struct, tag="ask"):
    text: str


class Tell(msgspec.Struct, tag="tell"):
    line: str


SHAPES = '"circle", "square" or "box"'
PETS = '"cat", "dog", "eel" or "moray"'


@pytest.mark.parametrize(
    ("hint", "sent", "message"),
    [
        (Circle | Square, {"kind": "oval", "radius": 1}, f'value.kind: expected {SHAPES}, got "oval"'),
        (Circle | Square, {"kind": 5}, f"value.kind: expected {SHAPES}, got 5"),
        (Circle | Square, {"kind": ["circle"]}, f"value.kind: expected {SHAPES}, got an array of 1 item"),
        (Circle | Square, {"radius": 1}, f"value.kind: required, but missing; expected {SHAPES}"),
        (Circle | Square, {}, f"value.kind: required, but missing; expected {SHAPES}"),
        (Circle | Square | None, {"kind": "oval"}, f'value.kind: expected {SHAPES}, got "oval"'),
        (Circle | Square | int, {}, f"value.kind: required, but missing; expected {SHAPES}"),
        (list[Circle | Square], [{"kind": "oval"}], f'value[0].kind: expected {SHAPES}, got "oval"'),
        (dict[str, Circle | Square], {"a": {}}, f"value.a.kind: required, but missing; expected {SHAPES}"),
        (Circle | Square | Plain, {"kind": "oval"}, f'value.kind: expected {SHAPES}, got "oval"'),
        (Circle | Square | Plain, {"x": "1"}, 'value.x: expected an integer, got "1"'),
        (Circle | Square | dict[str, int], {"kind": "oval"}, 'value.kind: expected an integer, got "oval"'),
        (Circle | Dot, {"radius": 1}, 'value.kind: missing; expected "circle" or "dot"'),
        (Circle | Square, {"kind": "box"}, "value.side: required, but missing; expected an integer"),
        (Left | Right, {"side": "up"}, 'value.side: expected "left" or "right", got "up"'),
        (Left | Right, {"inches": 1}, 'value.side: required, but missing; expected "left" or "right"'),
        (First | Second, {"step": 3}, "value.step: expected 1 or 2, got 3"),
        (First | Second, {"step": True}, "value.step: expected 1 or 2, got true"),
        (Ask | Tell, {"type": "sing", "text": "a"}, 'value.type: expected "ask" or "tell", got "sing"'),
        (Ask | Tell, {"text": "a"}, 'value.type: required, but missing; expected "ask" or "tell"'),
        (
            Group,
            {"shape": {"kind": "group", "shape": {"kind": "oval"}}},
            'value.shape.shape.kind: expected "circle", "square", "box" or "group", got "oval"',
        ),
        (
            Annotated[Cat | Dog | Eel, Field(discriminator="kind")],
            {"kind": "cow", "meow": 1},
            f'value.kind: expected {PETS}, got "cow"',
        ),
        (Home, {"pet": {"kind": "cow", "meow": 1}}, f'value.pet.kind: expected {PETS}, got "cow"'),
        (Home, {"pet": {}}, f"value.pet.kind: required, but missing; expected {PETS}"),
        (Home, {"pet": {"zap": 1}}, f"value.pet.kind: required, but missing; expected {PETS}"),
        (Home, {"pet": {"kind": "cat", "meow": "x"}}, 'value.pet.meow: expected an integer, got "x"'),
        (Zoo, {"pets": [{"kind": "cow"}]}, 'value.pets[0].kind: expected "cat", "eel" or "moray", got "cow"'),
        (Zoo, {"pets": [{}]}, 'value.pets[0].kind: required, but missing; expected "cat", "eel" or "moray"'),
        (Nest, {"pet": {"kind": "cow"}}, 'value.pet.kind: expected "cat" or "dog", got "cow"'),
        (Nest, {"pet": {}}, 'value.pet.kind: required, but missing; expected "cat" or "dog"'),
        (
            Nest,
            {"pet": {"kind": "cat", "color": "red"}},
            'value.pet.color: expected "black" or "white", got "red"',
        ),
    ],
    ids=lambda value: str(value)[:60],
)
def test_a_wrong_tag_of_a_discriminated_union_names_all_tags(hint, sent, message, validation):
    """One line has the right values, and the problems of other members are left out."""
    assert problem(hint, sent, validation) == message


def test_a_tag_that_pydantic_requires_is_required_by_the_schema(validation):
    """A discriminated union has no member by default, so what the schema accepts has the tag."""
    assert problem(Home, {"pet": {"bark": 1}}, validation) == (
        f"value.pet.kind: required, but missing; expected {PETS}"
    )

    def keep(home: Home) -> None:
        """Keep a pet."""

    assert (
        Tool.of(keep).check({"home": {"pet": {"kind": "dog", "bark": 1}}}, validation=validation)["home"].pet.bark == 1
    )


def explain(schema: Any, value: Any) -> list[str]:
    return [str(problem) for problem in explain_errors(compile_schema(schema).iter_errors(value))]


def member(**constants: Any) -> dict[str, Any]:
    properties = {
        name: {"enum": value} if isinstance(value, list) else {"const": value} for name, value in constants.items()
    }
    return {"type": "object", "properties": properties, "required": list(constants)}


@pytest.mark.parametrize("union", ["anyOf", "oneOf"])
def test_members_of_a_nested_union_count_as_members_of_the_outer_one(union):
    """This holds also behind references."""
    schema = {
        "$defs": {"pair": {union: [member(t="a"), {"$ref": "#/$defs/b"}]}, "b": member(t="b")},
        union: [{"$ref": "#/$defs/pair"}, member(t="c")],
    }
    assert explain(schema, {"t": "d"}) == ['t: expected "a", "b" or "c", got "d"']
    assert explain(schema, {}) == ['t: required, but missing; expected "a", "b" or "c"']


def test_a_property_with_one_constant_is_preferred_as_the_tag():
    """The units differ by chance, the kinds by intention."""
    schema = {"anyOf": [member(unit=["kg", "g"], kind="mass"), member(unit=["m", "cm"], kind="length")]}
    assert explain(schema, {"unit": "s", "kind": "time"}) == ['kind: expected "mass" or "length", got "time"']
    assert explain(schema, {"unit": "s", "kind": "mass"}) == ['unit: expected "kg" or "g", got "s"']


def test_many_tags_are_all_named_as_long_as_the_message_is_short():
    """Forty short tags are; a hundred long ones are cut."""
    forty = {"anyOf": [member(t=f"t{number}") for number in range(40)]}
    (text,) = explain(forty, {"t": "x"})
    assert '"t0", "t1"' in text
    assert text.endswith('or "t39", got "x"')
    (text,) = explain({"anyOf": [member(t=f"tag number {number}") for number in range(100)]}, {"t": "x"})
    assert text.endswith('or ..., got "x"')
    assert len(text) < 500


@pytest.mark.parametrize(
    "members",
    [
        [member(t="a"), member(t="a")],
        [member(t="a"), {}],
        [member(t="a"), {"type": "object", "properties": {"t": {"type": "string"}}}],
        [member(t="a"), {"type": "null"}],
        [member(t=[["a"]]), member(t="b")],
        [{"anyOf": [member(t="a"), member(u="a")]}, member(t="b")],
        [True, False],
        [{"$ref": "#/$defs/nowhere"}, member(t="a")],
    ],
    ids=str,
)
def test_members_that_a_constant_does_not_tell_apart_have_no_tag(members):
    """Shared constants, open members and single members decide nothing."""
    assert find_tags(resolve_members(compile_schema({"$defs": {}}).resolver, members)) == []


def test_a_union_that_unfolds_without_end_is_read_only_so_far():
    """Sixty definitions that each name the next one twice stand for more schemas than could be read."""
    definitions = {f"d{n}": {"anyOf": [{"$ref": f"#/$defs/d{n + 1}"}] * 2} for n in range(60)}
    schema = {"$defs": {**definitions, "d60": member(t="a")}, "anyOf": [{"$ref": "#/$defs/d0"}, member(t="b")]}
    leaves = resolve_members(compile_schema(schema).resolver, schema["anyOf"])
    assert [len(part) <= 500 for part in leaves] == [True, True]
    assert find_tags(leaves) == []
