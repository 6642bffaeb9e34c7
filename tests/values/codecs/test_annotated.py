"""`Annotated`: limits and descriptions from every package that states them, at any depth."""

import re
import typing
from collections import deque
from dataclasses import dataclass
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any, Literal, NewType, Optional, Union

import annotated_types as at
import msgspec
import pydantic
import pytest
import typing_extensions
from pydantic import Field
from typing_extensions import Doc

from toolkit import Codec, DefinitionError
from toolkit.spec import Tool

from .kit import problem, read, schema_of, there_and_back, three_ways, tool_for, written

INTEGER = {"type": "integer"}
NUMBER = {"type": "number"}
TEXT = {"type": "string"}
DAY = date(2024, 5, 1)


@pytest.mark.parametrize(
    ("hint", "good", "bad", "schema"),
    [
        (Annotated[int, at.Gt(0)], 1, 0, INTEGER | {"exclusiveMinimum": 0}),
        (Annotated[int, at.Ge(1)], 1, 0, INTEGER | {"minimum": 1}),
        (Annotated[int, at.Lt(5)], 4, 5, INTEGER | {"exclusiveMaximum": 5}),
        (Annotated[int, at.Le(5)], 5, 6, INTEGER | {"maximum": 5}),
        (Annotated[int, at.Interval(ge=1, lt=5)], 1, 5, INTEGER | {"minimum": 1, "exclusiveMaximum": 5}),
        (Annotated[int, at.MultipleOf(3)], 6, 7, INTEGER | {"multipleOf": 3}),
        (Annotated[float, at.MultipleOf(0.5)], 2.5, 2.25, NUMBER | {"multipleOf": 0.5}),
        (Annotated[float, at.Ge(0.5)], 0.5, 0.25, NUMBER | {"minimum": 0.5}),
        (Annotated[float, at.Le(Decimal("0.5"))], 0.5, 0.75, NUMBER | {"maximum": 0.5}),
        (Annotated[float, at.Lt(Fraction(1, 2))], 0.25, 0.5, NUMBER | {"exclusiveMaximum": 0.5}),
        (Annotated[int, at.Gt(0), at.Lt(5), "Both."], 1, 5, None),
        (Annotated[Annotated[int, at.Gt(0)], at.Lt(5)], 1, 0, INTEGER | {"exclusiveMinimum": 0, "exclusiveMaximum": 5}),
        (Annotated[str, at.MinLen(2)], "ab", "a", TEXT | {"minLength": 2}),
        (Annotated[str, at.MaxLen(2)], "🎉🎉", "🎉🎉🎉", TEXT | {"maxLength": 2}),
        (Annotated[str, at.Len(1, 2)], "a", "", TEXT | {"minLength": 1, "maxLength": 2}),
        (Annotated[str, at.Len(0, 0)], "", "a", TEXT | {"maxLength": 0}),
        (Annotated[list[int], at.MinLen(1)], [1], [], {"type": "array", "items": INTEGER, "minItems": 1}),
        (Annotated[dict[str, int], at.MaxLen(1)], {"a": 1}, {"a": 1, "b": 2}, None),
        (Annotated[set[int], at.MaxLen(1)], {1}, [1, 2], None),
        (Annotated[deque[int], at.MinLen(1)], deque([1]), [], None),
        (Annotated[tuple[int, ...], at.Len(2, 2)], (1, 2), [1], None),
        (Annotated[str, at.Predicate(str.islower)], "a", "A", TEXT),
        (at.LowerCase[str], "a", "A", TEXT),
        (at.UpperCase[str], "A", "a", TEXT),
        (at.IsDigit[str], "12", "1a", TEXT),
        (Annotated[str, at.Predicate(lambda text: text != "no")], "yes", "no", TEXT),
        (Annotated[int, Field(gt=0, le=10, multiple_of=2)], 2, 3, None),
        (Annotated[str, Field(min_length=1, max_length=3, pattern="^a")], "abc", "b", None),
        (Annotated[str, Field(pattern=re.compile("^a", re.I))], "Abc", "b", TEXT | {"pattern": "(?i)^a"}),
        (Annotated[str, pydantic.StringConstraints(min_length=2, pattern="b")], "ab", "b", None),
        (pydantic.PositiveInt, 1, 0, INTEGER | {"exclusiveMinimum": 0}),
        (pydantic.conint(ge=1, le=2), 1, 3, None),
        (pydantic.conlist(int, min_length=1), [1], [], None),
        (Annotated[int, msgspec.Meta(ge=1, lt=5)], 1, 5, INTEGER | {"minimum": 1, "exclusiveMaximum": 5}),
        (Annotated[str, msgspec.Meta(min_length=1, pattern="^a")], "a", "b", None),
        (list[Annotated[int, at.Gt(0)]], [1], [0], {"type": "array", "items": INTEGER | {"exclusiveMinimum": 0}}),
        (dict[str, list[Annotated[int, at.Gt(0)]]], {"a": [1]}, {"a": [0]}, None),
        (NewType("Age", Annotated[int, at.Ge(0)]), 3, -1, INTEGER | {"minimum": 0}),
        (Annotated[Literal[1, 2, 3], at.Lt(3)], 2, 3, None),
    ],
)
def test_limits_go_three_ways(hint, good, bad, schema, validation):
    """A limit of a package is in the schema if the schema can express it, and holds in any case."""
    form = written(hint, good)
    three_ways(hint, good, form, schema_of(hint) if schema is None else schema, validation)
    assert problem(hint, bad, validation).startswith("value")
    assert problem(list[Optional[hint]], [None, bad], validation).startswith("value[1]")


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (Annotated[Decimal, at.Gt(0)], ["0.5", 1, 0.5], ["0", "-1", 0, -0.5]),
        (Annotated[Decimal, at.Ge(0.1)], ["0.1", 0.1], ["0.09", 0.09]),
        (Annotated[Decimal, at.Le(Decimal("0.1"))], ["0.1", 0.1], ["0.11", 1]),
        (Annotated[Decimal, at.MultipleOf(Decimal("0.25"))], ["0.5", "0.75"], ["0.3"]),
        (Annotated[Decimal, at.MultipleOf(0.1)], ["0.3"], ["0.35"]),
        (Annotated[Decimal, at.MultipleOf(Decimal("0.01"))], ["19.99", 19.99], ["19.995", 19.995]),
        (Annotated[float, at.MultipleOf(0.01)], [19.99, -0.07, 7], [19.995]),
        (Annotated[float, Field(multiple_of=0.1)], [0.3], [0.1 + 0.2]),
        (Annotated[Decimal, Field(max_digits=3, decimal_places=1)], ["99.9", "99.90", 5], ["1.25", "100.1", "1000"]),
        (Annotated[date, at.Ge(DAY)], ["2024-05-01"], ["2024-04-30"]),
        (Annotated[timedelta, at.Gt(timedelta(0))], ["PT1S"], ["PT0S", "-PT1S"]),
        (Annotated[timedelta, at.MultipleOf(timedelta(hours=1))], ["PT2H"], ["PT90M"]),
        (Annotated[str, at.Ge("b")], ["b", "c"], ["a"]),
        (Annotated[bytes, at.MaxLen(3)], ["YWJj"], ["YWJjZA=="]),
        (Annotated[bytearray, at.MinLen(1)], ["YQ=="], [""]),
        (Annotated[bytes | None, at.MaxLen(3)], ["YWJj", None], ["YWJjZA=="]),
        (Annotated[bytes | list[int], at.MaxLen(1)], ["YQ==", [1]], ["YWI=", [1, 2]]),
        (Annotated[int | None, at.Gt(0)], [1, None], [0]),
        (Annotated[str | None, at.MinLen(1)], ["a", None], [""]),
        (Annotated[list[int] | None, at.MinLen(1)], [[1], None], [[]]),
        (Annotated[date | None, at.Ge(DAY)], ["2024-05-01", None], ["2024-04-30"]),
        (Annotated[int | str, at.Gt(0)], [1, "a"], [0]),
        (Annotated[int | str, at.MinLen(2)], [1, "ab"], ["a"]),
        (Annotated[int | bool, at.Gt(0)], [1, False], [0]),
        (Annotated[Decimal | None, at.Gt(0)], ["1", 1, None], ["0", 0]),
        (Annotated[date | int, at.Ge(DAY)], ["2024-05-01", 1], ["2024-04-30"]),
        (Annotated[date | int, at.Gt(0)], ["2024-05-01", 1], [0]),
        (Annotated[str | list[str], at.MinLen(1)], ["a", ["a"]], ["", []]),
        (Annotated[str | None, at.Predicate(str.islower)], ["a", None], ["A"]),
        (Annotated[int | str, Field(pattern="^a")], [1, "a"], ["b"]),
        (Annotated[Any, at.Gt(0)], [1, "a", None, [1]], [0]),
        (Annotated[Any, at.MinLen(1)], ["a", [1], {"a": 1}, 5], ["", [], {}]),
        (Annotated[float, at.Lt(float("inf"))], [1e300], []),
        (Annotated[str, at.Predicate(at.Not(str.islower))], ["A"], ["a"]),
        (Annotated[float, at.Le(2**53)], [2**53], [2**53 + 1]),
        (Annotated[int, at.MultipleOf(0.5)], [3], []),
        (Annotated[float, at.MultipleOf(0.5)], [1.5, 1e308, 10**308], [0.25]),
        (Annotated[float | date, at.Le(2**53)], [2**53, "2024-05-01"], [2**53 + 1]),
        (Annotated[Decimal | None, Field(max_digits=2)], ["12", None], ["123"]),
        (Annotated[str, Field(min_length=0, max_length=1)], ["", "a"], ["ab"]),
        (Annotated[Decimal | bool | float, at.MultipleOf(2)], ["4", 4, True], ["3", 3]),
        (Annotated[int | date, at.MultipleOf(2)], [4, "2024-05-01"], [3]),
    ],
)
def test_limits_hold_against_the_real_value(hint, good, bad, validation):
    """A limit that JSON cannot say is held against the decoded value; in a union it speaks of what it can compare."""
    tool = tool_for(hint)
    for form in good:
        tool.check({"value": form}, validation=validation)
    for form in bad:
        assert problem(hint, form, validation).startswith("value: ")


