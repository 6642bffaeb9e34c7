"""Dictionaries and their cousins, with keys of many types."""

import collections
import enum
import typing
import uuid
from collections import Counter, OrderedDict, abc, defaultdict
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, NewType

import annotated_types as at
import pytest
from jsonschema import Draft202012Validator

from toolkit import DefinitionError
from toolkit.values.schemas.text_forms import INTEGER_KEY, NUMBER_KEY, TEXT_FORMS

from .kit import problem, read, schema_of, three_ways, tool_for, written

ID = uuid.UUID("f81d4fae-7dec-11d0-a765-00a0c91e6bf6")
NUMBERS = {"type": "object", "additionalProperties": {"type": "integer"}}


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@pytest.mark.parametrize(
    ("hint", "value", "form", "schema"),
    [
        (dict[str, int], {"a": 1}, {"a": 1}, NUMBERS),
        (dict[str, int], {}, {}, NUMBERS),
        (dict, {"a": [1]}, {"a": [1]}, {"type": "object"}),
        (dict[str, Any], {"a": None}, {"a": None}, {"type": "object"}),
        (dict[Any, int], {"a": 1}, {"a": 1}, NUMBERS),
        (typing.Dict, {"a": 1}, {"a": 1}, {"type": "object"}),
        (typing.Dict[str, int], {"a": 1}, {"a": 1}, NUMBERS),
        (abc.Mapping[str, int], {"a": 1}, {"a": 1}, NUMBERS),
        (abc.MutableMapping[str, int], {"a": 1}, {"a": 1}, NUMBERS),
        (typing.Mapping[str, int], {"a": 1}, {"a": 1}, NUMBERS),
        (typing.MutableMapping[str, int], {"a": 1}, {"a": 1}, NUMBERS),
        (typing.Mapping, {"a": 1}, {"a": 1}, {"type": "object"}),
        (OrderedDict[str, int], OrderedDict(b=1, a=2), {"b": 1, "a": 2}, NUMBERS),
        (typing.OrderedDict[str, int], OrderedDict(a=1), {"a": 1}, NUMBERS),
        (defaultdict[str, int], defaultdict(int, a=1), {"a": 1}, NUMBERS),
        (typing.DefaultDict[str, list[int]], defaultdict(list, a=[1]), {"a": [1]}, None),
        (defaultdict, defaultdict(None, a=1), {"a": 1}, {"type": "object"}),
        (Counter[str], Counter(a=2), {"a": 2}, NUMBERS),
        (typing.Counter[str], Counter(a=2), {"a": 2}, NUMBERS),
        (Counter, Counter(a=2), {"a": 2}, NUMBERS),
        (dict[str, dict[str, date]], {"a": {"b": date(2024, 5, 1)}}, {"a": {"b": "2024-05-01"}}, None),
    ],
)
def test_mappings_go_three_ways(hint, value, form, schema, validation):
    """A mapping arrives as the type it was annotated with, its entries in the order they were sent."""
    three_ways(hint, value, form, schema_of(hint) if schema is None else schema, validation)


@pytest.mark.parametrize(
    ("key", "value", "form", "names"),
    [
        (int, 1, "1", INTEGER_KEY.schema),
        (int, -20, "-20", INTEGER_KEY.schema),
        (float, 1.5, "1.5", NUMBER_KEY.schema),
        (bool, True, "true", {"enum": ["true", "false"]}),
        (Color, Color.RED, "red", {"enum": ["red", "blue"]}),
        (Level, Level.HIGH, "2", {"enum": ["1", "2"], "description": "One of: 1 LOW, 2 HIGH."}),
        (uuid.UUID, ID, str(ID), TEXT_FORMS["uuid"].schema),
        (date, date(2024, 5, 1), "2024-05-01", TEXT_FORMS["date"].schema),
        (Path, Path("a/b"), "a/b", {"format": "path"}),
        (Decimal, Decimal("1.50"), "1.50", TEXT_FORMS["decimal"].schema),
        (Literal["a", "b"], "a", "a", {"enum": ["a", "b"]}),
        (Literal["only"], "only", "only", {"const": "only"}),
        (Literal[1, 2], 2, "2", {"enum": ["1", "2"]}),
        (Literal[True, 1], 1, "1", {"enum": ["true", "1"]}),
        (Annotated[str, at.MinLen(2)], "ab", "ab", {"minLength": 2}),
        (NewType("Name", str), "a", "a", None),
    ],
)
def test_keys_of_many_types_go_three_ways(key, value, form, names, validation):
    """A key is text in JSON, and arrives as its own type."""
    schema = {
        "type": "object",
        **({"propertyNames": names} if names else {}),
        "additionalProperties": {"type": "boolean"},
    }
    three_ways(dict[key, bool], {value: True}, {form: True}, schema, validation)


