"""`result.returned` is the object that the tool returned, beside its JSON form."""

import copy
import json
import pickle
import threading
from dataclasses import dataclass
from typing import Any

import pytest

from toolkit import Catalog, Dispatcher
from toolkit.hooks import Cache
from toolkit.results import ToolResult

pytestmark = pytest.mark.anyio


@dataclass
class Point:
    x: int


class Locked:
    """An object that can be neither copied nor pickled."""

    def __init__(self) -> None:
        self.lock = threading.Lock()


CASES = [
    ("int", int, 5),
    ("text", str, "plain"),
    ("umlaut", str, "grün"),
    ("record", Point, Point(1)),
    ("bare list", ..., [Point(1)]),
    ("none", ..., None),
    ("result", ToolResult, ToolResult("a", 1)),
]


def build(value: Any, returns: Any = ..., *, thread: bool | None = None, **options: Any) -> Dispatcher:
    catalog = Catalog()
    if thread is None:

        async def give():
            """Give it."""
            return value
    else:

        def give():
            """Give it."""
            return value

    if returns is not ...:
        give.__annotations__["return"] = returns
    catalog.tool(read_only=True)(give)
    return Dispatcher(catalog, **options)


class Passing:
    def after(self, call, result):
        return result


class Around:
    async def around(self, call, run):
        return await run()


class Rewriting:
    """Changes the value in place."""

    def after(self, call, result):
        result.value = "other"
        return result


class Copying:
    """Returns another result, made from the one it got."""

    def after(self, call, result):
        changed = copy.copy(result)
        changed.text, changed.value = "other", "other"
        return changed


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize(("returns", "value"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
@pytest.mark.parametrize(
    "hooks",
    [[], [Passing()], [Around()], [Rewriting()], [Copying()]],
    ids=lambda hooks: str([type(h).__name__ for h in hooks]),
)
@pytest.mark.parametrize("thread", [None, True], ids=["async", "sync"])
async def test_the_returned_object_is_the_same_object(returns, value, hooks, thread):
    """It is not copied and not encoded, with any hooks."""
    async with build(value, returns, thread=thread, hooks=hooks) as dispatcher:
        result = await dispatcher.call("give")
    assert result.kind == "ok"
    assert result.returned is value


async def test_the_returned_object_is_whole_if_the_text_was_cut():
    text = "x" * 1000
    result = await build(text, str, max_chars=100).call("give")
    assert result.truncated
    assert result.returned is text


@pytest.mark.parametrize("value", ["key sesame", ["sesame"], {"a": "sesame"}], ids=["text", "list", "dict"])
async def test_a_masked_result_does_not_hold_the_secret(value):
    """The object cannot be masked, so it is left out."""
    result = await build(value, redact=["sesame"]).call("give")
    assert "sesame" not in result.text
    assert result.returned is None
    unmasked = [1, 2]
    assert (await build(unmasked, redact=["sesame"]).call("give")).returned is unmasked


async def test_a_result_from_the_cache_has_no_object():
    """The tool did not run, and the cache keeps nothing alive."""
    point = Point(1)
    dispatcher = build(point, hooks=[Cache()])
    assert (await dispatcher.call("give")).returned is point
    again = await dispatcher.call("give")
    assert (again.value, again.returned) == ({"x": 1}, None)


@pytest.mark.parametrize(
    "travel",
    [
        lambda result: ToolResult.from_json(json.loads(json.dumps(result.to_json()))),
        lambda result: pickle.loads(pickle.dumps(result)),
        copy.deepcopy,
    ],
    ids=["json", "pickle", "deep copy"],
)
@pytest.mark.parametrize("value", [5, "plain", {"a": 1}])
async def test_a_result_that_was_stored_has_no_object(value, travel):
    """Only its JSON and its other fields are kept."""
    result = await build(value, type(value)).call("give")
    copied = travel(result)
    assert copied.returned is None
    assert copied.to_json() == result.to_json()
    assert result.returned is value


async def test_an_object_that_cannot_be_copied_causes_no_error():
    """It is not in a pickle, a deep copy or the repr of the result."""
    value = Locked()
    result = await build(value).call("give")
    assert (result.kind, result.returned) == ("failed", value)
    assert pickle.loads(pickle.dumps(result)).kind == "failed"
    assert copy.deepcopy(result).returned is None
    assert copy.copy(result).returned is value
    assert "Locked object" not in repr(result)


@pytest.mark.parametrize("result", [ToolResult("a", 1), ToolResult.failure("failed", "no")], ids=["ok", "error"])
def test_a_result_that_no_tool_returned_has_no_returned_object(result):
    """A program may set one."""
    assert result.returned is None
    result.returned = 5
    assert result.returned == 5


def test_a_double_can_have_one():
    """A test may make the result that a tool would give."""
    point = Point(1)
    assert ToolResult("a", {"x": 1}, returned=point).returned is point
