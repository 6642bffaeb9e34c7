"""
A run while it is in progress: its conversation, its calls, its sub-runs and its budget.

The conversation is valid between turns, and the watcher knows the results of a turn that is interrupted. So the run can
be ended at any moment and still leave a conversation in which every call has a result.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..calls.kept_outputs import output_memory
from ..calls.listeners import tell, tell_around
from ..calls.truncation import HANDLE_KEY
from ..catalogs.snapshot import Table, diff_tables
from ..hooks.events import CatalogChanged, Event, ModelAnswered, ModelAsked, PromptReceived, RunInfo
from ..providers.base import Reply
from ..providers.input_parts import InputSplitter
from ..providers.messages import UserMessage
from ..results import ToolCall, ToolResult
from ..steps.call_step import CallStep, current_step
from ..steps.expense import Expense
from ..steps.notes import CallPause, StepNotes, attach_notes, detach_notes
from ..steps.records import ReplyToPrompts, with_prompts
from ..steps.requests import list_waiting_spans
from ..steps.run_steps import RunSteps
from .budgets import Ledger
from .call_watcher import CallWatcher
from .conversation.run_conversation import RunConversation
from .conversation.run_inbox import RunInbox
from .events import Compacted, EventListener, UserInput
from .final_answers import AnswerFormat, FinalAnswer
from .options import AgentOptions
from .saved.run_fields import Status, Stop
from .saved.runs import Run, SubRun
from .toolbox import Toolbox

__all__ = ["ActiveRun", "RunEnding"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEnding:
    """How an `ActiveRun` ended. The run may still be resumed or continued later."""

    status: Status
    reason: str = ""
    stop: Stop | None = None
    error: BaseException | None = None


class ActiveRun:
    """
    A run while the agent works on it. It goes on from *run*, which has no messages if it is new.

    Attributes:
        sub_runs: The sub-runs that wait, by the id of the call that each belongs to.
        busy_call_ids: The ids of the calls whose sub-run is in progress.
        inbox: What was said to the run and not read by the model.
        input_splitter: Says what the tokens of each request were for.
        refused_answers: How many answers since the prompt were not of the type.
        plan: The plan of the model: passed to `exit_plan`, or the text that ended its planning.
        resources: The objects that every call can inject, by type; see `Dispatcher.call`.
        depth: The number of runs that this run is nested in.
        verb: What the agent was asked to do, for listeners: "run", "resume", "execute" or "sub_run".
        first_text_at: When the first words of the latest reply had arrived, by `time.perf_counter`.
        parent: The id of the run around this sub-run and of its call; None if this is no sub-run.
        tool_names: The names of the tools that a sub-run may call; None if its caller gave no list.
        steps: The steps of the run; None if nothing keeps what came of them.
        agent: The agent that goes on with the conversation, with its `options` and its `toolbox`; None in a sub-run of
            a tool. The run began with `first_agent`, `first_options` and `first_toolbox`; see `hand_overs`.
    """

    def __init__(
        self,
        options: AgentOptions,
        toolbox: Toolbox,
        ledger: Ledger,
        run: Run[Any],
        *,
        on_event: EventListener | None = None,
        resources: Mapping[Any, Any] | None = None,
        depth: int = 0,
        parent: tuple[str, str] | None = None,
        tool_names: tuple[str, ...] | None = None,
        steps: RunSteps | None = None,
        agent: Any = None,
    ) -> None:
        self.options = self.first_options = options
        self.toolbox = self.first_toolbox = toolbox
        self.agent = self.first_agent = agent
        self.ledger = ledger
        self.session = run.session
        self._is_new = not run.messages
        self.conversation = RunConversation(run.messages, frame_results=options.frame_results, summary=run.summary)
        self.watcher = CallWatcher(on_event)
        self.inbox = RunInbox(run.unread)
        self.input_splitter = InputSplitter()
        self.reported_table: Table | None = None
        self.usage = run.usage
        self.sub_runs: dict[str, SubRun] = {sub.call_id: sub for sub in run.subs}
        self.busy_call_ids: set[str] = set()
        self.plan = run.plan
        self.answer: FinalAnswer | None = None
        self.refused_answers = run.refused_answers
        self.resources = resources
        self.depth = depth
        self.verb = "run" if parent is None else "sub_run"
        self.parent = parent
        self._untold_prompts: list[UserMessage] = []
        self.first_text_at: float | None = None
        self._waited_in = list_waiting_spans(run.requests)
        self.tool_names = tool_names
        self.run_id = run.id
        self.steps = steps

    # What happens beside the run: words of people, and changes of the catalog.

    def read_inbox(self) -> tuple[UserMessage, ...]:
        """Append what was said to the run to the conversation, so that the model reads it with its next turn."""
        messages = tuple(self.inbox.take_all())
        self._add_prompts(messages)
        self._untold_prompts += messages
        return messages

    def add_prompt(self, message: UserMessage) -> None:
        self.conversation.add_prompt(message)
        self._untold_prompts.append(message)

    def _add_prompts(self, messages: Iterable[UserMessage]) -> None:
        for message in messages:
            self.conversation.add_prompt(message)
            self.watcher.publish_event(UserInput(message))

    def report_catalog_change(self) -> None:
        """Report what has changed in the catalog since this method was last called, if the run has a listener."""
        if not self.watcher.has_listener:
            return
        before, after = self.reported_table, self.toolbox.dispatcher.catalog.table
        self.reported_table = after
        if before is None or after is before:
            return
        change = diff_tables(before, after)
        if change.added or change.removed:
            self.watcher.publish_event(CatalogChanged(change.added, change.removed))

    # What the listeners of the dispatcher are told.

    @property
    def has_listeners(self) -> bool:
        return bool(self.toolbox.dispatcher.settings.chain.listeners)

    def describe(self) -> RunInfo:
        """Return what is known about the run from its start."""
        provider, (parent_id, call_id) = self.options.provider, self.parent or (None, None)
        return RunInfo(
            id=self.run_id,
            session=self.session,
            verb=self.verb,
            provider=provider.name,
            model=provider.model,
            mode=self.toolbox.mode_of(self.session),
            parent_id=parent_id,
            call_id=call_id,
            agent=self.options.name,
            waited_in=self._waited_in,
        )

    async def read_first_span(self) -> None:
        """Link the run to the span in which a process before this one has begun it, if its journal has one."""
        if self.steps is not None and self._is_new:
            self._waited_in = await self.steps.read_first_span()

    async def keep_first_span(self) -> None:
        """Keep the span of the run in its journal, for the process that goes on with it if this one is cut off."""
        if self.steps is not None and self._is_new and not self._waited_in:
            await self.steps.keep_first_span(self.toolbox.dispatcher.settings.chain.find_trace_parent())

    async def tell(self, kind: Callable[..., Event], *details: Any) -> None:
        """Tell the listeners an event of this *kind* about the run, if there are any."""
        if self.has_listeners:
            await tell(self.toolbox.dispatcher.settings, kind(self.describe(), *details))

    async def tell_prompts(self) -> None:
        """Tell the listeners what users have said to the run since this method was last called."""
        prompts, self._untold_prompts = self._untold_prompts, []
        for message in prompts:
            await self.tell(PromptReceived, message)

    async def ask_model(self, ask: Callable[[], Awaitable[Reply]]) -> Reply:
        """Return the reply of *ask*, and tell the listeners when the model is asked and when it has answered."""
        if not self.has_listeners:
            return await ask()
        run, started, self.first_text_at = self.describe(), time.perf_counter(), None

        def build_end(reply: Reply | None, error: BaseException | None) -> ModelAnswered:
            seconds = None if self.first_text_at is None else self.first_text_at - started
            cost = None if reply is None else self.ledger.find_cost(reply.usage, reply.model)
            return ModelAnswered(run, reply, error, seconds, cost)

        return await tell_around(self.toolbox.dispatcher.settings, ModelAsked(run), ask, build_end)

    # Requests to the model, and its replies.

    def cut_old_results(self, max_characters: int) -> None:
        """Cut old results if the conversation is longer than *max_characters*, and report it."""
        cut = self.conversation.cut_old_results(max_characters, self._keep_result)
        if cut is not None:
            self.watcher.publish_event(Compacted(cut.results, cut.characters))

    def _keep_result(self, result: ToolResult) -> str | None:
        """Keep the text of *result* in the session, and return the call that reads it; None if no tool could."""
        reader = self.toolbox.find_output_reader(self.session)
        if reader is None or result.tool == reader.tool.name:
            return None  # a page of a kept text is there already
        handle = (result.metadata or {}).get(HANDLE_KEY) if result.truncated else None
        if not isinstance(handle, str) or output_memory.find(self.session, handle) is None:
            max_chars = self.toolbox.dispatcher.settings.limit_text().page_chars(result.text)
            handle = reader.keep(result.text, tool=result.tool, max_chars=max_chars)
        return reader.call_text(handle)

    @property
    def answer_format(self) -> AnswerFormat | None:
        """The form of the final answer; None if that is a text, and while the model plans."""
        return None if self.is_planning else self.options.output

    def add_reply(self, reply: Reply) -> tuple[ToolCall, ...]:
        """Add the model's message and return the calls in it. The caller passes their results to `add_results`."""
        self.add_usage(reply, is_turn=True)
        calls = self.conversation.add_reply(reply.message)
        if self.depth == 0:  # the turns of a sub-run are part of a turn
            tools = [self.toolbox.dispatcher.catalog.get(call.name) for call in calls]
            self.session.end_turn(*(tool.name for tool in tools if tool is not None))
        self.watcher.forget_turn()
        turn = self.ledger.spent.turns
        return tuple(ToolCall(call.name, call.arguments, call.id, turn=turn) for call in calls)

    def add_usage(self, reply: Reply, *, is_turn: bool = False) -> None:
        """Count the tokens of *reply*. A summary is no turn of the conversation."""
        self.usage += reply.usage
        self._report_spent(self.ledger.add_reply(reply.usage, reply.model, is_turn=is_turn))

    def take_calls(self, call_count: int) -> int:
        """Count up to *call_count* calls of a reply as used, and return how many of them may run."""
        allowed = self.ledger.take_calls(call_count)
        self._report_spent(Expense(calls=allowed))
        return allowed

    def add_results(self, calls: Sequence[ToolCall], results: Sequence[ToolResult]) -> None:
        """Add the results of *calls*, in order. A result that no event has reported yet is reported now."""
        self.conversation.add_results(
            [self.watcher.record_unless_known(call, result) for call, result in zip(calls, results, strict=True)]
        )

    def add_unfinished_results(self, calls: Sequence[ToolCall], why: str) -> None:
        """Answer each of *calls* with its result if it has one, and otherwise with *why* it has none."""
        self.add_results(calls, [self.watcher.find_or_build_result(call, why) for call in calls])

    # Plans and sub-runs.

    @property
    def is_planning(self) -> bool:
        """Whether the model has to make a plan. It is False in a sub-run: plan mode only limits that to reading."""
        return self.depth == 0 and self.toolbox.mode_of(self.session) == "plan"

    def accept_plan(self, plan: str) -> bool:
        """Accept *plan*. Return False if the run is not in plan mode or has a plan already."""
        # Only the first plan of a turn counts: the host must see the same plan that the hooks allowed.
        if not self.is_planning or self.plan is not None:
            return False
        self.plan = plan
        step = current_step.get()
        if step is not None:
            step.plan = plan
        return True

    # Steps.

    async def do_reply_step(self, ask: Callable[[], Awaitable[Reply]], *, reads_inbox: bool) -> Reply:
        """
        Return the next reply of the model: the one that was kept, or a new one by *ask*.

        If *reads_inbox*, the model also reads what was said to the run. It is kept with the reply.
        """
        assert self.steps is not None  # noqa: S101 -- the caller has checked it
        is_kept = True

        async def ask_with_prompts() -> Reply:
            nonlocal is_kept
            is_kept = False
            self.ledger.end_replay()
            said = self.read_inbox() if reads_inbox else ()
            await self.tell_prompts()
            return with_prompts(await ask(), said)

        reply = await self.steps.reply(ask_with_prompts)
        if is_kept and isinstance(reply, ReplyToPrompts):
            self.inbox.discard(reply.said)  # a run that was saved before the reply has them too
            self._add_prompts(reply.said)
        return reply

    async def do_call_step(
        self,
        key: str,
        call: ToolCall,
        start: Callable[[], Awaitable[ToolResult]],
        *,
        call_key: str | None = None,
        pause: CallPause | None = None,
    ) -> ToolResult:
        """Return the result of the step *key*: the one that was kept, or a new one by *start*. See `RunSteps.call`."""
        assert self.steps is not None  # noqa: S101 -- the caller has checked it
        is_kept = True

        async def work(step: CallStep) -> ToolResult:
            nonlocal is_kept
            is_kept = False
            self.ledger.end_replay()
            with step.count_costs(self.ledger.take_cost, is_repeated=pause is not None):
                result = self.watcher.take_override(call, await step.await_result(start()))
            self._add_spent(step.nested.spent)  # the budget of its sub-runs is that of this run
            sub_run = self.sub_runs.get(call.id) if result.kind == "waiting" else None
            spent = step.spent + step.nested.spent
            waiting = None if sub_run is None else sub_run.to_json()
            return attach_notes(result, StepNotes(spent=spent, plan=step.plan, sub_run=waiting))

        result = await self.steps.call(key, call, work, self.session, call_key=call_key, pause=pause)
        result, notes = detach_notes(result)
        self._report_spent(notes.spent)
        if is_kept:
            self._add_spent(notes.spent)
            if notes.plan is not None:
                self.accept_plan(notes.plan)
            if notes.sub_run is not None:
                self.sub_runs[call.id] = SubRun.from_json(notes.sub_run, self.session)
        return result

    def _add_spent(self, spent: Expense) -> None:
        self.ledger.add(spent)
        self.usage += spent.usage

    def _report_spent(self, spent: Expense) -> None:
        """Report *spent* to the step that this run is a part of. The record of that step has it."""
        if self.steps is not None and self.steps.outer is not None and self.steps.shares_budget:
            self.steps.outer.spent += spent

    # The end of the run, or a pause.

    def to_run(self, ending: RunEnding) -> Run[Any]:
        """Return the conversation as a `Run` that ended with *ending*."""
        snapshot = Run(
            id=self.run_id,
            status=ending.status,
            reason=ending.reason,
            stop=ending.stop,
            error=ending.error,
            messages=tuple(self.conversation.messages),
            spent=self.ledger.spent,
            usage=self.usage,
            plan=self.plan,
            answer=self.answer if ending.status == "done" else None,
            refused_answers=self.refused_answers,
            unread=self.inbox.messages,
            subs=tuple(self.sub_runs.values()),
            summary=self.conversation.summary,
            reply_count=0 if self.steps is None else self.steps.reply_count,
            agent="" if self.agent is self.first_agent else self.agent.name,
            session=self.session,
        )
        # A run that was interrupted while other calls of it wait can still be resumed.
        return replace(snapshot, status="waiting") if snapshot.requests else snapshot
