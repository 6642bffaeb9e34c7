"""
Run a tool as a dispatcher runs it, and keep the result, the exception and the return value.

Arguments that the tool's author did not think of can keep a tool busy for ever.
Every call therefore has a time limit. A stream or a function that goes on after it
is ended. A call that waits in C code cannot be ended, and is left behind in its thread.
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
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...catalog import Catalog
from ...dispatcher import Dispatcher
from ...policies.retry import RetryPolicy
from ...results import ToolResult
from ...spec import Tool

__all__ = ["Ran", "Runner", "running"]

_GRACE_SECONDS = 0.5
_MAX_STARTS = 3
_MAX_LOOKS, _LOOK_SECONDS, _BUSY_SECONDS = 100, 0.002, 0.005
# Python may let another thread run after these instructions, and no C code waits in them.
_TURNS = ("RESUME", "JUMP_BACKWARD", "JUMP_BACKWARD_IF_TRUE", "JUMP_BACKWARD_IF_FALSE")


class _Overdue(SystemExit):
    """Raised in a call whose time is over. It is a `SystemExit`, so that a thread that ends with it prints nothing."""


@dataclass(slots=True)
class Ran:
    """
    The outcome of one call.

    Attributes:
        result: The result; None if the dispatcher raised instead, or the call did not end.
        error: The exception that was raised instead of a result.
        returned: The return value of the function itself, in a list of one. The list is empty if the function did not
            return, or streamed.
        is_overdue: Whether the call did not end in time.
    """

    result: ToolResult | None = None
    error: BaseException | None = None
    returned: list[Any] = field(default_factory=list)
    is_overdue: bool = False


class Runner:
    """
    Runs one tool, call by call. `running` makes a runner.

    Attributes:
        stuck_on: The arguments of the last call that did not end in time; None if every call did.
        spent_seconds: How long all calls took together.
    """

    def __init__(self, dispatcher: Dispatcher, tool: Tool, watch: _Watch, timeout_seconds: float) -> None:
        self._dispatcher = dispatcher
        self._tool = tool
        self._watch = watch
        self._timeout_seconds = timeout_seconds
        self.stuck_on: Mapping[str, Any] | None = None
        self.spent_seconds = 0.0

    def run(self, arguments: Mapping[str, Any]) -> Ran:
        """
        Call the tool once. The dispatcher repairs no arguments and retries no call.

        On a busy machine the time can be over before the tool itself has run for half of it. That is not the tool's
        fault, so the call is made again, up to `_MAX_STARTS` times in all.
        """
        for _ in range(_MAX_STARTS):
            ran = self._call_once(arguments)
            if not ran.is_overdue or self._watch.own_seconds() > self._timeout_seconds / 2:
                break
        if ran.is_overdue:
            self.stuck_on = arguments
        return ran

    def _call_once(self, arguments: Mapping[str, Any]) -> Ran:
        ran = Ran()
        began = time.monotonic()
        self._watch.begin(began + self._timeout_seconds)

        def call() -> None:
            try:
                ran.result = self._dispatcher.call_sync(self._tool.name, dict(arguments))
            except BaseException as raised:  # noqa: BLE001 -- the laws look for exceptions of every type
                ran.error = raised

        # The call has a thread of its own, because an async function that never awaits blocks the dispatcher's loop.
        thread = threading.Thread(target=call, name=f"trying {self._tool.name}", daemon=True)
        thread.start()
        thread.join(self._timeout_seconds + _GRACE_SECONDS)
        ran.is_overdue = thread.is_alive() or self._watch.is_over
        if ran.is_overdue:
            self._watch.stop()
        ran.returned = self._watch.returned[:1]
        self.spent_seconds += time.monotonic() - began
        return ran


@contextlib.contextmanager
def running(tool: Tool, *, resources: Mapping[Any, Any] | None, timeout_seconds: float) -> Iterator[Runner]:
    """
    Yield a runner for *tool* that has a dispatcher of its own.

    Inside the block the logger `toolkit` logs nothing, because the findings report the same.
    """
    watch = _Watch()
    dispatcher = Dispatcher(
        Catalog(replace(tool, function=watch.around(tool.function))),
        resources=resources,
        repair=False,
        retry=RetryPolicy(attempts=1),
        raise_bugs=True,
        timeout_seconds=timeout_seconds,
        cleanup_seconds=_GRACE_SECONDS / 2,
    )
    runner = Runner(dispatcher, tool, watch, timeout_seconds)
    with _silence(logging.getLogger("toolkit")):
        yield runner
    if runner.stuck_on is None:
        dispatcher.close()
    else:  # `close` waits for the calls under way, and these may never end
        threading.Thread(target=dispatcher.close, name=f"closing after {tool.name}", daemon=True).start()


class _Watch:
    """
    Watches one function: it keeps the return value, and ends a call whose time is over.

    Attributes:
        returned: The values that the function returned. Items that the function streams are not kept.
    """

    def __init__(self) -> None:
        self.returned: list[Any] = []
        self._end = 0.0
        self._thread: int | None = None
        self._system_thread = 0
        self._entered: float | None = None
        self._left: float | None = None

    def begin(self, end: float) -> None:
        """Forget the last call and watch the next one, whose time is over at *end* on the monotonic clock."""
        self.returned.clear()
        self._end = end
        self._thread = self._entered = self._left = None

    @property
    def is_over(self) -> bool:
        """Whether the time of the call is over."""
        return time.monotonic() > self._end

    def own_seconds(self) -> float:
        """Return for how many seconds the function has run so far, or did run; 0 if it has not begun in time."""
        if self._entered is None:
            return 0.0
        return (self._left or time.monotonic()) - self._entered

    def stop(self) -> None:
        """
        Raise `_Overdue` in the thread of the call, if that thread runs Python code.

        A thread that waits in C code is left alone. It uses no processor, and would see the exception only when it
        returns to Python code. Until then, Python 3.11 keeps every other thread waiting that is traced.
        """
        thread = self._thread  # read only once, because the call may end and clear it at any moment
        if thread is not None and _is_running(thread, self._system_thread):
            ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_Overdue))

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return *function* with a watch around it. The function itself runs as it always does."""

        def call(*args: Any, **keywords: Any) -> Any:
            with self._inside():
                self._raise_if_over()  # `stop` may have been called before the thread was known
                value = function(*args, **keywords)
            if inspect.isawaitable(value):
                return self._awaited(value)
            if inspect.isgenerator(value):
                return self._watch_stream(value)
            if inspect.isasyncgen(value):
                return self._watch_async_stream(value)
            self.returned.append(value)
            return value

        return call

    async def _awaited(self, value: Awaitable[Any]) -> Any:
        with self._inside():
            result = await value
        self.returned.append(result)
        return result

    def _watch_stream(self, stream: Generator[Any, Any, Any]) -> Iterator[Any]:
        with contextlib.closing(stream), self._inside():
            for item in stream:
                self._raise_if_over()
                yield item

    async def _watch_async_stream(self, stream: AsyncGenerator[Any, Any]) -> AsyncIterator[Any]:
        async with contextlib.aclosing(stream):
            with self._inside():
                async for item in stream:
                    self._raise_if_over()
                    yield item

    @contextlib.contextmanager
    def _inside(self) -> Iterator[None]:
        """Record the thread while the function's own code runs in it, and the times when that code began and ended."""
        self._system_thread = threading.get_native_id()
        self._thread = threading.get_ident()
        if self._entered is None and not self.is_over:
            self._entered = time.monotonic()
        self._left = None
        try:
            yield
        finally:
            self._left = time.monotonic()
            self._thread = None

    def _raise_if_over(self) -> None:
        if self.is_over:
            raise _Overdue


