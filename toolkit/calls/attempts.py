"""
The attempts at one call: how each failure is classified, and whether another attempt is harmless.

    wait for abandoned calls → attempt → classify → retry → render
"""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from weakref import ref

from .._plumbing.wording import format_seconds
from ..concurrency.abandoned import CancellableJob, StuckCall, caller_of, log_abandoned, log_stuck_in_thread
from ..concurrency.time_limits import QuestionTimer, await_with_limit
from ..context import Context, Progress
from ..decisions import AuthNeeded, Changed
from ..errors import DefinitionError, ToolError, Transient
from ..hooks.base import ShownCall, copy_json
from ..policies.costs import take_cost
from ..policies.redaction import Redaction
from ..policies.retry import retrying
from ..questions import DECLINED, AnsweredQuestion, AnswersNeeded, Question, find_answers_needed
from ..results import ToolCall, ToolResult
from ..values.rendering import is_unfinished
from .attempt import TimedOut, ToolAttempt, build_progress_reporter
from .call_frame import CallFrame, Interrupt
from .error_results import build_error_result
from .listeners import tell_attempt
from .plan import CallPlan, SelfCancelled, may_run_concurrently
from .propagation import must_propagate
from .render_result import render_result
from .resources import PER_CALL
from .settings import Settings
from .tool_logger import ToolLogger

if TYPE_CHECKING:
    from .questions import CallQuestions

__all__ = [
    "abandon_job",
    "abandon_task",
    "finish_value",
    "on_retry",
    "read_stream_in_thread",
    "recover",
    "run_attempts",
]

_log = logging.getLogger("toolkit")

on_retry: ContextVar[Callable[[ToolCall], object] | None] = ContextVar("toolkit_retry", default=None)
"""Called with each call inside whose function is about to run again."""

Ending: TypeAlias = AuthNeeded | Changed | AnswersNeeded | ToolError | DefinitionError
"""What an exception of a tool counts as."""


async def run_attempts(frame: CallFrame) -> ToolResult:
    """
    Attempt the call until it succeeds or must not be retried, and return its result.

    A call that costs more than its run has left is halted. The cost of a call that did not run is given back.
    """
    plan = frame.plan
    if plan.has_cost and not frame.attempts and (reason := take_cost(frame.call, frame.cost)) is not None:
        return ToolResult.failure("halted", reason, details={"limit": "cost"})
    try:
        return render_result(await _attempt(frame), plan)
    except BaseException as error:  # noqa: BLE001 -- every failure becomes a result, unless it has to pass
        return await recover(frame, error)
    finally:
        if plan.has_cost and (not frame.attempts or frame.interrupt is not None):
            take_cost(frame.call, -frame.cost)


async def finish_value(frame: CallFrame, value: Any) -> Any:
    """Return the final value of a function that was called directly and returned a stream or an awaitable."""
    limit = _find_limit(frame)
    frame.last_attempt = _build_attempt(frame, limit, is_alone=await _must_run_alone(frame))
    return await frame.last_attempt.finish(value, limit)


def read_stream_in_thread(frame: CallFrame, value: Any, loop: asyncio.AbstractEventLoop) -> list[Any]:
    """Return the items of *value*, a stream that a function in this thread returned. The call runs in *loop*."""
    is_alone = frame.plan.tool.facts.concurrency_safe is not True
    attempt = frame.last_attempt = _build_attempt(frame, None, is_alone=is_alone, loop=loop)
    if frame.is_given_up:  # read after the attempt was stored, because the event loop writes it first
        attempt.stop()
    return attempt.read(value)  # type: ignore[no-any-return]  # a stream becomes a list


