"""
A run while it is in progress: its growing conversation and its event listener.

A `ActiveRun` watches its own calls. So the run can be ended at any moment and still
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
from ..providers.messages import AssistantMessage, Message, MessageCache, ToolMessage, UserMessage
from ..results import ToolCall, ToolResult
from ..session import Session
from .budgets import Ledger
from .compaction import compact_messages, size_of
from .events import Compacted, Event, Inner, Refused, ToolFinished, ToolProgress, ToolStarted
from .options import AgentOptions
from .result_marks import FRAME_PROMPT, frame_message, mark_result, remove_mark
from .runs import Run, Status, Stop, SubRun
from .toolbox import Toolbox
from .valid_messages import build_unfinished_result, collect_call_ids, is_empty, make_valid

__all__ = ["ActiveRun", "EventListener", "RunEnding"]

_log = logging.getLogger("toolkit")

EventListener: TypeAlias = Callable[[Event], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnding:
    """How a `ActiveRun` ended. The run may still be resumed or continued later."""

    status: Status
    reason: str = ""
    stop: Stop | None = None
    error: BaseException | None = None


class ActiveRun:
    """
    The state of one conversation while the agent works on it.

    Attributes:
        run_id: The run's id.
        messages: The messages so far. They are a valid conversation except in the middle of a turn.
        sub_runs: The sub-runs that wait, by the id of the call that each belongs to.
        busy_call_ids: The ids of the calls whose sub-run is in progress.
        plan: The plan of the model: passed to `exit_plan`, or the text that ended its planning.
        resources: The objects that every call can inject, by type; see `Dispatcher.call`.
        depth: The number of runs that this run is nested in.
        tool_names: The names of the tools that a sub-run may call; None if its caller gave no list.
    """

    def __init__(
        self,
        options: AgentOptions,
        toolbox: Toolbox,
        ledger: Ledger,
        session: Session,
        *,
        run: Run | None = None,
        on_event: EventListener | None = None,
        resources: Mapping[Any, Any] | None = None,
        depth: int = 0,
        tool_names: tuple[str, ...] | None = None,
    ) -> None:
        self.options = options
        self.toolbox = toolbox
        self.ledger = ledger
        self.session = session
        self.messages: list[Message] = [] if run is None else list(run.messages)
        self.usage = Usage() if run is None else run.usage
        self.sub_runs: dict[str, SubRun] = {} if run is None else {sub.call_id: sub for sub in run.subs}
        self.busy_call_ids: set[str] = set()
        self.plan = None if run is None else run.plan
        self.resources = resources
        self.depth = depth
        self.tool_names = tool_names
        self.run_id = secrets.token_hex(8) if run is None else run.id
        self._on_event = on_event
        self._message_sizes = MessageCache(size_of)
        self._framed_messages = MessageCache(frame_message)
        self._used_ids = collect_call_ids(self.messages)
        self._started_ids: set[str] = set()
        self._results: dict[str, ToolResult] = {}
        self._overriding_results: dict[str, ToolResult] = {}

    @property
    def has_listeners(self) -> bool:
        return self._on_event is not None

    @property
    def is_planning(self) -> bool:
        """Whether the model has to make a plan. It is False in a sub-run: plan mode only limits that to reading."""
        return self.depth == 0 and self.toolbox.mode_of(self.session) == "plan"

    def publish(self, event: Event) -> None:
        """Pass *event* to the listener. An exception of the listener is logged, because it must not end the run."""
        if self._on_event is not None:
            try:
                self._on_event(event)
            except Exception:  # noqa: BLE001 -- the listener is the host's code; see the docstring
                _log.exception("a listener to an agent's events failed")

    # Messages.

    def add_prompt(self, prompt: UserMessage) -> None:
        self.messages.append(prompt)

    def build_request(self) -> Request:
        """
        Return the next request to the model, with the tools that are available now.

        If the conversation is longer than `compact_at`, old results are cut first.
        """
        max_characters = self.options.compact_at
        cut = (
            None
            if max_characters is None
            else compact_messages(self.messages, max_characters, self._message_sizes.values_for(self.messages))
        )
        if cut is not None:
            self.messages[:] = cut.messages
            self.publish(Compacted(cut.results, cut.characters))
        return Request(
            messages=tuple(self._framed_messages.values_for(self.messages)),
            system=self._build_system_prompt(),
            catalog=self.toolbox.select_offered_tools(self.session),
            session=self._build_offered_session(),
        )

    def _build_system_prompt(self) -> str:
        options = self.options
        parts = [
            options.system,
            options.plan_prompt if self.is_planning else "",
            FRAME_PROMPT if options.frame_results else "",
        ]
        return "\n\n".join(part for part in parts if part)

    def _build_offered_session(self) -> Session:
        """
        Return the session whose loaded tools are offered to the model.

        A sub-run with a list of tools is offered all of these, also those that are deferred.
        """
        if self.tool_names is None:
            return self.session
        offering = Session()
        offering.load(*self.tool_names, *self.session.loaded)
        return offering

    def add_reply(self, reply: Reply) -> tuple[ToolCall, ...]:
        """Append the model's message and return the calls in it. The caller passes their results to `add_results`."""
        self.usage += reply.usage
        self.ledger.add_turn(reply.usage, reply.model)
        message, calls = make_valid(reply.message, self._used_ids)
        self._used_ids.update(call.id for call in calls)
        if not is_empty(message):
            self.messages.append(message)
        self._started_ids, self._results = set(), {}  # the results of the turn before are not needed any more
        turn = self.ledger.spent.turns
        return tuple(ToolCall(call.name, call.arguments, call.id, turn=turn) for call in calls)

    # Calls and their results.

    def add_results(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
        """Append the results of *calls*, in order. A result that no event has reported yet is reported now."""
        reported_results = [
            result if call.id in self._results else self.record_result(call, result)
            for call, result in zip(calls, results, strict=True)
        ]
        message = self.messages[-1]
        assert isinstance(message, AssistantMessage)  # noqa: S101 -- `add_reply` has appended it
        self.messages.append(ToolMessage(tuple(map(self._copy_for_conversation, message.calls, reported_results))))

    def add_unfinished_results(self, calls: Sequence[ToolCall], why: str) -> None:
        """Answer each of *calls* with its result if it has one, and otherwise with *why* it has none."""
        self.add_results(calls, [self._find_result(call) or self._build_unfinished(call, why) for call in calls])

    def _find_result(self, call: ToolCall) -> ToolResult | None:
        return self._results.get(call.id) or self._overriding_results.get(call.id)

    def _build_unfinished(self, call: ToolCall, why: str) -> ToolResult:
        return build_unfinished_result(call, why, was_started=call.id in self._started_ids)

    def replace_result(self, index: int, result: ToolResult) -> None:
        """Replace the waiting result at *index* of the last turn with *result*."""
        calls, results = self.last_turn()
        amended = self._copy_for_conversation(calls[index], result)
        self.messages[-1] = ToolMessage((*results[:index], amended, *results[index + 1 :]))

    def _copy_for_conversation(self, call: ToolCall, result: ToolResult) -> ToolResult:
        """
        Return a copy of *result* as the conversation keeps it.

        It has the tool name that the model called, because providers compare the two names.
        """
        result_copy = copy.copy(result)
        result_copy.tool = call.name
        return mark_result(result_copy) if self.options.frame_results else remove_mark(result_copy)

    def last_turn(self) -> tuple[tuple[ToolCall, ...], tuple[ToolResult, ...]]:
        """Return the calls of the last turn, and their results."""
        message, answer = self.messages[-2:]
        assert isinstance(message, AssistantMessage) and isinstance(answer, ToolMessage)  # noqa: S101, PT018 -- own data
        return message.calls, answer.results

    # The methods of `Watcher`.

    def record_start(self, call: ToolCall) -> None:
        self._started_ids.add(call.id)
        if self._on_event is not None:
            self.publish(ToolStarted(call, self.toolbox.summary_of(call)))

    def remaining_seconds(self) -> float | None:
        return self.ledger.remaining_seconds()

    def report_progress(self, progress: Progress) -> None:
        self.publish(ToolProgress(progress))

    def record_result(self, call: ToolCall, result: ToolResult) -> ToolResult:
        result = self._overriding_results.pop(call.id, result)
        if result.kind == "waiting" and result.request is None:  # a tool may return any `ToolResult`
            result = build_unfinished_result(
                call, "it waits for an answer, and does not say for which", was_started=True
            )
        self._results[call.id] = result
        if result.kind == "safety":
            self.publish(Refused(call, result.text if result.error is None else result.error.message))
        self.publish(ToolFinished(call, result))
        return result

    def accept_plan(self, plan: str) -> bool:
        # Only the first plan of a turn counts: the host must see the same plan that the hooks allowed.
        if not self.is_planning or self.plan is not None:
            return False
        self.plan = plan
        return True

    def override_result(self, result: ToolResult) -> None:
        """
        Make *result* the result of its call, in place of what the tool returns.

        A call whose sub-run waits or was halted needs this.
        """
        self._overriding_results[result.call_id] = result

    def add_waiting_sub_run(self, call: ToolCall, sub_run: SubRun) -> ToolResult:
        """Keep *sub_run*, the waiting sub-run of *call*, and return the waiting result of the call."""
        self.sub_runs[call.id] = sub_run
        request = sub_run.run.requests[0]
        text = f"waiting: inside it `{request.tool}` waits for a person: {request.reason}"
        return ToolResult(text, None, "waiting", request=request, call_id=call.id, tool=call.name)

    def build_sub_run_listener(self, call_id: str) -> EventListener | None:
        """
        Return the listener for the sub-run of a call, or None if this run has no listener.

        The listener reports each event of the sub-run to this run's listener as an `Inner` event.
        """
        return None if self._on_event is None else lambda event: self.publish(Inner(call_id, event))

    # The end of the run, or a pause.

    def to_run(self, ending: RunEnding) -> Run:
        """Return the conversation as a `Run` that ended with *ending*."""
        snapshot = Run(
            id=self.run_id,
            status=ending.status,
            reason=ending.reason,
            stop=ending.stop,
            error=ending.error,
            messages=tuple(self.messages),
            spent=self.ledger.spent,
            usage=self.usage,
            plan=self.plan,
            subs=tuple(self.sub_runs.values()),
            session=self.session,
        )
        # A run that was interrupted while other calls of it wait can still be resumed.
        return replace(snapshot, status="waiting") if snapshot.requests else snapshot
