"""
Many calls: their order, which of them run at the same time, and that each has a result.
"""

from __future__ import annotations

import asyncio
import threading

import pytest

from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.hooks import Ask, Halt, Log, Proceed
from toolkit.results import ToolCall

pytestmark = pytest.mark.anyio


@pytest.fixture
def catalog():
    """An empty catalog."""
    return Catalog()


class Company:
    """Watches who runs beside whom."""

    def __init__(self) -> None:
        self.inside = 0
        self.most = 0
        self.order: list[int] = []

    async def visit(self, n: int, turns: int = 3) -> int:
        self.order.append(n)
        self.inside += 1
        self.most = max(self.most, self.inside)
        for _ in range(turns):
            await asyncio.sleep(0)
        self.inside -= 1
        return n


async def test_results_come_in_the_order_of_the_calls(catalog):
    """The order in which they finish does not count."""

    @catalog.tool(read_only=True)
    async def wait(turns: int) -> int:
        """Wait some turns."""
        for _ in range(turns):
            await asyncio.sleep(0)
        return turns

    results = await Dispatcher(catalog).call_many([("wait", {"turns": n}) for n in (9, 1, 5)])
    assert [result.value for result in results] == [9, 1, 5]


async def test_an_empty_batch_has_no_results(catalog):
    assert await Dispatcher(catalog).call_many([]) == []


@pytest.mark.parametrize("style", ["async", "thread"])
async def test_safe_neighbours_run_together(catalog, style):
    """Each waits for the others, so they must be inside at the same time."""
    if style == "thread":
        barrier = threading.Barrier(5, timeout=10)

        @catalog.tool(name="meet", read_only=True)
        def meet(n: int) -> int:
            """Meet the others."""
            barrier.wait()
            return n

    else:
        inside, all_here = [], asyncio.Event()

        @catalog.tool(name="meet", concurrency_safe=True)
        async def later(n: int) -> int:
            """Meet the others."""
            inside.append(n)
            if len(inside) == 5:
                all_here.set()
            await all_here.wait()
            return n

    async with Dispatcher(catalog) as dispatcher:
        results = await dispatcher.call_many([("meet", {"n": n}) for n in range(5)])
    assert [result.value for result in results] == list(range(5))


async def test_unsafe_calls_run_alone_and_in_order(catalog):
    """They run beside no other call."""
    company = Company()

    @catalog.tool
    async def write(n: int) -> int:
        """Write."""
        assert company.inside == 0
        return await company.visit(n)

    @catalog.tool(read_only=True)
    async def read(n: int) -> int:
        """Read."""
        return await company.visit(n)

    names = ["read", "read", "write", "write", "read", "write"]
    results = await Dispatcher(catalog).call_many([(name, {"n": n}) for n, name in enumerate(names)])
    assert [result.value for result in results] == list(range(6))
    assert company.order == list(range(6))
    assert company.most == 2


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("file", "most"), [("other", 3), ("same", 1), ("broken", 1)])
async def test_a_function_of_the_arguments_may_decide_which_calls_run_together(catalog, is_async, file, most):
    """The function gets decoded arguments with defaults. A call runs alone if the function raises."""
    company = Company()

    def apart(arguments):
        if arguments["file"] == "broken":
            raise ValueError
        return arguments["file"] != "same"

    async def later(arguments):
        return apart(arguments)

    @catalog.tool(concurrency_safe=later if is_async else apart)
    async def write(n: int, file: str = "same") -> int:
        """Write."""
        return await company.visit(n)

    dispatcher = Dispatcher(catalog)
    await dispatcher.call_many([("write", {"n": n, "file": file}) for n in range(3)])
    assert company.most == most
    company.most = 0
    results = await dispatcher.call_many([("write", {"n": 1}), ("write", '{"n": 2}'), ("write", {"n": "x"})])
    assert (company.most, [result.kind for result in results]) == (1, ["ok", "ok", "bad_args"])


async def test_a_cap_bounds_company(catalog):
    """Never more than `max_concurrency` at once."""
    company = Company()

    @catalog.tool(read_only=True)
    async def read(n: int) -> int:
        """Read."""
        return await company.visit(n)

    results = await Dispatcher(catalog, max_concurrency=3).call_many([("read", {"n": n}) for n in range(20)])
    assert [result.value for result in results] == list(range(20))
    assert company.most == 3


