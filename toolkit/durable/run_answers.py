"""
What people say to a run of a host: decisions about its requests, and the order to carry out its plan.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .decisions import decision_to_json
from .errors import DurableError
from .journal.records import RunRow
from .journal.run_journal import Journal
from .run_jobs import check_decided_requests
from .run_kinds import RunKinds
from .run_queue import InThread

__all__ = ["add_decisions", "order_plan"]


async def add_decisions(
    journal: Journal, kinds: RunKinds, in_thread: InThread, row: RunRow, decisions: Any, now: float
) -> RunRow:
    """Add *decisions* to the run *row*, and return its row; raise `DurableError` if it does not wait for them."""
    if not isinstance(decisions, Mapping):
        raise TypeError("decisions are a dictionary: {request.id: Decision.approve()}")
    data = {request_id: decision_to_json(decision, decided_at=now) for request_id, decision in decisions.items()}
    if (requests := kinds.find_requests(row)) is not None:
        check_decided_requests(row, data, requests, now)
    if not data:
        return row
    decided: RunRow = await in_thread(lambda: journal.decide(row.id, data, now=now))
    return decided


async def order_plan(journal: Journal, in_thread: InThread, run_id: str, order: Mapping[str, Any], now: float) -> None:
    """Order that the plan of a run is carried out. The same order again does nothing, and another one is refused."""
    try:
        await in_thread(lambda: journal.execute(run_id, order, now=now))
    except DurableError as error:
        events = await in_thread(lambda: journal.read_events(run_id))
        earlier = [event.data for event in events if event.kind == "executed"]
        if error.why != "over" or not earlier:
            raise
        if earlier[-1] != order:
            raise DurableError(
                f"the plan of the run {run_id!r} was ordered with another prompt or in another mode; give the same "
                "ones",
                why="changed",
            ) from None
