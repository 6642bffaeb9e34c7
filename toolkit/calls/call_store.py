"""
The store of approvals, as one call uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from ..approvals.store import ApprovalStore
from .call_frame import CallFrame

__all__ = ["CallStore"]

T = TypeVar("T")


class CallStore:
    """The store of approvals, limited to the time that the call of *frame* may wait for it."""

    def __init__(self, frame: CallFrame) -> None:
        self._frame = frame

    async def run(
        self,
        operation: str,
        name: str,
        work: Callable[[ApprovalStore], T],
        *,
        on_late: Callable[[ApprovalStore, T], object] | None = None,
    ) -> T:
        """Return what *work* returns; raise `StoreTimeoutError` if the call has no time left."""
        left = self._frame.deadline.seconds_left()
        return await self._frame.settings.store_runner.run(operation, name, work, seconds=left, on_late=on_late)

    async def run_at_end(
        self, operation: str, name: str, work: Callable[[ApprovalStore], T], *, is_cancelled: bool = False
    ) -> T:
        """Do the same for an outcome that has to be recorded, even if the call is out of time or is cancelled."""
        settings = self._frame.settings
        left: float | None = settings.cleanup_seconds
        if not is_cancelled:
            left = self._frame.deadline.with_minimum(settings.cleanup_seconds).seconds_left()
        return await settings.store_runner.run(operation, name, work, seconds=left, must_happen=True)

    def detach(self, operation: str, work: Callable[[ApprovalStore], object]) -> None:
        """Start *work*, and do not wait for it."""
        self._frame.settings.store_runner.detach(operation, work)
