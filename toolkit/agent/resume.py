"""
Resuming a run that waits: decisions are applied, and calls that were held back are run, in order.

A call that was held back runs when no call before it waits. If a request cannot be answered any more, the model gets a
result that says so. If it can still be answered, but not with this decision, an `ApprovalError` is raised.

`resume_with_decisions` goes on all the same: a decision that a person has to correct is refused, and the others count.
If only the moment is wrong, because the store of approvals is busy or another caller runs the call, the decision is not
refused but tried again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

from .._plumbing.generated_ids import GeneratedId
from ..approvals.comparisons import describe_edits, find_edit
from ..approvals.identity import canonical_arguments
from ..approvals.records import CORRECTABLE, ApprovalError, is_temporary
from ..decisions import ApprovalRequest, Decision
from ..errors import BadArgs
from ..results import ToolCall, ToolResult
from ..steps.call_step import PATIENCE_SECONDS
from ..steps.notes import CallPause, read_pause
from ..steps.requests import ASK_AGAIN, check_answers, withdraw_session_requests
from .active_run import ActiveRun, RunEnding
from .conversation.valid_messages import build_unfinished_result
from .loop import call_in_time, conclude_turn, dispatch_calls, watch_calls
from .saved.runs import Run, check_run

__all__ = [
    "Decisions",
    "Resume",
    "apply_decisions",
    "check_decisions",
    "resume_with_decisions",
    "try_patiently",
    "withdraw_unknown_requests",
]

Decisions: TypeAlias = Mapping[str, Decision]
Resume: TypeAlias = Callable[[Run[Any], Decisions], Awaitable[Run[Any]]]
SubRunResumer: TypeAlias = Callable[[ActiveRun, ToolCall, Decisions], Awaitable[ToolResult]]
"""A function that resumes the sub-run of a call and returns the call's result, which may wait again."""

_WITHDRAWN_REASON = "the run that asked was continued from an earlier state, which does not know of this request"

_log = logging.getLogger("toolkit")
T = TypeVar("T")


async def check_decisions(
    run: Run[Any], decisions: Decisions, check_request: Callable[[ApprovalRequest], Awaitable[None]]
) -> None:
    """Raise an error unless *run* waits for each of *decisions*, and *check_request* passes what they approve."""
    if check_run(run).status != "waiting":
        raise ValueError(f"the run is {run.status}, so there is nothing to answer; only one that waits is resumed")
    held_ids = {result.request.id for result in run.waiting() if result.request is not None}
    check_answers(decisions, run.requests, "the run", "agent.resume(run, {})", held_ids)
    requests = {request.id: request for request in run.requests}
    for key, decision in decisions.items():
        if decision.approved:
            await check_request(requests[key])


async def withdraw_unknown_requests(active_run: ActiveRun, run: Run[Any]) -> None:
    """
    Withdraw the requests of the session of *active_run* that *run*, which *active_run* continues, does not know.

    A process that was killed may have made a request after its run was saved. The run that is continued from the saved
    state makes the request again. So an approval of the older request would run the same call twice.
    """
    held_ids = {result.request.id for result in run.waiting() if result.request is not None}
    known_ids = held_ids | {request.id for request in run.requests}
    await withdraw_session_requests(
        active_run.toolbox.dispatcher, active_run.session.id, kept_ids=known_ids, reason=_WITHDRAWN_REASON
    )


async def apply_decisions(
    active_run: ActiveRun, decisions: Decisions, resume_sub_run: SubRunResumer
) -> RunEnding | None:
    """Apply *decisions*, and run the calls that were held back. Return None if the model has to be asked again."""
    calls, earlier_results = active_run.conversation.last_turn()
    if any(result.kind == "halted" for result in earlier_results):
        # The run was cancelled before the other requests were withdrawn.
        return await conclude_turn(active_run)
    for index, call in enumerate(calls):
        results = active_run.conversation.last_turn()[1]
        work, request = _find_work(active_run, call, results[index], decisions, resume_sub_run), results[index].request
        is_held = request is not None and request.waits_for is not None
        if work is None or (is_held and any(result.kind == "waiting" for result in results[:index])):
            continue
        try:
            active_run.conversation.replace_result(index, await work())
        except BaseException as error:
            _interrupt_call(active_run, index, error, decisions)
            raise
        if active_run.conversation.last_turn()[1][index].kind == "halted":
            break
    return await conclude_turn(active_run)