def test_a_limit_names_itself():
    """The message says what would be right."""
    assert problem(Annotated[int, at.Gt(0)], 0) == "value: expected more than 0, got 0"
    assert "expected at least 2024-05-01" in problem(Annotated[date, at.Ge(DAY)], "2024-01-01")
    assert "str.islower holds" in problem(at.LowerCase[str], "A")
    assert "its author's check" in problem(Annotated[str, at.Predicate(lambda text: False)], "A")
    assert "at most 3 bytes" in problem(Annotated[bytes, at.MaxLen(3)], "YWJjZA==")
    assert "at most 1 digit after the point" in problem(Annotated[Decimal, Field(decimal_places=1)], "1.25")


@pytest.mark.parametrize(
    "hint",
    [
        Annotated[NewType("Positive", Annotated[int, at.Gt(0)]), at.Gt(-5)],
        Annotated[int, at.Gt(0), at.Gt(-5)],
        Annotated[int, at.Gt(-5), Field(gt=0)],
    ],
)
def test_limits_of_one_kind_add_up(hint, validation):
    """A wider limit does not hide a narrower one, neither in the check nor in the schema."""
    assert read(hint, 1, validation) == 1
    assert problem(hint, 0, validation) == "value: expected more than 0, got 0"


class Even(at.GroupedMetadata):
    """Made of others, as annotated-types allows."""

    def __iter__(self):
        yield at.MultipleOf(2)
        yield at.Interval(ge=0)


