"""
The steps of one run, and their keys.

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
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, TypeVar

from ..approvals.records import ApprovalError
from ..calls.propagation import CallAbandoned
from ..calls.resources import check_resource_keys
from ..calls.resume import resume_call
from ..context import current_run_id
from ..decisions import ApprovalRequest, Decision
from ..dispatcher import Dispatcher
from ..providers.base import Reply
from ..results import ToolCall, ToolResult
from ..session import Session
from ..values.strictjson.canonical import digest_parts
from .base import Begin, NotKept, may_repeat, read_note, refuse_work, write_note
from .call_step import CallStep, RunScope, current_step
from .nested_runs import NestedRuns
from .notes import CallPause
from .records import ReplyToPrompts
from .requests import find_withdrawn_ids

__all__ = ["SPAN_NOTE", "RunSteps", "derive_id", "escape_key"]

SPAN_NOTE = "/span"
"""The end of the key under which a durable run keeps the span in which it began."""

T = TypeVar("T")


@dataclass(eq=False)
class RunSteps:
    """
    The steps of one run. The *key* of the run is the beginning of all their keys.

    Attributes:
        reply_count: How many replies the run has had so far, without those that were summaries.
        outer: The step that the run is a part of, if there is one.
        epoch: The number of this attempt at the run; see `Steps`.
        shares_budget: Whether the run uses the budget of that step's run, and not one of its own.
    """

    scope: RunScope
    key: str
    _: KW_ONLY
    reply_count: int = 0
    outer: CallStep | None = None
    shares_budget: bool = False
    _summary_count: int = field(init=False, default=0)
    _kept_reply: Reply | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        self.epoch: int = getattr(self.scope.steps, "epoch", 0)
        # A run that is not durable ends with its process, and a run inside another one begins where that one goes on.
        self._span_key = f"{self.key}{SPAN_NOTE}" if self.scope.durable_id and self.outer is None else None

    # Keys, and ids that are derived from them.

    def make_call_key(self, call_id: str) -> str:
        """Return the key of a call of the last reply."""
        return f"{self.key}/call/{self.reply_count}.{escape_key(call_id)}"

    def make_resume_key(self, request_id: str) -> str:
        """Return the key of the step that applies a person's answer to a request."""
        return f"{self.key}/resume/{escape_key(request_id)}"

    def derive_request_id(self, key: str) -> str | None:
        """Return the id of a request that the step *key* makes; None for a random one."""
        return derive_id(self.scope.secret, "request", key) if self.scope.secret else None

    def prepare(self, call: ToolCall, key: str) -> None:
        """Give *call* the ids that it has in every attempt at the step *key*."""
        call.request_id = self.derive_request_id(key)
        call.idempotency_key, call.claim_mark = self._derive_marks(call.id)

    def _derive_marks(self, call_id: str) -> tuple[str, str]:
        """
        Return the idempotency key of a call, and the mark of its claims in the store of approvals.

        A step runs its call only if no earlier attempt at it has begun, or if the tool may be run again. So it takes
        over a claim that an earlier attempt has made. The mark tells it from the claims of other callers.
        """
        key = derive_id(self.scope.secret, "idempotency key", self.make_call_key(call_id))
        return key, f"{digest_parts('toolkit claim mark', key)[:16]}.{self.epoch}"

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
        return await self._report(self.scope.steps.reply(key, lambda: _note_error(ask, errors)), errors)

    async def call(
        self,
        key: str,
        call: ToolCall,
        work: Callable[[CallStep], Coroutine[Any, Any, ToolResult]],
        session: Session,
        *,
        call_key: str | None = None,
        pause: CallPause | None = None,
    ) -> ToolResult:
        """
        Return the result of the step *key*: the one that was kept, or a new one by *work*. The call has its tool.

        If the step makes a call again, *call_key* is the key of its first step, and *pause* says why it waited.
        """
        errors: list[BaseException] = []
        cancellation: asyncio.CancelledError | None = None
        repeats = may_repeat(call.tool)
        is_kept: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        async def do_call(begin: Begin) -> ToolResult:
            nonlocal cancellation
            nested = NestedRuns(self.scope.steps, call_key or key, pause)
            step = CallStep(key, begin, self.scope, call, session, nested, is_kept)
            token, id_token = current_step.set(step), current_run_id.set(self.scope.durable_id)
            try:
                noted_work = _note_error(lambda: step.await_store(lambda: work(step)), errors)
                if repeats:
                    result = await noted_work
                else:
                    result, cancellation = await step.await_to_end(noted_work)
            except CallAbandoned as abandoned:
                raise abandoned.__cause__ or abandoned from None
            finally:
                current_step.reset(token)
                current_run_id.reset(id_token)
                await step.end()
            if nested.failure is not None:
                raise nested.failure
            # A durable run is given back, and asks when the store works again.
            store_error = None if self.scope.durable_id is None else step.find_store_error(result)
            if store_error is not None:
                raise store_error
            return result

        kept_work = self.scope.steps.call(key, call, do_call, may_repeat=repeats, session=session)
        try:
            result = await self._report(kept_work, errors)
            is_kept.set_result(True)
        finally:
            if not is_kept.done():
                is_kept.set_result(False)
        if cancellation is not None:
            raise cancellation  # it came after the tool had returned, and the result is kept now
        return result

    async def resume(
        self,
        dispatcher: Dispatcher,
        request: ApprovalRequest,
        decision: Decision,
        session: Session,
        resources: Mapping[Any, Any] | None,
        *,
        call_id: str,
        timeout_seconds: float | None = None,
    ) -> ToolResult:
        """
        Continue a call that waits inside its step, as `Dispatcher.resume` does.

        Raise `ApprovalError` with `why="changed"` if the request was withdrawn, so that the call has to ask again.
        """
        idempotency_key, claim_mark = self._derive_marks(call_id)
        try:
            return await resume_call(
                request,
                decision,
                dispatcher.find_plan,
                dispatcher.settings,
                session=session,
                principal=None,
                resources={} if resources is None else check_resource_keys(resources),
                timeout_seconds=timeout_seconds,
                idempotency_key=idempotency_key,
                claim_mark=claim_mark,
            )
        except ApprovalError as error:
            # A process that was replaced may withdraw the request at any moment. A person has said yes all the same.
            if error.why == "answered" and decision.approved and await find_withdrawn_ids(dispatcher, [request]):
                raise ApprovalError(f"request {request.id} was withdrawn; ask again", why="changed") from error
            raise

    async def read_note(self, key: str) -> Any:
        return await self._report(read_note(self.scope.steps, key))

    async def write_note(self, key: str, text: str, value: Any) -> None:
        await self._report(write_note(self.scope.steps, key, text, value))

    async def read_first_span(self) -> tuple[str, ...]:
        """Return the span that `keep_first_span` has kept, in this process or in one before it; nothing if none is."""
        span = await self.read_note(self._span_key) if self._span_key is not None else None
        return (span,) if isinstance(span, str) else ()

    async def keep_first_span(self, span: str | None) -> None:
        """Keep *span*, in which the run begins, for the process that goes on if this one is cut off."""
        if self._span_key is not None and span is not None:
            await self.write_note(self._span_key, "the span in which the run began", span)

    async def _report(self, step: Awaitable[T], work_errors: Sequence[BaseException] = ()) -> T:
        """Await *step*. Report its error to the step that this run is a part of, unless the work has raised it."""
        try:
            return await step
        except Exception as error:
            # The call of the sub-run would turn the error into a result, and the run would go on without its steps.
            if self.outer is not None and not any(error is work_error for work_error in work_errors):
                self.outer.nested.failure = error
            raise


async def _note_error(work: Callable[[], Awaitable[T]], errors: list[BaseException]) -> T:
    try:
        return await work()
    except BaseException as error:
        errors.append(error)
        raise


def derive_id(secret: str, purpose: str, key: str) -> str:
    """Return an id for this *purpose*, which is the same in every process, and which others cannot guess."""
    text = f"toolkit {purpose} {key}"
    return hmac.new(secret.encode(), text.encode(errors="surrogatepass"), "sha256").hexdigest()[:32]


def escape_key(text: str) -> str:
    """Return *text* as one part of a key, in which no slash is."""
    return text.replace("%", "%25").replace("/", "%2F")
