"""
Steps in memory, for a flow that is not durable.

They are kept as long as the program keeps the `Waiting` that the flow has ended with, so that it can be resumed.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

from ..providers.base import Reply
from ..results import ToolCall, ToolResult
from ..session import Session
from .base import CallWork, Steps, build_cut_off_result

__all__ = ["MemorySteps"]


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
