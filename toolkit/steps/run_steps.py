"""
The steps of one run: their keys, and the step that the current call belongs to.

    RUN/reply/2                     the second reply of the model
    RUN/summary/3.1                 the first summary that was asked for before the third reply
    RUN/call/2.t1                   the call `t1` of the second reply
    RUN/resume/REQUEST              the call of a request that a person has answered
    RUN/call/2.t1/reply/1           a reply in the sub-run of that call
    RUN/call/2.t1/again/1           the same call, made again after people have answered a run inside it
    RUN/call/2.t1/inner/1           a run that its function has started; see `nested_runs`

A key says which part of the run a step is, and not when it was done. So calls that run together have the same keys in
every order. A slash or a percent sign in an id is written as %2F or %25.
"""

from __future__ import annotations

import asyncio
import hmac
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeVar

from ..calls.attempts import on_retry
from ..calls.propagation import CallAbandoned, CallPaused, must_propagate
from ..context import current_run_id
from ..decisions import Decision
from ..dispatcher import Dispatcher
from ..hooks.base import Run as RunInner
from ..hooks.base import ShownCall
from ..providers.base import Reply
from ..results import ToolCall, ToolResult
from ..session import Session
from .base import Begin, Steps
from .expense import Spent
from .nested_runs import NestedRuns, NotKept, refuse_work
from .notes import CallPause, drop_pause
from .records import ReplyToPrompts

__all__ = ["BEGIN_HOOK", "CallStep", "RunScope", "RunSteps", "StepSetup", "escape_key", "find_open_step"]

