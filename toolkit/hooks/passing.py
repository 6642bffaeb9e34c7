"""
Asking plain hooks in passing.

Most hooks have nothing to say to most calls. As long as that is so, a call need
not stop for them; the first that has something to say makes it a longer walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, TypeAlias

from ..results import ToolResult
from .base import Proceed, ShownCall, Step

__all__ = ["UNASKED", "Answer", "correction", "from_answer", "objection"]

Answer: TypeAlias = tuple[int, Any]
"""Which hook has something to say, and what: its answer, or an awaitable of one."""

UNASKED = object()


def objection(hooks: Sequence[Step], shown: ShownCall) -> Answer | None:
    """The first answer of a before-hook that is not simply Proceed."""
    for index, step in enumerate(hooks):
        try:
            outcome = step.function(shown)
        except BaseException as error:  # noqa: BLE001 -- raised again where hooks are expected to fail
            return index, _raising(error)
        if type(outcome) is not Proceed:
            return index, outcome
        shown.seen = None
    return None


def correction(hooks: Sequence[Step], shown: ShownCall, result: ToolResult) -> Answer | None:
    """The first answer of an after-hook that is not simply the result."""
    for index, step in enumerate(hooks):
        try:
            found = step.function(shown, result)
        except BaseException as error:  # noqa: BLE001 -- as above
            return index, _raising(error)
        if found is not result:
            return index, found
        shown.seen = None
    return None


async def _raising(error: BaseException) -> NoReturn:
    raise error


def from_answer(hooks: Sequence[Step], answer: Answer | None) -> list[tuple[Step, Any]]:
    """The hooks still to be asked, and before them the one that gave *answer*, with what it said."""
    if answer is None:
        return [(step, UNASKED) for step in hooks]
    index, said = answer
    return [(hooks[index], said), *((step, UNASKED) for step in hooks[index + 1 :])]
