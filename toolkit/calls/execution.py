"""
The attempts at one call: how each failure is classified, and whether another attempt is harmless.

    wait for abandoned calls → attempt → classify → retry → render
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Coroutine, Mapping
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias
from weakref import ref

from .._plumbing.attribute_layout import reserve_attributes
from .._plumbing.wording import format_seconds
from ..concurrency.abandoned import CancellableJob, StuckCall, caller_of
from ..concurrency.cleanup_limit import await_with_limit
from ..concurrency.deadline import Deadline
from ..context import Context, Progress
from ..decisions import AuthNeeded, Changed
from ..errors import DefinitionError, ToolError, Transient
from ..hooks.base import ShownCall, copy_json
from ..permissions.judgement import AccessJudge
from ..policies.redaction import Redaction
from ..policies.retry import retrying
from ..questions import DECLINED, AnsweredQuestion, AnswersNeeded, Question, find_answers_needed
from ..results import ToolCall, ToolResult
from .attempt import (
    TimedOut,
    ToolAttempt,
    log_abandoned,
    log_stuck_in_thread,
    must_propagate,
)
from .call_state import CallState
from .error_results import build_error_result
from .plan import CallPlan, SelfCancelled, may_run_concurrently
from .progress import build_progress_reporter
from .question_timer import QuestionTimer
from .render_result import render_result
from .resources import PER_CALL
from .settings import Settings

if TYPE_CHECKING:
    from .question_book import CallQuestions

__all__ = ["Execution", "find_ending", "on_retry"]

_log = logging.getLogger("toolkit")

on_retry: ContextVar[Callable[[ToolCall], object] | None] = ContextVar("toolkit_retry", default=None)
"""Called with each call inside whose function is about to run again."""

Interrupt: TypeAlias = AuthNeeded | Changed | AnswersNeeded
"""What a tool raises if a person has to act before it can continue."""

Ending: TypeAlias = Interrupt | ToolError | DefinitionError
"""What an exception of a tool counts as."""


class ExecutionOwner(Protocol):
    """
    The parts of a call that its attempts use.

    Attributes:
        answers: The questions of the tool that its user has answered.
    """

    answers: tuple[AnsweredQuestion, ...]

    def report(self, progress: Progress) -> None:
        """Pass *progress* to the listener, unless the call is over."""

    def redaction(self) -> Redaction:
        """Return the redaction that masks the secrets of the call."""

    def build_access_judge(self) -> AccessJudge:
        """Return the object that the running tool gets as `context.permissions`."""


@reserve_attributes(
    *("count", "notes", "interrupt", "_call", "_plan", "_settings", "_deadline", "_resources", "_owner"),
    *("_arguments", "_decoded", "_last_error", "_last_attempt"),
)
class Execution:
    """
    The attempts at one call.

    The call owns this object, and this object refers to the call weakly. So both are freed as soon as the call has
    ended, without the garbage collector. The call stays alive as long as an attempt runs.

    Attributes:
        count: How many attempts there were.
        notes: Why the call was retried, or why not.
        interrupt: The error by which the tool said that a person has to act before it can continue.
    """

    _arguments: Any = None
    _decoded: Any = None
    _last_attempt: ToolAttempt | None = None
    _last_error: BaseException | None = None

    def __init__(
        self,
        owner: ExecutionOwner,
        call: ToolCall,
        plan: CallPlan,
        settings: Settings,
        deadline: Deadline,
        resources: Mapping[Any, Any],
    ) -> None:
        self.count = 0
        self.notes: list[str] = []
        self.interrupt: Interrupt | None = None
        self._call = call
        self._plan = plan
        self._settings = settings
        self._deadline = deadline
        self._resources = resources
        self._owner = ref(owner)

    async def run(self, arguments: Any, decoded: Any) -> ToolResult:
        """Attempt the call until it succeeds or must not be retried. *decoded* is the decoded form of *arguments*."""
        self._arguments, self._decoded = arguments, decoded
        try:
            return render_result(await self._attempt(), self._plan)
        except BaseException as error:  # every failure becomes a result, unless it has to pass
            if must_propagate(error):
                raise
            return await self._recover(error, find_ending(error, self._settings))

    async def finish(self, value: Any, arguments: Any, decoded: Any) -> Any:
        """Return the final value of a function that was called directly and returned a generator or an awaitable."""
        self._arguments, self._decoded = arguments, decoded
        self._last_attempt = await self._build_attempt(None)
        return await self._last_attempt.finish(value)

    def recover_from(
        self, error: BaseException, ending: Ending, arguments: Any, decoded: Any
    ) -> Coroutine[Any, Any, ToolResult]:
        """Return the same as `run`, for a call whose function was called directly and raised *error*."""
        self._arguments, self._decoded = arguments, decoded
        return self._recover(error, ending)

    def abandon_direct(self, task: asyncio.Task[Any], arguments: Any) -> None:
        """Register the call as `abandon` does, if its function was awaited directly."""
        self._arguments = arguments
        self.abandon(task)

    def abandon_job(self, job: CancellableJob, arguments: Any) -> None:
        """Register the call as one that cannot be stopped and continues in a thread, as *job*."""
        self._arguments = arguments
        log_stuck_in_thread(self._plan.name)
        job.call_when_over(self._settings.abandoned.add(self._build_stuck_call()))

    def _require_owner(self) -> ExecutionOwner:
        owner = self._owner()
        if owner is None:
            raise RuntimeError(f"`{self._plan.name}` was tried again after its call had ended")
        return owner

    def reset(self) -> None:
        """Reset the count after an interrupt, because the call has had no effect yet."""
        self.count, self.interrupt = 0, None

    # One attempt.

    async def _attempt(self) -> Any:
        plan, settings = self._plan, self._settings
        if settings.abandoned.alive:
            await self._wait_for_abandoned()
        limit = self._limit()
        self.count += 1
        if limit is None and plan.direct_call == "await":
            return await plan.function(**self._decoded)
        if limit is None and plan.direct_call == "wait":
            return await await_with_limit(plan.function(**self._decoded), settings.cleanup_seconds, self.abandon)
        self._last_attempt = await self._build_attempt(limit)
        return await self._last_attempt.run(limit)

    async def _build_attempt(self, limit: float | None) -> ToolAttempt:
        plan, settings = self._plan, self._settings
        sources = [self._resources, plan.tool.resources, settings.resources]
        is_alone = not await may_run_concurrently(plan.tool, self._decoded)
        timer = QuestionTimer(self._deadline.seconds_left) if settings.has_asker else None
        return ToolAttempt(
            plan.tool,
            self._decoded,
            self._context(sources, limit, timer),
            sources,
            settings.threads,
            settings.abandoned,
            # A method of this object would not do. The object holds the attempt, so the two would form a cycle that
            # only the garbage collector frees.
            build_stuck_call=partial(_build_stuck_call, plan, self._call, self._arguments, is_alone=is_alone),
            cleanup_seconds=settings.cleanup_seconds,
            timer=timer,
        )

    def _context(self, sources: list[Mapping[Any, Any]], limit: float | None, timer: QuestionTimer | None) -> Context:
        tool, settings = self._plan.tool, self._settings
        if tool.signature.injected:
            context = self._full_context(sources, limit, timer)
        else:  # neither the tool nor a resource sees the context; an attempt uses only its call id and its stop flag
            context = Context(facts=tool.facts, call=self._call)
        if settings.on_progress is not None:
            context.on_progress = build_progress_reporter(partial(_report, self._owner))
        return context

    def _full_context(
        self, sources: list[Mapping[Any, Any]], limit: float | None, timer: QuestionTimer | None
    ) -> Context:
        call, tool, settings = self._call, self._plan.tool, self._settings
        resources = {
            kind: item for source in reversed(sources) for kind, item in source.items() if item is not PER_CALL
        }
        arguments, owner = copy_json(self._arguments), self._require_owner()
        return Context(
            facts=tool.facts,
            call=ToolCall(call.name, arguments, call.id, call.session, call.principal, call.turn, call.metadata, tool),
            attempt=self.count,
            deadline=None if limit is None else settings.clock() + limit,
            resources=resources,
            logger=self._plan.logger,
            permissions=owner.build_access_judge(),
            open_questions=partial(_open_questions, self._plan.name, owner.answers, self._owner),
            ask_at_once=None if timer is None else partial(_ask_at_once, settings, self._owner, timer),
            make_key=partial(_find_or_make_key, call),
        )

    def _limit(self) -> float | None:
        """Return the seconds that an attempt may take, or raise `TimedOut` if no time is left."""
        left, limit = self._deadline.seconds_left(), self._plan.timeout_seconds
        if left is None:
            return limit
        if left <= 0:
            raise TimedOut("there was no time left to start it")
        return left if limit is None else min(limit, left)

    async def _wait_for_abandoned(self) -> None:
        """Wait for the same caller's calls that could not be stopped, if this call must not run beside them."""
        abandoned, caller, name = self._settings.abandoned, caller_of(self._call), self._plan.name
        if abandoned.still_runs(caller, self._digest()):
            raise ToolError("the same call still runs: it could not be stopped, so it was not started again")
        blockers = abandoned.blockers(caller, name)
        if not blockers or await may_run_concurrently(self._plan.tool, self._decoded):
            return
        names, limit = ", ".join(f"`{blocker}`" for blocker in blockers), self._limit()
        _log.warning("`%s` must run alone, and waits for calls that cannot be stopped: %s", name, names)
        if not await abandoned.wait_for_blockers(caller, name, limit):
            raise TimedOut(
                f"must run alone, and waited {format_seconds(limit or 0.0)} for calls of this session that cannot be "
                f"stopped: {names}; it was not started"
            )

    def abandon(self, task: asyncio.Task[Any]) -> None:
        """Register the call as one that cannot be stopped and continues in *task*."""
        log_abandoned(f"`{self._plan.name}`", self._settings.cleanup_seconds)
        self._settings.abandoned.add_task(task, self._build_stuck_call())

    def _build_stuck_call(self) -> StuckCall:
        # If `concurrency_safe` is a function, it would have to be awaited, so the call counts as unsafe.
        is_alone = self._plan.tool.facts.concurrency_safe is not True
        return _build_stuck_call(self._plan, self._call, self._arguments, is_alone=is_alone)

    def _digest(self) -> str:
        return _digest(self._call, self._arguments)

    # Classifying and retrying.

    async def _recover(self, error: BaseException, ending: Ending) -> ToolResult:
        """
        Return the result after a failed attempt: from another attempt if that is harmless, or else the failure.

        *ending* is what *error* counts as, see `find_ending`.
        """
        try:
            self._last_error = error
            if isinstance(ending, (AuthNeeded, Changed, AnswersNeeded)):
                return self._record_interrupt(ending)
            if isinstance(ending, Transient):
                return await self._retry(self._consider_resources(ending))
            return self._build_error(ending)
        finally:
            # The tracebacks of errors hold frames, and the frames hold this object.
            self._last_error = None
            del error, ending

    async def _retry(self, failed: Transient) -> ToolResult:
        settings = self._settings
        try:
            value = await retrying(
                self._attempt_again,
                settings.retry,
                failed=failed,
                sleep=settings.sleep,
                clock=settings.clock,
                chance=settings.chance,
                deadline=self._deadline.at,
                may_repeat=self._why_not_retry,
                noted=self.notes.append,
            )
            return render_result(value, self._plan)
        except (AuthNeeded, Changed, AnswersNeeded) as interrupt:
            return self._record_interrupt(interrupt)
        except ToolError as final:
            return self._build_error(final)
        finally:
            del failed  # if it is raised again, its traceback holds this frame

    def _build_error(self, error: ToolError | DefinitionError) -> ToolResult:
        return build_error_result(
            error, self._plan, cause=self._last_error, redaction=self._require_owner().redaction()
        )

    def _record_interrupt(self, interrupt: Interrupt) -> ToolResult:
        self.interrupt = interrupt
        return ToolResult(f"waiting: {interrupt}", None, "waiting")

    async def _attempt_again(self) -> Any:
        if (tell := on_retry.get()) is not None:
            tell(self._call)
        # Decode the arguments again, because the last attempt may have changed them.
        self._decoded = self._plan.checker.check(self._arguments, self._settings.validation)
        try:
            return await self._attempt()
        except BaseException as error:  # noqa: BLE001 -- raised again as the error that it is classified as
            if (needed := find_answers_needed(error)) is not None:
                raise needed from None
            tool_error = self._classify(error)
            try:
                if tool_error is error:
                    raise
                raise tool_error from error
            finally:
                del tool_error  # its traceback holds this frame

    def _classify(self, error: BaseException) -> ToolError:
        """Return the `ToolError` that *error* is classified as, or raise *error* again if it has to pass."""
        self._last_error = error
        if must_propagate(error):
            raise error
        tool_error = _classify(error, self._settings)
        return self._consider_resources(tool_error) if isinstance(tool_error, Transient) else tool_error

    def _consider_resources(self, error: Transient) -> Transient:
        """Return *error*, or one that says whether the effect may have happened if a resource of the tool failed."""
        last = self._last_attempt
        if last is None or isinstance(error, TimedOut) or (last.began and not last.returned):
            return error
        # A resource failed, not the function. It failed before the function began or after it returned.
        happened: Literal["no", "maybe"] = "maybe" if last.returned else "no"
        return Transient(str(error), retry_after_seconds=error.retry_after_seconds, happened=happened)

    def _why_not_retry(self, error: Transient) -> str | None:
        facts, abandoned = self._plan.tool.facts, self._settings.abandoned
        if facts.destructive and self.count:
            return "destructive tools are never run twice"
        if error.happened == "maybe" and not facts.idempotent:
            return "it may have happened already"
        if abandoned.alive and abandoned.still_runs(caller_of(self._call), self._digest()):
            return "the last attempt still runs"
        return None


