"""
What the schema accepts, the check accepts: for every codec, with values that only the schema tells how to make.
"""

from __future__ import annotations

import collections
import collections.abc
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import ipaddress
import operator
import os
import pathlib
import re
import typing
import uuid
from collections import abc
from pathlib import Path
from typing import Annotated, Any, Final, Generic, Literal, NamedTuple, NewType, Optional, TypedDict, TypeVar, Union

import annotated_types as at
import attrs
import msgspec
import pydantic
import pytest
import typing_extensions
from hypothesis import assume, given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from toolkit.errors import BadArgs
from toolkit.formats.schemas.dialects import ANTHROPIC, OPENAI
from toolkit.formats.schemas.rewriting import rewrite_schema
from toolkit.spec import Tool
from toolkit.values.codecs.refusals import Undescribable, Unresolved
from toolkit.values.codecs.rules import all_families, create_hint_reader
from toolkit.values.codecs.type_checking_names import MissingName
from toolkit.values.patterns import compile_pattern
from toolkit.values.patterns.automaton import MAX_STATES, count_states, find_irregular
from toolkit.values.patterns.syntax_tree import read_tree
from toolkit.values.schemas.text_forms import INTEGER_KEY, NUMBER_KEY, TEXT_FORMS, find_text_form

from .schema_values import FORMAT_EXCEPTIONS, values_of
from .types import SCALARS, _deeper, enums, literals

T = TypeVar("T")


class Color(enum.Enum):
    RED = "red"
    HALF = 0.5
    ONE = 1
    YES = True
    NOTHING = None


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


class Gaps(enum.Flag):
    READ = 1
    RUN = 8


class Bits(enum.IntFlag):
    A = 1
    B = 2


@dataclasses.dataclass
class Record(Generic[T]):
    item: T
    count: int = 0
    next: Optional[Record[T]] = None


@dataclasses.dataclass
class Cat:
    kind: Literal["cat"]
    born: dt.date


@dataclasses.dataclass
class Dog:
    kind: Literal["dog"]
    weight: decimal.Decimal | None = None


@dataclasses.dataclass
class Chained:
    start: dataclasses.InitVar[int]
    after: typing.Self | None = None


class Pair(NamedTuple):
    key: uuid.UUID
    value: int = 0


class Options(TypedDict, total=False):
    when: dt.datetime
    size: typing.Required[float]
    fixed: typing_extensions.ReadOnly[int]


class OtherOptions(typing_extensions.TypedDict):
    name: typing.NotRequired[str]


class Holder(typing_extensions.TypedDict, Generic[T]):
    item: T


@attrs.define
class Measured:
    amount: float


class Model(pydantic.BaseModel):
    name: str
    sizes: list[int] = []


class Struct(msgspec.Struct):
    name: str
    size: int = 0


Alias = typing_extensions.TypeAliasType("Alias", "dt.date | list[Alias]")

HINTS: dict[Any, list[Any]] = {
    kind: [kind]
    for kind in (
        *(str, int, float, bool, None, type(None), Any, object, collections.abc.Hashable),
        *(dt.datetime, dt.date, dt.time, dt.timedelta, uuid.UUID, decimal.Decimal, bytes, bytearray, complex),
        *(re.Pattern, os.PathLike, Path, type(Path()), pathlib.PurePath, pathlib.PurePosixPath),
        *(pathlib.PureWindowsPath, ipaddress.IPv4Address, ipaddress.IPv6Address, ipaddress.IPv4Network),
        *(ipaddress.IPv6Network, ipaddress.IPv4Interface, ipaddress.IPv6Interface),
    )
}
HINTS |= {
    Literal: [Literal["a", 1, True, None], Literal["only"], Literal[2]],
    Union: [Union[int, "str"], Union[dt.date, None], Union[bytes, decimal.Decimal], Cat | Dog | None],
    Optional: [Optional[Gaps]],
    type(int | str): [complex | str, dt.date | dt.timedelta, list[int] | dict[str, int], float | bool],
    Annotated: [
        Annotated[int, at.Ge(3), at.Le(9)],
        Annotated[int, at.MultipleOf(3)],
        Annotated[float, at.MultipleOf(0.5)],
        Annotated[float, at.Gt(0)],
        Annotated[str, at.Len(2, 4)],
        Annotated[list[int], at.MinLen(2)],
        Annotated[str, pydantic.Field(pattern="^a[0-9]+b?$")],
        Annotated[uuid.UUID, "Which one."],
    ],
    **{
        kind: [kind, kind[int], kind[decimal.Decimal]]
        for kind in (
            *(list, abc.Sequence, abc.MutableSequence, abc.Collection, abc.Iterable, abc.Container, abc.Reversible),
            *(collections.deque, set, frozenset, abc.Set, abc.MutableSet),
        )
    },
    tuple: [tuple, tuple[()], tuple[int, dt.date], tuple[bytes, ...]],
    **{kind: [kind, kind[str, dt.time]] for kind in (abc.Mapping, abc.MutableMapping, collections.OrderedDict)},
    dict: [
        dict,
        *(
            dict[key, int]
            for key in (int, float, decimal.Decimal, bool, bytes, complex, uuid.UUID, Path, dt.date, dt.timedelta)
        ),
        *(dict[key, int] for key in (ipaddress.IPv6Address, Color, Level, Gaps, Bits, Literal["a", 1])),
        dict[Annotated[str, at.MinLen(2)], int],
    ],
    collections.defaultdict: [collections.defaultdict[str, int]],
    collections.Counter: [collections.Counter, collections.Counter[decimal.Decimal]],
    Final: [Final[int]],
    typing.ClassVar: [typing.ClassVar[int]],
    typing.Required: [Options],
    typing.NotRequired: [OtherOptions],
    typing_extensions.ReadOnly: [Options],
    dataclasses.InitVar: [Chained],
    typing.Self: [Chained],
    typing.LiteralString: [typing.LiteralString],
}
"""Hints by the origin for which `all_families` has a rule."""

