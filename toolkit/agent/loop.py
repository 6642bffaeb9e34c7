"""
The loop: ask the model and run the calls in its reply, until it answers without a call.

    limit reached? → ask → nothing called: the end
                         → call → halted, waiting, planned: the end, or a pause
                                → again

The loop can be cancelled at every await. `Talk` makes sure that the conversation is valid then.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator, Sequence

from ..approvals import ApprovalError
from ..decisions import Decision
from ..errors import ProviderError, Transient
from ..providers.base import Reply, StreamEvent, TextDelta
from ..results import ToolCall, ToolResult
from ..values.rendering import cleaned
from .active_run import Ending, Talk
from .budgets import Limit
from .call_watcher import watching
from .events import TurnFinished
from .plan_mode import EXIT_PLAN
from .runs import Stop
from .valid_messages import unfinished

__all__ = ["called", "concluded", "converse", "watched_by", "withdraw"]

_CUT: dict[str, tuple[Stop, str]] = {
    "length": ("length", "the model ran out of room before it had finished"),
    "refusal": ("refusal", "the model, or a filter, refused to answer"),
    "other": ("other", "the provider ended the answer for a reason of its own"),
}
"""The stop reasons that end a run if the reply has no calls. With any other reason the reply is an answer."""

_WAITING = Ending(status="waiting", reason="people have to answer first")


async def converse(talk: Talk) -> Ending:
    """Continue *talk* until it ends or has to pause, and return how it ended."""
    while True:
        limit = talk.ledger.reached()
        if limit is not None:
            return _end_at_limit(limit)
        try:
            reply = await _asked(talk)
            calls = talk.take(reply)
        except (ProviderError, Transient) as error:
            return Ending(status="failed", reason=str(error), error=error)
        except _OutOfTime:
            return _end_at_limit(talk.ledger.words("seconds"))
        ending = await _handle_reply(talk, reply, calls)
        talk.tell(TurnFinished(talk.ledger.spent.turns, reply.message, reply.usage))
        if ending is not None:
            return ending


class _OutOfTime(Exception):  # noqa: N818 -- the name says what happened
    """The seconds of the budget ended while the model was replying."""


async def _asked(talk: Talk) -> Reply:
    """Return the model's reply. If the run has a listener, report the text while it arrives."""
    provider, request = talk.manner.provider, talk.request()
    try:
        async with asyncio.timeout(talk.ledger.left_seconds()) as timer:
            if not talk.has_listeners:
                return await provider.reply(request)
            reply = await _read_stream(talk, provider.stream(request))
    except TimeoutError:
        if timer.expired():
            raise _OutOfTime from None
        raise
    if reply is None:
        raise ProviderError(f"{provider.name}: the stream ended without a reply")
    return reply


async def _read_stream(talk: Talk, stream: AsyncIterator[StreamEvent]) -> Reply | None:
    """Report the text of *stream* while it arrives, and return the reply at its end; None if there is none."""
    reply: Reply | None = None
    try:
        async for event in stream:
            if isinstance(event, TextDelta):
                talk.tell(event)
            else:
                reply = event
    finally:
        close = getattr(stream, "aclose", None)  # an iterator need not have this method
        if close is not None:
            await close()
    return reply


async def _handle_reply(talk: Talk, reply: Reply, calls: tuple[ToolCall, ...]) -> Ending | None:
    """Handle *reply* and run its *calls*. Return how the run ends; None if the model has to be asked again."""
    if not calls:
        return _handle_answer(talk, reply)
    if reply.stop in ("length", "refusal"):
        # The reply was cut off, so a call may lack half of its arguments. None of the calls is run.
        talk.cut_short(calls, _CUT[reply.stop][1])
        return None if reply.stop == "length" else _cut(reply.stop)
    limit = talk.ledger.reached()
    if limit is not None:
        # The model would not see the results of the calls. If the run is continued, the model can call again.
        talk.cut_short(calls, limit[1])
        return _end_at_limit(limit)
    return await _run_calls(talk, calls)


