"""What a tool is given in an attempt: its context, and resources that are made and closed for it."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator

import pytest

from tests.clocks import Clock
from toolkit.calls.resources import PER_CALL
from toolkit.context import Context, Inject
from toolkit.dispatcher import Dispatcher
from toolkit.errors import ToolkitWarning, Transient
from toolkit.policies.retry import RetryPolicy
from toolkit.session import Session

pytestmark = pytest.mark.anyio

QUICK = RetryPolicy(attempts=3, wait_initial=0)


async def test_the_context_describes_the_call_to_the_tool(catalog):
    """It has the call, the facts, the attempt, the deadline, the session, the resources and a logger."""
    clock, contexts = Clock(), []

    @catalog.tool(read_only=True, timeout_seconds=5)
    async def look(n: int, context: Context) -> None:
        """Look around."""
        contexts.append(context)
        if context.attempt == 1:
            raise Transient("again")

    session = Session(id="s", principal="ada")
    dispatcher = Dispatcher(catalog, clock=clock, sleep=clock.sleep, resources={int: 1, str: PER_CALL}, retry=QUICK)
    result = await dispatcher.call("look", {"n": 1}, session=session, resources={float: 2.0}, timeout_seconds=60)
    assert result.kind == "ok"
    first, second = contexts
    assert (first.attempt, second.attempt) == (1, 2)
    assert (first.call.principal, first.session, first.facts.read_only) == ("ada", session, True)
    assert (first.deadline, first.resources) == (clock.now + 5, {int: 1, float: 2.0})
    assert (first.logger.name, first.cancelled, first.call.tool.name) == ("toolkit.tools.look", False, "look")


async def test_a_deadline_is_the_sooner_of_two(catalog):
    """The attempt's limit, or what is left of the call."""
    clock, deadlines = Clock(), []

    @catalog.tool(timeout_seconds=50)
    async def look(context: Context) -> None:
        """Look at the clock."""
        deadlines.append(context.deadline)

    dispatcher = Dispatcher(catalog, clock=clock)
    await dispatcher.call("look", timeout_seconds=7)
    await dispatcher.call("look")
    assert deadlines == [clock.now + 7, clock.now + 50]


async def test_reports_from_a_thread_arrive_on_the_loop(catalog):
    """A listener may be plain async code: it is always called in the loop's thread, in order."""
    reports, threads = [], set()

    def listen(progress):
        reports.append((progress.progress, progress.total, progress.message))
        threads.add(threading.current_thread())

    @catalog.tool
    def work(context: Context) -> int:
        """Work."""
        context.report(1, 2, "half")
        context.report(2, 2, "done")
        return 1

    async with Dispatcher(catalog, on_progress=listen) as dispatcher:
        await dispatcher.call("work")
    assert reports == [(1, 2, "half"), (2, 2, "done")]
    assert threads == {threading.current_thread()}


async def test_an_error_of_a_progress_listener_is_logged_and_does_not_fail_the_call(catalog, caplog):
    @catalog.tool
    async def work(context: Context) -> int:
        """Work."""
        context.report(1)
        return 1

    result = await Dispatcher(catalog, on_progress=lambda progress: 1 / 0).call("work")
    assert result.value == 1
    assert "ZeroDivisionError" in caplog.text


async def test_inject_takes_the_nearest_resource(catalog):
    """Given with the call, then by the catalog, then on the dispatcher."""

    @catalog.tool
    async def which(name: Inject[str]) -> str:
        """Tell which."""
        return name

    provided = catalog.provided({str: "catalog"})
    assert (await Dispatcher(catalog, resources={str: "dispatcher"}).call("which")).text == "dispatcher"
    assert (await Dispatcher(provided, resources={str: "dispatcher"}).call("which")).text == "catalog"
    assert (await Dispatcher(provided).call("which", resources={str: "call"})).text == "call"


async def test_resources_are_made_for_each_attempt_and_closed_afterwards(catalog):
    """This holds also for an attempt that fails."""
    events = []

    def connect(context: Context) -> Iterator[str]:
        events.append(f"open {context.attempt}")
        try:
            yield "connection"
        finally:
            events.append("close")

    @catalog.tool(read_only=True)
    async def use(connection: Inject[str]) -> str:
        """Use it."""
        events.append("use")
        if len(events) < 4:
            raise Transient("again")
        return connection

    result = await Dispatcher(catalog, resources={str: connect}, retry=QUICK).call("use")
    assert result.text == "connection"
    assert events == ["open 1", "use", "close", "open 2", "use", "close"]


@pytest.mark.parametrize(("when", "attempts"), [("before", 3), ("after", 1)])
async def test_a_resource_that_fails_is_not_mistaken_for_the_tool(catalog, when, attempts):
    """A failure before the function means that the call has not happened, and one after it means that it has."""
    ran = []

    def connect() -> Iterator[str]:
        if when == "before":
            raise ConnectionResetError("lost")
        yield "connection"
        raise Transient("lost at the end")

    @catalog.tool
    async def use(connection: Inject[str]) -> str:
        """Use it."""
        ran.append(True)
        return connection

    result = await Dispatcher(catalog, resources={str: connect}, retry=QUICK).call("use")
    assert (result.kind, result.attempts, len(ran)) == ("transient", attempts, 0 if when == "before" else 1)
    assert ("may or may not" in result.text) == (when == "after")


async def test_a_resource_missing_at_the_call_is_an_internal_error(catalog):
    """Declared as given with each call, and then not given."""

    @catalog.tool
    async def use(connection: Inject[str]) -> str:
        """Use it."""
        return connection

    result = await Dispatcher(catalog, resources={str: PER_CALL}).call("use")
    assert (result.kind, "str" in result.text) == ("internal", True)


async def test_a_resource_may_not_swallow_a_failure(catalog):
    """The result would look like a success."""

    class Swallows:
        def __enter__(self):
            return "connection"

        def __exit__(self, *exception):
            return True

    @catalog.tool
    async def use(connection: Inject[str]) -> str:
        """Use it."""
        raise ValueError("lost")

    assert (await Dispatcher(catalog, resources={str: Swallows}).call("use")).kind == "failed"


async def test_a_tool_that_is_added_later_is_checked_for_resources(catalog):
    """A missing resource is reported at once, until the dispatcher is closed."""
    dispatcher = Dispatcher(catalog)

    async def use(connection: Inject[str]) -> str:
        """Use it."""
        return connection

    with pytest.warns(ToolkitWarning, match="wants str"):
        catalog.add(use)
    dispatcher.close()
    with warnings.catch_warnings(record=True) as later_warnings:
        catalog.add(use, replace=True)
    assert (later_warnings, catalog["use"].function) == ([], use)
