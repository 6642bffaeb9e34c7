"""
Which files of the package a call enters, and how often it comes back to one: `python -m benchmarks.call_traces`.

Each call is made three times, and the last one is traced, so that nothing is loaded or planned in it. Entering a file
that the call has already been in, and left, counts as coming back. Threads are traced too.
"""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import toolkit
from toolkit import Approvals, Catalog, Decision, Dispatcher, Permissions, Session

__all__ = ["MAX_FILES", "Trace", "main", "trace_calls"]

PACKAGE = str(Path(toolkit.__file__).parent)
MAX_FILES = 12
"""How many files a plain call may enter: one for each stage, and those of the threads."""


@dataclass
class Trace:
    """The files of the package that one call has entered, in order; consecutive calls in one file count once."""

    files: list[str] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def entered(self) -> int:
        """How many different files the call has entered."""
        return len(set(self.files))

    @property
    def came_back(self) -> int:
        """How often the call has come back to a file that it had left."""
        return len(self.files) - self.entered

    def on_profile(self, frame: FrameType, event: str, argument: Any) -> None:
        """Note the file of a function that begins."""
        name = frame.f_code.co_filename
        if event == "call" and name.startswith(PACKAGE):
            with self._lock:
                file = name.removeprefix(PACKAGE).lstrip("/")
                if not self.files or self.files[-1] != file:
                    self.files.append(file)


async def trace_last(make_call: Callable[[], Awaitable[Any]]) -> Trace:
    """Make a call three times, and return the trace of the last."""
    await make_call()
    await make_call()
    trace = Trace()
    _profile_threads(trace.on_profile)
    try:
        await make_call()
    finally:
        _profile_threads(None)
    return trace


def _profile_threads(function: Callable[[FrameType, str, Any], None] | None) -> None:
    """Have *function* called in this thread and in new ones, and from Python 3.12 on in all."""
    sys.setprofile(function)
    if sys.version_info >= (3, 12):
        threading.setprofile_all_threads(function)
    else:
        threading.setprofile(function)


async def trace_calls() -> dict[str, Trace]:
    """Return the trace of each kind of call, by its name."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    async def add(a: int, b: int) -> int:
        """Add two numbers."""
        return a + b

    @catalog.tool(read_only=True)
    def multiply(a: int, b: int) -> int:
        """Multiply two numbers."""
        return a * b

    @catalog.tool(destructive=True)
    async def wipe(a: int) -> int:
        """Remove a thing."""
        return a

    plain, careful = Dispatcher(catalog), Dispatcher(catalog, permissions=Permissions(), approvals=Approvals())
    session, approval = Session(), Decision.approve()
    waiting: list[str] = []

    async def ask() -> None:
        result = await careful.call("wipe", {"a": 1}, session=session)
        waiting.append(result.request.id)

    async def resume() -> None:
        await careful.resume(waiting.pop(), approval, session=session)

    traces = {
        "a plain async call": await trace_last(lambda: plain.call("add", {"a": 1, "b": 2})),
        "a plain sync call": await trace_last(lambda: plain.call("multiply", {"a": 1, "b": 2})),
        "a call with wrong arguments": await trace_last(lambda: plain.call("add", {"a": "x"})),
        "a call that waits for approval": await trace_last(ask),
        "the resume of that call": await trace_last(resume),
    }
    plain.close()
    careful.close()
    return traces


def main() -> int:
    """Print the table; return 1 if a plain call enters too many files."""
    traces = asyncio.run(trace_calls())
    print("| call | files entered | times it came back |\n|---|--:|--:|")
    for name, trace in traces.items():
        print(f"| {name} | {trace.entered} | {trace.came_back} |")
    for name, trace in traces.items():
        print(f"\n{name}: {' > '.join(trace.files)}")
    return int(any(trace.entered > MAX_FILES for name, trace in traces.items() if "plain" in name))


if __name__ == "__main__":
    sys.exit(main())
