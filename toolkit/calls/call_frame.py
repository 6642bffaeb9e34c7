"""
One call on its way through the stages of the pipeline.

The dispatcher makes a `CallFrame` for each call, and every stage reads it and changes it. Most calls need little of it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ..concurrency.abandoned import log_abandoned
from ..concurrency.time_limits import NO_DEADLINE, Deadline, await_with_limit
from ..context import Progress
from ..hooks.base import ShownCall
from ..policies.redaction import Redaction
from ..results import ToolCall, ToolResult, build_call_id
from ..session import Session
from ..values.codecs.code_writer import UNSURE
from .plan import CallPlan
from .settings import Settings

if TYPE_CHECKING:  # not loaded here, because most calls are not judged, ask no person and need one attempt
    from ..approvals.records import Record
    from ..decisions import ApprovalRequest, ArgumentEdit, AuthNeeded, Changed, Decision
    from ..permissions.judgement import AccessJudge, Judgement
    from ..questions import AnsweredQuestion, AnswersNeeded
    from .attempt import ToolAttempt

__all__ = ["CallFrame", "Interrupt"]

T = TypeVar("T")

Interrupt: TypeAlias = "AuthNeeded | Changed | AnswersNeeded"
"""What a tool raises if a person has to act before it can continue."""


class CallFrame:
    """
    The state of one call, which the stages share.

    The objects that work on the call may hold this object. It lets go of those that it holds when the call ends, so
    that all are freed without the garbage collector.

    Attributes:
        plan: The plan of the tool.
        arguments: The arguments as they will run, in JSON form once they are checked.
        decoded: The decoded form of `arguments`, or `UNSURE` if they have to be checked.
        number: The id of the call, or the number from which it is made.
        session: The conversation, if there is one.
        principal: The user, if the caller named one.
        started: When the call started.
        result: The result, once a stage has one.
        is_plain: Whether the result is a plain value that no hook has seen: it has no parts and no longer text.
        requested: The call as the caller made it, if the caller gave a `ToolCall`, or a stage needed one.
        resources: Values for `Inject[T]` parameters that this call brings with it, by type.
        deadline: When the call has to end.
        is_limited: Whether the call brings resources or a time limit with it.
        repairs: What was repaired in the arguments.
        ask_reasons: Why before-hooks want a person to agree.
        is_modified: Whether a before-hook has changed the arguments.
        replacement: The result that a before-hook has given in place of running the tool.
        answer: The stored request and the answer of a person, if the call continues after it.
        approval_case: The `ApprovalCase`, if the call was judged. `approval.case.get_case` makes it.
        judgement: The last judgement of the call. The approval stage sets this and the next four fields.
        approved: The request that a person agreed to. The rules, checks, hooks and modes that asked in it do not ask
            again.
        edits: What people have changed in the arguments while approving the call.
        answers: The questions of the tool that its user has answered.
        repeats: The record of the same call, if that was approved before and this call only repeats its result.
        attempts: How many attempts there were.
        retries: Why the call was retried, or why not.
        interrupt: The error by which the tool said that a person has to act before it can continue.
        last_attempt: The last attempt that needed more than a plain await.
        last_error: The error of the last attempt, while it is classified.
        shown: The call as the before-hooks have seen it. The after-hooks see the same object.
        is_told: Whether the listeners are told where the call starts and ends.
        told: The call as the listeners were last shown it.
        told_attempts: How many attempts the listeners were told. `attempts` begins anew after a person has answered.
        first_attempt_at: When the tool was first run, by the clock of the dispatcher, if the listeners are told.
        is_given_up: Whether the caller no longer waits for the thread that runs the tool.
        has_run: Whether an around-hook has run the tool.
        inner_result: The last result that the tool or an inner around-hook has given to an around-hook.
        passing_id: The identity of an error that has to be raised.
        is_over: Whether the call has its result, so that no progress is reported any more.
    """

    # Few calls set these, so their defaults are on the class.
    requested: ToolCall | None = None
    resources: Mapping[Any, Any] = MappingProxyType({})
    deadline = NO_DEADLINE
    ask_reasons: Sequence[str] = ()
    is_modified = False
    replacement: ToolResult | None = None
    judgement: Judgement | None = None
    approved: ApprovalRequest | None = None
    edits: tuple[ArgumentEdit, ...] = ()
    answers: tuple[AnsweredQuestion, ...] = ()
    repeats: Record | None = None
    last_attempt: ToolAttempt | None = None
    last_error: BaseException | None = None
    interrupt: Interrupt | None = None
    is_given_up = False
    has_run = False
    inner_result: ToolResult | None = None
    passing_id = 0
    is_over = False
    is_told = False
    told: ShownCall | None = None
    told_attempts = 0
    first_attempt_at = 0.0
    shown: ShownCall | None = None

    def __init__(
        self,
        plan: CallPlan,
        arguments: Any,
        number: int | str | None = None,
        session: Session | None = None,
        principal: str | None = None,
    ) -> None:
        self.plan = plan
        self.started = plan.clock()
        self.number = number or next(plan.call_numbers)
        self.arguments = arguments
        self.decoded: Any = UNSURE
        self.session = session
        self.principal = principal
        self.result: ToolResult | None = None
        self.is_limited = self.is_plain = False
        self.attempts = 0
        self.repairs: Sequence[str] = ()
        self.retries: Sequence[str] = ()
        self.answer: tuple[Record, Decision] | None = None
        self.approval_case: Any = None

    @classmethod
    def of(cls, plan: CallPlan, call: ToolCall) -> CallFrame:
        """Return the frame of *call*."""
        frame = cls(plan, call.arguments, call.id, call.session, call.principal)
        frame.requested = call
        return frame

    def limit(self, resources: Mapping[Any, Any] | None, timeout_seconds: float | None) -> None:
        """Give the call *resources* of its own, and limit the time of all its stages together."""
        self.is_limited = True
        if resources is not None:
            from .resources import check_resource_keys  # few calls bring resources

            self.resources = check_resource_keys(resources)
        if timeout_seconds is not None:
            self.deadline = Deadline(self.settings.clock, self.started + timeout_seconds)

    @property
    def settings(self) -> Settings:
        """The policies of the dispatcher for the tool."""
        return self.plan.settings

    @property
    def call(self) -> ToolCall:
        """The call as it was requested. Few stages need it, so it is made for them if the caller gave none."""
        if self.requested is None:
            principal = self.principal or (None if self.session is None else self.session.principal)
            call_id = build_call_id(self.number)
            self.requested = ToolCall(
                self.plan.called_name, self.arguments, call_id, self.session, principal, tool=self.plan.tool
            )
        return self.requested

    @property
    def cost(self) -> float:
        """What the call costs in US dollars, as it was judged; 0 if the tool does not say."""
        cost = self.plan.tool.facts.cost if self.judgement is None else self.judgement.request.cost
        return 0.0 if cost is None or callable(cost) else float(cost)

    def keep_request(self) -> None:
        """Make the call as it was requested now, because the arguments are about to change."""
        self.arguments = self.call.arguments if self.requested is None else self.arguments

    def show(self) -> ShownCall:
        """Return the call as hooks see it."""
        show_call = self.plan.show_call
        return show_call(self.number, self.arguments, self.session, self.principal, self.requested)

    def show_to_listeners(self) -> ShownCall:
        """Return the call as listeners see it: the same object as the last time if its arguments are the same."""
        if self.told is None or self.told.actual_arguments is not self.arguments:
            self.told = self.show()
        return self.told

    def redaction(self, *others: Any) -> Redaction:
        """Return the redaction that masks the secrets of the call, in each form of its arguments, and in *others*."""
        if not self.plan.secrets:
            return self.plan.settings.redaction
        sent = None if self.requested is None else self.requested.arguments
        return self.plan.redaction(self.decoded, self.arguments, sent, *others)

    # Time.

    async def within(self, work: Awaitable[T]) -> T:
        """
        Await *work* for as long as the call has time. After a cancellation its cleanup has a time limit.

        Raises:
            TimeoutError: It takes longer than the time left.
        """
        limited: Awaitable[T] = await_with_limit(work, self.plan.settings.cleanup_seconds, self._abandon_check)
        if self.deadline.at is None:
            return await limited
        async with asyncio.timeout(self.deadline.seconds_left()):
            return await limited

    def extend_deadline(self) -> None:
        """Leave enough time to end the call properly, also if its own time is over. The call has a deadline."""
        self.deadline = self.deadline.with_minimum(self.settings.cleanup_seconds)

    def _abandon_check(self, task: asyncio.Task[Any]) -> None:
        log_abandoned(f"a check of `{self.plan.name}`", self.settings.cleanup_seconds)
        self.settings.abandoned.keep_alive(task)

    # What the running tool needs.

    def build_access_judge(self) -> AccessJudge:
        """
        Return the object that the running tool gets as `context.permissions`.

        If the call was not judged, the request of the judges is made when the tool asks for the first time.
        """
        from ..permissions.judgement import AccessJudge  # few tools ask

        judges, plan, judgement, approved = self.settings.judges, self.plan, self.judgement, self.approved
        if judgement is None:
            return AccessJudge(judges, partial(judges.build_request, plan.tool, plan.names, self.call, self.decoded))
        if approved is None:
            return AccessJudge(judges, lambda: judgement.request)
        return AccessJudge(judges, lambda: judgement.request, approved.preconditions, approved.asked_by)

    def report(self, progress: Progress) -> None:
        """Pass *progress* to the listener, unless the call is over."""
        if self.settings.on_progress is not None and not self.is_over:
            self.settings.on_progress(
                self.redaction().mask_progress(progress) if self.plan.needs_redaction else progress
            )