class Short(at.MaxLen):
    pass


def test_metadata_made_from_annotated_types_counts(validation):
    """A user's own group or subclass is as good as the package's."""
    three_ways(Annotated[int, Even()], 2, 2, INTEGER | {"multipleOf": 2, "minimum": 0}, validation)
    three_ways(Annotated[str, Short(2)], "ab", "ab", TEXT | {"maxLength": 2}, validation)


class Marker(at.BaseMetadata):
    """A user's own metadata, which only has the same base class."""

    gt = 5


class Info(pydantic.BaseModel):
    description: str = "internal"
    gt: int = 5


@pytest.mark.parametrize("item", [object(), 3, None, {"gt": 5}, ["x"], Info(), Info, Marker(), str.upper])
def test_unknown_metadata_is_ignored(item, validation):
    """Metadata of another library changes nothing."""
    assert schema_of(Annotated[int, item]) == INTEGER
    there_and_back(Annotated[int, item], 1, 1, validation)
    there_and_back(dict[str, list[Annotated[int, item]]], {"a": [1]}, {"a": [1]}, validation)


@pytest.mark.parametrize(
    "item", ["Text.", Doc("Text."), Field(description="Text."), msgspec.Meta(description=" Text.\n")]
)
def test_every_way_to_describe_a_value_counts(item, validation):
    """A plain string, `Doc`, `Field` and `Meta` say the same."""
    three_ways(Annotated[int, item], 1, 1, INTEGER | {"description": "Text."}, validation)
    assert schema_of(list[Annotated[int, item]])["items"]["description"] == "Text."


