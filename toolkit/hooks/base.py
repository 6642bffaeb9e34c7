"""
What a hook may say, and how a chain of hooks is prepared.

A hook is any object with one or more of these, sync or async:

    before(call) -> Proceed | Modify | Deny | Replace | Ask | Halt
    around(call, run) -> result        run() takes no arguments and gives the result
    after(call, result) -> result

They run in the order they were given. A hook that raises fails the call closed.
`blocking = True` on a sync hook moves it to a thread; `timeout_seconds` limits an async one.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..results import ToolResult

__all__ = ["Ask", "Chain", "Deny", "Halt", "Modify", "Outcome", "Proceed", "Replace", "Run", "Step"]


@dataclass(frozen=True, slots=True)
class Proceed:
    """Go on."""


@dataclass(frozen=True, slots=True)
class Modify:
    """Go on with other arguments (JSON form); they are checked again."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deny:
    """Do not run it; the model is told why."""

    reason: str


@dataclass(frozen=True, slots=True)
class Replace:
    """Do not run it; this is the result. A plain value is rendered as a tool's would be."""

    result: Any


@dataclass(frozen=True, slots=True)
class Ask:
    """A person has to agree first."""

    reason: str


@dataclass(frozen=True, slots=True)
class Halt:
    """Do not run it, nor what comes after it in this batch; an agent's run ends."""

    reason: str


Outcome: TypeAlias = Proceed | Modify | Deny | Replace | Ask | Halt
Run: TypeAlias = Callable[[], Awaitable[ToolResult]]


@dataclass(frozen=True, slots=True)
class Step:
    """One method of one hook, ready to be called."""

    hook: Any
    function: Callable[..., Any]
    blocking: bool
    timeout_seconds: float | None

    @property
    def plain(self) -> bool:
        """Whether it can be called with nothing around it."""
        return not self.blocking and self.timeout_seconds is None

    async def run(self, in_thread: Callable[[Callable[[], Any]], Awaitable[Any]], *arguments: Any) -> Any:
        """Call it as it wants to be called: in a thread, under its limit."""
        if self.blocking:
            found = await in_thread(lambda: self.function(*arguments))
        else:
            found = self.function(*arguments)
        if not inspect.isawaitable(found):
            return found
        if self.timeout_seconds is None:
            return await found
        async with asyncio.timeout(self.timeout_seconds):
            return await found


@dataclass(frozen=True, slots=True)
class Chain:
    """The hooks of a dispatcher by what they do."""

    before: tuple[Step, ...]
    around: tuple[Step, ...]
    after: tuple[Step, ...]

    @classmethod
    def of(cls, hooks: Iterable[Any]) -> Chain:
        steps: dict[str, list[Step]] = {"before": [], "around": [], "after": []}
        for hook in hooks:
            found = [(name, getattr(hook, name, None)) for name in steps]
            if not any(callable(method) for _, method in found):
                raise TypeError(f"{hook!r} is not a hook: it has none of before, around, after")
            for name, method in found:
                if callable(method):
                    limit = getattr(hook, "timeout_seconds", None)
                    steps[name].append(Step(hook, method, bool(getattr(hook, "blocking", False)), limit))
        return cls(*(tuple(each) for each in steps.values()))
