"""
The events in the life of calls, runs and flows. A hook with a method `on_event` is told each of them, in order.

    class Bell:
        def on_event(self, event: Event) -> None:
            if isinstance(event, PersonAsked):
                print("\\a")

An event tells, and a listener decides nothing: if it raises or takes too long, that is logged, and the call goes on.
Whatever starts has exactly one end, also if it is refused, denied, unknown, cancelled or waits for a person. What goes
on after a person has answered starts again. The fields are the objects themselves, not copies; a listener only reads
them. `EVENTS` has all events by their names in `toolkit.toml`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeAlias, get_args

from .._plumbing.records import record

if TYPE_CHECKING:  # they only name the types of the fields
    from collections.abc import Callable

    from ..decisions import ApprovalRequest, Decision
    from ..policies.redaction import Redaction
    from ..providers.base import Reply, Usage
    from ..providers.messages import UserMessage
    from ..results import Kind, ToolCall, ToolResult
    from ..session import Session
    from ..spec import Tool
    from ..verdicts import Verdict
    from .base import Outcome

__all__ = [
    "EVENTS",
    "AttemptStarted",
    "CallEnded",
    "CallRetried",
    "CallStarted",
    "CatalogChanged",
    "ConversationSummarized",
    "Event",
    "FlowEnded",
    "FlowInfo",
    "FlowStarted",
    "HookDecided",
    "ModelAnswered",
    "ModelAsked",
    "PersonAnswered",
    "PersonAsked",
    "PromptReceived",
    "RunEnded",
    "RunInfo",
    "RunStarted",
    "SubRunEnded",
    "SubRunStarted",
]


# Calls. Each of these has the call as hooks see it, with its arguments at that moment. The three events of every call
# are not frozen, because that takes a third of the time.


@record(slots=True)
class CallStarted:
    """
    A call starts.

    Attributes:
        request_id: The request that a person has answered, if the call goes on after that.
        waited_in: The `trace_parent` of that request.
    """

    call: ToolCall
    request_id: str | None = None
    waited_in: str | None = None


@record(frozen=True, slots=True)
class HookDecided:
    """A *hook* wants something else than to go on. For `around` and `after`, that is a `Replace` with its result."""

    call: ToolCall
    hook: Any
    outcome: Outcome


@record(frozen=True, slots=True)
class PersonAsked:
    """A person is asked to approve a call, to answer its questions or to give credentials: now, or when they look."""

    call: ToolCall
    request: ApprovalRequest


@record(frozen=True, slots=True)
class PersonAnswered:
    """A person has answered a request."""

    call: ToolCall
    request: ApprovalRequest
    decision: Decision


@record(slots=True)
class AttemptStarted:
    """The tool is about to run. *number* counts from 1, and *error* is why the attempt before has failed."""

    call: ToolCall
    number: int
    error: BaseException | None = None


@record(frozen=True, slots=True)
class CallRetried:
    """
    The tool is about to run again. After this, `AttemptStarted` is told, as for the first attempt.

    Attributes:
        number: The number of the new attempt, from 2.
        error: Why the attempt before has failed; None if a person has answered its question, or if an around-hook lets
            the tool run again.
        seconds: How long ago the first attempt has started.
    """

    call: ToolCall
    number: int
    error: BaseException | None
    seconds: float


@record(slots=True)
class CallEnded:
    """
    A call has ended. A call that became a job ends with the job.

    Attributes:
        kind: How it ended: that of the result, or "cancelled", "waiting" or "internal" if there is none.
        result: What the caller gets; None if the call was cut off by *error*.
        verdict: What decided about the call; None if no rule, check or mode had to be asked.
        redaction: Returns what masks the secrets of the call, for a listener that writes its arguments down.
    """

    call: ToolCall
    kind: Kind
    result: ToolResult | None = None
    error: BaseException | None = None
    verdict: Verdict | None = None
    redaction: Callable[[], Redaction] | None = None


@record(frozen=True, slots=True)
class CatalogChanged:
    """
    Tools were *added* to the catalog or *removed* from it. A tool that was replaced is in both fields.

    A listener is told at once. The stream of an agent has it before and after a turn.
    """

    added: tuple[Tool, ...]
    removed: tuple[Tool, ...]


# Runs of an agent.


@record(frozen=True, slots=True, kw_only=True)
class RunInfo:
    """
    What is known about a run from its start, such as its *id*, its *provider* and its permission *mode*.

    Attributes:
        verb: What the agent was asked to do: "run", "resume", "execute" or "sub_run".
        parent_id: The id of the run around a sub-run.
        call_id: The call of that run that has started the sub-run.
        agent: The name of the agent; empty if it has none.
        waited_in: The `trace_parent` of each request that the run has waited for, if it goes on. If a durable run was
            cut off before it waited, the `trace_parent` of the hook where it began.
    """

    id: str
    session: Session
    verb: str
    provider: str
    model: str
    mode: str | None
    parent_id: str | None = None
    call_id: str | None = None
    agent: str = ""
    waited_in: tuple[str, ...] = ()


@record(frozen=True, slots=True)
class RunStarted:
    """A run starts, or goes on after people have answered; `run.verb` says which. It may still be refused."""

    run: RunInfo


@record(frozen=True, slots=True)
class PromptReceived:
    """A user says something to the run: its prompt, or what was said with `agent.say` and is read now."""

    run: RunInfo
    message: UserMessage


@record(frozen=True, slots=True)
class ModelAsked:
    """The model is asked for its next turn, or for a summary."""

    run: RunInfo


@record(frozen=True, slots=True)
class ModelAnswered:
    """
    The model has replied, with its usage in the *reply*; or there is none, because of *error*.

    Attributes:
        first_text_seconds: When the first words had arrived; None if the reply was not streamed, or has no words.
        cost: What the tokens cost, by the prices of the budget; None if it has none.
    """

    run: RunInfo
    reply: Reply | None
    error: BaseException | None = None
    first_text_seconds: float | None = None
    cost: float | None = None


@record(frozen=True, slots=True)
class ConversationSummarized:
    """A *summary* stands for so many *messages* now. It has saved so many *characters*, and has cost *usage*."""

    run: RunInfo
    summary: str
    messages: int
    characters: int
    usage: Usage


@record(frozen=True, slots=True)
class RunEnded:
    """A run has ended, or waits: *status*, *reason*, *turns* and *error* are those of `toolkit.agent.Run`."""

    run: RunInfo
    status: str
    reason: str
    turns: int
    usage: Usage
    error: BaseException | None = None


@record(frozen=True, slots=True)
class SubRunStarted:
    """A tool lets the agent work on another prompt, or that work goes on after people have answered."""

    run: RunInfo


@record(frozen=True, slots=True)
class SubRunEnded:
    """A sub-run has ended, or waits for people. Its *status*, *reason*, *turns* and *error* are as in `RunEnded`."""

    run: RunInfo
    status: str
    reason: str
    turns: int
    usage: Usage
    error: BaseException | None = None


# Flows.


@record(frozen=True, slots=True, kw_only=True)
class FlowInfo:
    """
    A run of the flow *name*. The *id* is the key with which the ids of its calls begin.

    Attributes:
        waited_in: As in `RunInfo`. A flow inside another run has none.
    """

    name: str
    id: str
    session: Session
    waited_in: tuple[str, ...] = ()


@record(frozen=True, slots=True)
class FlowStarted:
    """A flow starts, or goes on from its records: after people have answered, or in another process."""

    flow: FlowInfo


@record(frozen=True, slots=True)
class FlowEnded:
    """A flow has ended as *status* says: "done", "waiting", "failed" with its *problems*, or "stopped" by *error*."""

    flow: FlowInfo
    status: str
    problems: tuple[str, ...] = ()
    error: BaseException | None = None


_CallEvent: TypeAlias = (
    CallStarted | HookDecided | PersonAsked | PersonAnswered | AttemptStarted | CallRetried | CallEnded
)
_RunEvent: TypeAlias = RunStarted | PromptReceived | ModelAsked | ModelAnswered | ConversationSummarized | RunEnded
Event: TypeAlias = _CallEvent | CatalogChanged | _RunEvent | SubRunStarted | SubRunEnded | FlowStarted | FlowEnded
"""An event that a hook with `on_event` is told."""

EVENTS: dict[str, type] = {re.sub(r"(?<!^)(?=[A-Z])", "_", kind.__name__).lower(): kind for kind in get_args(Event)}
"""The events by their names in `toolkit.toml`: `person_asked` is `PersonAsked`."""
