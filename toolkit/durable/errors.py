"""
The errors of durable runs, each with one word for programs.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

from ..errors import ToolkitError

__all__ = ["DurableError", "RunTakenOver", "Why"]

Why: TypeAlias = Literal["store", "unknown", "changed", "over", "answered", "expired", "busy", "id", "value", "fenced"]


class DurableError(ToolkitError):
    """
    A durable run cannot do what was asked of it.

    Attributes:
        why: "store": the database cannot be used. "unknown": there is no such run or request. "changed": the id belongs
            to a run with another prompt or of another kind, or a tool or type of a record has changed. "over": the run
            has ended. "answered": the request was answered already. "expired": the answer comes too late. "busy":
            another process works on the run. "id": the id cannot be used. "value": something is not JSON. "fenced": see
            `RunTakenOver`.
    """

    def __init__(self, message: str, *, why: Why) -> None:
        super().__init__(message)
        self.why: Why = why


class RunTakenOver(DurableError):  # noqa: N818 -- the name says what happened
    """
    Another process has taken the run over, or the step was begun by another process.

    The process that gets this error stops working on the run. Nothing that it does afterwards is recorded.
    """

    def __init__(self, message: str) -> None:
        super().__init__(message, why="fenced")
