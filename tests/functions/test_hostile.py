from __future__ import annotations

import collections
import dataclasses
import datetime as dt
import decimal
import ipaddress
import pathlib
import re
import types
import uuid
from typing import Any

import pytest

from toolkit.errors import BadArgs

from ..taking import refusal, tool_for

pytestmark = pytest.mark.unmeasured

MODES = ["fast", "jsonschema"]


@dataclasses.dataclass
class Tree:
    value: Any = None
    below: list[Tree] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Left:
    child: Left | Right | None = None
    when: dt.date | None = None


@dataclasses.dataclass
class Right:
    child: Left | Right | None = None
    when: dt.time | None = None


def nested(depth: int, *, key: str | None = None) -> Any:
    value: Any = [] if key is None else {}
    for _ in range(depth):
        value = [value] if key is None else {key: value}
    return value


class Liar:
    """Fails at everything one can ask of it."""

    def __getattribute__(self, name):
        raise RuntimeError("no")

    __len__ = __bool__ = __iter__ = __str__ = __repr__ = lambda self: Liar.__getattribute__(self, "")

    def __eq__(self, other):
        raise RuntimeError("no")

    def __hash__(self):
        return hash("x")


class Words(str):
    def strip(self, *anything):
        raise RuntimeError("no")

    __len__ = __str__ = encode = strip


class Keys(collections.UserDict):
    def __iter__(self):
        raise RuntimeError("no")


@pytest.mark.parametrize("validation", MODES)
@pytest.mark.parametrize(
    ("hint", "arguments", "words"),
    [
        (float, {"x": float("nan")}, "x: nan is not JSON"),
        (float, '{"x": NaN}', "NaN is not JSON"),
        (float, '{"x": 1e999}', "x: inf is not JSON"),
        (Any, '{"x": [-1e999]}', "x[0]: -inf is not JSON"),
        (str, '{"x": "a", "x": "b"}', 'the key "x" stands twice'),
        (str, {"x": "\ud800"}, "half of a surrogate pair"),
        (str, '{"x": "\\udc00"}', "half of a surrogate pair"),
        (Any, {"x": {"\ud800": 1}}, 'the key "\\ud800"'),
        (Any, '{"x": {"\\ud800": 1}}', 'the key "\\ud800"'),
        (Any, '{"x":' * 100_000, "nested too deeply"),
        (Any, "[" * 100_000 + "]" * 100_000, "nested too deeply"),
        (Any, {"x": nested(100_000)}, "nested too deeply"),
        (list[int], {"x": nested(100_000)}, "nested too deeply"),
        (Any, nested(100_000, key="x"), "nested too deeply"),
        (Tree, {"x": nested(100_000, key="below")}, "nested too deeply"),
        (str, {"x": "a" * 10_000_000}, "10,000,000 characters is too long"),
        (str, "a" * 10_000_000, "characters of JSON are too long"),
        (int, '{"x": ' + "9" * 5000 + "}", "more than 1,000 digits"),
        (int, {"x": 10**5000}, "more than 1,000 digits"),
        (Any, {"x": -(10**5000)}, "more than 1,000 digits"),
        (str, {"x": ("a",)}, "a Python tuple is not JSON"),
        (str, {1: 2}, "the key 1 is not a string"),
        (str, {"x": Liar()}, "a Python Liar is not JSON"),
        (str, {Liar(): "a"}, "the key a Python Liar is not a string"),
        (str, Liar(), "Liar, cannot be read"),
        (str, Keys(x="a"), "Keys, cannot be read"),
        (str, 5, "expected an object with the arguments, got 5"),
        (str, [{"x": "a"}], "expected an object with the arguments, got an array of 1 item"),
        (str, "null", "expected an object with the arguments, got null"),
        (str, '"{}"', 'expected an object with the arguments, got "{}"'),
        (str, "x=1", "not JSON"),
        (str, b"\xff", "not UTF-8"),
        (str, "", "x: required, but missing"),
        (str, b" \n", "x: required, but missing"),
        (str, " " * 2000, "not JSON"),
    ],
    ids=lambda value: repr(value)[:30] if type(value) in (str, bytes) else type(value).__name__,
)
def test_hostile_arguments_end_in_a_clear_refusal(hint, arguments, words, validation):
    """Any input is answered with `BadArgs`, and quickly."""
    assert words in refusal(tool_for(hint), arguments, validation)


_LONG = 1_000_000


