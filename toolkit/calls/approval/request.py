"""
The content of a request for approval: what a person is shown, and whether that is what would run.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..._plumbing.wording import format_dollars
from ...approvals.comparisons import build_edit, equals_except_masks
from ...approvals.identity import canonical_arguments, describe_tool, digest_of_call, identity_of
from ...approvals.previews import Preview, PreviewFailed, preview_of
from ...approvals.records import ApprovalError, Record
from ...decisions import ApprovalRequest, ArgumentEdit, AuthRequest
from ...permissions.grants import find_rule, is_answerable, offer_grants
from ...permissions.judgement import Judgement
from ...policies.redaction import MASK, Redaction
from ...questions import AnswersNeeded
from ...spec import Tool
from ...values.rendering import as_json
from ...values.strictjson.canonical import encode_canonical
from ...values.visible import make_visible
from ...verdicts import Finding
from .case import ApprovalCase, Unasked, mask_secrets

__all__ = [
    "check_shown_arguments",
    "complete_record",
    "find_edits",
    "has_shown_preview",
    "has_to_ask",
    "is_about",
    "is_unaltered",
    "render_reason",
    "restore_masked_secrets",
    "start_record",
]


def start_record(case: ApprovalCase, judgement: Judgement) -> Record:
    """Return a record with what identifies the call, and nothing that a person could decide by."""
    tool, call, approvals = case.plan.tool, case.call, case.approvals
    arguments = canonical_arguments(tool, judgement.request.arguments, case.frame.arguments)
    identity = identity_of(tool)
    session = None if call.session is None else call.session.id
    if not isinstance(call.principal, str | None):
        raise TypeError(
            f"the principal of a call is a text, or None, got {type(call.principal).__name__}; a request for "
            "approval cannot be stored with it"
        )
    now = approvals.clock()
    request = ApprovalRequest(
        tool=tool.name,
        origin=tool.origin,
        alias=case.plan.alias,
        cost=judgement.request.cost or 0.0,
        call_id=str(call.id),
        reason="",
        arguments=mask_secrets(arguments, tool),
        repairs=tuple(case.frame.repairs),
        edits=case.frame.edits,
        answers=case.frame.answers,
        session=session,
        principal=call.principal,
        created_at=now,
        expires_at=None if approvals.expires_seconds is None else now + approvals.expires_seconds,
        digest=digest_of_call(identity, arguments, session, call.principal),
        trace_parent=case.settings.chain.find_trace_parent() if case.plan.has_listeners else None,
    )
    return Record(
        request=request,
        arguments=arguments,
        identity=identity,
        answers=case.frame.answers,
        tool=describe_tool(tool),
    )


async def complete_record(case: ApprovalCase, started: Record, question: Unasked) -> Record:
    """Return the *started* record with the *question* that a person has to answer. It is not stored yet."""
    frame, tool, judgement = case.frame, case.plan.tool, question.judgement
    redaction = frame.redaction()
    preview = Preview(text="")
    is_approval = question.auth is None and not question.questions
    if not is_approval and case.claimed_record is not None:
        # A person who gives credentials or answers sees no preview, but what an earlier approval relies on has to hold.
        preview = Preview(text="", preconditions=case.claimed_record.request.preconditions)
    elif is_approval and (tool.facts.preview is not None or case.frame.cost):
        preview = await frame.within(_make_preview(case, judgement.request.arguments, redaction))
    asks = [finding for finding in judgement.verdict.findings if finding.word == "ask"]
    answered_askers = () if frame.approved is None else sorted(frame.approved.asked_by)
    asked_by = [judgement.verdict.by] if judgement.verdict.word == "ask" else []
    may_grant = is_approval and started.request.session is not None and not preview.is_cut
    may_grant = may_grant and all(is_answerable(finding, tool) for finding in asks)
    request = replace(
        started.request,
        reason="; ".join(dict.fromkeys(render_reason(text, redaction) for text in _collect_reasons(question, asks))),
        asked_by=tuple(dict.fromkeys([*answered_askers, *asked_by, *(finding.by for finding in asks)])),
        preview=preview.text or None,
        is_cut=preview.is_cut,
        preconditions=preview.preconditions,
        grants=tuple(
            replace(grant, rule=find_rule(grant, judgement.request))
            for grant in (offer_grants(judgement.request) if may_grant else ())
        ),
        auth=None if question.auth is None else _make_visible(question.auth),
        questions=question.questions,
    )
    shown = redaction.mask_request(request)
    unmasked = () if shown.questions == question.questions else question.questions
    return replace(started, request=shown, questions=unmasked)


async def _make_preview(case: ApprovalCase, decoded: Mapping[str, Any], redaction: Redaction) -> Preview:
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


def has_to_ask(case: ApprovalCase, judgement: Judgement) -> bool:
    """Return whether *judgement* asks something that no person has agreed to yet."""
    if judgement.verdict.word != "ask":
        return False
    approved = case.frame.approved
    if approved is None:
        return True
    # A check or a judge may ask another question this time, and the person has not answered what they have not read.
    asks = [finding for finding in judgement.verdict.findings if finding.word == "ask"]
    reasons = [finding.reason for finding in asks if finding.source in ("check", "judge")]
    if any(render_reason(reason, case.frame.redaction()) not in approved.reason for reason in reasons):
        return True
    # The name of the verdict counts too, because a judge may ask without a finding that asks.
    askers = {judgement.verdict.by, *(finding.by for finding in asks)}
    unanswered = askers.difference(approved.asked_by)
    # An approval under one mode counts under another mode, because both modes ask about the same thing.
    return not all(map(_is_mode, unanswered)) or (bool(unanswered) and not any(map(_is_mode, approved.asked_by)))


def is_about(case: ApprovalCase, record: Record) -> bool:
    """Return whether *record* is about exactly this call, and not about arguments that a person has changed."""
    session, principal = record.request.session, record.request.principal
    arguments = canonical_arguments(case.plan.tool, case.frame.decoded, case.frame.arguments)
    return digest_of_call(record.identity, arguments, session, principal) == record.request.digest


def check_shown_arguments(case: ApprovalCase, record: Record) -> None:
    """Raise `ApprovalError` unless the arguments that *record* shows to people are those that would run."""
    request = record.request
    shown_arguments = dict(request.arguments)
    actual_arguments = mask_secrets(record.arguments, case.plan.tool) if isinstance(record.arguments, Mapping) else None
    # A redaction rule that is a function may write any text in place of a secret.
    if not (
        equals_except_masks(shown_arguments, actual_arguments)
        or equals_except_masks(shown_arguments, case.frame.redaction().mask_value(actual_arguments))
    ):
        raise ApprovalError(
            f"request {request.id} shows other arguments than it would run: it was altered; call "
            f"`{request.tool}` again",
            why="forged",
        )


async def has_shown_preview(case: ApprovalCase, record: Record) -> bool:
    """
    Return whether the preview that *record* shows is the one that the tool makes of the arguments that would run.

    A preview that is different each time cannot be compared, and counts as shown.
    """
    if not record.request.is_approval:
        return True
    first, request = await _make_redacted_preview(case), record.request
    if (
        first is not None
        and (request.is_cut, request.preconditions) == (first.is_cut, first.preconditions)
        and equals_except_masks(request.preview or "", first.text)
    ):
        return True
    return await _make_redacted_preview(case) != first


async def _make_redacted_preview(case: ApprovalCase) -> Preview | None:
    redaction = case.frame.redaction()
    try:
        preview = await _make_preview(case, case.frame.decoded, redaction)
    except PreviewFailed:
        return None
    return replace(preview, text=redaction.mask_text(preview.text))


def restore_masked_secrets(edited: Mapping[str, Any], record: Record, tool: Tool) -> dict[str, Any]:
    """
    Return the arguments that a person edited, with their secrets filled in.

    A secret that the person left masked gets the value that was sent.

    Raises:
        ApprovalError: Another value is still masked, so its meaning is unknown.
    """
    original = record.arguments if isinstance(record.arguments, Mapping) else {}
    arguments = {
        name: original[name] if value == MASK and name in tool.signature.secrets and name in original else value
        for name, value in edited.items()
    }
    edited_json, original_json = encode_canonical(as_json(arguments)), encode_canonical(as_json(dict(original)))
    if MASK in edited_json and MASK not in original_json:
        raise ApprovalError(f"the edited arguments still hold {MASK!r}; write what is meant", why="arguments")
    return arguments


def is_unaltered(record: Record, tool: Tool) -> bool:
    """Return whether *record* is about exactly this tool, and holds the arguments that it was made for."""
    request = record.request
    try:
        digest = digest_of_call(record.identity, record.arguments, request.session, request.principal)
    except ValueError:
        return False  # arguments without a canonical form were never part of a request
    return identity_of(tool) == record.identity and digest == request.digest


def find_edits(record: Record, tool: Tool) -> tuple[ArgumentEdit, ...]:
    """Return what people have changed in the arguments of *record*, the person who approved it included."""
    request = record.request
    if is_unaltered(record, tool) or not isinstance(record.arguments, Mapping):
        return request.edits
    # The request shows the arguments before the change. A place that is masked there cannot be compared.
    run = mask_secrets(record.arguments, tool)
    same = [
        name for name in run if name in request.arguments and equals_except_masks(request.arguments[name], run[name])
    ]
    shown = {name: value for name, value in request.arguments.items() if name not in same}
    edit = build_edit(shown, {name: run[name] for name in run if name not in same}, record.decided_by, ())
    return request.edits if edit is None else (*request.edits, edit)


def render_reason(reason: str, redaction: Redaction) -> str:
    """Return *reason* as a person reads it: first masked, then with its hidden characters made visible."""
    return make_visible(redaction.mask_text(reason))


def _collect_reasons(question: Unasked, asks: Sequence[Finding]) -> list[str]:
    """Return all reasons that a person has to know. Why they are asked again stands first."""
    needs = []
    if (auth := question.auth) is not None:
        scopes = f" ({', '.join(auth.scopes)})" if auth.scopes else ""
        needs.append(f"credentials of {auth.provider}{scopes} are needed" + (f": {auth.reason}" if auth.reason else ""))
    if question.questions:
        needs.append(str(AnswersNeeded(question.questions)))
    again = [] if question.reason is None else [question.reason]
    return [*again, *(needs or [finding.reason for finding in asks])] or [question.judgement.verdict.reason]


def _make_visible(auth: AuthRequest) -> AuthRequest:
    url = None if auth.url is None else make_visible(auth.url, keep_lines=False)
    scopes = tuple(make_visible(scope, keep_lines=False) for scope in auth.scopes)
    return AuthRequest(
        provider=make_visible(auth.provider, keep_lines=False), scopes=scopes, url=url, reason=make_visible(auth.reason)
    )


def _is_mode(by: str) -> bool:
    return by.startswith("mode `")
