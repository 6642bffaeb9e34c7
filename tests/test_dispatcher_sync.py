"""
The sync methods of a dispatcher: the same calls, from code that has no event loop or cannot await in the one it has.
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import threading

import pytest

from toolkit.approvals import ApprovalError
from toolkit.calls.call_copies import BatchKeywords, CallKeywords, SharedKeywords
from toolkit.catalog import Catalog
from toolkit.context import Inject
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.permissions import Permissions
from toolkit.results import ToolCall


class Shop:
    """Something that a call brings with it."""


@pytest.fixture
def dispatcher():
    """A shop that answers, and asks before it sells."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def price(item: str) -> int:
        """Tell the price of an item."""
        return len(item)

    @catalog.tool
    def sell(item: str) -> str:
        """Sell an item."""
        return f"sold {item}"

    @catalog.tool(read_only=True)
    def kind(shop: Inject[Shop | None] = None) -> str:
        """Tell the kind of the shop."""
        return type(shop).__name__

    with contextlib.closing(Dispatcher(catalog, permissions=Permissions("default"))) as dispatcher:
        yield dispatcher


def test_call_many_sync_runs_a_batch(dispatcher):
    results = dispatcher.call_many_sync([("price", {"item": "tea"}), ToolCall("price", {"item": "milk"}, "m"), ("no",)])
    assert [(result.kind, result.value) for result in results[:2]] == [("ok", 3), ("ok", 4)]
    assert (results[1].call_id, results[2].kind) == ("m", "not_found")


def test_resume_sync_continues_a_call_that_waits(dispatcher):
    """It runs at most once."""
    waiting = dispatcher.call_sync("sell", {"item": "tea"})
    assert waiting.kind == "waiting"
    assert dispatcher.resume_sync(waiting.request.id, Decision.approve(by="ada")).text == "sold tea"
    with pytest.raises(ApprovalError) as refused:
        dispatcher.resume_sync(waiting.request.id, Decision.approve(by="ada"))
    assert refused.value.why == "answered"


def test_the_sync_methods_take_the_options_of_the_async_ones(dispatcher):
    """They pass them on, and a wrong one is named."""
    (result,) = dispatcher.call_many_sync([("kind", {})], resources={Shop: Shop()}, timeout_seconds=5)
    assert result.value == "Shop"
    with pytest.raises(TypeError, match="sesion"):
        dispatcher.call_many_sync([], sesion=None)
    with pytest.raises(TypeError, match="approve"):
        dispatcher.resume_sync("id", "yes")


@pytest.mark.parametrize(
    ("method", "keywords"),
    [("call", CallKeywords), ("call_many", BatchKeywords), ("resume", SharedKeywords)],
)
def test_the_types_of_the_options_are_those_of_the_async_method(method, keywords):
    """An option that is added to one is added to the other."""
    parameters = inspect.signature(getattr(Dispatcher, method)).parameters.values()
    options = {item.name: item.annotation for item in parameters if item.kind is inspect.Parameter.KEYWORD_ONLY}
    assert options == {name: hint.__forward_arg__ for name, hint in keywords.__annotations__.items()}


@pytest.mark.anyio
async def test_the_sync_methods_work_in_a_running_loop(dispatcher):
    """README snippets work in a notebook: a loop runs in the thread that calls, and it is not disturbed."""
    loop = asyncio.get_running_loop()
    waiting = dispatcher.call_sync("sell", {"item": "tea"})
    assert dispatcher.resume_sync(waiting.request.id, Decision.approve()).text == "sold tea"
    assert [result.value for result in dispatcher.call_many_sync([("price", {"item": "tea"})] * 2)] == [3, 3]
    assert asyncio.get_running_loop() is loop


def test_a_generator_of_calls_runs_in_the_thread_of_the_caller(dispatcher):
    """It may read a database whose connection belongs to that thread."""
    threads = []

    def calls():
        threads.append(threading.current_thread())
        yield "price", {"item": "tea"}

    dispatcher.call_many_sync(calls())
    assert threads == [threading.current_thread()]


def test_wait_for_uses_the_loop_of_the_sync_calls(dispatcher):
    """So a client of a tool can be closed in its own loop."""
    loops = []

    @dispatcher.catalog.tool(read_only=True)
    async def open_client() -> None:
        """Open a client."""
        loops.append(asyncio.get_running_loop())

    async def close_client() -> str:
        loops.append(asyncio.get_running_loop())
        return "closed"

    dispatcher.call_sync("open_client")
    assert dispatcher.wait_for(close_client) == "closed"
    assert loops[0] is loops[1]


@pytest.mark.parametrize(
    "call",
    [
        lambda dispatcher: dispatcher.call_many_sync([("price", {"item": "tea"})]),
        lambda dispatcher: dispatcher.resume_sync("id", Decision.approve()),
        lambda dispatcher: dispatcher.wait_for(lambda: asyncio.sleep(0)),
    ],
    ids=["call_many_sync", "resume_sync", "wait_for"],
)
def test_a_closed_dispatcher_refuses_every_sync_method(dispatcher, call):
    dispatcher.close()
    with pytest.raises(RuntimeError, match="the dispatcher is closed"):
        call(dispatcher)


def test_a_sync_method_does_not_wait_for_itself(dispatcher):
    """An async tool that calls one is told what to write."""

    @dispatcher.catalog.tool(read_only=True)
    async def prices() -> int:
        """Ask for several prices."""
        return len(dispatcher.call_many_sync([]))

    result = dispatcher.call_sync("prices")
    assert (result.kind, "await the method without `_sync`" in result.text) == ("failed", True)
