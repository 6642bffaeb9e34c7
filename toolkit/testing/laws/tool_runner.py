"""
Run a tool as a dispatcher runs it, and keep the result, the exception and the return value.

Arguments that the tool's author did not think of can keep a tool busy for ever. Every call therefore has a time limit.
A stream or a function that goes on after it is ended. A call that waits in C code cannot be ended, and is left behind
in its thread.
"""

from __future__ import annotations

import contextlib
import ctypes
import dis
import inspect
import logging
import sys
import threading
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...dispatcher import Dispatcher
from ...functions.background_parameter import BACKGROUND
from ...results import ToolCall, ToolResult
from ...session import Session
from ...spec import Tool
from ...values.rendering import is_async_stream, is_stream
from .run_conditions import RunConditions

__all__ = ["ToolRunner", "TrialOutcome", "build_trial_call", "open_tool_runner", "use_quietly"]

_GRACE_SECONDS = 0.5
_MAX_STARTS = 3
_MAX_LOOKS, _LOOK_SECONDS, _BUSY_SECONDS = 100, 0.002, 0.005
# Python may let another thread run after these instructions, and no C code waits in them.
_SWITCH_INSTRUCTIONS = ("RESUME", "JUMP_BACKWARD", "JUMP_BACKWARD_IF_TRUE", "JUMP_BACKWARD_IF_FALSE")


class _Overdue(SystemExit):
    """Raised in a call whose time is over. It is a `SystemExit`, so that a thread that ends with it prints nothing."""


@dataclass(slots=True)
class TrialOutcome:
    """The outcome of one call: a result, or the exception that the dispatcher raised instead, if the call did end."""

    result: ToolResult | None = None
    error: BaseException | None = None
    is_overdue: bool = False


class ToolRunner:
    """
    Runs one tool, call by call. `open_tool_runner` makes a runner.

    `stuck_arguments` are those of the last call that did not end in time; None if every call did.
    """

    def __init__(self, dispatcher: Dispatcher, tool: Tool, watch: _FunctionWatch, conditions: RunConditions) -> None:
        self.tool = tool
        self.conditions = conditions
        self._dispatcher = dispatcher
        self._watch = watch
        self._timeout_seconds = conditions.timeout_seconds
        self.stuck_arguments: Mapping[str, Any] | None = None
        self.spent_seconds = 0.0

    def run(self, arguments: Mapping[str, Any]) -> TrialOutcome:
        """
        Call the tool once, and keep its answer. The dispatcher repairs no arguments and retries no call.

        On a busy machine the time can be over before the tool itself has run for half of it. That is not the tool's
        fault, so the call is made again, up to `_MAX_STARTS` times in all.
        """
        for _ in range(_MAX_STARTS):
            ran = self._call_once(arguments)
            if not ran.is_overdue or self._watch.own_seconds() > self._timeout_seconds / 2:
                break
        if ran.is_overdue:
            self.stuck_arguments = arguments
        if ran.result is not None:
            self.conditions.answers.add(ran.result)
        return ran

    def _call_once(self, arguments: Mapping[str, Any]) -> TrialOutcome:
        ran = TrialOutcome()
        began = time.monotonic()
        self._watch.begin(began + self._timeout_seconds)

        def call() -> None:
            try:
                ran.result = self._dispatcher.call_sync(build_trial_call(self.tool, arguments))
            except BaseException as raised:  # noqa: BLE001 -- the laws look for exceptions of every type
                ran.error = raised

        # The call has a thread of its own, because an async function that never awaits blocks the dispatcher's loop.
        thread = threading.Thread(target=call, name=f"trying {self.tool.name}", daemon=True)
        thread.start()
        thread.join(self._timeout_seconds + _GRACE_SECONDS)
        ran.is_overdue = thread.is_alive() or self._watch.is_over
        if ran.is_overdue:
            self._watch.stop()
        self.spent_seconds += time.monotonic() - began
        return ran


def build_trial_call(tool: Tool, arguments: Mapping[str, Any], number: int = 1) -> ToolCall:
    """Return call *number* of *tool*, for a user and in a session of its own."""
    # The laws look at the result of the tool, which a call in the background does not return.
    sent = {**arguments, BACKGROUND: False} if tool.facts.background else dict(arguments)
    user = f"user-{number}"
    return ToolCall(tool.name, sent, f"call_{number}", Session(id=f"session-{number}", principal=user), user)


@contextlib.contextmanager
def open_tool_runner(tool: Tool, conditions: RunConditions) -> Iterator[ToolRunner]:
    """Yield a runner for *tool* that has a dispatcher of its own, which is used quietly."""
    watch = _FunctionWatch()
    dispatcher = conditions.build_dispatcher(
        replace(tool, function=watch.wrap(tool.function)),
        raise_bugs=True,
        timeout_seconds=conditions.timeout_seconds,
        cleanup_seconds=_GRACE_SECONDS / 2,
    )
    runner = ToolRunner(dispatcher, tool, watch, conditions)
    with use_quietly(dispatcher, lambda: runner.stuck_arguments is not None):
        yield runner