_ENDING_SECONDS = 10.0

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunScope:
    """
    What a run shares with the runs inside it.

    Attributes:
        steps: Does the steps.
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
        scope: What it shares with the runs inside it.
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


class CallStep:
    """
    A step that runs a call, while the call runs.

    Attributes:
        key: The key of the step.
        scope: What all runs inside the call share.
        call: The call.
        session: The session of the call.
        nested: The runs that the function of the call starts itself.
        spent: What the sub-runs of the call have used, without those that its function starts itself.
        plan: The plan that the call has handed over, if it did.
        failure: An error of the `Steps` themselves in a sub-run of the call. It ends the run.
        has_returned: Whether the tool has returned, so that only its result is left to be prepared.
        is_in_tool: Whether the tool runs, and not a hook.
    """

    def __init__(
        self, key: str, begin: Begin, scope: RunScope, call: ToolCall, session: Session, nested: NestedRuns
    ) -> None:
        self.key = key
        self.scope = scope
        self.call = call
        self.session = session
        self.nested = nested
        self.is_in_tool = False
        self.spent = Spent()
        self.plan: str | None = None
        self.failure: Exception | None = None
        self.has_returned = False
        self._begin = begin
        self._is_over = False
        self._lock = asyncio.Lock()
        self._sub_run_counts: dict[int, int] = {}

    async def begin(self) -> None:
        """Record that the call is about to take effect."""
        # A call in the background begins after its step has a result: the name of the job. It is not done again then.
        async with self._lock:
            if self._is_over:
                return
            try:
                await self._begin()
            except Exception as error:
                raise CallAbandoned from error  # no result says so, and the approval of the call is not used up

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


class RunSteps:
    """
    The steps of one run.

    Args:
        scope: What the run shares with the runs inside it.
        key: The key of the run, which all keys of its steps begin with.
        reply_count: How many replies the run had when it was saved.
        outer: The step that the run is a part of, if there is one.
        shares_budget: Whether the run uses the budget of that step's run, and not one of its own.

    Attributes:
        reply_count: How many replies the run has had so far, without those that were summaries.
        epoch: The number of this attempt at the run; see `Steps`.
    """

    def __init__(
        self,
        scope: RunScope,
        key: str,
        *,
        reply_count: int = 0,
        outer: CallStep | None = None,
        shares_budget: bool = False,
    ) -> None:
        self.key = key
        self.scope = scope
        self.reply_count = reply_count
        self.outer = outer
        self.epoch: int = getattr(scope.steps, "epoch", 0)
        self.shares_budget = shares_budget
        self._summary_count = 0
        self._kept_reply: Reply | None = None

    def for_sub_run(self, key: str, reply_count: int, outer: CallStep | None) -> RunSteps:
        """Return the steps of a sub-run."""
        return RunSteps(self.scope, key, reply_count=reply_count, outer=outer, shares_budget=True)

    # Keys, and ids that are derived from them.

    def make_call_key(self, call_id: str) -> str:
        """Return the key of a call of the last reply."""
        return f"{self.key}/call/{self.reply_count}.{escape_key(call_id)}"

    def make_resume_key(self, request_id: str) -> str:
        """Return the key of the step that applies a person's answer to a request."""
        return f"{self.key}/resume/{escape_key(request_id)}"

    def derive_request_id(self, key: str) -> str | None:
        """Return the id of a request that the step *key* makes; None for a random one."""
        return self._derive("request", key) if self.scope.secret else None

    def derive_idempotency_key(self, call_id: str) -> str:
        """Return the idempotency key of a call of the last reply."""
        return self._derive("idempotency key", self.make_call_key(call_id))

    def _derive(self, purpose: str, key: str) -> str:
        text = f"toolkit {purpose} {key}"
        return hmac.new(self.scope.secret.encode(), text.encode(errors="surrogatepass"), "sha256").hexdigest()[:32]

    # Steps.

    async def reply(self, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """Return the next reply of the model: the one that was kept, or a new one by *ask*."""
        reply, self._kept_reply = self._kept_reply, None
        if reply is None:
            reply = await self._do_reply(self._next_reply_key, ask)
        self.reply_count += 1
        self._summary_count = 0
        return reply

    async def summary(self, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """Return the reply to a request for a summary: the one that was kept, or a new one by *ask*."""
        self._summary_count += 1
        return await self._do_reply(f"{self.key}/summary/{self.reply_count + 1}.{self._summary_count}", ask)

    async def has_kept_reply(self) -> bool:
        """Return whether the next reply was kept, and the model was asked for it because people had said something."""
        try:
            reply = await self._do_reply(self._next_reply_key, refuse_work)
        except NotKept:
            return False
        # Any other reply is one to the next prompt of the same conversation.
        self._kept_reply = reply if isinstance(reply, ReplyToPrompts) else None
        return self._kept_reply is not None

    @property
    def _next_reply_key(self) -> str:
        return f"{self.key}/reply/{self.reply_count + 1}"

    async def _do_reply(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        errors: list[BaseException] = []
        try:
            return await self.scope.steps.reply(key, lambda: _note_error(ask, errors))
        except Exception as error:
            self._report_failure(error, errors)
            raise

    async def call(
        self,
        key: str,
        call: ToolCall,
        work: Callable[[CallStep], Awaitable[ToolResult]],
        *,
        may_repeat: bool,
        session: Session,
        call_key: str | None = None,
        pause: CallPause | None = None,
    ) -> ToolResult:
        """
        Return the result of the step *key*: the one that was kept, or a new one by *work*.

        If the step makes a call again, *call_key* is the key of its first step, and *pause* says why it waited.
        """
        errors: list[BaseException] = []
        cancellation: asyncio.CancelledError | None = None

        async def do_call(begin: Begin) -> ToolResult:
            nonlocal cancellation
            nested = NestedRuns(self.scope.steps, call_key or key, pause)
            step = CallStep(key, begin, self.scope, call, session, nested)
            token, id_token = current_step.set(step), current_run_id.set(self.scope.durable_id)
            try:
                if may_repeat:
                    result = await _note_error(lambda: work(step), errors)
                else:
                    result, cancellation = await _prepare_result(_note_error(lambda: work(step), errors), step)
            except CallAbandoned as abandoned:
                raise abandoned.__cause__ or abandoned from None
            finally:
                current_step.reset(token)
                current_run_id.reset(id_token)
                await step.end()
            if (failure := step.failure or nested.failure) is not None:
                raise failure
            return result

        try:
            result = await self.scope.steps.call(key, call, do_call, may_repeat=may_repeat, session=session)
        except Exception as error:
            self._report_failure(error, errors)
            raise
        if cancellation is not None:
            raise cancellation  # it came after the tool had returned, and the result is kept now
        return result

    def _report_failure(self, error: Exception, work_errors: list[BaseException]) -> None:
        """Report *error* to the step that this run is a part of, unless the work itself has raised it."""
        # The call of the sub-run would turn the error into a result, and the run would go on without its steps.
        if self.outer is not None and not any(error is work_error for work_error in work_errors):
            self.outer.failure = error


async def _prepare_result(
    work: Coroutine[Any, Any, ToolResult], step: CallStep
) -> tuple[ToolResult, asyncio.CancelledError | None]:
    """
    Return the result of *work*, and the cancellation that came after the tool of *step* had returned.

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
            if not step.has_returned:
                task.cancel()
            elif end is None:
                end = loop.time() + _ENDING_SECONDS
        if end is not None and loop.time() >= end:
            task.cancel()
            end = None
    return task.result(), cancellation


async def _note_error(work: Callable[[], Awaitable[T]], errors: list[BaseException]) -> T:
    try:
        return await work()
    except BaseException as error:
        errors.append(error)
        raise


def escape_key(text: str) -> str:
    """Return *text* as one part of a key, in which no slash is."""
    return text.replace("%", "%25").replace("/", "%2F")
