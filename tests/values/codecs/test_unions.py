"""Unions: the narrowest member wins, then the order; records are told apart by their tags."""

import enum
import os
import re
import uuid
from dataclasses import dataclass, field
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from operator import attrgetter
from pathlib import Path
from typing import Annotated, Any, AnyStr, Generic, Literal, Optional, TypedDict, TypeVar, Union

import annotated_types as at
import pytest
from typing_extensions import TypeAliasType

from toolkit import Codec
from toolkit.values.schemas.text_forms import TEXT_FORMS

from .kit import DATE, assert_alike, problem, read, schema_of, there_and_back, three_ways, written

ID = uuid.UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"


Handle = Annotated[bytes, Codec(schema={"type": "string"}, decode=str.encode, encode=bytes.decode)]
"""A type whose author says no more than that it is text."""


@dataclass
class Number:
    text: str


Ticket = Annotated[
    Number, Codec(schema={"type": "string", "pattern": "^T-[0-9]+$"}, decode=Number, encode=attrgetter("text"))
]
"""A type whose author says which text it is."""


@dataclass
class Cat:
    kind: Literal["cat"]
    name: str
    lives: int = 9


@dataclass
class Dog:
    kind: Literal["dog", "puppy"]
    name: str
    born: date | None = None


@dataclass
class Circle:
    radius: float
    shape: Literal["circle"] = "circle"


@dataclass
class Square:
    side: float
    shape: Literal["square"] = "square"


class Shape(TypedDict):
    shape: Literal["other"]
    points: list[int]


@dataclass
class Point:
    x: int
    y: int = 0


@dataclass
class Place:
    x: int
    z: int = 0


@dataclass
class Named:
    name: str


@dataclass
class Wrapped(Generic[T]):
    kind: Literal["wrapped"]
    item: T


@dataclass
class Plain(Generic[T]):
    kind: Literal["plain"]
    item: T


@dataclass
class Sum:
    op: Literal["sum"]
    terms: "list[Sum | Product | float]" = field(default_factory=list)


@dataclass
class Product:
    op: Literal["product"]
    left: "Sum | Product | float"
    right: "Sum | Product | float"


@dataclass
class Even:
    number: int

    def __post_init__(self):
        if self.number % 2:
            raise ValueError("an odd number is not even")


@pytest.mark.parametrize(
    ("hint", "value", "form"),
    [
        (bool | int, True, True),
        (bool | int, 1, 1),
        (int | bool, False, False),
        (int | float, 3, 3),
        (int | float, 2.5, 2.5),
        (float | int, 3, 3),
        (int | str, "3", "3"),
        (int | str | None, None, None),
        (float | bool, True, True),
        (date | datetime | str, date(2024, 5, 1), "2024-05-01"),
        (date | datetime | str, datetime(2024, 5, 1, 12), "2024-05-01T12:00:00"),
        (date | datetime | str, "someday", "someday"),
        (str | date, date(2024, 5, 1), "2024-05-01"),
        (str | time, time(12), "12:00:00"),
        (datetime | date, date(2024, 5, 1), "2024-05-01"),
        (Decimal | int | str, 5, 5),
        (Decimal | int | str, Decimal("5.5"), "5.5"),
        (Decimal | int | str, "five", "five"),
        (Decimal | float, 2.5, 2.5),
        (Path | str, "a", "a"),
        (str | Path, "a", "a"),
        (bytes | str, "test", "test"),
        (str | bytes, "test", "test"),
        (Path | int, Path("a"), "a"),
        (bytes | int, b"test", "dGVzdA=="),
        (bytes | Annotated[str, at.MaxLen(3)], b"test", "dGVzdA=="),
        (uuid.UUID | str, ID, str(ID)),
        (str | uuid.UUID, ID, str(ID)),
        (str | uuid.UUID, "x", "x"),
        (Color | str, Color.RED, "red"),
        (str | Color, Color.RED, "red"),
        (str | Color, "green", "green"),
        (Literal["a"] | int, "a", "a"),
        (Literal[1] | float, 1, 1),
        (Literal[1] | float, 2.0, 2.0),
        (list[int] | list[str], [1], [1]),
        (list[int] | list[str], ["a"], ["a"]),
        (list[str] | list[date], [date(2024, 5, 1)], ["2024-05-01"]),
        (list[int] | int, 1, 1),
        (list[int] | int, [1], [1]),
        (tuple[int, int] | list[int], (1, 2), [1, 2]),
        (tuple[int, int] | list[int], [1, 2, 3], [1, 2, 3]),
        (dict[str, int] | dict[str, str], {"a": "b"}, {"a": "b"}),
        (Point | dict[str, Any], Point(1, 2), {"x": 1, "y": 2}),
        (Point | dict[str, Any], {"x": 1, "other": 2}, {"x": 1, "other": 2}),
        (dict[str, Any] | Point, Point(1, 2), {"x": 1, "y": 2}),
        (Point | Place, Place(1, 2), {"x": 1, "z": 2}),
        (Point | Named | int, Named("a"), {"name": "a"}),
        (Point | Named | int, 3, 3),
        (Union[int, str, None], None, None),
        (Optional[Point], Point(1, 2), {"x": 1, "y": 2}),
        (Annotated[int, at.Ge(10)] | Annotated[str, at.MaxLen(3)], "abc", "abc"),
        (dict[str, int] | Any, 5, 5),
        (Point | Any, [1], [1]),
        (Literal["a"] | Any, ["b"], ["b"]),
        (list[int] | Any, "c", "c"),
        (tuple[int, int] | Any, {"d": 1}, {"d": 1}),
        (dict[Literal["a"] | Color, int], {Color.RED: 1}, {"red": 1}),
    ],
)
def test_members_are_not_confused(hint, value, form, validation):
    """Each value is read as the member that it belongs to, alone and nested."""
    there_and_back(hint, value, form, validation)
    there_and_back(list[hint], [value, value], [form, form], validation)
    there_and_back(dict[str, hint], {"a": value}, {"a": form}, validation)
    there_and_back(tuple[hint, hint], (value, value), [form, form], validation)
    there_and_back(hint | None, value, form, validation)
    there_and_back(list[hint | None], [None, value], [None, form], validation)


