"""
Calls that are steps of a run: a new call, and a call that a person has answered.

A step runs its call only if no earlier attempt at the step has begun, or if the tool may be run again. So a claim that
an earlier attempt has made in the store of approvals is taken over. A mark tells it from the claims of other callers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..calls.resources import check_resource_keys
from ..calls.resume import resume_call
from ..catalogs.views import CatalogView
from ..decisions import ApprovalRequest, Decision
from ..dispatcher import Dispatcher
from ..results import ToolCall, ToolResult
from ..session import Session
from ..values.strictjson.canonical import digest_parts
from .base import ONLY_SUB_RUNS, ONLY_SUB_RUNS_KEY
from .run_steps import RunSteps

__all__ = ["build_claim_mark", "may_repeat", "prepare_step_call", "resume_in_step"]


def prepare_step_call(call: ToolCall, steps: RunSteps, key: str) -> None:
    """Give *call* the ids that it has in every attempt at the step *key*."""
    call.request_id = steps.derive_request_id(key)
    call.idempotency_key = steps.derive_idempotency_key(call.id)
    call.claim_mark = build_claim_mark(call.idempotency_key, steps.epoch)


def may_repeat(catalog: CatalogView, name: str) -> bool:
    """Return whether a step that has begun, and has no result, may call the tool *name* again."""
    tool = catalog.get(name)
    if tool is None:
        return False
    is_harmless = tool.facts.idempotent and not tool.facts.destructive
    return is_harmless or (tool.facts.metadata or {}).get(ONLY_SUB_RUNS_KEY) is ONLY_SUB_RUNS


def build_claim_mark(idempotency_key: str, epoch: int) -> str:
    """Return the mark of the claims that attempts at the step with this key make, in the activation *epoch*."""
    return f"{digest_parts('toolkit claim mark', idempotency_key)[:16]}.{epoch}"


async def resume_in_step(
    dispatcher: Dispatcher,
    request: ApprovalRequest,
    decision: Decision,
    session: Session,
    resources: Mapping[Any, Any] | None,
    *,
    timeout_seconds: float | None,
    idempotency_key: str,
    epoch: int,
) -> ToolResult:
    """
    Continue a call that waits, as `Dispatcher.resume` does.

    Raises:
        ApprovalError: The answer cannot be accepted.
    """
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
        claim_mark=build_claim_mark(idempotency_key, epoch),
    )
