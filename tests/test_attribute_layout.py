"""The classes whose objects every call makes know their attributes beforehand, so the objects need no dictionary."""

from __future__ import annotations

import gc

import pytest

from toolkit import Catalog, Dispatcher, ToolResult
from toolkit._plumbing.attribute_layout import reserve_attributes
from toolkit.hooks import Proceed

pytestmark = pytest.mark.anyio


def has_dictionary(value: object) -> bool:
    """Return whether the attributes of *value* are in a dictionary of its own."""
    return any(type(part) is dict for part in gc.get_referents(value))


def fill(cls: type, names: str) -> object:
    """Return a new object of *cls* with an attribute for each letter of *names*."""
    value = cls()
    for name in names:
        setattr(value, name, 1)
    return value


def test_attributes_that_come_late_need_no_dictionary():
    """An object with more attributes than the first thousand had is stored as they are."""

    @reserve_attributes("a", "b", "c", "d", "e")
    class Reserved:
        pass

    for _ in range(1000):
        fill(Reserved, "a")
    assert not has_dictionary(fill(Reserved, "abcde"))


def test_python_gives_a_dictionary_to_objects_of_other_classes():
    """This is what the decorator is for; if Python ever stops doing it, the decorator can go."""

    class Unreserved:
        pass

    for _ in range(1000):
        fill(Unreserved, "a")
    assert has_dictionary(fill(Unreserved, "abcde"))


def test_reserved_attributes_are_unset():
    """A class attribute of the same name is still the default."""

    @reserve_attributes("count")
    class Counter:
        count = 0

    assert Counter().count == 0
    assert vars(Counter()) == {}


class Pair:
    """A hook that lets every call pass."""

    async def before(self, call):
        return Proceed()

    async def after(self, call, result):
        return result


class Around:
    """A hook that only runs the call."""

    async def around(self, call, run):
        return await run()


async def double(number: int) -> int:
    """Double a number."""
    if number < 0:
        raise ValueError("below 0")
    return 2 * number


async def list_numbers(number: int) -> list[int]:
    """List the numbers."""
    return list(range(number))


@pytest.mark.parametrize("hooks", [[], [Pair()], [Around()], [Pair(), Around()]])
@pytest.mark.parametrize(("name", "number"), [("double", 3), ("double", -1), ("list_numbers", 3)])
async def test_a_result_needs_no_dictionary(hooks, name, number):
    """Whatever hooks ran and however the call ended, also after many plain results."""
    for _ in range(100):
        ToolResult("text")
    dispatcher = Dispatcher(Catalog(double, list_numbers), hooks=hooks)
    assert not has_dictionary(await dispatcher.call(name, {"number": number}))