@pytest.mark.parametrize(
    ("hint", "form", "value"),
    [
        (int | float, 3.0, 3),
        (float | int, 3.0, 3),
        (Decimal | int, 3.0, 3),
        (int | str, 3.0, 3),
        (Literal[1, 2] | float, 1.0, 1),
        (Point | Place, {"x": 1}, Point(1)),
        (Place | Point, {"x": 1}, Place(1)),
        (Decimal | complex, "5", Decimal(5)),
        (complex | Decimal, "5", Decimal(5)),
        (complex | Decimal, "5j", 5j),
        (IPv4Interface | IPv4Network | IPv4Address, "192.0.2.1", IPv4Address("192.0.2.1")),
        (IPv4Interface | IPv4Network, "192.0.2.1", IPv4Network("192.0.2.1/32")),
        (IPv4Interface | IPv4Network, "192.0.2.1/24", IPv4Interface("192.0.2.1/24")),
        (bytes | Path, "test", b"\xb5\xeb-"),
        (Path | bytes, "test", Path("test")),
    ],
)
def test_the_narrowest_member_wins_then_the_first(hint, form, value, validation):
    """A value that fits several members is read as the narrowest. The first of equal members wins."""
    assert_alike(read(hint, form, validation), value)


@pytest.mark.parametrize(
    ("other", "form", "value"),
    [
        (bytes, "test", "test"),
        (bytes, "dGVzdA==", "dGVzdA=="),
        (bytearray, "test", "test"),
        (Annotated[bytes, at.MinLen(2)], "test", "test"),
        (Path, "http://a//b", "http://a//b"),
        (os.PathLike[str], "./a", "./a"),
        (re.Pattern, "^a+$", "^a+$"),
        (Handle, "test", "test"),
        (Ticket, "T-1", Number("T-1")),
        (Ticket, "test", "test"),
        (Decimal, "12.50", Decimal("12.50")),
        (Decimal, "twelve", "twelve"),
        (complex, "2j", 2j),
        (complex, "two", "two"),
        (date, "2024-05-01", date(2024, 5, 1)),
        (date, "2024-02-30", "2024-02-30"),
        (datetime, "2024-05-01T12:00", datetime(2024, 5, 1, 12)),
        (timedelta, "PT1H", timedelta(hours=1)),
        (timedelta, "P1Y", "P1Y"),
        (uuid.UUID, str(ID), ID),
        (uuid.UUID, ID.hex, ID.hex),
        (IPv4Address, "192.0.2.1", IPv4Address("192.0.2.1")),
        (IPv4Address, "192.0.2.256", "192.0.2.256"),
        (Color, "red", Color.RED),
        (Literal["a"], "a", "a"),
        (int, "3", "3"),
        (float, "3.5", "3.5"),
        (bool, "true", "true"),
        (None, "null", "null"),
        (list[str], "a", "a"),
        (list[str], ["a"], ["a"]),
    ],
)
def test_a_str_member_wins_for_text_unless_the_schema_can_distinguish_them(other, form, value, validation):
    """
    The word "test" is text, although it could be base64, and a date is a date. The order of declaration does not
    matter.
    """
    for hint in (Union[other, str], Union[str, other]):
        assert_alike(read(hint, form, validation), value)
        assert_alike(read(list[hint], [form], validation), [value])
        assert_alike(read(hint | None, form, validation), value)


