"""
What an agent tells while it works: small records, in the order in which things happen.

A run ends with exactly one `Done`, whatever came of it. What happens in a
sub-run is told inside `Inner`, which names the call that it belongs to.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from ..context import Progress
from ..decisions import ApprovalRequest
from ..providers.base import TextDelta, Usage
from ..providers.messages import AssistantMessage
from ..results import ToolCall, ToolResult
from .runs import Run

__all__ = [
    "Compacted",
    "Done",
    "Event",
    "Failed",
    "Inner",
    "Refused",
    "TextDelta",
    "ToolFinished",
    "ToolProgress",
    "ToolStarted",
    "TurnFinished",
    "Waiting",
]


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call is on its way. *summary* says what it does in a few words, as the tool's author put it."""

    call: ToolCall
    summary: str


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """What a running call reports of itself."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result; one that waits, or was never started, has one too."""

    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Refused:
    """A safety check refused a call: the user has to be told. `ToolFinished` follows."""

    call: ToolCall
    reason: str


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """The model has spoken, and what it called has its results. *number* counts from the prompt."""

    number: int
    message: AssistantMessage
    usage: Usage


@dataclass(frozen=True, slots=True)
class Compacted:
    """Old results were cut, so that the conversation fits: so many of them, by so many characters."""

    results: int
    characters: int


@dataclass(frozen=True, slots=True)
class Waiting:
    """The run pauses until somebody answers these."""

    requests: tuple[ApprovalRequest, ...]


@dataclass(frozen=True, slots=True)
class Failed:
    """The run cannot go on; the conversation is kept, and can be continued."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Inner:
    """What happens in the sub-run of a call."""

    call_id: str
    event: Event


@dataclass(frozen=True, slots=True)
class Done:
    """The last event: the run as a value."""

    run: Run


Event: TypeAlias = (
    TextDelta
    | ToolStarted
    | ToolProgress
    | ToolFinished
    | Refused
    | TurnFinished
    | Compacted
    | Waiting
    | Failed
    | Inner
    | Done
)
