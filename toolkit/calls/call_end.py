"""
The end of a call: what only the dispatcher knows is written into the result, secrets are masked, and it is cut to size.

If a person changed the arguments, or the call did not run because it had run before, the model reads that first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._lazy_names import LazyModule
from ..results import ToolResult
from .call_frame import CallFrame

if TYPE_CHECKING:
    from . import truncation
else:  # most results are short
    truncation = LazyModule(f"{__package__}.truncation")

__all__ = ["finish", "stamp"]

_REPEATED = "this call was approved and run before; this is its recorded result"


def finish(frame: CallFrame) -> None:
    """
    Make the result ready for the caller. From now on no progress of the tool is reported.

    A plain result needs nothing but its stamp, unless it is too long.
    """
    plan, result = frame.plan, stamp(frame)
    if frame.is_plain:
        # A text that is written later is cut then.
        if result.deferred_text is None and len(result.text) > plan.sure_chars:
            _truncate_if_long(frame, result)
        return
    if frame.last_attempt is not None:
        frame.is_over = True
    if plan.has_around_hooks:
        frame.inner_result = None  # the traceback of its error holds frames that hold the frame
    if plan.needs_redaction:
        frame.redaction().mask_result(result)
    if frame.approval_case is not None and (frame.edits or frame.repeats is not None):
        _add_notes(frame, result)
    if len(result.text) > plan.sure_chars and _truncate_if_long(frame, result):
        return
    if result.bound_full_text is not None or result.parts:
        truncation.keep_full_text(result, plan.limit, plan, frame.session, frame.principal)
        truncation.truncate_resources(result, plan.limit)


def _truncate_if_long(frame: CallFrame, result: ToolResult) -> bool:
    """Cut *result* if its text is longer than the limit of its tool allows. Return whether it was."""
    plan = frame.plan
    if plan.limit.allows(result.text):
        return False
    truncation.truncate_result(
        result, plan.limit, plan, frame.session, frame.principal, is_json_of_value=frame.is_plain
    )
    return True


def stamp(frame: CallFrame) -> ToolResult:
    """Set the fields of the result that only the dispatcher knows, over what a tool, hook or server put there."""
    result, plan = frame.result, frame.plan
    clock = plan.clock
    if result is None:
        raise RuntimeError(f"the call of `{plan.name}` has no result")
    result.attempts = frame.attempts
    result.tool = plan.name
    result.number = frame.number
    result.duration_seconds = clock() - frame.started
    result.repairs = frame.repairs
    result.retries = frame.retries
    if frame.is_plain:  # the tool has no cost, was called by its own name, and no hook has seen the result
        return result
    result.alias = plan.alias
    result.cost = frame.cost if plan.has_cost and frame.attempts else 0.0
    if frame.approval_case is not None and (frame.edits or frame.repeats is not None):
        metadata = dict(result.metadata or {})
        if frame.edits:
            metadata["edits"] = [edit.to_json() for edit in frame.edits]
        if frame.repeats is not None:
            metadata["repeats"] = frame.repeats.request.id
        result.metadata = metadata
    return result


def _add_notes(frame: CallFrame, result: ToolResult) -> None:
    """Tell the model, before the text of *result*, what people changed and whether the call has run before."""
    plan = frame.plan
    notes = _render_notes(frame, plan.sure_chars // 2)
    fits = plan.limit.allows(notes + result.text)
    shorten = truncation.keep_full_text if fits else truncation.truncate_result
    shorten(result, plan.limit.minus(notes), plan, frame.call.session, frame.call.principal)
    result.text = notes + result.text


def _render_notes(frame: CallFrame, max_chars: int) -> str:
    """Return the notes for the model, each in a line of its own; at most *max_chars* characters."""
    from ..approvals.comparisons import describe_edits  # few calls need notes

    lines = describe_edits(frame.edits).splitlines()
    outcome = None if frame.repeats is None else frame.repeats.outcome
    if outcome is not None and outcome.get("kind") != "waiting":  # a call that waits has not run
        lines.append(_REPEATED)
    text = frame.redaction().mask_text("".join(f"note: {line}\n" for line in lines))
    return text if len(text) <= max_chars else f"{text[: max(0, max_chars - 4)]}...\n"
