"""
The request for approval: what a person is shown, and how it is opened.

The same call that asks again gets the request that it has already. The store decides which of two callers makes the
request, also if they are in two processes. The request of a call whose id the library made up is always a new one,
unless its caller has chosen the id of the request.
"""

from __future__ import annotations

import logging
import operator
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from ..._plumbing.generated_ids import GeneratedId
from ..._plumbing.wording import format_dollars
from ...approvals.identity import (
    canonical_arguments,
    describe_tool,
    digest_of_call,
    explain_change,
    identity_of,
    is_unaltered,
)
from ...approvals.policy import Approvals
from ...approvals.previews import NO_PREVIEW, Preview, preview_of
from ...approvals.records import ApprovalError, Record
from ...approvals.repeated_calls import (
    WITHDRAWN,
    add_call,
    add_or_get,
    build_request_key,
    find_call,
    find_chosen,
    is_current,
    is_same_call,
    is_settled,
)
from ...approvals.store import ApprovalStore, Settlement
from ...decisions import ApprovalRequest, AuthRequest
from ...permissions.grants import offer_grants
from ...permissions.judgement import Judgement
from ...policies.redaction import Redaction
from ...questions import AnswersNeeded
from ...results import ToolResult
from ...values.visible import make_visible
from ...verdicts import Finding
from .case import ApprovalCase, Unasked, mask_secrets

__all__ = ["RequestIdTakenError", "close_pending", "make_preview", "open_request"]

_log = logging.getLogger("toolkit")

_MAX_SEALED = 1_000
"""How many sealed requests of one call may have been denied before it cannot be asked about any more."""


