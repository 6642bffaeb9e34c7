"""
Carrying out a plan: what is checked before, and the claim by which a plan is carried out once.
"""

from __future__ import annotations

import asyncio
from typing import Any

from ..approvals import ApprovalError
from ..permissions.modes import Mode, check_mode
from ..session import Session
from .plan_mode import build_plan_request
from .saved.runs import Run, check_run
from .toolbox import Toolbox

__all__ = ["check_execution", "claim_plan", "is_plan_claimed"]


def check_execution(run: Run[Any], mode: Mode | None) -> Mode | None:
    """Return *mode*, in which the plan of *run* is carried out; raise `ValueError` if that is not possible."""
    if check_run(run).status != "planned":
        raise ValueError(f"the run is {run.status}; only one that has planned can be executed")
    if mode == "plan":
        raise ValueError('a plan cannot be executed in mode "plan"; choose another mode, such as "default"')
    return None if mode is None else check_mode(mode)


async def claim_plan(toolbox: Toolbox, session: Session, run: Run[Any]) -> asyncio.CancelledError | None:
    """
    Record that the caller carries out the plan of *run*, and return the cancellation that came meanwhile.

    Raises:
        ApprovalError: The plan was carried out already.
    """
    is_ours, cancelled = await toolbox.claim_plan(session, build_plan_request(run))
    if not is_ours:
        raise cancelled or ApprovalError(
            "the plan of this run was carried out already, or is being carried out; "
            "continue with the run that `execute` returned, or let the model plan again",
            why="answered",
        )
    return cancelled


async def is_plan_claimed(toolbox: Toolbox, run: Run[Any]) -> bool:
    """Return whether the plan of *run* was carried out already, or is being carried out."""
    request_id = build_plan_request(run).id
    runner = toolbox.dispatcher.settings.store_runner
    return await runner.run("find request", request_id, lambda store: store.get(request_id)) is not None