@pytest.mark.one_case_in(4)
@pytest.mark.parametrize("validation", MODES)
@pytest.mark.parametrize(
    "text",
    [
        "1" * _LONG,
        ":" * _LONG,
        "=" * _LONG,
        " " * _LONG + "1",
        "P" + "1" * _LONG + "D",
        "2024-05-01T12:30:00." + "1" * _LONG,
        "1." * _LONG,
        "(" * _LONG,
        "1e999999999999999999",
    ],
    ids=lambda value: value[:6],
)
@pytest.mark.parametrize(
    "hint",
    [
        dt.datetime,
        dt.date,
        dt.time,
        dt.timedelta,
        uuid.UUID,
        pathlib.Path,
        decimal.Decimal,
        bytes,
        complex,
        re.Pattern,
        ipaddress.IPv4Address,
        ipaddress.IPv6Address,
        ipaddress.IPv6Network,
        dict[int, int],
        dict[dt.date, int],
    ],
    ids=str,
)
def test_long_text_is_read_or_refused_soon(hint, text, validation):
    """No codec lingers over a long string, and none raises anything else."""
    value = {text: 1} if "dict" in str(hint) else text
    try:
        tool_for(hint).check({"x": value}, validation=validation)
    except BadArgs as error:
        text = str(error)
    assert text


@pytest.mark.parametrize("validation", MODES)
@pytest.mark.parametrize(
    "arguments",
    [
        {"x": "a"},
        '{"x": "a"}',
        b'{"x": "a"}',
        bytearray(b'{"x": "a"}'),
        Words('{"x": "a"}'),
        {Words("x"): Words("a")},
        collections.OrderedDict(x="a"),
        types.MappingProxyType({"x": "a"}),
        collections.ChainMap({"x": "a"}),
        collections.UserDict(x="a"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_arguments_may_come_in_any_wrapping(arguments, validation):
    """Text, bytes and any mapping of JSON are accepted; the function gets plain values."""
    checked = tool_for(str).check(arguments, validation=validation)
    assert checked == {"x": "a"}
    assert type(checked["x"]) is str


@pytest.mark.parametrize("validation", MODES)
def test_cycles_are_refused(validation):
    """Python objects that hold themselves are too deep for JSON, also in a recursive type."""
    cycle: dict[str, Any] = {}
    cycle["below"] = [cycle, cycle]
    assert "nested too deeply" in refusal(tool_for(Tree), {"x": cycle}, validation)
    assert "nested too deeply" in refusal(tool_for(Any), {"x": cycle}, validation)


@pytest.mark.parametrize("validation", MODES)
@pytest.mark.parametrize(("depth", "fits"), [(5, True), (31, True), (32, False), (40, False)])
def test_both_validations_accept_the_same_depth(depth, fits, validation):
    """They accept sixty-four levels of JSON. The fast path gives up earlier and leaves the decision to the schema."""
    value: Any = {"value": 1}
    for _ in range(depth):
        value = {"below": [value]}
    tool = tool_for(Tree)
    if fits:
        assert tool.check({"x": value}, validation=validation)["x"].below
    else:
        assert "nested too deeply" in refusal(tool, {"x": value}, validation)


@pytest.mark.parametrize("validation", MODES)
@pytest.mark.parametrize("leaf", [{"when": "never"}, {"child": 5}, {"when": "12:30"}], ids=str)
def test_ambiguous_recursion_is_decided_soon(leaf, validation):
    """Two records of one shape that contain each other are not tried in all combinations."""
    value: Any = leaf
    for _ in range(40):
        value = {"child": value}
    tool = tool_for(Left | Right)
    if leaf == {"when": "12:30"}:
        assert tool.check({"x": value}, validation=validation)
    else:
        assert refusal(tool, {"x": value}, validation)


@pytest.mark.parametrize("validation", MODES)
@pytest.mark.parametrize("hint", [set[int], frozenset[decimal.Decimal], dict[int, int]], ids=str)
def test_numbers_that_share_a_hash_do_not_stall(hint, validation):
    """Twenty thousand of these would take a set seconds, a long text of them hours."""
    numbers = [n * (2**61 - 1) for n in range(20_000)]
    value = {str(number): 1 for number in numbers} if "dict" in str(hint) else numbers
    assert "the same hash" in refusal(tool_for(hint), {"x": value}, validation)
    fine = {str(n): 1 for n in range(5000)} if "dict" in str(hint) else list(range(5000))
    assert len(tool_for(hint).check({"x": fine}, validation=validation)["x"]) == 5000


@pytest.mark.parametrize("validation", MODES)
def test_bad_keys_among_many_are_reported(validation):
    """Looking for keys that are alike does not hide those that are wrong."""
    days = {dt.date.fromordinal(700_000 + n).isoformat(): 1 for n in range(5000)}
    message = refusal(tool_for(dict[dt.date, int]), {"x": {**days, "2024-13-01": 1, "never": 1}}, validation)
    assert "2024-13-01" in message
    assert "never" in message
