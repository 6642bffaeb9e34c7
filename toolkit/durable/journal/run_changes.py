"""
What may happen to a run, as functions from a run to the changed run.

They know no database. Each returns the changed run, or raises the error that says why the change is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..._plumbing.wording import format_count
from ..errors import DurableError, RunTakenOver
from .records import PLAN_ORDER, RunRow, RunStatus
from .row_texts import is_same_json

__all__ = [
    "CUT_SHORT",
    "ENDINGS",
    "OVER",
    "activate_run",
    "add_decisions",
    "cancel_run",
    "check_newest",
    "check_same",
    "end_run",
    "execute_run",
    "give_back_run",
    "retry_run",
]

OVER: frozenset[RunStatus] = frozenset({"planned", "done", "stopped", "failed", "cancelled"})
"""The statuses of a run on which no process works any more, unless it is retried. A plan is what was asked for."""

CUT_SHORT: frozenset[RunStatus] = frozenset({"failed", "stopped", "cancelled"})
"""The statuses of a run that can be retried. Such a run may have open requests; one that is done has none."""

ENDINGS: frozenset[RunStatus] = frozenset({"waiting", "planned", "done", "stopped", "failed", "cancelled"})
"""The statuses with which an activation can end."""


def check_same(old: RunRow, new: RunRow) -> None:
    """Raise `DurableError` unless the run *old* is the one that a caller wants to create as *new*."""
    remedy = "give another id"
    if old.kind != new.kind:
        problem = f"of kind {old.kind!r}, not {new.kind!r}"
    elif not is_same_json(old.input, new.input):
        problem = f"with another input ({_describe_difference(old.input, new.input)})"
    elif old.principal != new.principal:
        problem = f"of the principal {old.principal!r}, not {new.principal!r}"
        remedy = "give that principal, or another id" if old.principal else "give no principal, or another id"
    else:
        return
    raise DurableError(f"there is a run {old.id!r} {problem} already; {remedy}", why="changed")


def _describe_difference(old: Mapping[str, Any], new: Mapping[str, Any]) -> str:
    """Return the parts in which two inputs differ, such as "`prompt` differs". Their values may be secret or long."""
    missing = object()
    names = [
        f"`{name}`"
        for name in dict.fromkeys((*old, *new))
        if old.get(name, missing) is missing
        or new.get(name, missing) is missing
        or not is_same_json({"part": old[name]}, {"part": new[name]})
    ]
    return f"{' and '.join(names)} {'differs' if len(names) == 1 else 'differ'}"


def activate_run(row: RunRow, *, worker: str, version: str, now: float, max_lives: int, epoch: int | None) -> RunRow:
    """Take the next epoch. A run that was cut off too often fails instead."""
    if epoch is not None and row.epoch != epoch:
        raise RunTakenOver(f"the run {row.id!r} was taken by another process: its epoch is {row.epoch}, not {epoch}")
    if row.status in OVER:
        raise DurableError(f"the run {row.id!r} is {row.status}; retry it to run it again", why="over")
    lives = row.lives + (row.status == "running")
    row = replace(row, epoch=row.epoch + 1, lives=lives, worker=worker, updated_at=now)
    if lives < max_lives:
        return replace(row, status="running", problem="", version=version)
    problem = (
        f"the run was cut off {format_count(lives, 'time')} in a row, each time with its process; "
        "find out what ends the process, then retry the run"
    )
    return replace(row, status="failed", problem=problem, is_open=True)


def end_run(
    row: RunRow,
    epoch: int,
    status: RunStatus,
    outcome: Mapping[str, Any],
    *,
    used_decisions: Sequence[str],
    problem: str,
    due_at: float | None,
    now: float,
) -> RunRow:
    """End the newest activation, and remove the decisions that it has used."""
    if status not in ENDINGS:
        raise ValueError(f"an activation cannot end as {status!r}; use one of {', '.join(sorted(ENDINGS))}")
    check_newest(row, epoch)
    decisions = {request: decision for request, decision in row.decisions.items() if request not in used_decisions}
    return replace(
        row,
        status=status,
        outcome=outcome,
        decisions=decisions,
        lives=0,
        problem=problem,
        worker="",
        due_at=due_at,
        is_open=status in CUT_SHORT,
        updated_at=now,
    )


def give_back_run(row: RunRow, epoch: int, *, now: float) -> RunRow:
    """Queue the run again. Its activation has ended in good order, so no life is lost."""
    check_newest(row, epoch)
    return replace(row, status="queued", lives=0, worker="", updated_at=now)


def check_newest(row: RunRow, epoch: int) -> None:
    """Raise `RunTakenOver` unless *epoch* is the newest activation of the run, and has not ended."""
    if row.epoch != epoch:
        raise RunTakenOver(
            f"the run {row.id!r} was taken over: this process has activation {epoch}, and the newest is {row.epoch}"
        )
    if row.status != "running":
        raise RunTakenOver(f"activation {epoch} of the run {row.id!r} has ended: the run is {row.status}")


def add_decisions(row: RunRow, decisions: Mapping[str, Any], answered: Collection[str], *, now: float) -> RunRow:
    """Add *decisions*. *answered* has the ids of all requests that were decided before."""
    if row.status in OVER:
        raise DurableError(f"the run {row.id!r} is {row.status}, and takes no decision any more", why="over")
    repeated = [request for request in decisions if request in row.decisions or request in answered]
    if repeated:
        raise DurableError(
            f"the request {repeated[0]!r} of the run {row.id!r} has a decision already; the first one counts",
            why="answered",
        )
    return replace(row, decisions={**row.decisions, **decisions}, updated_at=now)


def cancel_run(row: RunRow, reason: str, *, now: float) -> RunRow:
    """Cancel the run and take the next epoch. A run that is cancelled already is returned as it is."""
    if row.status == "cancelled":
        return row
    if row.status in OVER:
        raise DurableError(f"the run {row.id!r} is {row.status}, and cannot be cancelled any more", why="over")
    # A run that has never begun has no requests.
    is_open = row.epoch > 0
    return replace(
        row, status="cancelled", epoch=row.epoch + 1, problem=reason, worker="", is_open=is_open, updated_at=now
    )


def execute_run(row: RunRow, order: Mapping[str, Any], *, now: float) -> RunRow:
    """Queue a run again that has planned, with the *order* to carry out the plan, which stands for a decision."""
    if row.status != "planned":
        raise DurableError(f"the run {row.id!r} is {row.status}; only one that has planned can be executed", why="over")
    decisions = {**row.decisions, PLAN_ORDER: order}
    return replace(row, status="queued", outcome=None, decisions=decisions, lives=0, worker="", updated_at=now)


def retry_run(row: RunRow, *, now: float, deadline: float | None = None, any_version: bool = False) -> RunRow:
    """
    Queue the run again, without its outcome and lives, for a worker of any version. It may get a new *deadline*.

    With *any_version*, a run that is queued or waits is left to a worker of any version too.
    """
    if any_version and row.status in ("queued", "waiting"):
        return replace(row, version="", updated_at=now)
    if row.status in ("done", "planned"):
        remedy = "execute it, or " if row.status == "planned" else ""
        raise DurableError(f"the run {row.id!r} is {row.status}; {remedy}start a run with another id", why="over")
    if row.status not in OVER:
        raise DurableError(f"the run {row.id!r} is {row.status}; only a run that is over can be retried", why="busy")
    deadline = row.deadline if deadline is None else deadline
    if deadline is not None and deadline <= now:
        raise DurableError(
            f"the deadline of the run {row.id!r} has passed, so it would be stopped at once; give it more time with "
            "deadline_seconds, or --deadline",
            why="over",
        )
    return replace(
        row,
        status="queued",
        outcome=None,
        lives=0,
        problem="",
        worker="",
        version="",  # the program may have been changed because the run failed
        is_open=False,
        deadline=deadline,
        updated_at=now,
    )
