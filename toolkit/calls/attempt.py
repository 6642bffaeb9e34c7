"""
One attempt of one call: fill the resources, run the function where it belongs, and limit its time.

Async functions run on the event loop. Sync functions run in a thread, unless they ask to stay on the loop or to run in
the thread of their caller. A function that outlasts its limit is cancelled and may clean up. A function that cannot be
stopped is abandoned, and counted until it ends. A caller whose own thread runs the function waits for its end.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import inspect
import logging
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import partial
from typing import Any, TypeAlias

from .._plumbing.wording import format_seconds
from ..concurrency.abandoned import (
    AbandonedCalls,
    CancellableJob,
    StuckCall,
    log_abandoned,
    log_stuck_in_thread,
    run_job,
)
from ..concurrency.caller_thread import CallerThread, find_caller_thread
from ..concurrency.futures import retrieve_exception
from ..concurrency.thread_pool import ThreadPool
from ..concurrency.time_limits import OnAbandon, QuestionTimer, await_with_limit, wait_within
from ..context import Context, Progress
from ..errors import ToolError, Transient
from ..spec import Tool
from ..values.arrays import check_stream_size
from ..values.rendering import as_json, is_async_stream, is_stream
from ..values.unsendable_value import UnsendableValue
from .propagation import must_propagate
from .resources import build_resources, build_resources_in_thread

__all__ = ["TimedOut", "ToolAttempt", "await_within", "build_progress_reporter"]

_log = logging.getLogger("toolkit")

_Threads: TypeAlias = ThreadPool | CallerThread


class TimedOut(Transient):
    """Raised if one attempt takes longer than its limit."""


async def await_within(work: Awaitable[Any], seconds: float, cleanup_seconds: float, on_abandon: OnAbandon) -> Any:
    """
    Await *work*. After *seconds* it is cancelled, and has *cleanup_seconds* to clean up.

    A value that it returns meanwhile counts.

    Raises:
        TimedOut: It took longer.
    """
    is_stuck = False

    def abandon(task: asyncio.Task[None]) -> None:
        nonlocal is_stuck
        is_stuck = True
        on_abandon(task)

    timer = asyncio.timeout(seconds)
    try:
        async with timer:
            return await await_with_limit(work, cleanup_seconds, abandon)
    except Exception:
        if timer.expired():
            raise _build_timeout(seconds, is_stuck=is_stuck) from None
        raise


def _build_timeout(seconds: float, *, is_stuck: bool) -> TimedOut:
    stuck = ", and could not be stopped" if is_stuck else ""
    return TimedOut(f"took longer than {format_seconds(seconds)}{stuck}", happened="maybe")


class ToolAttempt:
    """
    One attempt of a tool that needs more than a plain await.

    Attributes:
        began: Whether the function was called. Before that, the call can have had no effect.
        returned: Whether the function returned. A failure after that comes too late for a retry.
    """

    def __init__(
        self,
        tool: Tool,
        arguments: dict[str, Any],
        context: Context,
        sources: list[Mapping[Any, Any]],
        threads: ThreadPool,
        abandoned: AbandonedCalls,
        *,
        build_stuck_call: Callable[[], StuckCall],
        cleanup_seconds: float,
        timer: QuestionTimer | None = None,
    ) -> None:
        self._tool = tool
        self._timer = timer
        self._arguments = arguments
        self._context = context
        self._sources = sources
        self._threads = _choose_threads(tool, threads)
        self._is_async = tool.signature.style.startswith("async")
        # An iterator may take long, so that of an async function is not read on the event loop.
        self._stream_threads = threads if self._is_async else self._threads
        self._job: CancellableJob | None = None
        self._abandoned = abandoned
        self._build_stuck_call = build_stuck_call
        self._cleanup_seconds = cleanup_seconds
        self._interrupt: BaseException | None = None
        self._is_stuck = False
        self._is_cut_short = False
        self._holders_note = ""
        self.began = False
        self.returned = False

    async def run(self, timeout_seconds: float | None) -> Any:
        """Return what the function returns, or raise `TimedOut` if it takes longer than *timeout_seconds*."""
        return await self._run_within(timeout_seconds, self._call_with_resources)

    async def finish(self, value: Any, timeout_seconds: float | None) -> Any:
        """Return the final value of a function that was called directly and returned a stream or an awaitable."""
        self.began = True
        return await self._run_within(timeout_seconds, partial(self._finish, value))

    def read(self, value: Any) -> Any:
        """Return the items of *value* if it is a stream, and otherwise *value*, as the final value of the function."""
        self.began = True
        value = self._read_stream(value)
        self.returned = True
        return value

    def stop(self) -> None:
        """Have the function stop: it sees this in its context, and no more items of a stream are read."""
        self._context.stop.set()

    async def _run_within(self, timeout_seconds: float | None, start: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        if timeout_seconds is None:
            return await await_with_limit(start(), self._cleanup_seconds, self._abandon)
        task = asyncio.ensure_future(_catch_exit(start))
        try:
            done = await wait_within(task, timeout_seconds, self._timer)
            if not done and self._holds_caller():
                # The caller cannot go on before its own thread is free. So a value that comes late still counts.
                self._context.stop.set()
                await asyncio.wait({task})
        except asyncio.CancelledError:
            await self._stop(task)
            raise
        if not done:
            await self._stop(task)
        if task.done() and not task.cancelled() and (done or task.exception() is None) and not self._is_cut_short:
            value, escaping = task.result()  # the task may have finished at the moment of the timeout
            if escaping is not None:
                raise escaping
            return value
        if done:
            raise asyncio.CancelledError  # the cancellation came from inside: no caller had requested it
        raise self._build_timeout(timeout_seconds)

    async def _stop(self, task: asyncio.Task[Any]) -> None:
        """Cancel *task*, and give its cleanup a limited time."""
        self._context.stop.set()
        task.cancel()
        try:
            await asyncio.wait({task}, timeout=self._cleanup_seconds)
        finally:
            if not task.done():
                self._abandon(task)
            task.add_done_callback(retrieve_exception)

    def _abandon(self, task: asyncio.Task[Any]) -> None:
        self._context.stop.set()
        self._is_stuck = True
        log_abandoned(f"`{self._tool.name}`", self._cleanup_seconds)
        self._abandoned.add_task(task, self._build_stuck_call())

    def _build_timeout(self, timeout_seconds: float) -> TimedOut:
        if not self.began:
            return TimedOut(f"could not be started within {format_seconds(timeout_seconds)}{self._holders_note}")
        return _build_timeout(timeout_seconds, is_stuck=self._is_stuck)

    async def _call_with_resources(self) -> Any:
        parameters = self._tool.signature.injected
        if not parameters:
            return await self._call({})
        async with contextlib.AsyncExitStack() as stack:
            if self._threads is not None:
                return await self._call_in_thread_with_resources(self._threads, stack)
            resources = await build_resources(parameters, self._sources, self._context, stack)
            return await self._call(resources)
        raise ToolError("it failed, and one of its resources swallowed why")

    def _holds_caller(self) -> bool:
        """Return whether the function has begun in the thread of its caller. If it has not, it is called off."""
        return isinstance(self._threads, CallerThread) and self._job is not None and not self._job.cancel()

    async def _call_in_thread_with_resources(self, threads: _Threads, outer: contextlib.AsyncExitStack) -> Any:
        """Make the resources, call the function and close the resources, all in the thread that a sync tool runs in."""
        loop = asyncio.get_running_loop()

        def wait_for(work: Coroutine[Any, Any, Any]) -> Any:
            value, escaping = asyncio.run_coroutine_threadsafe(self._await_for_thread(work), loop).result()
            if escaping is not None:
                raise escaping
            return value

        def run_on_loop(enter: Callable[[contextlib.AsyncExitStack], Coroutine[Any, Any, Any]]) -> Any:
            return wait_for(enter(outer))

        def work() -> Any:
            with contextlib.ExitStack() as stack:
                resources = build_resources_in_thread(
                    self._tool.signature.injected, self._sources, self._context, stack, run_on_loop
                )
                args, keywords = self._tool.signature.bind(self._arguments, resources)
                self.began = True
                value = self._tool.function(*args, **keywords)
                if is_async_stream(type(value)) or inspect.isawaitable(value):  # it needs its resources until it ends
                    value = wait_for(self._await_value(value))
                return self.read(value)
            raise ToolError("it failed, and one of its resources swallowed why")

        try:
            return await self._run_in_thread(threads, work)
        except Exception:
            if self._interrupt is not None:
                raise self._interrupt from None
            raise

    async def _await_for_thread(self, work: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
        """Await *work* for a thread, and remember an error that has to pass, because a thread cannot pass it on."""
        value, escaping = await _catch_exit(lambda: work)
        if escaping is not None and must_propagate(escaping):
            self._interrupt = escaping
        return value, escaping

    async def _call(self, resources: Mapping[str, Any]) -> Any:
        args, keywords = self._tool.signature.bind(self._arguments, resources)
        function = self._tool.function
        self.began = True
        if self._threads is not None:
            value = await self._run_in_thread(self._threads, lambda: self._read_stream(function(*args, **keywords)))
        elif self._is_async:
            value = function(*args, **keywords)
        else:
            try:
                value = function(*args, **keywords)
            except StopIteration as stop:  # a coroutine would take it for its own end
                raise RuntimeError(f"the tool raised {stop!r}") from stop
        return await self._finish(value)

    async def _finish(self, value: Any) -> Any:
        # The returned value decides, not the declaration, because a wrapper may differ from the function that it wraps.
        value = await self._await_value(value)
        if self._stream_threads is not None and is_stream(type(value)):
            return await self._run_in_thread(self._stream_threads, partial(self.read, value))
        return self.read(value)

    async def _await_value(self, value: Any) -> Any:
        while inspect.isawaitable(value):
            value = await value
        return await _read_async_items(value, self._report_item) if is_async_stream(type(value)) else value

    async def _run_in_thread(self, threads: _Threads, work: Callable[[], Any]) -> Any:
        self._job = CancellableJob(work)
        try:
            return await run_job(threads, self._job, self._tool.name, self._give_up)
        finally:
            self._job = None  # the work holds this object, so the two would form a cycle

    def _give_up(self, job: CancellableJob, *, has_begun: bool) -> None:
        self._context.stop.set()
        if not has_begun:
            self.began = False
            holders = "" if self._threads is None else self._threads.describe_holders()
            self._holders_note = f": {holders}" if holders else ""
        elif not job.is_over:
            log_stuck_in_thread(self._tool.name)
            self._is_stuck = True
            job.call_when_over(self._abandoned.add(self._build_stuck_call()))

    def _read_stream(self, value: Any) -> Any:
        """Return what a sync function returned, or the list of all items if that is an iterator."""
        if not is_stream(type(value)):
            return value
        return _read_items(value, self._report_item, self._is_stopped)

    def _is_stopped(self) -> bool:
        self._is_cut_short = self._context.cancelled
        return self._is_cut_short

    def _report_item(self, item: Any) -> None:
        call_id = self._context.call.id
        if self._tool.options.get("streaming") is not False:
            self._context.on_progress(Progress(call_id=call_id, tool=self._tool.name, value=as_json(item)))


async def _catch_exit(start: Callable[[], Coroutine[Any, Any, Any]]) -> tuple[Any, BaseException | None]:
    """
    Await the coroutine of *start* in its own task, and return an exit or interrupt instead of raising it.

    A task would throw `SystemExit` and `KeyboardInterrupt` into the event loop. A task that is cancelled before its
    first step makes no coroutine, which Python would report as never awaited.
    """
    try:
        return await start(), None
    except (SystemExit, KeyboardInterrupt) as error:
        return None, error


def _choose_threads(tool: Tool, pool: ThreadPool) -> _Threads | None:
    """Return where the function of *tool* runs: in *pool*, in the thread of its caller, or None for the event loop."""
    if tool.signature.style not in ("sync", "generator") or not tool.facts.thread:
        return None
    return find_caller_thread() if tool.facts.thread == "caller" else pool


def _read_items(stream: Any, on_item: Callable[[Any], None], is_stopped: Callable[[], bool]) -> list[Any]:
    """Return the items of *stream* until its end, or until *is_stopped*. *on_item* gets each; the stream is closed."""
    items: list[Any] = []
    with contextlib.closing(stream) if hasattr(stream, "close") else contextlib.nullcontext():
        for item in stream:
            if is_stopped():
                break
            _add_item(items, item, on_item)
    return items


async def _read_async_items(stream: Any, on_item: Callable[[Any], None]) -> list[Any]:
    """Return the items of *stream* until its end. *on_item* gets each; the stream is closed."""
    items: list[Any] = []
    async with contextlib.aclosing(stream) if hasattr(stream, "aclose") else contextlib.nullcontext():
        async for item in stream:
            _add_item(items, item, on_item)
    return items


def _add_item(items: list[Any], item: Any, on_item: Callable[[Any], None]) -> None:
    items.append(item)
    try:
        check_stream_size(len(items))
    except UnsendableValue as error:
        raise ToolError(str(error)) from None
    on_item(item)


def build_progress_reporter(
    listener: Callable[[Progress], object], loop: asyncio.AbstractEventLoop | None = None
) -> Callable[[Progress], None]:
    """
    Return a function that passes progress to *listener*, always in the thread of *loop*, or of the running loop.

    So the listener may be plain async code. If the listener raises, the error is logged and does not affect the call.
    """
    loop = loop or asyncio.get_running_loop()
    # The context says which call this is. A thread that the tool has started itself does not have it.
    context = contextvars.copy_context()

    def call_listener(progress: Progress) -> None:
        try:
            listener(progress)
        except Exception:  # noqa: BLE001 -- the listener is user code; the docstring above says why
            _log.exception("a listener to progress failed")

    def report(progress: Progress) -> None:
        try:
            is_on_loop = asyncio.get_running_loop() is loop
        except RuntimeError:
            is_on_loop = False
        if is_on_loop:
            call_listener(progress)
        else:
            with contextlib.suppress(RuntimeError):  # the loop is closed, so there is no listener any more
                loop.call_soon_threadsafe(call_listener, progress, context=context)

    return report
