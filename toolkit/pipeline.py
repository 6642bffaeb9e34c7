"""
One call, one path, from top to bottom.

    check (refused: repair once, check again) → before-hooks → check again if one modified
    → verdict → around-hooks → attempt → classify → retry → render → after-hooks → truncate → result

What is not configured is not entered: a tool's plan is made once, and a plain
async tool costs little more than awaiting it. Whatever happens ends in a
`ToolResult`; only a cancellation somebody asked for and KeyboardInterrupt pass on.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from .approval import asked_of
from .attempt import Attempt
from .codecs import UNSURE
from .context import Context, Progress
from .errors import BadArgs, DefinitionError, ToolError, Transient
from .hooks.base import Ask, Deny, Halt, Modify, Proceed, Replace
from .outcomes import failure, hook_failure, rendered, truncated
from .plans import Plan, Settings
from .repair import repaired
from .results import ToolCall, ToolResult
from .retry import retrying
from .validation import objections

__all__ = ["run"]

_NOTHING: Mapping[Any, Any] = {}


async def run(
    call: ToolCall,
    plan: Plan,
    settings: Settings,
    *,
    resources: Mapping[Any, Any] = _NOTHING,
    timeout_seconds: float | None = None,
) -> ToolResult:
    """Take *call* along the path; *plan* is its tool's."""
    clock = settings.clock
    started = clock()
    state = None
    result: ToolResult | None = None

    # Check. The generated code answers most calls; the rest may need a repair, or words for a refusal.
    decoded = plan.fast(call.arguments, 0)
    if decoded is UNSURE or plan.is_demanding:
        state = _State(call, plan, settings, resources, None if timeout_seconds is None else started + timeout_seconds)
        result = await state.check()
        if result is None and settings.chain.before:
            result = await state.before()
        if result is None:
            result = await state.verdict()
        if result is None:
            result = await state.around()
        if settings.chain.after:
            state.stamp(result, clock() - started)
            result = await state.after(result)
        state.stamp(result, 0.0)
    else:
        try:
            result = rendered(await plan.function(**decoded), plan)
            result.attempts = 1
        except BaseException as error:  # noqa: BLE001 -- the one place that catches everything; `failure` lets through what must pass
            state = _State(call, plan, settings, resources, None)
            state.decoded, state.attempts = decoded, 1
            result = await state.recovered(error)
            state.stamp(result, 0.0)

    if len(result.text) > plan.max_chars:
        truncated(result, plan.max_chars)
    result.call_id = call.id
    result.tool = plan.name
    result.duration_seconds = clock() - started
    if plan.hides:
        plan.redaction(decoded if state is None else state.decoded).result(result)
    return result


