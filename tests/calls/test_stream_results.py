"""Iterators as the results of tools: each is read like a generator, in the same thread and under the same limits."""

import asyncio
import itertools
import threading
import typing
from collections.abc import AsyncIterable, AsyncIterator, Awaitable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Annotated, Any

import pytest

from toolkit import Catalog, Dispatcher, Tool
from toolkit.content import TextPart
from toolkit.values import arrays

pytestmark = [pytest.mark.anyio, pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")]

UNSTATED = object()


class Countdown:
    """An iterator of a user's own class, which notes that it was closed."""

    def __init__(self, numbers=(2, 1)):
        self._numbers = iter(numbers)
        self.closed = threading.Event()

    def __iter__(self):
        return self

    def __next__(self):
        return next(self._numbers)

    def close(self):
        self.closed.set()


class AsyncCountdown:
    """An object that only `async for` reads."""

    def __init__(self, numbers=(2, 1)):
        self._numbers = iter(numbers)
        self.closed = threading.Event()

    def __aiter__(self):
        return self

    async def __anext__(self):
        await asyncio.sleep(0)
        for number in self._numbers:
            return number
        raise StopAsyncIteration

    async def aclose(self):
        self.closed.set()


class AsyncItems:
    """An async iterable that is no iterator, and cannot be closed."""

    async def __aiter__(self):
        for number in (2, 1):
            yield number


STREAMS = {
    "map": lambda: map(int, "21"),
    "iter": lambda: iter([2, 1]),
    "reversed": lambda: reversed([1, 2]),
    "filter": lambda: filter(None, [2, 0, 1]),
    "dict keys iterator": lambda: iter({2: "", 1: ""}),
    "chain": lambda: itertools.chain([2], [1]),
    "islice": lambda: itertools.islice(itertools.count(2, -1), 2),
    "accumulate": lambda: itertools.accumulate([2, -1]),
    "generator": lambda: (number for number in (2, 1)),
    "own class": Countdown,
    "async iterator": AsyncCountdown,
    "async iterable": AsyncItems,
}
HINTS = [
    UNSTATED,
    Any,
    list,
    list[int],
    Iterator,
    Iterator[int],
    Iterable[int],
    typing.Iterator[int],
    Generator[int, None, None],
    AsyncIterator[int],
    AsyncIterable[int],
    Awaitable[Iterator[int]],
    Iterator[int] | None,
    Annotated[Iterator[int], "The numbers."],
    tuple[int, ...],
]


def build_tool(make, hint, *, is_async=False, **options):
    def function():
        """Return a stream."""
        return make()

    async def function_later():
        """Return a stream."""
        await asyncio.sleep(0)
        return make()

    chosen = function_later if is_async else function
    if hint is not UNSTATED:
        chosen.__annotations__["return"] = hint
    return Tool.described(chosen, name="stream", **options)


async def call(tool, **options):
    async with Dispatcher(Catalog(tool), **options) as dispatcher:
        return await dispatcher.call(tool.name)


STYLES = {
    "thread": {},
    "loop": {"thread": False},
    "async": {"is_async": True},
    "limited": {"timeout_seconds": 30},
    "caller": {"thread": "caller"},
}
# Each stream with each annotation; each of both with each style. All three together would be 900 cases.
CASES = [
    (name, hint, list(STYLES)[(number + place) % len(STYLES)])
    for number, name in enumerate(STREAMS)
    for place, hint in enumerate(HINTS)
]


@pytest.mark.one_case_in(7)
@pytest.mark.parametrize(("name", "hint", "style"), CASES)
async def test_an_iterator_is_read_into_a_list(name, hint, style):
    tool = build_tool(STREAMS[name], hint, **STYLES[style])
    result = await call(tool)
    assert (result.kind, result.value) == ("ok", [2, 1])


@pytest.mark.parametrize(
    "make", [lambda: zip([1], "a", strict=True), lambda: enumerate("a", 1)], ids=["zip", "enumerate"]
)
async def test_pairs_are_lists_of_two(make):
    assert (await call(build_tool(make, Iterator[tuple[int, str]]))).value == [[1, "a"]]


@pytest.mark.parametrize("hint", HINTS[5:11], ids=str)
def test_an_iterator_has_the_output_schema_of_an_iterable(hint):
    assert build_tool(STREAMS["iter"], hint).output_schema == {"type": "array", "items": {"type": "integer"}}
    assert build_tool(STREAMS["iter"], Iterable[int]).output_schema == {"type": "array", "items": {"type": "integer"}}


async def test_items_that_the_annotation_does_not_allow_are_a_failure():
    result = await call(build_tool(lambda: map(str, [1]), Iterator[int]))
    assert (result.kind, result.error.details) == ("failed", {"ran": True})


async def test_an_iterator_of_parts_gives_parts():
    result = await call(build_tool(lambda: map(TextPart, ["a", "b"]), Iterator[TextPart]))
    assert result.parts == [TextPart("a"), TextPart("b")]


@dataclass
class Page:
    """A record that is also an iterator."""

    number: int = 3

    def __iter__(self):
        return self

    def __next__(self):
        raise StopIteration


async def test_an_iterator_with_a_codec_is_encoded_by_the_codec():
    assert (await call(build_tool(Page, UNSTATED))).value == {"number": 3}


async def test_a_file_is_not_read(tmp_path):
    """The program may still need it."""
    path = tmp_path / "notes.txt"
    path.write_text("a\nb\n")
    with path.open() as file:
        result = await call(build_tool(lambda: file, UNSTATED))
        assert "read it in the tool" in result.error.message
        assert file.read() == "a\nb\n"


@pytest.mark.parametrize("options", [{}, {"timeout_seconds": 30}], ids=["plain", "limited"])
async def test_the_thread_of_the_tool_reads_the_iterator(options):
    """A cursor of sqlite3, for example, can be read only in the thread that made it."""

    def select():
        thread = threading.get_ident()

        def read(number):
            return number, threading.get_ident() == thread

        return map(read, [2, 1])

    assert (await call(build_tool(select, UNSTATED, **options))).value == [[2, True], [1, True]]


async def test_the_event_loop_does_not_read_the_iterator_of_an_async_tool():
    threads = []

    def note(number):
        threads.append(threading.current_thread())
        return number

    result = await call(build_tool(lambda: map(note, [2, 1]), UNSTATED, is_async=True))
    assert result.value == [2, 1]
    assert threading.main_thread() not in threads


def fail(number):
    raise ValueError(f"no {number}")


@pytest.mark.parametrize("is_async", [False, True])
async def test_an_error_while_reading_is_the_error_of_the_tool(is_async):
    result = await call(build_tool(lambda: map(fail, [2]), Iterator[int], is_async=is_async))
    assert (result.kind, result.error.message) == ("failed", "ValueError: no 2")


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("make", "hint"),
    [
        (itertools.count, UNSTATED),
        pytest.param(lambda: map(abs, itertools.count()), Iterable[int], marks=pytest.mark.long),
    ],
)
async def test_an_iterator_without_end_meets_the_time_limit(make, hint, is_async):
    # On a busy machine, the thread that reads it may begin late.
    result = await call(build_tool(make, hint, is_async=is_async, timeout_seconds=0.4))
    assert result.kind == "timeout"


