"""
Where the traceback of a tool's exception begins.
"""

from __future__ import annotations

import asyncio
import logging
import traceback
from contextlib import contextmanager

import pytest

from toolkit import Catalog, DefinitionError, Dispatcher, Inject, ToolError
from toolkit._plumbing.tracebacks import drop_library_frames
from toolkit.hooks import Log

pytestmark = pytest.mark.anyio


def divide(number: int) -> int:
    return 1 // number


class Stumbles:
    """A hook with a bug."""

    def before(self, call):
        return divide(0)


class Connection:
    """What a tool asks for."""


@contextmanager
def connect():
    divide(0)
    yield Connection()


@pytest.fixture
def catalog():
    catalog = Catalog()

    @catalog.tool(timeout_seconds=5)
    def in_thread(number: int) -> int:
        """Divide in a thread."""
        return divide(number)

    @catalog.tool
    async def on_loop(number: int) -> int:
        """Divide on the loop."""
        return divide(number)

    @catalog.tool(timeout_seconds=5)
    async def limited(number: int) -> int:
        """Divide on the loop, within a time."""
        await asyncio.sleep(0)
        return divide(number)

    @catalog.tool
    async def streamed(number: int):
        """Divide in a stream."""
        yield divide(number)

    @catalog.tool
    async def on_purpose(number: int) -> int:
        """Fail."""
        raise ToolError("no division today")

    return catalog


def _frames(error):
    return [frame.name for frame in traceback.extract_tb(error.__traceback__)]


@pytest.mark.parametrize("name", ["in_thread", "on_loop", "limited", "streamed"])
async def test_the_tools_frames_come_first(catalog, caplog, name):
    """Tracebacks of a tool's own exception show the tool's frames first, in the result, the log and `unwrap`."""
    async with Dispatcher(catalog) as dispatcher:
        with caplog.at_level(logging.WARNING, logger="toolkit"):
            result = await dispatcher.call(name, {"number": 0})
    assert _frames(result.error.cause) == [name, "divide"]
    (logged,) = [record for record in caplog.records if record.exc_info]
    assert [frame.name for frame in traceback.extract_tb(logged.exc_info[2])] == [name, "divide"]
    with pytest.raises(ToolError) as caught:
        result.unwrap()
    assert _frames(caught.value.__cause__) == [name, "divide"]


async def test_a_masked_traceback_begins_in_the_tool_too(catalog, caplog):
    """Tracebacks of a tool's own exception show the tool's frames first, also if secrets are masked in them."""
    async with Dispatcher(catalog, redact=["hunter2"]) as dispatcher:
        with caplog.at_level(logging.WARNING, logger="toolkit"):
            await dispatcher.call("on_loop", {"number": 0})
    first = next(line for line in caplog.text.splitlines() if line.strip().startswith("File "))
    assert first.endswith("in on_loop")


async def test_an_error_raised_on_purpose_begins_in_the_tool(catalog):
    """Tracebacks of a tool's own exception show the tool's frames first: a `ToolError` too."""
    async with Dispatcher(catalog) as dispatcher:
        result = await dispatcher.call("on_purpose", {"number": 0})
    assert _frames(result.error.cause) == ["on_purpose"]


async def test_tracebacks_of_a_hook_and_a_resource_show_their_frames_first(catalog):
    async with Dispatcher(catalog, hooks=[Log(), Stumbles()]) as dispatcher:
        result = await dispatcher.call("on_loop", {"number": 0})
    assert _frames(result.error.cause) == ["before", "divide"]

    @catalog.tool
    async def ask(connection: Inject[Connection]) -> None:
        """Ask."""

    async with Dispatcher(catalog, resources={Connection: connect}) as dispatcher:
        result = await dispatcher.call("ask", {})
    assert _frames(result.error.cause)[-2:] == ["connect", "divide"]
    assert not any("calls" in frame.filename for frame in traceback.extract_tb(result.error.cause.__traceback__))


def test_a_bug_that_is_raised_shows_no_frames_of_the_pipeline(catalog):
    """Tracebacks of a tool's own exception show the tool's frames first, behind the line that called it."""
    dispatcher = Dispatcher(catalog, raise_bugs=True)
    with pytest.raises(ZeroDivisionError) as caught:
        dispatcher.call_sync("in_thread", {"number": 0})
    names = _frames(caught.value)
    assert names[-2:] == ["in_thread", "divide"]
    assert not any("pipeline" in str(entry.path) for entry in caught.traceback)
    dispatcher.close()


def test_a_wrong_result_that_is_raised_shows_the_line_of_the_caller():
    def page() -> int:
        """Return a page."""
        return "one"

    dispatcher = Dispatcher([page], raise_bugs=True)
    with pytest.raises(DefinitionError, match="`page`: the tool ran") as caught:
        dispatcher.call_sync("page")
    dispatcher.close()
    assert not {"render", "render_result", "run_call"} & {*_frames(caught.value)}


def test_an_error_of_the_library_keeps_its_frames():
    """If no frame is the tool's, the traceback stays whole."""
    with pytest.raises(TypeError) as caught:
        Dispatcher([], unknown=1)
    error = caught.value.with_traceback(caught.value.__traceback__.tb_next)
    drop_library_frames(error)
    assert _frames(error)[0] == "check_option_names"
