"""
The state of one call, which the stages of the pipeline share.

The stages read the fields. Only the methods of `CallState` change the arguments, so that the arguments, their decoded
form and the notes about repairs always belong together.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from .._plumbing.attribute_layout import reserve_attributes
from ..concurrency.cleanup_limit import await_with_limit
from ..concurrency.deadline import NO_DEADLINE, Deadline
from ..context import Progress
from ..errors import BadArgs, DefinitionError
from ..permissions.judgement import AccessJudge, Judgement
from ..policies.redaction import Redaction
from ..results import ToolCall, ToolResult
from ..values.strictjson.checks import copy_json
from .argument_forms import has_many_values, is_long_text, is_short_text, parse_arguments, refuse_text
from .attempt import log_abandoned
from .error_results import add_schema_hint, build_error_result
from .plan import CallPlan
from .settings import Settings

if TYPE_CHECKING:  # not loaded here, because most calls ask no person
    from ..approvals.records import Record
    from ..decisions import ApprovalRequest, ArgumentEdit
    from ..questions import AnsweredQuestion
    from ..values.schemas.repair import RepairedArguments

__all__ = ["CallState"]

T = TypeVar("T")


@reserve_attributes(
    *("call", "plan", "settings", "arguments", "decoded", "deadline", "is_over", "repairs", "judgement", "approved")
)
class CallState:
    """
    The state of one call.

    The objects that work on the call hold this object, and it holds none of them. So all are freed as soon as the call
    has ended, without the garbage collector.

    Attributes:
        call: The call as it was requested.
        plan: The plan of its tool.
        settings: The policies of the dispatcher.
        arguments: The arguments as they will run, in JSON form once they are checked. `check`, `change_by_hook`,
            `change_by_person` and `restore_arguments` change them.
        decoded: The decoded form of `arguments`, or `UNSURE` if they have to be checked. It changes with `arguments`,
            but after a change by a hook only in `check_hook_changes`.
        repairs: What was repaired in the arguments. `check` sets it, and so does the pipeline if it resumes a call.
        deadline: When the call has to end. `extend_deadline` changes it.
        judgement: The last judgement of the call, or None if it was not judged. The approval stage sets it.
        approved: The request that a person agreed to, or None. The approval stage sets it. The rules, checks, hooks
            and modes that asked in it do not ask again.
        edits: What people have changed in the arguments while approving the call. The approval stage sets it.
        answers: The questions of the tool that its user has answered. The approval stage sets it.
        repeats: The record of the same call, if that was approved before and this call only repeats its result. The
            approval stage sets it.
        is_over: Whether the call has its result, so that no progress is reported any more. The pipeline sets it.
    """

    # Values that seldom differ are on the class, as in `ToolResult`.
    answers: tuple[AnsweredQuestion, ...] = ()
    approved: ApprovalRequest | None = None
    edits: tuple[ArgumentEdit, ...] = ()
    is_over = False
    judgement: Judgement | None = None
    repairs: Sequence[str] = ()
    repeats: Record | None = None

    def __init__(
        self, call: ToolCall, plan: CallPlan, settings: Settings, decoded: Any, deadline: Deadline = NO_DEADLINE
    ) -> None:
        self.call = call
        self.plan = plan
        self.settings = settings
        self.arguments = call.arguments
        self.decoded = decoded
        self.deadline = deadline

    @property
    def needs_notes(self) -> bool:
        """Whether the result has to say what people changed, or that the call has run before."""
        return bool(self.edits) or self.repeats is not None

    # Changing the arguments.

    async def check(self, *, repair: bool = True) -> ToolResult | None:
        """Decode the arguments, and return a result if they are refused."""
        try:
            is_short, is_long = is_short_text(self.arguments), is_long_text(self.arguments)
            if not is_long:
                self._read_arguments()
            if is_short or (not is_long and not has_many_values(self.arguments)):
                self._decode(repair=repair)
            else:
                work = partial(self._decode_large, is_text=is_long, repair=repair)
                await self.within(self.settings.in_thread(work))
            await self._run_author_check()
        except DefinitionError as error:
            return build_error_result(error, self.plan, redaction=self.redaction())
        except BadArgs as error:
            if not self.plan.could_be_allowed(self.call.session):  # then the model must not learn its parameters
                return ToolResult.failure(
                    "denied", f"this session's rules and mode allow no call of `{self.plan.name}`"
                )
            return add_schema_hint(
                build_error_result(error, self.plan, redaction=self.redaction()), self.plan, self.call.session
            )
        return None

    def change_by_hook(self, arguments: Mapping[str, Any]) -> None:
        """Take the *arguments* of a hook. They are checked later, because the next hook may change them again."""
        self.arguments = copy_json(dict(arguments))

    async def check_hook_changes(self) -> ToolResult | None:
        """Decode the arguments that hooks have changed, and return a result if they do not fit. Repair nothing."""
        try:
            self.decoded = self.plan.checker.check(self.arguments, self.settings.validation)
            await self._run_author_check()
        except BadArgs as error:
            message = f"a hook changed the arguments to something invalid: {error}"
            return ToolResult.failure("internal", message, cause=error)
        return None

    async def change_by_person(self, arguments: Mapping[str, Any]) -> ToolResult | None:
        """Take the *arguments* that a person wrote, and return a result if they do not fit. Repair nothing."""
        self.arguments = arguments
        return await self.check(repair=False)

    def restore_arguments(self, arguments: Any, decoded: Any) -> None:
        """Take back a change by a person. *decoded* is the decoded form of *arguments*."""
        self.arguments, self.decoded = arguments, decoded

    def _read_arguments(self) -> None:
        """
        Replace the arguments by a JSON object.

        If the caller's mapping raises, the arguments become an empty object before the error is raised again.
        """
        try:
            self.arguments = parse_arguments(self.arguments, self.plan)
        except (BadArgs, DefinitionError):
            raise
        except BaseException:
            # Otherwise hooks, redaction and the audit log would read the same mapping and fail again.
            self.arguments = self.call.arguments = {}
            raise

    def _decode(self, *, repair: bool) -> None:
        """Decode the arguments, repair them if that is needed, and raise `BadArgs` if they are refused."""
        checker, validation = self.plan.checker, self.settings.validation
        errors: list[Any] = []
        try:
            refuse_text(self.arguments)
            self.decoded = checker.check(self.arguments, validation, errors)
        except BadArgs:
            repair_result = self._repair(errors) if repair and self.settings.repair else None
            if repair_result is None:
                raise
            self.decoded = checker.check(repair_result.arguments, validation)
            self.arguments, self.repairs = repair_result.arguments, repair_result.notes

    def _repair(self, errors: Sequence[Any]) -> RepairedArguments | None:
        from ..values.schemas.repair import repair_arguments  # most calls have good arguments

        hidden = self.plan.tool.signature.secrets
        return repair_arguments(self.arguments, self.plan.checker.validator, hidden=hidden, errors=errors)

    def _decode_large(self, *, is_text: bool, repair: bool) -> None:
        """
        Decode the arguments as `_decode` does, in a thread.

        The messages for the problems are also written in the thread, so that the event loop does not stall.
        """
        try:
            if is_text:
                self._read_arguments()
            self._decode(repair=repair)
        except BadArgs as error:
            _ = error.problems
            raise

    async def _run_author_check(self) -> None:
        if self.plan.validate is not None:
            from ..functions.checker import run_custom_validator  # few tools have a check of their own

            findings = run_custom_validator(self.plan.validate, dict(self.decoded), wait=True)
            problems = findings if isinstance(findings, list) else await self.within(findings)
            if problems:
                raise BadArgs(problems)

    # Time.

    async def within(self, work: Awaitable[T]) -> T:
        """Await *work* for as long as the call has time. After a cancellation its cleanup has a time limit."""
        limited: Awaitable[T] = await_with_limit(work, self.settings.cleanup_seconds, self._abandon_check)
        return await self.deadline.within(limited)

    def extend_deadline(self) -> None:
        """Leave enough time to end the call properly, also if its own time is over."""
        if self.deadline.at is not None:
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

    def redaction(self) -> Redaction:
        """Return the redaction that masks the secrets of the call, in each form that its arguments had."""
        return self.plan.redaction(self.decoded, self.arguments, self.call.arguments)
