"""
How a run of a flow ends, besides the values that the flow was written to end with.

`Failed` says which step could not be done and why. `Waiting` says which people have to answer first. `Problems` is what
a check has found: a step that is run again gets them, so that it can do better.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from ..decisions import ApprovalRequest

__all__ = ["Failed", "Problems", "Waiting"]

_MAX_SHOWN_PROBLEMS = 20


@dataclass(frozen=True, slots=True)
class Problems(Sequence[str]):
    """
    What was wrong with the attempt before, for a step with a parameter `problems: Inject[Problems]`.

    It is a sequence of texts, which is empty at the first attempt. `str(problems)` has one line for each of them.

    Attributes:
        texts: The problems.
        step: The step that had them: the one that is run again, or the one that went back to it.
    """

    texts: tuple[str, ...] = ()
    step: str = ""

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        return self.texts[index]

    def __len__(self) -> int:
        return len(self.texts)

    def __str__(self) -> str:
        return "\n".join(f"- {text}" for text in self.texts)


@dataclass(frozen=True, slots=True)
class Failed:
    """
    A flow that has ended because a step could not be done.

    Attributes:
        step: The name of the step; empty if the run was ended from outside, such as by a deadline.
        problems: What was wrong, in the words of its check, of its exception or of the person who denied it.
        left: The steps whose effects are still there, in the order in which they were done. A step that reads only has
            none, and neither has a step that was undone.
    """

    step: str
    problems: tuple[str, ...]
    left: tuple[str, ...] = field(default=(), kw_only=True)

    def __str__(self) -> str:
        more = len(self.problems) - _MAX_SHOWN_PROBLEMS
        text = f"{self.step or 'the run'} failed: {'; '.join(self.problems[:_MAX_SHOWN_PROBLEMS])}"
        text += f"; and {more} more" if more > 0 else ""
        return text + (f" (still in place: {', '.join(self.left)})" if self.left else "")

    def to_json(self) -> dict[str, Any]:
        """Return all fields as plain JSON."""
        return {"step": self.step, "problems": list(self.problems), "left": list(self.left)}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Failed:
        """Return the outcome that *data* describes. This is the inverse of `to_json`."""
        return cls(data["step"], tuple(data["problems"]), left=tuple(data["left"]))


@dataclass(frozen=True, slots=True)
class Waiting:
    """
    A flow that goes on when people have answered: `await flow.resume(waiting, {request.id: Decision.approve()})`.

    Attributes:
        requests: The requests that need an answer.
        id: The id of the run. For a durable run, `flow.resume(id, decisions, durable)` does the same in any process.
        memory: What a run that is not durable has done so far.
    """

    requests: tuple[ApprovalRequest, ...]
    id: str = field(default="", kw_only=True)
    memory: Any = field(default=None, kw_only=True, repr=False, compare=False)

    def __str__(self) -> str:
        asked = "; ".join(f"{request.tool}: {request.reason}" for request in self.requests)
        return f"waiting for {len(self.requests)} answers: {asked}"
