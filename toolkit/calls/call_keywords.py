"""
The keyword arguments of `call`, `call_many` and `resume`, for the methods that pass them on.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping
from typing import Any, TypedDict

from ..results import ToolCall, ToolResult
from ..session import Session

__all__ = ["BatchKeywords", "CallKeywords", "SharedKeywords"]


class SharedKeywords(TypedDict, total=False):
    """What all three methods take."""

    session: Session | None
    principal: str | None
    resources: Mapping[Any, Any] | None
    timeout_seconds: float | None


class CallKeywords(SharedKeywords, total=False):
    """What `call` takes."""

    id: str | None
    request_id: str | None


class BatchKeywords(SharedKeywords, total=False):
    """What `call_many` takes."""

    run_call: Callable[[ToolCall], Coroutine[Any, Any, ToolResult]] | None
