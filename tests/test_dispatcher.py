"""
The dispatcher itself: finding tools, adopting calls, sync doors, and what it leaves behind (nothing).
"""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
import weakref
from enum import Enum

import pytest

from tests.clocks import until
from toolkit.approvals import MemoryApprovals
from toolkit.calls.resources import PER_CALL
from toolkit.catalog import Catalog
from toolkit.concurrency.background_loop import BackgroundLoop
from toolkit.context import Context, Inject
from toolkit.dispatcher import Dispatcher
from toolkit.errors import DefinitionError
from toolkit.hooks import LoopGuard, Proceed
from toolkit.policies.audit import AuditLog
from toolkit.results import ToolCall, ToolResult
from toolkit.session import Session

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog():
    """A catalog with one async and one sync tool."""
    catalog = Catalog()

    @catalog.tool(read_only=True, aliases=["plus"])
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @catalog.tool
    def shout(text: str) -> str:
        """Say it louder."""
        return text.upper()

    return catalog


def our_threads() -> list[threading.Thread]:
    """The threads that a dispatcher made."""
    return [thread for thread in threading.enumerate() if thread.name.startswith("toolkit")]


def have_ended(threads: list[threading.Thread]) -> bool:
    """Whether *threads* end by themselves, and soon."""
    for thread in threads:
        thread.join(5)
    return not any(thread.is_alive() for thread in threads)


# Finding tools.


async def test_an_unknown_name_is_answered_with_the_nearest(catalog):
    """The model can recover; hooks cannot lose the answer, and see no tool."""
    tools = []

    class Careless:
        def after(self, call, result):
            tools.append(call.tool)
            return call.tool.facts

    class Tagging:
        async def after(self, call, result):
            return ToolResult(result.text + "\n(tagged)", None, result.kind, error=result.error)

    result = await Dispatcher(catalog, hooks=[Careless(), Tagging()]).call("ad", {}, id="7")
    assert result.kind == "not_found"
    assert result.text.startswith("error: unknown tool `ad`; did you mean `add`?")
    assert result.text.endswith("(tagged)")
    assert (result.call_id, result.tool, result.attempts, tools) == ("7", "ad", 0, [None])


async def test_a_cancellation_passes_through_the_hooks_of_an_unknown_name(catalog):

    class Hanging:
        async def after(self, call, result):
            await asyncio.Event().wait()

    task = asyncio.ensure_future(Dispatcher(catalog, hooks=[Hanging()]).call("nope"))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_an_unknown_name_is_masked_and_cut(catalog):
    """What a model invents may be long, and may hold what it should not say."""
    dispatcher = Dispatcher(catalog, redact=["hunter2"], max_chars=100)
    assert "hunter2" not in (await dispatcher.call("hunter2")).text
    assert 90 < len((await dispatcher.call("x" * 5000)).text) <= 100


async def test_the_catalog_is_followed_as_it_changes(catalog):
    """Tools come, go and are replaced while the dispatcher lives."""
    dispatcher = Dispatcher(catalog)
    assert (await dispatcher.call("add", {"a": 1, "b": 1})).value == 2
    catalog.remove("add")
    assert (await dispatcher.call("add", {"a": 1, "b": 1})).kind == "not_found"

    @catalog.tool(name="add")
    async def other(a: int, b: int) -> int:
        """Add differently."""
        return 42

    assert (await dispatcher.call("add", {"a": 1, "b": 1})).value == 42


# Calls.


async def test_a_call_can_be_given_as_one_object(catalog):
    """What stands beside it fills what it leaves open; the caller's object stays as it was."""
    calls = []

    class Watch:
        def before(self, call):
            calls.append((call.id, call.session_key, call.principal, call.turn, call.metadata))
            call.metadata["spoilt"] = True
            return Proceed()

    call = ToolCall("add", {"a": 1, "b": 2}, "7", turn=3, metadata={"k": 1})
    dispatcher = Dispatcher(catalog, hooks=[Watch()])
    result = await dispatcher.call(call, session=Session(id="s", principal="ada"), id="8")
    assert (result.value, result.call_id) == (3, "7")
    assert calls == [("7", "s", "ada", 3, {"k": 1, "spoilt": True})]
    assert (call.metadata, call.session, call.tool) == ({"k": 1}, None, None)


