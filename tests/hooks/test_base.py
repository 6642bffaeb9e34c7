"""
What counts as a hook, where it runs, and how long it may take.
"""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading

import pytest

from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import LoopGuard, Modify, Proceed
from toolkit.hooks.base import ShownCall
from toolkit.results import ToolCall, ToolResult

pytestmark = pytest.mark.anyio

SOON = 0.02


@pytest.fixture
def catalog():
    """A catalog with one tool that takes its time, and tells whether it ran."""
    catalog = Catalog()

    @catalog.tool
    async def act(turns: int = 0, items: list[int] | None = None) -> str:
        """Act."""
        for _ in range(turns):
            await asyncio.sleep(0)
        return "done"

    return catalog


@pytest.mark.parametrize("wrong", [object(), None, "hook", lambda call: Proceed(), LoopGuard])
def test_an_object_without_hook_methods_is_refused(catalog, wrong):
    """So is a class in place of an instance."""
    with pytest.raises(TypeError, match="not a hook"):
        Dispatcher(catalog, hooks=[wrong])


async def test_a_hook_may_have_only_methods_for_agents(catalog):
    class Greeter:
        async def agent_started(self, session, *, details):
            return Proceed()

    assert (await Dispatcher(catalog, hooks=[Greeter()]).call("act", {})).text == "done"


def test_there_is_only_one_way_to_proceed():
    """Copies are the same object, which is quick to make and to compare."""
    proceed = Proceed()
    copies = [Proceed(), copy.copy(proceed), copy.deepcopy([proceed])[0], pickle.loads(pickle.dumps(proceed))]
    assert all(outcome is proceed for outcome in copies)
    assert isinstance(proceed, Proceed)
    assert repr(proceed) == "Proceed()"
    with pytest.raises(TypeError):
        Proceed("anyway")


async def test_a_proceed_without_its_constructor_is_accepted(catalog):
    """It is slower, and is not mistaken for an unknown outcome."""

    class Odd:
        def before(self, call):
            return object.__new__(Proceed)

    assert (await Dispatcher(catalog, hooks=[Odd(), Odd()]).call("act", {})).text == "done"


def test_a_limit_has_to_be_one(catalog):
    """Zero seconds are no time to answer."""
    hook = LoopGuard()
    hook.timeout_seconds = 0
    with pytest.raises(ValueError, match="above 0"):
        Dispatcher(catalog, hooks=[hook])


@pytest.mark.parametrize("form", ["before", "around", "after"])
async def test_a_blocking_hook_runs_in_a_thread(catalog, form):
    """So the loop stays free."""
    threads = []

    class Blocking:
        blocking = True

    def before(call):
        threads.append(threading.current_thread())
        return Proceed()

    def around(call, run):
        threads.append(threading.current_thread())
        return run()

    def after(call, result):
        threads.append(threading.current_thread())
        return result

    hook = Blocking()
    setattr(hook, form, {"before": before, "around": around, "after": after}[form])
    async with Dispatcher(catalog, hooks=[hook]) as dispatcher:
        result = await dispatcher.call("act")
    assert result.text == "done"
    assert threads[0] is not threading.current_thread()


async def test_blocking_does_not_apply_to_an_async_method(catalog):
    """It runs on the loop."""
    threads = []

    class Both:
        blocking = True

        async def before(self, call):
            threads.append(threading.current_thread())
            return Proceed()

    async with Dispatcher(catalog, hooks=[Both()]) as dispatcher:
        await dispatcher.call("act")
    assert threads == [threading.current_thread()]


@pytest.mark.parametrize(("form", "ran"), [("before", False), ("around", False), ("after", True)])
async def test_a_hook_that_outlasts_its_limit_fails_the_call_closed(catalog, form, ran):
    """The result says whether the tool ran."""

    class Slow:
        timeout_seconds = SOON

    async def hang(*arguments):
        await asyncio.Event().wait()

    hook = Slow()
    setattr(hook, form, hang)
    result = await Dispatcher(catalog, hooks=[hook]).call("act")
    assert (result.kind, result.error.details) == ("internal", {"ran": ran})


async def test_the_time_spent_in_run_is_not_the_hooks(catalog):
    """A limit on an around-hook is for what it does itself."""
    release = asyncio.Event()

    @catalog.tool
    async def slow() -> str:
        """Take longer than the hook may."""
        await release.wait()
        return "done"

    class Around:
        timeout_seconds = SOON

        async def around(self, call, run):
            first = await run()
            return ToolResult(f"{first.text}, watched")

    asyncio.get_running_loop().call_later(SOON * 3, release.set)
    assert (await Dispatcher(catalog, hooks=[Around()]).call("slow")).text == "done, watched"


async def test_the_time_limit_of_a_hook_holds_after_run(catalog):
    """The tool has run, and the hook may not hang."""

    class Around:
        timeout_seconds = SOON

        async def around(self, call, run):
            await run()
            await asyncio.Event().wait()

    result = await Dispatcher(catalog, hooks=[Around()]).call("act", {"turns": 3})
    assert (result.kind, result.error.details) == ("internal", {"ran": True})


async def test_run_may_be_awaited_several_times_at_once_under_a_limit():
    """This holds for tools that allow it. The timer stops while the first one is inside."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def read() -> str:
        """Read."""
        await asyncio.sleep(0)
        return "read"

    class Race:
        timeout_seconds = 5

        async def around(self, call, run):
            first, _ = await asyncio.gather(run(), run())
            return first

    result = await Dispatcher(catalog, hooks=[Race()]).call("read")
    assert (result.text, result.attempts) == ("read", 2)


async def test_a_hook_gets_deep_copies_of_the_arguments(catalog):
    """The arguments of `Modify` are copied, too."""
    arguments_of_hook = {"items": [1]}

    class Keeps:
        def before(self, call):
            call.arguments["items"].append(2)
            return Modify(arguments_of_hook)

    class Spoils:
        def before(self, call):
            call.arguments["items"].append(3)
            return Proceed()

        def after(self, call, result):
            call.arguments["items"].append(4)
            return result

    arguments = {"items": [0]}
    await Dispatcher(catalog, hooks=[Keeps(), Spoils()]).call("act", arguments)
    assert (arguments, arguments_of_hook) == ({"items": [0]}, {"items": [1]})


def test_calls_that_mean_the_same_have_the_same_digest(catalog):
    """Defaults filled in, keys in any order; what does not fit is compared as it came."""
    tool = catalog["act"]

    def digest(arguments):
        return ShownCall.of(ToolCall("act", arguments, tool=tool), arguments).digest()

    assert digest({}) == digest({"turns": 0}) == digest({"items": None, "turns": 0})
    assert digest({"turns": 1}) != digest({})
    assert digest({"turns": "x"}) != digest({"turns": "y"})
    unknown = ToolCall("nope", {"a": 1})
    assert ShownCall.of(unknown, {"a": 1}).digest() == unknown.digest()
