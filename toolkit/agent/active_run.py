"""
A run while it is in progress: its growing conversation and its event listener.

A `Talk` watches its own calls. So the run can be ended at any moment and still
leave a valid conversation, in which every call has a result. The result of a
call that was interrupted says that it was interrupted.
"""

from __future__ import annotations

import copy
import logging
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ..context import Progress
from ..providers.base import Reply, Request, Usage
from ..providers.messages import AssistantMessage, Message, PerMessage, ToolMessage, UserMessage
from ..results import ToolCall, ToolResult
from ..session import Session
from .budgets import Ledger
from .compaction import compacted, size_of
from .events import Compacted, Event, Inner, Refused, ToolFinished, ToolProgress, ToolStarted
from .options import Manner
from .result_marks import FRAME_PROMPT, framed, marked, unmarked
from .runs import Run, Status, Stop, SubRun
from .toolbox import Toolbox
from .valid_messages import is_empty, sound, unfinished, used_ids

__all__ = ["Ending", "Talk", "Tell"]

_log = logging.getLogger("toolkit")

Tell: TypeAlias = Callable[[Event], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a `Talk` ended. The run may still be resumed or continued later."""

    status: Status
    reason: str = ""
    stop: Stop | None = None
    error: BaseException | None = None


class Talk:
    """
    The state of one conversation while the agent works on it.

    Attributes:
        key: The run's id.
        messages: The messages so far. They are a valid conversation except in the middle of a turn.
        subs: The sub-runs that wait, by the id of the call that each belongs to.
        busy: The ids of the calls whose sub-run is in progress.
        plan: The plan of the model: passed to `exit_plan`, or the text that ended its planning.
        resources: The objects that every call can inject, by type; see `Dispatcher.call`.
        depth: The number of runs that this run is nested in.
        tools: The names of the tools that a sub-run may call; None if its caller gave no list.
    """

    def __init__(
        self,
        manner: Manner,
        toolbox: Toolbox,
        ledger: Ledger,
        session: Session,
        *,
        run: Run | None = None,
        tell: Tell | None = None,
        resources: Mapping[Any, Any] | None = None,
        depth: int = 0,
        tools: tuple[str, ...] | None = None,
    ) -> None:
        self.manner = manner
        self.toolbox = toolbox
        self.ledger = ledger
        self.session = session
        self.messages: list[Message] = [] if run is None else list(run.messages)
        self.usage = Usage() if run is None else run.usage
        self.subs: dict[str, SubRun] = {} if run is None else {sub.call_id: sub for sub in run.subs}
        self.busy: set[str] = set()
        self.plan = None if run is None else run.plan
        self.resources = resources
        self.depth = depth
        self.tools = tools
        self.key = secrets.token_hex(8) if run is None else run.id
        self._tell = tell
        self._sizes = PerMessage(size_of)
        self._framed = PerMessage(framed)
        self._used = used_ids(self.messages)
        self._started: set[str] = set()
        self._results: dict[str, ToolResult] = {}
        self._overruling_results: dict[str, ToolResult] = {}

    @property
    def has_listeners(self) -> bool:
        return self._tell is not None

    @property
    def is_planning(self) -> bool:
        """Whether the model has to make a plan. It is False in a sub-run: plan mode only limits that to reading."""
        return self.depth == 0 and self.toolbox.mode_of(self.session) == "plan"

    def tell(self, event: Event) -> None:
        """Pass *event* to the listener. An exception of the listener is logged, because it must not end the run."""
        if self._tell is not None:
            try:
                self._tell(event)
            except Exception:  # noqa: BLE001 -- the listener is the host's code; see the docstring
                _log.exception("a listener to an agent's events failed")

    # Messages.

    def say(self, prompt: UserMessage) -> None:
        self.messages.append(prompt)

    def request(self) -> Request:
        """
        Return the next request to the model, with the tools that are available now.

        If the conversation is longer than `compact_at`, old results are cut first.
        """
        max_characters = self.manner.compact_at
        cut = (
            None if max_characters is None else compacted(self.messages, max_characters, self._sizes.of(self.messages))
        )
        if cut is not None:
            self.messages[:] = cut.messages
            self.tell(Compacted(cut.results, cut.characters))
        return Request(
            messages=tuple(self._framed.of(self.messages)),
            system=self._system(),
            catalog=self.toolbox.offered(self.session),
            session=self._build_offered_session(),
        )

    def _system(self) -> str:
        manner = self.manner
        parts = [
            manner.system,
            manner.plan_prompt if self.is_planning else "",
            FRAME_PROMPT if manner.frame_results else "",
        ]
        return "\n\n".join(part for part in parts if part)

    def _build_offered_session(self) -> Session:
        """
        Return the session whose loaded tools are offered to the model.

        A sub-run with a list of tools is offered all of these, also those that are deferred.
        """
        if self.tools is None:
            return self.session
        offering = Session()
        offering.load(*self.tools, *self.session.loaded)
        return offering

    def take(self, reply: Reply) -> tuple[ToolCall, ...]:
        """Append the model's message and return the calls in it. The caller passes their results to `answer`."""
        self.usage += reply.usage
        self.ledger.add_turn(reply.usage, reply.model)
        message, calls = sound(reply.message, self._used)
        self._used.update(call.id for call in calls)
        if not is_empty(message):
            self.messages.append(message)
        self._started, self._results = set(), {}  # the results of the turn before are not needed any more
        turn = self.ledger.spent.turns
        return tuple(ToolCall(call.name, call.arguments, call.id, turn=turn) for call in calls)

    # Calls and their results.

    def answer(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
        """Append the results of *calls*, in order. A result that no event has reported yet is reported now."""
        reported_results = [
            result if call.id in self._results else self.ended(call, result)
            for call, result in zip(calls, results, strict=True)
        ]
        message = self.messages[-1]
        assert isinstance(message, AssistantMessage)  # noqa: S101 -- `take` has appended it
        self.messages.append(ToolMessage(tuple(map(self._kept, message.calls, reported_results))))

    def cut_short(self, calls: Sequence[ToolCall], why: str) -> None:
        """Answer each of *calls* with its result if it has one, and otherwise with *why* it has none."""
        self.answer(calls, [self._find_result(call) or self._build_unfinished(call, why) for call in calls])

    def _find_result(self, call: ToolCall) -> ToolResult | None:
        return self._results.get(call.id) or self._overruling_results.get(call.id)

    def _build_unfinished(self, call: ToolCall, why: str) -> ToolResult:
        return unfinished(call, why, was_started=call.id in self._started)

    def amend(self, index: int, result: ToolResult) -> None:
        """Replace the waiting result at *index* of the last turn with *result*."""
        calls, results = self.last_turn()
        amended = self._kept(calls[index], result)
        self.messages[-1] = ToolMessage((*results[:index], amended, *results[index + 1 :]))

    def _kept(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """
        Return a copy of *result* as the conversation keeps it.

        It has the tool name that the model called, because providers compare the two names.
        """
        result_copy = copy.copy(result)
        result_copy.tool = call.name
        return marked(result_copy) if self.manner.frame_results else unmarked(result_copy)

    def last_turn(self) -> tuple[tuple[ToolCall, ...], tuple[ToolResult, ...]]:
        """Return the calls of the last turn, and their results."""
        message, answer = self.messages[-2:]
        assert isinstance(message, AssistantMessage) and isinstance(answer, ToolMessage)  # noqa: S101, PT018 -- own data
        return message.calls, answer.results

    # The methods of `Watcher`.

    def started(self, call: ToolCall) -> None:
        self._started.add(call.id)
        if self._tell is not None:
            self.tell(ToolStarted(call, self.toolbox.summary_of(call)))

    def left_seconds(self) -> float | None:
        return self.ledger.left_seconds()

    def progressed(self, progress: Progress) -> None:
        self.tell(ToolProgress(progress))

    def ended(self, call: ToolCall, result: ToolResult) -> ToolResult:
        result = self._overruling_results.pop(call.id, result)
        if result.kind == "waiting" and result.request is None:  # a tool may return any `ToolResult`
            result = unfinished(call, "it waits for an answer, and does not say for which", was_started=True)
        self._results[call.id] = result
        if result.kind == "safety":
            self.tell(Refused(call, result.text if result.error is None else result.error.message))
        self.tell(ToolFinished(call, result))
        return result

    def planned(self, plan: str) -> bool:
        # Only the first plan of a turn counts: the host must see the same plan that the hooks allowed.
        if not self.is_planning or self.plan is not None:
            return False
        self.plan = plan
        return True

    def overrule(self, result: ToolResult) -> None:
        """
        Make *result* the result of its call, in place of what the tool returns.

        A call whose sub-run waits or was halted needs this.
        """
        self._overruling_results[result.call_id] = result

    def hold(self, call: ToolCall, sub: SubRun) -> ToolResult:
        """Keep *sub*, the waiting sub-run of *call*, and return the waiting result of the call."""
        self.subs[call.id] = sub
        request = sub.run.requests[0]
        text = f"waiting: inside it `{request.tool}` waits for a person: {request.reason}"
        return ToolResult(text, None, "waiting", request=request, call_id=call.id, tool=call.name)

    def told_inside(self, call_id: str) -> Tell | None:
        """
        Return the listener for the sub-run of a call, or None if this run has no listener.

        The listener reports each event of the sub-run to this run's listener as an `Inner` event.
        """
        return None if self._tell is None else lambda event: self.tell(Inner(call_id, event))

    # The end of the run, or a pause.

    def run(self, ending: Ending) -> Run:
        """Return the conversation as a `Run` that ended with *ending*."""
        snapshot = Run(
            id=self.key,
            status=ending.status,
            reason=ending.reason,
            stop=ending.stop,
            error=ending.error,
            messages=tuple(self.messages),
            spent=self.ledger.spent,
            usage=self.usage,
            plan=self.plan,
            subs=tuple(self.subs.values()),
            session=self.session,
        )
        # A run that was interrupted while other calls of it wait can still be resumed.
        return replace(snapshot, status="waiting") if snapshot.requests else snapshot
