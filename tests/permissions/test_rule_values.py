"""The values of a call that a rule is compared with."""

import enum
import itertools
import json
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.access import Reads
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.permissions.rule_values import could_be
from toolkit.permissions.spellings import is_same_value
from toolkit.safety import SafetyChecks
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 13


CASES: list[tuple[Any, str, Any, Any]] = [
    (int, "13", 13, 12),
    (int, "1*", 130, 31),
    (float, "13", 13.0, 13.5),
    (bool, "true", True, False),
    (str, "13", "13", "x13"),
    (str | None, "x", "x", None),
    (int | str, "13", "13", "12"),
    (Level, "13", 13, 1),
    (list[int], "13", [1, 13], [1, 2]),
    (dict[str, int], "13", {"a": 13}, {"a": 1}),
]


@pytest.mark.parametrize(("hint", "pattern", "denied", "allowed"), CASES)
@pytest.mark.parametrize("subject", ["do(value={})", "do({})", "do(value~={})"])
async def test_a_rule_holds_for_every_type_of_argument(hint, pattern, denied, allowed, subject):
    async def do(value) -> int:
        return 1

    do.__annotations__["value"] = hint
    catalog = Catalog(Tool.described(do, description="Do it.", read_only=True))
    dispatcher = Dispatcher(catalog, permissions=Permissions("auto", [f"deny {subject.format(pattern)}"]))
    kinds = [(await dispatcher.call("do", {"value": value})).kind for value in (denied, allowed)]
    assert kinds == ["denied", "ok"]


async def test_a_rule_without_a_parameter_is_about_the_marked_path(tmp_path):
    """This holds also if another parameter comes first."""

    async def do(text: str, path: Annotated[Path, Reads]) -> int:
        """Do it."""
        return 1

    catalog = Catalog(Tool.described(do, read_only=True))
    permissions = Permissions("auto", ["deny do(src/**)"])
    dispatcher = Dispatcher(catalog, permissions=permissions, safety=SafetyChecks([tmp_path]))
    sent = [{"text": "x", "path": "src/a"}, {"text": "src/a", "path": "x"}]
    assert [(await dispatcher.call("do", arguments)).kind for arguments in sent] == ["denied", "ok"]


def test_a_text_that_is_nested_without_end_is_a_text():
    """It is no other value."""
    assert could_be("[" * 1_900, {"type": "string"})
    assert not could_be("[" * 1_900, {"type": "integer"})


SPELLINGS: list[tuple[Any, list[str], str]] = [
    (Decimal, ["5", "5.0", "5.00", "5e0", "0.5E1", "+5"], "5.01"),
    (Decimal, ["-0", "0", "0.00"], "0.01"),
    (float, ["1000", "1000.0", "1e3"], "1001"),
    (int, ["1000", "1000.0"], "999"),
    (
        datetime,
        ["2026-12-24T10:00:00Z", "2026-12-24T10:00:00+00:00", "2026-12-24T12:00:00+02:00"],
        "2026-12-24T10:00:00-01:00",
    ),
    (
        UUID,
        ["12345678-1234-5678-1234-567812345678", "12345678-1234-5678-1234-567812345678".upper()],
        "12345678-1234-5678-1234-567812345679",
    ),
    (Decimal | None, ["7", "7.0"], "8"),
]


@pytest.mark.parametrize(("hint", "spellings", "other"), SPELLINGS)
@pytest.mark.parametrize("shape", ["value", "item"])
@pytest.mark.parametrize("word", ["deny", "ask"])
async def test_a_deny_or_ask_holds_for_every_spelling_of_a_value(hint, spellings, other, shape, word):
    async def do(value) -> int:
        return 1

    do.__annotations__["value"] = hint if shape == "value" else list[hint]
    catalog = Catalog(Tool.described(do, description="Do it.", read_only=True))

    async def call(pattern, spelling):
        value = json.loads(spelling) if hint in (int, float) else spelling
        dispatcher = Dispatcher(catalog, permissions=Permissions("auto", [f"{word} do(value={pattern})"]))
        return (await dispatcher.call("do", {"value": value if shape == "value" else [value]})).kind

    for pattern, spelling in itertools.product(spellings, repeat=2):
        assert await call(pattern, spelling) == ("denied" if word == "deny" else "waiting"), (pattern, spelling)
    assert [await call(pattern, other) for pattern in spellings] == ["ok"] * len(spellings)


async def test_an_allow_of_a_text_holds_for_no_other_spelling():
    """For a text, 5 and 5.0 are two things, such as two versions."""

    async def do(value: str) -> int:
        return 1

    catalog = Catalog(Tool.described(do, description="Do it.", destructive=True))
    dispatcher = Dispatcher(catalog, permissions=Permissions("default", ["allow do(value=5)"]))
    kinds = [(await dispatcher.call("do", {"value": value})).kind for value in ("5", "5.0")]
    assert kinds == ["ok", "waiting"]


@given(st.text(max_size=20), st.text(max_size=20))
def test_two_texts_are_compared_without_an_error(first, second):
    assert is_same_value(first, second) == is_same_value(second, first)


@given(st.decimals(allow_nan=False, allow_infinity=False), st.integers(0, 6))
def test_zeros_at_the_end_change_no_number(number, count):
    text = format(number, "f")
    assert is_same_value(str(number), text + (("" if "." in text else ".") + "0" * count))
