"""`call_typed` takes the function of a tool, and returns what the function returned."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.errors import BadArgs, ToolkitError, UnknownTool
from toolkit.hooks import Cache
from toolkit.permissions import Permissions

pytestmark = pytest.mark.anyio


@dataclass
class Point:
    """A value with a JSON form."""

    x: int


catalog = Catalog()


@catalog.tool(read_only=True)
async def locate(x: int) -> Point:
    """Return a point."""
    return Point(x)


@catalog.tool
def double(x: int) -> int:
    """Return twice the number."""
    return 2 * x


async def test_a_typed_call_returns_the_object_and_not_its_json_form():
    """The tool may have another name in the catalog of the dispatcher."""
    assert await Dispatcher(catalog.prefixed("map")).call_typed(locate, {"x": 1}) == Point(1)


def test_a_typed_call_has_a_sync_form():
    assert Dispatcher(catalog).call_typed_sync(double, {"x": 4}) == 8


async def test_a_call_that_does_not_succeed_raises():
    """Bad arguments raise, and so does a call that waits for a person."""
    with pytest.raises(BadArgs, match="x: expected an integer"):
        await Dispatcher(catalog).call_typed(locate, {"x": "one"})
    with pytest.raises(ToolkitError, match="`double` may change something"):
        await Dispatcher(catalog, permissions=Permissions("default")).call_typed(double, {"x": 1})


async def test_a_function_that_is_not_a_tool_of_the_dispatcher_is_named():
    """The mistake is the program's, so it is raised."""
    with pytest.raises(UnknownTool, match="unknown tool `len`"):
        await Dispatcher(catalog).call_typed(len, {})


async def test_a_cached_result_has_no_object_to_return():
    """The cache keeps the JSON form, and a type checker was promised the object."""
    dispatcher = Dispatcher(catalog, hooks=[Cache()])
    assert await dispatcher.call_typed(locate, {"x": 1}) == Point(1)
    with pytest.raises(ValueError, match="`locate` returned is not there, because the result comes from a cache"):
        await dispatcher.call_typed(locate, {"x": 1})