async def recover(frame: CallFrame, error: BaseException) -> ToolResult:
    """
    Return the result after an attempt that raised *error*: from another attempt if that is harmless, or the failure.

    If *error* has to pass, it is raised again.
    """
    if must_propagate(error):
        frame.passing_id = id(error)
        raise error
    ending: Ending | None = None
    try:
        frame.last_error, ending = error, _find_ending(error, frame.settings)
        if isinstance(ending, (AuthNeeded, Changed, AnswersNeeded)):
            return _record_interrupt(frame, ending)
        if isinstance(ending, Transient):
            return await _retry(frame, _consider_resources(frame, ending))
        return _build_error(frame, ending)
    finally:
        # The tracebacks of errors hold frames, and the frames hold this object.
        frame.last_error = None
        del error, ending


def abandon_task(frame: CallFrame, task: asyncio.Task[Any]) -> None:
    """Register the call as one that cannot be stopped and continues in *task*."""
    log_abandoned(f"`{frame.plan.name}`", frame.settings.cleanup_seconds)
    frame.settings.abandoned.add_task(task, _build_abandoned_call(frame))


def abandon_job(frame: CallFrame, job: CancellableJob, *, has_begun: bool) -> None:
    """Register the call as one that cannot be stopped and continues in a thread, as *job*, if that has begun."""
    if has_begun and not job.is_over:
        frame.is_given_up = True
        if frame.last_attempt is not None:
            frame.last_attempt.stop()
        log_stuck_in_thread(frame.plan.name)
        job.call_when_over(frame.settings.abandoned.add(_build_abandoned_call(frame)))


# One attempt.


async def _attempt(frame: CallFrame) -> Any:
    plan, settings = frame.plan, frame.settings
    if settings.abandoned.alive:
        await _wait_for_abandoned(frame)
    limit = _find_limit(frame)
    if frame.is_told and (telling := tell_attempt(frame)) is not None:
        await telling
        limit = _find_limit(frame)
    frame.attempts += 1
    if limit is None and plan.direct_call in ("await", "wait"):
        work = plan.function(**frame.decoded)
        if plan.direct_call == "wait":
            work = await_with_limit(work, settings.cleanup_seconds, partial(abandon_task, frame))
        value = await work
        return await finish_value(frame, value) if is_unfinished(value) else value
    frame.last_attempt = _build_attempt(frame, limit, is_alone=await _must_run_alone(frame))
    return await frame.last_attempt.run(limit)


async def _must_run_alone(frame: CallFrame) -> bool:
    return not await may_run_concurrently(frame.plan.tool, frame.decoded)


def _build_attempt(
    frame: CallFrame, limit: float | None, *, is_alone: bool, loop: asyncio.AbstractEventLoop | None = None
) -> ToolAttempt:
    plan, settings = frame.plan, frame.settings
    sources = [frame.resources, plan.tool.resources, settings.resources]
    timer = QuestionTimer(frame.deadline.seconds_left) if settings.has_asker else None
    return ToolAttempt(
        plan.tool,
        frame.decoded,
        _build_context(frame, sources, limit, timer, loop),
        sources,
        settings.threads,
        settings.abandoned,
        # The frame holds the attempt, so the attempt must not hold the frame: only the garbage collector would free
        # the two.
        build_stuck_call=partial(_build_stuck_call, plan, frame.call, frame.arguments, is_alone=is_alone),
        cleanup_seconds=settings.cleanup_seconds,
        timer=timer,
    )


