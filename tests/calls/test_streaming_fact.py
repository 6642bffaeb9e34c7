"""A `streaming` fact on generator tools."""

from __future__ import annotations

import functools
from collections.abc import AsyncIterator, Iterable, Iterator

import pytest

from toolkit import Catalog, DefinitionError, Dispatcher, Tool

pytestmark = pytest.mark.anyio


def count() -> Iterator[int]:
    """Count."""
    yield from range(3)


async def count_later() -> AsyncIterator[int]:
    """Count."""
    for number in range(3):
        yield number


@functools.wraps(count)
def wrapped() -> Iterator[int]:
    """Return the generator of another function."""
    return count()


def items() -> Iterable[int]:
    """Return items."""
    return count()


class Thing:
    def method(self) -> Iterator[int]:
        """Count."""
        yield 1


@pytest.mark.parametrize("function", [count, count_later, functools.partial(count), Thing().method])
def test_a_generator_function_streams(function):
    """The fact is read from the function, and is seen in the facts and in the definition."""
    tool = Tool.described(function, name="count")
    assert tool.facts.streaming is True
    assert tool.definition["facts"]["streaming"] is True


def test_a_function_that_returns_a_value_is_not_streaming():
    """Its definition does not mention the fact."""

    def plain() -> int:
        """Return a number."""
        return 1

    tool = Tool.described(plain)
    assert tool.facts.streaming is False
    assert "streaming" not in tool.definition["facts"]
    assert Tool.from_schema("x", "X.", {"type": "object"}, lambda arguments: (yield 1)).facts.streaming is True


@pytest.mark.parametrize("function", [items, wrapped])
async def test_a_function_that_returns_a_generator_may_be_marked_as_streaming(function):
    """`streaming=True` is for a function whose code does not show that it streams."""
    reports = []
    tool = Tool.described(function, name="items", streaming=True)
    assert tool.facts.streaming is True
    async with Dispatcher(Catalog(tool), on_progress=reports.append) as dispatcher:
        assert (await dispatcher.call("items")).value == [0, 1, 2]
    assert [report.value for report in reports] == [0, 1, 2]


@pytest.mark.parametrize("function", [count, count_later])
async def test_a_generator_with_streaming_false_reports_no_values(function):
    """The result is the same."""
    reports = []
    tool = Tool.described(function, name="count", streaming=False)
    assert "streaming" not in tool.definition["facts"]
    async with Dispatcher(Catalog(tool), on_progress=reports.append) as dispatcher:
        assert (await dispatcher.call("count")).value == [0, 1, 2]
    assert reports == []


def one() -> int:
    """Return a number."""
    return 1


async def one_later():
    """Return a number."""
    return 1


@pytest.mark.parametrize("function", [one, one_later])
def test_streaming_is_refused_for_a_function_that_does_not_yield(function):
    """The error names the remedy."""
    with pytest.raises(DefinitionError, match="`streaming=True` is for a function that yields"):
        Tool.described(function, streaming=True)


def test_the_streaming_fact_does_not_change_an_approval():
    """An approval of an older version, which did not know the fact, can still be answered."""
    from toolkit.approvals.identity import identity_of

    assert identity_of(Tool.described(count)) == identity_of(Tool.described(count, streaming=False))