def _find_work(
    active_run: ActiveRun, call: ToolCall, result: ToolResult, decisions: Decisions, resume_sub_run: SubRunResumer
) -> Callable[[], Awaitable[ToolResult]] | None:
    """Return a function that gets the result of *call*; None if it has a result, or no decision is about it."""
    if result.kind != "waiting":
        return None
    if call.id in active_run.sub_runs:
        is_answered = any(request.id in decisions for request in active_run.sub_runs[call.id].run.requests)
        return (lambda: resume_sub_run(active_run, call, decisions)) if is_answered else None
    if (pause := read_pause(result)) is not None and active_run.steps is not None:
        is_answered = any(request.id in decisions for request in pause.requests)
        return (lambda: _call_again(active_run, call, pause)) if is_answered else None
    request = result.request
    if request is not None and request.waits_for is not None:
        return lambda: _run_held_call(active_run, call, request)
    if request is None or request.id not in decisions:
        return None
    return lambda: _apply_decision(active_run, call, request, decisions[request.id])


async def _run_held_call(active_run: ActiveRun, call: ToolCall, request: ApprovalRequest) -> ToolResult:
    """Run a call that was held back, and return its result. The call runs once, even if the run is resumed twice."""
    # A step is done once, so a run with steps needs no claim. One whose process was killed would stay in the store.
    if active_run.steps is None and not await active_run.toolbox.claim_request(request):
        why = "another process has continued this run"
        return active_run.watcher.record_result(call, build_unfinished_result(call, why, was_started=True))
    # It is a new call, although another run in the same session may have had a call with this id.
    new_call = ToolCall(call.name, call.arguments, GeneratedId(call.id), turn=active_run.ledger.spent.turns)
    return (await dispatch_calls(active_run, [new_call]))[0]


async def _apply_decision(
    active_run: ActiveRun, call: ToolCall, request: ApprovalRequest, decision: Decision
) -> ToolResult:
    """Apply *decision* to the call of *request*, and return the result of the call."""
    toolbox = active_run.toolbox
    active_run.watcher.record_start(call, toolbox.summary_of)
    if active_run.steps is None:
        result = await _resume_call(active_run, call, request, decision)
    else:
        key = active_run.steps.make_resume_key(request.id)
        own_call = ToolCall(call.name, call.arguments, call.id, tool=toolbox.dispatcher.catalog.get(request.tool))
        own_call.request_id = own_call.former_request = request.id
        result = await active_run.do_call_step(
            key,
            own_call,
            lambda: (
                _ask_again(active_run, own_call, key)
                if decision is ASK_AGAIN
                else _resume_call(active_run, call, request, decision)
            ),
            call_key=active_run.steps.make_call_key(call.id),
        )
    result.call_id, result.tool = call.id, request.tool
    _note_edits(active_run, result, request, decision)
    return active_run.watcher.record_result(call, result)


def _note_edits(active_run: ActiveRun, result: ToolResult, request: ApprovalRequest, decision: Decision | None) -> None:
    """
    Tell the model what people have changed in the arguments of a call that may or may not have happened.

    Results that the dispatcher has made say so already. *result* is that of the call of *request*.
    """
    is_uncertain = result.error is not None and result.error.details.get("happened") == "maybe"
    if decision is None or not decision.approved or not is_uncertain or "edits" in (result.metadata or {}):
        return
    edits, plan = request.edits, active_run.toolbox.dispatcher.find_plan(request.tool)
    if plan is not None and decision.arguments is not None:
        with contextlib.suppress(BadArgs):
            decoded = plan.tool.check(decision.arguments)
            arguments = canonical_arguments(plan.tool, decoded, decision.arguments)
            edit = find_edit(request, arguments, decision.by, plan.secrets)
            edits += () if edit is None else (edit,)
    if plan is not None and edits:
        notes = "".join(f"note: {line}\n" for line in describe_edits(edits).splitlines())
        result.text = plan.redaction(request.arguments, decision.arguments or {}).mask_text(notes) + result.text
        result.metadata = {**(result.metadata or {}), "edits": [edit.to_json() for edit in edits]}


async def _call_again(active_run: ActiveRun, call: ToolCall, pause: CallPause) -> ToolResult:
    """Return the result of *call*, which is made once more, because a run inside it has an answer."""
    assert active_run.steps is not None  # noqa: S101 -- the caller has checked it
    catalog, call_key = active_run.toolbox.dispatcher.catalog, active_run.steps.make_call_key(call.id)
    own_call = ToolCall(call.name, call.arguments, call.id, tool=catalog.get(call.name))
    active_run.steps.prepare(own_call, call_key)
    own_call.request_id = pause.request_id  # a person may have approved the call itself
    active_run.watcher.record_start(call, active_run.toolbox.summary_of)
    result = await active_run.do_call_step(
        f"{call_key}/again/{pause.number}",
        own_call,
        lambda: call_in_time(active_run, own_call),
        call_key=call_key,
        pause=pause,
    )
    return active_run.watcher.record_result(call, result)


async def _ask_again(active_run: ActiveRun, call: ToolCall, key: str) -> ToolResult:
    """Return the result of *call*, which is made once more in the step *key*, because its request was withdrawn."""
    assert active_run.steps is not None  # noqa: S101 -- the caller has checked it
    active_run.steps.prepare(call, key)
    return await call_in_time(active_run, call)