@pytest.mark.parametrize("is_async", [False, True])
async def test_a_cancelled_call_stops_reading_and_closes_the_iterator(is_async):
    began = threading.Event()
    stream = Countdown(began.set() or number for number in itertools.count())
    async with Dispatcher(Catalog(build_tool(lambda: stream, UNSTATED, is_async=is_async))) as dispatcher:
        task = asyncio.ensure_future(dispatcher.call("stream"))
        await asyncio.to_thread(began.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await asyncio.to_thread(stream.closed.wait, 10)


async def test_a_call_that_is_cancelled_before_the_function_returns_reads_no_items():
    entered, go_on, numbers = threading.Event(), threading.Event(), itertools.count()
    stream = Countdown(numbers)

    def wait():
        entered.set()
        go_on.wait()
        return stream

    async with Dispatcher(Catalog(build_tool(wait, UNSTATED))) as dispatcher:
        task = asyncio.ensure_future(dispatcher.call("stream"))
        await asyncio.to_thread(entered.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        go_on.set()
        assert await asyncio.to_thread(stream.closed.wait, 10)
    assert next(numbers) <= 1


@pytest.mark.parametrize("stream", [Countdown(), AsyncCountdown()], ids=["sync", "async"])
async def test_an_iterator_is_closed_at_its_end(stream):
    assert (await call(build_tool(lambda: stream, UNSTATED))).value == [2, 1]
    assert stream.closed.is_set()


@pytest.mark.parametrize("make", [itertools.count, lambda: AsyncCountdown(itertools.count())], ids=["sync", "async"])
async def test_more_items_than_a_result_can_hold_are_a_failure(make, monkeypatch):
    """Without a time limit, an iterator without end would fill the memory."""
    monkeypatch.setattr(arrays, "MAX_ITEMS", 1000)
    result = await call(build_tool(make, UNSTATED))
    assert "more than 1,000 items" in result.error.message


async def test_an_iterable_inside_a_result_meets_the_same_limit(monkeypatch):
    monkeypatch.setattr(arrays, "MAX_ITEMS", 1000)
    result = await call(build_tool(lambda: {"all": itertools.count()}, dict[str, Iterable[int]]))
    assert "more than 1,000 items" in result.error.message


async def test_items_are_reported_during_the_reading():
    reports = []
    await call(build_tool(STREAMS["map"], Iterator[int]), on_progress=reports.append)
    assert [report.value for report in reports] == [2, 1]
