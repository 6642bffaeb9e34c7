"""
The loop: ask the model, run what it calls, until there is an answer.

    limit reached? → ask → nothing called: the end
                         → call → halted, waiting, planned: the end, or a pause
                                → again

It can end at every await and leaves a valid conversation: `Talk` sees to that.
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
"""What ends a run in which nothing was called; any other reason is an answer."""

_WAITING = Ending(status="waiting", reason="people have to answer first")


async def converse(talk: Talk) -> Ending:
    """Go on with *talk* until it ends or has to pause."""
    while True:
        reached = talk.ledger.reached()
        if reached is not None:
            return _used_up(reached)
        try:
            reply = await _asked(talk)
            calls = talk.take(reply)
        except (ProviderError, Transient) as error:
            return Ending(status="failed", reason=str(error), error=error)
        except _OutOfTime:
            return _used_up(talk.ledger.words("seconds"))
        ending = await _heard(talk, reply, calls)
        talk.tell(TurnFinished(talk.ledger.spent.turns, reply.message, reply.usage))
        if ending is not None:
            return ending


class _OutOfTime(Exception):  # noqa: N818 -- named by what happened
    """The budget's seconds ended while the model was speaking."""


async def _asked(talk: Talk) -> Reply:
    """The model's answer; told word by word if anybody listens."""
    provider, request = talk.manner.provider, talk.request()
    try:
        async with asyncio.timeout(talk.ledger.left_seconds()) as timer:
            if not talk.has_listeners:
                return await provider.reply(request)
            reply = await _listened(talk, provider.stream(request))
    except TimeoutError:
        if timer.expired():
            raise _OutOfTime from None
        raise
    if reply is None:
        raise ProviderError(f"{provider.name}: the stream ended without a reply")
    return reply


async def _listened(talk: Talk, stream: AsyncIterator[StreamEvent]) -> Reply | None:
    """What a stream ends with; its text is passed on as it comes."""
    reply: Reply | None = None
    try:
        async for said in stream:
            if isinstance(said, TextDelta):
                talk.tell(said)
            else:
                reply = said
    finally:
        close = getattr(stream, "aclose", None)  # an iterator need not have it
        if close is not None:
            await close()
    return reply


async def _heard(talk: Talk, reply: Reply, calls: tuple[ToolCall, ...]) -> Ending | None:
    """What follows from a reply; None if the model is to be asked again."""
    if not calls:
        return _without_calls(talk, reply)
    if reply.stop in ("length", "refusal"):
        # What was cut off may lack half of its arguments; nothing of it is run.
        talk.cut_short(calls, _CUT[reply.stop][1])
        return None if reply.stop == "length" else _cut(reply.stop)
    reached = talk.ledger.reached()
    if reached is not None:
        # Nobody would see what came of them; whoever goes on later can call again.
        talk.cut_short(calls, reached[1])
        return _used_up(reached)
    return await _acted(talk, calls)


def _without_calls(talk: Talk, reply: Reply) -> Ending | None:
    if reply.stop == "paused":
        return None
    if reply.stop in _CUT:
        return _cut(reply.stop)
    if not talk.is_planning:
        return Ending(status="done")
    if not reply.message.text.strip():
        return Ending(status="stopped", stop="other", reason="the model ended its planning without a plan")
    talk.plan = cleaned(reply.message.text)  # as it is kept
    return Ending(status="planned")


def _used_up(limit: tuple[Limit, str]) -> Ending:
    return Ending(status="stopped", stop=limit[0], reason=limit[1])


def _cut(stop: str) -> Ending:
    what, words = _CUT[stop]
    return Ending(status="stopped", stop=what, reason=words)


async def _acted(talk: Talk, calls: tuple[ToolCall, ...]) -> Ending | None:
    """Run *calls* and keep their results; an ending if the run is over, or has to wait."""
    count = talk.ledger.take_calls(len(calls))
    try:
        results = await called(talk, calls[:count])
    except BaseException as error:
        talk.cut_short(calls, "it was cancelled" if isinstance(error, asyncio.CancelledError) else "it was broken off")
        raise
    no_more = talk.ledger.words("calls")
    talk.answer(calls, [*results, *(unfinished(call, no_more[1]) for call in calls[count:])])
    ending = await concluded(talk)
    return _used_up(no_more) if ending is None and count < len(calls) else ending


async def called(talk: Talk, calls: Sequence[ToolCall]) -> list[ToolResult]:
    """The results of *calls*; *talk* is told of each."""
    with watched_by(talk):
        return await talk.toolbox.call_many(calls, session=talk.session, resources=talk.resources)


@contextlib.contextmanager
def watched_by(talk: Talk) -> Iterator[None]:
    """In the block *talk* is the run that calls belong to."""
    token = watching.set(talk)
    try:
        yield
    finally:
        watching.reset(token)


async def concluded(talk: Talk) -> Ending | None:
    """What the results of the last turn mean for the run; None if the model is to be asked again."""
    calls, results = talk.last_turn()
    halted = next((each for each in results if each.kind == "halted"), None)
    if halted is not None:
        reason = "a hook stopped it" if halted.error is None else halted.error.message
        await withdraw(talk, reason)
        return Ending(status="stopped", stop="halt", reason=reason)
    if talk.run(_WAITING).requests:
        return _WAITING
    for index, (call, result) in enumerate(zip(calls, results, strict=True)):
        if result.kind == "waiting":  # held back behind something that only claimed to wait
            talk.amend(index, unfinished(call, "nobody can answer what it was held back for"))
    is_handed = any(call.name == EXIT_PLAN and result.kind == "ok" for call, result in zip(calls, results, strict=True))
    if is_handed and talk.is_planning and talk.plan is not None:  # a hook may have answered in the tool's place
        return Ending(status="planned")
    talk.plan = None  # a hook may have had something against it
    return None


async def withdraw(talk: Talk, reason: str) -> None:
    """Close what still waits in a run that is over: nobody must be able to let it run later."""
    for request in talk.run(_WAITING).requests:
        with contextlib.suppress(ApprovalError):  # answered or expired meanwhile
            await talk.toolbox.resume(request, Decision.deny(reason), session=talk.session)
    talk.subs.clear()
    for index, (call, result) in enumerate(zip(*talk.last_turn(), strict=True)):
        if result.kind == "waiting":
            talk.amend(index, ToolResult.error("halted", reason, call_id=call.id, tool=call.name))
