"""
Going on with a run that waits, when some of the decisions may not be accepted.

A decision that a person has to correct is refused, and the others count all the same. If only the moment is wrong,
because the store of approvals is busy or another caller runs the call, the decision is not refused but tried again.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping
from functools import partial
from typing import Any, TypeAlias, TypeVar

from ..approvals.records import ApprovalError
from ..decisions import Decision
from .saved.runs import Run

__all__ = ["Resume", "is_temporary", "resume_with_decisions", "try_patiently"]

Resume: TypeAlias = Callable[[Run[Any], Mapping[str, Decision]], Awaitable[Run[Any]]]

_WAITS_SECONDS = (0.1, 0.2, 0.5, 1.0, *[2.0] * 14)

_log = logging.getLogger("toolkit")
T = TypeVar("T")


def is_temporary(error: BaseException | None) -> bool:
    """Return whether *error* says that a decision cannot be applied now, but as it is a little later."""
    return isinstance(error, ApprovalError) and error.why in ("store", "running")


async def resume_with_decisions(
    resume: Resume, run: Run[Any], decisions: Mapping[str, Decision]
) -> tuple[Run[Any], Mapping[str, Exception]]:
    """Return what *resume* makes of *run* and *decisions*, and the decisions that were refused, with the reasons."""
    try:
        return await try_patiently(lambda: resume(run, decisions), run.id), {}
    except ApprovalError as error:
        if is_temporary(error):
            raise
        if len(decisions) < 2:
            return run, dict.fromkeys(decisions, error)
    # Steps that were done return at once, so each decision can be tried for itself.
    refused: dict[str, Exception] = {}
    for request_id, decision in decisions.items():
        try:
            if run.status == "waiting":
                run = await try_patiently(partial(resume, run, {request_id: decision}), run.id)
        except ApprovalError as error:
            if is_temporary(error):
                raise
            refused[request_id] = error
    return run, refused


async def try_patiently(apply: Callable[[], Awaitable[T]], run_id: str) -> T:
    """Return what *apply* returns, which applies decisions to the run *run_id*; try again for half a minute."""
    for wait_seconds in _WAITS_SECONDS:
        try:
            return await apply()
        except ApprovalError as error:
            if not is_temporary(error):
                raise
            _log.warning("run %r: a decision could not be applied, and is tried again: %s", run_id, error)
        await asyncio.sleep(wait_seconds)
    return await apply()
