"""
A gate before the steps of an activation, by which a worker that has to end stops between two steps.

A step that is under way when the gate closes goes on to its end, and its record is kept. A step that comes then waits
until no other step is at work, and raises `WorkerEnds`. A step with steps inside, such as a call with a sub-run, is at
work only while none of those waits at the gate.

A call that may not be repeated has to come to its end, or it is not known what happened. So the steps inside it pass.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass

from ..providers.base import Reply
from ..results import ToolCall, ToolResult
from ..session import Session
from ..steps.base import CallWork, Steps
from .errors import RunTakenOver

__all__ = ["StepGate", "WorkerEnds"]


class WorkerEnds(RunTakenOver):
    """The worker ends, and gives the run back for another one."""


@dataclass(slots=True, eq=False, kw_only=True)
class _OpenStep:
    """A step that was let through. It *has_to_end* if it, or one around it, is a call that may not be repeated."""

    has_to_end: bool
    inner_steps: int = 0


_current: ContextVar[_OpenStep | None] = ContextVar("toolkit_open_step", default=None)


class StepGate(Steps):
    """Passes steps on from `open` to `close`, for the activation with the number *epoch*, in one event loop."""

    def __init__(self) -> None:
        self.epoch = 0
        self._steps: Steps | None = None
        self.is_closed = False
        self._open: set[_OpenStep] = set()
        self._changed = asyncio.Event()

    def open(self, steps: Steps, epoch: int = 0) -> None:
        """Pass the steps of the activation with the number *epoch* on to *steps*."""
        self._steps = steps
        self.epoch = epoch

    def close(self) -> None:
        """Let no further step begin."""
        self.is_closed = True
        self._changed.set()

    async def reply(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        async with self._pass() as steps:
            return await steps.reply(key, ask)

    async def call(self, key: str, call: ToolCall, work: CallWork, *, may_repeat: bool, session: Session) -> ToolResult:
        async with self._pass(may_repeat=may_repeat) as steps:
            return await steps.call(key, call, work, may_repeat=may_repeat, session=session)

    @contextlib.asynccontextmanager
    async def _pass(self, *, may_repeat: bool = True) -> AsyncIterator[Steps]:
        outer = _current.get()
        is_in_call_to_end = outer is not None and outer.has_to_end
        step = _OpenStep(has_to_end=is_in_call_to_end or not may_repeat)
        if outer is not None:
            outer.inner_steps += 1
        try:
            if self._steps is None or (self.is_closed and not is_in_call_to_end):
                await self._wait_for_others()
                raise WorkerEnds("the worker ends; another one goes on with the run")
            self._open.add(step)
            token = _current.set(step)
            try:
                yield self._steps
            finally:
                _current.reset(token)
                self._open.discard(step)
        finally:
            if outer is not None:
                outer.inner_steps -= 1
            self._changed.set()

    async def _wait_for_others(self) -> None:
        self._changed.set()  # the step around this one is not at work any more
        while any(step.inner_steps == 0 for step in self._open):
            self._changed.clear()
            await self._changed.wait()
