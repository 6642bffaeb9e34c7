"""
The path of one call, from top to bottom.

    check (refused: repair once, check again) → before-hooks → check again if a hook modified the arguments
    → verdict → around-hooks → attempts → after-hooks → mask, truncate → result

A stage that is not configured is skipped. Calls that need little use the fast path (`fast_path.py`) and come here only
if a step needs more. Every call ends in a `ToolResult`, also if it fails. Only a cancellation that the caller
requested, a KeyboardInterrupt and a close of the coroutine pass through, and with `raise_bugs` also errors that are
bugs.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import Awaitable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..concurrency.abandoned import CancellableJob
from ..concurrency.deadline import NO_DEADLINE, Deadline
from ..decisions import Decision
from ..errors import ToolError, ToolkitError
from ..hooks.base import Ask, Deny, Halt, Modify, Proceed, Replace, Run, ShownCall, Step
from ..results import ToolCall, ToolResult
from ..values.codecs import UNSURE
from ..values.rendering import describe_value
from .attempt import TimedOut, must_propagate
from .call_state import CallState
from .error_results import build_error_result, build_hook_error_result
from .execution import Execution
from .hook_answers import UNASKED, Answer, list_remaining_hooks
from .plan import CallPlan
from .render_result import render_hook_result
from .settings import Settings
from .truncation import truncate_result

if TYPE_CHECKING:  # not loaded here, because most calls are not judged
    from ..approvals import Record
    from .approval_stage import ApprovalStage

__all__ = ["PipelineRun", "run_pipeline"]

T = TypeVar("T")

_log = logging.getLogger("toolkit")
_NO_RESOURCES: Mapping[Any, Any] = {}


async def run_pipeline(
    call: ToolCall, plan: CallPlan, settings: Settings, resources: Mapping[Any, Any], timeout_seconds: float | None
) -> ToolResult:
    """Run *call* through all stages. *plan* is the plan of its tool."""
    started = settings.clock()
    return await PipelineRun(
        call, plan, settings, started, plan.check_and_convert(call.arguments, 0), resources, timeout_seconds
    ).result()


class PipelineRun:
    """
    One call on its way through the stages.

    Attributes:
        state: The state that the stages share.
        execution: The attempts at the call.
        ask_reasons: Why before-hooks want a person to agree.
        replacement: The result that a before-hook has given in place of running the tool.
    """

    # Values that seldom differ are on the class, as in `ToolResult`.
    ask_reasons: Sequence[str] = ()
    replacement: ToolResult | None = None
    _approval_stage: ApprovalStage | None = None

    def __init__(
        self,
        call: ToolCall,
        plan: CallPlan,
        settings: Settings,
        started: float,
        decoded: Any,
        resources: Mapping[Any, Any] = _NO_RESOURCES,
        timeout_seconds: float | None = None,
    ) -> None:
        deadline = NO_DEADLINE if timeout_seconds is None else Deadline(settings.clock, started + timeout_seconds)
        self.call = call
        self.plan = plan
        self.settings = settings
        self.started = started
        self.state = state = CallState(call, plan, settings, decoded, deadline)
        self.execution = Execution(state, call, plan, settings, deadline, resources)

    @property
    def approval_stage(self) -> ApprovalStage:
        """The object that judges the call. It is made when it is first needed."""
        if self._approval_stage is None:
            from .approval_stage import ApprovalStage

            self._approval_stage = ApprovalStage(self.state)
        return self._approval_stage

    async def result(self, answer: Answer | None = None) -> ToolResult:
        """
        Run all stages, each of which may end the call with a result.

        *answer* is the answer that a before-hook has given already.
        """
        plan, chain = self.plan, self.settings.chain
        result = None
        try:
            if self.state.decoded is UNSURE or plan.validate is not None:
                result = await self.state.check()
            if result is None and chain.before:
                result = await self.before(answer)
            is_judged = self.ask_reasons or self.settings.audit is not None or not plan.may_run(self.call.session)
            if result is None and is_judged:
                result = await self.approval_stage.judge_call(
                    self.ask_reasons, is_replaced=self.replacement is not None
                )
            if result is None:
                result = self.replacement or await self.execute()
        except BaseException as error:  # noqa: BLE001 -- every failure becomes a result, unless it has to pass
            result = await self._handle_unexpected_error(error)
        try:
            return await self.finish(result)
        finally:
            del result  # since Python 3.12 the traceback of its error holds this frame

    async def resume(self, record: Record, decision: Decision) -> ToolResult:
        """Run the stages after the before-hooks, or raise `ApprovalError` if the answer cannot be accepted."""
        from ..approvals.records import ApprovalError

        self.state.repairs = record.request.repairs
        try:
            result = await self.approval_stage.resume(record, decision) or await self.execute()
        except BaseException as error:  # as in `result`
            if isinstance(error, ApprovalError) and self.approval_stage.approval.claimed_record is None:
                raise
            result = await self._handle_unexpected_error(error)
        try:
            return await self.finish(result)
        finally:
            del result

    async def recover_from(self, error: BaseException) -> ToolResult:
        """Return the result of a call whose function was called directly and raised *error*."""
        return await self._finish_direct(self.execution.recover_from(error, self.state.arguments, self.state.decoded))

    async def finish_value(self, value: Any) -> ToolResult:
        """Return the result of a call whose function was called directly, and returned a generator or an awaitable."""
        return await self._finish_direct(self.execution.finish(value, self.state.arguments, self.state.decoded))

    async def _finish_direct(self, attempts: Awaitable[ToolResult]) -> ToolResult:
        result = await attempts
        try:
            result = await self._handle_interrupt(result) or await self.execute()
        except BaseException as further:  # noqa: BLE001 -- as in `result`
            result = await self._handle_unexpected_error(further)
        try:
            return await self.finish(result)
        finally:
            del result

    def abandon(self, task: asyncio.Task[Any]) -> None:
        """Register a call whose function was awaited directly, cannot be stopped, and continues in *task*."""
        self.execution.abandon_direct(task, self.state.arguments)

    def abandon_job(self, job: CancellableJob) -> None:
        """Register a call whose function was called directly in a thread, cannot be stopped, and continues in *job*."""
        self.execution.abandon_job(job, self.state.arguments)

    async def apply_after_hook(self, result: ToolResult, answer: Answer) -> ToolResult:
        """Return the result of a call that ran and in which an after-hook intervened with *answer*."""
        self.execution.count = 1
        return await self.finish(result, answer)

    # Before-hooks.

    async def before(self, answer: Answer | None = None) -> ToolResult | None:
        """Ask the before-hooks in order, and return a result if one of them ends the call."""
        modified = False
        for step, response in list_remaining_hooks(self.settings.chain.before, answer):
            try:
                reply = response
                if response is UNASKED:
                    reply = self._call_hook(step, ShownCall.of(self.call, self.state.arguments))
                outcome: Any = await self._await_reply(reply, step) if inspect.isawaitable(reply) else reply
                match outcome:
                    case Proceed():
                        pass
                    case Modify(arguments):
                        self.state.change_by_hook(arguments)
                        modified = True
                    case Ask(reason):
                        self.ask_reasons = [*self.ask_reasons, reason]
                    case Deny(reason):
                        return ToolResult.failure("denied", reason)
                    case Halt(reason):
                        return ToolResult.failure("halted", reason)
                    case Replace(result):
                        self.replacement = render_hook_result(result)
                        break
                    case _:
                        _raise_wrong_return("before", "an outcome", outcome)
            except BaseException as error:  # noqa: BLE001 -- if a hook fails, the call fails too
                return self._build_hook_failure(error, step, "before")
        return await self.state.check_hook_changes() if modified else None

    # Around-hooks, and the attempts inside them.

    async def execute(self) -> ToolResult:
        """Run the attempts inside the around-hooks, and again if a person was asked meanwhile and agreed."""
        inner: Run = self._run_attempts
        for step in reversed(self.settings.chain.around):
            inner = self._wrap_in_hook(step, inner)
        while True:
            if self.settings.audit is not None:
                await self.approval_stage.record_intent()
            result = await self._handle_interrupt(await inner())
            try:
                if result is not None:
                    return result
            finally:
                del result

    async def _handle_interrupt(self, result: ToolResult) -> ToolResult | None:
        """
        Return *result*, or the result of a call that needs a person before it can continue.

        Return None if a person agreed at once.
        """
        interrupt = self.execution.interrupt
        if interrupt is None or result.kind != "waiting":
            return result
        self.execution.reset()
        return await self.approval_stage.handle_interrupt(interrupt)

    def _wrap_in_hook(self, step: Step, inner: Run) -> Run:
        async def run() -> ToolResult:
            # Each hook has its own view, because the inner hooks work while this one waits for them.
            shown_call = ShownCall.of(self.call, self.state.arguments)
            try:
                hook_result = await step.run_around(
                    self.settings.hook_runner, self.state.deadline.seconds_left(), shown_call, inner
                )
                if not isinstance(hook_result, ToolResult):
                    _raise_wrong_return("around", "a result", hook_result)
            except BaseException as error:  # noqa: BLE001 -- if a hook fails, the call fails too
                return self._build_hook_failure(error, step, "around")
            try:
                return render_hook_result(hook_result)
            finally:
                del hook_result

        return run

    async def _run_attempts(self) -> ToolResult:
        return await self.execution.run(self.state.arguments, self.state.decoded)

    # After-hooks.

    async def after(self, result: ToolResult, answer: Answer | None = None) -> ToolResult:
        """Show the result to the after-hooks, and return the last result. Each hook may return another one."""
        duration_seconds = self.settings.clock() - self.started
        self._stamp(result, duration_seconds)
        # After-hooks see every result, also one that came after the deadline.
        self.state.extend_deadline()
        for step, response in list_remaining_hooks(self.settings.chain.after, answer):
            try:
                reply = response
                if response is UNASKED:
                    reply = self._call_hook(step, ShownCall.of(self.call, self.state.arguments), result)
                new_result: Any = await self._await_reply(reply, step) if inspect.isawaitable(reply) else reply
                if not isinstance(new_result, ToolResult):
                    _raise_wrong_return("after", "a result", new_result)
            except BaseException as error:  # noqa: BLE001 -- if a hook fails, the call fails too
                new_result = self._build_hook_failure(error, step, "after")
            if new_result is not result:
                # Make a copy, because the hook may return the same object for every call.
                result = render_hook_result(new_result)
                self._stamp(result, duration_seconds)
        return result

    # The end of the call.

    async def finish(self, result: ToolResult, answer: Answer | None = None) -> ToolResult:
        """
        Return *result* after the after-hooks have seen it and it was masked and cut to size.

        The outcome is also written to the approval store and the audit log, if the call needs that.
        """
        if self.settings.chain.after:
            try:
                result = await self.after(result, answer)
            except BaseException as error:
                await self._record_cut_short(error)
                raise
        result = self.finalize_result(result)
        if self.settings.audit is not None or self._approval_stage is not None:
            # The outcome is written down even if the time of the call is over.
            self.state.extend_deadline()
            await self.approval_stage.record_outcome(result)
        return result

    def finalize_result(self, result: ToolResult) -> ToolResult:
        """Return *result*, masked, cut to size, and with the fields that only the dispatcher knows."""
        self.state.is_over = True
        self._stamp(result, self.settings.clock() - self.started)
        if self.plan.needs_redaction:
            self.state.redaction().mask_result(result)
        if len(result.text) > self.plan.max_chars:
            truncate_result(result, self.plan.max_chars)
        return result

    def _stamp(self, result: ToolResult, duration_seconds: float) -> None:
        """Set the fields of *result* that only the dispatcher knows, over what a tool, hook or server put there."""
        execution = self.execution
        result.call_id, result.tool = self.call.id, self.plan.name
        result.attempts, result.retries, result.repairs = execution.count, execution.notes, self.state.repairs
        result.duration_seconds = duration_seconds

    # Helpers: calling hooks, masking, and handling errors.

    def _call_hook(self, step: Step, *arguments: Any) -> Any:
        """Return the answer of a hook, or an awaitable of it."""
        deadline = self.state.deadline
        if step.is_plain and deadline.at is None:
            return step.function(*arguments)
        return step.run(self.settings.hook_runner, deadline.seconds_left(), *arguments)

    def _await_reply(self, reply: Any, step: Step) -> Awaitable[Any]:
        """
        Return an awaitable for *reply*, the awaitable answer of a hook, with a limit on its cleanup.

        No limit is added if the hook cannot suspend, or if `Step.run` has limited it already.
        """
        needs_no_limit = not step.may_suspend or not step.is_plain or self.state.deadline.at is not None
        return reply if needs_no_limit else self.settings.hook_runner.await_hook(reply, step)

    def _build_hook_failure(self, error: BaseException, step: Step, stage: str) -> ToolResult:
        if self._has_to_raise(error):
            raise error
        if isinstance(error, TimeoutError):
            error = TimedOut("no time was left") if self.state.deadline.is_past() else error
        return build_hook_error_result(
            error, step.hook, stage, ran=self.execution.count > 0, redaction=self.state.redaction()
        )

    async def _handle_unexpected_error(self, error: BaseException) -> ToolResult:
        """
        Return the result for an exception that no stage expects.

        Such an exception comes from a codec or an author's function, or means that no time was left.
        """
        if self._has_to_raise(error):
            await self._record_cut_short(error)
            raise error
        says_why = isinstance(error, ToolkitError)  # the error of a slow approval store names the operation
        if isinstance(error, TimeoutError) and (says_why or self.state.deadline.is_past()):
            late = TimedOut(str(error) if says_why else "there was no time left to start it")
            return build_error_result(late, self.plan, cause=error, redaction=self.state.redaction())
        return build_error_result(
            ToolkitError(describe_value(error)), self.plan, cause=error, redaction=self.state.redaction()
        )

    def _has_to_raise(self, error: BaseException) -> bool:
        is_bug = self.settings.raise_bugs and not isinstance(error, (ToolError, TimeoutError))
        return is_bug or must_propagate(error)

    async def _record_cut_short(self, error: BaseException) -> None:
        if self._approval_stage is not None:
            await self._approval_stage.approval.record_cut_short(error, self.execution.count)


def _raise_wrong_return(stage: str, expected: str, got: Any) -> NoReturn:
    raise TypeError(f"{stage}() has to return {expected}, got {got!r}")
