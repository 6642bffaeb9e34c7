"""Errors on the path of a call, and which of them are retried."""

from __future__ import annotations

import asyncio
import logging
from typing import Any

import httpx
import pytest

from tests.calls.pipeline_kit import GONE, QUICK, Custom
from tests.clocks import Clock
from toolkit.catalog import Catalog
from toolkit.dispatcher import Dispatcher
from toolkit.errors import BadArgs, DefinitionError, Safety, ToolError, Transient
from toolkit.results import ToolResult
from toolkit.spec import Tool

pytestmark = pytest.mark.anyio


# Errors.


@pytest.mark.parametrize("timeout_seconds", [None, 60.0])
@pytest.mark.parametrize("style", ["async", "thread", "loop"])
@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (ToolError("no"), "failed"),
        (BadArgs("no"), "bad_args"),
        (Safety("no"), "safety"),
        (Transient("no"), "transient"),
        (ValueError("no"), "failed"),
        (SystemExit(3), "failed"),
        (asyncio.CancelledError(), "cancelled"),
        (Custom("no"), "failed"),
        (RecursionError("no"), "failed"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
async def test_anything_that_a_tool_raises_is_a_result(error, kind, style, timeout_seconds):
    """Every failure has its kind and its cause, wherever the tool runs, limited or not."""
    catalog = Catalog()

    async def later() -> None:
        """Fail."""
        raise error

    def now() -> None:
        """Fail."""
        raise error

    catalog.tool(name="fail", thread=style == "thread", destructive=True)(later if style == "async" else now)
    async with Dispatcher(catalog, retry=QUICK) as dispatcher:
        result = await dispatcher.call("fail", timeout_seconds=timeout_seconds)
    assert (result.kind, result.attempts) == (kind, 1)
    assert result.is_error
    assert type(result.error.cause) is type(error)


async def test_an_exception_that_may_be_a_bug_is_logged_once_with_its_traceback(catalog, caplog):
    @catalog.tool(read_only=True)
    async def stumble() -> None:
        """Fail."""
        raise KeyError("home")

    with caplog.at_level(logging.WARNING, logger="toolkit"):
        await Dispatcher(catalog, retry=QUICK).call("stumble")
    assert [(record.getMessage(), record.exc_info[0]) for record in caplog.records] == [
        ("`stumble` failed: KeyError", KeyError)
    ]


@pytest.mark.parametrize(
    ("error", "attempts", "line"),
    [
        (httpx.ConnectError("no answer"), 3, "`stumble` failed (transient): ConnectError: no answer"),
        (TimeoutError("too slow"), 3, "`stumble` failed (transient): TimeoutError: too slow"),
        (FileNotFoundError("no tea.txt"), 1, "`stumble` failed: FileNotFoundError: no tea.txt"),
        (
            httpx.HTTPStatusError("404\nSee the manual", request=httpx.Request("GET", "http://x"), response=GONE),
            1,
            "`stumble` failed: HTTPStatusError: 404 See the manual",
        ),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
@pytest.mark.parametrize(("level", "has_traceback"), [(logging.INFO, False), (logging.DEBUG, True)])
async def test_a_failure_that_a_library_reports_is_logged_in_one_line(
    catalog, caplog, error, attempts, line, level, has_traceback
):
    """The number of attempts does not matter. The traceback is logged at level DEBUG."""

    @catalog.tool(read_only=True)
    async def stumble() -> None:
        """Fail."""
        raise error

    with caplog.at_level(level, logger="toolkit"):
        result = await Dispatcher(catalog, retry=QUICK).call("stumble")
    assert result.attempts == attempts
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [("WARNING", line)]
    assert ("in stumble" in caplog.text) == has_traceback


async def test_an_error_keeps_its_chain_of_causes_after_retries():
    """`unwrap` raises the error of the tool."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def flaky() -> None:
        """Fail."""
        raise Transient("later") from KeyError("inner")

    result = await Dispatcher(catalog, retry=QUICK).call("flaky")
    assert type(result.error.cause) is Transient
    assert type(result.error.cause.__cause__) is KeyError
    with pytest.raises(Transient):
        result.unwrap()


async def test_a_real_cancellation_passes_on(catalog):
    """A cancellation that the caller requested is no result."""
    started = asyncio.Event()

    @catalog.tool
    async def hang() -> None:
        """Wait for ever."""
        started.set()
        await asyncio.Event().wait()

    task = asyncio.ensure_future(Dispatcher(catalog).call("hang"))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


def test_an_interrupt_passes_on(catalog):
    """KeyboardInterrupt ends the program, not the call."""

    @catalog.tool
    async def interrupt() -> None:
        """Press Ctrl-C."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(Dispatcher(catalog).call("interrupt"))
    with pytest.raises(KeyboardInterrupt):
        asyncio.run(Dispatcher(catalog, timeout_seconds=60).call("interrupt"))


async def test_raise_bugs_raises_unclassified_exceptions(catalog):
    """A bug is raised; an error of the tool, and what the classifier knows, stay results."""

    @catalog.tool
    async def bug() -> None:
        """Divide by zero."""
        1 / 0  # noqa: B018

    @catalog.tool(destructive=True)
    async def reset() -> None:
        """Lose the connection."""
        raise ConnectionResetError

    dispatcher = Dispatcher(catalog, raise_bugs=True)
    with pytest.raises(ZeroDivisionError):
        await dispatcher.call("bug")
    assert (await dispatcher.call("fail")).kind == "failed"
    assert (await dispatcher.call("reset")).kind == "transient"


@pytest.mark.parametrize(
    ("value", "returns", "text"),
    [
        ("one", int, "expected an integer"),
        (object(), Any, "cannot be given"),
        (ToolResult("one", "one"), int, "expected an integer"),
    ],
    ids=["annotation", "no JSON form", "a result of its own"],
)
@pytest.mark.parametrize("further", [{}, {"timeout_seconds": 60}], ids=["direct", "in attempts"])
async def test_raise_bugs_raises_for_a_result_that_the_tool_may_not_return(value, returns, text, further):
    ran = []

    async def give() -> None:
        """Give it."""
        ran.append(True)
        return value

    give.__annotations__["return"] = returns
    spec = Tool.described(give)
    assert (await Dispatcher(Catalog(spec)).call("give", **further)).kind == "failed"
    with pytest.raises(DefinitionError, match=f"`give`: the tool ran, but .*{text}"):
        await Dispatcher(Catalog(spec), raise_bugs=True).call("give", **further)
    assert len(ran) == 2


async def test_a_rule_that_fails_does_not_lose_the_call(catalog, caplog):
    """A mistake in `classify` is logged, and the built-in table decides."""

    @catalog.tool
    async def bug() -> None:
        """Fail."""
        raise ValueError("no")

    def rule(error):
        raise RuntimeError("in the rule")

    result = await Dispatcher(catalog, classify=rule).call("bug")
    assert result.kind == "failed"
    assert "in the rule" in caplog.text


# Retries.


async def test_a_transient_failure_is_tried_again_after_a_wait():
    """The result says how often, and why."""
    catalog, clock, tries = Catalog(), Clock(), []

    @catalog.tool
    async def flaky(items: list[int]) -> int:
        """Fail twice, and spoil the arguments."""
        items.append(0)
        tries.append(len(items))
        if len(tries) < 3:
            raise Transient("not yet", retry_after_seconds=2)
        return len(items)

    dispatcher = Dispatcher(catalog, clock=clock, sleep=clock.sleep, chance=lambda: 1.0)
    result = await dispatcher.call("flaky", {"items": [1]})
    assert (result.value, result.attempts, tries) == (2, 3, [2, 2, 2])
    assert clock.slept == [2, 2]
    assert len(result.retries) == 2


@pytest.mark.parametrize(
    ("facts", "happened", "attempts"),
    [
        ({}, "no", 3),
        ({}, "maybe", 1),
        ({"idempotent": True}, "maybe", 3),
        ({"read_only": True}, "maybe", 3),
        ({"destructive": True}, "no", 1),
        ({"destructive": True, "idempotent": True}, "maybe", 1),
    ],
)
async def test_a_retry_never_doubles_an_effect(facts, happened, attempts):
    """
    A call that may have happened is tried again only if that is harmless. Destructive tools are never tried
    again.
    """
    catalog = Catalog()

    @catalog.tool(**facts)
    async def pay() -> None:
        """Pay."""
        raise Transient("lost", happened=happened)

    result = await Dispatcher(catalog, retry=QUICK).call("pay")
    assert (result.kind, result.attempts) == ("transient", attempts)
    doubtful = happened == "maybe" and not facts.get("read_only")
    assert ("may or may not have happened" in result.text) == doubtful
    assert "not tried again" in result.retries[-1]


async def test_retries_stay_inside_the_deadline():
    """A wait that would outlast the call is not begun."""
    catalog, clock = Catalog(), Clock()

    @catalog.tool
    async def busy() -> None:
        """Ask for patience."""
        raise Transient("busy", retry_after_seconds=20)

    dispatcher = Dispatcher(catalog, clock=clock, sleep=clock.sleep)
    result = await dispatcher.call("busy", timeout_seconds=10)
    assert (result.attempts, clock.slept) == (1, [])
    assert "no time left" in result.retries[-1]
