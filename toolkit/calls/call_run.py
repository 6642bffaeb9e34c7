"""
What a call needs beyond its arguments: hooks that intervene, a verdict, attempts, and records of what happened.

The pipeline makes a `CallRun` when a call first needs one, and most calls need none. The methods are the uncommon parts
of the stages. The order of the stages is in `pipeline.py` alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from .._plumbing.attribute_layout import reserve_attributes
from .._plumbing.records import record
from ..concurrency.abandoned import CancellableJob
from ..concurrency.deadline import NO_DEADLINE, Deadline
from ..decisions import AuthNeeded, Changed, Decision
from ..errors import ToolError, ToolkitError, Transient
from ..hooks.base import Ask, Deny, Halt, Modify, Proceed, Replace, Run, ShownCall, Step
from ..policies.redaction import Redaction
from ..questions import AnswersNeeded
from ..results import ToolCall, ToolResult, build_call_id
from ..session import Session
from ..values.rendering import describe_value, is_stream
from .attempt import TimedOut, must_propagate
from .call_state import CallState
from .error_results import build_error_result, build_hook_error_result
from .execution import Execution, find_ending
from .plan import CallPlan
from .render_result import render_hook_result
from .result_notes import add_metadata, render_notes
from .settings import Settings
from .truncation import keep_full_text, truncate_result

if TYPE_CHECKING:  # not loaded here, because most calls are not judged
    from ..approvals import Record
    from .approval_stage import ApprovalStage

__all__ = ["CallOptions", "CallRun", "prepare_runs", "raise_wrong_return"]


@record(frozen=True, slots=True)
class CallOptions:
    """
    What one call brings with it.

    Attributes:
        resources: Values for `Inject[T]` parameters, by type.
        timeout_seconds: The limit of the whole call.
    """

    resources: Mapping[Any, Any]
    timeout_seconds: float | None = None

    # `dataclass` would need half a millisecond to write this method, for `NO_OPTIONS`, which are made on import.
    def __init__(self, resources: Mapping[Any, Any], timeout_seconds: float | None = None) -> None:
        object.__setattr__(self, "resources", resources)
        object.__setattr__(self, "timeout_seconds", timeout_seconds)


NO_OPTIONS = CallOptions({})


@reserve_attributes(
    *("plan", "settings", "name", "number", "session", "principal", "started", "attempts", "options"),
    *("is_judged", "_show_call", "_call", "_arguments", "_decoded", "_state", "_execution"),
    *("has_run", "inner_result", "hook_value", "_approval_stage"),
)
class CallRun:
    """
    One call that needs more than its arguments. Its parts are made when they are first needed.

    `prepare_runs` returns the function that makes these objects. A constructor would take half as long again.

    Attributes:
        name: The name by which the tool is called.
        number: The id of the call, or the number from which it is made.
        session: The conversation, if there is one.
        principal: The user, if the caller named one.
        started: When the call started.
        options: What the call brings with it.
        attempts: How many attempts the pipeline made itself before it needed `execution`.
        ask_reasons: Why before-hooks want a person to agree.
        is_modified: Whether a before-hook has changed the arguments.
        replacement: The result that a before-hook has given in place of running the tool.
        is_judged: Whether the approval stage has seen the call.
        inner_result: The last result that the tool or an inner around-hook has given to an around-hook.
        hook_value: What an around-hook has returned, until it is read.
        answer: The stored request and the answer of a person, if the call continues after it.
    """

    plan: CallPlan
    settings: Settings
    name: str
    number: int | str
    session: Session | None
    principal: str | None
    started: float
    attempts: int
    options: CallOptions
    is_judged: bool
    _show_call: Callable[..., ShownCall]
    _call: ToolCall | None
    _arguments: Any
    _decoded: Any
    _state: CallState | None
    _execution: Execution | None
    # Values that seldom differ are on the class, as in `ToolResult`. Those that most calls read are not.
    ask_reasons: Sequence[str] = ()
    is_modified = False
    replacement: ToolResult | None = None
    answer: tuple[Record, Decision] | None = None
    inner_result: ToolResult | None = None
    hook_value: Any = None
    _approval_stage: ApprovalStage | None = None
    has_run = False
    _passing_id = 0

    @property
    def call(self) -> ToolCall:
        """The call as it was requested. Few stages need one, so it is made for them if the caller gave none."""
        if self._call is None:
            principal = self.principal or (None if self.session is None else self.session.principal)
            call_id = build_call_id(self.number)
            self._call = ToolCall(self.name, self._arguments, call_id, self.session, principal, tool=self.plan.tool)
        return self._call

    @property
    def state(self) -> CallState:
        """The state that the stages share."""
        if self._state is None:
            seconds, clock = self.options.timeout_seconds, self.settings.clock
            deadline = NO_DEADLINE if seconds is None else Deadline(clock, self.started + seconds)
            self._state = CallState(self.call, self.plan, self.settings, self._decoded, deadline)
        return self._state

    @property
    def arguments(self) -> Any:
        """The arguments as they are at this point."""
        return self._arguments if self._state is None else self._state.arguments

    @property
    def decoded(self) -> Any:
        """The decoded form of the arguments."""
        return self._decoded if self._state is None else self._state.decoded

    def show_call(self) -> ShownCall:
        """Return the call as hooks see it."""
        arguments = self._arguments if self._state is None else self._state.arguments
        return self._show_call(self.number, arguments, self.session, self.principal, self._call)

    def redaction(self) -> Redaction:
        """Return the redaction that masks the secrets of the call."""
        return self.plan.redaction(self._decoded, self._arguments) if self._state is None else self._state.redaction()

    @property
    def execution(self) -> Execution:
        """The attempts at the call."""
        if self._execution is None:
            state, resources = self.state, self.options.resources
            self._execution = Execution(state, state.call, self.plan, self.settings, state.deadline, resources)
            self._execution.count = self.attempts
        return self._execution

    @property
    def approval_stage(self) -> ApprovalStage:
        """The object that judges the call."""
        if self._approval_stage is None:
            from .approval_stage import ApprovalStage

            self._approval_stage = ApprovalStage(self.state)
            self.is_judged = True
        return self._approval_stage

    @property
    def attempt_count(self) -> int:
        """How many attempts there were."""
        return self.attempts if self._execution is None else self._execution.count

    def count_attempt(self) -> None:
        """Count an attempt that the pipeline makes itself."""
        if self._execution is None:
            self.attempts += 1
        else:
            self._execution.count += 1

    # Before-hooks.

    def apply_outcome(self, outcome: Any) -> ToolResult | None:
        """Do what a before-hook wants, and return a result if it ends the call."""
        match outcome:
            case Proceed():
                pass
            case Modify(arguments):
                self.state.change_by_hook(arguments)
                self.is_modified = True
            case Ask(reason):
                self.ask_reasons = [*self.ask_reasons, reason]
            case Deny(reason):
                return ToolResult.failure("denied", reason)
            case Halt(reason):
                return ToolResult.failure("halted", reason)
            case Replace(result):
                self.replacement = render_hook_result(result)
            case _:
                raise_wrong_return("before", "an outcome", outcome)
        return None

    # The verdict.

    async def judge(self) -> ToolResult | None:
        """Return a result if the call may not run, or may not run yet; None if it may run."""
        return await self.approval_stage.judge_call(self.ask_reasons, is_replaced=self.replacement is not None)

    async def accept_answer(self) -> ToolResult | None:
        """
        Accept the answer of a person, and return a result if the call may not run.

        Raises:
            ApprovalError: The answer cannot be accepted.
        """
        if self.answer is None:
            raise RuntimeError("no person has answered")
        record, decision = self.answer
        self.state.repairs = record.request.repairs
        return await self.approval_stage.resume(record, decision)

    # The attempts.

    async def run_attempts(self) -> ToolResult:
        """Run the tool as often as failures allow."""
        return await self.execution.run(self.state.arguments, self.state.decoded)

    async def recover_from(self, error: BaseException) -> ToolResult:
        """Return the result of a call whose function the pipeline called, and which raised *error*."""
        if must_propagate(error):
            self._passing_id = id(error)
            raise error
        ending: BaseException | None = None
        try:
            ending = find_ending(error, self.settings)
            if isinstance(ending, (Transient, AuthNeeded, Changed, AnswersNeeded)):
                state = self.state
                return await self.execution.recover_from(error, ending, state.arguments, state.decoded)
            return build_error_result(ending, self.plan, cause=error, redaction=self.redaction())
        finally:
            del ending, error  # their tracebacks may hold this frame

    def enter_tool(self) -> Any:
        """Return the decoded arguments for a run of the tool that an around-hook asks for, if it may ask for one."""
        if self.has_run:
            self.refuse_second_run()
        self.has_run = True
        return self._decoded if self._state is None else self._state.decoded

    @property
    def is_interrupted(self) -> bool:
        """Whether the tool said that a person has to act before it can continue."""
        return self._execution is not None and self._execution.interrupt is not None

    async def settle_interrupt(self, result: ToolResult, inner: Run) -> ToolResult:
        """
        Return the result of a call that needs a person: that it waits, or the result of *inner* if a person agreed.

        *inner* runs the tool again.
        """
        try:
            while (interrupt := self.execution.interrupt) is not None and result.kind == "waiting":
                self.execution.reset()
                self.has_run = False
                answer = await self.approval_stage.handle_interrupt(interrupt)
                if answer is not None:
                    return answer
                await self.record_intent()
                result = await inner()
            return result
        finally:
            del result  # since Python 3.12 the traceback of its error holds this frame

    async def record_intent(self) -> None:
        """Write to the audit log, if there is one, that the tool is about to run."""
        if self.settings.audit is not None:
            await self.approval_stage.record_intent()

    def call_in_thread(self, decoded: Mapping[str, Any], loop: asyncio.AbstractEventLoop) -> Any:
        """Return what the function returns. If that is a stream, return its items, which the same thread reads."""
        value = self.plan.function(**decoded)
        if not is_stream(type(value)):
            return value
        return self.execution.read_stream(value, self.state.arguments, decoded, loop)

    async def finish_value(self, value: Any) -> Any:
        """Return the final value of a function that returned a stream or an awaitable."""
        return await self.execution.finish(value, self.state.arguments, self.state.decoded)

    def give_up_task(self, task: asyncio.Task[Any]) -> None:
        """Register the call as one that cannot be stopped and continues in *task*."""
        self.execution.abandon_direct(task, self.state.arguments)

    def give_up_job(self, job: CancellableJob, *, has_begun: bool) -> None:
        """Register the call as one that cannot be stopped and continues as *job*, if it has begun."""
        if has_begun and not job.is_over:
            self.execution.abandon_job(job, self.state.arguments)

    def refuse_second_run(self) -> None:
        """Raise `RuntimeError` if it is not harmless that an around-hook runs the tool again."""
        facts = self.plan.tool.facts
        if facts.destructive or not facts.idempotent:
            raise RuntimeError(f"run() was called again, and `{self.plan.name}` must not be run twice")

    # The end of the call.

    def extend_deadline(self) -> None:
        """Leave enough time to end the call properly, also if its own time is over."""
        if self.options.timeout_seconds is not None:
            self.state.extend_deadline()

    def end(self, result: ToolResult, duration_seconds: float) -> None:
        """Stamp the *result* of the call. From now on no progress of the tool is reported."""
        if self._state is not None:
            self._state.is_over = True
        self.inner_result = None  # the traceback of its error holds frames that hold this object
        self.stamp(result, duration_seconds)

    def stamp(self, result: ToolResult, duration_seconds: float) -> None:
        """Set the fields of *result* that only the dispatcher knows, over what a tool, hook or server put there."""
        execution = self._execution
        result.number = self.number
        result.tool = self.plan.name
        result.duration_seconds = duration_seconds
        result.repairs = () if self._state is None else self._state.repairs
        if execution is None:
            result.attempts, result.retries = self.attempts, ()
        else:
            result.attempts, result.retries = execution.count, execution.notes
        if self._state is not None and self._state.needs_notes:
            add_metadata(result, self._state)

    def add_notes(self, result: ToolResult) -> None:
        """Tell the model, before the text of *result*, what people changed and whether the call has run before."""
        if not self.state.needs_notes:
            return
        max_chars = self.plan.max_chars
        notes = render_notes(self.state, self.redaction(), max_chars // 2)
        shorten = keep_full_text if len(result.text) + len(notes) <= max_chars else truncate_result
        shorten(result, max_chars - len(notes), self.plan, self.call.session, self.call.principal)
        result.text = notes + result.text

    async def end_after_hook(self, error: BaseException, step: Step) -> ToolResult:
        """Return the result for an after-hook that failed, or raise *error* again if it has to pass."""
        if self._has_to_raise(error):
            await self.record_cut_short(error)
        return self.build_hook_failure(error, step, "after")

    async def record_outcome(self, result: ToolResult) -> None:
        """Write *result* to the approval store and the audit log."""
        self.state.extend_deadline()  # the outcome is written down even if the time of the call is over
        await self.approval_stage.record_outcome(result)

    def build_hook_failure(self, error: BaseException, step: Step, stage: str) -> ToolResult:
        """Return the result for a hook that failed, or raise *error* again if it has to pass."""
        if self._has_to_raise(error):
            raise error
        if isinstance(error, TimeoutError):
            error = TimedOut("no time was left") if self.state.deadline.is_past() else error
        return build_hook_error_result(error, step.hook, stage, ran=self.attempt_count > 0, redaction=self.redaction())

    async def handle_unexpected_error(self, error: BaseException) -> ToolResult:
        """
        Return the result for an exception that no stage expects.

        Such an exception comes from a codec or an author's function, or means that no time was left.
        """
        if self._has_to_raise(error) or self._refuses_answer(error):
            await self.record_cut_short(error)
            raise error
        says_why = isinstance(error, ToolkitError)  # the error of a slow approval store names the operation
        if isinstance(error, TimeoutError) and (says_why or self.state.deadline.is_past()):
            late = TimedOut(str(error) if says_why else "there was no time left to start it")
            return build_error_result(late, self.plan, cause=error, redaction=self.redaction())
        return build_error_result(
            ToolkitError(describe_value(error)), self.plan, cause=error, redaction=self.redaction()
        )

    def _refuses_answer(self, error: BaseException) -> bool:
        """Return whether *error* says that the answer of a person cannot be accepted, and nothing has happened yet."""
        if self.answer is None:
            return False
        from ..approvals.records import ApprovalError

        return isinstance(error, ApprovalError) and self.approval_stage.approval.claimed_record is None

    def _has_to_raise(self, error: BaseException) -> bool:
        if id(error) == self._passing_id:
            return True
        is_bug = self.settings.raise_bugs and not isinstance(error, (ToolError, TimeoutError))
        if is_bug or must_propagate(error):
            # Its traceback grows when it is raised again, so only the first handler can tell.
            self._passing_id = id(error)
            return True
        return False

    async def record_cut_short(self, error: BaseException) -> None:
        """Note in the store of approvals that *error* ended the call before it had a result."""
        if self._approval_stage is not None:
            await self._approval_stage.approval.record_cut_short(error, self.attempt_count)


def prepare_runs(
    plan: CallPlan, settings: Settings, name: str, show_call: Callable[..., ShownCall]
) -> Callable[..., CallRun]:
    """
    Return a function that makes the `CallRun` of a call of *plan*'s tool, which is called by *name*.

    *show_call* makes the `ShownCall` of such a call, see `prepare_shown_calls`.
    """

    def begin(
        call: ToolCall | None,
        arguments: Any,
        decoded: Any,
        number: int | str,
        session: Session | None,
        principal: str | None,
        started: float,
        attempts: int = 0,
        options: CallOptions = NO_OPTIONS,
    ) -> CallRun:
        run = CallRun()
        run.plan = plan
        run.settings = settings
        run.name = name
        run.number = number
        run.session = session
        run.principal = principal
        run.started = started
        run.attempts = attempts
        run.options = options
        run.is_judged = False
        run._show_call = show_call  # noqa: SLF001
        run._call = call  # noqa: SLF001 -- this function is the constructor
        run._arguments = arguments  # noqa: SLF001
        run._decoded = decoded  # noqa: SLF001
        run._state = None  # noqa: SLF001
        run._execution = None  # noqa: SLF001
        return run

    return begin


def raise_wrong_return(stage: str, expected: str, got: Any) -> NoReturn:
    """Raise the error of a hook that returned *got* in place of what is *expected*."""
    raise TypeError(f"{stage}() has to return {expected}, got {got!r}")
