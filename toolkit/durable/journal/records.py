"""
The rows of the journal: runs, steps and events, as plain JSON values.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = ["DEFAULT_QUEUE", "PLAN_ORDER", "EventRow", "RunRow", "RunStatus", "StepRow", "WorkerRow", "find_queue"]

RunStatus: TypeAlias = Literal["queued", "running", "waiting", "planned", "done", "stopped", "failed", "cancelled"]

DEFAULT_QUEUE = "toolkit"
"""The queue of runs and workers that name none."""

PLAN_ORDER = "(plan)"
"""Stands in `RunRow.decisions`, in place of the id of a request, for the order to carry out the plan of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRow:
    """
    A durable run, with its *id* and *status*. Its *created_at* and *updated_at* are seconds since 1970.

    Attributes:
        kind: What works on the run: "agent", or "flow:NAME".
        input: What the run was started with, such as the prompt.
        outcome: What came of the last activation: the JSON of a `Run`, or the outcome of a flow; None before that. A
            run that is retried has the outcome of the last activation that waited, so that it goes on from there.
        decisions: The answers of people that no activation has applied yet, by the ids of their requests.
        epoch: The number of activations so far. Only the newest activation may write.
        lives: How many activations in a row were cut off before they had written how they ended.
        secret: A random text of the run, from which ids are derived that others must not guess.
        principal: On whose behalf the run acts.
        deadline: When the run has to end, in seconds since 1970; None for no limit.
        seconds: The seconds that the steps of the run have taken, added up. Steps at the same time count each.
        problem: Why the run failed without an outcome, or why it was cancelled; empty otherwise.
        worker: The worker of the last activation.
        version: The version of the agent or flow that the run began with; empty before that, or if any version may go
            on.
        due_at: When a run that waits has to go on without an answer, in seconds since 1970; None if never.
        is_open: Whether the run is over, and its requests for approval may not have been withdrawn yet.
    """

    id: str
    kind: str
    status: RunStatus
    input: Mapping[str, Any]
    outcome: Mapping[str, Any] | None = None
    decisions: Mapping[str, Any] = field(default_factory=dict)
    epoch: int = 0
    lives: int = 0
    secret: str = field(default="", repr=False)
    principal: str | None = None
    deadline: float | None = None
    seconds: float = 0.0
    created_at: float = 0.0
    updated_at: float = 0.0
    problem: str = ""
    worker: str = ""
    version: str = ""
    due_at: float | None = None
    is_open: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRow:
    """
    A step of a run.

    Attributes:
        epoch: The activation that wrote the row.
        state: "began": the step was about to take effect, and nothing is known since. "done": *record* holds what came
            of it.
        record: The reply, or the result with the changes of the session, as versioned JSON.
        seconds: How long the step took.
    """

    key: str
    epoch: int
    state: Literal["began", "done"]
    record: Mapping[str, Any] | None = None
    seconds: float = 0.0
    began_at: float = 0.0
    finished_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EventRow:
    """
    Something that happened in a run *at* a time, in the activation *epoch*, with its *data*; for people who look back.

    Attributes:
        number: The place in the run, from 1.
        kind: One word: "created", "activated", "began", "finished", "waiting", "decided", "ended", "cancelled", ...
        key: The key of the step that it is about, if it is about one.
    """

    number: int
    at: float
    epoch: int
    kind: str
    key: str | None = None
    data: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRow:
    """
    A process that works on runs, as it describes itself for people.

    Attributes:
        beats: Its counter. A worker whose counter does not change any more is dead.
        host: The name of its machine.
        beat_at: When it last showed that it lives, by its own clock.
        versions: The kinds of runs that it takes from the queue, with its version of each; None if it takes none, and
            works on runs of its own only.
        queue: The name of its queue.
    """

    name: str
    beats: int
    host: str = ""
    beat_at: float | None = None
    versions: Mapping[str, str] | None = None
    queue: str = DEFAULT_QUEUE

    def may_work_on(self, row: RunRow) -> bool:
        """Return whether the worker has the agent or flow of the run *row*, in the version that the run began with."""
        return row.kind in (self.versions or {}) and row.version in ("", (self.versions or {})[row.kind])


def find_queue(events: Sequence[EventRow]) -> str | None:
    """Return the queue of a run, by its *events*; None if it was made before queues were noted."""
    names = [event.data.get("queue") for event in events if event.kind in ("created", "moved")]
    return next((name for name in reversed(names) if isinstance(name, str)), None)
