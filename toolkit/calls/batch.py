"""
Running a batch: calls run together if that is harmless, and otherwise alone and in order.

    group neighbouring calls that may run together → run one group after another → results in the order of the calls

After a call that halts the batch, no further call starts. While a call waits for a person, only calls that read start.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence

from ..catalogs.views import CatalogView
from ..decisions import ApprovalRequest
from ..errors import DefinitionError
from ..results import ToolCall, ToolResult
from ..spec import Tool
from ..values.rendering import as_json
from .plan import CallPlan, may_run_concurrently
from .planner import Planner
from .propagation import must_propagate
from .settings import Settings
from .unstarted import finish_unstarted

__all__ = ["Batch"]


class _BatchCall:
    """One call of a batch. It has no tool and no plan if there is no such tool, which the call itself reports."""

    def __init__(self, call: ToolCall, tool: Tool | None, planner: Planner) -> None:
        self.call = call
        self.tool = tool
        self.plan: CallPlan | None = None
        self.result: ToolResult | None = None
        if tool is not None:
            with contextlib.suppress(DefinitionError):  # the call itself will report this error
                self.plan = planner.find(call.name)

    @property
    def changes_something(self) -> bool:
        """Whether the call may change something, so that it is held back while another call waits for a person."""
        return self.tool is not None and not self.tool.facts.read_only


class Batch:
    """
    Several calls that a dispatcher runs for one caller.

    Args:
        calls: The calls, each with an id of its own.
        catalog: The tools of the dispatcher.
        planner: The plans of the dispatcher.
        settings: The policies of the dispatcher.
        start: Runs one call.
        has_own_results: Whether *start* keeps the results itself, so that none is lost if the batch is broken off.
    """

    def __init__(
        self,
        calls: Sequence[ToolCall],
        catalog: CatalogView,
        planner: Planner,
        settings: Settings,
        start: Callable[[ToolCall], Awaitable[ToolResult]],
        *,
        has_own_results: bool = False,
    ) -> None:
        self._calls = [_BatchCall(call, catalog.get(call.name), planner) for call in calls]
        self._settings = settings
        self._start = start
        self._has_own_results = has_own_results
        self._halt_reason: str | None = None
        self._waiting_id: str | None = None

    async def run(self) -> list[ToolResult]:
        """Run the calls, at most `max_concurrency` at once, and return the results in the order of the calls."""
        safe = [await _is_concurrency_safe(item.tool, item.call) for item in self._calls]
        try:
            for group in self._group_calls(safe):
                if len(group) == 1:
                    await self._run_alone(group[0])
                else:
                    await self._run_together(group)
        except BaseException as error:
            if not self._has_own_results:
                await self._withdraw_requests(error)
            raise
        try:
            return [item.result for item in self._calls if item.result is not None]
        finally:
            for item in self._calls:
                item.result = None  # the traceback of its error holds frames, and the frames hold the item

    async def _withdraw_requests(self, error: BaseException) -> None:
        """Withdraw the requests of calls that wait, because *error* ends the batch and the caller gets no results."""
        waiting = [item for item in self._calls if item.result is not None and item.result.kind == "waiting"]
        if not waiting:
            return
        from .approval.claim import withdraw_undelivered  # not loaded above, because few batches ask a person

        for item in waiting:
            if item.result is not None:
                await withdraw_undelivered(item.result, item.call, self._settings, error)

    def _group_calls(self, safe: Sequence[bool]) -> Iterator[list[_BatchCall]]:
        """
        Yield groups of neighbouring calls that may run together; every other call is a group of its own.

        *safe* says which calls may run beside others.
        """
        group: list[_BatchCall] = []
        may_wait = False
        for item, is_safe in zip(self._calls, safe, strict=True):
            # A call that changes something is held back while another call waits, so that other call must be decided
            # first.
            if group and (not is_safe or (may_wait and item.changes_something)):
                yield group
                group, may_wait = [], False
            if is_safe:
                group.append(item)
                plan = item.plan  # without a plan, the call fails at once
                asks = plan is not None and (self._settings.chain.before or not plan.may_run(item.call.session))
                may_wait = may_wait or bool(asks)
            else:
                yield [item]
        if group:
            yield group

    async def _run_alone(self, item: _BatchCall) -> None:
        task = asyncio.current_task()
        before = 0 if task is None else task.cancelling()
        await self._run_one(item)
        # A tool may swallow a cancellation that was meant for the batch. The remaining calls must still not start.
        if task is not None and task.cancelling() > before:
            raise asyncio.CancelledError

    async def _run_together(self, group: Sequence[_BatchCall]) -> None:
        """
        Run all calls of *group*, `max_concurrency` at a time.

        If the batch is cancelled, its calls are cancelled too. This function returns only after all of them have ended.
        """
        items = iter(group)
        errors: list[BaseException] = []
        workers: list[asyncio.Task[None]] = []
        stopping = False

        async def worker() -> None:
            try:
                for item in items:
                    await self._run_one(item)
                    if stopping:
                        return
            except BaseException as error:  # noqa: BLE001 -- raised below, once the other workers have ended
                if not (isinstance(error, asyncio.CancelledError) and stopping):
                    errors.append(error)
                    stop()

        def stop() -> None:
            nonlocal stopping
            stopping = True
            for task in workers:
                task.cancel()

        workers += [asyncio.ensure_future(worker()) for _ in range(min(self._settings.max_concurrency, len(group)))]
        running = set(workers)
        cancelled: asyncio.CancelledError | None = None
        while running:
            try:
                _, running = await asyncio.wait(running)
            except asyncio.CancelledError as error:
                cancelled = error
                stop()
                running = {task for task in running if not task.done()}
        if cancelled is not None:
            raise cancelled
        if errors:
            raise errors[0]

    async def _run_one(self, item: _BatchCall) -> None:
        """Run a call, or finish it without a start if an earlier call has halted the batch or waits for a person."""
        if self._halt_reason is not None:
            await self._skip(item, ToolResult.failure("halted", self._halt_reason))
            return
        if self._waiting_id is not None and item.tool is not None and item.changes_something:
            await self._skip(item, _build_waiting_result(item.call, item.tool, self._waiting_id))
            return
        item.result = result = await self._start(item.call)
        if result.kind == "halted":
            self._halt_reason = "" if result.error is None else result.error.message
        elif result.kind == "waiting" and self._waiting_id is None:
            self._waiting_id = item.call.id
        del result

    async def _skip(self, item: _BatchCall, result: ToolResult) -> None:
        item.call.tool = None if item.plan is None else item.plan.tool
        item.result = await finish_unstarted(item.call, result, item.plan, self._settings)


async def _is_concurrency_safe(tool: Tool | None, call: ToolCall) -> bool:
    """Return whether a call may run beside others. If that cannot be determined, return False."""
    if tool is None:
        return True
    if isinstance(tool.facts.concurrency_safe, bool):
        return tool.facts.concurrency_safe
    try:
        return await may_run_concurrently(tool, tool.about.checker.check(call.arguments))
    except BaseException as error:
        if must_propagate(error):
            raise
        return False  # the arguments do not fit; the call runs alone and reports that itself


def _build_waiting_result(call: ToolCall, tool: Tool, waits_for: str) -> ToolResult:
    # The caller's own mapping may fail or change, and the request has to be plain JSON.
    arguments = as_json(call.arguments) if isinstance(call.arguments, Mapping) else {}
    request = ApprovalRequest(
        tool=tool.name,
        origin=tool.origin,
        call_id=call.id,
        reason="held back until an earlier call was decided",
        arguments=arguments if isinstance(arguments, dict) else {},
        waits_for=waits_for,
        session=None if call.session is None else call.session.id,
        principal=call.principal,
    )
    text = "waiting: not started, because an earlier call waits for approval"
    return ToolResult(text, None, "waiting", request=request)
