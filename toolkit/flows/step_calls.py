"""
The calls of a flow: each has a key, is made by the dispatcher, and is recorded by the steps.

The keys are `RUN/STEP/VISIT/ITEM/run/ATTEMPT`, and the same with `check` or `undo` in place of `run`. A call that a
person has answered goes on under the key of the call with `/resume/REQUEST` added, and a call in which an agent waited
with `/again/NUMBER`. So a flow that is run again from its start, after a crash, finds what it had done.

If a hook or a person has changed the arguments of a call, they are kept under its key with `/changed` added.

Each record has a digest of the value. If the program was changed meanwhile, so that the step gets another value,
the record is not used. A request that was made for another value, or for a step that has changed, is made again, and so
is one that was withdrawn when the run had ended. `StepDispatchers` makes the dispatchers of a flow.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
from collections.abc import Callable, Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from ..agent.resume import try_patiently
from ..approvals import Approvals
from ..approvals.records import CORRECTABLE, ApprovalError, is_temporary
from ..calls.resources import PER_CALL, check_resource_keys
from ..catalog import Catalog
from ..decisions import ApprovalRequest, Decision
from ..dispatcher import Dispatcher
from ..durable.errors import DurableError
from ..hooks.base import ShownCall, SpanRecorder, find_recorders
from ..permissions import Permissions
from ..results import ToolCall, ToolResult
from ..session import Session
from ..spec import Tool
from ..steps.call_step import BEGIN_HOOK, CallStep, RunScope
from ..steps.expense import Expense
from ..steps.notes import CallPause, StepNotes, attach_notes, read_pause, read_spent
from ..steps.requests import ASK_AGAIN, find_answer
from ..steps.run_steps import RunSteps, escape_key
from .graph import Graph
from .outcomes import Problems

__all__ = ["CallHeldBack", "StepCaller", "StepDispatchers", "build_key"]

_CHANGED = "changed"
"""The last part of the key under which the arguments of a call are kept, if a hook or a person has changed them."""

_DIGEST = "toolkit.arguments"
"""The name of the digest of the value in the metadata of a result."""

_EPOCH = "toolkit.epoch"
"""The name of the number of the activation in which a call was made, in the metadata of its result."""


def build_key(*parts: object) -> str:
    """Return the parts of a key with slashes between them; a slash in a part is escaped."""
    return "/".join(escape_key(str(part)) for part in parts)


class CallHeldBack(Exception):  # noqa: N818 -- the name says what happened
    """A call was held back before it started."""


class _Unanswered(Exception):  # noqa: N818 -- the name says what happened
    """The request of a call has no answer yet."""


@dataclass(frozen=True, slots=True)
class _RecordedCall:
    """A call with the *digest* of its value. *finish* prepares each result of it for the record."""

    call: ToolCall
    digest: str
    resources: Mapping[Any, Any]
    finish: Callable[[ToolResult], ToolResult]


class StepCaller:
    """
    Makes the calls of one run of a flow. The last hook of *dispatcher* is `BEGIN_HOOK`. The run has waited in the spans
    *waited_in*.

    Attributes:
        key: The key of the run, with which all keys begin.
        session: The session of the calls.
        spent: What agents inside the steps have used.
        postponed: Why an answer could not be applied now, although it may be right; None if all could be.
        newest_epoch: The newest activation in which one of the calls was made that were needed so far.
        held_back: The keys of calls that must not start any more. Those that were recorded return their records.
    """

    def __init__(
        self,
        dispatcher: Dispatcher,
        scope: RunScope,
        session: Session,
        *,
        key: str,
        outer: CallStep | None = None,
        waited_in: tuple[str, ...] = (),
    ) -> None:
        self._dispatcher = dispatcher
        self._scope = scope
        self._steps = RunSteps(scope, key, outer=outer)
        self.session = session
        self.newest_epoch = 0
        self.key = key
        self.spent = Expense()
        self.postponed: ApprovalError | None = None
        self.held_back: set[str] = set()
        self._changed: dict[str, Mapping[str, Any] | None] = {}
        self.settings = dispatcher.settings
        self._waited_in = waited_in

    async def find_waiting_spans(self) -> tuple[str, ...]:
        """Return the spans in which the run has waited; if it was cut off before that, the one in which it began."""
        return self._waited_in or await self._steps.read_first_span()

    async def keep_first_span(self) -> None:
        """Keep the span in which the run begins in its journal."""
        await self._steps.keep_first_span(self.settings.chain.find_trace_parent())

    async def call(
        self,
        key: str,
        tool: Tool,
        arguments: Mapping[str, Any],
        *,
        value: object = None,
        problems: Problems | None = None,
        finish: Callable[[ToolResult], ToolResult] = lambda result: result,
    ) -> ToolResult:
        """
        Return the result of a call, which was recorded or is made now. It waits if a person has to answer first.

        The record is good for *value*, which has a type, or else for *arguments*. *finish* prepares a result for it. A
        call that is held back, and has no record, raises `CallHeldBack`.
        """
        text = json.dumps(arguments if value is None else value, sort_keys=True)
        digest = hashlib.sha256(text.encode()).hexdigest()[:32]
        call = ToolCall(tool.name, arguments, key, self.session, tool=tool)
        self._steps.prepare(call, key)
        recorded = _RecordedCall(call, digest, {Problems: problems or Problems()}, finish)
        result = await self._do_step(key, recorded, partial(self._make_call, recorded))
        answered: set[str] = set()
        while result.kind == "waiting" and (request := result.request) is not None:
            is_stale, pause = _read_digest(result, digest) != digest, read_pause(result)
            if is_stale and pause is not None:
                break  # the step has begun with another value
            if pause is not None:
                next_key, work = f"{key}/again/{pause.number}", partial(self._call_again, recorded, pause)
            elif request.id not in answered:
                answered.add(request.id)
                next_key = f"{key}/{build_key('resume', request.id)}"
                work = partial(self._resume, recorded, request, is_stale)
            else:
                break
            try:
                result = await self._do_step(next_key, recorded, work, pause)
            except (_Unanswered, CallHeldBack):
                break
        _check_digest(result, digest, key)
        # A call that was cut off has no epoch.
        epoch = (result.metadata or {}).get(_EPOCH)
        self.newest_epoch = max(self.newest_epoch, epoch if isinstance(epoch, int) else 0)
        return result

    async def wait_until_over(self, tool: Tool) -> bool:
        """Wait for calls of *tool* in this run that were given up and still run; return False if they take too long."""
        settings, session_id = self._dispatcher.settings, self.session.id
        return await settings.abandoned.wait_for(
            lambda call: call.caller[0] == session_id and call.tool == tool.name, settings.timeout_seconds
        )

    async def _do_step(
        self,
        key: str,
        recorded: _RecordedCall,
        work: Callable[[CallStep], Coroutine[Any, Any, ToolResult]],
        pause: CallPause | None = None,
    ) -> ToolResult:
        call = recorded.call

        async def keep_changed_arguments(shown: ShownCall) -> None:
            # The check and the undo of a step have to get the value with which the step really ran.
            is_own = (shown.name, shown.id) == (call.name, call.id)  # the step may make other calls
            if is_own and shown.arguments != call.arguments:
                text = "got another value, from a hook or a person"
                await self._steps.write_note(f"{call.id}/{_CHANGED}", text, copy.deepcopy(shown.arguments))
                self._changed.pop(call.id, None)

        async def work_unless_held_back(step: CallStep) -> ToolResult:
            if call.id in self.held_back:
                raise CallHeldBack
            step.on_start = keep_changed_arguments
            result = recorded.finish(_count_attempt(await step.await_result(work(step))))
            result.metadata = {**(result.metadata or {}), _DIGEST: recorded.digest, _EPOCH: self._steps.epoch}
            return attach_notes(result, StepNotes(spent=step.nested.spent))

        result = await self._steps.call(key, call, work_unless_held_back, self.session, call_key=call.id, pause=pause)
        self.spent += read_spent(result)
        return result

    async def _make_call(self, recorded: _RecordedCall, step: CallStep) -> ToolResult:
        await self._wait_for_same_call(recorded.call)
        return await self._dispatcher.call(recorded.call, resources=recorded.resources)

    async def _call_again(self, recorded: _RecordedCall, pause: CallPause, step: CallStep) -> ToolResult:
        """Make a call once more, because a run inside it has an answer."""
        answers = [await find_answer(self._scope, request) for request in pause.requests]
        if not any(answers):
            raise _Unanswered
        recorded.call.request_id = pause.request_id  # a person may have approved the step itself
        return await self._make_call(recorded, step)

    async def _resume(
        self, recorded: _RecordedCall, request: ApprovalRequest, is_stale: bool, step: CallStep
    ) -> ToolResult:
        """Go on with a call after an answer to *request*. If the request is of no use any more, make the call again."""
        call = recorded.call
        call.request_id = request.id
        await self._wait_for_same_call(call)
        try:
            answer = partial(self._answer, recorded, request)
            result = None if is_stale else await try_patiently(answer, self.key)
        except ApprovalError as error:
            # The calls beside this one go on. Then the run is given back, with its decisions.
            self.postponed = error
            raise _Unanswered from error
        if result is not None:
            return result
        call.request_id, call.former_request = self._steps.derive_request_id(step.key), request.id
        return await self._dispatcher.call(call, resources=recorded.resources)

    async def _answer(self, recorded: _RecordedCall, request: ApprovalRequest) -> ToolResult | None:
        """
        Return the result of the answered call; None if the request was withdrawn, or is about another tool.

        Raise `ApprovalError` if that is not possible now, but may be a little later.
        """
        decision = await find_answer(self._scope, request)
        if decision is None:
            raise _Unanswered
        if decision is ASK_AGAIN:
            return None
        try:
            return await self._steps.resume(
                self._dispatcher, request, decision, self.session, recorded.resources, call_id=recorded.call.id
            )
        except ApprovalError as error:
            if is_temporary(error):
                raise
            if error.why in CORRECTABLE:
                self._scope.refused[request.id] = error
                raise _Unanswered from error
            if error.why == "changed" and decision.approved:
                return None
            if error.outcome is not None:
                return ToolResult.from_json(error.outcome)
            reason = str(error) if decision.approved else decision.reason or "denied"
            return ToolResult.failure("denied", reason, details={"happened": "no"})

    async def find_changed_arguments(self, key: str) -> Mapping[str, Any] | None:
        """Return the arguments with which the call *key* ran; None if they were those that the flow gave it."""
        if key not in self._changed:
            self._changed[key] = await self._steps.read_note(f"{key}/{_CHANGED}")
        return self._changed[key]

    async def _wait_for_same_call(self, call: ToolCall) -> None:
        """Wait for an earlier attempt at the same call that could not be stopped, such as one in a thread."""
        settings = self._dispatcher.settings
        if settings.abandoned.alive:
            caller, digest = call.session_key, ShownCall.of(call, call.arguments).digest()
            # If this takes too long, the dispatcher refuses the call, and says why.
            await settings.abandoned.wait_for(
                lambda stuck: stuck.caller[0] == caller and stuck.digest == digest, settings.timeout_seconds
            )

    async def withdraw(self, requests: Iterable[ApprovalRequest], reason: str) -> None:
        """Deny requests of a flow that has ended, so that a later approval cannot run their calls."""
        for request in requests:
            with contextlib.suppress(ApprovalError):  # it was answered, or has expired
                await self._dispatcher.resume(request, Decision.deny(reason), session=self.session)


def _count_attempt(result: ToolResult) -> ToolResult:
    """Return *result* as that of an attempt, if it says that the call may have happened. A hook can say so, too."""
    # Only a call that was cut off has such a result without an attempt, because then the steps make the result.
    if result.error is not None and result.error.details.get("happened") == "maybe":
        result.attempts = max(result.attempts, 1)
    return result


def _read_digest(result: ToolResult, default: str) -> str:
    # A call that was cut off has no digest, because the steps make its result.
    return str((result.metadata or {}).get(_DIGEST, default))


def _check_digest(result: ToolResult, digest: str, key: str) -> None:
    if _read_digest(result, digest) != digest:
        raise DurableError(
            f"the step {key!r} was done with another value than it gets now, because the flow was changed while the "
            f"run was under way; finish the run with the program that began it, or start it again under a new id",
            why="changed",
        )


ChooseApprovals: TypeAlias = Callable[[Approvals], Approvals]
"""Returns the approvals of a run, from those of the dispatcher whose policies hold for the flow."""


class StepDispatchers:
    """Makes dispatchers under the policies of *dispatcher*, or in mode `auto` if the flow was given none."""

    def __init__(
        self, dispatcher: Dispatcher | None, telemetry: SpanRecorder | None, find_graph: Callable[[], Graph]
    ) -> None:
        _check_dispatcher(dispatcher)
        self._own = dispatcher
        self._telemetry = telemetry
        self._find_graph = find_graph

    def build(
        self,
        dispatcher: Dispatcher | None,
        resources: Mapping[Any, Any],
        choose_approvals: ChooseApprovals = lambda approvals: approvals,
    ) -> Dispatcher:
        """Return a dispatcher for the steps with *resources*, under the policies of *dispatcher* or of the flow."""
        _check_dispatcher(dispatcher)
        source = dispatcher or self._find_own()
        nodes = self._find_graph().nodes.values()
        helpers = [tool for node in nodes for tool in (node.check, node.undo) if tool is not None]
        tools = Catalog(*(node.tool for node in nodes), *helpers)
        view = tools.provided({Problems: PER_CALL, **check_resource_keys(resources)})
        hooks = [*source.settings.chain.leave_out_own(find_recorders()), BEGIN_HOOK]
        approvals = choose_approvals(source.approvals)
        return source.extended(view, hooks=hooks, approvals=approvals, telemetry=self._telemetry)

    def build_without_tools(self, choose_approvals: ChooseApprovals) -> Dispatcher:
        """Return a dispatcher that runs no step. It needs no resources, and knows the store of approvals."""
        source = self._find_own()
        return source.extended(Catalog(), approvals=choose_approvals(source.approvals))

    def _find_own(self) -> Dispatcher:
        if self._own is None:
            self._own = Dispatcher(Catalog(), permissions=Permissions("auto"))
        return self._own


def _check_dispatcher(dispatcher: object) -> None:
    if dispatcher is not None and not isinstance(dispatcher, Dispatcher):
        raise TypeError(f"dispatcher has to be a Dispatcher, got {type(dispatcher).__name__}")
