"""Literals, enums and flags: one of a few constants."""

import enum
import functools
import itertools
import operator
import sys
import typing
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal

import pytest
import typing_extensions

from toolkit import BadArgs, DefinitionError

from .kit import problem, read, schema_of, there_and_back, three_ways, tool_for, written


class Color(enum.Enum):
    RED = "red"
    BLUE = "blue"
    CRIMSON = "red"  # noqa: PIE796 -- an alias is what is tried


class Mode(enum.StrEnum):
    FAST = enum.auto()
    SLOW = enum.auto()


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Loud(str, enum.Enum):
    HEY = "hey"
    HO = "ho"


class Single(enum.Enum):
    ONE = 1


class Mixed(enum.Enum):
    NOTHING = None
    YES = True
    NO = False
    HALF = 0.5
    TWO = 2
    TEXT = "text"


class Day(enum.Enum):
    FIRST = date(2024, 5, 1)
    SECOND = date(2024, 5, 2)


class Place(enum.Enum):
    HOME = Path("home")
    PRICE = Decimal("1.50")


class Right(enum.Flag):
    READ = 1
    WRITE = 2
    RUN = 8
    ALL = 11


class Bits(enum.IntFlag):
    A = 1
    B = 2


Wide = enum.IntFlag("Wide", {f"M{number}": 4**number for number in range(13)})


class Odd(enum.Enum):
    """Its members cannot be hashed."""

    A = "a"
    B = "b"

    def __eq__(self, other):
        return self is other


class Pair(enum.Flag, boundary=enum.KEEP):
    BOTH = 3


@pytest.mark.parametrize(
    ("hint", "value", "form", "schema"),
    [
        (Literal["a", "b"], "a", "a", {"type": "string", "enum": ["a", "b"]}),
        (Literal["only"], "only", "only", {"type": "string", "const": "only"}),
        (Literal[1, 2], 2, 2, {"type": "integer", "enum": [1, 2]}),
        (Literal[True], True, True, {"type": "boolean", "const": True}),
        (Literal[None], None, None, {"type": "null"}),
        (Literal["a", None], None, None, {"enum": ["a", None]}),
        (Literal["a", 1, True, None], True, True, {"enum": ["a", 1, True, None]}),
        (Literal["a", 1, True, None], 1, 1, {"enum": ["a", 1, True, None]}),
        (Literal[0, False, "0"], False, False, {"enum": [0, False, "0"]}),
        (Literal[0, False, "0"], 0, 0, {"enum": [0, False, "0"]}),
        (Literal[0, False, "0"], "0", "0", {"enum": [0, False, "0"]}),
        (Literal[Color.RED, "other"], Color.RED, "red", {"type": "string", "enum": ["red", "other"]}),
        (Literal[Color.RED, "red"], Color.RED, "red", {"type": "string", "const": "red"}),
        (Literal[Literal["a"], Literal["b"]], "b", "b", {"type": "string", "enum": ["a", "b"]}),
        (typing_extensions.Literal["x"], "x", "x", {"type": "string", "const": "x"}),
        (Color, Color.BLUE, "blue", {"type": "string", "enum": ["red", "blue"]}),
        (Mode, Mode.SLOW, "slow", {"type": "string", "enum": ["fast", "slow"]}),
        (Level, Level.HIGH, 2, {"type": "integer", "enum": [1, 2], "description": "One of: 1 LOW, 2 HIGH."}),
        (Loud, Loud.HEY, "hey", {"type": "string", "enum": ["hey", "ho"]}),
        (Odd, Odd.B, "b", {"type": "string", "enum": ["a", "b"]}),
        (Single, Single.ONE, 1, {"type": "integer", "const": 1, "description": "One of: 1 ONE."}),
        (Day, Day.SECOND, "2024-05-02", {"type": "string", "enum": ["2024-05-01", "2024-05-02"]}),
        (Place, Place.HOME, "home", {"type": "string", "enum": ["home", "1.50"]}),
        (Place, Place.PRICE, "1.50", {"type": "string", "enum": ["home", "1.50"]}),
        (
            Right,
            Right.READ | Right.WRITE,
            3,
            {"type": "integer", "enum": [0, 1, 2, 3, 8, 9, 10, 11], "description": "A sum of: 1 READ, 2 WRITE, 8 RUN."},
        ),
        (
            Bits,
            Bits(0),
            0,
            {"type": "integer", "minimum": 0, "maximum": 3, "description": "A sum of: 1 A, 2 B."},
        ),
        (Pair, Pair.BOTH, 3, {"type": "integer", "minimum": 0, "maximum": 3, "description": "A sum of: 3 BOTH."}),
    ],
)
def test_choices_go_three_ways(hint, value, form, schema, validation):
    """A choice is sent as its value, and arrives as the constant or the member itself."""
    three_ways(hint, value, form, schema, validation)
    assert (written(hint, value), read(hint, form, validation)) == (form, value)


