"""
Snapshots: each change of a tool is said in words, with whether it breaks callers.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NotRequired, TypedDict

import annotated_types as at
import pytest

from toolkit import Catalog, CatalogError
from toolkit.formats import FORMATS
from toolkit.spec import Tool
from toolkit.testing import check_snapshot
from toolkit.testing.snapshots.snapshot import build_snapshot, compare_snapshots


class Before(TypedDict):
    total: int
    note: NotRequired[str]


class After(TypedDict):
    note: NotRequired[str]


class Larger(TypedDict):
    total: int
    count: int
    note: NotRequired[str]


class Weaker(TypedDict):
    total: NotRequired[int]
    note: NotRequired[str]


@dataclass
class Item:
    """What is bought."""

    sku: str
    tags: list[str] = field(default_factory=list)


@dataclass
class CountedItem:
    """What is bought."""

    sku: str
    count: int
    tags: list[str] = field(default_factory=list)


def build(annotation: Any = int, default: Any = ..., returns: Any = None, **options: Any) -> Tool:
    """Return a tool with one parameter, `value`."""

    def pay(value: annotation = default): ...

    def pay_required(value: annotation): ...

    function = pay_required if default is ... else pay
    function.__annotations__ = {"value": annotation, "return": returns}
    return Tool.described(function, **{"name": "pay", "description": "Pay.", "read_only": True, **options})


def build_without() -> Tool:
    def pay() -> None: ...

    return Tool.described(pay, name="pay", description="Pay.", read_only=True)


def compare(old: Tool | None, new: Tool | None) -> list[tuple[bool, str]]:
    snapshots = [build_snapshot(Catalog(*([] if tool is None else [tool]))) for tool in (old, new)]
    return [(change.breaks, change.text) for change in compare_snapshots(*snapshots)]


BREAKS = {
    "a tool is gone": (build(), None, "is gone"),
    "a parameter is new and required": (build_without(), build(), "parameter `value` is new, and has to be sent"),
    "a parameter is gone": (build(), build_without(), "parameter `value` is gone, and a call that sends it is refused"),
    "a parameter is required": (build(default=1), build(), "parameter `value` has to be sent now"),
    "an enum value is gone": (
        build(Literal["late", "broken"]),
        build(Literal["late"]),
        'parameter `value` does not take "broken" any more',
    ),
    "a text becomes an enum": (
        build(str),
        build(Literal["late"]),
        'parameter `value` does not take other values than "late" any more',
    ),
    "a type is narrower": (build(float), build(int), "parameter `value` does not take fractions any more"),
    "a type is another": (build(str), build(int), "parameter `value` does not take texts any more"),
    "null is refused": (build(int | None), build(int), "parameter `value` does not take null any more"),
    "a union lost a member": (build(int | str), build(str), "parameter `value` does not take integers any more"),
    "a limit is lower": (
        build(Annotated[int, at.Le(10)]),
        build(Annotated[int, at.Le(5)]),
        "parameter `value` is limited more: `maximum` was 10, and is 5",
    ),
    "a limit is new": (
        build(str),
        build(Annotated[str, at.MaxLen(5)]),
        "parameter `value` is limited more: `maxLength` was nothing, and is 5",
    ),
    "an item is narrower": (build(list[str]), build(list[int]), "parameter `value[]` does not take texts any more"),
    "a field of an item is required": (
        build(list[Item]),
        build(list[CountedItem]),
        "parameter `value[].count` is new, and has to be sent",
    ),
    "a mapping takes less": (
        build(dict[str, float]),
        build(dict[str, int]),
        "parameter `value.*` does not take fractions any more",
    ),
    "a result may be null": (build(returns=int), build(returns=int | None), "its result may be null now"),
    "a result has a new value": (
        build(returns=Literal["a"]),
        build(returns=Literal["a", "b"]),
        'its result may be "b" now',
    ),
    "a field of a result is gone": (build(returns=Before), build(returns=After), "its result `total` is gone"),
    "a field of a result may be missing": (
        build(returns=Before),
        build(returns=Weaker),
        "its result `total` may be missing now",
    ),
    "an alias is gone": (build(aliases=["give"]), build(), "does not answer to the name `give` any more"),
    "it asks": (build(), build(destructive=True, read_only=False), "states destructive=True, and stated False"),
}

COMPATIBLE = {
    "a tool is new": (None, build(), "is new"),
    "a tool has another name": (
        build(),
        build(name="give", aliases=["pay"]),
        "is called `give` now, and still answers to the old name",
    ),
    "a parameter is new": (build_without(), build(default=1), "parameter `value` is new, and may be left out"),
    "a parameter is optional": (build(), build(default=1), "parameter `value` may be left out now"),
    "an enum value is new": (build(Literal["a"]), build(Literal["a", "b"]), 'parameter `value` takes "b" too'),
    "a type is wider": (build(int), build(float), "parameter `value` takes fractions too"),
    "null is taken": (build(int), build(int | None), "parameter `value` takes null too"),
    "a limit is higher": (
        build(Annotated[int, at.Le(5)]),
        build(Annotated[int, at.Le(10)]),
        "parameter `value` is limited less: `maximum` was 5, and is 10",
    ),
    "a default is another": (
        build(default=1),
        build(default=2),
        "parameter `value`, if it is left out, is 2 now, and was 1",
    ),
    "a field of a result is new": (build(returns=Before), build(returns=Larger), "its result `count` is new"),
    "a result is never null": (build(returns=int | None), build(returns=int), "its result is never null any more"),
    "an alias is new": (build(), build(aliases=["give"]), "answers to the name `give` too"),
    "it is described in other words": (
        build(),
        build(description="Send money."),
        "is described in other words, by which a model may choose it more or less often",
    ),
    "a parameter is described": (
        build(),
        build(Annotated[int, "How much."]),
        "describes its parameters in other words",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_a_breaking_change_is_described(name):
    old, new, text = BREAKS[name]
    assert (True, text) in compare(old, new)


@pytest.mark.parametrize("name", COMPATIBLE)
def test_a_compatible_change_is_described(name):
    old, new, text = COMPATIBLE[name]
    changes = compare(old, new)
    assert (False, text) in changes
    assert [text for breaks, text in changes if breaks] == []


@pytest.mark.parametrize("name", BREAKS)
def test_an_unchanged_tool_has_no_changes(name):
    tool = BREAKS[name][0]
    assert compare(tool, tool) == []


def test_each_change_has_one_line():
    old, new = build(Literal["a", "b"], "a"), build(Literal["a"], "a")
    assert compare(old, new) == [(True, 'parameter `value` does not take "b" any more')]
    assert len(compare(build_without(), build())) == 1
    assert len(compare(build(), build_without())) == 1
    assert len(compare(build(returns=Before), build(returns=Larger))) == 1


def test_the_file_has_the_definition_for_each_provider_and_the_schema_once(tmp_path):
    path = tmp_path / "tools.json"
    check_snapshot(Catalog(build(Annotated[int, "A rather special sum."])), path, update=True)
    text = path.read_text(encoding="utf-8")
    tool = json.loads(text)["tools"]["pay"]
    names = [name for key in tool["definitions"] for name in key.split(", ")]
    assert sorted(names) == sorted(FORMATS)
    assert text.count("A rather special sum.") == 1


def test_a_snapshot_is_compared_and_updated(tmp_path):
    path = tmp_path / "tools.json"
    with pytest.raises(CatalogError, match=r"there is no snapshot .*tools.json yet"):
        check_snapshot(Catalog(build()), path)
    assert check_snapshot(Catalog(build()), path, update=True) == []
    assert check_snapshot(Catalog(build()), path) == []
    (change,) = check_snapshot(Catalog(build(str)), path)[:1]
    assert str(change) == "breaks callers: `pay` parameter `value` does not take integers any more"
    assert check_snapshot(Catalog(build(str)), path, update=True) != []
    assert check_snapshot(Catalog(build(str)), path) == []


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"version": 9}', '{"version": 1}', '{"version": 1, "tools": {"a": {}}}']
)
def test_a_file_that_is_not_a_snapshot_is_named(tmp_path, text):
    path = tmp_path / "tools.json"
    path.write_text(text)
    with pytest.raises(CatalogError, match=r"cannot read the snapshot .*tools.json: .*; delete it"):
        check_snapshot(Catalog(build()), path)


def test_the_order_of_the_tools_is_not_a_change():
    first, second = build(), Tool.described(print, name="other", description="Other.", schema={"type": "object"})
    snapshots = build_snapshot(Catalog(first, second)), build_snapshot(Catalog(second, first))
    assert json.dumps(snapshots[0]) == json.dumps(snapshots[1])
