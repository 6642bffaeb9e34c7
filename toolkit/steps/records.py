"""
The records of steps: a reply of the model, and the result of a call, as versioned JSON.

`Steps` that keep what came of a step write these records, and read them in another process. A record has authority: it
restores the grants and the mode of a session. So the place where records are kept is trusted.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any, cast, get_args

from .._plumbing.versioned_json import check_field_types, remove_version
from ..providers.base import Reply, StopReason, Usage
from ..providers.messages import AssistantMessage, UserMessage, message_from_json
from ..results import ToolResult
from ..session import Session
from ..values.rendering import as_json, as_text, is_strict_json
from ..values.strictjson.checks import is_plain_json
from .session_changes import SessionState, apply_changes, count_written, describe_changes, read_state

__all__ = [
    "VERSION",
    "ReplyToPrompts",
    "as_strict_json",
    "dump_call",
    "dump_reply",
    "load_call",
    "load_reply",
    "read_fields",
    "with_prompts",
]

VERSION = 1
_REPLY_FIELDS: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("message", "usage"), (dict,)),
    **dict.fromkeys(("stop", "model", "id"), (str,)),
    "said": (list,),
}
_CALL_FIELDS: dict[str, tuple[type, ...]] = {"result": (dict,), "session": (dict,)}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyToPrompts(Reply):
    """A reply of the model, with what people have *said* to the run since the request before."""

    said: tuple[UserMessage, ...] = ()


def with_prompts(reply: Reply, said: tuple[UserMessage, ...]) -> Reply:
    """Return *reply* with what was *said* before it."""
    if not said:
        return reply
    return ReplyToPrompts(**{field.name: getattr(reply, field.name) for field in fields(Reply)}, said=said)


def dump_reply(reply: Reply) -> dict[str, Any]:
    """
    Return the record of a step that asked the model.

    A reason to stop that a provider has made up is written as "answer", which the run takes it for.
    """
    said = reply.said if isinstance(reply, ReplyToPrompts) else ()
    message = reply.message.to_json()
    for call in message.get("calls", ()):
        call["arguments"] = _keep_refusable(call["arguments"])
    record = {
        "version": VERSION,
        "message": message,
        "stop": reply.stop if reply.stop in get_args(StopReason) else "answer",
        "usage": reply.usage.to_json(),
        "model": reply.model,
        "id": reply.id,
        **({"said": [message.to_json() for message in said]} if said else {}),
    }
    return as_strict_json(record)


def _keep_refusable(arguments: Any) -> Any:
    """
    Return *arguments*, or a text if they are not JSON, as with NaN.

    As the text, they are refused when the record is read, as they were before. What has no such text is converted.
    """
    if isinstance(arguments, str) or is_plain_json(arguments):
        return arguments
    try:
        return json.dumps(arguments)
    except (TypeError, ValueError, RecursionError):
        return arguments


def load_reply(record: Mapping[str, Any]) -> Reply:
    """
    Return the reply that `dump_reply` has written.

    Raises:
        ValueError: *record* is something else, or of another version. The message names the place.
    """
    data = read_fields(record, "a reply", _REPLY_FIELDS, ("message", "stop", "usage"))
    message = message_from_json(data["message"])
    said = [message_from_json(item) for item in data.get("said", [])]
    if not isinstance(message, AssistantMessage):
        raise ValueError("not a reply: `message` has to be a message of the model")  # noqa: TRY004 -- unread JSON
    if data["stop"] not in get_args(StopReason):
        raise ValueError(f"not a reply: unknown `stop` {data['stop']!r:.80}")
    if not all(isinstance(item, UserMessage) for item in said):
        raise ValueError("not a reply: `said` has to be a list of messages of the user")
    reply = Reply(
        message=message,
        stop=cast("StopReason", data["stop"]),
        usage=Usage.from_json(data["usage"]),
        model=data.get("model", ""),
        id=data.get("id", ""),
    )
    return with_prompts(reply, tuple(item for item in said if isinstance(item, UserMessage)))


def dump_call(result: ToolResult, session: Session, before: SessionState | None = None) -> dict[str, Any]:
    """
    Return the record of a step that ran a call of *session*.

    *before* is what `read_state` returned for the session when the step began; None if it was a new session then.
    """
    data = result.to_json()  # a text that is written when it is first read may be cut, and kept in the session
    changes = describe_changes(before, read_state(session))
    count_written(changes, session)
    return as_strict_json({"version": VERSION, "result": data, "session": changes})


def load_call(record: Mapping[str, Any], session: Session) -> ToolResult:
    """
    Return the result that `dump_call` has written, and make the changes of the call in *session*.

    Raises:
        ValueError: *record* is something else, or of another version. *session* is not changed then.
    """
    data = read_fields(record, "the record of a call", _CALL_FIELDS, ("result",))
    result = ToolResult.from_json(data["result"])
    apply_changes(data.get("session", {}), session)
    return result


def as_strict_json(record: dict[str, Any]) -> dict[str, Any]:
    """Return *record* as JSON. The metadata that a hook adds to a result may be something else, such as NaN."""
    try:
        as_text(record)
        if is_strict_json(record):
            return record
    except (TypeError, ValueError):  # it cannot be encoded
        pass
    return cast("dict[str, Any]", as_json(record))


def read_fields(
    record: Mapping[str, Any], subject: str, types: Mapping[str, tuple[type, ...]], needed: tuple[str, ...]
) -> dict[str, Any]:
    """Return the fields of *record*; raise `ValueError` if one is missing, or of a type that is not in *types*."""
    data = remove_version(record, subject, VERSION)
    check_field_types(data, subject, types)
    if missing_names := [name for name in needed if name not in data]:
        raise ValueError(f"not {subject}: `{missing_names[0]}` is missing")
    return data