@pytest.mark.parametrize("hint", [AnyStr, list[AnyStr], dict[str, AnyStr]])
def test_the_word_test_arrives_as_text_for_any_str(hint, validation):
    """`AnyStr` is bytes or text, and a model sends text."""
    form = {list[AnyStr]: ["test"], dict[str, AnyStr]: {"a": "test"}}.get(hint, "test")
    assert_alike(read(hint, form, validation), form)


def test_bytes_beside_text_are_not_described():
    """No text would arrive as bytes, so a model is not asked to encode any. Bytes that are returned still encode."""
    assert schema_of(bytes | str) == schema_of(AnyStr) == schema_of(Path | str) == {"type": "string"}
    assert schema_of(Annotated[bytes, at.MinLen(2)] | str) == {"type": "string"}
    assert schema_of(bytes | str | None) == {"type": ["string", "null"]}
    assert len(schema_of(Annotated[bytes, "The picture."] | str)["anyOf"]) == 2
    assert written(bytes | str, b"test") == "dGVzdA=="
    assert written(Path | str, Path("a")) == "a"


@pytest.mark.parametrize(
    ("hint", "schema"),
    [
        (int | str, {"type": ["integer", "string"]}),
        (int | None, {"type": ["integer", "null"]}),
        (date | None, {**DATE, "type": ["string", "null"]}),
        (list[int] | None, {"type": ["array", "null"], "items": {"type": "integer"}}),
        (Decimal | None, {"type": ["string", "number", "null"], **TEXT_FORMS["decimal"].schema}),
        (date | str, {"anyOf": [DATE, {"type": "string"}]}),
        (Any | None, {}),
        (int | Any, {}),
        (list[int] | tuple[int, ...], {"type": "array", "items": {"type": "integer"}}),
        (Annotated[int, "How many."] | None, {"type": ["integer", "null"], "description": "How many."}),
    ],
)
def test_a_union_is_written_as_short_as_can_be(hint, schema):
    """`anyOf` stands only where `type` cannot say it, and nothing is said twice."""
    assert schema_of(hint) == schema


@pytest.mark.parametrize(
    ("hint", "value", "form"),
    [
        (Cat | Dog, Cat("cat", "Tom", 9), {"kind": "cat", "name": "Tom", "lives": 9}),
        (Cat | Dog, Dog("puppy", "Rex", date(2024, 5, 1)), {"kind": "puppy", "name": "Rex", "born": "2024-05-01"}),
        (Cat | Dog | str, "none", "none"),
        (Cat | Dog | dict[str, Any], Cat("cat", "Tom", 9), {"kind": "cat", "name": "Tom", "lives": 9}),
        (Cat | Dog | dict[str, Any], {"kind": "cat"}, {"kind": "cat"}),
        (Circle | Square, Square(1.5), {"side": 1.5, "shape": "square"}),
        (Circle | Square | Shape, {"shape": "other", "points": [1]}, {"shape": "other", "points": [1]}),
        (Wrapped[int] | Plain[int], Plain("plain", 3), {"kind": "plain", "item": 3}),
        (Wrapped[Cat | Dog] | Plain[str], Wrapped("wrapped", Dog("dog", "Rex")), None),
        (Sum | Product, Sum("sum", [1.5, Product("product", 2.0, Sum("sum"))]), None),
    ],
)
def test_tagged_records_are_distinguished(hint, value, form, validation):
    """Records with a literal field in common are chosen by it, also optional, nested, generic and recursive."""
    form = written(hint, value) if form is None else form
    there_and_back(hint, value, form, validation)
    there_and_back(list[hint], [value], [form], validation)
    there_and_back(hint | None, value, form, validation)
    there_and_back(dict[str, hint | None], {"a": value, "b": None}, {"a": form, "b": None}, validation)


