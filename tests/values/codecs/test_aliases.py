"""Hints that stand for another hint: new types, aliases, variables, qualifiers, forward references."""

import collections
import os
import shutil
import subprocess
import sys
import textwrap
import typing
from collections import abc
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import (
    Annotated,
    Any,
    AnyStr,
    Final,
    Generic,
    Literal,
    LiteralString,
    Never,
    NewType,
    NoReturn,
    Optional,
    TypeVar,
)

import annotated_types as at
import pytest
import typing_extensions
from typing_extensions import TypeAliasType

from toolkit import DefinitionError
from toolkit.spec import Tool

from .kit import DATE, problem, read, schema_of, there_and_back, three_ways, tool_for

T = TypeVar("T")
Bound = TypeVar("Bound", bound=date)
Bounded = TypeVar("Bounded", bound="Optional[int]")
Constrained = TypeVar("Constrained", int, str)
Defaulted = typing_extensions.TypeVar("Defaulted", default=int)
Nothing = typing_extensions.TypeVar("Nothing", default=None)

UserId = NewType("UserId", int)
AdminId = NewType("AdminId", UserId)
Positive = NewType("Positive", Annotated[int, at.Gt(0)])
Dates = NewType("Dates", list[date])

Whole = TypeAliasType("Whole", int)
Pair = TypeAliasType("Pair", tuple[T, T], type_params=(T,))
Table = TypeAliasType("Table", dict[str, list[T]], type_params=(T,))
Tree = TypeAliasType("Tree", "dict[str, Tree[T]] | T", type_params=(T,))
Json = TypeAliasType("Json", "dict[str, Json] | list[Json] | str | int | float | bool | None")
Later = TypeAliasType("Later", "DefinedBelow")
Circle = TypeAliasType("Circle", "Circle | int")
PlainAlias: typing.TypeAlias = "list[date]"

INTEGER = {"type": "integer"}


@pytest.mark.parametrize(
    ("hint", "value", "form", "schema"),
    [
        (UserId, 3, 3, INTEGER),
        (AdminId, 3, 3, INTEGER),
        (Positive, 3, 3, {"type": "integer", "exclusiveMinimum": 0}),
        (Dates, [date(2024, 5, 1)], ["2024-05-01"], {"type": "array", "items": DATE}),
        (Whole, 3, 3, INTEGER),
        (
            Pair[int],
            (1, 2),
            [1, 2],
            {"type": "array", "prefixItems": [INTEGER, INTEGER], "minItems": 2, "maxItems": 2},
        ),
        (
            Table[date],
            {"a": [date(2024, 5, 1)]},
            {"a": ["2024-05-01"]},
            {"type": "object", "additionalProperties": {"type": "array", "items": DATE}},
        ),
        (T, "anything", "anything", {}),
        (Bound, date(2024, 5, 1), "2024-05-01", DATE),
        (Bounded, 3, 3, {"type": ["integer", "null"]}),
        (Constrained, 3, 3, {"type": ["integer", "string"]}),
        (Constrained, "a", "a", {"type": ["integer", "string"]}),
        (Defaulted, 3, 3, INTEGER),
        (Nothing, None, None, {"type": "null"}),
        (Final[int], 3, 3, INTEGER),
        (Final, 3, 3, {}),
        (LiteralString, "a", "a", {"type": "string"}),
        (typing_extensions.LiteralString, "a", "a", {"type": "string"}),
        (typing.Text, "a", "a", {"type": "string"}),
        (PlainAlias, [date(2024, 5, 1)], ["2024-05-01"], {"type": "array", "items": DATE}),
        (typing.ForwardRef("date"), date(2024, 5, 1), "2024-05-01", DATE),
    ],
)
def test_stand_ins_go_three_ways(hint, value, form, schema, validation):
    """An alias behaves like its type, alone and in brackets."""
    if hint in (Final[int], Final):  # only a whole annotation can be final
        assert schema_of(hint) == schema
        there_and_back(hint, value, form, validation)
    elif isinstance(hint, (str, typing.ForwardRef)):
        tool = described_here(Optional[hint])
        assert tool.check({"value": form}, validation=validation) == {"value": value}
        assert tool.encode({"value": value}) == {"value": form}
    else:
        three_ways(hint, value, form, schema, validation)


def described_here(hint):
    """Return a tool whose annotations are looked up in this module."""

    def probe(value): ...

    probe.__annotations__["value"] = hint
    return Tool.described(probe, name="probe", description="Probe.")


@dataclass
class DefinedBelow:
    x: int


