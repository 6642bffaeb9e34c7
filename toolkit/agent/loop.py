"""
The loop: ask the model and run the calls in its reply, until it answers without a call.

    limit reached? → too long: compact → ask → nothing called: the end
                                             → call → halted, waiting, planned: the end, or a pause
                                                    → handed over: again, with another agent
                                                    → again

The loop can be cancelled at every await. `ActiveRun` makes sure that the conversation is valid then.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from .._plumbing.tracebacks import drop_own_traceback
from ..approvals import ApprovalError
from ..context import Context, current_host
from ..decisions import Decision
from ..errors import ProviderError, ToolError, Transient
from ..providers.base import ProviderChanged, Reply, Request, StreamEvent, TextDelta
from ..providers.messages import AssistantMessage, Message, UserMessage
from ..results import ToolCall, ToolResult
from ..steps.call_step import current_step
from ..values.rendering import replace_surrogates
from .active_run import ActiveRun, RunEnding
from .answer_checks import find_answer_calls, refuse_beside_calls, take_answer_call, take_answer_text
from .budgets import LimitName
from .call_watcher import current_run
from .conversation.kept_messages import list_plan_calls
from .conversation.valid_messages import build_unfinished_result
from .events import TurnFinished
from .hand_overs import take_hand_over
from .model_requests import build_request
from .saved.run_fields import Stop
from .summarizer import compact_conversation

__all__ = ["call_in_time", "conclude_turn", "dispatch_calls", "run_turns", "watch_calls", "withdraw_requests"]

_ENDING_STOPS: dict[str, tuple[Stop, str]] = {
    "length": ("length", "the model ran out of room before it had finished"),
    "refusal": ("refusal", "the model, or a filter, refused to answer"),
    "other": ("other", "the provider ended the answer for a reason of its own"),
}
"""The stop reasons that end a run if the reply has no calls. With any other reason the reply is an answer."""

_RUNNING_ENDING = RunEnding(status="running", reason="the run is under way")
_WAITING_ENDING = RunEnding(status="waiting", reason="people have to answer first")


async def run_turns(active_run: ActiveRun) -> RunEnding:
    """Continue *active_run* until it ends or has to pause, and return how it ended."""
    is_paused = False
    while True:
        limit = active_run.ledger.find_reached_limit()
        if limit is not None:
            return _end_at_limit(limit)
        active_run.report_catalog_change()
        if not is_paused and active_run.steps is None:  # the model has to go on with what it was saying
            active_run.read_inbox()
            await active_run.tell_prompts()
        try:
            if await compact_conversation(active_run):
                continue  # the summary has used tokens and time, so the limits are checked again
            if active_run.steps is None:
                reply = await _ask_model(active_run)
            else:
                reply = await active_run.do_reply_step(partial(_ask_model, active_run), reads_inbox=not is_paused)
            calls = active_run.add_reply(reply)
        except (ProviderError, Transient) as error:
            drop_own_traceback(error)
            return RunEnding(status="failed", reason=str(error), error=error)
        except _OutOfTime:
            return _end_at_limit(active_run.ledger.explain_limit("seconds"))
        is_paused = reply.stop == "paused" and not calls
        ending = await _handle_reply(active_run, reply, calls)
        if ending is not None and ending.status == "done" and await _has_more_to_read(active_run):
            active_run.answer = ending = None
        _report_turn(active_run, reply, ending or _RUNNING_ENDING)
        if ending is not None:
            return ending


async def _has_more_to_read(active_run: ActiveRun) -> bool:
    """Return whether something was said to the run that the model has not read, and may still read."""
    if active_run.steps is not None and await active_run.steps.has_kept_reply():
        return True  # something had been said here, and it is kept with the reply
    # From the moment at which the inbox is closed, `say` refuses, so that the model does not miss anything.
    return not active_run.inbox.close_if_empty() and active_run.ledger.find_reached_limit() is None


def _report_turn(active_run: ActiveRun, reply: Reply, ending: RunEnding) -> None:
    active_run.report_catalog_change()
    if active_run.watcher.has_listener:
        turn, run = active_run.ledger.spent.turns, active_run.to_run(ending)
        # The ids of its calls may differ from those in the reply, if the model has used an id twice.
        message = next(message for message in reversed(run.messages) if isinstance(message, AssistantMessage))
        active_run.watcher.publish_event(TurnFinished(turn, message, reply.usage, run))


class _OutOfTime(Exception):  # noqa: N818 -- the name says what happened
    """The seconds of the budget ended while the model was replying."""


async def _ask_model(active_run: ActiveRun) -> Reply:
    """Return the model's reply. If the run has a listener, report the text while it arrives."""
    request, seconds_left = build_request(active_run), active_run.ledger.remaining_seconds()
    if seconds_left == 0:
        raise _OutOfTime
    return await active_run.ask_model(lambda: _request_reply(active_run, request, seconds_left))


