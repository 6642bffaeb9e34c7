"""
Asking plain hooks in passing.

Most hooks have nothing to say to most calls. As long as that is so, a call need
not stop for them; the first that has something to say makes it a longer walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

from ..hooks.base import Step

__all__ = ["UNASKED", "Answer", "from_answer"]

Answer: TypeAlias = tuple[int, Any]
"""Which hook has something to say, and what: its answer, or an awaitable of one."""

UNASKED = object()


def from_answer(hooks: Sequence[Step], answer: Answer | None) -> list[tuple[Step, Any]]:
    """The hooks still to be asked, and before them the one that gave *answer*, with what it said."""
    if answer is None:
        return [(step, UNASKED) for step in hooks]
    index, said = answer
    return [(hooks[index], said), *((step, UNASKED) for step in hooks[index + 1 :])]
