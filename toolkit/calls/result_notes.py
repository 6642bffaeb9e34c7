"""
Notes on a result about the approval of its call: what people changed, and whether the call has run before.

The model sent other arguments than those that ran, or its call did not run this time. It reads that before the result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..results import ToolResult
from .call_state import CallState

if TYPE_CHECKING:  # not loaded here, because few calls need notes
    from ..policies.redaction import Redaction

__all__ = ["add_metadata", "render_notes"]

_REPEATED = "this call was approved and run before; this is its recorded result"


def add_metadata(result: ToolResult, state: CallState) -> None:
    """Write the notes into the metadata of *result*, over what a tool or a hook put there."""
    metadata = dict(result.metadata or {})
    if state.edits:
        metadata["edits"] = [edit.to_json() for edit in state.edits]
    if state.repeats is not None:
        metadata["repeats"] = state.repeats.request.id
    result.metadata = metadata


def render_notes(state: CallState, redaction: Redaction, max_chars: int) -> str:
    """Return the notes for the model, each in a line of its own; at most *max_chars* characters."""
    from ..approvals.edits import describe_edits

    lines = describe_edits(state.edits).splitlines()
    outcome = None if state.repeats is None else state.repeats.outcome
    if outcome is not None and outcome.get("kind") != "waiting":  # a call that waits has not run
        lines.append(_REPEATED)
    text = redaction.mask_text("".join(f"note: {line}\n" for line in lines))
    return text if len(text) <= max_chars else f"{text[: max(0, max_chars - 4)]}...\n"