def _build_context(
    frame: CallFrame,
    sources: list[Mapping[Any, Any]],
    limit: float | None,
    timer: QuestionTimer | None,
    loop: asyncio.AbstractEventLoop | None,
) -> Context:
    call, tool, settings = frame.call, frame.plan.tool, frame.settings
    if not tool.signature.injected:
        # Neither the tool nor a resource sees the context; an attempt uses only its call id and its stop flag.
        context = Context(facts=tool.facts, call=call)
    else:
        resources = [item for source in reversed(sources) for item in source.items()]
        arguments = copy_json(frame.arguments)
        context = Context(
            facts=tool.facts,
            call=ToolCall(call.name, arguments, call.id, call.session, call.principal, call.turn, call.metadata, tool),
            attempt=frame.attempts,
            deadline=None if limit is None else settings.clock() + limit,
            resources={kind: item for kind, item in resources if item is not PER_CALL},
            logger=ToolLogger(tool.name),
            permissions=frame.build_access_judge(),
            open_questions=partial(_open_questions, frame.plan.name, frame.answers, ref(frame)),
            ask_at_once=None if timer is None else partial(_ask_at_once, settings, ref(frame), timer),
            make_key=partial(_find_or_make_key, call),
        )
    if settings.on_progress is not None:
        context.on_progress = build_progress_reporter(partial(_report, ref(frame)), loop)
    return context


def _find_limit(frame: CallFrame) -> float | None:
    """Return the seconds that an attempt may take, or raise `TimedOut` if no time is left."""
    left, limit = frame.deadline.seconds_left(), frame.plan.timeout_seconds
    if left is None:
        return limit
    if left <= 0:
        raise TimedOut("there was no time left to start it")
    return left if limit is None else min(limit, left)


async def _wait_for_abandoned(frame: CallFrame) -> None:
    """Wait for the same caller's calls that could not be stopped, if this call must not run beside them."""
    abandoned, caller, name = frame.settings.abandoned, caller_of(frame.call), frame.plan.name
    if abandoned.still_runs(caller, _digest(frame.call, frame.arguments)):
        raise ToolError("the same call still runs: it could not be stopped, so it was not started again")
    blockers = abandoned.blockers(caller, name)
    if not blockers or await may_run_concurrently(frame.plan.tool, frame.decoded):
        return
    names, limit = ", ".join(f"`{blocker}`" for blocker in blockers), _find_limit(frame)
    _log.warning("`%s` must run alone, and waits for calls that cannot be stopped: %s", name, names)
    if not await abandoned.wait_for_blockers(caller, name, limit):
        raise TimedOut(
            f"must run alone, and waited {format_seconds(limit or 0.0)} for calls of this session that cannot be "
            f"stopped: {names}; it was not started"
        )


def _build_abandoned_call(frame: CallFrame) -> StuckCall:
    # If `concurrency_safe` is a function, it would have to be awaited, so the call counts as unsafe.
    is_alone = frame.plan.tool.facts.concurrency_safe is not True
    return _build_stuck_call(frame.plan, frame.call, frame.arguments, is_alone=is_alone)


# Classifying and retrying.


async def _retry(frame: CallFrame, failed: Transient) -> ToolResult:
    settings, frame.retries = frame.settings, (notes := list(frame.retries))
    try:
        value = await retrying(
            partial(_attempt_again, frame),
            settings.retry,
            failed=failed,
            sleep=settings.sleep,
            clock=settings.clock,
            chance=settings.chance,
            deadline=frame.deadline.at,
            may_repeat=partial(_explain_no_retry, frame),
            noted=notes.append,
        )
        return render_result(value, frame.plan)
    except (AuthNeeded, Changed, AnswersNeeded) as interrupt:
        return _record_interrupt(frame, interrupt)
    except ToolError as final:
        return _build_error(frame, final)
    finally:
        del failed  # if it is raised again, its traceback holds this frame


def _build_error(frame: CallFrame, error: ToolError | DefinitionError) -> ToolResult:
    return build_error_result(error, frame.plan, cause=frame.last_error, redaction=frame.redaction())


def _record_interrupt(frame: CallFrame, interrupt: Interrupt) -> ToolResult:
    frame.interrupt = interrupt
    return ToolResult(f"waiting: {interrupt}", None, "waiting")


