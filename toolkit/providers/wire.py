"""
What all translations share: the parts of a user's message, calls in both directions, counts of tokens.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..content import FilePart, ImagePart, JsonPart, Part, TextPart
from ..formats.result_content import Picture, pictures_of
from ..formats.wire_names import Naming
from ..results import ToolCall, ToolResult
from ..values.rendering import as_json, as_text
from ..values.strictjson.checks import copied, loads
from .base import Request, StopReason, Usage
from .http.exchange import is_too_deep
from .messages import AssistantMessage, UserMessage

__all__ = [
    "UNREADABLE",
    "arguments_object",
    "arguments_text",
    "count",
    "finished",
    "is_same_turn",
    "made_calls",
    "native_of",
    "objects",
    "said_by",
    "stop_for",
    "table_of",
    "usage_of",
    "whole",
    "wire_id",
    "wire_name",
]

UNREADABLE = "INVALID_JSON"
"""The key under which a model is shown the arguments that it wrote and nobody could read."""

_NOTHING = "(nothing)"
_HALF = re.compile("[\ud800-\udfff]")
_FOREIGN = re.compile(r"[^A-Za-z0-9_.-]")


def said_by(message: UserMessage) -> list[str | Picture]:
    """The texts and pictures of *message*, in order; at least one, because providers refuse a message of nothing."""
    shown = [_shown(part) for part in message.parts]
    return [each for each in shown if not isinstance(each, str) or each.strip()] or [_NOTHING]


def _shown(part: Part) -> str | Picture:
    if isinstance(part, TextPart):
        return part.text
    if isinstance(part, JsonPart):
        return as_text(as_json(part.value))  # a user may put anything there
    if isinstance(part, ImagePart):
        pictures = pictures_of(ToolResult(parts=[part]))
        return pictures[0] if pictures else "(an image that cannot be shown: only PNG, JPEG, GIF and WebP can)"
    return f"({_file(part)})"


def _file(part: FilePart) -> str:
    return ", ".join(["a file", *filter(None, (part.name, part.media_type, part.uri))])


def made_calls(calls: Sequence[ToolCall], request: Request) -> tuple[ToolCall, ...]:
    """*calls* with arguments read where they are JSON objects, each with an id of its own."""
    number = sum(len(message.calls) for message in request.messages if isinstance(message, AssistantMessage))
    given = {call.id for call in calls}
    made: dict[str, ToolCall] = {}
    for call in calls:
        number += 1
        # Results are told apart by the ids of one turn; ids of earlier turns may come again, as some servers have it.
        own = call.id
        while not own or own in made:
            own = f"call_{number}" if f"call_{number}" not in given else ""
            number += 1
        made[own] = ToolCall(call.name, _read(call.arguments), own, metadata=call.metadata)
    return tuple(made.values())


def _read(arguments: Any) -> Any:
    """A dictionary if *arguments* is one or says one; otherwise as it was, for the dispatcher to refuse."""
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}  # how some servers say that there are none
    if not isinstance(arguments, str):
        return arguments
    try:
        read = loads(arguments)
    except ValueError:
        return arguments
    return read if isinstance(read, dict) and not is_too_deep(read) else arguments


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """The arguments for a provider that takes an object; what is none goes under a key that says so."""
    read = _read(call.arguments)
    return copied(read) if isinstance(read, dict) else {UNREADABLE: read}


def arguments_text(call: ToolCall) -> str:
    """The arguments for a provider that takes JSON text."""
    return json.dumps(arguments_object(call), ensure_ascii=False, separators=(",", ":"))


def wire_name(naming: Naming, name: str) -> str:
    """A tool's name as it is sent; one that a model made up may have letters that no provider takes."""
    return _FOREIGN.sub("_", naming.wire(name))[: naming.longest] or "_"


def wire_id(call_id: Any, allowed: re.Pattern[str]) -> Any:
    """A call's id as it is sent, with the call and with its result; one from elsewhere may not be *allowed*."""
    if not isinstance(call_id, str) or allowed.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def native_of(message: AssistantMessage, provider: str) -> Any:
    """What *provider* said in its own words, a copy; None if it was another, or there is nothing."""
    native = message.native
    return copied(native.content) if native is not None and native.provider == provider else None


def objects(value: Any) -> list[dict[str, Any]] | None:
    """*value* if it is a list of objects."""
    return value if isinstance(value, list) and all(isinstance(each, dict) for each in value) else None


def is_same_turn(ids: Iterable[Any], message: AssistantMessage) -> bool:
    """Whether the provider's own words have the calls that the message has; otherwise one of them was changed."""
    return list(ids) == [call.id for call in message.calls]


def stop_for(reason: Any, table: Mapping[str, StopReason]) -> StopReason:
    return table.get(reason, "other") if isinstance(reason, str) else "other"


def finished(stop: StopReason, message: AssistantMessage) -> StopReason:
    """*stop*, unless the message says otherwise: some servers stop, and have calls."""
    if message.calls and stop in ("answer", "other"):
        return "calls"
    return "other" if stop == "calls" and not message.calls else stop


def whole(text: str) -> str:
    """
    *text* in which every letter is whole.

    Servers that count in UTF-16 cut letters beyond its first plane in two; halves that stand together are joined.
    """
    if not _HALF.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def table_of(holder: Any, name: str) -> Mapping[str, Any]:
    """The object under *name*; empty if there is none."""
    found = holder.get(name) if isinstance(holder, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def count(holder: Mapping[str, Any], name: str) -> int:
    """A number of tokens; 0 for what is none."""
    found = holder.get(name)
    return found if type(found) is int and found > 0 else 0


def usage_of(usage: Mapping[str, Any], read: str, written: str) -> Usage:
    """Tokens as OpenAI counts them; *read* and *written* are what an API of theirs calls the two."""
    details = table_of(usage, f"{read}_details")
    return Usage(
        input_tokens=count(usage, read),
        output_tokens=count(usage, written),
        cached_tokens=count(details, "cached_tokens"),
        cache_write_tokens=count(details, "cache_write_tokens"),
    )