FURTHER_HINTS = [
    *(Color, Level, Gaps, Bits, Cat, Dog, Record[dt.time], Pair, Options, OtherOptions, Holder[bytes], Measured),
    *(Model, Struct, Alias, T, typing.AnyStr, NewType("Name", bytes), "dt.date", dataclasses.InitVar[int]),
    *(pydantic.Json, pydantic.Json[list[int]]),
]
"""Hints that a predicate recognises."""

TEXT_HINTS = {
    "date-time": dt.datetime, "date": dt.date, "time": dt.time, "duration": dt.timedelta, "uuid": uuid.UUID,
    "decimal": decimal.Decimal, "base64": bytes, "complex": complex, "regex": re.Pattern, "path": Path,
    "ipv4": ipaddress.IPv4Address, "ipv6": ipaddress.IPv6Address,
    "ipv4-interface": ipaddress.IPv4Interface, "ipv6-interface": ipaddress.IPv6Interface,
    "ipv4-network": ipaddress.IPv4Network, "ipv6-network": ipaddress.IPv6Network,
}  # fmt: skip
"""A type for each form of text."""


class Promise:
    """A tool with one parameter `value` of the type *hint*, and the values that its schema accepts."""

    def __init__(self, hint: Any) -> None:
        def probe(value):
            """Probe."""

        probe.__annotations__["value"] = hint
        self.name = str(hint)
        self._probe = probe

    @functools.cached_property
    def tool(self) -> Tool:
        return Tool.described(self._probe)

    @functools.cached_property
    def schema(self) -> dict[str, Any]:
        """The schema of the value."""
        return self.tool.schema["properties"]["value"]

    @functools.cached_property
    def values(self) -> st.SearchStrategy[Any]:
        judge = Draft202012Validator(self.tool.schema)
        return values_of(self.tool.schema).filter(judge.is_valid)

    def is_accepted(self, value: Any, validation: str) -> bool:
        """Return whether the check accepts *value*."""
        try:
            self.tool.check({"value": value}, validation=validation)
        except BadArgs:
            return False
        return True


ALL = [Promise(hint) for hint in (*(hint for hints in HINTS.values() for hint in hints), *FURTHER_HINTS)]
TEXTS = {name: Promise(hint) for name, hint in TEXT_HINTS.items()}


@pytest.mark.parametrize("origin", [origin for family in all_families() for origin in family.by_origin], ids=str)
def test_every_codec_has_a_case(origin):
    """A new rule needs a hint in `HINTS`, unless it refuses every hint."""
    if origin not in HINTS:
        with pytest.raises((Undescribable, Unresolved)):
            create_hint_reader().codec(origin)


@pytest.mark.parametrize("entry", [entry for family in all_families() for entry in family.by_predicate])
def test_every_predicate_has_a_case(entry):
    """A new rule with a predicate needs a hint in `FURTHER_HINTS`."""
    recognises, _ = entry
    if recognises(MissingName.create("Lost", "its module cannot be imported")):
        return  # a name that is refused in every meaning
    assert any(map(recognises, FURTHER_HINTS))