async def test_a_failure_loses_no_sibling(catalog):
    """Errors, unknown names, bad arguments and exits are results among results."""

    @catalog.tool(read_only=True)
    async def act(how: str) -> str:
        """Act."""
        if how == "exit":
            raise SystemExit
        if how == "cancel":
            raise asyncio.CancelledError
        if how == "raise":
            raise ValueError
        return how

    calls = [("act", {"how": how}) for how in ("fine", "raise", "exit", "cancel")]
    results = await Dispatcher(catalog).call_many([*calls, ("nope", {}), ("act", {}), ("act", {"how": "last"})])
    kinds = [result.kind for result in results]
    assert kinds == ["ok", "failed", "failed", "cancelled", "not_found", "bad_args", "ok"]


async def test_ids_are_kept_and_missing_ones_are_new(catalog):
    """Two calls with one id both get a result. A new id is never equal to a given one."""

    @catalog.tool(read_only=True)
    async def echo(n: int) -> int:
        """Say it again."""
        return n

    calls = [
        ToolCall("echo", {"n": 1}, "same"),
        ToolCall("echo", {"n": 2}, "same"),
        ToolCall("echo", {"n": 3}),
        ToolCall("echo", {"n": 4}, "call_1"),
        ("echo", {"n": 5}),
    ]
    results = await Dispatcher(catalog).call_many(calls)
    assert [result.value for result in results] == [1, 2, 3, 4, 5]
    ids = [result.call_id for result in results]
    assert (ids[:2], ids[3]) == (["same", "same~repeat-2"], "call_1")
    assert len(set(ids[2:])) == 3
    assert calls[2].id == ""


async def test_an_item_of_a_batch_that_is_not_a_call_is_refused(catalog):
    with pytest.raises(TypeError, match="ToolCall"):
        await Dispatcher(catalog).call_many([5])


async def test_later_changes_are_held_back_after_a_call_that_waits(catalog):
    """Reads go on. A write says what it waits for, and hooks see its result."""
    ran, kinds = [], []

    class Watch:
        def after(self, call, result):
            kinds.append((call.name, result.kind))
            return result

    @catalog.tool(approval="always", concurrency_safe=True)
    async def pay(amount: int) -> None:
        """Pay."""
        ran.append("pay")

    @catalog.tool(concurrency_safe=True)
    async def write() -> None:
        """Write."""
        ran.append("write")

    @catalog.tool(read_only=True)
    async def read() -> None:
        """Read."""
        ran.append("read")

    calls = [
        ("write", {}),
        ToolCall("pay", {"amount": 3}, "p"),
        ("read", {}),
        ("write", {}),
        ("nope", {}),
        ("write", ""),
    ]
    results = await Dispatcher(catalog, hooks=[Watch()]).call_many(calls)
    assert [result.kind for result in results] == ["ok", "waiting", "ok", "waiting", "not_found", "waiting"]
    assert ran == ["write", "read"]
    assert (results[1].request.waits_for, results[3].request.waits_for) == (None, "p")
    assert (results[3].tool, results[3].attempts) == ("write", 0)
    assert sorted(kinds) == sorted((result.tool, result.kind) for result in results)


async def test_held_back_and_skipped_calls_are_shown_to_the_hooks(catalog):
    """After-hooks see every result, also of calls that were never started."""
    outcomes = []

    class Watch:
        def before(self, call):
            return {"ask": Ask("why"), "halt": Halt("enough")}.get(call.arguments["what"], Proceed())

        def after(self, call, result):
            outcomes.append((call.arguments["what"], result.kind))
            return result

    @catalog.tool
    async def act(what: str) -> str:
        """Act."""
        return what

    dispatcher = Dispatcher(catalog, hooks=[Watch()])
    await dispatcher.call_many([("act", {"what": text}) for text in ("ask", "held")])
    await dispatcher.call_many([("act", {"what": text}) for text in ("fine", "halt", "skipped")])
    assert outcomes == [
        ("ask", "waiting"),
        ("held", "waiting"),
        ("fine", "ok"),
        ("halt", "halted"),
        ("skipped", "halted"),
    ]