class _State:
    """What is known of a call on its way, for calls that need more than a plain await."""

    __slots__ = (
        "arguments",
        "asked",
        "attempts",
        "call",
        "call_id",
        "deadline",
        "decoded",
        "plan",
        "repairs",
        "replacement",
        "resources",
        "retries",
        "settings",
    )

    def __init__(
        self, call: ToolCall, plan: Plan, settings: Settings, resources: Mapping[Any, Any], deadline: float | None
    ) -> None:
        self.call = call
        self.call_id = call.id
        self.plan = plan
        self.settings = settings
        self.resources = resources
        self.deadline = deadline
        self.arguments: Any = call.arguments
        self.decoded: Any = None
        self.repairs: list[str] = []
        self.retries: list[str] = []
        self.attempts = 0
        self.asked: str | None = None
        self.replacement: ToolResult | None = None

    def stamp(self, result: ToolResult, duration_seconds: float) -> None:
        """Write on *result* what only the dispatcher knows, whatever a tool, hook or server put there."""
        result.call_id, result.tool = self.call_id, self.plan.name
        result.attempts, result.retries, result.repairs = self.attempts, self.retries, self.repairs
        result.duration_seconds = duration_seconds

    # Check, repair.

    async def check(self) -> ToolResult | None:
        """Decode the arguments; a result if they are refused."""
        checker, settings = self.plan.checker, self.settings
        try:
            if isinstance(self.arguments, (str, bytes, bytearray)):
                self.arguments = checker.parsed(self.arguments)
            try:
                self.decoded = checker.check(self.arguments, settings.validation)
            except BadArgs:
                mended = repaired(self.arguments, checker.judge) if settings.repair else None
                if mended is None:
                    raise
                self.arguments, self.repairs = mended.arguments, list(mended.notes)
                self.decoded = checker.check(mended.arguments, settings.validation)
            await self._author_check()
        except (BadArgs, DefinitionError) as error:
            return failure(error, self.plan)
        return None

    async def _author_check(self) -> None:
        validate = self.plan.tool.facts.validate
        if validate is not None:
            found = objections(validate, self.decoded)
            problems = found if isinstance(found, list) else await found
            if problems:
                raise BadArgs(problems)

    # Hooks before.

    async def before(self) -> ToolResult | None:
        """Ask the before-hooks in order; a result if one of them ends the call."""
        modified = False
        for step in self.settings.chain.before:
            self.call.arguments = _copied(self.arguments)
            try:
                outcome = step.function(self.call) if step.plain else await step.run(self.settings.in_thread, self.call)
                if step.plain and not isinstance(outcome, _OUTCOMES):
                    outcome = await outcome
                if isinstance(outcome, Proceed):
                    continue
                if isinstance(outcome, Modify):
                    self.arguments, modified = dict(outcome.arguments), True
                elif isinstance(outcome, Ask):
                    self.asked = outcome.reason
                elif isinstance(outcome, Deny):
                    return ToolResult.error("denied", outcome.reason)
                elif isinstance(outcome, Halt):
                    return ToolResult.error("halted", outcome.reason)
                elif isinstance(outcome, Replace):
                    self.replacement = rendered(outcome.result, self.plan, encode=False)
                    break
                else:
                    raise TypeError(f"before() has to return an outcome, got {outcome!r}")
            except Exception as error:  # noqa: BLE001 -- a hook that fails, fails the call closed
                return hook_failure(error, step.hook, "before", ran=False)
        self.call.arguments = self.arguments
        return await self._check_modified() if modified else None

    async def _check_modified(self) -> ToolResult | None:
        try:
            self.decoded = self.plan.checker.check(self.arguments, self.settings.validation)
            await self._author_check()
        except BadArgs as error:
            return ToolResult.error(
                "internal", f"a hook changed the arguments to something invalid: {error}", cause=error
            )
        return None

    # The verdict, on the final arguments.

    async def verdict(self) -> ToolResult | None:
        """A waiting result if a person has to agree; the replacement, if a hook gave one and nobody has to."""
        if self.plan.may_ask or self.asked is not None:
            request = await asked_of(self.plan.tool, self.call, self.decoded, self.asked, self.repairs)
            if request is not None:
                text = f"waiting for approval: {request.reason}"
                return ToolResult(text, None, "waiting", request=request)
        return self.replacement

    # Hooks around, attempts.

    async def around(self) -> ToolResult:
        """The attempts, inside the around-hooks."""
        inner = self.execute
        for step in reversed(self.settings.chain.around):
            inner = _Around(self, step, inner).run
        return await inner()

    async def execute(self) -> ToolResult:
        try:
            return rendered(await self.attempt(), self.plan, check=self.settings.check_output)
        except BaseException as error:  # noqa: BLE001 -- as in `run`
            return await self.recovered(error)

    async def attempt(self) -> Any:
        """One try."""
        plan, settings = self.plan, self.settings
        limit = plan.timeout_seconds
        if self.deadline is not None:
            left = self.deadline - settings.clock()
            if left <= 0:
                raise Transient("there was no time left to start it")
            limit = left if limit is None else min(limit, left)
        if settings.abandoned.alive:
            await self._wait_for_abandoned(limit)
        self.attempts += 1
        context = Context(
            facts=plan.tool.facts,
            call=self.call,
            attempt=self.attempts,
            deadline=self.deadline,
            resources={**settings.resources, **plan.tool.resources, **self.resources},
            logger=plan.logger,
            on_progress=self._progress,
        )
        return await Attempt(
            plan.tool,
            self.decoded,
            context,
            [self.resources, plan.tool.resources, settings.resources],
            settings.threads,
            settings.abandoned,
            digest=self._digest,
            unsafe=plan.is_unsafe,
            cleanup_seconds=settings.cleanup_seconds,
        ).run(limit)

    async def _wait_for_abandoned(self, limit: float | None) -> None:
        abandoned = self.settings.abandoned
        if abandoned.still_runs(self._digest()):
            raise ToolError("the same call still runs: its thread could not be stopped, so it was not started again")
        if self.plan.is_unsafe and not await abandoned.unsafe_ended(limit):
            raise Transient("another call still runs that must not have company; this one was not started")

    def _digest(self) -> str:
        self.call.arguments = self.arguments
        return self.call.digest()

    def _progress(self, progress: Progress) -> None:
        if self.settings.on_progress is not None:
            hidden = self.plan.redaction(self.decoded).progress(progress) if self.plan.hides else progress
            self.settings.on_progress(hidden)

    # Classify, retry.

    async def recovered(self, error: BaseException) -> ToolResult:
        """What comes of a failed attempt: another one if that is harmless, else the words for it."""
        settings, plan = self.settings, self.plan
        try:
            meant = _classified(error, plan, settings)
            if not isinstance(meant, Transient):
                return failure(meant, plan, cause=error)
            value = await retrying(
                self._again,
                settings.retry,
                failed=meant,
                sleep=settings.sleep,
                clock=settings.clock,
                chance=settings.chance,
                deadline=self.deadline,
                may_repeat=self._reason_against,
                noted=self.retries.append,
            )
            return rendered(value, plan, check=settings.check_output)
        except ToolError as final:
            return failure(final, plan, cause=final.__cause__ or (None if final is error else error))

    async def _again(self) -> Any:
        try:
            return await self.attempt()
        except BaseException as error:
            meant = _classified(error, self.plan, self.settings)
            raise meant from (None if meant is error else error)

    def _reason_against(self, error: Transient) -> str | None:
        facts = self.plan.tool.facts
        if facts.destructive:
            return "destructive tools are never run twice"
        if error.happened == "maybe" and not facts.idempotent:
            return "it may have happened already"
        if self.settings.abandoned.still_runs(self._digest()):
            return "the last attempt still runs"
        return None

    # Hooks after.

    async def after(self, result: ToolResult) -> ToolResult:
        """Show the result to the after-hooks; each may give another."""
        self.call.arguments = _copied(self.arguments) if isinstance(self.arguments, dict) else self.arguments
        for step in self.settings.chain.after:
            try:
                if step.plain:
                    found = step.function(self.call, result)
                    if not isinstance(found, ToolResult):
                        found = await found
                else:
                    found = await step.run(self.settings.in_thread, self.call, result)
                if not isinstance(found, ToolResult):
                    raise TypeError(f"after() has to return a result, got {found!r}")
                result = found
            except Exception as error:  # noqa: BLE001 -- a hook that fails, fails the call closed
                result = hook_failure(error, step.hook, "after", ran=self.attempts > 0)
        return result


