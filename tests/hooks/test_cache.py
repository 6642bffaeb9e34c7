"""
What is remembered, for whom, and until when.
"""

from __future__ import annotations

import asyncio

import pytest

from tests.clocks import Clock
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolError
from toolkit.hooks import Cache
from toolkit.session import Session

pytestmark = pytest.mark.anyio


class Shop:
    """Tools that count how often they really ran."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.catalog = Catalog()

        @self.catalog.tool(read_only=True, aliases=["cost"])
        async def price(item: str, unit: str = "piece") -> dict[str, list[int]]:
            """Tell a price."""
            self.asked.append(item)
            await asyncio.sleep(0)
            if item == "none":
                raise ToolError("not sold")
            return {"price": [len(self.asked)]}

        @self.catalog.tool
        async def order(item: str) -> None:
            """Order something."""


@pytest.fixture
def shop():
    """A shop with no customers yet."""
    return Shop()


async def ask(dispatcher, item="tea", **options):
    """Return the price in the form the tool gives it."""
    return (await dispatcher.call("price", {"item": item}, **options)).value["price"][0]


async def test_an_equal_call_is_answered_from_memory(shop):
    """Keys in any order, defaults written or not, under an alias or not; nothing ran the second time."""
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache()])
    first = await dispatcher.call("price", {"item": "tea"})
    forms = [{"unit": "piece", "item": "tea"}, '{"item": "tea"}']
    again = [await dispatcher.call("cost", form, id="x") for form in forms]
    assert [result.value for result in again] == [first.value] * 2
    assert (again[0].attempts, again[0].call_id, shop.asked) == (0, "x", ["tea"])


async def test_cached_values_are_not_shared(shop):
    """A caller that changes a result changes only its own copy."""
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache()])
    for _ in range(3):
        result = await dispatcher.call("price", {"item": "tea"})
        assert result.value == {"price": [1]}
        result.value["price"].append(99)


async def test_calls_with_other_arguments_sessions_or_principals_are_cached_separately(shop):
    """A caller never gets the cached result of another principal."""
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache()])
    ada, bob = Session(id="ada"), Session(id="bob")
    answers = [
        await ask(dispatcher),
        await ask(dispatcher, "milk"),
        await ask(dispatcher, session=ada),
        await ask(dispatcher, session=bob),
        await ask(dispatcher, session=bob, principal="root"),
        await ask(dispatcher, session=ada),
    ]
    assert answers == [1, 2, 3, 4, 5, 3]


async def test_a_tool_that_was_replaced_is_another(shop):
    """The same name is not the same tool."""
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache()])
    await ask(dispatcher)

    @shop.catalog.tool(name="other", read_only=True)
    async def price(item: str, unit: str = "piece") -> dict[str, list[int]]:
        """Tell another price."""
        return {"price": [42]}

    shop.catalog.remove("price")
    shop.catalog.add(shop.catalog.remove("other").renamed("price"))
    assert await ask(dispatcher) == 42


async def test_errors_are_not_cached(shop):
    """The next call may succeed."""
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache()])
    for _ in range(2):
        assert (await dispatcher.call("price", {"item": "none"})).kind == "failed"
    assert shop.asked == ["none", "none"]


async def test_any_other_call_of_the_session_clears_its_entries(shop):
    """It may have changed the world. Other sessions keep their entries."""
    dispatcher, ada, bob = Dispatcher(shop.catalog, hooks=[Cache()]), Session(), Session()
    await ask(dispatcher, session=ada)
    await ask(dispatcher, session=bob)
    await dispatcher.call("order", {"item": "tea"}, session=ada)
    assert await ask(dispatcher, session=ada) == 3
    assert await ask(dispatcher, session=bob) == 2


async def test_a_result_that_was_read_during_a_change_is_not_cached(shop):
    """The read may have seen the state before the change."""
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache()])
    reading = asyncio.ensure_future(ask(dispatcher))
    await asyncio.sleep(0)
    await dispatcher.call("order", {"item": "tea"})
    assert await reading == 1
    assert await ask(dispatcher) == 2


async def test_entries_expire(shop):
    clock = Clock()
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache(seconds=10, clock=clock)])
    assert await ask(dispatcher) == 1
    clock.now += 9
    assert await ask(dispatcher) == 1
    clock.now += 1
    assert await ask(dispatcher) == 2


async def test_the_longest_unused_entry_is_dropped_first(shop):
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache(size=2)])
    for item in ("a", "b", "a", "c", "a", "b"):
        await ask(dispatcher, item)
    assert shop.asked == ["a", "b", "c", "b"]


@pytest.mark.parametrize("options", [{"size": 0}, {"seconds": 0}])
def test_a_cache_of_size_0_is_refused(options):
    with pytest.raises(ValueError, match="room"):
        Cache(**options)


@pytest.mark.parametrize(("key", "runs"), [(None, 2), (lambda call: call.principal, 1)])
async def test_a_tool_with_injected_values_needs_an_explicit_key(key, runs):
    """Its result may depend on values that are not arguments."""
    catalog, ran = Catalog(), []

    @catalog.tool(read_only=True)
    async def look(context: Context) -> int:
        """Look around."""
        ran.append(True)
        return len(ran)

    dispatcher = Dispatcher(catalog, hooks=[Cache(key=key)])
    for _ in range(2):
        await dispatcher.call("look", principal="ada")
    assert len(ran) == runs


# Several at once.


async def test_only_one_of_several_equal_calls_at_once_runs(shop):
    """The others wait for it, and get copies."""
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache()])
    results = await dispatcher.call_many([("price", {"item": "tea"})] * 5)
    assert [result.value for result in results] == [{"price": [1]}] * 5
    assert shop.asked == ["tea"]
    assert len({id(result.value) for result in results}) == 5


async def test_a_cancelled_leader_does_not_hang_its_followers(shop):
    """One of them leads, and the others get its answer."""
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache()])
    leader, *followers = [asyncio.ensure_future(ask(dispatcher)) for _ in range(4)]
    await asyncio.sleep(0)
    leader.cancel()
    assert await asyncio.gather(*followers) == [2, 2, 2]
    assert leader.cancelled()


async def test_a_cancelled_follower_harms_nobody(shop):
    """The leader and the other followers go on."""
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache()])
    leader, first, second = [asyncio.ensure_future(ask(dispatcher)) for _ in range(3)]
    await asyncio.sleep(0)
    first.cancel()
    assert await asyncio.gather(leader, second) == [1, 1]


async def test_a_failure_is_not_shared_with_equal_calls_at_once(shop):
    dispatcher = Dispatcher(shop.catalog, hooks=[Cache()])
    results = await dispatcher.call_many([("price", {"item": "none"})] * 3)
    assert [result.kind for result in results] == ["failed"] * 3
    assert len(shop.asked) == 3


async def test_two_loops_share_results_but_do_not_wait_for_each_other(shop):
    """A dispatcher serves its caller's loop and the one behind `call_sync`."""
    release, inside = asyncio.Event(), []

    @shop.catalog.tool(read_only=True)
    async def slow() -> int:
        """Wait the first time."""
        inside.append(True)
        if len(inside) == 1:
            await release.wait()
        return len(inside)

    dispatcher = Dispatcher(shop.catalog, hooks=[Cache()])
    waiting = asyncio.ensure_future(dispatcher.call("slow"))
    await asyncio.sleep(0)
    assert dispatcher.call_sync("slow").value == 2
    release.set()
    await waiting
    assert dispatcher.call_sync("slow").value == 2
    dispatcher.close()
