"""
Keeps a conversation such that every provider accepts it.

Each call is answered exactly once, by the message right after it, in order.
Ids are unique, names are legal; a message that says nothing is not kept.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..providers.messages import AssistantMessage, Message, ToolMessage
from ..results import ToolCall, ToolResult
from ..values.rendering import as_json, cleaned
from ..values.strictjson.checks import is_plain

__all__ = ["flaw_of", "is_empty", "sound", "unfinished", "used_ids"]

_LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_ILLEGAL = re.compile(r"[^A-Za-z0-9_.-]")
_LEGAL_ID = re.compile(r"[!-~]{1,128}")


def sound(message: AssistantMessage, taken: Collection[str]) -> tuple[AssistantMessage, tuple[ToolCall, ...]]:
    """
    *message* as it can be kept, and its calls as they are to be run.

    A call whose id is missing, odd or *taken* gets another; a name that no tool can have is written otherwise in
    what is kept. If anything had to be changed, the provider's own words go: they would not fit the results.
    """
    seen = set(taken)
    kept: list[ToolCall] = []
    run: list[ToolCall] = []
    for call in message.calls:
        given = call.id if isinstance(call.id, str) else ""
        key = given if _LEGAL_ID.fullmatch(given) and given not in seen else _fresh_id(seen)
        seen.add(key)
        name = call.name if isinstance(call.name, str) else type(call.name).__name__
        # Nothing else is taken over: session, principal and tool are not the model's to choose.
        kept.append(ToolCall(_legal(name), _sendable(call.arguments), key))
        # What is no JSON is called as it came, to be refused.
        run.append(ToolCall(name, call.arguments, key))
    text = cleaned(message.text) if message.text.strip() else ""
    is_changed = text.strip() != message.text.strip() or any(
        (new.id, new.name) != (old.id, old.name) or new.arguments is not old.arguments
        for new, old in zip(kept, message.calls, strict=True)
    )
    native = None if is_changed else message.native
    return AssistantMessage(text=text, calls=tuple(kept), native=native), tuple(run)


def is_empty(message: AssistantMessage) -> bool:
    """Whether it says nothing at all; providers refuse to read such a message again."""
    return not (message.text.strip() or message.calls or message.native is not None)


def used_ids(messages: Iterable[Message]) -> set[str]:
    """The ids of all calls so far."""
    return {call.id for message in messages if isinstance(message, AssistantMessage) for call in message.calls}


def unfinished(call: ToolCall, why: str, *, was_started: bool = False) -> ToolResult:
    """The result of a call that has none: *why* it was not run, or not to its end."""
    what = "it may or may not have happened" if was_started else "it was not run"
    return ToolResult.error(
        "cancelled",
        f"{why}: {what}",
        details={"happened": "maybe" if was_started else "no"},
        advice="",
        call_id=call.id,
        tool=call.name,
    )


def flaw_of(messages: Sequence[Message]) -> str | None:
    """What is wrong with a conversation, and where; None if every call is answered once, in order."""
    seen: set[str] = set()
    open_ids: list[str] | None = None
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            answered = [result.call_id for result in message.results]
            if answered != (open_ids or []) or not answered:
                return f"messages[{index}]: the results do not answer the calls right before them"
            open_ids = None
            continue
        if open_ids is not None:
            return f"messages[{index}]: the calls of the message before have no results"
        if isinstance(message, AssistantMessage):
            ids = [call.id for call in message.calls]
            if is_empty(message) or "" in ids or len({*ids}) < len(ids) or not seen.isdisjoint(ids):
                return f"messages[{index}]: it is empty, or an id of its calls is missing or stands twice"
            seen.update(ids)
            open_ids = ids or None
    return None if open_ids is None else f"messages[{len(messages) - 1}]: its calls have no results"


def _fresh_id(taken: Collection[str]) -> str:
    return next(name for number in itertools.count(len(taken) + 1) if (name := f"call_{number}") not in taken)


def _legal(name: str) -> str:
    if _LEGAL.fullmatch(name):
        return name
    written = _ILLEGAL.sub("_", name)[:63]
    return written if _LEGAL.fullmatch(written) else f"_{written}"


def _sendable(arguments: Any) -> Any:
    """*arguments* as an object or a text that can be written as JSON; the same ones if they can."""
    if isinstance(arguments, str):
        return cleaned(arguments)
    if isinstance(arguments, dict):
        return arguments if is_plain(arguments) else as_json(arguments)
    return json.dumps(as_json(arguments))
