"""
Tell what happened in a run of a flow, one sentence for each thing, and what the run has changed.

A durable run that was cancelled, or stopped by its deadline, ends between two events. So what is left of it is not
known from an outcome, but from the steps that began, returned and were undone. The same events tell whether a step has
happened that the flow does not have any more.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias

from .._plumbing.wording import format_count
from ..durable.journal.records import EventRow
from ..results import ToolResult
from ..steps.notes import read_spent
from ..steps.run_steps import SPAN_NOTE

__all__ = ["Action", "FlowEvent", "find_steps_done", "list_left", "tell_events", "tell_results"]

Action: TypeAlias = Literal["run", "check", "undo", "other"]

_KEY_PARTS = 6
"""The run, the step, the visit, the item, the action and the attempt."""

_MAYBE = ", which may or may not have happened"

_PLAIN_EVENTS = {
    "created": "the run was created",
    "activated": "a process began to work on the run",
    "given_back": "the process gave the run back",
    "decided": "people answered",
    "refused": "an answer could not be accepted",
    "cancelled": "the run was cancelled",
    "retried": "the run was started again",
    "moved": "the run was moved to another queue",
    "waiting": "the run waits for people",
    "ended": "the process wrote how its work ended",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FlowEvent:
    """
    Something that happened in a run of a flow. `str(event)` is the sentence.

    Attributes:
        at: When it happened, in seconds since 1970; None if that was not recorded.
        text: The sentence.
        step: The step that it is about; empty if it is about the run.
        action: "run", "check" or "undo"; "other" for an event of the run.
        visit: The number of the visit of the step, from 1.
        item: The number of the item of a list, from 1; 0 if the step did not run for each item.
        attempt: The number of the attempt, from 1.
        seconds: How long it took.
    """

    at: float | None = None
    text: str
    step: str = ""
    action: Action = "other"
    visit: int = 0
    item: int = 0
    attempt: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return self.text


def tell_results(results: Mapping[str, ToolResult]) -> list[FlowEvent]:
    """Return what happened in a run in memory, from the results of its calls by their keys."""
    return [
        _name_place(key, _describe_inside(key, result))
        if _is_inside(key)
        else _tell_call(key, result, seconds=result.duration_seconds)
        for key, result in results.items()
    ]


def tell_events(events: Iterable[EventRow]) -> list[FlowEvent]:
    """Return what happened in a durable run, from its events in the journal."""
    story = []
    for event in events:
        if _is_inside(event.key or ""):
            told = _tell_inside(event)
        elif event.kind == "finished":
            result = ToolResult.from_json(event.data["record"]["result"])
            if result.call_id.endswith(SPAN_NOTE):
                continue
            told = _tell_call(event.key or "", result, at=event.at, seconds=event.data["seconds"])
        elif event.kind == "began":
            place = _read_key(str(event.data.get("call") or event.key))
            told = FlowEvent(at=event.at, text=f"{_name_call(place)} began", **place)
        else:
            told = FlowEvent(at=event.at, text=_PLAIN_EVENTS.get(event.kind, event.kind) + _tell_data(event.data))
        story.append(told)
    return story


def _is_inside(key: str) -> bool:
    """Return whether *key* belongs to a run of an agent or a flow that a step has started."""
    return key.split("/")[_KEY_PARTS : _KEY_PARTS + 1] == ["inner"]


def _tell_inside(event: EventRow) -> FlowEvent:
    key, record = event.key or "", event.data.get("record", {})
    if event.kind == "began":
        text = f"`{event.data.get('tool')}` began"
    elif "result" in record:
        text = _describe_inside(key, ToolResult.from_json(record["result"]))
    else:
        text = "the model replied"
    return replace(_name_place(key, text), at=event.at, seconds=event.data.get("seconds", 0.0))


def _name_place(key: str, text: str) -> FlowEvent:
    place = _read_key(key)
    return FlowEvent(text=f"inside {_name_call(place)}: {text}", step=place["step"])


def _describe_inside(key: str, result: ToolResult) -> str:
    if result.tool:
        return _describe_call({"step": f"`{result.tool}`"}, result)
    # A run has a note where it started, and where it waited or ended.
    return f"an agent {result.text}" if "/stop/" in key else f"{result.text} was started"


def _tell_data(data: Mapping[str, Any]) -> str:
    details = [str(data[name]) for name in ("status", "reason", "problem") if data.get(name)]
    return f": {', '.join(details)}" if details else ""


def _tell_call(key: str, result: ToolResult, *, at: float | None = None, seconds: float = 0.0) -> FlowEvent:
    # The journal shortens very long keys. The id of the call is the whole key.
    place = _read_key(result.call_id if result.call_id.count("/") >= _KEY_PARTS - 1 else key)
    return FlowEvent(at=at, text=_describe_call(place, result), seconds=seconds, **place)


def _read_key(key: str) -> dict[str, Any]:
    parts = _split_key(key)
    if not parts:
        return {"step": key}
    _, step, visit, item, action, attempt = parts[:_KEY_PARTS]
    return {"step": step, "action": action, "visit": int(visit), "item": int(item), "attempt": int(attempt)}


def _split_key(key: str) -> tuple[str, ...]:
    """Return the parts of the key of a call, or of a key that begins with one; nothing for any other key."""
    parts = tuple(key.split("/"))
    is_call = len(parts) >= _KEY_PARTS and (parts[2] + parts[3] + parts[5]).isdigit()
    return parts if is_call else ()


def _name_call(place: Mapping[str, Any]) -> str:
    """Return the step, and where it is not the first one, the item, the visit and the attempt."""
    notes = [
        f"{word} {place[word]}"
        for word, usual in (("item", 0), ("visit", 1), ("attempt", 1))
        if place.get(word, usual) != usual
    ]
    name = f"{place['step']} ({', '.join(notes)})" if notes else str(place["step"])
    words = {"check": f"the check of {name}", "undo": f"the undo of {name}"}
    return words.get(place.get("action", ""), name)


def _describe_call(place: Mapping[str, Any], result: ToolResult) -> str:
    name, action = _name_call(place), place.get("action")
    if result.kind == "waiting":
        reason = "" if result.request is None else f": {result.request.reason}"
        return f"{name} waits for an answer{reason}"
    if result.kind != "ok":
        reason = result.text if result.error is None else result.error.message
        return f"{name} was denied: {reason}" if result.kind == "denied" else f"{name} failed: {reason}"
    if action == "check":
        problems = result.value or []
        return f"{name} found a problem: {'; '.join(problems)}" if problems else f"{name} passed"
    if action == "undo":
        return f"{name} was done"
    if action is None:
        return f"{name} returned"
    spent = read_spent(result)
    used = f" ({format_count(spent.usage.total_tokens, 'token')} in {format_count(spent.turns, 'turn')})"
    return f"{name} {result.text}{used if spent.turns else ''}"


_Visit: TypeAlias = tuple[str, ...]
"""A visit of a step: the step, the number of the visit, and the item."""

_CallEvent: TypeAlias = tuple[_Visit, str, Mapping[str, Any] | None]
"""What happened to a call of a flow: its visit, its action, and its result as JSON; None if the call began."""


def list_left(events: Iterable[EventRow]) -> tuple[str, ...]:
    """Return the steps that have changed something and were not undone, in order. Those that read only are left out."""
    left = _find_left(_iterate_calls(events))
    return tuple(dict.fromkeys(_show(visit) + ending for visit, ending in left.items()))


def find_steps_done(events: Iterable[EventRow]) -> tuple[str, ...]:
    """
    Return the names of the steps that `list_left` lists, but for those that have failed.

    A step that has failed is run again after a retry, so a new program may have another step in its place.
    """
    calls = list(_iterate_calls(events))
    failed = {
        visit
        for visit, action, result in calls
        if action == "run" and result is not None and result.get("kind", "ok") not in ("ok", "waiting")
    }
    left = _find_left(calls)
    return tuple(dict.fromkeys(visit[0] for visit in left if left[visit] == _MAYBE or visit not in failed))


def _iterate_calls(events: Iterable[EventRow]) -> Iterator[_CallEvent]:
    """Yield the calls of the flow itself that began or finished. A call in a sub-run of a step has an id of its own."""
    for event in events:
        result = event.data["record"].get("result") if event.kind == "finished" else None
        if event.kind != "began" and result is None:
            continue
        call_id = event.data.get("call") if result is None else result.get("call_id")
        parts = _split_key(str(call_id or event.key))
        if len(parts) == _KEY_PARTS:
            yield parts[1:4], parts[4], result


def _find_left(calls: Iterable[_CallEvent]) -> dict[_Visit, str]:
    """Return the visits of which something is left, each with what has to be said about it."""
    left: dict[_Visit, str] = {}
    for visit, action, result in calls:
        if action == "undo" and result is not None and result.get("kind", "ok") == "ok":
            left.pop(visit, None)
        elif action == "run" and result is None:
            left[visit] = _MAYBE
        elif action == "run" and visit in left and result is not None and result.get("kind") != "waiting":
            happened = ((result.get("error") or {}).get("details") or {}).get("happened")
            left[visit] = _MAYBE if happened == "maybe" else ""
            if happened == "no":
                del left[visit]
    return left


def _show(visit: _Visit) -> str:
    step, _, item = visit
    return step if item == "0" else f"{step} (item {item})"
