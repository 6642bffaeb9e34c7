"""
What a tool raises to leave by the back door: `KeyboardInterrupt`, `GeneratorExit` and `SystemExit`.
"""

import asyncio
import contextlib
from typing import Any

import pytest

from toolkit import Catalog, Dispatcher, Inject, ToolCall
from toolkit.agent import Agent, Done, ToolStarted
from toolkit.hooks import Proceed
from toolkit.providers import ScriptedProvider

ESCAPES = [KeyboardInterrupt(), GeneratorExit(), SystemExit(2)]
NAMES = [type(error).__name__ for error in ESCAPES]

in_every_escape = pytest.mark.parametrize("error", ESCAPES, ids=NAMES)


@pytest.fixture
def catalog():
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def add(a: int, b: int) -> int:
        """Add."""
        return a + b

    return catalog


def raise_error(error):
    raise error


@in_every_escape
@pytest.mark.anyio
async def test_an_escape_in_a_thread_is_a_result(catalog, error):
    """The call fails, the result names the exception, and the thread serves the next call."""

    @catalog.tool
    def leave() -> None:
        """Leave."""
        raise error

    dispatcher = Dispatcher(catalog)
    for _ in range(2):
        result = await dispatcher.call("leave")
        assert (result.kind, result.attempts) == ("failed", 1)
        assert type(error).__name__ in result.text
    dispatcher.close()


@in_every_escape
@pytest.mark.anyio
async def test_an_escape_from_a_generator_in_a_thread_is_a_result(catalog, error):
    """A tool that yields in a thread may escape after it has yielded."""

    @catalog.tool
    def count() -> Any:
        """Count."""
        yield 1
        raise error

    dispatcher = Dispatcher(catalog, timeout_seconds=60)
    assert (await dispatcher.call("count")).kind == "failed"
    dispatcher.close()


@in_every_escape
@pytest.mark.anyio
async def test_siblings_of_an_escape_have_their_results(catalog, error):
    """A batch is complete, and in order."""

    @catalog.tool(read_only=True)
    def leave() -> None:
        """Leave."""
        raise error

    dispatcher = Dispatcher(catalog)
    results = await dispatcher.call_many([("add", {"a": 1, "b": 1}), ("leave", {}), ("add", {"a": 2, "b": 2})])
    assert [result.kind for result in results] == ["ok", "failed", "ok"]
    assert [result.value for result in results] == [2, None, 4]
    dispatcher.close()


@in_every_escape
@pytest.mark.parametrize("style", ["async", "sync", "timed"])
def test_an_escape_in_call_sync_is_a_result(catalog, error, style):
    """The background loop has a thread of its own, where no Ctrl-C arrives; it goes on."""
    if style == "sync":

        @catalog.tool
        def leave() -> None:
            """Leave."""
            raise error

    else:

        @catalog.tool(timeout_seconds=60 if style == "timed" else None)
        async def leave() -> None:
            """Leave."""
            raise error

    with contextlib.closing(Dispatcher(catalog)) as dispatcher:
        assert dispatcher.call_sync("leave").kind == "failed"
        assert dispatcher.call_sync("add", {"a": 1, "b": 2}).value == 3


@pytest.mark.parametrize("timeout_seconds", [None, 60])
@pytest.mark.anyio
async def test_generator_exit_from_an_async_tool_is_a_result(catalog, timeout_seconds):
    """A coroutine that raises it is not one that is being closed."""

    @catalog.tool
    async def leave() -> None:
        """Leave."""
        await asyncio.sleep(0)
        raise GeneratorExit

    @catalog.tool
    async def stream() -> Any:
        """Stream."""
        yield 1
        raise GeneratorExit

    dispatcher = Dispatcher(catalog, timeout_seconds=timeout_seconds)
    results = await dispatcher.call_many([("leave", {}), ("stream", {}), ("add", {"a": 1, "b": 2})])
    assert [result.kind for result in results] == ["failed", "failed", "ok"]


@pytest.mark.parametrize("timeout_seconds", [None, 60])
def test_a_call_that_is_closed_ends_without_a_result(catalog, timeout_seconds):
    """Closing the coroutine of a call closes the tool's, and nothing is awaited any more."""
    results = []

    class Watch:
        async def after(self, call, result):
            results.append(result)
            await asyncio.sleep(0)
            return result

    @catalog.tool
    async def wait() -> None:
        """Wait."""
        try:
            await _suspend()
        finally:
            results.append("closed")

    call = Dispatcher(catalog, hooks=[Watch()]).call("wait")
    call.send(None)
    call.close()
    assert results == ["closed"]


class _suspend:
    def __await__(self):
        yield


