"""Typed dicts: described dictionaries that stay dictionaries."""

import typing
from datetime import date
from typing import Annotated, Any, Generic, NotRequired, Required, TypedDict, TypeVar

import annotated_types as at
import pytest
import typing_extensions

from . import future_records as future
from .kit import DATE, problem, read, record, schema_of, there_and_back, three_ways, tool_for, written

T = TypeVar("T")
INTEGER = {"type": "integer"}
TEXT = {"type": "string"}
DAY = date(2024, 5, 1)


class Movie(TypedDict):
    title: str
    released: date


class Partly(TypedDict, total=False):
    title: Required[str]
    released: date


class Mostly(TypedDict):
    title: str
    released: NotRequired[date]
    rating: NotRequired[Annotated[int, at.Le(5)]]


class Sequel(Movie):
    number: int


class LooseSequel(Movie, total=False):
    number: int


class Kept(typing_extensions.TypedDict):
    title: typing_extensions.ReadOnly[str]
    rating: typing_extensions.Required[typing_extensions.ReadOnly[int]]
    note: Annotated[typing_extensions.NotRequired[str], "A note."]


class Page(TypedDict, Generic[T]):
    items: list[T]
    next: NotRequired[T]


class DatePage(Page[date]):
    total: int


class Tree(TypedDict):
    name: str
    children: "list[Tree]"


class FutureHeir(future.Old):
    extra: int


class NewHeir(future.New):
    extra: int


class NestedHeir(future.Nested[list[T]], Generic[T]):
    first: T


class QuotedHeir(future.Quoted):
    extra: int


Odd = TypedDict("Odd", {"class": int, "with-dash": str, "": bool})


class Open(typing_extensions.TypedDict, extra_items=date):
    title: str


class Closed(typing_extensions.TypedDict, closed=True):
    title: str


class Ordered(TypedDict, total=False):
    a: int
    b: Required[int]
    c: int
    d: Required[int]


class Described(TypedDict):
    """
    What it is for.

    Attributes:
        a: From the docstring.
    """

    a: int
    b: Annotated[int, "On the spot."]
    c: int
    """From beneath the field."""


@pytest.mark.parametrize(
    ("hint", "value", "form", "schema"),
    [
        (
            Movie,
            {"title": "a", "released": DAY},
            {"title": "a", "released": "2024-05-01"},
            record({"title": TEXT, "released": DATE}, "title", "released"),
        ),
        (Partly, {"title": "a"}, {"title": "a"}, record({"title": TEXT, "released": DATE}, "title")),
        (Partly, {"title": "a", "released": DAY}, {"title": "a", "released": "2024-05-01"}, None),
        (
            Mostly,
            {"title": "a", "rating": 5},
            {"title": "a", "rating": 5},
            record({"title": TEXT, "released": DATE, "rating": INTEGER | {"maximum": 5}}, "title"),
        ),
        (
            Sequel,
            {"title": "a", "released": DAY, "number": 2},
            {"title": "a", "released": "2024-05-01", "number": 2},
            record({"title": TEXT, "released": DATE, "number": INTEGER}, "title", "released", "number"),
        ),
        (
            LooseSequel,
            {"title": "a", "released": DAY},
            {"title": "a", "released": "2024-05-01"},
            record({"title": TEXT, "released": DATE, "number": INTEGER}, "title", "released"),
        ),
        (
            Kept,
            {"title": "a", "rating": 1},
            {"title": "a", "rating": 1},
            record({"title": TEXT, "rating": INTEGER, "note": TEXT | {"description": "A note."}}, "title", "rating"),
        ),
        (
            Page[date],
            {"items": [DAY], "next": DAY},
            {"items": ["2024-05-01"], "next": "2024-05-01"},
            record({"items": {"type": "array", "items": DATE}, "next": DATE}, "items"),
        ),
        (Page, {"items": [1, "a"]}, {"items": [1, "a"]}, record({"items": {"type": "array"}, "next": {}}, "items")),
        (
            DatePage,
            {"items": [DAY], "total": 1},
            {"items": ["2024-05-01"], "total": 1},
            record({"items": {"type": "array", "items": DATE}, "next": DATE, "total": INTEGER}, "items", "total"),
        ),
        (future.Old, {"day": DAY}, {"day": "2024-05-01"}, record({"day": DATE, "label": TEXT}, "day")),
        (future.Loose, {"day": DAY}, {"day": "2024-05-01"}, record({"day": DATE, "label": TEXT}, "day")),
        (
            future.New,
            {"day": DAY, "number": 1},
            {"day": "2024-05-01", "number": 1},
            record({"day": DATE, "label": TEXT, "number": INTEGER}, "day", "number"),
        ),
        (
            FutureHeir,
            {"day": DAY, "extra": 1},
            {"day": "2024-05-01", "extra": 1},
            record({"day": DATE, "label": TEXT, "extra": INTEGER}, "day", "extra"),
        ),
        (
            NewHeir,
            {"day": DAY, "number": 1, "extra": 1},
            {"day": "2024-05-01", "number": 1, "extra": 1},
            record({"day": DATE, "label": TEXT, "number": INTEGER, "extra": INTEGER}, "day", "number", "extra"),
        ),
        (
            NestedHeir[date],
            {"item": [DAY], "days": [DAY], "first": DAY},
            {"item": ["2024-05-01"], "days": ["2024-05-01"], "first": "2024-05-01"},
            record(
                {
                    "item": {"type": "array", "items": DATE},
                    "days": {"type": "array", "items": DATE},
                    "first": DATE,
                },
                "item",
                "first",
            ),
        ),
        (QuotedHeir, {"day": None, "extra": 1}, {"day": None, "extra": 1}, None),
        (
            Odd,
            {"class": 1, "with-dash": "a", "": True},
            {"class": 1, "with-dash": "a", "": True},
            record({"class": INTEGER, "with-dash": TEXT, "": {"type": "boolean"}}, "class", "with-dash", ""),
        ),
        (
            Open,
            {"title": "a", "more": DAY},
            {"title": "a", "more": "2024-05-01"},
            {"type": "object", "properties": {"title": TEXT}, "required": ["title"], "additionalProperties": DATE},
        ),
        (Closed, {"title": "a"}, {"title": "a"}, record({"title": TEXT}, "title")),
        (
            Tree,
            {"name": "a", "children": [{"name": "b", "children": []}]},
            {"name": "a", "children": [{"name": "b", "children": []}]},
            None,
        ),
        (
            typing.Union[Movie, Odd],
            {"class": 1, "with-dash": "a", "": True},
            {"class": 1, "with-dash": "a", "": True},
            None,
        ),
    ],
)
def test_typed_dicts_go_three_ways(hint, value, form, schema, validation):
    """A typed dict is a closed object whose keys are required as it says, and arrives as a plain dict."""
    three_ways(hint, value, form, schema_of(hint) if schema is None else schema, validation)


