"""
The requests for approval of an agent's durable runs, in its store of approvals.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from ..agent.agent import Agent
from ..agent.stepped_runs import delete_run_requests, withdraw_run_requests
from .journal.records import RunRow
from .run_kinds import RequestKeeper

__all__ = ["AgentRequests"]


class AgentRequests(RequestKeeper):
    """The requests of the durable runs of *agent*."""

    def __init__(self, agent: Agent[Any]) -> None:
        self._agent = agent

    async def withdraw(self, row: RunRow, kept_ids: Collection[str], reason: str) -> None:
        """Withdraw the requests of a run that is over, but for those with *kept_ids*."""
        await withdraw_run_requests(self._agent, row.id, row.secret, kept_ids=kept_ids, reason=reason)

    async def delete(self, rows: Sequence[RunRow]) -> None:
        """Delete what the store has about requests of runs that were deleted."""
        await delete_run_requests(self._agent, [(row.id, row.secret) for row in rows])
