"""Calls through the server: results, errors, progress and cancellation, in both revisions of the protocol."""

from __future__ import annotations

import asyncio
import threading

import anyio
import pytest
from mcp import MCPError

from tests.clocks import until
from tests.mcp.serving.kit import MODES, NEW, NO, OLD, Person, connected, text_of
from toolkit import Catalog, Context, Dispatcher, Permissions, ToolResult
from toolkit.content import ImagePart

pytestmark = [pytest.mark.anyio, pytest.mark.parametrize("mode", MODES)]


@pytest.fixture
def catalog():
    """Tools that return what a client may get."""
    catalog = Catalog()

    @catalog.tool(read_only=True, aliases=["plus"])
    def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    @catalog.tool(read_only=True)
    async def greet(name: str) -> str:
        """Greet."""
        return f"Hello {name}"

    @catalog.tool(read_only=True)
    async def point() -> dict[str, int]:
        """Return a point."""
        return {"x": 1, "y": 2}

    @catalog.tool(read_only=True)
    async def nothing() -> None:
        """Return nothing."""

    @catalog.tool(read_only=True)
    async def picture() -> ImagePart:
        """Return an image."""
        return ImagePart(b"\x89PNG\r\n\x1a\n", "image/png")

    @catalog.tool(read_only=True)
    async def fail() -> str:
        """Fail."""
        raise RuntimeError("the disk is full of secrets")

    return catalog


@pytest.fixture
def dispatcher(catalog):
    """A dispatcher without permissions of its own."""
    return Dispatcher(catalog)


async def test_a_value_is_sent_as_text_and_as_structured_content(dispatcher, mode):
    """A value that is no object is wrapped in one, as its schema says."""
    async with connected(dispatcher, mode) as client:
        number = await client.call_tool("add", {"a": 1, "b": 2})
        point = await client.call_tool("point", {})
    assert (text_of(number), number.structured_content, number.is_error) == ("3", {"result": 3}, False)
    assert (text_of(point), point.structured_content) == ('{"x":1,"y":2}', {"x": 1, "y": 2})


async def test_plain_text_is_sent_once(dispatcher, mode):
    """Text is no structured content, and its tool has no output schema. None is a value, which is told from "null"."""
    async with connected(dispatcher, mode) as client:
        result = await client.call_tool("greet", {"name": "Ada"})
        nothing = await client.call_tool("nothing", {})
        listed = {tool.name: tool.output_schema for tool in (await client.list_tools()).tools}
    assert (text_of(result), result.structured_content) == ("Hello Ada", None)
    assert (text_of(nothing), nothing.structured_content) == ("null", {"result": None})
    assert listed["greet"] is listed["nothing"] is None
    assert listed["add"] is not None


async def test_images_arrive(dispatcher, mode):
    """Content that is no text is sent as the protocol wants it."""
    async with connected(dispatcher, mode) as client:
        result = await client.call_tool("picture", {})
    assert [part.type for part in result.content][-1] == "image"
    assert result.structured_content is None


async def test_an_alias_can_be_called_and_is_not_listed(dispatcher, mode):
    """An alias is a second name for those who know it."""
    async with connected(dispatcher, mode) as client:
        assert text_of(await client.call_tool("plus", {"a": 1, "b": 2})) == "3"
        assert "plus" not in [tool.name for tool in (await client.list_tools()).tools]


async def test_an_unknown_tool_is_an_error_of_the_protocol_with_a_suggestion(dispatcher, mode):
    """The protocol wants invalid params; the message names the tool that was probably meant."""
    async with connected(dispatcher, mode) as client:
        with pytest.raises(MCPError, match="unknown tool `ad`; did you mean `add`") as caught:
            await client.call_tool("ad", {})
    assert caught.value.code == -32602


async def test_the_result_of_a_call_with_wrong_arguments_lists_every_problem(dispatcher, mode):
    async with connected(dispatcher, mode) as client:
        result = await client.call_tool("add", {"a": "x"})
    assert result.is_error
    assert "a: expected an integer" in text_of(result)
    assert "b: required" in text_of(result)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
async def test_a_number_that_is_not_json_is_refused(dispatcher, mode, value):
    """NaN never reaches a tool, even if it is no text when it arrives."""
    async with connected(dispatcher, mode) as client:
        result = await client.call_tool("add", {"a": value, "b": 1})
    assert result.is_error


async def test_a_failing_tool_is_a_result(dispatcher, mode):
    """An exception becomes a result, not an error of the protocol."""
    async with connected(dispatcher, mode) as client:
        result = await client.call_tool("fail", {})
    assert result.is_error
    assert "disk is full" in text_of(result)


