"""Large arguments that do not fit: checking, wording and repair are bounded, and do not hold up the event loop."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
import time
import uuid
from typing import ClassVar

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit import Catalog, Dispatcher, register_codec
from toolkit.values.strictjson.checks import count_values

pytestmark = [pytest.mark.anyio, pytest.mark.unmeasured]

MANY = 50_000


@pytest.fixture
def dispatcher():
    """A dispatcher over one tool for each kind of parameter that was slow to refuse."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def dates(items: list[dt.date]) -> int:
        """Count dates."""
        return len(items)

    @catalog.tool(read_only=True)
    async def numbers(items: set[int]) -> int:
        """Count numbers."""
        return len(items)

    @catalog.tool(read_only=True)
    async def unions(items: list[dt.date | uuid.UUID | int]) -> int:
        """Count values of several kinds."""
        return len(items)

    @catalog.tool(read_only=True)
    async def days(items: dict[str, dt.date]) -> int:
        """Count days by name."""
        return len(items)

    @catalog.tool(read_only=True)
    async def options(some_name: dt.date | None = None, other: int = 1) -> int:
        """Take options."""
        return other

    dispatcher = Dispatcher(catalog)
    yield dispatcher
    dispatcher.close()


LARGE = {
    "wrong dates": ("dates", {"items": ["x"] * MANY}),
    "numbers for dates": ("dates", {"items": list(range(MANY))}),
    "one wrong date at the end": ("dates", {"items": ["2026-01-01"] * MANY + ["x"]}),
    "dates as JSON text": ("dates", '{"items": [' + ",".join(['"x"'] * MANY) + "]}"),
    "texts in a set": ("numbers", {"items": [f"{number}" for number in range(MANY)]}),
    "lists in a set": ("numbers", {"items": [[number] for number in range(MANY)]}),
    "equal items in a set": ("numbers", {"items": [1] * MANY}),
    "no member of a union": ("unions", {"items": ["x"] * MANY}),
    "wrong values of a mapping": ("days", {"items": {f"k{number}": "x" for number in range(MANY)}}),
    "unknown keys": ("options", {f"k{number}": number for number in range(MANY)}),
    "keys that look alike": ("options", {f"some_nam{number}": number for number in range(MANY)}),
    "nulls": ("options", {f"k{number}": None for number in range(MANY)}),
}


@pytest.mark.long
@pytest.mark.parametrize("case", LARGE)
async def test_refusing_a_large_call_takes_little_time(dispatcher, case):
    """Some of these took a minute; the words tell of the first problems only."""
    name, arguments = LARGE[case]
    started = time.thread_time()
    result = await dispatcher.call(name, arguments)
    seconds = time.thread_time() - started
    assert (result.kind, len(result.text) < 3_000) == ("bad_args", True)
    assert seconds < 0.2  # of the event loop's own thread


class Colour(str):
    """A type of the user's own, which notes the threads in which it is decoded."""

    __slots__ = ()
    threads: ClassVar[set[threading.Thread]] = set()

    @classmethod
    def decode(cls, value):
        cls.threads.add(threading.current_thread())
        return cls(value)


register_codec(Colour, schema={"type": "string", "format": "colour"}, decode=Colour.decode, encode=str)


@pytest.mark.parametrize("count", [900, 100_000], ids=["few", "many"])
async def test_arguments_over_a_size_are_decoded_in_a_thread(dispatcher, count):
    """A small call stays where it is, because a thread costs more than the check."""

    @dispatcher.catalog.tool(read_only=True)
    async def paint(colours: list[Colour]) -> int:
        """Paint."""
        return len(colours)

    await dispatcher.call("paint", {"colours": []})  # the code of the check is generated now, in this thread
    Colour.threads.clear()
    result = await dispatcher.call("paint", {"colours": [5] + ["red"] * count})
    assert "expected a string (colour), got 5" in result.text
    assert (threading.main_thread() in Colour.threads, len(Colour.threads)) == (count == 900, 1)


async def test_the_loop_goes_on_while_a_large_call_is_refused(dispatcher):
    """Another task gets its turn again and again."""
    turns = 0

    async def count_turns():
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    counter = asyncio.create_task(count_turns())
    await dispatcher.call("unions", {"items": ["x"] * 100_000})
    counter.cancel()
    assert turns > 10


async def test_a_thousand_small_mistakes_are_repaired_in_one_go(dispatcher):
    """Repair goes by rounds over the whole, and takes many errors a round."""
    result = await dispatcher.call("numbers", {"items": [f"{number}" for number in range(1_000)]})
    assert (result.kind, result.value, len(result.repairs)) == ("ok", 1_000, 1_000)


async def test_a_call_with_too_many_mistakes_is_not_repaired(dispatcher):
    """The budget of a repair does not depend on the input."""
    result = await dispatcher.call("numbers", {"items": [f"{number}" for number in range(30_000)]})
    assert (result.kind, result.repairs) == ("bad_args", ())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=5),
    max_leaves=40,
)


@given(JSON, st.integers(1, 60))
def test_values_are_counted_up_to_a_limit(value, limit):
    """The count is that of a plain recursion, cut at the limit."""

    def count(part):
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        return 1 + sum(map(count, inner))

    assert count_values(value, limit) == min(limit, count(value))


async def test_tools_that_hang_in_their_threads_do_not_hold_up_the_check(dispatcher):
    """The check needs a thread of its own, and not one of those that wait for the tools."""
    release = threading.Event()

    @dispatcher.catalog.tool(timeout_seconds=0.01)
    def hang() -> None:
        """Wait."""
        release.wait(60)

    busy = Dispatcher(dispatcher.catalog, max_concurrency=1)
    try:
        assert (await busy.call("hang", {})).kind == "timeout"
        result = await busy.call("dates", {"items": ["x"] * MANY}, timeout_seconds=30)
        assert result.kind == "bad_args"
    finally:
        release.set()
        busy.close()
