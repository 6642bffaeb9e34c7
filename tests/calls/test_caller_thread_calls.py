"""Hooks, retries, time limits, errors, Ctrl-C and approvals of tools with `thread="caller"`."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import Iterator

import pytest

from tests.calls.caller_threads import dispatching, in_thread
from toolkit.approvals import Approvals
from toolkit.catalog import Catalog
from toolkit.context import Context
from toolkit.decisions import Decision
from toolkit.dispatcher import Dispatcher
from toolkit.errors import Transient
from toolkit.hooks import Proceed
from toolkit.permissions import Permissions
from toolkit.policies.retry import RetryPolicy
from toolkit.results import ToolResult

SOON = 0.02


def test_hooks_of_a_call_in_the_thread_of_the_caller_run_on_the_loop(catalog, here):
    """This holds for hooks before, around and after the tool."""
    threads = []

    class Watch:
        def before(self, call):
            threads.append(threading.get_ident())
            return Proceed()

        async def around(self, call, run):
            threads.append(threading.get_ident())
            return await run()

        def after(self, call, result):
            threads.append(threading.get_ident())
            return result

    with dispatching(catalog, hooks=[Watch()]) as dispatcher:
        assert dispatcher.call_sync("here").value == threading.get_ident()
    assert len(threads) == 3
    assert threading.get_ident() not in threads


def test_every_attempt_runs_in_the_thread_of_the_caller(catalog):
    """Retries too; the caller's thread is free between them."""
    threads = []

    @catalog.tool(idempotent=True, thread="caller")
    def flaky() -> str:
        """Fail twice."""
        threads.append(threading.get_ident())
        if len(threads) < 3:
            raise Transient("busy")
        return "done"

    with dispatching(catalog, retry=RetryPolicy(attempts=3, wait_initial=0)) as dispatcher:
        result = dispatcher.call_sync("flaky")
    assert (result.text, result.attempts, threads) == ("done", 3, [threading.get_ident()] * 3)


@pytest.mark.parametrize("limit", ["tool", "call"])
@pytest.mark.parametrize("ending", ["value", "error", "generator"])
def test_a_time_limit_cannot_free_the_caller(limit, ending):
    """
    The caller waits for the end of the tool, which can see that its time is over. A value that comes late counts.

    An error that comes late, or a stream that was cut, is a timeout.
    """

    began = []

    def slow(context: Context) -> str:
        """Take too long."""
        began.append(True)
        assert context.stop.wait(30)
        if ending == "error":
            raise ValueError("too late")
        return "late"

    def slow_rows(context: Context) -> Iterator[int]:
        """Yield for too long."""
        began.append(True)
        yield 1
        assert context.stop.wait(30)
        yield 2

    # A busy machine may not start the tool within a short limit, and then it has a longer one.
    for seconds in (SOON, 10 * SOON, 100 * SOON):
        catalog = Catalog()
        function = slow_rows if ending == "generator" else slow
        catalog.tool(name="slow", thread="caller", timeout_seconds=seconds if limit == "tool" else None)(function)
        with dispatching(catalog) as dispatcher:
            result = dispatcher.call_sync("slow", timeout_seconds=seconds if limit == "call" else None)
            assert dispatcher.abandoned == 0
        if began:
            break
    assert result.kind == ("ok" if ending == "value" else "timeout")
    assert result.text == "late" if ending == "value" else "took longer than " in result.text
    assert "could not be stopped" not in result.text


def test_a_tool_that_gets_no_turn_within_its_limit_is_not_started(catalog):
    """The result names the tool that holds the thread."""
    entered, release, started = threading.Event(), threading.Event(), []

    @catalog.tool(concurrency_safe=True, thread="caller")
    def hold() -> None:
        """Hold the thread."""
        entered.set()
        assert release.wait(30)

    @catalog.tool(concurrency_safe=True, thread="caller", timeout_seconds=SOON)
    def late() -> None:
        """Come too late."""
        started.append(1)

    class Release:
        """Lets the first tool go on when the second has its result."""

        def after(self, call, result):
            if call.name == "late":
                release.set()
            return result

    with dispatching(catalog, hooks=[Release()], retry=RetryPolicy(attempts=1)) as dispatcher:
        first, second = dispatcher.call_many_sync([("hold", {}), ("late", {})])
    assert (first.kind, second.kind, started) == ("ok", "timeout", [])
    assert "could not be started within 0.02 s: the thread of the caller is held by `hold`" in second.text


def test_errors_of_the_tool_are_results(catalog):
    """`SystemExit` does not end the program, though the tool runs in the program's own thread."""

    @catalog.tool(thread="caller")
    def leave() -> None:
        """Leave."""
        raise SystemExit(3)

    @catalog.tool(thread="caller")
    def stop() -> None:
        """Stop."""
        raise StopIteration

    with dispatching(catalog) as dispatcher:
        assert [dispatcher.call_sync(name).kind for name in ("leave", "stop")] == ["failed", "failed"]


