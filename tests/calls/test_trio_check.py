"""
A call under trio is answered with a sentence, not with an exception from the depths.
"""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest

from toolkit.calls.unstarted import TRIO_REFUSAL, is_under_trio
from toolkit.catalog import Catalog
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher


@pytest.fixture
def dispatcher():
    """One tool that needs a thread, one that needs a loop, and one that needs neither."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def blocking() -> str:
        """Run in a thread."""
        return "done"

    @catalog.tool(read_only=True)
    async def waiting() -> str:
        """Wait for the loop."""
        await asyncio.sleep(0.01)
        return "done"

    @catalog.tool(read_only=True)
    async def plain() -> str:
        """Need nothing."""
        return "done"

    dispatcher = Dispatcher(catalog)
    yield dispatcher
    dispatcher.close()


@pytest.mark.parametrize("is_known", [False, True])
@pytest.mark.parametrize("name", ["blocking", "waiting", "plain"])
def test_a_call_under_trio_says_that_trio_is_not_supported(dispatcher, name, is_known):
    """Whether the tool was called under asyncio before or not."""
    trio = pytest.importorskip("trio", reason="trio is not installed")
    if is_known:
        assert dispatcher.call_sync(name).text == "done"
    result = trio.run(dispatcher.call, name)
    assert (result.kind, result.tool, result.error.message) == ("internal", name, TRIO_REFUSAL)


def test_a_batch_and_an_answer_under_trio_are_refused(dispatcher):
    """Each call has one result, and no request is claimed."""
    trio = pytest.importorskip("trio", reason="trio is not installed")
    results = trio.run(dispatcher.call_many, [("plain", {}), ("missing", {})])
    assert [result.error.message for result in results] == [TRIO_REFUSAL] * 2
    assert trio.run(dispatcher.resume, "r1", Decision.approve()).error.message == TRIO_REFUSAL


def test_call_sync_works_in_a_thread_of_trio(dispatcher):
    trio = pytest.importorskip("trio", reason="trio is not installed")

    async def main():
        return await trio.to_thread.run_sync(dispatcher.call_sync, "waiting")

    assert trio.run(main).text == "done"


def _current_task(error=None):
    if error is not None:
        raise error
    return object()


@pytest.mark.parametrize(
    ("modules", "expected"),
    [
        ({}, False),
        ({"trio": SimpleNamespace()}, False),
        (
            {"trio": SimpleNamespace(lowlevel=SimpleNamespace(current_task=lambda: _current_task(RuntimeError())))},
            False,
        ),
        ({"trio": SimpleNamespace(lowlevel=SimpleNamespace(current_task=_current_task))}, True),
    ],
)
def test_trio_is_recognised_by_its_running_task(modules, expected):
    """Loading it, or half of it, is not enough."""
    assert is_under_trio(modules) is expected


def test_asyncio_inside_trio_is_asyncio():
    """A task of asyncio runs, so calls work."""
    modules = {"trio": SimpleNamespace(lowlevel=SimpleNamespace(current_task=_current_task))}

    async def main():
        return is_under_trio(modules)

    assert asyncio.run(main()) is False