@contextlib.contextmanager
def use_quietly(dispatcher: Dispatcher, is_stuck: Callable[[], bool]) -> Iterator[None]:
    """
    Close *dispatcher* after the block. Inside it the logger `toolkit` logs nothing, because violations report the same.

    If a call *is_stuck*, the dispatcher is closed in a thread: `close` waits for that call, which may never end.
    """
    logger, reject = logging.getLogger("toolkit"), lambda record: False
    logger.addFilter(reject)
    try:
        yield
    finally:
        logger.removeFilter(reject)
    if is_stuck():
        threading.Thread(target=dispatcher.close, daemon=True).start()
    else:
        dispatcher.close()


class _FunctionWatch:
    """Watches one function, and ends a call whose time is over."""

    def __init__(self) -> None:
        self._deadline = 0.0
        self._thread_id: int | None = None
        self._native_thread_id = 0
        self._started_at: float | None = None
        self._ended_at: float | None = None

    def begin(self, deadline: float) -> None:
        """Forget the last call and watch the next one, whose time is over at *deadline* on the monotonic clock."""
        self._deadline = deadline
        self._thread_id = self._started_at = self._ended_at = None

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self._deadline

    def own_seconds(self) -> float:
        """Return for how many seconds the function has run so far, or did run; 0 if it has not begun in time."""
        if self._started_at is None:
            return 0.0
        return (self._ended_at or time.monotonic()) - self._started_at

    def stop(self) -> None:
        """
        Raise `_Overdue` in the thread of the call, if that thread runs Python code.

        A thread that waits in C code is left alone. It uses no processor, and would see the exception only when it
        returns to Python code. Until then, Python 3.11 keeps every other thread waiting that is traced.
        """
        thread = self._thread_id  # read only once, because the call may end and clear it at any moment
        if thread is not None and _is_running(thread, self._native_thread_id):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Overdue))

    def wrap(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return *function* with a watch around it. The function itself runs as it always does."""

        def call(*args: Any, **keywords: Any) -> Any:
            with self._record_running():
                self._raise_if_over()  # `stop` may have been called before the thread was known
                value = function(*args, **keywords)
            if inspect.isawaitable(value):
                return self._watch_awaitable(value)
            if is_stream(type(value)):
                return self._watch_stream(value)
            if is_async_stream(type(value)):
                return self._watch_async_stream(value)
            return value

        return call

    async def _watch_awaitable(self, value: Awaitable[Any]) -> Any:
        with self._record_running():
            return await value

    def _watch_stream(self, stream: Any) -> Iterator[Any]:
        closing = contextlib.closing(stream) if hasattr(stream, "close") else contextlib.nullcontext()
        with closing, self._record_running():
            for item in stream:
                self._raise_if_over()
                yield item

    async def _watch_async_stream(self, stream: Any) -> AsyncIterator[Any]:
        async with contextlib.aclosing(stream) if hasattr(stream, "aclose") else contextlib.nullcontext():
            with self._record_running():
                async for item in stream:
                    self._raise_if_over()
                    yield item

    @contextlib.contextmanager
    def _record_running(self) -> Iterator[None]:
        """Record the thread while the function's own code runs in it, and the times when that code began and ended."""
        self._native_thread_id = threading.get_native_id()
        self._thread_id = threading.get_ident()
        if self._started_at is None and not self.is_over:
            self._started_at = time.monotonic()
        self._ended_at = None
        try:
            yield
        finally:
            self._ended_at = time.monotonic()
            self._thread_id = None

    def _raise_if_over(self) -> None:
        if self.is_over:
            raise _Overdue


def _is_running(thread_id: int, native_thread_id: int) -> bool:
    """
    Return whether a thread runs Python code.

    It does if it is seen at two places in the code, or at an instruction where Python lets other threads run, or if
    it uses the processor for some time. A thread that waits in C code stays at the call that led there, and uses no
    processor. A loop without calls is always seen at its end, because that is the only place where Python lets another
    thread run.
    """
    positions: set[tuple[int, int]] = set()
    seconds_before = _processor_seconds(native_thread_id)
    for _ in range(_MAX_LOOKS):
        frame = sys._current_frames().get(thread_id)  # noqa: SLF001 -- the documented way to look at another thread
        if frame is None:
            return False
        place = frame.f_lasti
        if dis.opname[frame.f_code.co_code[place]].endswith(_SWITCH_INSTRUCTIONS):
            return True
        positions.add((id(frame), place))
        if len(positions) > 1 or _processor_seconds(native_thread_id) - seconds_before > _BUSY_SECONDS:
            return True
        del frame  # a reference would keep the frame alive here, and its end could not be seen
        time.sleep(_LOOK_SECONDS)
    return False


def _processor_seconds(native_thread_id: int) -> float:
    """Return for how many seconds a thread has used the processor; 0 if the operating system does not say."""
    try:
        with open(f"/proc/self/task/{native_thread_id}/schedstat", "rb") as file:
            return int(file.read().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):  # the thread has ended, or this is not Linux
        return 0.0