@pytest.mark.parametrize(
    ("hint", "form", "words"),
    [
        (dict[str, int], [], "expected an object"),
        (dict[str, int], {"a": "1"}, "value.a: expected an integer"),
        (dict[str, list[date]], {"a": ["2024-05-01", "x"]}, "value.a[1]: expected date"),
        (dict[int, int], {"one": 1}, "value"),
        (dict[int, int], {"01": 1}, "value"),
        (dict[int, int], {"-0": 1}, "value"),
        (dict[int, int], {"1.0": 1}, "value"),
        (dict[int, int], {"9" * 5000: 1}, "value"),
        (dict[float, int], {"NaN": 1}, "value"),
        (dict[float, int], {"x": 1}, "value"),
        (dict[float, int], {"[" * 90: 1}, "value"),
        (dict[bool, int], {"True": 1}, "value"),
        (dict[Color, int], {"RED": 1}, "value"),
        (dict[date, int], {"today": 1}, 'value: the key "today" is not expected: expected date such as "2024-05-01"'),
        (dict[uuid.UUID, int], {"x": 1}, 'value: the key "x" is not expected: expected uuid such as'),
        (Counter[str], {"a": 1.5}, "value.a: expected an integer"),
    ],
)
def test_wrong_entries_are_refused_with_their_path(hint, form, words, validation):
    assert words in problem(hint, form, validation)


@pytest.mark.parametrize(
    ("key", "names"),
    [
        (int, {"0": 0, "-1": -1, "12": 12, "-0": None, "00": None, "01": None, "+1": None, "1.0": None, "1e2": None}),
        (float, {"-0": 0.0, "1": 1.0, "1.50": 1.5, "1e2": 100.0, "00": None, "+1": None, ".5": None, "NaN": None}),
        (Decimal, {"-0": Decimal(0), "00": Decimal(0), "+1": Decimal(1), ".5": Decimal("0.5"), "NaN": None}),
    ],
)
def test_the_schema_and_the_check_agree_on_keys_that_are_numbers(key, names, validation):
    """A name that the schema accepts is a key, and a name that it refuses is a problem."""
    judge = Draft202012Validator(schema_of(dict[key, int]))
    for name, value in names.items():
        assert judge.is_valid({name: 1}) == (value is not None), name
        if value is None:
            assert "is not expected: expected a" in problem(dict[key, int], {name: 1}, validation)
        else:
            assert read(dict[key, int], {name: 1}, validation) == {value: 1}


@pytest.mark.parametrize(
    ("hint", "form"),
    [
        (dict[uuid.UUID, int], {str(ID): 1, str(ID).upper(): 2}),
        (dict[Decimal, int], {"1": 1, "1.0": 2}),
        (dict[Path, int], {"a": 1, "./a": 2}),
        (dict[float, int], {"1": 1, "1.0": 2}),
    ],
)
def test_keys_that_collapse_are_refused(hint, form, validation):
    """Two keys that become one would lose an entry."""
    assert "equal to another" in problem(hint, form, validation)


@pytest.mark.parametrize("key", [tuple[int, int], list[str], int | str, str | None, Literal["1", 1], None])
def test_a_key_that_is_not_text_is_refused(key):
    """JSON objects cannot have such keys, and the error has the remedy."""
    with pytest.raises(DefinitionError, match="keys of a JSON object are text; use str"):
        tool_for(dict[key, int])


@dataclass
class Box:
    items: list[int] = field(default_factory=list)


@dataclass
class Point:
    x: int


def test_a_missing_key_gets_a_default_of_the_annotated_type(validation):
    """A `defaultdict` has the factory of the type of its values."""
    assert read(defaultdict[str, list[int]], {}, validation)["new"] == []
    assert read(defaultdict[str, Box], {}, validation)["new"] == Box()


@pytest.mark.parametrize("item", [Point, int | None, date, Any, Literal["a"]])
def test_a_defaultdict_without_a_clear_default_is_refused(item):
    """Some types cannot be built without arguments."""
    with pytest.raises(DefinitionError, match="the default for a missing key is not known; use dict"):
        tool_for(defaultdict[str, item])


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (dict[str, int], [("a", 1)]),
        (dict[str, int], {1: 1}),
        (dict[str, int], {"a": "1"}),
        (dict[int, int], {"1": 1}),
        (dict[Color, int], {"red": 1}),
        (OrderedDict[str, int], {"a": 1}),
        (Counter[str], {"a": 1}),
    ],
)
def test_other_mappings_do_not_encode(hint, value):
    """A plain `dict` is not sent for an `OrderedDict`, nor a key of another type."""
    with pytest.raises((TypeError, ValueError)):
        written(hint, value)


def test_an_abstract_mapping_encodes_any_mapping():
    """A default of a fitting concrete type has a JSON form."""
    assert written(abc.Mapping[str, int], collections.ChainMap({"a": 1})) == {"a": 1}


class Word(str, enum.Enum):
    HEY = "hey"


def test_keys_of_a_subclass_encode_as_plain_text():
    """A member of a `str` enum is a string, and sent as its value."""
    assert written(dict[str, int], {Word.HEY: 1}) == {"hey": 1}
