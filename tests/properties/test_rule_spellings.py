"""
Random values in random spellings: a deny or ask written for one spelling holds for all, and an allow for no other value.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import ipaddress
import unicodedata
import uuid
from base64 import b64encode
from collections.abc import Callable
from dataclasses import make_dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.permissions.rules import RuleError, read_rule
from toolkit.spec import Tool

# A pattern may hold what reads as a condition.
pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")


class Family(NamedTuple):
    """A type, one of its values, all its values, and the JSON forms of each value, the usual one first."""

    hint: Any
    example: Any
    values: st.SearchStrategy[Any]
    spell: Callable[[Any], list[Any]]
    is_key: bool = False


def _spell_decimal(number: Decimal) -> list[Any]:
    plain = format(number, "f")
    longer = plain + ("0" if "." in plain else ".00")
    json_numbers = [int(number)] if number == int(number) else []
    signed = f"-0{plain[1:]}" if plain[0] == "-" else f"+00{plain}"
    return [plain, longer, f"{number:e}", f"{number:E}", signed, *json_numbers]


def _spell_moment(moment: dt.datetime) -> list[str]:
    zones = [dt.timezone(dt.timedelta(minutes=minutes)) for minutes in (0, 90, -720)]
    texts = [moment.astimezone(zone).isoformat() for zone in zones]
    return [texts[0], texts[0].replace("+00:00", "Z"), *texts[1:], texts[1].replace("T", " ")]


def _spell_time(time: dt.time) -> list[str]:
    exact = time.isoformat(timespec="microseconds")
    return [time.isoformat(), exact, exact.replace(".", ","), *([exact[:5]] if exact.endswith(":00.000000") else [])]


def _spell_duration(duration: dt.timedelta) -> list[str]:
    seconds = duration // dt.timedelta(seconds=1)
    return [f"PT{seconds}S", f"P0DT{seconds}.0S", f"PT{seconds // 60}M{seconds % 60}S", f"+PT0H{seconds}S"]


def _spell_address(address: Any) -> list[str]:
    return list(dict.fromkeys([str(address), address.exploded, address.exploded.upper()]))


def _spell_bytes(content: bytes) -> list[str]:
    text = b64encode(content).decode()
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
    last = len(text.rstrip("=")) - 1
    # The last letter before the padding has bits that stand for nothing.
    odd = text[:last] + letters[letters.index(text[last]) | 1] + text[last + 1 :] if text.endswith("=") else text
    return [text, odd]


def _spell_path(path: str) -> list[str]:
    return [path, f"./{path}", path.replace("/", "//"), f"x/../{path}", f"{path}/"]


_WORDS = st.text("abcxyz", min_size=1, max_size=4)
_MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1), timezones=st.just(dt.timezone.utc))
_PATHS = st.lists(_WORDS, min_size=2, max_size=3).map("/".join)
_DURATIONS = st.integers(0, 10**6).map(lambda seconds: dt.timedelta(seconds=seconds))
_NETWORKS = st.ip_addresses(v=4).map(ipaddress.IPv4Network)
_TEXTS = st.text("eao\u0301\u0308uX5", min_size=1, max_size=5).map(lambda text: unicodedata.normalize("NFC", text))
_NOON = dt.datetime(2026, 12, 24, 12, tzinfo=dt.timezone.utc)
FAMILIES = [
    Family(Decimal, Decimal("12.5"), st.decimals(-(10**9), 10**9, places=3), _spell_decimal),
    Family(float, 12, st.integers(-(2**60), 2**60), lambda number: [number, float(number)]),
    Family(int, 12, st.integers(-(10**30), 10**30), lambda number: [number]),
    Family(int, 12, st.integers(-(2**53), 2**53), lambda number: [number, float(number)]),
    Family(bool, True, st.booleans(), lambda value: [value]),
    Family(dt.datetime, _NOON, _MOMENTS, _spell_moment, is_key=True),
    Family(dt.time, dt.time(12, 30), st.times(), _spell_time, is_key=True),
    Family(dt.timedelta, dt.timedelta(seconds=5), _DURATIONS, _spell_duration, is_key=True),
    Family(uuid.UUID, uuid.UUID(int=171), st.uuids(), lambda value: [str(value), str(value).upper()], is_key=True),
    Family(ipaddress.IPv6Address, ipaddress.IPv6Address("::ab"), st.ip_addresses(v=6), _spell_address, is_key=True),
    Family(
        ipaddress.IPv4Network,
        ipaddress.IPv4Network("10.0.0.1"),
        _NETWORKS,
        lambda network: [str(network), str(network.network_address)],
        is_key=True,
    ),
    Family(bytes, b"hi", st.binary(min_size=1, max_size=6), _spell_bytes, is_key=True),
    Family(Path, "src/x", _PATHS, _spell_path, is_key=True),
    Family(str, "\u00e9", _TEXTS, lambda text: [text, unicodedata.normalize("NFD", text)], is_key=True),
]

SHAPES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "value": (lambda hint: hint, lambda value: value),
    "optional": (lambda hint: hint | None, lambda value: value),
    "item": (lambda hint: list[hint], lambda value: [value]),
    "dictionary": (lambda hint: dict[str, hint], lambda value: {"key": value}),
    "key": (lambda hint: dict[hint, None], lambda value: {value: None}),
    "record": (lambda hint: make_dataclass("Record", [("field", hint)]), lambda value: {"field": value}),
    "server": (lambda hint: None, lambda value: {"some": [value]}),
}
FORMS = ["do(value={})", "do({})", "*(value={})", "do(value~={})", "python/do(value={})"]
TOOLS: dict[Any, Tool] = {}


def make_tool(family: Family, shape: str, *, read_only: bool) -> Tool:
    key = (family.hint, shape, read_only)
    if key not in TOOLS:

        def do(value):
            """Do it."""
            return "done"

        facts: dict[str, Any] = {"read_only": True} if read_only else {"destructive": True}
        if shape == "server":
            schema = {"type": "object", "properties": {"value": {}}}
            TOOLS[key] = Tool.from_schema("do", "Do it.", schema, lambda arguments: "done", **facts)
        else:
            do.__annotations__ = {"value": SHAPES[shape][0](family.hint), "return": str}
            TOOLS[key] = Tool.described(do, **facts)
    return TOOLS[key]


def write_text(value: Any) -> str:
    return {True: "true", False: "false"}[value] if isinstance(value, bool) else str(value)


def judge(tool: Tool, rule: str, sent: Any) -> str:
    """Return what becomes of a call, after `explain` has said the same."""
    mode = "auto" if tool.facts.read_only else "default"
    dispatcher = Dispatcher(Catalog(tool), permissions=Permissions(mode, [rule]))

    async def run() -> tuple[str, str]:
        verdict = await dispatcher.explain("do", {"value": sent})
        return verdict.word, (await dispatcher.call("do", {"value": sent})).kind

    word, kind = asyncio.run(run())
    assert {"allow": "ok", "ask": "waiting", "deny": "denied"}[word] == kind
    return kind


@st.composite
def cases(draw: Any) -> tuple[Family, str, str]:
    family = draw(st.sampled_from(FAMILIES))
    shape = draw(st.sampled_from(sorted(SHAPES)))
    # A number is rounded for a parameter that is a `float`, not in the arguments of a server.
    assume(shape != "key" or family.is_key)
    assume(shape != "server" or family.hint is not float)
    return family, shape, draw(st.sampled_from(FORMS))


@given(cases(), st.data())
def test_a_deny_or_ask_for_one_spelling_holds_for_every_spelling(case, data):
    family, shape, form = case
    spellings = family.spell(data.draw(family.values))
    pattern = form.format(write_text(data.draw(st.sampled_from(spellings))))
    word, kind = data.draw(st.sampled_from([("deny", "denied"), ("ask", "waiting")]))
    try:
        rule = read_rule(f"{word} {pattern}")
    except RuleError:  # the pattern reads as a parameter without a value, such as `a=`
        assume(False)
    assert read_rule(str(rule)) == rule
    tool = make_tool(family, shape, read_only=True)
    for spelling in spellings:
        assert judge(tool, str(rule), SHAPES[shape][1](spelling)) == kind, spelling


@given(cases(), st.data())
def test_an_allow_for_one_value_holds_for_no_other(case, data):
    family, shape, form = case
    first, second = data.draw(family.values), data.draw(family.values)
    assume(first != second)
    pattern = form.format(write_text(data.draw(st.sampled_from(family.spell(first)))))
    try:
        rule = read_rule(f"allow {pattern}")
    except RuleError:
        assume(False)
    if rule.ignores_case:
        assume(not isinstance(first, str) or first.casefold() != second.casefold())
    assume(family.hint is not float or float(first) != float(second))
    tool = make_tool(family, shape, read_only=False)
    for spelling in family.spell(second):
        assert judge(tool, str(rule), SHAPES[shape][1](spelling)) == "waiting", spelling


@pytest.mark.parametrize("shape", sorted(SHAPES))
@pytest.mark.parametrize("family", FAMILIES, ids=lambda family: str(family.hint))
def test_a_rule_for_the_usual_spelling_of_a_value_holds(family, shape):
    """An allow as well, so that the properties above do not hold because nothing ever matches."""
    if shape == "key" and not family.is_key:
        return
    spelling = family.spell(family.example)[0]
    sent = SHAPES[shape][1](spelling)
    text = write_text(spelling)
    assert judge(make_tool(family, shape, read_only=True), f"deny do(value={text})", sent) == "denied"
    if shape in ("value", "optional", "item"):
        assert judge(make_tool(family, shape, read_only=False), f"allow do(value={text})", sent) == "ok"