async def _request_reply(active_run: ActiveRun, request: Request, seconds_left: float | None) -> Reply:
    provider = active_run.options.provider
    try:
        async with asyncio.timeout(seconds_left) as timer:
            if active_run.watcher.has_listener:
                reply = await _read_stream(active_run, provider.stream(request))
            else:
                reply = await provider.reply(request)
    except TimeoutError:
        if timer.expired():
            raise _OutOfTime from None
        raise
    if reply is None:
        raise ProviderError(f"{provider.name}: the stream ended without a reply")
    return active_run.input_splitter.split(reply, request)


async def _read_stream(active_run: ActiveRun, stream: AsyncIterator[StreamEvent]) -> Reply | None:
    """Report the text of *stream* while it arrives, and return the reply at its end; None if there is none."""
    reply: Reply | None = None
    try:
        async for event in stream:
            if isinstance(event, (TextDelta, ProviderChanged)):
                if isinstance(event, TextDelta) and active_run.first_text_at is None:
                    active_run.first_text_at = time.perf_counter()
                active_run.watcher.publish_event(event)
            else:
                reply = event
    finally:
        close = getattr(stream, "aclose", None)  # an iterator need not have this method
        if close is not None:
            await close()
    return reply


async def _handle_reply(active_run: ActiveRun, reply: Reply, calls: tuple[ToolCall, ...]) -> RunEnding | None:
    """Handle *reply* and run its *calls*. Return how the run ends; None if the model has to be asked again."""
    if not calls:
        return _handle_answer(active_run, reply)
    if reply.stop in ("length", "refusal"):
        # The reply was cut off, so a call may lack half of its arguments. None of the calls is run.
        active_run.add_unfinished_results(calls, _ENDING_STOPS[reply.stop][1])
        return None if reply.stop == "length" else _end_at_stop(reply.stop)
    answer_calls = find_answer_calls(active_run, calls)
    if answer_calls and len(calls) == 1:
        return take_answer_call(active_run, calls[0])
    limit = active_run.ledger.find_reached_limit()
    if limit is not None:
        # The model would not see the results of the calls. If the run is continued, the model can call again.
        active_run.add_unfinished_results(calls, limit[1])
        return _end_at_limit(limit)
    return await _run_calls(active_run, calls, refuse_beside_calls(answer_calls))


def _handle_answer(active_run: ActiveRun, reply: Reply) -> RunEnding | None:
    if reply.stop == "paused":
        return None
    if reply.stop in _ENDING_STOPS:
        return _end_at_stop(reply.stop)
    if not active_run.is_planning:
        return take_answer_text(active_run, reply.message.text)
    if not reply.message.text.strip():
        return RunEnding(status="stopped", stop="other", reason="the model ended its planning without a plan")
    active_run.plan = replace_surrogates(reply.message.text)  # the same text as in the kept message
    return RunEnding(status="planned")


def _end_at_limit(limit: tuple[LimitName, str]) -> RunEnding:
    return RunEnding(status="stopped", stop=limit[0], reason=limit[1])


def _end_at_stop(stop: str) -> RunEnding:
    stop_kind, reason = _ENDING_STOPS[stop]
    return RunEnding(status="stopped", stop=stop_kind, reason=reason)


async def _run_calls(
    active_run: ActiveRun, all_calls: tuple[ToolCall, ...], refused: Mapping[str, ToolResult]
) -> RunEnding | None:
    """Run the calls whose ids are not in *refused*, and keep all results. Return how the run ends, if it does."""
    calls = [call for call in all_calls if call.id not in refused]
    count = active_run.take_calls(len(calls))
    try:
        results = await dispatch_calls(active_run, calls[:count])
    except BaseException as error:
        active_run.add_unfinished_results(
            all_calls, "it was cancelled" if isinstance(error, asyncio.CancelledError) else "it was broken off"
        )
        raise
    calls_limit = active_run.ledger.explain_limit("calls")
    results += [build_unfinished_result(call, calls_limit[1]) for call in calls[count:]]
    results_by_id = {**refused, **{call.id: result for call, result in zip(calls, results, strict=True)}}
    active_run.add_results(all_calls, [results_by_id[call.id] for call in all_calls])
    ending = await conclude_turn(active_run)
    return _end_at_limit(calls_limit) if ending is None and count < len(calls) else ending


async def dispatch_calls(active_run: ActiveRun, calls: Sequence[ToolCall]) -> list[ToolResult]:
    """Run *calls* and return their results; *active_run* watches each call."""
    active_run.session.last_prompt = active_run.conversation.last_prompt
    return await active_run.toolbox.dispatcher.call_many(
        calls, session=active_run.session, run_call=partial(_call_and_watch, active_run)
    )


