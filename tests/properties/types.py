"""
Random types, each with a strategy of its values.

`typed()` draws a `Typed`. Names of fields are drawn so that they collide with
schema keywords and with the names in generated code.
"""

from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import enum
import functools
import ipaddress
import operator
import pathlib
import typing
import uuid
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple, NewType, Union

import annotated_types as at
from hypothesis import strategies as st
from typing_extensions import NotRequired, TypedDict

__all__ = ["NAMES", "Typed", "typed"]


@dataclasses.dataclass(frozen=True)
class Typed:
    """
    A type and its values.

    Attributes:
        kinds: The JSON types its values take; a union of disjoint ones is read back as it was.
        exact: Whether a value comes back equal and of the same type, not merely as the same JSON.
        open: Whether it holds a dictionary somewhere, which takes what was written for a record.
        hashable: Whether values can be in a set.
        key: Whether it can be the key of a dictionary.
    """

    hint: Any
    values: st.SearchStrategy[Any]
    kinds: frozenset[str]
    exact: bool = True
    open: bool = False
    hashable: bool = True
    key: bool = False

    def __repr__(self) -> str:
        return f"Typed({self.hint!r})"


def _text(hint: Any, values: st.SearchStrategy[Any]) -> Typed:
    return Typed(hint, values, frozenset({"string"}), key=True)


NAMES = ["a", "b", "type", "required", "cls", "self", "value", "depth", "U", "v1", "c0", "f0", "_x", "json", "schema"]
NAMES += ["ünïcode", "default", "properties", "pattern", "args"]
_ZONES = st.none() | st.builds(
    lambda minutes: dt.timezone(dt.timedelta(minutes=minutes)), st.integers(-23 * 60, 23 * 60)
)
_FLOATS = st.floats(allow_nan=False, allow_infinity=False)
_INTEGERS = st.integers() | st.sampled_from([10**999, -(10**999), 2**53 + 1, 0])

TEXTS = [
    _text(str, st.text()),
    _text(dt.datetime, st.datetimes(timezones=_ZONES)),
    _text(dt.date, st.dates()),
    _text(dt.time, st.times(timezones=_ZONES)),
    _text(dt.timedelta, st.timedeltas()),
    _text(uuid.UUID, st.uuids()),
    _text(pathlib.Path, st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])).map(pathlib.Path)),
    _text(bytes, st.binary(max_size=20)),
    _text(complex, st.complex_numbers(allow_nan=False, allow_infinity=False)),
    _text(ipaddress.IPv4Address, st.ip_addresses(v=4)),
    _text(ipaddress.IPv6Address, st.ip_addresses(v=6)),
]
NUMBERS = [
    Typed(int, _INTEGERS, frozenset({"integer"}), key=True),
    Typed(float, _FLOATS, frozenset({"number", "integer"})),
    Typed(
        decimal.Decimal, st.decimals(allow_nan=False, allow_infinity=False), frozenset({"string", "number", "integer"})
    ),
]
SCALARS = [
    *TEXTS,
    *NUMBERS,
    Typed(bool, st.booleans(), frozenset({"boolean"}), key=True),
    Typed(None, st.none(), frozenset({"null"})),
]

_CONSTANTS = [None, True, False, 0, 1, -7, "", "a", "1", "true", "null", "ä"]
_JSON_KIND = {str: "string", int: "integer", float: "number", bool: "boolean", type(None): "null"}


def _kinds_of(constants: Any) -> frozenset[str]:
    kinds = {_JSON_KIND[type(constant)] for constant in constants}
    return frozenset(kinds | ({"integer"} if "number" in kinds else set()))


def _few_of(pool: list[Any], most: int) -> st.SearchStrategy[list[Any]]:
    return st.lists(
        st.sampled_from(pool), min_size=1, max_size=most, unique_by=lambda constant: (type(constant), constant)
    )


_FEW_CONSTANTS = _few_of(_CONSTANTS, 5)


@st.composite
def literals(draw: Any) -> Typed:
    chosen = draw(_FEW_CONSTANTS)
    return Typed(Literal.__getitem__(tuple(chosen)), st.sampled_from(chosen), _kinds_of(chosen))


_ENUMS = st.sampled_from(
    [
        (enum.Enum, _few_of([*_CONSTANTS, 2.5], 4)),
        (enum.StrEnum, _few_of(["", "a", "1", "ä"], 4)),
        (enum.IntEnum, _few_of([0, 1, -7, 42], 4)),
        (enum.Flag, _few_of([1, 2, 4, 3], 4)),
        (enum.IntFlag, _few_of([1, 2, 4, 8], 4)),
    ]
)