class RequestIdTakenError(ApprovalError):
    """The caller has chosen the request id of another call."""

    def __init__(self, request_id: str) -> None:
        super().__init__(
            f"the request id {request_id!r} belongs to another call: the arguments, the session, the principal or the "
            "tool itself differ; choose another request_id",
            why="changed",
        )
        self.request_id = request_id

    def to_result(self) -> ToolResult:
        """Return the result of the call, which is not started."""
        return ToolResult.failure(
            "failed",
            f"it was not started: {self}",
            details={"happened": "no"},
            cause=self,
            advice="The program that makes the call has to choose another request_id.",
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return RequestIdTakenError, (self.request_id,)


async def open_request(case: ApprovalCase, question: Unasked) -> Record:
    """
    Return the request that a person has to answer. It is stored, unless requests are sealed.

    If the same call has asked before, its record is returned. It may be answered already.
    """
    request, build_record = _start_request(case, question.judgement)
    chosen_id = case.call.request_id if question.replaces is None else None
    is_new = isinstance(case.call.id, GeneratedId) and chosen_id is None
    if question.replaces is None and not is_new:
        known = await (_find_same_call(case, request) if chosen_id is None else _find_chosen(case, request, chosen_id))
        if known is None and chosen_id is not None:
            chosen_id, is_new = None, True
        if isinstance(known, Record):
            return known
        if known is not None:
            request = replace(request, id=known)
    reason = question.reason or await _explain_change(case)
    request = await _complete_request(case, request, question, reason)
    record = build_record(
        request=request,
        questions=() if request.questions == question.questions else question.questions,
        replaces=None if question.replaces is None or request.is_approval else question.replaces.request.id,
    )
    if case.approvals.seal is not None:
        if chosen_id is not None and not case.approvals.holders.reserve(chosen_id, record.request.digest):
            raise RequestIdTakenError(chosen_id)
        return await _seal_request(case, record, question.replaces, is_new=is_new or chosen_id is not None)
    return await _add_request(case, record, question.replaces, chosen_id, is_new=is_new)


def _start_request(case: ApprovalCase, judgement: Judgement) -> tuple[ApprovalRequest, Callable[..., Record]]:
    """
    Return a request with what identifies the call, and nothing that a person could decide by.

    Also return a function that makes the record of the complete request.
    """
    plan, call, approvals = case.plan, case.call, case.approvals
    tool = plan.tool
    arguments = canonical_arguments(tool, judgement.request.arguments, case.frame.arguments)
    session = None if call.session is None else call.session.id
    if not isinstance(call.principal, str | None):
        raise TypeError(
            f"the principal of a call is a text, or None, got {type(call.principal).__name__}; a request for "
            "approval cannot be stored with it"
        )
    identity = identity_of(tool)
    build_record = partial(
        Record, arguments=arguments, identity=identity, answers=case.frame.answers, tool=describe_tool(tool)
    )
    digest = digest_of_call(identity, arguments, session, call.principal)
    now = approvals.clock()
    request = ApprovalRequest(
        tool=tool.name,
        origin=tool.origin,
        alias=plan.alias,
        cost=judgement.request.cost or 0.0,
        call_id=str(call.id),
        reason="",
        arguments=mask_secrets(arguments, plan.secrets),
        repairs=tuple(case.frame.repairs),
        edits=case.frame.edits,
        answers=case.frame.answers,
        session=session,
        principal=call.principal,
        created_at=now,
        expires_at=None if approvals.expires_seconds is None else now + approvals.expires_seconds,
        digest=digest,
        trace_parent=case.settings.chain.find_trace_parent() if plan.has_listeners else None,
    )
    return request, build_record


async def _complete_request(
    case: ApprovalCase, request: ApprovalRequest, question: Unasked, reason: str | None
) -> ApprovalRequest:
    """Return *request* with the *question* that a person has to answer; *reason* is why they are asked again."""
    frame, tool, judgement = case.frame, case.plan.tool, question.judgement
    redaction, preview = frame.redaction(), NO_PREVIEW
    is_approval = question.auth is None and not question.questions
    if not is_approval and case.claimed_record is not None:
        # A person who gives credentials or answers sees no preview, but what an earlier approval relies on has to hold.
        preview = Preview(text="", preconditions=case.claimed_record.request.preconditions)
    elif is_approval and (tool.facts.preview is not None or request.cost):
        preview = await frame.within(make_preview(case, judgement.request.arguments, redaction))
    asks = [finding for finding in judgement.verdict.findings if finding.word == "ask"]
    if not is_approval and judgement.verdict.word != "ask":
        asks = []  # a rule, a grant or the mode has allowed the call, so no person has approved it for these
    answered_askers = () if frame.approved is None else sorted(frame.approved.asked_by)
    asked_by = [judgement.verdict.by] if judgement.verdict.word == "ask" else []
    reasons = [redaction.render_reason(text) for text in _collect_reasons(question, asks, reason)]
    may_grant = is_approval and request.session is not None and not preview.is_cut
    return redaction.mask_request(
        replace(
            request,
            reason="; ".join(dict.fromkeys(reasons)),
            asked_by=tuple(dict.fromkeys([*answered_askers, *asked_by, *(finding.by for finding in asks)])),
            preview=preview.text or None,
            is_cut=preview.is_cut,
            preconditions=preview.preconditions,
            grants=tuple(offer_grants(judgement.request, asks)) if may_grant else (),
            auth=None if question.auth is None else _make_visible(question.auth),
            questions=question.questions,
        )
    )


async def make_preview(case: ApprovalCase, decoded: Mapping[str, Any], redaction: Redaction) -> Preview:
    """Return what the tool is about to do with *decoded* arguments, with the cost of the call before it."""
    preview = await preview_of(
        case.plan.tool,
        decoded,
        call=case.call,
        in_thread=case.settings.in_hook_thread,
        seconds=case.approvals.preview_seconds,
        max_chars=case.approvals.preview_chars,
        redact=redaction.mask_text,
    )
    if not case.frame.cost:
        return preview
    # The first line of a preview that was cut says so.
    cut_note, _, text = preview.text.partition("\n") if preview.is_cut else ("", "", preview.text)
    lines = [cut_note, f"costs {format_dollars(case.frame.cost)}", text]
    return replace(preview, text="\n".join(line for line in lines if line))


def _collect_reasons(question: Unasked, asks: Sequence[Finding], reason: str | None) -> list[str]:
    """Return all reasons that a person has to know. Why they are asked again, the *reason*, stands first."""
    needs = []
    if (auth := question.auth) is not None:
        scopes = f" ({', '.join(auth.scopes)})" if auth.scopes else ""
        needs.append(f"credentials of {auth.provider}{scopes} are needed" + (f": {auth.reason}" if auth.reason else ""))
    if question.questions:
        needs.append(str(AnswersNeeded(question.questions)))
    again = [] if reason is None else [reason]
    return [*again, *(needs or [finding.reason for finding in asks])] or [question.judgement.verdict.reason]


def _make_visible(auth: AuthRequest) -> AuthRequest:
    url = None if auth.url is None else make_visible(auth.url, keep_lines=False)
    scopes = tuple(make_visible(scope, keep_lines=False) for scope in auth.scopes)
    return AuthRequest(
        provider=make_visible(auth.provider, keep_lines=False), scopes=scopes, url=url, reason=make_visible(auth.reason)
    )


async def _explain_change(case: ApprovalCase) -> str | None:
    """
    Return what has changed in the tool since a person agreed to this call, and close that request.

    An attempt at the same step that was cut off may have made a request in its place. That one is closed, too.
    """
    name, approvals = case.call.former_request, case.approvals
    if not name or approvals.seal is not None:
        return None

    def find_and_close(store: ApprovalStore) -> Record | None:
        records = find_chosen(store, name) or ()
        for record in records:
            if record.state == "pending":
                close_pending(store, record, approvals)
        return records[0] if records else None

    former: Record | None = await case.run_in_store("close request", name[:64], find_and_close)
    return None if former is None else explain_change(former.tool, case.plan.tool) or None


async def _find_same_call(case: ApprovalCase, request: ApprovalRequest) -> Record | None:
    """Return the record of the same call that counts; None if the call needs a new request."""
    now = case.approvals.clock()
    if case.approvals.seal is not None:
        return (await _find_sealed(case, request))[1]
    known = await case.run_in_store("find call", request.call_id[:64], lambda store: find_call(store, request, now))
    return None if known is None else _join(case, known, request)


async def _find_chosen(case: ApprovalCase, request: ApprovalRequest, chosen_id: str) -> Record | str | None:
    """
    Return the record that counts for the call whose caller has chosen *chosen_id*, or the id for a new one.

    Return None for any other id: the tool has changed since an earlier attempt at the call, which never began.

    Raises:
        RequestIdTakenError: The id belongs to another call.
    """
    now, is_sealed = case.approvals.clock(), case.approvals.seal is not None
    known = await case.run_in_store("find request", chosen_id[:64], lambda store: find_chosen(store, chosen_id))
    if known is None:
        return chosen_id
    first, newest = known
    if first.request.digest != request.digest:
        if case.call.claim_mark:
            return None
        raise RequestIdTakenError(chosen_id)
    if is_sealed and newest.state == "pending":
        return chosen_id  # the request has come back once, and its answer was refused
    if is_settled(newest, now):
        return _join(case, newest, newest.request)
    # No person has answered in time, and the id is taken.
    return request.id


async def _add_request(
    case: ApprovalCase, record: Record, replaces: Record | None, chosen_id: str | None, *, is_new: bool
) -> Record:
    now, name = case.approvals.clock(), record.request.id
    former = None if replaces is None else replaces.request.id
    key = None if chosen_id is None else build_request_key(chosen_id)

    def add(store: ApprovalStore) -> Record:
        if former is None and is_new:
            store.add(record)
            return record
        try:
            return add_call(store, record, now, key=key, replaces=former)
        except ValueError:
            known = find_chosen(store, name) if name == chosen_id else None
            if known is None:
                raise
            newest = known[1]
            if is_settled(newest, now) or newest.request.digest != record.request.digest:
                return newest
            # Another caller has made it and withdrawn it since, and that is no answer.
            another = replace(record.request, id=os.urandom(16).hex())
            return add_call(store, replace(record, request=another), now, key=key)

    def close_unused(store: ApprovalStore, kept: Record) -> None:
        # The next attempt at a step finds its request, and may have found it already.
        if kept is record and not case.is_step:
            close_pending(store, record, case.approvals)

    # The call is counted before others can find its request, so that they do not withdraw it when they end.
    case.approvals.holders.add_maker(name)
    try:
        kept = await case.run_in_store("keep request", name, add, on_late=close_unused)
    except BaseException:
        case.approvals.holders.remove(name, is_maker=True)
        raise
    # Another caller that has chosen the same id may have made the request at the same moment.
    if kept.request.id != name or (key is not None and kept is not record):
        case.approvals.holders.remove(name, is_maker=True)
        if key is not None and kept.request.digest != record.request.digest:
            raise RequestIdTakenError(name)
        return _join(case, kept, (record if key is None else kept).request)
    case.made_ids.add(name)
    return record


def _join(case: ApprovalCase, known: Record, request: ApprovalRequest) -> Record:
    """Return *known*, the record of the same call, and count this call as one that holds it."""
    if not is_same_call(known, request):
        raise ApprovalError(
            f"the store gives request {known.request.id} for a call that it does not belong to: the store was "
            "altered; give the call another id",
            why="forged",
        )
    # The arguments of a request that was approved may be those that a person wrote, and nothing runs with them.
    is_to_run = known.state == "pending" and known.request.digest == request.digest
    if is_to_run and not is_unaltered(known, case.plan.tool):
        raise ApprovalError(f"request {known.request.id} was altered; give the call another id", why="forged")
    case.approvals.holders.add(known.request.id)
    return known


async def _seal_request(case: ApprovalCase, record: Record, replaces: Record | None, *, is_new: bool) -> Record:
    """
    Return *record* with a sealed request.

    No store keeps it. So its id is derived from the call: a request that was made twice is used once.
    """
    if replaces is not None:
        former = replaces.request
        name = _derive_id(case, former, former.id)
    elif is_new:
        name = record.request.id
    else:
        name = (await _find_sealed(case, record.request))[0]
    record = replace(record, request=replace(record.request, id=name))
    sealed = replace(record, request=case.approvals.sealed(record))
    case.made_ids.add(name)
    case.approvals.holders.add_maker(name)
    return sealed


async def _find_sealed(case: ApprovalCase, request: ApprovalRequest) -> tuple[str, Record | None]:
    """Return the id of the sealed request of the same call, and its record if it has been used here and counts."""
    name, now = _derive_id(case, request, None), case.approvals.clock()
    for _ in range(_MAX_SEALED):
        used: Record | None = await case.run_in_store("find request", name, operator.methodcaller("get", name))
        if used is None or used.state == "pending":
            return name, None
        if is_current(used, now):
            return name, used
        name = _derive_id(case, request, name)
    raise ApprovalError("the same call was denied too often; give it another id", why="store")


def _derive_id(case: ApprovalCase, request: ApprovalRequest, former: str | None) -> str:
    assert case.approvals.seal is not None  # noqa: S101 -- the callers have checked it
    return case.approvals.seal.derive_id(request.call_id, request.digest, former)


def close_pending(store: ApprovalStore, record: Record, approvals: Approvals) -> None:
    """Deny a request that no caller will answer. A failure of the store is only logged."""
    name = record.request.id
    try:
        if approvals.seal is not None:
            add_or_get(store, record)  # it travels, so the store must record here that it is closed
        store.settle(name, Settlement("denied", by=WITHDRAWN, now=approvals.clock()))
    except Exception:  # noqa: BLE001 -- the call's own ending matters more than this failure
        _log.exception("request %s could not be withdrawn", name)
