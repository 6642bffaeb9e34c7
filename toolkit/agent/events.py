"""
The events that an agent reports while it works: small records, in the order in which things happen.

Every run ends with exactly one `Done`, however it ended. An event of a sub-run
is reported inside a `SubRunEvent`, which names the call that the sub-run belongs to.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..concurrency.futures import retrieve_exception
from ..context import Progress
from ..decisions import ApprovalRequest
from ..hooks.events import CatalogChanged
from ..providers.base import ProviderChanged, TextDelta, Usage
from ..providers.messages import AssistantMessage, UserMessage
from ..results import ToolCall, ToolResult
from .conversation.summaries import Summary
from .saved.runs import Run

__all__ = [
    "CatalogChanged",
    "Compacted",
    "Done",
    "Event",
    "EventListener",
    "HandedOver",
    "ProviderChanged",
    "Refused",
    "RunFailed",
    "RunWaits",
    "SubRunEvent",
    "Summarized",
    "SummaryFailed",
    "TextDelta",
    "ToolFinished",
    "ToolProgress",
    "ToolStarted",
    "TurnFinished",
    "UserInput",
    "combine_listeners",
    "stream_events",
]


@dataclass(frozen=True, slots=True)
class ToolStarted:
    """A call has started. *summary* says in a few words what it does, as the tool's author wrote it."""

    call: ToolCall
    summary: str


@dataclass(frozen=True, slots=True)
class ToolProgress:
    """A running call reports its progress."""

    progress: Progress


@dataclass(frozen=True, slots=True)
class ToolFinished:
    """A call has its result. A call that waits, or was never started, has a result too."""

    call: ToolCall
    result: ToolResult


@dataclass(frozen=True, slots=True)
class Refused:
    """A safety check refused a call for this *reason*. The host has to tell the user. `ToolFinished` follows."""

    call: ToolCall
    reason: str


@dataclass(frozen=True, slots=True)
class TurnFinished:
    """
    The model has replied, and all its calls have results. *number* counts the turns since the prompt.

    *run* is the run so far. Its status is "running" if the model is asked again. It can be saved, so that the run can
    be continued from this point if the process ends.
    """

    number: int
    message: AssistantMessage
    usage: Usage
    run: Run[Any]


@dataclass(frozen=True, slots=True)
class UserInput:
    """The model reads a message in its next turn that was said to the run with `agent.say`."""

    message: UserMessage


@dataclass(frozen=True, slots=True)
class HandedOver:
    """
    The agent *previous* has handed the conversation over, and *agent* goes on with it.

    These are the names of the agents. An agent that has no name is called "agent". `TurnFinished` follows.
    """

    previous: str
    agent: str


@dataclass(frozen=True, slots=True)
class Compacted:
    """So many old *results* were cut to shorten the conversation, which saved so many *characters*."""

    results: int
    characters: int


@dataclass(frozen=True, slots=True)
class Summarized:
    """
    The model has summed up old turns to shorten the conversation.

    Attributes:
        summary: The summary, which stands for these turns from now on.
        messages: The number of messages that were summed up this time.
        characters: The number of characters saved.
        usage: The tokens that the summary has used. They count in the budget.
    """

    summary: Summary
    messages: int
    characters: int
    usage: Usage


@dataclass(frozen=True, slots=True)
class SummaryFailed:
    """
    The model was asked to sum up old turns, and the answer could not be used. The run goes on with all its messages.

    Attributes:
        reason: Why there is no summary.
        usage: The tokens that the attempt has used. They count in the budget.
    """

    reason: str
    usage: Usage


@dataclass(frozen=True, slots=True)
class RunWaits:
    """The run pauses until people answer these requests."""

    requests: tuple[ApprovalRequest, ...]


@dataclass(frozen=True, slots=True)
class RunFailed:
    """The run cannot go on. Its conversation is kept and can be continued."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class SubRunEvent:
    """An event of the sub-run of the call *call_id*."""

    call_id: str
    event: Event


@dataclass(frozen=True, slots=True)
class Done:
    """The last event, with the run as a value."""

    run: Run[Any]


ModelEvent: TypeAlias = TextDelta | ProviderChanged
CallEvent: TypeAlias = ToolStarted | ToolProgress | ToolFinished | Refused
ConversationEvent: TypeAlias = TurnFinished | UserInput | CatalogChanged | Compacted | Summarized | SummaryFailed
RunEvent: TypeAlias = HandedOver | RunWaits | RunFailed | SubRunEvent | Done
Event: TypeAlias = ModelEvent | CallEvent | ConversationEvent | RunEvent
"""An event of a run, which `Agent.stream` yields."""

EventListener: TypeAlias = Callable[[Event], object]


def combine_listeners(*listeners: EventListener | None) -> EventListener | None:
    """Return one listener that passes each event to all *listeners*, in order; None if there are none."""
    own_listeners = [listener for listener in listeners if listener is not None]
    if len(own_listeners) < 2:
        return own_listeners[0] if own_listeners else None

    def notify_all(event: Event) -> None:
        for listener in own_listeners:
            listener(event)

    return notify_all


async def stream_events(start: Callable[[EventListener], Coroutine[Any, Any, object]]) -> AsyncGenerator[Event, None]:
    """Yield the events that the coroutine of *start* passes to its listener. It ends when the generator is closed."""
    queue: asyncio.Queue[Event | None] = asyncio.Queue()
    # The run has its own task, so that its context variables stay the same from start to end.
    task = asyncio.ensure_future(start(queue.put_nowait))
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (event := await queue.get()) is not None:
            yield event
        await task
    finally:
        task.cancel()
        await asyncio.wait({task})
        retrieve_exception(task)  # the caller may have stopped reading