@pytest.mark.long
@pytest.mark.parametrize("promise", ALL, ids=operator.attrgetter("name"))
@given(data=st.data())
def test_the_check_accepts_values_that_the_schema_accepts(promise, data):
    """Values that are drawn from the schema alone decode without an error, whichever way they are checked."""
    value = data.draw(promise.values)
    promise.tool.check(value)
    promise.tool.check(value, validation="jsonschema")


# A limit may be one that only the decoded value shows, such as a least date, so these types have none.
_UNLIMITED = st.recursive(st.sampled_from(SCALARS) | literals() | enums(), _deeper, max_leaves=4)


@given(drawn=_UNLIMITED, data=st.data())
def test_the_check_accepts_nested_values_that_the_schema_accepts(drawn, data):
    """Codecs keep the promise inside each other, in unions, records, keys and arrays."""
    promise = Promise(drawn.hint)
    value = data.draw(promise.values)
    promise.tool.check(value)
    promise.tool.check(value, validation="jsonschema")


_PATTERNS = {name: form.pattern for name, form in TEXT_FORMS.items() if form.pattern}
_PATTERNS |= {"integer key": INTEGER_KEY.pattern, "number key": NUMBER_KEY.pattern}


_INSERTED = ["", "0", "9", "-", "+", ".", ":", "/", "%", "=", " ", "\n", "T", "e", "٣", "_"]


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("name", [name for name, form in TEXT_FORMS.items() if form.pattern])
@given(data=st.data())
def test_the_check_accepts_no_more_than_the_pattern(name, data):
    """A text that nearly has the form is accepted by both or by neither, whichever way it is checked."""
    pattern = TEXT_FORMS[name].pattern
    text = data.draw(st.from_regex(pattern, alphabet=st.characters(codec="utf-8")))
    place = data.draw(st.integers(0, len(text)))
    changed = text[:place] + data.draw(st.sampled_from(_INSERTED)) + text[place + data.draw(st.integers(0, 1)) :]
    fits = re.search(pattern, changed) is not None
    if fits and name in FORMAT_EXCEPTIONS:
        assume(FORMAT_EXCEPTIONS[name](changed))
    assert TEXTS[name].is_accepted(changed, "fast") == TEXTS[name].is_accepted(changed, "jsonschema") == fits


@pytest.mark.parametrize("pattern", _PATTERNS.values(), ids=_PATTERNS)
def test_a_pattern_means_the_same_in_python_and_in_ecma_262(pattern):
    """Only characters, classes of ASCII characters, groups, repeats, `^` and `$` are in it, and nothing with `(?`."""
    pieces = r"\^|\$|\[\^?[A-Za-z0-9+/%.,_~:@ -]+\]|\(|\)|\||[?*+]|\{[0-9]+(,[0-9]+)?\}|\\[.()]|[A-Za-z0-9:%/=-]"
    assert re.fullmatch(f"({pieces})*", pattern)
    assert "(?" not in pattern
    assert pattern.startswith("^")
    assert pattern.endswith("$")
    rest = re.sub(r"\\.", "", pattern)
    while "(" in rest:
        rest = re.sub(r"\([^()]*\)", "", rest)
    assert "|" not in rest, "`^` and `$` belong to one of the alternatives only"


@pytest.mark.parametrize("pattern", _PATTERNS.values(), ids=_PATTERNS)
def test_a_pattern_is_searched_in_linear_time(pattern):
    """The automaton, whose time is linear, can take every pattern; so no text is too long for it."""
    tree = read_tree(pattern)
    assert not find_irregular(tree)
    assert count_states(tree) <= MAX_STATES
    long = "1" * 200_000
    assert isinstance(compile_pattern(pattern).search(long + "!"), bool)


@pytest.mark.parametrize("dialect", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
@pytest.mark.parametrize("name", TEXTS)
def test_a_pattern_does_not_keep_a_tool_from_strict_mode(name, dialect):
    """OpenAI is sent the pattern. Anthropic is sent the format, or its name and an example in words."""
    rewritten = rewrite_schema(TEXTS[name].tool.schema, dialect)
    assert rewritten.obstacles == []
    sent = rewritten.schema["properties"]["value"]
    form = TEXT_FORMS[name]
    assert (find_text_form(TEXTS[name].schema) is form) == (form.pattern is not None)
    if dialect is OPENAI or form.pattern is None:
        assert sent.get("pattern") == form.pattern
    else:
        assert "pattern" not in sent
        assert "format" in sent or form.example in sent["description"]
        assert "regular expression" not in sent.get("description", "")