@in_every_escape
@pytest.mark.parametrize("stage", ["before", "after"])
@pytest.mark.anyio
async def test_an_escape_from_a_hook_in_a_thread_fails_the_call_closed(catalog, error, stage):
    """The result says which hook failed, and whether the tool ran."""

    class Leaving:
        blocking = True

        def before(self, call):
            return raise_error(error) if stage == "before" else Proceed()

        def after(self, call, result):
            return raise_error(error) if stage == "after" else result

    dispatcher = Dispatcher(catalog, hooks=[Leaving()])
    result = await dispatcher.call("add", {"a": 1, "b": 2})
    assert (result.kind, result.error.details["ran"]) == ("internal", stage == "after")
    assert "Leaving" in result.text
    dispatcher.close()


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("stage", ["before", "around", "after"])
@pytest.mark.anyio
async def test_generator_exit_from_a_hook_fails_the_call_closed(catalog, stage, is_async):
    """This holds on the event loop and in a thread."""

    def leave(*arguments):
        raise GeneratorExit

    async def leave_later(*arguments):
        raise GeneratorExit

    hook = type("Leaving", (), {stage: staticmethod(leave_later if is_async else leave)})()
    result = await Dispatcher(catalog, hooks=[hook]).call("add", {"a": 1, "b": 2})
    assert result.kind == "internal"
    assert "GeneratorExit" in result.text


@in_every_escape
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("option", ["approval", "preflight", "preview", "validate"])
def test_an_escape_from_an_option_of_the_tool_is_a_result(error, option, is_async):
    """The result is an error, and the tool does not run."""
    catalog, ran = Catalog(), []

    async def leave_later(arguments):
        raise error

    def act() -> None:
        ran.append(True)

    function = leave_later if is_async else lambda arguments: raise_error(error)
    options = {"approval": "always"} if option == "preview" else {}
    catalog.tool(act, description="Act.", **options, **{option: function})
    with contextlib.closing(Dispatcher(catalog)) as dispatcher:
        result = dispatcher.call_sync("act")
    assert (result.is_error, ran) == (True, [])


@pytest.mark.parametrize("error", [GeneratorExit(), SystemExit(2)], ids=["GeneratorExit", "SystemExit"])
@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.anyio
async def test_a_tool_whose_concurrency_function_escapes_runs_alone(catalog, error, is_async):
    """The other calls of the batch keep their results."""

    async def leave_later(arguments):
        raise error

    function = leave_later if is_async else lambda arguments: raise_error(error)

    @catalog.tool(concurrency_safe=function)
    async def act() -> str:
        """Act."""
        return "done"

    results = await Dispatcher(catalog).call_many([("add", {"a": 1, "b": 1}), ("act", {}), ("act", {})])
    assert [result.value for result in results] == [2, "done", "done"]


class Lamp:
    pass


@pytest.mark.parametrize("error", [GeneratorExit(), SystemExit(2)], ids=["GeneratorExit", "SystemExit"])
def test_an_escape_from_an_async_resource_of_a_sync_tool_is_a_result(error):
    """The resource is made on the event loop, which goes on."""
    catalog = Catalog()

    async def lamp() -> Lamp:
        raise error

    @catalog.tool
    def shine(lamp: Inject[Lamp]) -> str:
        """Shine."""
        return "light"

    async def main() -> list[str]:
        dispatcher = Dispatcher(catalog, resources={Lamp: lamp})
        results = [await dispatcher.call("shine"), await dispatcher.call("shine")]
        dispatcher.close()
        return [result.kind for result in results]

    assert asyncio.run(main()) == ["failed", "failed"]


def test_an_interrupt_on_the_main_loop_passes_through_the_waiting_thread():
    """
    A resource is made on the main thread, where Ctrl-C arrives, and the thread of a sync tool does not swallow
    it.
    """
    catalog = Catalog()

    async def lamp() -> Lamp:
        raise KeyboardInterrupt

    @catalog.tool
    def shine(lamp: Inject[Lamp]) -> str:
        """Shine."""
        return "light"

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(Dispatcher(catalog, resources={Lamp: lamp}).call("shine"))


@pytest.mark.parametrize("error", [GeneratorExit(), SystemExit(2)], ids=["GeneratorExit", "SystemExit"])
@pytest.mark.anyio
async def test_an_escape_from_a_summary_function_does_not_end_the_run(catalog, error):
    """An agent shows the name of the tool instead, and the tool runs."""

    @catalog.tool(read_only=True, summary=lambda arguments: raise_error(error))
    async def look() -> str:
        """Look."""
        return "a view"

    agent = Agent(ScriptedProvider([[ToolCall("look", {})], "done"]), Dispatcher(catalog))
    events = [event async for event in agent.stream("look around")]
    assert [event.summary for event in events if isinstance(event, ToolStarted)] == ["look"]
    assert isinstance(events[-1], Done)
