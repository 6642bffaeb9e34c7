"""
The stage that calls the function of a tool directly.

Most tools need nothing but their decoded arguments. A call that brings resources or a time limit with it, that has to
be recorded, or that must wait for calls that cannot be stopped, is made in attempts instead.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from functools import partial
from typing import TYPE_CHECKING, Any

from .._lazy_names import LazyModule
from ..concurrency.abandoned import CancellableJob, run_job
from ..concurrency.time_limits import await_with_limit
from ..values.rendering import is_stream
from .call_frame import CallFrame

if TYPE_CHECKING:
    from . import attempt, attempts
else:  # most functions return one value in time
    attempt = LazyModule(f"{__package__}.attempt")
    attempts = LazyModule(f"{__package__}.attempts")

__all__ = ["start"]


def start(frame: CallFrame) -> Awaitable[Any]:
    """Call the function of the tool, and return an awaitable for its value."""
    frame.attempts += 1
    plan = frame.plan
    if plan.direct_call == "await":
        work: Awaitable[Any] = plan.function(**frame.decoded)
        return work
    if plan.direct_call == "wait":
        return _wait_for_function(frame)
    return _run_in_thread(frame) if plan.direct_call == "thread" else _run_on_loop(frame)


async def _wait_for_function(frame: CallFrame) -> Any:
    """Await a function that may wait for something, so that it can be cancelled."""
    plan, cleanup_seconds = frame.plan, frame.settings.cleanup_seconds
    work = plan.function(**frame.decoded)

    def give_up(task: asyncio.Task[Any]) -> None:
        attempts.abandon_task(frame, task)

    if plan.timeout_seconds is None:
        return await await_with_limit(work, cleanup_seconds, give_up)
    return await attempt.await_within(work, plan.timeout_seconds, cleanup_seconds, give_up)


async def _run_in_thread(frame: CallFrame) -> Any:
    def give_up(job: CancellableJob, *, has_begun: bool) -> None:
        attempts.abandon_job(frame, job, has_begun=has_begun)

    job = CancellableJob(partial(_call_in_thread, frame, asyncio.get_running_loop()))
    return await run_job(frame.settings.threads, job, frame.plan.name, give_up)


def _call_in_thread(frame: CallFrame, loop: asyncio.AbstractEventLoop) -> Any:
    """Return what the function returns. If that is a stream, return its items, which the same thread reads."""
    value = frame.plan.function(**frame.decoded)
    return attempts.read_stream_in_thread(frame, value, loop) if is_stream(type(value)) else value


async def _run_on_loop(frame: CallFrame) -> Any:
    try:
        return frame.plan.function(**frame.decoded)
    except StopIteration as stop:  # a coroutine would take it for its own end
        raise RuntimeError(f"the tool raised {stop!r}") from stop