async def test_the_principal_of_the_call_wins_over_the_sessions(catalog):
    """Given with the call, or on it, or by the session."""
    principals = []

    class Watch:
        def before(self, call):
            principals.append(call.principal)
            return Proceed()

    dispatcher, session = Dispatcher(catalog, hooks=[Watch()]), Session(principal="ada")
    arguments = {"a": 1, "b": 2}
    await dispatcher.call("add", arguments, session=session)
    await dispatcher.call("add", arguments, session=session, principal="bob")
    await dispatcher.call(ToolCall("add", arguments, principal="eve"), session=session, principal="bob")
    await dispatcher.call_many([("add", arguments)], session=session, principal="bob")
    await dispatcher.call_many([("add", arguments)], session=session)
    assert principals == ["ada", "bob", "eve", "bob", "ada"]


async def test_a_name_may_be_any_kind_of_text(catalog):
    """Names in an enum, for instance."""

    class Names(str, Enum):
        ADD = "add"

    result = await Dispatcher(catalog).call(Names.ADD, {"a": 1, "b": 2})
    assert (result.kind, result.tool) in [("ok", "add")]


@pytest.mark.parametrize("wrong", [(5, None), (None, None), (ToolCall("add"), {"a": 1})])
async def test_what_is_no_call_is_refused_at_once(catalog, wrong):
    """A mistake of the program, not of a model."""
    with pytest.raises(TypeError):
        await Dispatcher(catalog).call(*wrong)


async def test_ids_are_given_to_calls_that_have_none(catalog):
    """Each its own."""
    dispatcher = Dispatcher(catalog)
    first = await dispatcher.call("add", {"a": 1, "b": 2})
    second = await dispatcher.call(ToolCall("add", {"a": 1, "b": 2}))
    assert first.call_id
    assert second.call_id
    assert first.call_id != second.call_id


@pytest.mark.parametrize(
    "options",
    [
        {"max_concurrency": 0},
        {"max_chars": 10},
        {"max_bytes": 10},
        {"timeout_seconds": 0},
        {"cleanup_seconds": -1},
        {"cleanup_seconds": float("nan")},
        {"validation": "slow"},
    ],
)
def test_options_are_checked_where_they_are_given(catalog, options):
    """Not at the first call."""
    with pytest.raises(ValueError, match="has to be"):
        Dispatcher(catalog, **options)


# Resources.


def test_a_missing_resource_is_reported_when_the_dispatcher_is_built(catalog):
    """With every tool that wants one, unless it is declared as given with each call."""

    @catalog.tool
    async def use(number: Inject[float], context: Context) -> float:
        """Use it."""
        return number

    with pytest.raises(DefinitionError, match="`use` wants float"):
        Dispatcher(catalog)
    Dispatcher(catalog, resources={float: PER_CALL})
    Dispatcher(catalog.provided({float: 1.0}))


def test_a_tool_that_waits_for_a_name_does_not_keep_the_dispatcher_from_being_built():
    """Its first call will say what is missing."""
    catalog = Catalog()

    @catalog.tool
    async def broken(value: NotYet) -> int:  # noqa: F821 -- that is the point
        """Take what is not there."""
        return 1

    assert asyncio.run(Dispatcher(catalog).call("broken")).kind == "internal"


# Sync doors.


def test_call_sync_runs_async_and_sync_tools(catalog):
    """From plain code, with every option of `call`."""
    dispatcher = Dispatcher(catalog)
    assert dispatcher.call_sync("add", {"a": 1, "b": 2}, id="7").call_id == "7"
    assert dispatcher.call_sync(ToolCall("shout", {"text": "hi"})).text == "HI"
    dispatcher.close()


async def test_call_sync_works_inside_a_running_loop(catalog):
    """In a notebook the caller's loop is running; the call has a loop of its own."""
    with_loop = Dispatcher(catalog)
    assert with_loop.call_sync("add", {"a": 1, "b": 2}).value == 3
    with_loop.close()


def test_one_background_loop_serves_all_sync_calls(catalog):
    """What one call makes, the next can use: a lock, a client."""
    locks = []

    @catalog.tool
    async def locked() -> bool:
        """Use one lock for all calls."""
        if not locks:
            locks.append((asyncio.Lock(), asyncio.get_running_loop()))
        lock, loop = locks[0]
        async with lock:
            return asyncio.get_running_loop() is loop

    dispatcher = Dispatcher(catalog)
    assert [dispatcher.call_sync("locked").value for _ in range(3)] == [True] * 3
    dispatcher.close()


