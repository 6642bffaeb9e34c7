"""
The step that the current call belongs to, and what its run shares with the runs inside it.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ..approvals.records import is_temporary
from ..calls.attempts import on_retry
from ..calls.propagation import CallAbandoned, CallPaused, must_propagate
from ..decisions import Decision
from ..dispatcher import Dispatcher
from ..hooks.base import Run as RunInner
from ..hooks.base import ShownCall
from ..policies.costs import TakeCost, count_costs
from ..results import ToolCall, ToolResult
from ..session import Session
from .base import Begin, Steps
from .expense import Expense
from .nested_runs import NestedRuns
from .notes import drop_pause

__all__ = ["BEGIN_HOOK", "PATIENCE_SECONDS", "CallStep", "RunScope", "StepSetup", "current_step", "find_open_step"]

_ENDING_SECONDS = 10.0
PATIENCE_SECONDS = (0.1, 0.2, 0.5, 1.0, *[2.0] * 14)
"""How long to wait between attempts to use a store of approvals that is away: half a minute in all."""

_log = logging.getLogger("toolkit")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScope:
    """
    What a run shares with the runs inside it.

    Attributes:
        secret: A random text of the run, from which ids are derived that others must not guess. Without it, requests
            for approval have random ids.
        durable_id: The id of the run, if it is durable.
        dispatcher: Has the store of the requests of all these runs; None if each run has its own.
        decisions: The answers of people by the ids of their requests, for the runs inside.
        now: The time by which requests expire, in seconds since 1970; that of the dispatcher unless given.
        refused: Why an answer could not be accepted, by the id of its request. The person can answer again.
    """

    steps: Steps
    secret: str = ""
    durable_id: str | None = None
    dispatcher: Dispatcher | None = None
    decisions: Mapping[str, Decision] = field(default_factory=dict)
    now: float | None = None
    refused: dict[str, Exception] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class StepSetup:
    """
    How a run does its steps.

    Attributes:
        run_id: The id of a new run; random unless given.
        key: The key of the run; made from its id unless given.
        outer: The step that the run is a part of, if there is one.
        spent_seconds: The seconds that the run has used in earlier processes.
        session: The session of a new run; one of its own unless given.
        is_new: Whether the run is a part of a step, and was not started before.
    """

    scope: RunScope
    run_id: str | None = None
    key: str | None = None
    outer: CallStep | None = None
    spent_seconds: float = 0.0
    session: Session | None = None
    is_new: bool = False


@dataclass(eq=False, repr=False)
class CallStep:
    """
    A step that runs a call, while the call runs.

    Attributes:
        nested: The runs that the function of the call starts itself.
        spent: What the call costs, and what its sub-runs have used, without those that its function starts itself.
        has_begun: Whether it is recorded that the call takes effect.
        has_returned: Whether the tool has returned, so that only its result is left to be prepared.
        is_in_tool: Whether the tool runs, and not a hook.
        on_start: Awaited with each call inside the step, with this one first, just before its tool begins.
    """

    key: str
    _begin: Begin
    scope: RunScope
    call: ToolCall
    session: Session
    nested: NestedRuns
    _is_kept: asyncio.Future[bool]
    is_in_tool: bool = field(init=False, default=False)
    spent: Expense = field(init=False, default_factory=Expense)
    plan: str | None = field(init=False, default=None)
    has_begun: bool = field(init=False, default=False)
    has_returned: bool = field(init=False, default=False)
    on_start: Callable[[ShownCall], Awaitable[None]] | None = field(init=False, default=None)
    _is_over: bool = field(init=False, default=False)
    _lock: asyncio.Lock = field(init=False, default_factory=asyncio.Lock)
    _sub_run_counts: dict[int, int] = field(init=False, default_factory=dict)

    async def begin(self) -> None:
        """Record that the call is about to take effect."""
        async with self._lock:
            if not self._is_over:
                try:
                    await self._begin()
                except Exception as error:
                    raise CallAbandoned from error  # no result says so, and the approval of the call is not used up
                self.has_begun = True
                return
        # A call in the background may begin after its step has a result: the name of the job. If that is kept, the call
        # is not made again. If it is not, another attempt at the step makes it, and this one must not take effect.
        if not await asyncio.shield(self._is_kept):
            raise CallAbandoned

    def count_costs(self, take_cost: TakeCost, *, is_repeated: bool) -> AbstractContextManager[None]:
        """
        Count the costs of calls inside the block with *take_cost*, and in the record of the step.

        A step that makes the same call again (*is_repeated*) does not count that call.
        """

        def take(call: ToolCall, cost: float) -> str | None:
            if is_repeated and call.id == self.call.id:
                return None
            reason = take_cost(call, cost)
            if reason is None:
                self.spent += Expense(tool_cost=Decimal(str(cost)))
            return reason

        return count_costs(take)

    async def end(self) -> None:
        """Record that the call has its result, and stop the runs that its function has left behind."""
        async with self._lock:  # what has begun is recorded before the result is
            self._is_over = True
        await self.nested.end()

    async def await_result(self, work: Awaitable[ToolResult]) -> ToolResult:
        """Return the result of *work*, which runs the call; if a run inside it waits, a result that waits."""
        try:
            result = await work
        except (CallPaused, BaseExceptionGroup) as error:
            if not must_propagate(error):
                raise
            return self.nested.build_result(self.call)
        # The function may have caught the exception of the run that waits.
        return self.nested.build_result(self.call) if self.nested.requests else drop_pause(result)

    async def await_store(self, work: Callable[[], Awaitable[ToolResult]]) -> ToolResult:
        """
        Return the result of *work*, which runs the call; do it again for a while if the store of approvals is away.

        No person could be asked, so the call has not begun. To say that it failed would lose it.
        """
        latest = time.monotonic() + sum(PATIENCE_SECONDS)
        for wait_seconds in PATIENCE_SECONDS:
            result = await work()
            error = self.find_store_error(result)
            if error is None or time.monotonic() > latest:
                return result
            _log.warning("`%s` has to ask, and the store of approvals cannot be used: %s", self.call.name, error)
            await asyncio.sleep(wait_seconds)
        return await work()

    def find_store_error(self, result: ToolResult) -> BaseException | None:
        """Return why the store of approvals could not be used, if *result* says so and the call has not begun."""
        error = None if result.error is None or self.has_begun else result.error.cause
        return error if is_temporary(error) else None

    async def await_to_end(
        self, work: Coroutine[Any, Any, ToolResult]
    ) -> tuple[ToolResult, asyncio.CancelledError | None]:
        """
        Return the result of *work*, and the cancellation that came after the tool had returned.

        A call that may not be repeated would be one that may or may not have happened, if its hooks and its records
        were cut off. So they have some seconds to come to their end.
        """
        loop, task = asyncio.get_running_loop(), asyncio.ensure_future(work)
        cancellation: asyncio.CancelledError | None = None
        end: float | None = None
        while not task.done():
            try:
                await asyncio.wait({task}, timeout=None if end is None else max(0.0, end - loop.time()))
            except asyncio.CancelledError as error:
                cancellation = error
                if not self.has_returned:
                    task.cancel()
                elif end is None:
                    end = loop.time() + _ENDING_SECONDS
            if end is not None and loop.time() >= end:
                task.cancel()
                end = None
        return task.result(), cancellation

    def start_function(self, call: ToolCall | None = None) -> None:
        """Record that the function of the call is about to run from its start; *call* is the one that is retried."""
        if call is None or (call.id, call.name) == (self.call.id, self.call.name):
            self.nested.restart()

    def is_open(self) -> bool:
        """Return whether a run that is started now is a part of this step."""
        return self.is_in_tool and not self._is_over

    def make_sub_run_key(self, attempt: int) -> str:
        """Return the key of the next sub-run that attempt number *attempt* at the call starts."""
        self._sub_run_counts[attempt] = number = self._sub_run_counts.get(attempt, 0) + 1
        return self.key if (attempt, number) == (1, 1) else f"{self.key}/sub/{attempt}.{number}"


current_step: ContextVar[CallStep | None] = ContextVar("toolkit_agent_step", default=None)


def find_open_step() -> CallStep | None:
    """Return the step whose tool the calling code belongs to; None if there is none."""
    step = current_step.get()
    return step if step is not None and step.is_open() else None


class _BeginHook:
    """The innermost around-hook of a run with steps: it records that the tool is about to run."""

    async def around(self, call: ShownCall, run: RunInner) -> ToolResult:
        """Begin the current step, and run the tool."""
        step = current_step.get()
        if step is None:
            return await run()
        step.has_returned = False
        if step.on_start is not None:
            await step.on_start(call)
        await step.begin()
        step.start_function()
        step.is_in_tool, token = True, on_retry.set(step.start_function)
        try:
            result = await run()
        finally:
            step.is_in_tool = False
            on_retry.reset(token)
        step.has_returned = True
        return result


BEGIN_HOOK = _BeginHook()
