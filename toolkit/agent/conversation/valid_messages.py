"""
The rules of a conversation that every provider accepts, and the functions that keep to them.

Each call is answered exactly once, in order, by the message directly after it.
Ids of calls are unique, and names of tools are legal. An empty message is not kept.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..._plumbing.generated_ids import GeneratedId
from ...providers.messages import AssistantMessage, Message, ToolMessage
from ...results import ToolCall, ToolResult
from ...values.rendering import as_json, replace_surrogates
from ...values.strictjson.checks import is_plain_json

__all__ = ["build_unfinished_result", "collect_call_ids", "find_message_flaw", "is_empty", "make_valid"]

_LEGAL_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
_ILLEGAL_CHARACTER = re.compile(r"[^A-Za-z0-9_.-]")
_LEGAL_ID = re.compile(r"[!-~]{1,128}")


def make_valid(message: AssistantMessage, taken_ids: Collection[str]) -> tuple[AssistantMessage, tuple[ToolCall, ...]]:
    """
    Return *message* as the conversation can keep it, and its calls as the dispatcher has to run them.

    A call whose id is missing, not legal or in *taken_ids* gets another id. In the message that is kept, a name that no
    tool can have is changed to a legal one. If anything was changed, `native` is dropped, because the provider's own
    content would not match the results.
    """
    used = set(taken_ids)
    kept_calls: list[ToolCall] = []
    run_calls: list[ToolCall] = []
    for call in message.calls:
        call_id = call.id if isinstance(call.id, str) else ""
        key = call_id if _LEGAL_ID.fullmatch(call_id) and call_id not in used else _create_id(used)
        used.add(key)
        name = call.name if isinstance(call.name, str) else type(call.name).__name__
        # Nothing else is copied: the model must not choose the session, the principal or the tool.
        kept_calls.append(ToolCall(_make_legal(name), _make_sendable(call.arguments), key))
        # Arguments that are not JSON stay as they are in the call, so that the dispatcher refuses them.
        run_calls.append(ToolCall(name, call.arguments, key))
    text = replace_surrogates(message.text) if message.text.strip() else ""
    is_changed = text.strip() != message.text.strip() or any(
        (new.id, new.name) != (old.id, old.name) or new.arguments is not old.arguments
        for new, old in zip(kept_calls, message.calls, strict=True)
    )
    native = None if is_changed else message.native
    return AssistantMessage(text=text, calls=tuple(kept_calls), native=native), tuple(run_calls)


def is_empty(message: AssistantMessage) -> bool:
    """Return whether *message* has no text, no calls and no `native`. Providers refuse such a message."""
    return not (message.text.strip() or message.calls or message.native is not None)


def collect_call_ids(messages: Iterable[Message]) -> set[str]:
    return {call.id for message in messages if isinstance(message, AssistantMessage) for call in message.calls}


def build_unfinished_result(call: ToolCall, why: str, *, was_started: bool = False) -> ToolResult:
    """Return a result for a call that has none, which says *why* it was not run or not finished."""
    effect = "it may or may not have happened" if was_started else "it was not run"
    return ToolResult.failure(
        "cancelled",
        f"{why}: {effect}",
        details={"happened": "maybe" if was_started else "no"},
        advice="",
        call_id=call.id,
        tool=call.name,
    )


def find_message_flaw(messages: Sequence[Message]) -> str | None:
    """Return what is wrong with a conversation, and where; None if every call is answered once, in order."""
    used: set[str] = set()
    open_ids: list[str] | None = None
    for index, message in enumerate(messages):
        if isinstance(message, ToolMessage):
            answered_ids = [result.call_id for result in message.results]
            if answered_ids != (open_ids or []) or not answered_ids:
                return f"messages[{index}]: the results do not answer the calls right before them"
            open_ids = None
            continue
        if open_ids is not None:
            return f"messages[{index}]: the calls of the message before have no results"
        if isinstance(message, AssistantMessage):
            ids = [call.id for call in message.calls]
            if is_empty(message) or "" in ids or len({*ids}) < len(ids) or not used.isdisjoint(ids):
                return f"messages[{index}]: it is empty, or an id of its calls is missing or stands twice"
            used.update(ids)
            open_ids = ids or None
    return None if open_ids is None else f"messages[{len(messages) - 1}]: its calls have no results"


def _create_id(used: Collection[str]) -> str:
    return next(
        name for number in itertools.count(len(used) + 1) if (name := GeneratedId(f"call_{number}")) not in used
    )


def _make_legal(name: str) -> str:
    if _LEGAL_NAME.fullmatch(name):
        return name
    legal_name = _ILLEGAL_CHARACTER.sub("_", name)[:63]
    return legal_name if _LEGAL_NAME.fullmatch(legal_name) else f"_{legal_name}"


def _make_sendable(arguments: Any) -> Any:
    """Return *arguments* as an object or a text that can be written as JSON; unchanged if that is possible."""
    if isinstance(arguments, str):
        return replace_surrogates(arguments)
    if isinstance(arguments, dict):
        return arguments if is_plain_json(arguments) else as_json(arguments)
    return json.dumps(as_json(arguments))