async def _resume_call(
    active_run: ActiveRun, call: ToolCall, request: ApprovalRequest, decision: Decision
) -> ToolResult:
    toolbox = active_run.toolbox
    tool = toolbox.dispatcher.catalog.get(request.tool)
    is_blocked = (
        toolbox.mode_of(active_run.session) == "plan" and tool is not None and not toolbox.is_for_planning(tool)
    )
    seconds_left = active_run.ledger.remaining_seconds()
    if decision.approved and is_blocked:
        decision = Decision.deny(f"only tools that read are used in mode `plan`, and `{request.tool}` is none")
    elif decision.approved and seconds_left == 0:
        decision, seconds_left = Decision.deny(active_run.ledger.explain_limit("seconds")[1]), None
    try:
        with watch_calls(active_run):
            resume: Callable[..., Awaitable[ToolResult]] = toolbox.dispatcher.resume
            if active_run.steps is not None:
                resume = partial(active_run.steps.resume, toolbox.dispatcher, call_id=call.id)
            session, resources = active_run.session, active_run.resources
            return await resume(request, decision, session=session, resources=resources, timeout_seconds=seconds_left)
    except ApprovalError as error:
        if error.why in CORRECTABLE or is_temporary(error):  # the host can answer again
            raise
        if error.why == "changed" and decision.approved and tool is not None:
            return await _ask_about_change(active_run, call, request)
        is_repeated = active_run.steps is not None and error.why == "answered" and error.outcome is None
        if is_repeated and not decision.approved:  # the same step has denied the call before, and was cut off
            return ToolResult.failure("denied", decision.reason or "the user said no")
        if error.outcome is not None:  # the call was run elsewhere
            return ToolResult.from_json(error.outcome)
        return ToolResult.failure("denied", str(error), advice="It was not run; call it again if it is still needed.")


async def _ask_about_change(active_run: ActiveRun, call: ToolCall, request: ApprovalRequest) -> ToolResult:
    """Return the result of *call*, which is made once more, because its tool has changed since *request*."""
    # It is a new call, because the id belongs to the earlier request.
    new_call = ToolCall(call.name, call.arguments, GeneratedId(call.id), turn=active_run.ledger.spent.turns)
    new_call.former_request = request.id
    if active_run.steps is None:
        return await call_in_time(active_run, new_call)
    return await _ask_again(active_run, new_call, active_run.steps.make_resume_key(request.id))


def _interrupt_call(active_run: ActiveRun, index: int, error: BaseException, decisions: Decisions) -> None:
    """Leave a valid conversation when *error* interrupts a call. The others wait on if a request can be answered."""
    calls, results = active_run.conversation.last_turn()
    if isinstance(error, ApprovalError) or calls[index].id in active_run.sub_runs:
        return  # the call waits as before, or its sub-run does
    why = "it was cancelled" if isinstance(error, asyncio.CancelledError) else "it was broken off"
    unfinished, request = build_unfinished_result(calls[index], why, was_started=True), results[index].request
    if request is not None:
        _note_edits(active_run, unfinished, request, decisions.get(request.id))
    active_run.conversation.replace_result(index, unfinished)
    if active_run.to_run(RunEnding(status="stopped")).requests:
        return
    for place, (call, result) in enumerate(zip(calls, results, strict=True)):
        if place > index and result.kind == "waiting":
            active_run.conversation.replace_result(place, build_unfinished_result(call, why))


async def resume_with_decisions(
    resume: Resume, run: Run[Any], decisions: Decisions
) -> tuple[Run[Any], Mapping[str, Exception]]:
    """Return what *resume* makes of *run* and *decisions*, and the decisions that were refused, with the reasons."""
    try:
        return await try_patiently(lambda: resume(run, decisions), run.id), {}
    except ApprovalError as error:
        if is_temporary(error):
            raise
        if len(decisions) < 2:
            return run, dict.fromkeys(decisions, error)
    # Steps that were done return at once, so each decision can be tried for itself.
    refused: dict[str, Exception] = {}
    for request_id, decision in decisions.items():
        try:
            if run.status == "waiting":
                run = await try_patiently(partial(resume, run, {request_id: decision}), run.id)
        except ApprovalError as error:
            if is_temporary(error):
                raise
            refused[request_id] = error
    return run, refused


async def try_patiently(apply: Callable[[], Awaitable[T]], run_id: str) -> T:
    """Return what *apply* returns, which applies decisions to the run *run_id*; try again for half a minute."""
    for wait_seconds in PATIENCE_SECONDS:
        try:
            return await apply()
        except ApprovalError as error:
            if not is_temporary(error):
                raise
            _log.warning("run %r: a decision could not be applied, and is tried again: %s", run_id, error)
        await asyncio.sleep(wait_seconds)
    return await apply()
