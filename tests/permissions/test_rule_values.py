"""The values of a call that a rule is compared with."""

import enum
from pathlib import Path
from typing import Annotated, Any

import pytest

from toolkit.access import Reads
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.permissions.rule_values import could_be
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
