"""
What people say to a run of a host: decisions about its requests, and the order to carry out its plan.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from ..decisions import Decision
from .decisions import decision_to_json
from .errors import DurableError
from .journal.base import Journal
from .journal.records import RunRow
from .run_jobs import check_decided_requests
from .run_kinds import RunKinds

__all__ = ["RunAnswers"]


class RunAnswers:
    """
    Writes what people say to the runs of a journal.

    Args:
        in_thread: Returns what a function returns that blocks.
        get: Returns the row of a run.
        clock: A function that returns seconds since 1970.
    """

    def __init__(
        self,
        journal: Journal,
        kinds: RunKinds,
        in_thread: Callable[[Callable[[], Any]], Awaitable[Any]],
        get: Callable[[str], Awaitable[RunRow]],
        *,
        clock: Callable[[], float],
    ) -> None:
        self._journal = journal
        self._kinds = kinds
        self._in_thread = in_thread
        self._get = get
        self._clock = clock

    async def decide(self, run_id: str, decisions: Mapping[str, Decision]) -> RunRow:
        """Add *decisions* to a run, and return its row; raise `DurableError` if it does not wait for them."""
        if isinstance(decisions, Decision) or not isinstance(decisions, Mapping):
            raise TypeError("decisions are a dictionary: {request.id: Decision.approve()}")
        row = await self._get(run_id)
        now = self._clock()
        data = {request_id: decision_to_json(decision, decided_at=now) for request_id, decision in decisions.items()}
        if self._kinds.knows_requests(row):
            check_decided_requests(row, data, self._kinds.find_requests(row), now)
        if not data:
            return row
        decided: RunRow = await self._in_thread(lambda: self._journal.decide(run_id, data, now=now))
        return decided

    async def order(self, run_id: str, order: Mapping[str, Any]) -> None:
        """
        Order that the plan of a run is carried out. The same order again does nothing.

        Raises:
            DurableError: The run has not planned (`why="over"`), or was ordered something else (`why="changed"`).
        """
        try:
            await self._in_thread(lambda: self._journal.execute(run_id, order, now=self._clock()))
        except DurableError as error:
            events = await self._in_thread(lambda: self._journal.read_events(run_id))
            earlier = [event.data for event in events if event.kind == "executed"]
            if error.why != "over" or not earlier:
                raise
            if earlier[-1] != order:
                raise DurableError(
                    f"the plan of the run {run_id!r} was ordered with another prompt or in another mode; give the "
                    "same ones",
                    why="changed",
                ) from None