def test_an_unclosed_dispatcher_leaves_no_thread(catalog):
    """Its background loop ends when it is gone, and what was begun there is cancelled and may clean up."""
    ended = []

    @catalog.tool
    async def begin() -> str:
        """Begin something, and leave it."""

        async def linger():
            try:
                await asyncio.Event().wait()
            finally:
                ended.append(True)

        begun.append(asyncio.create_task(linger()))
        await asyncio.sleep(0)
        return "begun"

    begun: list[asyncio.Task[None]] = []
    others = set(threading.enumerate())
    for _ in range(3):
        assert Dispatcher(catalog).call_sync("begin").text == "begun"
    begun.clear()
    gc.collect()
    for thread in set(threading.enumerate()) - others:
        thread.join(timeout=30)
        assert not thread.is_alive()
    assert ended == [True] * 3


@pytest.mark.parametrize("door", ["call", "call_sync"])
async def test_a_sync_tool_may_call_others(catalog, door):
    """Through `call_sync`, from its thread, however it was called itself."""
    dispatcher = Dispatcher(catalog)

    @catalog.tool
    def outer(n: int) -> int:
        """Call another tool."""
        return dispatcher.call_sync("add", {"a": n, "b": 1}).value

    if door == "call":
        assert (await dispatcher.call("outer", {"n": 1})).value == 2
    else:
        assert dispatcher.call_sync("outer", {"n": 1}).value == 2
    dispatcher.close()


async def test_sync_tools_that_call_others_do_not_wait_in_a_circle(catalog):
    """A thread that only waits lends its slot, however few there are; afterwards the cap holds again."""
    dispatcher = Dispatcher(catalog, max_concurrency=2)

    @catalog.tool(concurrency_safe=True)
    def nest(depth: int) -> int:
        """Call oneself."""
        return dispatcher.call_sync("nest", {"depth": depth - 1}).value + 1 if depth else 0

    results = await dispatcher.call_many([("nest", {"depth": 5})] * 4)
    assert [result.value for result in results] == [5] * 4
    await until(lambda: dispatcher.settings.threads.thread_count <= 2)
    dispatcher.close()


def test_call_sync_does_not_wait_for_itself(catalog):
    """In its own loop it would hang; the error says what to write instead."""
    dispatcher = Dispatcher(catalog)

    @catalog.tool
    async def outer() -> int:
        """Call another tool the wrong way."""
        return dispatcher.call_sync("add", {"a": 1, "b": 1}).value

    result = dispatcher.call_sync("outer")
    assert (result.kind, "await dispatcher.call" in result.text) == ("failed", True)
    dispatcher.close()


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_what_passes_on_reaches_the_sync_caller(catalog, error):
    """And the background loop goes on."""

    @catalog.tool
    async def stop() -> None:
        """Stop."""
        raise error

    dispatcher = Dispatcher(catalog, raise_bugs=True)
    with pytest.raises(error):
        dispatcher.call_sync("stop")
    assert dispatcher.call_sync("add", {"a": 1, "b": 2}).value == 3
    dispatcher.close()


def test_who_is_interrupted_while_waiting_cancels_the_call():
    """The call may clean up before the interrupt passes on."""
    background, cleaned = BackgroundLoop(cleanup_seconds=5), []

    async def hang() -> None:
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            background.wait_for(hang)
    finally:
        signal.signal(signal.SIGINT, handler)
    assert cleaned == [True]
    background.close()


def test_a_call_that_is_closed_under_way_says_so(catalog):
    """The caller that waits for it gets an error."""
    started = threading.Event()

    @catalog.tool
    async def hang() -> None:
        """Hang."""
        started.set()
        await asyncio.Event().wait()

    dispatcher, errors = Dispatcher(catalog), []

    def wait() -> None:
        try:
            dispatcher.call_sync("hang")
        except RuntimeError as error:
            errors.append(str(error))

    waiting = threading.Thread(target=wait)
    waiting.start()
    assert started.wait(5)
    dispatcher.close()
    waiting.join(5)
    assert errors == ["the dispatcher is closed"]


def test_a_dispatcher_cannot_be_closed_from_its_own_loop(catalog):
    """That would wait for itself; the call says so, and the dispatcher can still be closed."""
    before, dispatcher = our_threads(), Dispatcher(catalog)

    @catalog.tool
    async def close() -> None:
        """Close the dispatcher."""
        dispatcher.close()

    assert dispatcher.call_sync("close").kind == "failed"
    threads = [thread for thread in our_threads() if thread not in before]
    dispatcher.close()
    assert have_ended(threads)


# The end.


async def test_closing_ends_threads_and_loops(catalog):
    """No thread is left, and closing twice does no harm."""
    before = our_threads()
    async with Dispatcher(catalog) as dispatcher:
        assert (await dispatcher.call("shout", {"text": "hi"})).text == "HI"
        assert dispatcher.call_sync("add", {"a": 1, "b": 2}).value == 3
        threads = [thread for thread in our_threads() if thread not in before]
        assert len(threads) == 2
    assert have_ended(threads)
    dispatcher.close()


