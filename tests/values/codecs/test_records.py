"""Dataclasses, named tuples and attrs classes: JSON objects that become real objects."""

import dataclasses
import enum
from dataclasses import KW_ONLY, InitVar, dataclass, field
from datetime import date
from typing import Annotated, Any, ClassVar, Final, Generic, NamedTuple, Optional, TypeVar

import annotated_types as at
import attrs
import pytest

from tests.values.codecs.record_kit import DAY, Frozen, Point, T, Tree, TypedPair, Untyped
from toolkit import DefinitionError

from . import future_records as future
from .kit import DATE, problem, read, record, schema_of, there_and_back, three_ways, tool_for, written

U = TypeVar("U")
INTEGER = {"type": "integer"}
TEXT = {"type": "string"}


@dataclass
class Deep:
    point: Point
    points: list[Point] = field(default_factory=list)
    day: date = DAY


@dataclass(kw_only=True)
class Keywords:
    a: int = 1
    b: str


@dataclass
class Both:
    a: int
    _: KW_ONLY
    b: str = "b"
    c: date


@dataclass
class Limited:
    constant: ClassVar[int] = 3
    computed: int = field(init=False, default=5)
    fixed: Final[int] = 4
    size: Annotated[int, at.Gt(0)] = 1


@dataclass(slots=True)
class Slots:
    x: int
    y: list[int] = field(default_factory=list)


@dataclass
class Heir(future.Base):
    extra: int = 0


@dataclass
class Box(Generic[T]):
    item: T


@dataclass
class IntBox(Box[int]):
    label: str = ""


@dataclass
class ListBox(Box[list[T]], Generic[T]):
    first: Optional[T] = None


@dataclass
class Two(Generic[T, U]):
    left: Box[T]
    right: "Box[Box[U]]"


@dataclass
class CrateHeir(future.Crate[date]):
    pass


@dataclass
class Empty:
    pass


class Undecorated(Point):
    pass


class TypedGeneric(NamedTuple, Generic[T]):
    item: T


@attrs.define
class Attrs:
    x: int
    items: list[date] = attrs.field(factory=list)


@attrs.frozen(kw_only=True)
class Private:
    _secret: str
    computed: int = attrs.field(init=False, default=0)
    public: int = attrs.field(default=1, alias="open")


@attrs.define
class FutureAttrsHeir(future.Item):
    extra: int = 0


@attrs.define
class AttrsBox(Generic[T]):
    item: T


class AttrsHeir(Attrs):
    pass