def find_ending(error: BaseException, settings: Settings) -> Ending:
    """
    Return what *error*, which a tool raised, counts as, or raise *error* again if it is a bug that has to be raised.

    An `Interrupt` or a `Transient` leaves the call open. Every other error ends it.
    """
    if isinstance(error, _SPECIAL_ERRORS):
        if isinstance(error, (AuthNeeded, Changed)) or (isinstance(error, DefinitionError) and not settings.raise_bugs):
            return error
        if (needed := find_answers_needed(error)) is not None:
            return needed
    return _classify(error, settings)


def _classify(error: BaseException, settings: Settings) -> ToolError:
    if isinstance(error, asyncio.CancelledError):
        return SelfCancelled("it was cancelled from inside")
    tool_error = settings.classify_error(error)
    if settings.raise_bugs and type(tool_error) is ToolError and tool_error is not error:
        raise error
    return tool_error


_SPECIAL_ERRORS = (AuthNeeded, Changed, AnswersNeeded, BaseExceptionGroup, DefinitionError)


def _open_questions(tool: str, answers: tuple[AnsweredQuestion, ...], owner: ref[ExecutionOwner]) -> CallQuestions:
    from .question_book import CallQuestions  # few tools ask

    call = owner()
    return CallQuestions(tool, answers, Redaction() if call is None else call.redaction())