_OUTCOMES = (Proceed, Modify, Deny, Replace, Ask, Halt)


class _Around:
    """One around-hook and what is inside it; remembers whether the inside ran."""

    __slots__ = ("inner", "state", "step")

    def __init__(self, state: _State, step: Any, inner: Any) -> None:
        self.state = state
        self.step = step
        self.inner = inner

    async def run(self) -> ToolResult:
        state, step = self.state, self.step
        state.call.arguments = _copied(state.arguments)
        try:
            found = await step.run(state.settings.in_thread, state.call, self.inner)
            if not isinstance(found, ToolResult):
                raise TypeError(f"around() has to return a result, got {found!r}")
        except Exception as error:  # noqa: BLE001 -- a hook that fails, fails the call closed
            return hook_failure(error, step.hook, "around", ran=state.attempts > 0)
        return found


def _classified(error: BaseException, plan: Plan, settings: Settings) -> ToolError:
    """What *error* counts as; raises it again if it has to pass."""
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise error
        return plan.cancelled()
    if isinstance(error, (KeyboardInterrupt, GeneratorExit)):
        raise error
    if settings.raise_bugs and not isinstance(error, ToolError):
        raise error
    return settings.classified(error)


def _copied(value: Any) -> Any:
    """A copy of JSON, for a hook to do with as it likes."""
    if type(value) is dict:
        return {key: each if type(each) in _SCALARS else _copied(each) for key, each in value.items()}
    if type(value) is list:
        return [each if type(each) in _SCALARS else _copied(each) for each in value]
    return value


_SCALARS = frozenset({str, int, float, bool, type(None)})