@pytest.mark.parametrize(
    ("hint", "value", "form", "schema"),
    [
        (Point, Point(1, 2), {"x": 1, "y": 2}, record({"x": INTEGER, "y": INTEGER | {"default": 0}}, "x")),
        (
            Deep,
            Deep(Point(1), [Point(2, 3)], DAY),
            {"point": {"x": 1, "y": 0}, "points": [{"x": 2, "y": 3}], "day": "2024-05-01"},
            None,
        ),
        (
            Keywords,
            Keywords(a=1, b="x"),
            {"a": 1, "b": "x"},
            record({"a": INTEGER | {"default": 1}, "b": TEXT}, "b"),
        ),
        (Both, Both(1, b="x", c=DAY), {"a": 1, "b": "x", "c": "2024-05-01"}, None),
        (
            Limited,
            Limited(4, 2),
            {"fixed": 4, "size": 2},
            record({"fixed": INTEGER | {"default": 4}, "size": INTEGER | {"exclusiveMinimum": 0, "default": 1}}),
        ),
        (Frozen, Frozen(1), {"x": 1}, record({"x": INTEGER}, "x")),
        (Slots, Slots(1, [2]), {"x": 1, "y": [2]}, None),
        (
            Heir,
            Heir(DAY, ["a"], 3),
            {"day": "2024-05-01", "tags": ["a"], "extra": 3},
            record(
                {"day": DATE, "tags": {"type": "array", "items": TEXT}, "extra": INTEGER | {"default": 0}},
                "day",
            ),
        ),
        (Box[int], Box(1), {"item": 1}, record({"item": INTEGER}, "item")),
        (Box[Box[date]], Box(Box(DAY)), {"item": {"item": "2024-05-01"}}, None),
        (Box[int | str], Box("a"), {"item": "a"}, record({"item": {"type": ["integer", "string"]}}, "item")),
        (Box, Box([1]), {"item": [1]}, record({"item": {}}, "item")),
        (IntBox, IntBox(1, "a"), {"item": 1, "label": "a"}, None),
        (
            ListBox[date],
            ListBox([DAY], DAY),
            {"item": ["2024-05-01"], "first": "2024-05-01"},
            record(
                {
                    "item": {"type": "array", "items": DATE},
                    "first": {**DATE, "type": ["string", "null"], "default": None},
                },
                "item",
            ),
        ),
        (
            Two[int, date],
            Two(Box(1), Box(Box(DAY))),
            {"left": {"item": 1}, "right": {"item": {"item": "2024-05-01"}}},
            None,
        ),
        (CrateHeir, CrateHeir(DAY, {"a": DAY}), {"item": "2024-05-01", "more": {"a": "2024-05-01"}}, None),
        (future.Crate[int], future.Crate(1, {"a": 2}), {"item": 1, "more": {"a": 2}}, None),
        (future.Slotted, future.Slotted({1}, 2), {"set": [1], "int": 2}, None),
        (Empty, Empty(), {}, record({})),
        (Undecorated, Undecorated(1, 2), {"x": 1, "y": 2}, None),
        (
            TypedPair,
            TypedPair(1, DAY),
            {"x": 1, "day": "2024-05-01"},
            record({"x": INTEGER, "day": DATE | {"default": "2024-05-01"}}, "x"),
        ),
        (TypedGeneric[date], TypedGeneric(DAY), {"item": "2024-05-01"}, record({"item": DATE}, "item")),
        (future.Row, future.Row(DAY, "x"), {"day": "2024-05-01", "label": "x"}, None),
        (Untyped, Untyped(1, [2]), {"a": 1, "b": [2]}, record({"a": {}, "b": {"default": 2}}, "a")),
        (Attrs, Attrs(1, [DAY]), {"x": 1, "items": ["2024-05-01"]}, None),
        (
            Private,
            Private(secret="s", open=2),
            {"secret": "s", "open": 2},
            record({"secret": TEXT, "open": INTEGER | {"default": 1}}, "secret"),
        ),
        (AttrsBox[date], AttrsBox(DAY), {"item": "2024-05-01"}, record({"item": DATE}, "item")),
        (AttrsHeir, AttrsHeir(1, [DAY]), {"x": 1, "items": ["2024-05-01"]}, None),
        (FutureAttrsHeir, FutureAttrsHeir(DAY, "x", 1), {"day": "2024-05-01", "label": "x", "extra": 1}, None),
        (future.Item, future.Item(DAY, "x"), {"day": "2024-05-01", "label": "x"}, None),
    ],
)
def test_records_go_three_ways(hint, value, form, schema, validation):
    """A record is a closed JSON object of its fields, and arrives as an instance of its class."""
    three_ways(hint, value, form, schema_of(hint) if schema is None else schema, validation)


@pytest.mark.parametrize(
    ("hint", "form", "value"),
    [
        (Point, {"x": 1}, Point(1, 0)),
        (Deep, {"point": {"x": 1}}, Deep(Point(1))),
        (Keywords, {"b": "x"}, Keywords(b="x")),
        (Both, {"a": 1, "c": "2024-05-01"}, Both(1, c=DAY)),
        (Limited, {}, Limited()),
        (TypedPair, {"x": 1}, TypedPair(1)),
        (Untyped, {"a": 1}, Untyped(1)),
        (Attrs, {"x": 1}, Attrs(1)),
        (Private, {"secret": "s"}, Private(secret="s")),
        (Slots, {"x": 1}, Slots(1)),
    ],
)
def test_a_missing_field_gets_the_default_of_its_class(hint, form, value, validation):
    assert read(hint, form, validation) == value


@pytest.mark.parametrize("hint", [Deep, Slots, Attrs])
def test_a_factory_is_asked_each_time(hint, validation):
    """Two objects never share a list."""
    form = {"point": {"x": 1}} if hint is Deep else {"x": 1}
    name = dataclasses.fields(hint)[1].name if dataclasses.is_dataclass(hint) else "items"
    assert getattr(read(hint, form, validation), name) is not getattr(read(hint, form, validation), name)


