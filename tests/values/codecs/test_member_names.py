"""Enums whose values are not words: the model is told the names, and a name is read as a repair."""

from __future__ import annotations

import enum
import json
from typing import Annotated, Any, Literal

import pytest

from toolkit import Catalog, Dispatcher, Secret, Tool
from toolkit.formats import anthropic, gemini, mcp, ollama, openai, openai_responses
from toolkit.values.schemas.member_names import MemberNames

from .kit import problem, schema_of, tool_for

pytestmark = pytest.mark.anyio


class Level(enum.IntEnum):
    """How loud it is"""

    LOW = 1
    HIGH = 2
    TOP = 2  # noqa: PIE796 -- an alias is what is tried


class Shade(enum.Enum):
    """
    How dark it is.

    Attributes:
        PALE: Nearly white.
    """

    PALE = enum.auto()
    DEEP_BLUE = enum.auto()
    NONE = enum.auto()


class Right(enum.Flag):
    """What is allowed."""

    READ = enum.auto()
    WRITE = enum.auto()
    RUN = enum.auto()
    ALL = 7


class Word(enum.Enum):
    """Words need no names."""

    FIRST = "first"
    SECOND = "second"


class Size(enum.StrEnum):
    MEDIUM = "m"
    LARGE = "l"


class Swapped(enum.Enum):
    """The name of each member looks like the value of the other."""

    RED = "green"
    GREEN = "red"


class Alike(enum.Enum):
    SAME_NAME = 1
    SameName = 2


def large_enum(size: int) -> Any:
    return enum.IntEnum("Large", {f"CITY_{number}": number * 10 for number in range(size)})


@pytest.mark.parametrize(
    ("hint", "description"),
    [
        (Level, "How loud it is. One of: 1 LOW, 2 HIGH."),
        (Level | None, "How loud it is. One of: 1 LOW, 2 HIGH."),
        (Shade, "How dark it is. One of: 1 PALE (Nearly white), 2 DEEP_BLUE, 3 NONE."),
        (Right, "What is allowed. A sum of: 1 READ, 2 WRITE, 4 RUN."),
        (Literal[Level.HIGH, "off"], "One of: 2 HIGH."),
        (Annotated[Level, "For the bell."], "For the bell. How loud it is. One of: 1 LOW, 2 HIGH."),
    ],
)
def test_enums_whose_values_are_not_words_tell_their_names_and_docstring(hint, description):
    """A model that only saw numbers would have to guess."""
    schema = schema_of(hint)
    assert schema["description"] == description
    assert "toolkit" not in json.dumps(schema)


def test_enums_of_words_are_not_described_twice():
    """The values say enough, so the schema stays as short as it was, though a repair knows the names."""
    assert schema_of(Word) == {"type": "string", "enum": ["first", "second"]}
    assert schema_of(Size) == {"type": "string", "enum": ["m", "l"]}


def test_a_large_enum_is_described_in_a_few_words():
    """Forty names are told, of more only the first ten."""
    assert schema_of(large_enum(40))["description"].endswith(" 390 CITY_39.")
    text = schema_of(large_enum(4000))["description"]
    assert text.endswith(" 90 CITY_9, ... (4,000 in all).")


@pytest.mark.parametrize("make", [anthropic, gemini, mcp, ollama, openai, openai_responses])
def test_every_format_keeps_the_names(make):
    """No provider gets the keywords of our own."""
    catalog = Catalog()

    @catalog.tool
    def ring(level: Level, right: Right | None = None) -> Level:
        """Ring the bell."""
        return level

    text = json.dumps(make.definitions(catalog))
    assert "1 LOW, 2 HIGH" in text
    assert "1 READ, 2 WRITE, 4 RUN" in text
    assert "x-toolkit" not in text


def test_a_result_is_described_with_the_names_too():
    """The output schema is shown as the input schema is."""

    def ring() -> Level:
        """Ring the bell."""
        return Level.LOW

    assert Tool.of(ring).output_schema == {
        "type": "integer",
        "enum": [1, 2],
        "description": "How loud it is. One of: 1 LOW, 2 HIGH.",
    }


def dispatch_to(hint: Any, *, repair: bool = True, default: Any = ...) -> Dispatcher:
    catalog = Catalog()
    received = tool_for(hint)

    def probe(value: Any = default) -> str:
        return repr(value)

    if default is ...:
        probe.__defaults__ = None
    probe.__annotations__["value"] = hint
    catalog.tool(name=received.name, description="Probe.")(probe)
    return Dispatcher(catalog, repair=repair)


