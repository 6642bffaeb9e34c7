"""
The runs of an agent in their rows: how they ended, and what they did until they were ended from outside.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ..agent.final_answers import AnswerFormat
from ..agent.saved.kept_turns import KeptTurns
from ..agent.saved.run_fields import Status, Stop
from ..agent.saved.run_seal import dump_run, load_run
from ..agent.saved.runs import Run, read_answer
from .errors import DurableError
from .journal.records import PLAN_ORDER, RunRow, RunStatus, StepRow
from .journal.row_texts import shorten_key
from .run_input import unpack_message
from .run_kinds import ActivationEnd

__all__ = ["add_turns", "build_end", "describe_stop", "has_end", "load_paused", "read_outcome"]

_log = logging.getLogger("toolkit")


def read_outcome(row: RunRow, answer_format: AnswerFormat | None) -> Run[Any]:
    """Return the run of *row*, as far as the row knows it; raise `ValueError` if it cannot be read."""
    run = _load_last(row)
    if row.status in ("queued", "running"):
        return _stop_run(run, "running", None, "the run is under way")
    if row.status == "cancelled":
        return _stop_run(run, "stopped", "cancelled", row.problem or "the run was cancelled")
    if row.status == "failed" and run.status != "failed":
        return _stop_run(run, "failed", None, row.problem)
    return read_answer(run, answer_format)


def describe_stop(row: RunRow, status: RunStatus, reason: str, steps: Mapping[str, StepRow]) -> Mapping[str, Any]:
    """Return the outcome of a run that has failed with an exception, or whose deadline has passed."""
    stop: Stop | None = None if status == "failed" else "seconds"
    ended = _stop_run(_load_last(row), "failed" if status == "failed" else "stopped", stop, reason)
    return dump_run(add_turns(row, steps, ended))


def add_turns(row: RunRow, steps: Mapping[str, StepRow], ended: Run[Any]) -> Run[Any]:
    """Return *ended*, the end of the run *row*, with the conversation and usage of its *steps*, if they can be read."""
    order, records = row.decisions.get(PLAN_ORDER), {key: step.record for key, step in steps.items()}
    try:
        prompt = None if order is None else unpack_message(order)
        run = KeptTurns(_load_last(row), records, ended.reason, shorten_key).add(prompt)
    except ValueError as error:
        _log.warning("run %r: its steps cannot be read, so its conversation ends early: %s", row.id, error)
        return ended
    return replace(ended, messages=run.messages, usage=run.usage, reply_count=run.reply_count)


def load_paused(row: RunRow) -> Run[Any]:
    """Return the run of *row* as it last waited; raise `DurableError` if another version has written it."""
    try:
        return load_run(row.outcome or {})
    except ValueError as error:
        raise DurableError(
            f"the run {row.id!r} cannot be read: {error}; go on with it with the version of the program that has "
            "written it, or cancel it",
            why="changed",
        ) from error


def has_end(row: RunRow) -> bool:
    """Return whether the outcome of *row*, which is over, says how it ended, and not only how it last waited."""
    if row.status == "cancelled":
        return False
    return row.status != "failed" or (bool(row.outcome) and load_paused(row).status == "failed")


def build_end(run: Run[Any]) -> ActivationEnd:
    """Return how an activation has ended that has brought a run to *run*."""
    # A run that is "running" was interrupted, and an exception says so.
    return ActivationEnd(status="failed" if run.status == "running" else run.status, outcome=dump_run(run))


def _load_last(row: RunRow) -> Run[Any]:
    """Return the run of *row* as its outcome has it, or as it began."""
    if row.outcome:
        return load_run(row.outcome)
    return Run(status="running", id=row.id, messages=(unpack_message(row.input),))


def _stop_run(run: Run[Any], status: Status, stop: Stop | None, reason: str) -> Run[Any]:
    """Return *run* with another status. Calls that wait are left out of it, because only a run that waits has some."""
    messages = run.messages[:-2] if run.requests else run.messages
    return replace(run, status=status, stop=stop, reason=reason, messages=messages, subs=(), answer=None, plan=None)