async def test_a_halt_skips_all_calls_that_have_not_started(catalog):
    """Calls in every later group are skipped. Earlier calls keep their results."""
    ran = []

    class Stop:
        def before(self, call):
            return Halt("enough") if call.arguments["n"] == 2 else Proceed()

    @catalog.tool(read_only=True)
    async def act(n: int) -> int:
        """Act."""
        ran.append(n)
        return n

    results = await Dispatcher(catalog, hooks=[Stop()], max_concurrency=1).call_many(
        [("act", {"n": n}) for n in range(5)] + [("nope", {})]
    )
    assert [result.kind for result in results] == ["ok", "ok", "halted", "halted", "halted", "halted"]
    assert ran == [0, 1]
    assert "enough" in results[-1].text
    assert results[3].tool == "act"


@pytest.mark.parametrize("concurrency_safe", [True, False])
async def test_cancelling_the_batch_cancels_and_awaits_every_child(catalog, concurrency_safe):
    """Each may clean up once. No further call starts, also if a tool swallows the cancellation."""
    started, cleaned, ran, tasks = asyncio.Event(), [], [], asyncio.all_tasks()

    @catalog.tool(concurrency_safe=concurrency_safe)
    async def hang(n: int) -> None:
        """Hang."""
        ran.append(n)
        if len(ran) == (2 if concurrency_safe else 1):
            started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            for _ in range(3):
                await asyncio.sleep(0)
            cleaned.append(n)
            if n == 0:
                return
            raise

    batch = Dispatcher(catalog, max_concurrency=2).call_many([("hang", {"n": n}) for n in range(6)])
    task = asyncio.ensure_future(batch)
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(cleaned) == ran == ([0, 1] if concurrency_safe else [0])
    assert asyncio.all_tasks() == tasks


async def test_a_second_cancellation_hurries_the_children(catalog):
    """All children are awaited even then."""
    started, hurried = asyncio.Event(), []

    @catalog.tool(read_only=True)
    async def hang(n: int) -> None:
        """Hang, and take time to clean up."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                hurried.append(n)
                raise

    task = asyncio.ensure_future(Dispatcher(catalog).call_many([("hang", {"n": n}) for n in range(3)]))
    await started.wait()
    task.cancel()
    for _ in range(5):
        await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert sorted(hurried) == [0, 1, 2]


@pytest.mark.parametrize("error", [KeyboardInterrupt, ZeroDivisionError])
def test_an_interrupt_propagates_after_the_sibling_calls_have_ended(catalog, error):
    """With `raise_bugs`, a bug does the same. The siblings are cancelled and awaited first."""
    cleaned = []

    @catalog.tool(read_only=True)
    async def act(n: int) -> None:
        """Act."""
        if n == 1:
            await asyncio.sleep(0)
            raise error
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            cleaned.append(n)

    async def main() -> None:
        dispatcher = Dispatcher(catalog, raise_bugs=True)
        with pytest.raises(error):
            await dispatcher.call_many([("act", {"n": n}) for n in range(3)])
        assert sorted(cleaned) == [0, 2]

    asyncio.run(main())


@pytest.mark.long
@pytest.mark.unmeasured
async def test_a_batch_of_ten_thousand_calls_has_all_results_in_order(catalog):
    @catalog.tool(read_only=True)
    async def echo(n: int) -> int:
        """Say it again."""
        await asyncio.sleep(0)
        return n

    results = await Dispatcher(catalog, hooks=[Log()]).call_many([("echo", {"n": n}) for n in range(10_000)])
    assert [result.value for result in results] == list(range(10_000))
    assert len({result.call_id for result in results}) == 10_000


async def test_a_tool_that_cannot_be_described_fails_alone():
    """The call says why, and its siblings have their results."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def fine() -> str:
        """Go well."""
        return "fine"

    @catalog.tool
    async def waits_for_a_name(to: Nowhere) -> None:  # noqa: F821 -- that is the point
        """Go nowhere."""

    results = await Dispatcher(catalog).call_many([("fine", {}), ("waits_for_a_name", {}), ("fine", {})])
    assert [result.kind for result in results] == ["ok", "internal", "ok"]
    assert "Nowhere" in results[1].text