@pytest.mark.parametrize(
    ("hint", "form", "words"),
    [
        (Point, [1, 2], "value: expected an object"),
        (Point, {"y": 1}, "value.x: required, but missing"),
        (Point, {"x": "1"}, "value.x: expected an integer"),
        (Point, {"x": 1, "z": 1}, "value.z: unknown key"),
        (Limited, {"computed": 1}, "value.computed: unknown key"),
        (Limited, {"constant": 1}, "value.constant: unknown key"),
        (Deep, {"point": {"x": 1}, "points": [{"x": 1}, {"x": None}]}, "value.points[1].x: expected an integer"),
        (Deep, {"point": {"x": 1}, "day": "today"}, "value.day: expected date"),
        (Private, {"_secret": "s"}, "value._secret: unknown key"),
        (TypedPair, {"x": 1, "day": "today"}, "value.day: expected date"),
    ],
)
def test_wrong_objects_are_refused_with_their_path(hint, form, words, validation):
    assert words in problem(hint, form, validation)


def test_every_problem_is_reported(validation):
    """A model corrects a call once, not field by field."""
    message = problem(list[Deep], [{"point": {"x": "1"}, "day": 3, "more": 1}, {}], validation)
    assert "value[0].point.x: expected an integer" in message
    assert 'value[0].day: expected date such as "2024-05-01", got 3' in message
    assert "value[0].more: unknown key" in message
    assert "value[1].point: required, but missing" in message


def test_every_failed_conversion_is_reported(validation):
    message = problem(list[Heir], [{"day": "a"}, {"day": "b"}], validation)
    assert "value[0].day: expected date" in message
    assert "value[1].day: expected date" in message


@dataclass
class Range:
    low: int
    high: int

    def __post_init__(self):
        if self.low > self.high:
            raise ValueError("low must not be above high")


@dataclass
class Broken:
    x: int

    def __post_init__(self):
        raise RuntimeError


@attrs.define
class Checked:
    x: int = attrs.field(validator=attrs.validators.lt(10))
    y: float = attrs.field(default=0, converter=float)


class Small(NamedTuple("_Small", [("x", int)])):
    def __new__(cls, x):
        if x > 10:
            raise ValueError("too big")
        return super().__new__(cls, x)


@pytest.mark.parametrize(
    ("hint", "form", "message"),
    [
        (Range, {"low": 2, "high": 1}, "value: low must not be above high"),
        (list[Range], [{"low": 1, "high": 1}, {"low": 2, "high": 1}], "value[1]: low must not be above high"),
        (dict[str, Range], {"a": {"low": 2, "high": 1}}, "value.a: low must not be above high"),
        (Box[Range], {"item": {"low": 2, "high": 1}}, "value.item: low must not be above high"),
        (Range | None, {"low": 2, "high": 1}, "value: low must not be above high"),
        (Broken, {"x": 1}, "value: RuntimeError"),
        (Checked, {"x": 10}, "value.x: expected less than 10, got 10"),
        (Small, {"x": 11}, "value: too big"),
    ],
)
def test_an_error_of_a_constructor_is_a_problem_of_the_call(hint, form, message, validation):
    """A class can refuse values that its types allow, and the model reads why and where."""
    assert problem(hint, form, validation) == message


def test_a_converter_makes_the_value(validation):
    """attrs converts what arrives, as it does for everyone else."""
    received = read(Checked, {"x": 1, "y": 2}, validation)
    assert (received.y, type(received.y)) == (2.0, float)


@attrs.define
class SelfMade:
    x: int
    double: int = attrs.field(default=attrs.Factory(lambda self: self.x * 2, takes_self=True))


def test_a_factory_that_depends_on_the_object_runs_in_the_constructor(validation):
    """Its default may need other fields."""
    assert read(SelfMade, {"x": 2}, validation) == SelfMade(2, 4)
    there_and_back(SelfMade, SelfMade(2, 5), {"x": 2, "double": 5}, validation)