@pytest.mark.parametrize("member", list(Mixed))
def test_an_enum_may_have_values_of_many_kinds(member, validation):
    """None, truth, numbers and text are all values a member can have."""
    there_and_back(Mixed, member, member.value, validation)
    there_and_back(list[Mixed], [member], [member.value], validation)
    assert read(Mixed, member.value, validation) is member


def test_an_alias_of_a_member_is_that_member(validation):
    """Two names for one value are one choice."""
    assert schema_of(Color)["enum"] == ["red", "blue"]
    assert written(Color, Color.CRIMSON) == "red"
    assert read(Color, "red", validation) is Color.CRIMSON


@pytest.mark.parametrize(
    ("hint", "form", "value"), [(Level, 2.0, Level.HIGH), (Right, 3.0, Right(3)), (Literal[1], 1.0, 1)]
)
def test_a_whole_number_may_be_written_as_a_float(hint, form, value, validation):
    """JSON Schema takes `2.0` for the constant 2."""
    received = read(hint, form, validation)
    assert (received, type(received)) == (value, type(value))


@pytest.mark.parametrize(
    ("hint", "form", "words"),
    [
        (Literal["a", "b"], "c", 'expected "a" or "b"'),
        (Literal[1], True, "expected 1"),
        (Literal[1], "1", "expected 1"),
        (Literal[True], 1, "expected true"),
        (Literal["a", None], "None", 'expected "a" or null'),
        (Literal["a"], ["a"], 'expected "a"'),
        (Color, "RED", 'expected "red" or "blue"'),
        (Color, "CRIMSON", 'expected "red" or "blue"'),
        (Level, True, "expected 1 (LOW) or 2 (HIGH)"),
        (Level, 3, "expected 1 (LOW) or 2 (HIGH)"),
        (Mixed, 1, "expected null (NOTHING), true (YES)"),
        (Mixed, {}, "expected null (NOTHING), true (YES)"),
        (Day, "2024-05-03", "expected"),
        (Right, 4, "expected a sum of 1 READ, 2 WRITE, 8 RUN"),
        (Right, 12, "a sum of 1 READ, 2 WRITE, 8 RUN"),
        (Right, True, "a sum of 1 READ, 2 WRITE"),
        (Right, "READ", "a sum of 1 READ, 2 WRITE"),
        (Bits, 4, "at most 3"),
        (Bits, -1, "at least 0"),
        (Bits, True, "a sum of 1 A, 2 B"),
        (Bits, "A", "a sum of 1 A, 2 B"),
        (Wide, 2, "a sum of 1 M0, 4 M1, "),
    ],
)
def test_other_values_are_refused(hint, form, words, validation):
    """Values are wanted, not names, and the message lists them."""
    assert words in problem(hint, form, validation)


def test_a_long_list_of_choices_is_cut_short():
    """A message never dumps a hundred choices."""
    many = enum.Enum("many", {f"M{number}": f"value {number}" for number in range(100)})
    assert "value 11" in problem(many, "x")
    assert "value 12" not in problem(many, "x")


@pytest.mark.parametrize(
    ("hint", "value"),
    [
        (Literal["a"], "b"),
        (Literal[1], True),
        (Literal[1], 1.0),
        (Literal["a"], ["a"]),
        (Color, "red"),
        (Level, 1),
        (Right, 1),
        (Bits, Bits(8)),
    ],
)
def test_other_values_do_not_encode(hint, value):
    """Only the constants themselves have a JSON form."""
    with pytest.raises((TypeError, ValueError)):
        written(hint, value)


class Planet(enum.Enum):
    EARTH = (5.97e24, 6.37e6)


class NotANumber(enum.Enum):
    NAN = float("nan")


class Function(enum.Enum):
    UPPER = enum.nonmember(str.upper)
    VALUE = object()


class Twins(enum.Enum):
    DAY = date(2024, 5, 1)
    TEXT = "2024-05-01"


class Empty(enum.Enum):
    pass


class NoFlag(enum.Flag):
    pass


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (Planet, "Planet.EARTH has the value .*give the member one of these.*or call `register_codec` for "),
        (NotANumber, "NotANumber.NAN is nan, which has no JSON form"),
        (Function, "Function.VALUE has the value .*give the member one of these"),
        (Twins, "Twins.DAY and Twins.TEXT look the same in JSON"),
        (Empty, "Empty has no members; give it some"),
        (NoFlag, "NoFlag has no members; give it some"),
        (Literal[b"bytes"], "holds bytes, which has no JSON form of its own; use strings"),
        (Literal[date(2024, 5, 1)], "holds date, which has no JSON form of its own; use strings"),
        (Literal[Planet.EARTH], "Planet.EARTH has the value"),
    ],
)
def test_choices_without_a_json_form_are_refused(hint, words):
    """A constant that no model could send is the author's to change."""
    with pytest.raises(DefinitionError, match=words) as caught:
        tool_for(hint)
    assert "parameter `value`" in str(caught.value)