@st.composite
def enums(draw: Any) -> Typed:
    base, few = draw(_ENUMS)
    chosen = draw(few)
    enum_type = base("Choice", [(f"M{index}", constant) for index, constant in enumerate(chosen)])
    members = list(enum_type) or list(enum_type.__members__.values())
    if issubclass(enum_type, enum.Flag):
        combined = st.sets(st.sampled_from(members)).map(
            lambda flags: functools.reduce(operator.or_, flags, enum_type(0))
        )
        return Typed(enum_type, combined, frozenset({"integer"}))
    return Typed(enum_type, st.sampled_from(members), _kinds_of([member.value for member in members]))


@st.composite
def limited(draw: Any) -> Typed:
    low = draw(st.integers(-5, 5))
    high = low + draw(st.integers(0, 20))
    length = st.integers(max(low, 0), high if high > 0 else 5)
    few = st.lists(st.integers(-3, 3), min_size=max(low, 0), max_size=max(high, 5))
    number, text, array = frozenset({"integer"}), frozenset({"string"}), frozenset({"array"})
    return draw(
        st.sampled_from(
            [
                Typed(Annotated[int, at.Ge(low), at.Le(high)], st.integers(low, high), number),
                Typed(Annotated[int, at.Interval(gt=low - 1, lt=high + 1)], st.integers(low, high), number),
                Typed(
                    Annotated[int, at.MultipleOf(3)], st.integers().map(lambda number_drawn: number_drawn * 3), number
                ),
                Typed(Annotated[float, at.Ge(low)], st.floats(low, 1e300), number | {"number"}),
                Typed(Annotated[float, at.Lt(2**53 + 1)], st.floats(-1e300, 2**53), number | {"number"}),
                Typed(
                    Annotated[str, at.Len(max(low, 0), max(high, 5))],
                    st.text(min_size=max(low, 0), max_size=max(high, 5)),
                    text,
                ),
                Typed(
                    Annotated[list[int], at.MinLen(max(low, 0)), at.MaxLen(max(high, 5))], few, array, hashable=False
                ),
                Typed(Annotated[dt.date, at.Ge(dt.date(2000, 1, 1))], st.dates(dt.date(2000, 1, 1)), text),
                Typed(Annotated[str, at.Predicate(str.islower)], length.map(lambda count: "x" * (count + 1)), text),
                Typed(Annotated[bytes, at.MaxLen(3)], st.binary(max_size=3), text),
            ]
        )
    )


def _together(parts: list[Typed]) -> dict[str, bool]:
    return {
        "exact": all(part.exact for part in parts),
        "open": any(part.open for part in parts),
        "hashable": all(part.hashable for part in parts),
    }


@st.composite
def unions(draw: Any, inner: st.SearchStrategy[Typed]) -> Typed:
    members = draw(st.lists(inner, min_size=1, max_size=3))
    if draw(st.booleans()):
        members.append(Typed(None, st.none(), frozenset({"null"})))
    member_kinds = [kind for member in members for kind in member.kinds]
    disjoint = len(member_kinds) == len(set(member_kinds))
    if not disjoint:
        # A record whose fields all have defaults takes an empty dictionary, and fills them in.
        members = [member for member in members if not member.open] or members[:1]
    hint = functools.reduce(lambda left, right: Union[left, right], [member.hint for member in members])
    about = _together(members)
    about["exact"] &= disjoint or len(members) == 1
    return Typed(hint, st.one_of([member.values for member in members]), frozenset(member_kinds), **about)


@st.composite
def containers(draw: Any, inner: st.SearchStrategy[Typed]) -> Typed:
    item = draw(inner)
    few = st.lists(item.values, max_size=3)
    array, about = frozenset({"array"}), {"exact": item.exact, "open": item.open}
    choices = [
        Typed(list[item.hint], few, array, hashable=False, **about),
        Typed(collections.deque[item.hint], few.map(collections.deque), array, hashable=False, **about),
        Typed(tuple[item.hint, ...], few.map(tuple), array, hashable=item.hashable, **about),
        Typed(typing.Sequence[item.hint], few, array, hashable=False, **about),
    ]
    if item.hashable and item.exact:
        choices += [
            Typed(set[item.hint], few.map(set), array, hashable=False, **about),
            Typed(frozenset[item.hint], few.map(frozenset), array, **about),
        ]
    return draw(st.sampled_from(choices))


@st.composite
def fixed_tuples(draw: Any, inner: st.SearchStrategy[Typed]) -> Typed:
    items = draw(st.lists(inner, max_size=3))
    hint = tuple[tuple(item.hint for item in items)] if items else tuple[()]
    return Typed(hint, st.tuples(*(item.values for item in items)), frozenset({"array"}), **_together(items))


_KEYS = st.sampled_from([case for case in SCALARS if case.key]) | enums().filter(lambda case: case.kinds == {"string"})
_MAPPINGS = st.sampled_from([dict, typing.Mapping, collections.OrderedDict])


