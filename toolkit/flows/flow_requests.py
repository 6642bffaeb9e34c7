"""
The requests for approval of the durable runs of a flow, in its store of approvals.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Sequence

from ..approvals.repeated_calls import WITHDRAWN
from ..dispatcher import Dispatcher
from ..durable.journal.records import RunRow
from ..durable.run_kinds import RequestKeeper
from ..steps.requests import delete_session_requests, withdraw_session_requests

__all__ = ["FlowRequests"]

_log = logging.getLogger("toolkit")


class FlowRequests(RequestKeeper):
    """
    The requests of the runs of one flow.

    Args:
        open_dispatcher: Returns a dispatcher that has the store of approvals.
        name_session: Returns the id of the session of a run.
    """

    def __init__(self, open_dispatcher: Callable[[], Dispatcher], name_session: Callable[[RunRow], str]) -> None:
        self._open_dispatcher = open_dispatcher
        self._name_session = name_session

    async def withdraw(self, row: RunRow, kept_ids: Collection[str], reason: str) -> None:
        """Withdraw the requests of a run that is over, but for those with *kept_ids*."""
        await withdraw_session_requests(
            self._open_dispatcher(), self._name_session(row), kept_ids=kept_ids, reason=reason, by=WITHDRAWN
        )

    async def delete(self, rows: Sequence[RunRow]) -> None:
        """Delete what the store has about requests of runs that were deleted."""
        if not await delete_session_requests(self._open_dispatcher(), {self._name_session(row) for row in rows}):
            _log.warning(
                "the requests of %d runs stay in the store of approvals, because its purge has no parameter `sessions`",
                len(rows),
            )