def _handle_answer(talk: Talk, reply: Reply) -> Ending | None:
    if reply.stop == "paused":
        return None
    if reply.stop in _CUT:
        return _cut(reply.stop)
    if not talk.is_planning:
        return Ending(status="done")
    if not reply.message.text.strip():
        return Ending(status="stopped", stop="other", reason="the model ended its planning without a plan")
    talk.plan = cleaned(reply.message.text)  # the same text as in the kept message
    return Ending(status="planned")


def _end_at_limit(limit: tuple[Limit, str]) -> Ending:
    return Ending(status="stopped", stop=limit[0], reason=limit[1])


def _cut(stop: str) -> Ending:
    stop_kind, reason = _CUT[stop]
    return Ending(status="stopped", stop=stop_kind, reason=reason)


async def _run_calls(talk: Talk, calls: tuple[ToolCall, ...]) -> Ending | None:
    """Run *calls* and keep their results. Return an ending if the run is over or has to wait, and otherwise None."""
    count = talk.ledger.take_calls(len(calls))
    try:
        results = await called(talk, calls[:count])
    except BaseException as error:
        talk.cut_short(calls, "it was cancelled" if isinstance(error, asyncio.CancelledError) else "it was broken off")
        raise
    calls_limit = talk.ledger.words("calls")
    talk.answer(calls, [*results, *(unfinished(call, calls_limit[1]) for call in calls[count:])])
    ending = await concluded(talk)
    return _end_at_limit(calls_limit) if ending is None and count < len(calls) else ending


async def called(talk: Talk, calls: Sequence[ToolCall]) -> list[ToolResult]:
    """Run *calls* and return their results; *talk* watches each call."""
    with watched_by(talk):
        return await talk.toolbox.call_many(calls, session=talk.session, resources=talk.resources)


@contextlib.contextmanager
def watched_by(talk: Talk) -> Iterator[None]:
    """Make *talk* the run that all calls inside the block belong to."""
    token = watching.set(talk)
    try:
        yield
    finally:
        watching.reset(token)


async def concluded(talk: Talk) -> Ending | None:
    """Return how the run ends because of the last turn's results; None if the model has to be asked again."""
    calls, results = talk.last_turn()
    halted_result = next((tool_result for tool_result in results if tool_result.kind == "halted"), None)
    if halted_result is not None:
        reason = "a hook stopped it" if halted_result.error is None else halted_result.error.message
        await withdraw(talk, reason)
        return Ending(status="stopped", stop="halt", reason=reason)
    if talk.run(_WAITING).requests:
        return _WAITING
    for index, (call, result) in enumerate(zip(calls, results, strict=True)):
        if result.kind == "waiting":  # held back for a call that has no request to answer
            talk.amend(index, unfinished(call, "nobody can answer what it was held back for"))
    has_handed_over = any(
        call.name == EXIT_PLAN and result.kind == "ok" for call, result in zip(calls, results, strict=True)
    )
    # There may be no plan although the call succeeded: a hook may have returned a result without the tool.
    if has_handed_over and talk.is_planning and talk.plan is not None:
        return Ending(status="planned")
    talk.plan = None  # a hook may have turned the result of `exit_plan` into a failure
    return None


async def withdraw(talk: Talk, reason: str) -> None:
    """Deny every request that still waits in a run that is over, so that a later approval cannot run the call."""
    for request in talk.run(_WAITING).requests:
        with contextlib.suppress(ApprovalError):  # the request was answered or has expired meanwhile
            await talk.toolbox.resume(request, Decision.deny(reason), session=talk.session)
    talk.subs.clear()
    for index, (call, result) in enumerate(zip(*talk.last_turn(), strict=True)):
        if result.kind == "waiting":
            talk.amend(index, ToolResult.error("halted", reason, call_id=call.id, tool=call.name))
