"""
What the record of a call has besides its result: what the run of the call needs to go on from there.

`Steps` keep one result for a call. So the notes are put into the metadata of the result while `Steps` have it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

from ..results import ToolResult
from ..session import Session
from .budgets import Spent
from .runs import SubRun

__all__ = ["StepNotes", "attach_notes", "detach_notes", "read_spent"]

_KEY = "toolkit.step"
_NOTHING = Spent()


@dataclass(frozen=True, slots=True, kw_only=True)
class StepNotes:
    """
    What a call did besides its result.

    Attributes:
        spent: What the sub-runs of the call have used.
        plan: The plan that the call has handed over, if it did.
        sub_run: The sub-run of the call, if the call waits for it.
    """

    spent: Spent = _NOTHING
    plan: str | None = None
    sub_run: SubRun | None = None


def attach_notes(result: ToolResult, notes: StepNotes) -> ToolResult:
    """Return *result* with *notes* in its metadata, in place of what its tool or a hook has put there."""
    data: dict[str, Any] = {}
    if notes.spent != _NOTHING:
        data["spent"] = notes.spent.to_json()
    if notes.plan is not None:
        data["plan"] = notes.plan
    if notes.sub_run is not None:
        data["sub_run"] = notes.sub_run.to_json()
    return _with_note_data(result, data)


def detach_notes(result: ToolResult, session: Session) -> tuple[ToolResult, StepNotes]:
    """
    Return *result* without the notes in its metadata, and the notes. A sub-run gets *session*.

    Raises:
        ValueError: The notes are not those that `attach_notes` has written. The message names the place.
    """
    data = (result.metadata or {}).get(_KEY)
    if data is None:
        return result, StepNotes()
    if not isinstance(data, dict) or not isinstance(data.get("plan"), str | None):
        raise ValueError(f"the metadata of a result has `{_KEY}`, which is not the notes of a step")  # noqa: TRY004 -- unread JSON
    notes = StepNotes(
        spent=Spent.from_json(data["spent"]) if "spent" in data else _NOTHING,
        plan=data.get("plan"),
        sub_run=SubRun.from_json(data["sub_run"], session) if "sub_run" in data else None,
    )
    return _with_note_data(result, {}), notes


def read_spent(result: ToolResult) -> Spent:
    """Return what the notes of *result* say that the runs inside its call have used."""
    data = (result.metadata or {}).get(_KEY)
    return Spent.from_json(data["spent"]) if isinstance(data, dict) and "spent" in data else _NOTHING


def _with_note_data(result: ToolResult, data: dict[str, Any]) -> ToolResult:
    metadata = result.metadata or {}
    if not data and _KEY not in metadata:
        return result
    others = {name: value for name, value in metadata.items() if name != _KEY}
    changed = copy.copy(result)
    changed.metadata = {**others, _KEY: data} if data else others or None
    return changed