def _is_running(thread: int, system_thread: int) -> bool:
    """
    Return whether *thread* runs Python code.

    It does if it is seen at two places in the code, or at an instruction where Python lets other threads run, or if
    it uses the processor for some time.

    A thread that waits in C code stays at the call that led there, and uses no processor. A loop without calls is
    always seen at its end, because that is the only place where Python lets another thread run.
    """
    positions: set[tuple[int, int]] = set()
    seconds_before = _processor_seconds(system_thread)
    for _ in range(_MAX_LOOKS):
        frame = sys._current_frames().get(thread)  # noqa: SLF001 -- the documented way to look at another thread
        if frame is None:
            return False
        place = frame.f_lasti
        if dis.opname[frame.f_code.co_code[place]].endswith(_TURNS):
            return True
        positions.add((id(frame), place))
        if len(positions) > 1 or _processor_seconds(system_thread) - seconds_before > _BUSY_SECONDS:
            return True
        del frame  # a reference would keep the frame alive here, and its end could not be seen
        time.sleep(_LOOK_SECONDS)
    return False


def _processor_seconds(system_thread: int) -> float:
    """
    Return for how many seconds a thread has used the processor; 0 if the system does not say.

    Args:
        system_thread: The number that the operating system gives the thread.
    """
    try:
        with open(f"/proc/self/task/{system_thread}/schedstat", "rb") as file:
            return int(file.read().split()[0]) / 1e9
    except (OSError, ValueError, IndexError):  # the thread has ended, or this is not Linux
        return 0.0


@contextlib.contextmanager
def _silence(logger: logging.Logger) -> Iterator[None]:
    def nothing(record: logging.LogRecord) -> bool:
        return False

    logger.addFilter(nothing)
    try:
        yield
    finally:
        logger.removeFilter(nothing)