async def test_a_value_that_its_schema_does_not_allow_is_not_sent(mode):
    """A client raises on such a value, so the model is told instead."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def count() -> int:
        """Count."""
        return "many"  # type: ignore[return-value]

    class Replacing:
        """Replaces the value of each result."""

        def after(self, call, result):
            """Return a value of another type."""
            return ToolResult("many", "many")

    @catalog.tool(read_only=True)
    async def total() -> int:
        """Count."""
        return 1

    async with connected(Dispatcher(catalog, check_output=False), mode) as client:
        unchecked = await client.call_tool("count", {})
    async with connected(Dispatcher(catalog, hooks=[Replacing()]), mode) as client:
        replaced = await client.call_tool("total", {})
    for result in (unchecked, replaced):
        assert result.is_error
        assert result.structured_content is None
        assert "output schema does not allow" in text_of(result)


async def test_max_chars_limits_structured_content(mode):
    """A value that is too long is not sent as a whole beside a text that was cut."""
    catalog = Catalog()

    @catalog.tool(read_only=True, max_chars=60)
    async def names() -> list[str]:
        """List names."""
        return ["x" * 10] * 20

    @catalog.tool(read_only=True, max_chars=60)
    async def untyped():  # noqa: ANN201 -- a tool without an output schema
        """List names."""
        return ["x" * 10] * 20

    async with connected(Dispatcher(catalog), mode) as client:
        typed = await client.call_tool("names", {})
        loose = await client.call_tool("untyped", {})
    assert (typed.structured_content, loose.structured_content) == (None, None)
    assert typed.is_error  # a client refuses a success without the value that the schema promises
    assert "has run, and succeeded" in typed.content[0].text
    assert not loose.is_error
    assert all(len(part.text) < 300 for part in (*typed.content, *loose.content))


async def test_progress_arrives_before_the_result(mode):
    """Every report of an async or a sync tool is there when the result is."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def walk(context: Context) -> str:
        """Walk."""
        for step in range(3):
            context.report(step, 3, f"step {step}")
        return "there"

    @catalog.tool(read_only=True)
    def climb(context: Context) -> str:
        """Climb."""
        for step in range(3):
            context.report(message=f"step {step}")
        return "up"

    reports = []

    async def note(progress, total, message):
        reports.append((progress, total, message))

    async with connected(Dispatcher(catalog), mode) as client:
        await client.call_tool("walk", {}, progress_callback=note)
        await until(lambda: len(reports) == 3)  # the client handles each notification in a task of its own
        assert sorted(reports) == [(0, 3, "step 0"), (1, 3, "step 1"), (2, 3, "step 2")]
        reports.clear()
        await client.call_tool("climb", {}, progress_callback=note)
        await until(lambda: len(reports) == 3)
        assert [message for *_, message in sorted(reports)] == ["step 0", "step 1", "step 2"]
        assert len({number for number, *_ in reports}) == 3
        assert text_of(await client.call_tool("walk", {})) == "there"


async def test_values_of_a_streaming_tool_are_progress(mode):
    """Each value that a generator yields is the message of a report."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def count():  # noqa: ANN201 -- a generator
        """Count."""
        yield 1
        yield {"n": 2}

    messages = []

    async def note(progress, total, message):
        messages.append(message)

    async with connected(Dispatcher(catalog), mode) as client:
        await client.call_tool("count", {}, progress_callback=note)
        await until(lambda: len(messages) == 2)
    assert sorted(messages) == ["1", '{"n":2}']


async def test_cancellation_reaches_async_and_sync_tools(mode):
    """A client that gives up a call stops it: an async tool is cancelled, and a sync tool can see it."""
    catalog = Catalog()
    started, ended = asyncio.Event(), asyncio.Event()
    thread_started, thread_ended = threading.Event(), threading.Event()

    @catalog.tool(read_only=True)
    async def wait() -> str:
        """Wait."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)  # a tool may await while it cleans up
            ended.set()
        return ""

    @catalog.tool(read_only=True)
    def loop(context: Context) -> str:
        """Loop."""
        thread_started.set()
        context.stop.wait(60)
        thread_ended.set()
        return ""

    async with connected(Dispatcher(catalog), mode) as client:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "wait", {})
            await started.wait()
            tasks.cancel_scope.cancel()
        await asyncio.wait_for(ended.wait(), 5)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(client.call_tool, "loop", {})
            await until(thread_started.is_set)
            tasks.cancel_scope.cancel()
        await until(thread_ended.is_set)


async def test_the_mode_is_default_unless_the_dispatcher_has_permissions(mode):
    """A dispatcher without permissions asks before changes; one with permissions is served as it is."""
    catalog = Catalog()

    @catalog.tool
    async def write() -> str:
        """Write."""
        return "written"

    person = Person(NO)
    async with connected(Dispatcher(catalog), mode, person) as client:
        assert (await client.call_tool("write", {})).is_error
    assert "mode `default` asks first" in person.questions[0].message
    async with connected(Dispatcher(catalog, permissions=Permissions("auto")), mode) as client:
        assert text_of(await client.call_tool("write", {})) == "written"


async def test_the_version_is_the_one_that_the_client_asks_for(dispatcher, mode):
    """The tests here really use both revisions."""
    async with connected(dispatcher, mode) as client:
        assert client.protocol_version == {OLD: "2025-11-25", NEW: NEW}[mode]