def describe_parameter(hint, default=...):
    """Return the schema of a parameter that its docstring describes as well."""

    def probe(value):
        """
        Probe.

        Args:
            value: From the docstring.
        """

    probe.__annotations__["value"] = hint
    if default is not ...:
        probe.__defaults__ = (default,)
    return Tool.described(probe).schema["properties"]["value"]


@pytest.mark.parametrize(
    ("hint", "text"),
    [
        (Annotated[int, "On the spot."], "On the spot."),
        (Annotated[int, Doc("On the spot.")], "On the spot."),
        (Annotated[int, Field(description="On the spot.")], "On the spot."),
        (Annotated[Optional[int], "On the spot."], "On the spot."),
        (Optional[Annotated[int, "On the spot."]], "On the spot."),
        (Annotated[int, "", "On the spot."], "On the spot."),
        (Annotated[int, ""], "From the docstring."),
        (Annotated[int, Doc("  ")], "From the docstring."),
        (Annotated[int, Field(description="")], "From the docstring."),
        (Annotated[int, at.Gt(0)], "From the docstring."),
        (int, "From the docstring."),
        (Union[Annotated[int, "A number."], Annotated[str, "A name."]], "From the docstring."),
    ],
)
def test_an_annotation_wins_over_the_docstring(hint, text):
    """An empty description does not count."""
    assert describe_parameter(hint)["description"] == text


@pytest.mark.parametrize(
    ("hint", "default", "schema"),
    [
        (int, Field(default=3, gt=0), INTEGER | {"exclusiveMinimum": 0, "default": 3}),
        (int, Field(3, description="Field."), INTEGER | {"default": 3, "description": "Field."}),
        (list[int], Field(default_factory=list, max_length=2), {"type": "array", "items": INTEGER, "maxItems": 2}),
        (Annotated[int, Field(default=3, gt=0)], ..., INTEGER | {"exclusiveMinimum": 0, "default": 3}),
        (Annotated[int, Field(gt=0)], 3, INTEGER | {"exclusiveMinimum": 0, "default": 3}),
        (Annotated[list[int], Field(default_factory=list)], ..., {"type": "array", "items": INTEGER}),
        (str, Field("a", examples=["a", "b"]), TEXT | {"default": "a", "examples": ["a", "b"]}),
        (int | None, Field(None, ge=1), {"type": ["integer", "null"], "minimum": 1, "default": None}),
    ],
)
def test_a_pydantic_field_may_be_the_default(hint, default, schema, validation):
    """`Field` as a default value, or inside `Annotated`, states limits and the default itself."""
    tool = with_default(hint, default)
    expected = schema.get("default", [])
    assert tool.schema["properties"]["value"] == schema
    assert "required" not in tool.schema
    assert tool.check({}, validation=validation) == {"value": expected}