def test_a_tag_with_a_default_may_be_left_out(validation):
    """Without it, the records are tried in order."""
    assert read(Circle | Square, {"side": 2.0}, validation) == Square(2.0)
    assert read(Circle | Square | None, {"radius": 2.0}, validation) == Circle(2.0)
    assert read(list[Circle | Square] | str, [{"side": 2.0}], validation) == [Square(2.0)]


def test_deep_tagged_records_are_read_quickly(validation):
    """Each level looks at one record, so depth does not multiply the work."""
    value = 1.0
    for _ in range(12):
        value = Product("product", value, 2.0)
    form = written(Sum | Product, value)
    assert read(Sum | Product, form, validation) == value


@pytest.mark.parametrize(
    ("hint", "form", "words"),
    [
        (Cat | Dog, {"kind": "cat", "name": 3}, "value.name: expected a string"),
        (Cat | Dog, {"kind": "dog", "name": "Rex", "born": "today"}, "value.born: expected date"),
        (Cat | Dog | None, {"kind": "dog", "name": "Rex", "born": "today"}, "value.born: expected date"),
        (Cat | Dog, {"kind": "cow"}, "value"),
        (Cat | Dog, {"kind": ["cat"], "name": "Tom"}, "value"),
        (list[Cat | Dog], [{"kind": "dog", "name": "Rex", "born": "x"}], "value[0].born: expected date"),
        (Even | None, {"number": 3}, "value: an odd number is not even"),
        (Even | str | None, {"number": 3}, "value: an odd number is not even"),
        (list[Even | None], [None, {"number": 3}], "value[1]: an odd number is not even"),
        (list[date] | None, ["x"], "value[0]: expected date"),
        (date | None, "today", 'value: expected date such as "2024-05-01", got "today"'),
        (date | time, "today", "expected date such as"),
        (date | time, "today", " or time such as"),
        (bool | int, "yes", "true or false"),
        (int | str, 2.5, "an integer or a string"),
        (int | None, True, "an integer or null"),
        (list[int] | int, ["a"], "value"),
        (Even | Point, {"number": 3}, "an odd number is not even"),
    ],
)
def test_a_refusal_has_the_problem_of_the_member_that_was_meant(hint, form, words, validation):
    """This holds if the value can only be meant for one member."""
    assert words in problem(hint, form, validation)


Inner = TypeAliasType("Inner", date | dict[str, int])
Outer = TypeAliasType("Outer", Inner | None)


def test_unions_inside_unions_are_one_union(validation):
    """An alias for a union adds its members to a union around it, each as narrow as it is."""
    hint = Union[str, Outer]
    there_and_back(hint, date(2024, 5, 1), "2024-05-01", validation)
    there_and_back(hint, "text", "text", validation)
    there_and_back(hint, {"a": 1}, {"a": 1}, validation)
    there_and_back(hint, None, None, validation)
    assert [member.get("type") for member in schema_of(hint)["anyOf"]] == ["string", "string", "object", "null"]


@pytest.mark.parametrize(
    ("hint", "value"), [(int | str, 2.5), (Point | None, {"x": 1}), (list[int] | None, ["a"]), (Cat | Dog, Point(1))]
)
def test_a_value_of_no_member_does_not_encode(hint, value):
    """Encoding names the type that no member knows."""
    with pytest.raises(TypeError, match=f"got {type(value).__name__}"):
        written(hint, value)


@dataclass
class Animal:
    name: str


@dataclass
class Bird(Animal):
    wings: int = 2


def test_a_value_in_a_union_is_encoded_by_its_class(validation):
    """A subclass is not cut down to its base, in any order of the members."""
    there_and_back(Animal | Bird, Bird("Tweety", 2), {"name": "Tweety", "wings": 2}, validation)
    there_and_back(Animal | Bird, Animal("Tom"), {"name": "Tom"}, validation)


def test_optional_of_any_type_is_decoded_and_encoded(validation):
    """`Optional` of a union, a record and a list are unions like any other."""
    three_ways(Optional[int | str], "a", "a", {"type": ["integer", "string", "null"]}, validation)
    three_ways(
        Optional[Named],
        Named("a"),
        {"name": "a"},
        {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {"name": {"type": "string"}},
                    "required": ["name"],
                    "additionalProperties": False,
                },
                {"type": "null"},
            ]
        },
        validation,
    )