async def _ask_at_once(settings: Settings, owner: ref[ExecutionOwner], timer: QuestionTimer, question: Question) -> Any:
    # The settings tell the questions of two dispatchers apart: a caller that routes questions reads them.
    from .live_questions import ask_at_once  # few tools ask

    call = owner()
    if not isinstance(call, CallState):  # it is None
        _log.warning("the question %r was asked after its call had ended, so it is declined", question.key)
        return DECLINED
    with timer.measure():
        return await ask_at_once(call, question)


def _find_or_make_key(call: ToolCall) -> str:
    """Return the idempotency key of *call*. All attempts have the same object *call*, so they get the same key."""
    if call.idempotency_key is None:
        # Two threads of a tool may ask at the same moment, and the first one decides.
        vars(call).setdefault("idempotency_key", os.urandom(16).hex())
    return str(call.idempotency_key)


def _report(owner: ref[ExecutionOwner], progress: Progress) -> None:
    call = owner()
    if call is not None:
        call.report(progress)


def _build_stuck_call(plan: CallPlan, call: ToolCall, arguments: Any, *, is_alone: bool) -> StuckCall:
    digest, is_read_only = _digest(call, arguments), plan.tool.facts.read_only
    return StuckCall(plan.name, caller_of(call), digest, is_alone, is_read_only=is_read_only)


def _digest(call: ToolCall, arguments: Any) -> str:
    try:
        return ShownCall.of(call, arguments).digest()
    except (Exception, SystemExit):  # noqa: BLE001 -- a value of a user's class may raise when it is read
        return f"the call {call.id}"
