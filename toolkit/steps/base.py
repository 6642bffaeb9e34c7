"""
Steps: the parts of a run that are not done twice, each with a key.

A run asks its `Steps` before it does something that costs or changes something: a request to the model, a call, and a
call that a person has approved. `Steps` may keep what came of it, and return that the next time, in another process.
The keys do not depend on the order in which parallel steps begin. So a run that is done again from its start, after a
crash, finds what it had done before. `toolkit.durable` keeps steps in a database. `MemorySteps` are kept as long as the
program keeps the `Waiting` that a flow has ended with, so that it can be resumed.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, NoReturn, Protocol, TypeAlias

from ..providers.base import Reply
from ..results import ToolCall, ToolResult
from ..session import Session
from ..spec import Tool

__all__ = [
    "ONLY_SUB_RUNS",
    "ONLY_SUB_RUNS_KEY",
    "Begin",
    "CallWork",
    "MemorySteps",
    "NotKept",
    "Steps",
    "build_cut_off_result",
    "may_repeat",
    "read_note",
    "refuse_work",
    "write_note",
]

ONLY_SUB_RUNS_KEY = "toolkit.only_sub_runs"
ONLY_SUB_RUNS = object()
"""
Stands in the metadata of a tool, at `ONLY_SUB_RUNS_KEY`, that does nothing but start sub-runs.

Such a tool may be run again, because everything in its sub-runs is a step of its own. It is an object of this process,
so that a tool from elsewhere cannot state it.
"""

Begin: TypeAlias = Callable[[], Awaitable[None]]
"""
Records that a call is about to take effect. It is awaited after the verdict and before the tool runs.

If it raises, the tool does not run. Within one step it may be awaited several times; only the first time counts.
"""

CallWork: TypeAlias = Callable[[Begin], Awaitable[ToolResult]]
"""Runs a call and returns its result; it awaits the `Begin` just before the tool runs."""


class Steps(Protocol):
    """
    Does each step of a run once, and returns what came of it every time.

    An exception of *ask* or *work* is raised, and nothing is kept. Any other exception of these methods ends the run.

    Steps that several processes continue have an attribute `epoch`: the number of this attempt at the run, which is
    higher than those before. So a process that was replaced takes no approval from its successor.
    """

    async def reply(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """Return the model's reply of the step *key*: the one that was kept, or a new one by *ask*."""

    async def call(self, key: str, call: ToolCall, work: CallWork, *, may_repeat: bool, session: Session) -> ToolResult:
        """
        Return the result of the step *key*: the one that was kept, or a new one by *work*.

        Args:
            may_repeat: Whether the tool may be run again if an earlier attempt began and has no result. If not, the
                result says that the call may or may not have happened.
            session: The session of the call. What the call changes in it is kept with the result, and set again when
                the result is returned without running the call.
        """


def may_repeat(tool: Tool | None) -> bool:
    """Return whether a step that has begun, and has no result, may call *tool* again."""
    if tool is None:
        return False
    is_harmless = tool.facts.idempotent and not tool.facts.destructive
    return is_harmless or (tool.facts.metadata or {}).get(ONLY_SUB_RUNS_KEY) is ONLY_SUB_RUNS


def build_cut_off_result(call: ToolCall, cause: str) -> ToolResult:
    """Return the result of a call that may not be repeated, and was cut off by *cause* after it began."""
    return ToolResult.failure(
        "failed",
        f"{cause} while it ran, before the result was kept: it may or may not have happened",
        details={"happened": "maybe"},
        advice="Find out what happened before you call it again.",
        call_id=call.id,
        tool=call.name,
    )


class NotKept(Exception):  # noqa: N818 -- the name says what happened
    """A step that was looked for has no record."""


async def refuse_work(*_: object) -> NoReturn:
    """Do nothing in a step that is only looked for: raise `NotKept`."""
    raise NotKept


async def read_note(steps: Steps, key: str) -> Any:
    """Return the JSON that `write_note` has kept under *key*; None if there is none."""
    try:
        return (await steps.call(key, ToolCall("", {}, key), refuse_work, may_repeat=True, session=Session())).value
    except NotKept:
        return None


async def write_note(steps: Steps, key: str, text: str, value: Any) -> None:
    """Keep *value*, which is JSON, under *key*. *text* says what it is about."""

    async def build_result(begin: object) -> ToolResult:
        return ToolResult(text, value, call_id=key)

    await steps.call(key, ToolCall("", {}, key), build_result, may_repeat=True, session=Session())


class MemorySteps(Steps):
    """Does each step once, and keeps what came of it: the results by their keys, in the order in which they ended."""

    def __init__(self) -> None:
        self.results: dict[str, ToolResult] = {}
        self._replies: dict[str, Reply] = {}
        self._begun: set[str] = set()
        self._turns: list[concurrent.futures.Future[None]] = []

    @asynccontextmanager
    async def take_turn(self) -> AsyncIterator[None]:
        """Let one caller after the other do steps, also if they are in several event loops."""
        turn: concurrent.futures.Future[None] = concurrent.futures.Future()
        self._turns.append(turn)  # no lock, because threads can append to a list at the same time
        index = self._turns.index(turn)
        if index > 0:
            earlier = self._turns[index - 1]
            try:
                await asyncio.shield(asyncio.wrap_future(earlier))
            except BaseException:
                # The next caller still has to wait for the earlier one.
                earlier.add_done_callback(lambda _: turn.set_result(None))
                raise
        try:
            yield
        finally:
            turn.set_result(None)

    async def reply(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        if key not in self._replies:
            self._replies[key] = await ask()
        return self._replies[key]

    async def call(self, key: str, call: ToolCall, work: CallWork, *, may_repeat: bool, session: Session) -> ToolResult:
        """Return the result of the step *key*. A step that was cancelled after it began is done again if it may be."""
        if key in self.results:
            return self.results[key]

        async def begin() -> None:
            # A read-only tool has no effect that could be doubled.
            if call.tool is None or not call.tool.facts.read_only:
                self._begun.add(key)

        if key in self._begun and not may_repeat:
            self.results[key] = build_cut_off_result(call, "it was cancelled")
        else:
            self.results[key] = await work(begin)
        return self.results[key]