@pytest.mark.parametrize(
    ("hint", "form", "words"),
    [
        (Movie, {"title": "a"}, "value.released: required, but missing"),
        (Movie, {"title": "a", "released": "2024-05-01", "more": 1}, "value.more: unknown key"),
        (Movie, {"title": "a", "released": "soon"}, "value.released: expected date"),
        (Mostly, {"title": "a", "rating": 6}, "value.rating: expected at most 5"),
        (Partly, {}, "value.title: required, but missing"),
        (Open, {"title": "a", "more": "soon"}, "value.more: expected date"),
        (Open, {"title": "a", "more": 1}, "value.more: expected date such as"),
        (Closed, {"title": "a", "more": 1}, "value.more: unknown key"),
        (list[Tree], [{"name": "a", "children": [{"name": 1, "children": []}]}], "value[0].children[0].name: expected"),
    ],
)
def test_wrong_objects_are_refused_with_their_path(hint, form, words, validation):
    assert words in problem(hint, form, validation)


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Movie, {"title": "a"}),
        (Movie, {"title": "a", "released": DAY, "more": 1}),
        (Movie, [("title", "a")]),
        (Movie, {"title": 1, "released": DAY}),
        (Open, {"title": "a", "more": "text"}),
    ],
)
def test_other_dicts_do_not_encode(hint, value):
    """A key too few or too many is as wrong as a value of another type."""
    with pytest.raises((TypeError, ValueError)):
        written(hint, value)


def test_keys_have_the_descriptions_of_their_author():
    """They may stand at the key, in an `Attributes` section, or beneath the key."""
    schema = schema_of(Described)
    assert schema["description"] == "What it is for."
    assert [key_schema["description"] for key_schema in schema["properties"].values()] == [
        "From the docstring.",
        "On the spot.",
        "From beneath the field.",
    ]


def test_a_dict_beside_a_typed_dict_gets_the_rest(validation):
    """The described form is narrower than any dictionary."""
    hint = Movie | dict[str, Any]
    there_and_back(hint, {"title": "a", "released": DAY}, {"title": "a", "released": "2024-05-01"}, validation)
    there_and_back(hint, {"title": "a", "released": "soon"}, {"title": "a", "released": "soon"}, validation)
    assert read(hint, {"x": [1]}, validation) == {"x": [1]}


def test_keys_come_in_the_order_of_the_class(validation):
    """The order of the sent keys does not matter, and keys may be missing."""
    received = read(Ordered, {"d": 4, "c": 3, "b": 2, "a": 1}, validation)
    assert list(received) == ["a", "b", "c", "d"]
    assert list(read(Ordered, {"d": 4, "b": 2}, validation)) == ["b", "d"]


def test_definitions_are_named_after_the_class():
    """A recursive typed dict is found under its own name."""
    assert list(tool_for(Tree).schema["$defs"]) == ["Tree"]