async def _attempt_again(frame: CallFrame) -> Any:
    if (tell := on_retry.get()) is not None:
        tell(frame.call)
    # Decode the arguments again, because the last attempt may have changed them.
    frame.decoded = frame.plan.checker.check(frame.arguments, frame.settings.validation)
    try:
        return await _attempt(frame)
    except BaseException as error:  # noqa: BLE001 -- raised again as the error that it is classified as
        if (needed := find_answers_needed(error)) is not None:
            raise needed from None
        tool_error = _classify_attempt(frame, error)
        try:
            if tool_error is error:
                raise
            raise tool_error from error
        finally:
            del tool_error  # its traceback holds this frame


def _classify_attempt(frame: CallFrame, error: BaseException) -> ToolError:
    """Return the `ToolError` that *error* is classified as, or raise *error* again if it has to pass."""
    frame.last_error = error
    if must_propagate(error):
        raise error
    tool_error = _classify(error, frame.settings)
    return _consider_resources(frame, tool_error) if isinstance(tool_error, Transient) else tool_error


def _consider_resources(frame: CallFrame, error: Transient) -> Transient:
    """Return *error*, or one that says whether the effect may have happened if a resource of the tool failed."""
    last = frame.last_attempt
    if last is None or isinstance(error, TimedOut) or (last.began and not last.returned):
        return error
    # A resource failed, not the function. It failed before the function began or after it returned.
    happened: Literal["no", "maybe"] = "maybe" if last.returned else "no"
    return Transient(str(error), retry_after_seconds=error.retry_after_seconds, happened=happened)


def _explain_no_retry(frame: CallFrame, error: Transient) -> str | None:
    """Return why the call must not be attempted again, or None if it may."""
    facts, abandoned = frame.plan.tool.facts, frame.settings.abandoned
    if facts.destructive and frame.attempts:
        return "destructive tools are never run twice"
    if error.happened == "maybe" and not facts.idempotent:
        return "it may have happened already"
    if abandoned.alive and abandoned.still_runs(caller_of(frame.call), _digest(frame.call, frame.arguments)):
        return "the last attempt still runs"
    return None


def _find_ending(error: BaseException, settings: Settings) -> Ending:
    """
    Return what *error*, which a tool raised, counts as, or raise *error* again if it is a bug that has to be raised.

    An `Interrupt` or a `Transient` leaves the call open. Every other error ends it.
    """
    if isinstance(error, (AuthNeeded, Changed)) or (isinstance(error, DefinitionError) and not settings.raise_bugs):
        return error
    return find_answers_needed(error) or _classify(error, settings)


def _classify(error: BaseException, settings: Settings) -> ToolError:
    if isinstance(error, asyncio.CancelledError):
        return SelfCancelled("it was cancelled from inside")
    tool_error = settings.classify_error(error)
    if settings.raise_bugs and type(tool_error) is ToolError and tool_error is not error:
        raise error
    return tool_error


def _open_questions(tool: str, answers: tuple[AnsweredQuestion, ...], owner: ref[CallFrame]) -> CallQuestions:
    from .questions import CallQuestions  # few tools ask

    call = owner()
    return CallQuestions(tool, answers, Redaction() if call is None else call.redaction())


async def _ask_at_once(
    settings: Settings, owner: ref[CallFrame], timer: QuestionTimer, question: Question, *reasons: list[str]
) -> Any:
    # The settings tell the questions of two dispatchers apart: a caller that routes questions reads them.
    from .questions import ask_at_once  # few tools ask

    call = owner()
    if call is None:
        _log.warning("the question %r was asked after its call had ended, so it is declined", question.key)
        return DECLINED
    with timer.measure():
        return await ask_at_once(call, question, *reasons)


def _find_or_make_key(call: ToolCall) -> str:
    """Return the idempotency key of *call*. All attempts have the same object *call*, so they get the same key."""
    if call.idempotency_key is None:
        # Two threads of a tool may ask at the same moment, and the first one decides.
        vars(call).setdefault("idempotency_key", os.urandom(16).hex())
    return str(call.idempotency_key)


def _report(owner: ref[CallFrame], progress: Progress) -> None:
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