def test_an_alias_may_use_a_name_that_is_defined_later(validation):
    """The name is looked up in the module of the alias at the first use."""
    there_and_back(list[Later], [DefinedBelow(1)], [{"x": 1}], validation)


@pytest.mark.parametrize("form", [None, 1, 2.5, "a", True, [], {}, {"a": [1, {"b": [None, "c"]}]}, [[[[1]]]]])
def test_recursive_aliases_go_three_ways(form, validation):
    """An alias may contain itself; its definition is then kept under its name."""
    there_and_back(Json, form, form, validation)
    there_and_back(dict[str, Json], {"x": form}, {"x": form}, validation)
    there_and_back(Json | None, form, form, validation)
    assert list(tool_for(Json).schema["$defs"]) == ["Json"]


def test_recursive_generic_aliases_go_three_ways(validation):
    """Each set of arguments has its own definition."""
    there_and_back(Tree[date], {"a": {"b": date(2024, 5, 1)}}, {"a": {"b": "2024-05-01"}}, validation)
    there_and_back(Tree[int], {"a": {"b": 1}}, {"a": {"b": 1}}, validation)
    assert problem(Tree[int], {"a": {"b": "x"}}, validation).startswith("value")


def test_an_alias_that_is_used_once_leaves_no_definition():
    """Only a recursive one needs a name."""
    assert "$defs" not in tool_for(Table[Pair[int]]).schema


@dataclass
class Box(Generic[T]):
    item: T


@pytest.mark.parametrize(
    ("hint", "value", "form"),
    [
        (Box[Pair[int]], Box((1, 2)), {"item": [1, 2]}),
        (Box[UserId], Box(3), {"item": 3}),
        (
            Pair[Box[date]],
            (Box(date(2024, 5, 1)), Box(date(2024, 5, 2))),
            [{"item": "2024-05-01"}, {"item": "2024-05-02"}],
        ),
        (Box[Constrained], Box("a"), {"item": "a"}),
        (Box, Box([1]), {"item": [1]}),
        (list["int"], [1], [1]),
        (dict["str", "list[int]"], {"a": [1]}, {"a": [1]}),
    ],
)
def test_stand_ins_nest(hint, value, form, validation):
    """Aliases, variables and references mean the same at any depth."""
    there_and_back(hint, value, form, validation)


def test_any_str_is_text_or_bytes(validation):
    """A constrained variable is a union of its constraints."""
    there_and_back(AnyStr, "some text", "some text", validation)


class Silent:
    """Not a type, and not even something that can be shown."""

    def __repr__(self):
        raise RuntimeError


@pytest.mark.parametrize(
    ("hint", "words"),
    [
        (abc.Callable[[int], str], "a model cannot send a function"),
        (typing.Callable, "a model cannot send a function"),
        (abc.Iterator[int], "use a list, or Iterable"),
        (typing.Generator[int, None, None], "use a list, or Iterable"),
        (abc.AsyncIterable[int], "use a list, or Iterable"),
        (abc.Coroutine[Any, Any, int], "use a list, or Iterable"),
        (Never, "leave the parameter out"),
        (NoReturn, "leave the parameter out"),
        (type[int], "take a Literal of names"),
        (type, "take a Literal of names"),
        (typing.IO[str], "register_codec"),
        (collections.ChainMap[str, int], "register_codec"),
        (range, "register_codec"),
        (object(), "register_codec"),
        ({"not": "a type"}, "register_codec"),
        (Box[abc.Callable], r"Box\.item: .*a model cannot send a function"),
        (list[dict[str, range]], "range has no JSON form"),
        (dict[str], r"dict\[str\]: 2 should stand in its brackets, not 1"),
        (list[int, str], r"list\[int, str\]: 1 should stand in its brackets, not 2"),
        (collections.defaultdict[str], "2 should stand in its brackets"),
        (Literal, "Literal alone has no choices; write them in brackets"),
        (typing.Union, "Union alone has no members; write them in brackets"),
        (Optional, "Optional alone has no members; write them in brackets"),
        (Annotated, "Annotated alone says nothing; write"),
        (typing.Self, "Self means nothing outside a class; name the class"),
        (TypeAliasType("Circle", "Circle"), "Circle stands for itself; say what it may hold"),
        (Circle, "Circle stands for itself; say what it may hold"),
        (Silent(), "a Silent has no JSON form"),
        ("no such syntax(", "cannot be evaluated"),
        ("date.nothing", "cannot be evaluated"),
    ],
)
def test_a_hint_that_cannot_be_described_is_refused(hint, words):
    """The author learns which tool, which parameter, why, and what to write instead."""
    with pytest.raises(DefinitionError, match=words) as caught:
        described_here(hint)
    assert "described_here.<locals>.probe: parameter `value`: " in str(caught.value)


