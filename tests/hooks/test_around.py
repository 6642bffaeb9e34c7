"""Around-hooks: what `run` is, in which order several of them run, and what they return."""

from __future__ import annotations

import asyncio

import pytest

from toolkit import Catalog, Dispatcher, ToolResult

pytestmark = pytest.mark.anyio


async def double(number: int) -> int:
    """Double a number."""
    return 2 * number


class Named:
    """An around-hook that writes down when it begins and ends, and may wait before and after the call."""

    def __init__(self, name: str, log: list[str], *, waits: bool = False) -> None:
        self._name = name
        self._log = log
        self._waits = waits

    async def around(self, call, run):
        self._log.append(f"{self._name} begins")
        if self._waits:
            await asyncio.sleep(0)
        result = await run()
        if self._waits:
            await asyncio.sleep(0)
        self._log.append(f"{self._name} ends")
        return result


@pytest.mark.parametrize("waits", [(False, False, False), (True, True, True), (False, True, False)])
async def test_each_hook_runs_inside_the_previous_hook(waits):
    """There are three levels, and a hook may wait or not."""
    log: list[str] = []
    hooks = [Named(name, log, waits=wait) for name, wait in zip("abc", waits, strict=True)]
    result = await Dispatcher(Catalog(double), hooks=hooks).call("double", {"number": 4})
    assert (result.value, result.attempts) == (8, 1)
    assert log == ["a begins", "b begins", "c begins", "c ends", "b ends", "a ends"]


class Passing:
    """An around-hook that passes the call on, as hooks of other frameworks do."""

    async def around(self, call, run):
        return await run(call)


async def test_run_takes_no_arguments():
    """A hook cannot give the tool another call; it fails, and the tool does not run."""
    result = await Dispatcher(Catalog(double), hooks=[Passing()]).call("double", {"number": 4})
    assert (result.kind, result.attempts) == ("internal", 0)
    assert "takes 0 positional arguments" in result.text


class Holding:
    """An around-hook that returns a result of its own."""

    def __init__(self, inner: ToolResult | None) -> None:
        self._inner = inner

    async def around(self, call, run):
        await run()
        return self._inner


async def test_the_result_of_the_outer_hook_counts():
    """It is copied, because the hook may return the same object for every call."""
    held_result = ToolResult("kept")
    dispatcher = Dispatcher(Catalog(double), hooks=[Holding(held_result), Named("inner", [])])
    first = await dispatcher.call("double", {"number": 4})
    second = await dispatcher.call("double", {"number": 5})
    assert (first.text, first.tool, first.attempts) == ("kept", "double", 1)
    assert first is not held_result
    assert first is not second
    assert held_result.tool == ""


async def test_a_hook_that_returns_none_fails():
    """The result says that the tool ran."""
    result = await Dispatcher(Catalog(double), hooks=[Holding(None)]).call("double", {"number": 4})
    assert (result.kind, result.attempts) == ("internal", 1)
    assert result.error is not None
    assert result.error.details == {"ran": True}