async def _call_and_watch(active_run: ActiveRun, call: ToolCall) -> ToolResult:
    toolbox, steps, watcher = active_run.toolbox, active_run.steps, active_run.watcher
    watcher.record_start(call, toolbox.summary_of)
    if steps is None:
        return watcher.record_result(call, await call_in_time(active_run, call))
    key = steps.make_call_key(call.id)
    steps.prepare(call, key)
    call.tool = toolbox.dispatcher.catalog.get(call.name)  # for the steps; the dispatcher looks it up itself
    result = await active_run.do_call_step(key, call, partial(call_in_time, active_run, call))
    return watcher.record_result(call, result)


async def call_in_time(active_run: ActiveRun, call: ToolCall) -> ToolResult:
    """Return the result of *call*, which has the seconds that are left now. The calls before it have used time."""
    seconds_left = active_run.ledger.remaining_seconds()
    if seconds_left == 0:
        return build_unfinished_result(call, "no time is left")
    with watch_calls(active_run):
        return await active_run.toolbox.dispatcher.call(
            call, session=active_run.session, resources=active_run.resources, timeout_seconds=seconds_left
        )


@contextlib.contextmanager
def watch_calls(active_run: ActiveRun) -> Iterator[None]:
    """Make *active_run* the run that all calls inside the block belong to."""
    token, host_token = current_run.set(active_run), current_host.set(RunModel(active_run))
    try:
        yield
    finally:
        current_run.reset(token)
        current_host.reset(host_token)


async def conclude_turn(active_run: ActiveRun) -> RunEnding | None:
    """Return how the run ends because of the last turn's results; None if the model has to be asked again."""
    calls, results = active_run.conversation.last_turn()
    halted_result = next((tool_result for tool_result in results if tool_result.kind == "halted"), None)
    if halted_result is not None:
        error = halted_result.error
        reason = "a hook stopped it" if error is None else error.message
        await withdraw_requests(active_run, reason)
        is_too_dear = error is not None and error.details.get("limit") == "cost"
        return RunEnding(status="stopped", stop="cost" if is_too_dear else "halt", reason=reason)
    if active_run.to_run(_WAITING_ENDING).requests:
        return _WAITING_ENDING
    for index, (call, result) in enumerate(zip(calls, results, strict=True)):
        if result.kind == "waiting":  # held back for a call that has no request to answer
            active_run.conversation.replace_result(
                index, build_unfinished_result(call, "the request that it was held back for cannot be answered")
            )
    # There may be no plan although the call succeeded: a hook may have returned a result without the tool.
    if list_plan_calls(calls, results) and active_run.is_planning and active_run.plan is not None:
        return RunEnding(status="planned")
    active_run.plan = None  # a hook may have turned the result of `exit_plan` into a failure
    take_hand_over(active_run)
    return None


async def withdraw_requests(active_run: ActiveRun, reason: str) -> None:
    """Deny every request that still waits in a run that is over, so that a later approval cannot run the call."""
    for request in active_run.to_run(_WAITING_ENDING).requests:
        with contextlib.suppress(ApprovalError):  # the request was answered or has expired meanwhile
            await active_run.toolbox.dispatcher.resume(request, Decision.deny(reason), session=active_run.session)
    active_run.sub_runs.clear()
    conversation = active_run.conversation
    for index, (call, result) in enumerate(zip(*conversation.last_turn(), strict=True)):
        if result.kind == "waiting":
            conversation.replace_result(index, ToolResult.failure("halted", reason, call_id=call.id, tool=call.name))


class RunModel:
    """Asks the provider of *active_run*. What it uses counts in the budget of the run."""

    def __init__(self, active_run: ActiveRun) -> None:
        self._active_run = active_run

    async def sample(
        self, context: Context, key: str, messages: Sequence[Mapping[str, str]], system: str, max_tokens: int
    ) -> str:
        """Return the answer to *messages*; raise `ToolError` if the budget is used up or the provider fails."""
        active_run = self._active_run
        limit = active_run.ledger.find_reached_limit()
        if limit is not None:
            raise ToolError(f"the model cannot be asked: {limit[1]}")
        request = Request(messages=tuple(map(_build_message, messages)), system=system, max_tokens=max_tokens)
        try:
            async with asyncio.timeout(active_run.ledger.remaining_seconds()):
                reply = await active_run.ask_model(lambda: active_run.options.provider.reply(request))
        except (ProviderError, Transient, TimeoutError) as error:
            reason = str(error) or active_run.ledger.explain_limit("seconds")[1]
            raise ToolError(f"the model did not answer: {reason}") from error
        active_run.usage += reply.usage
        expense, step = active_run.ledger.add_reply(reply.usage, reply.model, is_turn=False), current_step.get()
        if step is not None and active_run.steps is not None:
            step.spent += expense  # it is kept with the result of the call
        return reply.message.text

    async def list_roots(self, context: Context) -> Any:
        """Return None: an agent has no client that could name folders."""
        return None


def _build_message(message: Mapping[str, str]) -> Message:
    text = message["content"]
    return UserMessage.of(text) if message["role"] == "user" else AssistantMessage(text=text)
