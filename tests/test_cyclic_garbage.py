"""What a call leaves behind: everything is freed when the call has ended, without the garbage collector."""

from __future__ import annotations

import asyncio
import gc
import logging

import pytest

from toolkit import Catalog, Context, Decision, Dispatcher, Permissions, RetryPolicy, Session, Transient
from toolkit.builtin import tool_search_for
from toolkit.hooks import Proceed

pytestmark = pytest.mark.anyio

_CALLS = 5


def make_catalog():
    """Return tools of all kinds: async and sync, with a context, failing for good and for a while."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def add(first: int, second: int = 0) -> int:
        """Add two numbers."""
        return first + second

    @catalog.tool(read_only=True)
    def add_in_thread(first: int, second: int = 0) -> int:
        """Add two numbers in a thread."""
        return first + second

    @catalog.tool(read_only=True)
    def count(first: int, context: Context) -> list[int]:
        """Count up to a number, and tell about it."""
        return list(range(context.attempt))

    @catalog.tool(read_only=True, timeout_seconds=60)
    async def hurry(first: int) -> int:
        """Give a number back in time."""
        return first

    @catalog.tool(read_only=True)
    async def fail(first: int) -> int:
        """Fail."""
        raise ValueError("never")

    @catalog.tool(read_only=True)
    def fail_in_thread(first: int) -> int:
        """Fail in a thread."""
        raise ValueError("never")

    @catalog.tool(read_only=True)
    async def fail_while_waiting(first: int) -> int:
        """Fail because of what it waits for."""
        return await make_failing_future()

    @catalog.tool(read_only=True)
    async def fail_for_now(first: int) -> int:
        """Fail, though not for good."""
        raise Transient("not now")

    @catalog.tool(read_only=True)
    async def fail_at_first(first: int, context: Context) -> int:
        """Fail, and succeed the next time."""
        if context.attempt == 1:
            raise Transient("not now")
        return first

    @catalog.tool(read_only=True)
    async def refuse_connection(first: int) -> int:
        """Fail as the network does."""
        raise ConnectionRefusedError("not now")

    @catalog.tool
    async def write(first: int) -> str:
        """Change something."""
        return "x" * first

    @catalog.tool(read_only=True, defer=True)
    async def forecast(first: int) -> int:
        """Tell the weather of the next days."""
        return first

    return catalog.add(tool_search_for(catalog))


def make_failing_future():
    """Return a future that will fail. A tool that kept it in a variable would make a cycle of its own."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    loop.call_soon(future.set_exception, ValueError("never"))
    return future


class Onlooker:
    """Look at every call, before, around and after it."""

    def before(self, call):
        """Let the call go on."""
        return Proceed()

    async def around(self, call, run):
        """Run the call."""
        return await run()

    def after(self, call, result):
        """Keep the result."""
        return result


def make_dispatcher(**options):
    """Return a dispatcher that tries twice and does not wait between."""
    return Dispatcher(make_catalog(), retry=RetryPolicy(attempts=2, wait_initial=0.0), **options)


async def count_cyclic_garbage(act):
    """
    Return how many objects only the garbage collector frees after *act* was awaited several times.

    A thread that another test has left may end meanwhile, and leave something; so the least of three counts.
    """
    logging.disable(logging.CRITICAL)
    try:
        await act()  # what is made at a first call is kept
        counts = []
        while len(counts) < 3 and 0 not in counts:
            gc.collect()
            gc.disable()
            for _ in range(_CALLS):
                await act()
            counts.append(gc.collect())
        return min(counts)
    finally:
        gc.enable()
        logging.disable(logging.NOTSET)


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("add", {"first": 1}),
        ("add", '{"first": 1}'),
        ("add", {"first": "1"}),
        ("add", {"first": "one"}),
        ("add_in_thread", {"first": 1}),
        ("count", {"first": 3}),
        ("hurry", {"first": 3}),
        ("fail", {"first": 1}),
        ("fail_in_thread", {"first": 1}),
        ("fail_while_waiting", {"first": 1}),
        ("fail_for_now", {"first": 1}),
        ("fail_at_first", {"first": 1}),
        ("refuse_connection", {"first": 1}),
        ("no_such_tool", {}),
        ("tool_search", {"query": "weather"}),
    ],
)
@pytest.mark.parametrize(
    "options",
    [{}, {"permissions": Permissions()}, {"hooks": [Onlooker()]}, {"on_progress": lambda progress: None}],
    ids=["plain", "judged", "hooked", "followed"],
)
async def test_a_call_leaves_no_cycle(name, arguments, options):
    """A value of a megabyte in a cycle would stay until the next full collection, which stops everything."""
    async with make_dispatcher(**options) as dispatcher:

        async def act():
            await dispatcher.call(name, arguments, session=Session())

        assert await count_cyclic_garbage(act) == 0


async def test_an_approved_call_leaves_no_cycle():
    async with make_dispatcher(permissions=Permissions()) as dispatcher:

        async def act():
            waiting = await dispatcher.call("write", {"first": 10})
            assert (await dispatcher.resume(waiting.request.id, Decision.approve())).kind == "ok"

        assert await count_cyclic_garbage(act) == 0


async def test_a_batch_leaves_no_cycle():
    """The tasks of a batch leave none either."""
    async with make_dispatcher() as dispatcher:

        async def act():
            calls = [(name, {"first": 1}) for name in ("add", "add_in_thread", "fail", "hurry") * 3]
            await dispatcher.call_many(calls)

        assert await count_cyclic_garbage(act) == 0