def test_bugs_are_raised_with_the_frames_of_the_tool(catalog):
    """With `raise_bugs`, the traceback is that of a plain function."""

    @catalog.tool(thread="caller")
    def broken() -> None:
        """Break."""
        raise ZeroDivisionError

    with dispatching(catalog, raise_bugs=True) as dispatcher, pytest.raises(ZeroDivisionError) as raised:
        dispatcher.call_sync("broken")
    assert any(entry.name == "broken" for entry in raised.traceback)


def test_ctrl_c_in_the_tool_passes_on_after_the_other_calls_were_cancelled(catalog):
    """It interrupts the tool like any function, and the dispatcher works afterwards."""
    cleaned, ready = [], threading.Event()

    @catalog.tool(read_only=True, thread="caller")
    def interrupted() -> None:
        """Be interrupted."""
        assert ready.wait(30)
        signal.raise_signal(signal.SIGINT)

    @catalog.tool(read_only=True)
    async def beside() -> None:
        """Wait beside it."""
        ready.set()
        try:
            await asyncio.Event().wait()
        finally:
            cleaned.append(True)

    @catalog.tool(read_only=True, thread="caller")
    def never() -> None:
        """Be called off."""
        cleaned.append(False)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with dispatching(catalog) as dispatcher:
            with pytest.raises(KeyboardInterrupt):
                dispatcher.call_many_sync([("interrupted", {}), ("beside", {}), ("never", {})])
            assert (cleaned, dispatcher.abandoned) == ([True], 0)
            assert dispatcher.call_sync("never").kind == "ok"
    finally:
        signal.signal(signal.SIGINT, handler)


def test_an_interrupt_that_a_tool_raises_in_another_thread_is_a_result(catalog):
    """Ctrl-C arrives in the main thread alone."""

    @catalog.tool(thread="caller")
    def interrupt() -> None:
        """Interrupt."""
        raise KeyboardInterrupt

    with dispatching(catalog) as dispatcher:
        assert in_thread(lambda: dispatcher.call_sync("interrupt")).kind == "failed"


def test_closing_the_dispatcher_frees_the_caller_after_the_tool(catalog):
    """The tool cannot be stopped, so the caller hears of the close when its thread is free."""
    entered, release = threading.Event(), threading.Event()

    @catalog.tool(thread="caller")
    def hold() -> None:
        """Hold the thread."""
        entered.set()
        assert release.wait(30)

    dispatcher = Dispatcher(catalog, cleanup_seconds=SOON)

    def close():
        assert entered.wait(30)
        dispatcher.close()
        release.set()

    closing = threading.Thread(target=close)
    closing.start()
    with pytest.raises(RuntimeError, match="the dispatcher is closed"):
        dispatcher.call_sync("hold")
    closing.join(30)


@pytest.mark.usefixtures("here")
def test_a_call_that_outlives_its_caller_is_refused(catalog):
    """A task that goes on after `call_sync` has returned has no thread to run the tool in."""
    tasks, goes_on = [], asyncio.Event()

    @catalog.tool
    async def start() -> None:
        """Start a call and leave it."""

        async def later() -> ToolResult:
            await goes_on.wait()
            return await dispatcher.call("here")

        tasks.append(asyncio.create_task(later()))

    async def finish() -> ToolResult:
        goes_on.set()
        return await tasks[0]

    with dispatching(catalog) as dispatcher:
        dispatcher.call_sync("start")
        result = dispatcher.wait_for(finish)
    assert (result.kind, "that caller no longer waits" in result.text) == ("failed", True)


@pytest.mark.usefixtures("here")
def test_an_approved_call_runs_in_the_thread_of_resume_sync(catalog):
    """The first caller has its answer, that the call waits, and may be gone."""
    with dispatching(catalog, permissions=Permissions("default", ["ask here"])) as dispatcher:
        waiting = in_thread(lambda: dispatcher.call_sync("here"))
        assert waiting.kind == "waiting"
        assert dispatcher.resume_sync(waiting.request.id, Decision.approve()).value == threading.get_ident()


@pytest.mark.usefixtures("here")
def test_a_call_that_is_approved_while_it_waits_runs_in_the_thread_of_its_caller(catalog):
    """The asker has its own thread, and the thread of the caller waits for it."""
    threads = []

    class Asker:
        blocking = True

        def ask(self, request):
            threads.append(threading.get_ident())
            return Decision.approve()

    permissions, approvals = Permissions("default", ["ask here"]), Approvals(ask=Asker())
    with dispatching(catalog, permissions=permissions, approvals=approvals) as dispatcher:
        assert dispatcher.call_sync("here").value == threading.get_ident()
    assert threads != [threading.get_ident()]
