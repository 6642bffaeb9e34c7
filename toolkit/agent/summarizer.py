"""
Makes a long conversation shorter before the model is asked again.

The cheap step comes first: old results are cut. If that is not enough, the model is asked to sum up old turns, without
tools. A record that is too long for one request is summed up piece by piece. A summary that fails, is empty, is cut off
or is too long is not used: the run goes on with all its messages, and the next summary is asked for when the
conversation has grown. The conversation changes only when the whole summary is there, so a cancellation loses nothing.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections.abc import Iterable, Iterator

from ..content import Part, ResourcePart, TextPart
from ..errors import ProviderError, Transient
from ..hooks.events import ConversationSummarized
from ..providers.base import Reply, Request
from ..providers.input_parts import InputSplitter
from ..providers.messages import AssistantMessage, Message, ToolMessage, UserMessage
from ..values.part_texts import render_part
from ..values.rendering import as_json, as_text, replace_surrogates
from .active_run import ActiveRun
from .conversation.kept_messages import MessageSplit
from .conversation.summaries import Summary, describe_calls, shorten
from .events import Summarized, SummaryFailed

__all__ = ["compact_conversation"]

_log = logging.getLogger("toolkit")

_MAX_TEXT_CHARS = 8000
_MAX_DETAIL_CHARS = 2000
_MAX_ASKED_CHARS = 12_000
_FAILURES = {
    "length": "it was cut off, because the model ran out of room",
    "refusal": "the model, or a filter, refused to write it",
    "paused": "the model paused before it was complete",
    "other": "the provider ended it for a reason of its own",
}


class _NoSummary(Exception):  # noqa: N818 -- the name says what happened
    """There is no summary that could be used. The message says why."""


async def compact_conversation(active_run: ActiveRun) -> bool:
    """Shorten a conversation that is longer than `compact_at`. Return whether the model was asked for a summary."""
    options, conversation = active_run.options, active_run.conversation
    max_characters = options.compact_at
    if max_characters is None:
        return False
    active_run.cut_old_results(max_characters)
    split = None if options.summary_prompt is None else conversation.find_old_messages(max_characters)
    if split is None or options.summary_prompt is None:
        return False
    usage_before = active_run.usage
    try:
        summary = await _write_summary(active_run, split, options.summary_prompt, max_characters)
    except _NoSummary as error:
        _log.warning("old turns were not summed up: %s", error)
        conversation.postpone_summary(max_characters)
        active_run.watcher.publish_event(SummaryFailed(str(error), active_run.usage - usage_before))
        return True
    characters = conversation.apply_summary(summary, split.kept)
    usage = active_run.usage - usage_before
    active_run.watcher.publish_event(Summarized(summary, len(split.old), characters, usage))
    await active_run.tell(ConversationSummarized, summary.text, len(split.old), characters, usage)
    return True


async def _write_summary(active_run: ActiveRun, split: MessageSplit, prompt: str, max_characters: int) -> Summary:
    """Return the summary of the old messages and of an earlier summary; raise `_NoSummary` if it is of no use."""
    earlier = active_run.conversation.summary or Summary(text="")
    piece_chars = max_characters * 3 // 4  # the rest is for the summary before it, and for the prompt
    text = earlier.text
    for piece in _join_entries(_render_entries(split.old, piece_chars), piece_chars):
        text = await _ask_for_summary(active_run, prompt, text, piece, max_characters)
    summary = Summary(text=text, left_out=earlier.left_out, messages=earlier.messages + len(split.old))
    return summary.with_calls([*earlier.calls, *describe_calls(split.old)], max_characters // 8)


async def _ask_for_summary(active_run: ActiveRun, prompt: str, earlier: str, piece: str, max_characters: int) -> str:
    limit = active_run.ledger.find_reached_limit()
    if limit is not None:
        raise _NoSummary(limit[1])
    message = _build_message(earlier, piece, min(_MAX_ASKED_CHARS, max_characters // 8))
    request = Request(messages=(message,), system=prompt)
    reply = await (
        _send_request(active_run, request) if active_run.steps is None else _get_summary_step(active_run, request)
    )
    active_run.add_usage(reply)
    text = replace_surrogates(reply.message.text).strip()
    if reply.stop in _FAILURES:
        raise _NoSummary(_FAILURES[reply.stop])
    if not text:
        raise _NoSummary("it was empty")
    if len(text) > max_characters // 4:
        raise _NoSummary(f"it has {len(text):,} characters, and {max_characters // 4:,} are allowed")
    return text


async def _send_request(active_run: ActiveRun, request: Request) -> Reply:
    try:
        async with asyncio.timeout(active_run.ledger.remaining_seconds()) as timer:
            reply = await active_run.ask_model(lambda: active_run.options.provider.reply(request))
            return InputSplitter().split(reply, request)
    except (ProviderError, Transient) as error:
        raise _NoSummary(str(error)) from error
    except TimeoutError:
        if timer.expired():
            raise _NoSummary(active_run.ledger.explain_limit("seconds")[1]) from None
        raise


async def _get_summary_step(active_run: ActiveRun, request: Request) -> Reply:
    """
    Return the reply to *request*, or the one that the steps of the run have kept.

    A failure is kept as well, because the run has gone on without the summary.
    """
    assert active_run.steps is not None  # noqa: S101 -- the caller has checked it
    failures: list[_NoSummary] = []

    async def ask() -> Reply:
        active_run.ledger.end_replay()
        try:
            return await _send_request(active_run, request)
        except _NoSummary as failure:
            failures.append(failure)
            return Reply(message=AssistantMessage(), stop="other")

    reply = await active_run.steps.summary(ask)
    if failures:
        raise failures[0]
    return reply


def _build_message(earlier: str, piece: str, max_chars: int) -> UserMessage:
    """Return the message that asks for a summary of *piece*, which goes on where the summary *earlier* ends."""
    record = f"[summary of what came before]\n{earlier}\n\n[what came then]\n{piece}" if earlier else piece
    mark = secrets.token_hex(8)
    return UserMessage.of(
        f"Between the two lines with {mark} is the record to sum up.\n"
        f"----- begin record {mark} -----\n{record}\n----- end record {mark} -----\n"
        f"Write the summary of all of it now, in at most {max_chars:,} characters."
    )


def _render_entries(messages: Iterable[Message], max_chars: int) -> Iterator[str]:
    """Yield each of *messages* as text, with what is too long for a summary left out."""
    text_chars, detail_chars = min(_MAX_TEXT_CHARS, max_chars), min(_MAX_DETAIL_CHARS, max_chars)
    for message in messages:
        if isinstance(message, UserMessage):
            yield f"[user] {shorten(' '.join(map(_render_part, message.parts)), text_chars)}"
        elif isinstance(message, AssistantMessage):
            if message.text.strip():
                yield f"[model] {shorten(message.text, text_chars)}"
            for call in message.calls:
                arguments = call.arguments if isinstance(call.arguments, str) else as_text(as_json(call.arguments))
                yield f"[model calls {call.name}] {shorten(arguments, detail_chars)}"
        elif isinstance(message, ToolMessage):
            for result in message.results:
                yield f"[result of {result.tool}: {result.kind}] {shorten(result.text, detail_chars)}"


def _render_part(part: Part) -> str:
    is_shown = isinstance(part, (TextPart, ResourcePart))
    return render_part(part) if is_shown else f"({type(part).__name__}, which is not shown)"


def _join_entries(entries: Iterable[str], max_chars: int) -> Iterator[str]:
    """Yield *entries* joined to pieces of about *max_chars* characters."""
    piece: list[str] = []
    size = 0
    for entry in entries:
        if piece and size + len(entry) > max_chars:
            yield "\n".join(piece)
            piece, size = [], 0
        piece.append(entry)
        size += len(entry) + 1
    if piece:
        yield "\n".join(piece)
