"""Functions that all provider translations share: parts of a user's message, calls in both directions, token counts."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .._plumbing.generated_ids import GeneratedId
from ..content import AudioPart, FilePart, ImagePart, JsonPart, Part, ResourcePart
from ..formats.base import SEARCH_TOOL_NAME, Naming
from ..formats.media import ResultMedia, find_media
from ..formats.result_content import explain_missing, get_found_names
from ..results import ToolCall
from ..values.part_texts import render_part
from ..values.rendering import as_json, as_text
from ..values.strictjson.checks import copy_json, loads
from .base import Request, StopReason, Usage
from .http.exchange import is_too_deep
from .messages import AssistantMessage, ToolMessage, UserMessage

__all__ = [
    "UNREADABLE",
    "append_text",
    "arguments_object",
    "arguments_text",
    "as_object_list",
    "build_cache_key",
    "build_user_content",
    "copy_native_content",
    "correct_stop_reason",
    "find_ends",
    "get_object",
    "has_own_search",
    "is_same_turn",
    "join_surrogates",
    "list_unshown_tools",
    "map_stop_reason",
    "normalize_calls",
    "parse_arguments",
    "read_openai_usage",
    "read_token_count",
    "wire_id",
    "wire_name",
]

UNREADABLE = "INVALID_JSON"
"""The key under which the model sees the arguments that it wrote if they were not a JSON object."""

_EMPTY_MESSAGE_TEXT = "(nothing)"
_SURROGATE = re.compile("[\ud800-\udfff]")
_ILLEGAL_CHARACTER = re.compile(r"[^A-Za-z0-9_.-]")


def build_cache_key(request: Request) -> str | None:
    """Return a key that all requests of a session share, so that they reach the server that has their prompt cached."""
    if request.session is None:
        return None
    # The id of a session may say who the user is, and servers log their requests.
    return hashlib.sha256(f"prompt cache of {request.session.id}".encode("utf-8", "replace")).hexdigest()[:32]


def find_ends(messages: Sequence[dict[str, Any]], *, has_tools: bool) -> list[dict[str, Any]]:
    """
    Return where to mark a conversation for Claude's cache: its last message, and the last one of the request before.

    A cached beginning is looked for in the twenty blocks before a mark, and a turn may have more blocks. A single
    question without tools is not marked, because no other request goes on with it, and a mark costs something.
    """
    if len(messages) < 2 and not has_tools:
        return []
    last_reply = max((index for index, message in enumerate(messages) if message["role"] == "assistant"), default=0)
    return [*messages[max(last_reply - 1, 0) : last_reply], *messages[-1:]]


def has_own_search(request: Request) -> bool:
    """Return whether *request* offers our own `tool_search`, whose results can refer to deferred tools."""
    tool = None if request.catalog is None else request.catalog.get(SEARCH_TOOL_NAME)
    return tool is not None and tool.name == SEARCH_TOOL_NAME and not tool.facts.defer


def list_unshown_tools(request: Request, search_ids: Collection[str] | None = None) -> tuple[str, ...]:
    """
    Return the tools that the session of *request* has loaded, and that no result in the conversation refers to.

    They were loaded by other means than a search, or the search was summed up. Only the results of the calls
    *search_ids* can refer to tools; None stands for all calls.
    """
    messages = [message for message in request.messages if isinstance(message, ToolMessage)]
    results = [result for message in messages for result in message.results]
    searches = [result for result in results if search_ids is None or result.call_id in search_ids]
    shown = {name for result in searches for name in get_found_names(result) or ()}
    return tuple(name for name in getattr(request.session, "loaded", ()) if name not in shown)


def build_user_content(message: UserMessage, accepted: Collection[str]) -> list[str | ResultMedia]:
    """Return the texts of *message*, and its media in *accepted* formats; at least one item, as providers require."""
    contents = [_render_part(part, accepted) for part in message.parts]
    return [content for content in contents if not isinstance(content, str) or content.strip()] or [_EMPTY_MESSAGE_TEXT]


def _render_part(part: Part, accepted: Collection[str]) -> str | ResultMedia:
    """Return the text or the media that is sent for *part*. A part that cannot be sent is a text that says so."""
    if (media := find_media(part, accepted)) is not None:
        return media
    match part:
        case JsonPart(value=value):
            return as_text(as_json(value))  # the user may have put any object there
        case ImagePart():
            return f"(an image that cannot be shown: {explain_missing(part, accepted)})"
        case AudioPart():
            return f"(a recording that cannot be played, {render_part(part)}: {explain_missing(part, accepted)})"
        case ResourcePart(content=bytes()):
            return f"(a resource that cannot be shown, {render_part(part)}: {explain_missing(part, accepted)})"
        case FilePart():
            return f"({', '.join(['a file', *filter(None, (part.name, part.media_type, part.uri))])})"
        case _:
            return render_part(part)


def normalize_calls(calls: Sequence[ToolCall], request: Request) -> tuple[ToolCall, ...]:
    """Return *calls*, each with its own id. Arguments that are the text of a JSON object become a dictionary."""
    number = sum(len(message.calls) for message in request.messages if isinstance(message, AssistantMessage))
    sent_ids = {call.id for call in calls}
    calls_by_id: dict[str, ToolCall] = {}
    for call in calls:
        number += 1
        # Only the ids within one turn have to differ, to tell results apart. Some servers repeat ids of earlier turns.
        own_id = call.id
        while not own_id or own_id in calls_by_id:
            own_id = GeneratedId(f"call_{number}" if f"call_{number}" not in sent_ids else "")
            number += 1
        calls_by_id[own_id] = ToolCall(call.name, parse_arguments(call.arguments), own_id, metadata=call.metadata)
    return tuple(calls_by_id.values())


def append_text(fields: dict[str, Any], name: str, piece: str) -> None:
    """Append *piece* to the text under *name*, which may be missing, in time that depends on *piece* alone."""
    text = fields.get(name, "")
    fields[name] = ""  # Python extends a text in place if only this function holds it; otherwise it copies all of it
    text += piece
    fields[name] = text


def parse_arguments(arguments: Any) -> Any:
    """Return *arguments* as a dictionary if they are one, or its JSON text. The dispatcher refuses all others."""
    if arguments is None or (isinstance(arguments, str) and not arguments.strip()):
        return {}  # some servers send this for a call without arguments
    if not isinstance(arguments, str):
        return arguments
    try:
        decoded = loads(arguments)
    except ValueError:
        return arguments
    return decoded if isinstance(decoded, dict) and not is_too_deep(decoded) else arguments


def arguments_object(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of *call* as an object. Other arguments are put under the key `UNREADABLE`."""
    arguments = parse_arguments(call.arguments)
    return copy_json(arguments) if isinstance(arguments, dict) else {UNREADABLE: arguments}