def test_a_name_that_never_comes_is_refused_at_the_first_use():
    """A forward reference waits, but not for ever."""
    tool = tool_for("NotDefinedAnywhere")
    with pytest.raises(DefinitionError, match="NotDefinedAnywhere"):
        _ = tool.schema


@dataclass
class Growing(Generic[T]):
    item: T
    more: "Optional[Growing[list[T]]]" = None


def test_a_type_that_grows_without_end_is_refused():
    """A record that contains itself with other arguments each time has no finite schema."""
    with pytest.raises(DefinitionError, match="contains itself with other arguments"):
        tool_for(Growing[int])


def test_arguments_that_cannot_be_hashed_are_accepted(validation):
    """The metadata of an argument may be any object."""
    there_and_back(Box[Annotated[int, ["unhashable"]]], Box(1), {"item": 1}, validation)
    there_and_back(Pair[Annotated[int, {"un": "hashable"}]], (1, 2), [1, 2], validation)


def python(version):
    """Return another Python beside this one, if there is one that starts."""
    candidates = [
        shutil.which(f"python{version}"),
        *Path(sys.base_prefix).parent.glob(f"{version}*/bin/python{version}"),
    ]
    for candidate in filter(None, candidates):
        if subprocess.run([candidate, "-c", ""], capture_output=True, check=False).returncode == 0:
            return candidate
    return None


SYNTAX = '''
    {future}
    import datetime as dt
    from dataclasses import dataclass
    from toolkit.spec import Tool
    from toolkit.errors import BadArgs

    type Whole = int
    type Pair[T] = tuple[T, T]
    type Json = dict[str, Json] | list[Json] | str | int | float | bool | None

    @dataclass
    class Box[T]:
        item: T
        more: "list[Box[T]] | None" = None

    @dataclass
    class Dates(Box[dt.date]):
        label: str = ""

    def probe[T: int](a: Whole, b: Pair[dt.date], c: Json, d: Box[dt.date], e: T, f: Dates):
        """Probe."""

    type Waiting = Late

    def waits(value: Waiting):
        """Wait."""

    waiting = Tool.described(waits)
    Late = int
    assert waiting.check({{"value": 3}}) == {{"value": 3}}

    tool = Tool.described(probe, name="probe")
    assert tool.schema["properties"]["a"] == {{"type": "integer"}}, tool.schema
    assert tool.schema["properties"]["e"] == {{"type": "integer"}}, tool.schema
    day = dt.date(2024, 5, 1)
    forms = {{
        "a": 1, "b": ["2024-05-01"] * 2, "c": {{"x": [None, 1]}}, "d": {{"item": "2024-05-01", "more": None}}, "e": 2,
        "f": {{"item": "2024-05-01", "more": [{{"item": "2024-05-01", "more": None}}], "label": "x"}},
    }}
    values = {{
        "a": 1, "b": (day, day), "c": {{"x": [None, 1]}}, "d": Box(day), "e": 2,
        "f": Dates(day, [Box(day)], "x"),
    }}
    assert tool.check(forms) == values, tool.check(forms)
    assert tool.encode(values) == forms, tool.encode(values)
'''


@pytest.mark.long
@pytest.mark.parametrize("future", ["", "from __future__ import annotations"])
@pytest.mark.parametrize("version", ["3.12", "3.13", "3.14"])
def test_new_syntax_is_read(version, future, tmp_path):
    """`type` statements and `class Box[T]` work where Python has them."""
    interpreter = python(version)
    if interpreter is None:
        pytest.skip(f"there is no Python {version} here")
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SYNTAX.format(future=future)))
    root = Path(__file__).parents[3]
    path = os.pathsep.join([str(root), *(folder for folder in sys.path if folder.endswith("site-packages"))])
    done = subprocess.run(
        [interpreter, "-W", "error", str(script)],
        env={"PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_a_literal_through_an_alias_is_a_literal(validation):
    """An alias may stand for anything, also for a few constants."""
    color = TypeAliasType("Color", Literal["red", "blue"])
    three_ways(color, "red", "red", {"type": "string", "enum": ["red", "blue"]}, validation)
    assert read(dict[color, int], {"red": 1}, validation) == {"red": 1}
