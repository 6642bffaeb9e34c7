"""Any value that a tool returns becomes strict JSON or text."""

import array
import collections
import dataclasses
import datetime as dt
import decimal
import enum
import json
import pathlib
import types
import uuid
from collections.abc import Mapping, Set
from typing import Any

import msgspec
import pydantic
import pytest
from hypothesis import given

from tests.properties.values import json_values
from tests.values.odd_values import _ANYTHING, Attrs, BadStr, Colour, Level, Nothing, OrderLine, PointTuple
from toolkit import register_codec
from toolkit.values.rendering import (
    as_json,
    as_text,
    describe_value,
    dict_with_unique_keys,
    is_strict_json,
    replace_surrogates,
    require_json,
)
from toolkit.values.unsendable_value import UnsendableValue

NAN = float("nan")


class Half:
    """An object that names its fields and has only some of them, as the nodes of `ast` had before Python 3.13."""

    _fields = ("id", "context")

    def __init__(self, id):
        self.id = id


class Bits(enum.Flag):
    A = 1
    B = 2


class Struct(msgspec.Struct):
    x: float
    more: Any = None


class Model(pydantic.BaseModel):
    model_config = pydantic.ConfigDict(arbitrary_types_allowed=True)
    x: float
    more: Any = None


class Text(str):
    def __str__(self):
        return "lies"


class Number(int):
    def __int__(self):
        return 99


class Real(float):
    pass


