"""
Steps: the parts of a run that are not done twice, each with a key.

A run asks its `Steps` before it does something that costs or changes something: a request to the model, a call, and a
call that a person has approved. `Steps` may keep what came of it, and return that the next time, in another process.
The keys do not depend on the order in which parallel steps begin. So a run that is done again from its start, after a
crash, finds what it had done before. `toolkit.durable` keeps steps in a database.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, TypeAlias

from ..providers.base import Reply
from ..results import ToolCall, ToolResult
from ..session import Session

__all__ = ["ONLY_SUB_RUNS", "ONLY_SUB_RUNS_KEY", "Begin", "CallWork", "Steps"]

ONLY_SUB_RUNS_KEY = "toolkit.only_sub_runs"
ONLY_SUB_RUNS = object()
"""
Stands in the metadata of a tool, at `ONLY_SUB_RUNS_KEY`, that does nothing but start sub-runs.

Such a tool may be run again, because everything in its sub-runs is a step of its own. It is an object of this process,
so that a tool from elsewhere cannot state it.
"""

Begin: TypeAlias = Callable[[], Awaitable[None]]
"""
Records that a call is about to take effect. It is awaited after the verdict and before the tool runs.

If it raises, the tool does not run. Within one step it may be awaited several times; only the first time counts.
"""

CallWork: TypeAlias = Callable[[Begin], Awaitable[ToolResult]]
"""Runs a call and returns its result; it awaits the `Begin` just before the tool runs."""


class Steps(Protocol):
    """
    Does each step of a run once, and returns what came of it every time.

    An exception of *ask* or *work* is raised, and nothing is kept. Any other exception of these methods ends the run.

    Steps that several processes continue have an attribute `epoch`: the number of this attempt at the run, which is
    higher than those before. So a process that was replaced takes no approval from its successor.
    """

    async def reply(self, key: str, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """Return the model's reply of the step *key*: the one that was kept, or a new one by *ask*."""

    async def call(self, key: str, call: ToolCall, work: CallWork, *, may_repeat: bool, session: Session) -> ToolResult:
        """
        Return the result of the step *key*: the one that was kept, or a new one by *work*.

        Args:
            may_repeat: Whether the tool may be run again if an earlier attempt began and has no result. If not, the
                result says that the call may or may not have happened.
            session: The session of the call. What the call changes in it is kept with the result, and set again when
                the result is returned without running the call.
        """