def arguments_text(call: ToolCall) -> str:
    """Return the arguments of *call* for a provider that accepts JSON text."""
    return json.dumps(arguments_object(call), ensure_ascii=False, separators=(",", ":"))


def wire_name(naming: Naming, name: str) -> str:
    """Return the name of a tool as it is sent. The model may have invented it, so bad characters are replaced."""
    return _ILLEGAL_CHARACTER.sub("_", naming.wire(name))[: naming.max_chars] or "_"


def wire_id(call_id: Any, allowed: re.Pattern[str]) -> Any:
    """Return the id of a call as it is sent. If it is from another provider and not *allowed*, it becomes a hash."""
    if not isinstance(call_id, str) or allowed.fullmatch(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode('utf-8', 'surrogatepass')).hexdigest()[:24]}"


def copy_native_content(message: AssistantMessage, provider: str) -> Any:
    """Return a copy of the native content of *message*; None if it has none, or if another provider sent it."""
    native = message.native
    return copy_json(native.content) if native is not None and native.provider == provider else None


def as_object_list(value: Any) -> list[dict[str, Any]] | None:
    """Return *value* if it is a list of objects, and otherwise None."""
    return value if isinstance(value, list) and all(isinstance(item, dict) for item in value) else None


def is_same_turn(ids: Iterable[Any], message: AssistantMessage) -> bool:
    """Return whether *ids*, from the native content of *message*, are those of its calls, so neither was changed."""
    return list(ids) == [call.id for call in message.calls]


def map_stop_reason(reason: Any, table: Mapping[str, StopReason]) -> StopReason:
    return table.get(reason, "other") if isinstance(reason, str) else "other"


def correct_stop_reason(stop: StopReason, message: AssistantMessage) -> StopReason:
    """Return *stop*, corrected by the calls of *message*: some servers give another reason although it has calls."""
    if message.calls and stop in ("answer", "other"):
        return "calls"
    return "other" if stop == "calls" and not message.calls else stop


def join_surrogates(text: str) -> str:
    """Return *text* with the pairs of surrogates that some servers send joined, and single surrogates replaced."""
    if not _SURROGATE.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def get_object(holder: Any, name: str) -> Mapping[str, Any]:
    """Return the object under *name* in *holder*; an empty one if there is none."""
    value = holder.get(name) if isinstance(holder, Mapping) else None
    return value if isinstance(value, Mapping) else {}


def read_token_count(holder: Mapping[str, Any], name: str) -> int:
    """Return the number of tokens under *name*; 0 if there is no positive whole number."""
    value = holder.get(name)
    return value if type(value) is int and value > 0 else 0


def read_openai_usage(usage: Mapping[str, Any], input_name: str, output_name: str) -> Usage:
    """Return the tokens as OpenAI counts them. Its two APIs differ in the names of the counts."""
    details = get_object(usage, f"{input_name}_details")
    # Moonshot and DeepSeek have, or had, names of their own for the tokens from the cache.
    counts = [(details, "cached_tokens"), (usage, "cached_tokens"), (usage, "prompt_cache_hit_tokens")]
    return Usage(
        input_tokens=read_token_count(usage, input_name),
        output_tokens=read_token_count(usage, output_name),
        cached_tokens=max(read_token_count(holder, name) for holder, name in counts),
        cache_write_tokens=read_token_count(details, "cache_write_tokens"),
    )