async def test_after_the_end_sync_calls_are_refused(catalog):
    """`call_sync` raises; a tool that needs a thread gives an error; an async one still runs."""
    dispatcher = Dispatcher(catalog)
    dispatcher.close()
    with pytest.raises(RuntimeError, match="closed"):
        dispatcher.call_sync("add", {"a": 1, "b": 2})
    assert (await dispatcher.call("shout", {"text": "hi"})).kind == "failed"
    assert (await dispatcher.call("add", {"a": 1, "b": 2})).value == 3


def test_a_closed_background_loop_takes_no_work():
    """And closing it again does nothing."""
    background = BackgroundLoop(cleanup_seconds=1)
    background.close()
    background.close()
    with pytest.raises(RuntimeError, match="closed"):
        background.wait_for(lambda: asyncio.sleep(0))


def test_an_unclosed_dispatcher_leaves_nothing_behind(catalog):
    """Neither idle threads nor a listener of the catalog."""
    before = our_threads()
    dispatcher = Dispatcher(catalog)
    asyncio.run(dispatcher.call("shout", {"text": "hi"}))
    reference, threads = weakref.ref(dispatcher), [thread for thread in our_threads() if thread not in before]
    assert threads
    del dispatcher
    for thread in threads:
        # The last job is dropped by its thread in its own time; only then does the end begin.
        for _ in range(500):
            gc.collect()
            thread.join(0.01)
            if not thread.is_alive():
                break
    assert reference() is None
    assert have_ended(threads)
    assert not catalog._listeners


@pytest.mark.parametrize("wrong", ["catalog", None, 3])
def test_a_dispatcher_wants_a_catalog_or_functions(wrong):
    """Anything else is named by its type."""
    with pytest.raises(TypeError, match=rf"wants a catalog or functions, got {type(wrong).__name__}"):
        Dispatcher(wrong)


@pytest.mark.parametrize("wrap", [lambda function: function, lambda function: [function], lambda function: (function,)])
def test_a_dispatcher_takes_a_function_or_a_list(wrap):
    """Without a catalog in between, as an agent does."""

    def double(number: int) -> int:
        """Return twice the number."""
        return 2 * number

    assert Dispatcher(wrap(double)).call_sync("double", {"number": 4}).value == 8


def test_hooks_are_a_list(catalog):
    """One alone is told so."""
    with pytest.raises(TypeError, match=r"`hooks` is a list, got one: write \[LoopGuard\("):
        Dispatcher(catalog, hooks=LoopGuard())


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"permissions": "auto"}, r"write Permissions\('auto'\)"),
        ({"safety": False}, r"safety cannot be bool; give SafetyChecks"),
        ({"approvals": MemoryApprovals()}, r"approvals cannot be MemoryApprovals; give Approvals\(store\)"),
        ({"audit": "calls.jsonl"}, r"audit cannot be str; give AuditLog\(path\)"),
        ({"audit": AuditLog}, r"audit cannot be the class AuditLog; give AuditLog\(path\)"),
        ({"hooks": None}, r"`hooks` is a list, got None; for none write \[\]"),
        ({"retry": None}, r"retry cannot be None; give RetryPolicy\("),
        ({"retry": 3}, r"retry cannot be int; give RetryPolicy\("),
        ({"resources": [int]}, "resources cannot be list; give a dictionary"),
        ({"redact": 5}, "redact wants a list of rules"),
        ({"timeout_seconds": "9"}, "timeout_seconds cannot be str; give a number of seconds"),
        ({"max_chars": "9"}, "max_chars cannot be str; give a whole number of characters"),
        ({"max_bytes": 9.5}, "max_bytes cannot be float; give a whole number of bytes"),
        ({"max_concurrency": 2.5}, "max_concurrency cannot be float; give a whole number"),
        ({"on_progress": "log"}, "on_progress cannot be str; give a function"),
        ({"cleanup_seconds": None}, "cleanup_seconds cannot be None; give a number of seconds"),
        ({"clock": 0}, "clock cannot be int; give a function"),
        ({"sleep": None}, "sleep cannot be None; give a function"),
        ({"chance": 0.5}, "chance cannot be float; give a function"),
    ],
)
def test_what_cannot_do_its_part_is_refused_where_it_is_given(options, message):
    """Not at the first call."""
    with pytest.raises(TypeError, match=message):
        Dispatcher(Catalog(), **options)