def test_flags_with_gaps_are_an_enum_up_to_4096_values():
    """A number that is no sum of the members is refused by the schema; a longer list would be too long to send."""
    longest = enum.Flag("longest", {f"M{number}": 4**number for number in range(12)})
    assert len(schema_of(longest)["enum"]) == 4096
    assert schema_of(longest)["enum"][:5] == [0, 1, 4, 5, 16]
    assert "enum" not in schema_of(Wide)
    assert schema_of(Wide)["maximum"] == sum(4**number for number in range(13))
    assert schema_of(dict[Bits, int])["propertyNames"] == {"enum": ["0", "1", "2", "3"]}


@pytest.mark.parametrize("validation", ["fast", "jsonschema"])
@pytest.mark.parametrize("boundary", list(enum.FlagBoundary))
@pytest.mark.parametrize("kind", [enum.Flag, enum.IntFlag])
@pytest.mark.parametrize("values", [(1, 6), (6,), (1, 2, 7), (1, 2, 28), (3, 6), (0, 3), (1, 2, 3)])
def test_a_flag_takes_the_sums_that_its_class_takes(values, kind, boundary, validation):
    """A bit that only a member of several bits has is no sum by itself, unless the class says so."""
    flag = kind("flag", {f"M{value}": value for value in values}, boundary=boundary)
    tool, bits = tool_for(flag), functools.reduce(operator.or_, values)
    for number in range(2 * bits):
        try:
            member = flag(number)
        except ValueError:
            member = None
        if isinstance(member, flag) and not number & ~bits:
            assert tool.check({"value": number}, validation=validation) == {"value": member}
        else:
            with pytest.raises(BadArgs):
                tool.check({"value": number}, validation=validation)


def test_a_flag_with_an_unnamed_bit_lists_its_sums_and_the_names_of_its_bits():
    """`flag(2)` is a member without a name, and `flag(3)` is an error."""
    flag = enum.Flag("flag", {"A": 1, "B": 6})
    schema = schema_of(flag)
    assert schema["enum"] == [0, 1, 2, 4, 6, 7]
    assert schema["description"] == "A sum of: 1 A, 6 B."


def test_a_description_does_not_hide_the_names_of_flags():
    """A number alone would tell a model nothing."""
    assert schema_of(Annotated[Bits, "What to do."])["description"] == "What to do. A sum of: 1 A, 2 B."


def test_optional_choices_list_null_once():
    """`None` is one more choice, however often it was said."""
    assert schema_of(typing.Optional[Literal["a", None]]) == {"enum": ["a", None]}
    assert schema_of(Color | None) == {"type": ["string", "null"], "enum": ["red", "blue", None]}
    assert schema_of(Literal["a"] | None) == {"anyOf": [{"type": "string", "const": "a"}, {"type": "null"}]}


def count_calls(action):
    """Count the calls of Python functions, generators and built-in functions in *action*; the clock plays no part."""
    calls = 0

    def note(frame, event, argument):
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(note)
    try:
        action()
    finally:
        sys.setprofile(None)
    return calls


def literal_of(size):
    return Literal[tuple(f"choice {number}" for number in range(size))]  # type: ignore[misc]


def literal_of_numbers(size):
    return Literal[tuple(range(size))]  # type: ignore[misc]


def enum_of_words(size):
    return enum.Enum("Words", {f"M{number}": f"value {number}" for number in range(size)})


def enum_of_numbers(size):
    return enum.IntEnum("Numbers", {f"M{number}": number for number in range(size)})


def enum_of_days(size):
    return enum.Enum("Days", {f"M{number}": date.fromordinal(number + 1) for number in range(size)})


MAKERS = [literal_of, literal_of_numbers, enum_of_words, enum_of_numbers, enum_of_days]


@pytest.mark.long
@pytest.mark.parametrize("make", MAKERS)
def test_literals_and_enums_of_thousands_of_members_decorate_in_linear_time(make):
    """Twice the members take twice the work, from 1,000 to 8,000."""
    tool_for(make(2))
    calls = []
    for size in (1000, 2000, 4000, 8000):
        hint = make(size)
        calls.append(count_calls(lambda hint=hint: tool_for(hint).schema))
    assert all(later <= 2.2 * earlier for earlier, later in itertools.pairwise(calls)), calls


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("make", MAKERS)
def test_checking_a_value_takes_the_same_work_for_any_number_of_members(make, validation):
    """The last of 4,000 members is found as fast as the last of 500."""
    calls = []
    for size in (500, 4000):
        hint = make(size)
        tool = tool_for(hint)
        form = tool.encode({"value": list(get_members(hint))[-1]})
        tool.check(form, validation=validation)
        calls.append(count_calls(lambda tool=tool, form=form: tool.check(form, validation=validation)))
    assert calls[1] <= calls[0] + 5, calls


def get_members(hint):
    return hint if isinstance(hint, type) else typing.get_args(hint)