def convert_value(value):
    """Return *value* as JSON, which is strict: written and read it is the same."""
    form = as_json(value)
    assert json.loads(json.dumps(form, allow_nan=False)) == form
    text = as_text(form).encode()
    assert text.decode() == form if isinstance(form, str) else json.loads(text) == form
    return form


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (None, None),
        (True, True),
        (5, 5),
        (1.5, 1.5),
        ("ä", "ä"),
        (NAN, "nan"),
        (float("inf"), "inf"),
        (-float("inf"), "-inf"),
        (10**5000, hex(10**5000)),
        (-(10**5000), hex(-(10**5000))),
        ("a\ud800b", "a?b"),
        (b"\xff\x00", "/wA="),
        (bytearray(b"a"), "YQ=="),
        (memoryview(b"abcd")[::2], "YWM="),
        ((1, (2, 3)), [1, [2, 3]]),
        ({3, 1, 2}, [1, 2, 3]),
        (frozenset("ba"), ["a", "b"]),
        (range(3), [0, 1, 2]),
        (collections.deque([1, 2]), [1, 2]),
        ({"a": 1}.keys(), ["a"]),
        ({"a": 1}.values(), [1]),
        (array.array("i", [1, 2]), [1, 2]),
        (collections.OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (collections.Counter("aab"), {"a": 2, "b": 1}),
        (types.MappingProxyType({"a": 1}), {"a": 1}),
        (Colour.RED, "red"),
        (Colour.PAIR, [1, 2]),
        (Level.LOW, 1),
        (Bits.A | Bits.B, 3),
        (Text("true"), "true"),
        (collections.UserString("a\ud800b"), "a?b"),
        ({collections.UserString("a"): [collections.UserString("b")]}, {"a": ["b"]}),
        (Number(5), 5),
        (Real(1.5), 1.5),
        (PointTuple(1, NAN), {"x": 1, "y": "nan"}),
        (OrderLine("a"), {"sku": "a", "price": 1.5, "inner": None}),
        (OrderLine(5, NAN, Nothing()), {"sku": 5, "price": "nan", "inner": "just words"}),
        (Attrs(1.0), {"x": 1.0, "more": None}),
        (Attrs(NAN, Nothing()), {"x": "nan", "more": "just words"}),
        (Struct(NAN), {"x": "nan", "more": None}),
        (Struct(1.0, Nothing()), {"x": 1.0, "more": "just words"}),
        (Model(x=NAN), {"x": "nan", "more": None}),
        (Model(x=1, more=Nothing()), {"x": 1.0, "more": "just words"}),
        (dt.datetime(2024, 5, 1, 12, tzinfo=dt.UTC), "2024-05-01T12:00:00Z"),
        (dt.date(2024, 5, 1), "2024-05-01"),
        (uuid.UUID(int=5), "00000000-0000-0000-0000-000000000005"),
        (pathlib.PurePosixPath("/a/b"), "/a/b"),
        (decimal.Decimal("1.50"), "1.50"),
        (decimal.Decimal("NaN"), "NaN"),
        (1j, "1j"),
        (Nothing(), "just words"),
        (ValueError("no"), "ValueError: no"),
        (ValueError(), "ValueError"),
        (OrderLine, f"<class '{OrderLine.__module__}.OrderLine'>"),
        (Half("x"), {"id": "x"}),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_value_has_a_json_form(value, form):
    """It is as near to the value as possible."""
    rendered = convert_value(value)
    if isinstance(value, dt.datetime):
        rendered = rendered.replace("+00:00", "Z")
    assert rendered == form


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("a", "a"),
        (1, "1"),
        (None, "null"),
        (True, "true"),
        (1.5, "1.5"),
        (NAN, "nan"),
        (10**5000, hex(10**5000)),
        ((1, "a"), '[1,"a"]'),
        (Colour.RED, "red"),
        (Level.LOW, "1"),
        (b"a", "YQ=="),
        (dt.date(2024, 5, 1), "2024-05-01"),
        ("\ud800", "?"),
        (frozenset({1}), "[1]"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_every_key_becomes_a_text(key, text):
    """The one its JSON form has."""
    assert convert_value({key: 1}) == {text: 1}


def test_keys_that_become_one_keep_all_values():
    """The later ones are numbered, in the order they came."""
    assert convert_value({1: "a", "1": "b", (1, 2): "c", "[1,2]": "d"}) == {
        "1": "a",
        "1 (2)": "b",
        "[1,2]": "c",
        "[1,2] (2)": "d",
    }
    assert dict_with_unique_keys([("a", 1), ("a", 2), ("a (2)", 3), ("a", 4)]) == {
        "a": 1,
        "a (2)": 2,
        "a (2) (2)": 3,
        "a (3)": 4,
    }


def test_many_keys_that_become_equal_get_different_names():
    """Each is numbered once, and not counted from the start."""
    assert len(dict_with_unique_keys(("a", number) for number in range(50_000))) == 50_000


def test_a_generator_is_shown_and_not_run():
    """It may have no end."""
    assert convert_value(number for number in range(3)).startswith("<generator object")


def test_a_cycle_ends():
    """In every kind of container, a text stands for the repeated object."""
    items: list[Any] = [1]
    items.append(items)
    assert convert_value(items) == [1, "<the same object again>"]

    mapping: dict[str, Any] = {}
    mapping["self"] = {"deeper": mapping}
    assert convert_value(mapping) == {"self": {"deeper": "<the same object again>"}}

    order = OrderLine("a")
    order.inner = [order]
    assert convert_value(order)["inner"] == ["<the same object again>"]


def test_the_same_object_twice_is_not_a_cycle():
    """Only an object inside itself is one."""
    item = [1]
    assert convert_value([item, item]) == [[1], [1]]


def test_deep_values_end():
    """The text ends at a depth that is still readable, and before the stack overflows."""
    value: Any = "bottom"
    for _ in range(100_000):
        value = [value]
    text = as_text(convert_value(value))
    assert "<too deep>" in text
    assert text.count("[") < 100


@pytest.mark.unmeasured
def test_a_small_value_that_expands_to_a_huge_one_ends():
    """Each level holds the last one twice, and the JSON would fill the memory."""
    value: Any = []
    for _ in range(40):
        value = [value, value]
    assert "<too much>" in as_text(as_json(value))


@pytest.mark.long
@pytest.mark.unmeasured
def test_a_long_list_is_kept():
    """Only its text is cut later."""
    assert len(convert_value(list(range(400_000)))) == 400_000
    assert convert_value([{"a": number} for number in range(200_000)])[-1] == {"a": 199_999}


class Endless(Set):
    def __contains__(self, item):
        return True

    def __len__(self):
        return 5

    def __iter__(self):
        while True:
            yield 1


class EndlessKeys(Mapping):
    def __getitem__(self, key):
        return 1

    def __len__(self):
        return 1

    def __iter__(self):
        number = 0
        while True:
            yield (number := number + 1)


@pytest.mark.unmeasured
@pytest.mark.first_cases(1)
@pytest.mark.parametrize("value", [Endless(), EndlessKeys()], ids=["set", "mapping"])
def test_a_container_without_end_is_cut(value):
    """The class of a user may yield items without end. A mark stands for the rest."""
    converted = as_json(value)
    assert len(converted) == 300_001
    assert "<too much>" in converted


class BadEverything:
    __slots__ = ()

    @property
    def __class__(self):
        raise RuntimeError("no class")

    def __getattribute__(self, name):
        raise RuntimeError("no attributes")

    def __iter__(self):
        raise RuntimeError("no items")

    def __repr__(self):
        raise RuntimeError("no words")


class Liar:
    @property
    def __class__(self):
        return dict


class BadItems(list):
    def __iter__(self):
        raise RuntimeError("no items")

    def __str__(self):
        return "bad items"


class StrOfSubclass:
    def __str__(self):
        return Text("words")


@dataclasses.dataclass
class Unset:
    __slots__ = ("there", "unset")
    there: int
    unset: int


@pytest.mark.parametrize(
    ("value", "form"),
    [
        (BadStr(), "<BadStr>"),
        (BadEverything(), "<BadEverything>"),
        (BadItems(), "bad items"),
        (StrOfSubclass(), "words"),
        ({"a": BadStr(), "b": 1}, {"a": "<BadStr>", "b": 1}),
        ([BadEverything()], ["<BadEverything>"]),
    ],
    ids=["str", "everything", "items", "subclass", "in a dictionary", "in a list"],
)
def test_hostile_objects_cause_no_error(value, form):
    """An object that raises is shown by the name of its type."""
    assert convert_value(value) == form


def test_an_object_that_lies_about_its_class_is_not_believed():
    """The type is asked, not the object."""
    assert "Liar object" in convert_value(Liar())


def test_a_field_that_was_never_set_is_left_out():
    value = Unset.__new__(Unset)
    value.there = 1
    assert convert_value(value) == {"there": 1}


def test_a_registered_codec_counts_for_returned_values():
    """A codec that is registered for parameters also encodes results."""

    @dataclasses.dataclass
    class Money:
        cents: int

    register_codec(
        Money, schema={"type": "string"}, decode=lambda text: Money(int(text)), encode=lambda m: f"{m.cents}c"
    )
    assert convert_value([Money(5), Money(6)]) == ["5c", "6c"]


def test_a_codec_that_gives_the_value_back_is_passed_over():
    """That is no JSON form; its fields are."""

    @dataclasses.dataclass
    class Same:
        x: int

    register_codec(Same, schema={"type": "object"}, decode=lambda value: value, encode=lambda value: value)
    assert convert_value(Same(1)) == {"x": 1}


@given(_ANYTHING)
def test_anything_becomes_strict_json(value):
    """Written without NaN, encoded as UTF-8, read back the same."""
    form = convert_value(value)
    assert is_strict_json(form)
    assert as_json(form) == form
    as_text(form).encode()


@given(json_values())
def test_json_is_not_changed(value):
    """The value is equal and another object, because the tool may go on changing its own."""
    form = as_json(value)
    assert form == value
    assert form is not value or not isinstance(form, (list, dict)) or form in ([], {})


@pytest.mark.parametrize("value", [(1,), {1: 2}, {"a": (1,)}, [{"a": {2: 3}}], Level.LOW, {"a": Text("b")}])
def test_a_value_that_json_would_change_is_not_strict(value):
    """Examples are tuples, keys that are not text, and subclasses."""
    assert not is_strict_json(value)


def test_texts_are_compact():
    """The JSON has no spaces, and a text has no quotes."""
    assert as_text({"sum": 5, "ä": [1, None]}) == '{"sum":5,"ä":[1,null]}'
    assert as_text("plain") == "plain"


def test_cleaning_leaves_clean_text_alone():
    """The same object, so that nothing is copied."""
    text = "grün"
    assert replace_surrogates(text) is text
    assert describe_value("\udc80") == "?"
    assert describe_value("") == "<str>"
    assert describe_value([1]) == "<list>"


@pytest.mark.parametrize("value", [decimal.Decimal("inf"), decimal.Decimal("-inf")])
def test_a_value_without_a_json_form_is_named_if_its_class_has_one(value):
    with pytest.raises(UnsendableValue, match=r"Infinity'\) has no JSON form, unlike other values of its class"):
        require_json(value)