@dataclass
class Scaled:
    size: float
    factor: InitVar[float] = 1.0
    label: str = ""

    def __post_init__(self, factor):
        self.size *= factor


def test_init_vars_are_accepted_and_not_kept(validation):
    """An `InitVar` is a property to send. The object does not keep it, so it is not sent back."""
    assert schema_of(Scaled)["properties"]["factor"] == {"type": "number", "default": 1.0}
    assert read(Scaled, {"size": 2.0, "factor": 3, "label": "a"}, validation) == Scaled(6.0, 1.0, "a")
    assert written(Scaled, Scaled(2.0, 3.0)) == {"size": 6.0, "label": ""}
    assert written(Scaled, read(Scaled, {"size": 6.0, "label": ""}, validation)) == {"size": 6.0, "label": ""}


def test_fields_may_be_called_like_types(validation):
    """`list: list[int]` means the type, also where annotations are text."""
    value = future.Tricky([1], "x", DAY)
    there_and_back(future.Tricky, value, {"list": [1], "str": "x", "date": "2024-05-01"}, validation)


@dataclass
class Reordered:
    x: int
    y: str

    def __init__(self, y: str, x: int = 7):
        self.x, self.y = x, y


@dataclass(init=False)
class Parsed:
    words: list[str]

    def __init__(self, text: str, *, words: "list[str]" = ()):
        self.words = [*text.split(), *words]


@dataclass
class Variadic:
    x: int

    def __init__(self, *args):
        self.x = args[0]


def test_a_hand_written_constructor_decides_the_schema(validation):
    """The fields do not count then."""
    assert schema_of(Reordered) == record({"y": TEXT, "x": INTEGER | {"default": 7}}, "y")
    there_and_back(Reordered, Reordered("a", 1), {"y": "a", "x": 1}, validation)
    assert list(schema_of(Parsed)["properties"]) == ["text", "words"]
    assert read(Parsed, {"text": "a b", "words": ["c"]}, validation).words == ["a", "b", "c"]


def test_a_constructor_of_any_arguments_is_refused():
    """Its schema is not known."""
    with pytest.raises(DefinitionError, match="Variadic: its __init__ takes .*take plain parameters"):
        tool_for(Variadic)


def test_one_tool_may_use_a_generic_with_many_arguments(validation):
    """Each set of arguments is a type of its own."""
    hint = tuple[Tree[int], Tree[date], Box[int], Box[str]]
    value = (Tree(1, [Tree(2)]), Tree(DAY), Box(1), Box("a"))
    there_and_back(hint, value, written(hint, value), validation)
    assert sorted(tool_for(hint).schema["$defs"]) == ["Tree_date", "Tree_int"]


@pytest.mark.parametrize("hint", [set[Frozen], frozenset[TypedPair], dict[str, set[Frozen]]])
def test_hashable_records_can_be_in_a_set(hint, validation):
    """A frozen dataclass or a named tuple is a fine item."""
    form = [{"x": 1}, {"x": 2}]
    received = read(hint, {"a": form} if hint == dict[str, set[Frozen]] else form, validation)
    assert len(received["a"] if isinstance(received, dict) else received) == 2


class Holding(NamedTuple):
    items: list[int]


@pytest.mark.parametrize("hint", [set[Point], set[Holding], set[Attrs]])
def test_records_that_cannot_be_hashed_cannot_be_in_a_set(hint):
    """A dataclass is hashable only if it is frozen, a named tuple if its items are."""
    with pytest.raises(DefinitionError, match="cannot be hashed"):
        tool_for(hint)


class Color(enum.Enum):
    RED = "red"


@dataclass
class WithDefaults:
    color: Color = Color.RED
    point: Point = field(default_factory=lambda: Point(1))
    odd: int = "not a number"  # type: ignore[assignment]
    hidden: Any = object()
    nan: float = float("nan")


def test_defaults_are_shown_in_their_json_form():
    """A default without a JSON form of the type is passed on, and not shown."""
    properties = schema_of(WithDefaults)["properties"]
    assert properties["color"]["default"] == "red"
    assert not any("default" in properties[name] for name in ("point", "odd", "hidden", "nan"))
    assert read(WithDefaults, {}).odd == "not a number"