@st.composite
def mappings(draw: Any, inner: st.SearchStrategy[Typed]) -> Typed:
    key = draw(_KEYS)
    item = draw(inner)
    values = st.dictionaries(key.values, item.values, max_size=3)
    kind = draw(_MAPPINGS)
    if kind is collections.OrderedDict:
        values = values.map(collections.OrderedDict)
    return Typed(kind[key.hint, item.hint], values, frozenset({"object"}), exact=item.exact, open=True, hashable=False)


@functools.cache
def _fields(
    inner: st.SearchStrategy[Typed], names: tuple[str, ...] = tuple(NAMES)
) -> st.SearchStrategy[dict[str, Typed]]:
    return st.dictionaries(st.sampled_from(names), inner, max_size=4)


def _record(
    hint: Any, make: Callable[..., Any], required: dict[str, Typed], optional: dict[str, Typed], **about: Any
) -> Typed:
    values = st.fixed_dictionaries(
        {name: field.values for name, field in required.items()},
        optional={name: field.values for name, field in optional.items()},
    )
    together = _together([*required.values(), *optional.values()])
    return Typed(hint, values.map(lambda members: make(**members)), frozenset({"object"}), **{**together, **about})


@st.composite
def dataclass_types(draw: Any, inner: st.SearchStrategy[Typed]) -> Typed:
    fields = draw(_fields(inner))
    flags = {flag: draw(st.booleans()) for flag in ("frozen", "kw_only", "slots")}
    with_default = draw(st.sets(st.sampled_from(sorted(fields)))) if fields else set()
    optional = {name: field for name, field in fields.items() if name in with_default}
    required = {name: field for name, field in fields.items() if name not in with_default}
    listed: list[Any] = [(name, field.hint) for name, field in required.items()]
    for name, field in optional.items():
        # A factory, because a list as a default is refused by dataclasses.
        default = draw(field.values)
        listed.append((name, field.hint, dataclasses.field(default_factory=lambda default=default: default)))
    record_type = dataclasses.make_dataclass("Record", listed, **flags)
    hashable = flags["frozen"] and all(field.hashable for field in fields.values())
    return _record(record_type, record_type, required, optional, hashable=hashable)


@st.composite
def named_tuples(draw: Any, inner: st.SearchStrategy[Typed]) -> Typed:
    fields = draw(_fields(inner, tuple(name for name in NAMES if not name.startswith("_"))))
    tuple_type = NamedTuple("Named", [(name, field.hint) for name, field in fields.items()])
    return _record(tuple_type, lambda **members: tuple_type(*(members[name] for name in fields)), fields, {})


@st.composite
def typed_dicts(draw: Any, inner: st.SearchStrategy[Typed]) -> Typed:
    required, optional = draw(_fields(inner)), draw(_fields(inner))
    optional = {name: field for name, field in optional.items() if name not in required}
    hints = {name: field.hint for name, field in required.items()}
    hints |= {name: NotRequired[field.hint] for name, field in optional.items()}
    return _record(TypedDict("Typed", hints), dict, required, optional, hashable=False)


@st.composite
def recursive_records(draw: Any, inner: st.SearchStrategy[Typed]) -> Typed:
    payload = draw(inner)
    record_type = dataclasses.make_dataclass(
        "Node",
        [
            ("value", payload.hint),
            ("next", "Node | None", None),
            ("below", "list[Node]", dataclasses.field(default_factory=list)),
        ],
    )
    leaves = st.builds(record_type, value=payload.values)
    values = st.recursive(
        leaves,
        lambda deeper: st.builds(record_type, payload.values, st.none() | deeper, st.lists(deeper, max_size=2)),
        max_leaves=4,
    )
    return Typed(record_type, values, frozenset({"object"}), exact=payload.exact, open=payload.open, hashable=False)


@st.composite
def renamed(draw: Any, inner: st.SearchStrategy[Typed]) -> Typed:
    case = draw(inner)
    hints = [NewType("New", case.hint), Annotated[case.hint, "what it is for"]]
    return dataclasses.replace(case, hint=draw(st.sampled_from(hints)), key=False)


def _deeper(inner: st.SearchStrategy[Typed]) -> st.SearchStrategy[Typed]:
    kinds = [
        containers,
        fixed_tuples,
        mappings,
        unions,
        dataclass_types,
        named_tuples,
        typed_dicts,
        renamed,
        recursive_records,
    ]
    return st.one_of([kind(inner) for kind in kinds])


# Made once: to make and check a strategy costs more than to draw from it.
@functools.cache
def typed() -> st.SearchStrategy[Typed]:
    """Draw any type, simple ones first."""
    return st.recursive(st.sampled_from(SCALARS) | literals() | enums() | limited(), _deeper, max_leaves=6)
