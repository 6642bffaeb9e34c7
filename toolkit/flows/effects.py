"""
What a durable run of a flow has changed, told from its events.

A run that was cancelled, or stopped by its deadline, ends between two events. So what is left of it is not known from
an outcome, but from the steps that began, returned and were undone. The same events tell whether a step has happened
that the flow does not have any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..durable.journal.records import EventRow

__all__ = ["find_steps_done", "list_left"]

_KEY_PARTS = 6
_MAYBE = ", which may or may not have happened"


def list_left(events: Iterable[EventRow]) -> tuple[str, ...]:
    """Return the steps that have changed something and were not undone, in order. Those that read only are left out."""
    return tuple(dict.fromkeys(_show(visit) + ending for visit, ending in _find_left(events).items()))


def find_steps_done(events: Iterable[EventRow]) -> tuple[str, ...]:
    """
    Return the names of the steps that `list_left` lists, but for those that have failed.

    A step that has failed is run again after a retry, so a new program may have another step in its place.
    """
    events = list(events)
    failed = {visit for event in events if (visit := _read_failure(event)) is not None}
    left = _find_left(events)
    return tuple(dict.fromkeys(visit[0] for visit in left if left[visit] == _MAYBE or visit not in failed))


def _read_failure(event: EventRow) -> tuple[str, ...] | None:
    """Return the step, the visit and the item of a run that has failed; None for any other event."""
    parts = _read_parts(event) if event.kind == "finished" else None
    if parts is None or parts[4] != "run" or event.data["record"]["result"].get("kind", "ok") in ("ok", "waiting"):
        return None
    return parts[1:4]


def _find_left(events: Iterable[EventRow]) -> dict[tuple[str, ...], str]:
    """Return what is left by the step, the visit and the item, each with what has to be said about it."""
    left: dict[tuple[str, ...], str] = {}
    for event in events:
        parts = _read_parts(event)
        if parts is None:
            continue
        visit, action = parts[1:4], parts[4]
        result = event.data["record"]["result"] if event.kind == "finished" else None
        if action == "undo" and result is not None and result.get("kind", "ok") == "ok":
            left.pop(visit, None)
        elif action == "run" and result is None:
            left[visit] = _MAYBE
        elif action == "run" and visit in left and result is not None:
            _note_result(left, visit, result)
    return left


def _read_parts(event: EventRow) -> tuple[str, ...] | None:
    """Return the parts of the key of a call of the flow that began or finished; None for any other event."""
    if event.kind == "began":
        key = str(event.data.get("call") or event.key)
    elif event.kind == "finished" and "result" in event.data["record"]:
        key = str(event.data["record"]["result"].get("call_id") or event.key)
    else:
        return None
    parts = tuple(key.split("/"))
    # A call in a sub-run of a step has an id of its own.
    return parts if len(parts) == _KEY_PARTS and (parts[2] + parts[3] + parts[5]).isdigit() else None


def _note_result(left: dict[tuple[str, ...], str], visit: tuple[str, ...], result: Mapping[str, Any]) -> None:
    if result.get("kind") == "waiting":
        return
    happened = ((result.get("error") or {}).get("details") or {}).get("happened")
    if happened == "no":
        del left[visit]
    else:
        left[visit] = _MAYBE if happened == "maybe" else ""


def _show(visit: tuple[str, ...]) -> str:
    step, _, item = visit
    return step if item == "0" else f"{step} (item {item})"