@pytest.mark.parametrize(
    ("hint", "sent", "value", "notes"),
    [
        (Level, "LOW", Level.LOW, ['value: took the name "LOW" as 1']),
        (Level, "high", Level.HIGH, ['value: took the name "high" as 2']),
        (Level, "Level.TOP", Level.HIGH, ['value: took the name "Level.TOP" as 2']),
        (Level | None, "LOW", Level.LOW, ['value: took the name "LOW" as 1']),
        (Shade, "deep blue", Shade.DEEP_BLUE, ['value: took the name "deep blue" as 2']),
        (Shade | None, "NONE", Shade.NONE, ['value: took the name "NONE" as 3']),
        (Literal[Level.HIGH, "off"], "HIGH", Level.HIGH, ['value: took the name "HIGH" as 2']),
        (Right, "WRITE", Right.WRITE, ['value: took the name "WRITE" as 2']),
        (Right, "READ|WRITE", Right(3), ['value: took the name "READ|WRITE" as 3']),
        (Right, "all", Right.ALL, ['value: took the name "all" as 7']),
        (Right, ["READ", "RUN"], Right(5), ["value: took the names in an array of 2 items as 5"]),
        (
            list[Level],
            "LOW",
            [Level.LOW],
            ['value: took "LOW" as a list of one item', 'value[0]: took the name "LOW" as 1'],
        ),
        (list[Level], ["LOW", 2], [Level.LOW, Level.HIGH], ['value[0]: took the name "LOW" as 1']),
        (dict[Level, int], {"LOW": 5}, {Level.LOW: 5}, ['value[\'1\']: took the key "LOW" for "1"']),
        (Level | list[Level], "LOW", Level.LOW, ['value: took the name "LOW" as 1']),
        (Word, "FIRST", Word.FIRST, ['value: took the name "FIRST" as "first"']),
        (Size, "Size.MEDIUM", Size.MEDIUM, ['value: took the name "Size.MEDIUM" as "m"']),
        (dict[Size, int], {"MEDIUM": 5}, {Size.MEDIUM: 5}, ['value.m: took the key "MEDIUM" for "m"']),
    ],
    ids=str,
)
async def test_the_name_of_a_member_is_accepted_as_a_repair(hint, sent, value, notes):
    """The result notes it like every other repair."""
    result = await dispatch_to(hint).call("probe", {"value": sent})
    assert (result.text, list(result.repairs)) == (repr(value), notes)


@pytest.mark.parametrize(
    ("hint", "sent"),
    [(Level, "LOW"), (Right, "READ"), (list[Level], ["LOW"]), (dict[Level, int], {"LOW": 5})],
    ids=str,
)
async def test_a_name_is_refused_where_repairs_are_off(hint, sent):
    """The schema promises the values alone."""
    result = await dispatch_to(hint, repair=False).call("probe", {"value": sent})
    assert result.kind == "bad_args"
    assert "1 READ" in result.text or "(LOW)" in result.text


@pytest.mark.parametrize(
    ("hint", "sent"),
    [
        (Level, "LOUD"),
        (Level, ""),
        (Level, "."),
        (Level, "L" * 2000),
        (Right, "READ|SING"),
        (Right, []),
        (Right, ["READ", 2]),
        (Right, ["READ"] * 5),
        (Right, " "),
        (Alike, "samename"),
        (Word, "THIRD"),
        (Swapped, "RED"),
        (dict[Level, int], {"LOW": 5, "1": 6}),
        (dict[Level, int], {"LOUD": 5}),
    ],
    ids=lambda value: str(value)[:30],
)
async def test_a_value_that_names_no_member_is_refused(hint, sent):
    """A repair never guesses."""
    result = await dispatch_to(hint).call("probe", {"value": sent})
    assert result.kind == "bad_args"


async def test_a_member_called_none_is_not_mistaken_for_null():
    """An optional parameter is left out for null, not for a name."""
    result = await dispatch_to(Shade, default=Shade.PALE).call("probe", {"value": "none"})
    assert (result.text, list(result.repairs)) == ("<Shade.NONE: 3>", ['value: took the name "none" as 3'])


async def test_a_repaired_name_of_a_secret_is_not_shown():
    """The note has neither the name nor its value."""
    result = await dispatch_to(Annotated[Level, Secret]).call("probe", {"value": "HIGH"})
    assert list(result.repairs) == ["value: took a name as its value"]


def test_members_that_differ_only_in_case_are_found_by_their_exact_names():
    """A folded name that would mean two members means none."""
    names = MemberNames(SAME_NAME=1, SameName=2, same=True)
    assert [names.find("SAME_NAME"), names.find("SameName"), names.find("Same")] == [1, 2, True]


@pytest.mark.parametrize(
    ("sent", "nearest"),
    [
        ("city_3999", "39990 (CITY_3999)"),
        ("CITY_3999x", "39990 (CITY_3999)"),
        (39_994, "39990 (CITY_3999), 39980 (CITY_3998) or 39970 (CITY_3997)"),
    ],
)
def test_the_message_for_a_wrong_value_of_a_large_enum_names_the_nearest_members(sent, nearest, validation):
    """A message is short, however many members there are."""
    text = problem(large_enum(4000), sent, validation)
    assert nearest in text.partition("did you mean ")[2]
    assert len(text) < 500


def test_numbers_that_cannot_be_compared_have_no_nearest(validation):
    """A number beyond every float is refused as it is."""
    hint = enum.Enum("Halves", {f"H{number}": number + 0.5 for number in range(20)})
    assert problem(hint, 10**400, validation).endswith("...")