def with_default(hint, default):
    """Return a tool whose parameter has a default, unless that is an ellipsis."""

    def probe(value): ...

    probe.__annotations__["value"] = hint
    if default is not ...:
        probe.__defaults__ = (default,)
    return Tool.described(probe, description="Probe.")


def test_a_required_field_stays_required():
    """`Field(...)` has limits and no default."""
    tool = with_default(int, Field(..., gt=0))
    assert tool.schema["required"] == ["value"]
    assert tool.schema["properties"]["value"] == INTEGER | {"exclusiveMinimum": 0}


def test_a_factory_makes_a_new_default_each_time(validation):
    """Two calls never share a list."""
    tool = with_default(list[int], Field(default_factory=list))
    tool.check({}, validation=validation)["value"].append(1)
    assert tool.check({}, validation=validation) == {"value": []}


def test_examples_are_in_the_schema():
    assert schema_of(Annotated[str, Field(examples=["a"])])["examples"] == ["a"]
    assert schema_of(Annotated[str, msgspec.Meta(examples=["a"])])["examples"] == ["a"]


@pytest.mark.parametrize("hint", [Annotated[str, Field(pattern="(")], list[Annotated[str, Field(pattern="*")]]])
def test_an_invalid_pattern_is_refused(hint):
    """A mistake in a pattern shows where it was made."""
    with pytest.raises(DefinitionError, match=r"parameter `value`: .*not a regular expression"):
        tool_for(hint)


def test_a_pattern_cannot_stall_the_process(validation):
    """A pattern that would backtrack for ever gives its answer at once."""
    hint = Annotated[str, Field(pattern="^(a+)+$")]
    assert read(hint, "a" * 50, validation) == "a" * 50
    assert problem(hint, "a" * 50 + "b", validation)


@dataclass
class Fahrenheit:
    degrees: float


FAHRENHEIT = Codec(
    schema={"type": "string", "pattern": "^-?[0-9.]+F$"},
    decode=lambda text: Fahrenheit(float(text[:-1])),
    encode=lambda value: f"{value.degrees}F",
)


def test_a_codec_may_be_given_on_the_spot(validation):
    """`Annotated[..., Codec(...)]` is how one parameter has a form of its own."""
    hint = Annotated[Fahrenheit, FAHRENHEIT]
    three_ways(hint, Fahrenheit(70.5), "70.5F", TEXT | {"pattern": "^-?[0-9.]+F$"}, validation)
    assert problem(hint, "70.5C", validation).startswith("value: expected text that matches")
    assert problem(hint, "1.2.3F", validation).startswith("value: could not convert")
    assert problem(hint, 70, validation) == "value: expected a string, got 70"


def test_a_codec_on_the_spot_is_strict_in_a_union(validation):
    """The functions see only what fits the schema, so other members get the rest."""
    hint = Annotated[Fahrenheit, FAHRENHEIT] | int | str
    there_and_back(hint, Fahrenheit(1.5), "1.5F", validation)
    there_and_back(hint, 3, 3, validation)
    there_and_back(hint, "cold", "cold", validation)


def test_a_codec_on_the_spot_may_be_limited_and_described(validation):
    """Limits and descriptions beside a codec count as beside any type."""
    hint = Annotated[Fahrenheit, FAHRENHEIT, at.MaxLen(6), "Outside."]
    assert schema_of(hint) == TEXT | {"pattern": "^-?[0-9.]+F$", "maxLength": 6, "description": "Outside."}
    assert problem(hint, "70.1234F", validation)


def test_both_spellings_of_annotated_are_one(validation):
    """typing's and typing_extensions' `Annotated` are the same."""
    three_ways(typing_extensions.Annotated[int, at.Gt(0)], 1, 1, INTEGER | {"exclusiveMinimum": 0}, validation)
    three_ways(
        typing.Annotated[Path, "Where."], Path("a"), "a", TEXT | {"format": "path", "description": "Where."}, validation
    )
