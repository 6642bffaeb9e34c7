"""
Answers that plain hooks gave on the fast path.

Most hooks do not intervene in most calls. As long as no hook does, a call stays on the fast path. The first hook that
intervenes sends the call to the pipeline, together with its answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ..hooks.base import Step

__all__ = ["UNASKED", "Answer", "list_remaining_hooks"]

Answer: TypeAlias = tuple[int, Any]
"""The index of the hook that intervened, and its answer or an awaitable of the answer."""

UNASKED = object()


def list_remaining_hooks(hooks: Sequence[Step], answer: Answer | None) -> list[tuple[Step, Any]]:
    """Return the hook that gave *answer*, with its answer, followed by the hooks that still have to be asked."""
    if answer is None:
        return [(step, UNASKED) for step in hooks]
    index, response = answer
    remaining = [(step, UNASKED) for step in hooks[index:]]
    remaining[0] = hooks[index], response
    return remaining
