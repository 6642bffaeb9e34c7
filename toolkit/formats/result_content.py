"""
The parts of a result that the model gets: its text, its images, sound and documents, its value.

The text says everything. Images, sound and documents are sent with the text if the provider accepts them; otherwise
the text says that they are missing. A value is sent instead of the text only if the text says the same: a text that was
cut, framed or changed by a hook must stay so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from .._option_checks import require_list
from ..content import AudioPart, ImagePart, Part, ResourcePart
from ..results import ToolResult
from ..values.part_texts import describe_resource
from ..values.rendering import as_text, replace_surrogates
from ..values.strictjson.checks import is_plain_json, loads
from .call_ids import sent_id
from .media import IMAGE_FORMATS, ResultMedia, explain_accepted, find_media

__all__ = [
    "check_results",
    "describe_further_findings",
    "explain_missing",
    "get_found_names",
    "get_provider_id",
    "media_of",
    "text_of",
    "value_of",
]

_NOTHING = "(no output)"
_WAITING_TEXT = (
    "It has not run: a person has to agree first. Do not call it again, and do not take it for done; "
    "go on with what does not depend on it, or tell the user that it waits."
)
_GENERATED_ID = re.compile(r"call_\d+")
_MAX_NAMED_RESOURCES = 10


def check_results(results: Iterable[ToolResult]) -> list[ToolResult]:
    """Return the results of a turn as a list; raise `TypeError` if they are no list of results."""
    items = require_list(results, "results", "ToolResult")
    for place, item in enumerate(items):
        if not isinstance(item, ToolResult):
            raise TypeError(
                f"results[{place}] cannot be {type(item).__name__}; give what `Dispatcher.call_many` returned"
            )
    return items


def text_of(result: ToolResult, accepted: Collection[str] | None = IMAGE_FORMATS) -> str:
    """
    Return the text that the model reads. It is never empty, because some providers refuse an empty text.

    The text says what is missing, because its format is none of *accepted*. None stands for all formats.
    """
    text = replace_surrogates(result.text) if result.text.strip() else _NOTHING  # a hook may leave some
    if result.parts and accepted is not None:
        text = "\n".join([text, *_find_missing(result.parts, accepted), *_name_resources(result.parts, text)])
    return f"{text}\n{_WAITING_TEXT}" if result.kind == "waiting" else text


def _find_missing(parts: Iterable[Part], accepted: Collection[str]) -> Iterator[str]:
    """Yield a sentence for each kind of parts that cannot be sent."""
    missing = [part for part in parts if explain_missing(part, accepted) is not None]
    for kind, noun in ((ImagePart, "images"), (AudioPart, "recordings"), (ResourcePart, "resources")):
        missing_of_kind = [part for part in missing if isinstance(part, kind)]
        if missing_of_kind:
            reason = explain_missing(missing_of_kind[0], accepted)
            yield f"({len(missing_of_kind)} of the {noun} cannot be shown: {reason})"


def _name_resources(parts: Iterable[Part], text: str) -> Iterator[str]:
    """Yield a line about the resources that *text* does not name. They may be many, so few of them are named."""
    lines = [describe_resource(part) for part in parts if isinstance(part, ResourcePart)]
    unnamed = [line for line in lines if line not in text]
    if unnamed:
        further = len(unnamed) - _MAX_NAMED_RESOURCES
        names = ", ".join(unnamed[:_MAX_NAMED_RESOURCES])
        yield f"(not shown: {names}{f' and {further} more' if further > 0 else ''})"


def explain_missing(part: Part, accepted: Collection[str]) -> str | None:
    """Return why the bytes in *part* cannot be sent to a provider of *accepted* formats; None if they can be sent."""
    if find_media(part, accepted) is not None:
        return None
    match part:
        case ImagePart():
            return explain_accepted(accepted, "image")
        case AudioPart():
            return explain_accepted(accepted, "audio")
        case ResourcePart(content=bytes()):
            return explain_accepted(accepted, "image", "document", "audio")
        case _:
            return None


def media_of(result: ToolResult, accepted: Collection[str] = IMAGE_FORMATS) -> list[ResultMedia]:
    """Return the images, the sound and the documents whose format is one of *accepted*."""
    return [media for part in result.parts if (media := find_media(part, accepted)) is not None]


def value_of(result: ToolResult, accepted: Collection[str] = IMAGE_FORMATS) -> Any:
    """Return the structured value if the text that the model reads is exactly this value; otherwise None."""
    if result.kind != "ok" or not isinstance(result.value, (dict, list)):
        return None
    try:
        is_same = loads(text_of(result, accepted)) == result.value and is_plain_json(result.value)
    except ValueError:
        return None
    return result.value if is_same else None


def get_found_names(result: ToolResult) -> list[str] | None:
    """Return the names of the tools that our own `tool_search` has loaded, or None for any other result."""
    if result.tool != "tool_search" or result.kind != "ok" or not isinstance(result.value, Mapping):
        return None
    tools = result.value.get("tools")
    if not isinstance(tools, list):
        return None
    entries = [tool for tool in tools if isinstance(tool, Mapping) and isinstance(tool.get("name"), str)]
    return [tool["name"] for tool in entries if not tool.get("already_loaded")]


def describe_further_findings(result: ToolResult) -> str:
    """Return what our own `tool_search` answered besides the tools that it has loaded; an empty text if nothing."""
    if get_found_names(result) is None:
        return f"The answer of `tool_search`: {text_of(result)}"
    further = {name: value for name, value in result.value.items() if name != "tools"}
    entries = [tool for tool in result.value["tools"] if isinstance(tool, Mapping) and tool.get("already_loaded")]
    if entries:
        further = {"already_loaded": [tool.get("name") for tool in entries], **further}
    return f"`tool_search` also answered: {as_text(further)}" if further else ""


def get_provider_id(result: ToolResult) -> str | None:
    """
    Return the id that the model gave to its call, or None if it gave none.

    The dispatcher makes an id for a call without one. This function returns None for such an id.
    """
    call_id = sent_id(result.call_id)
    return None if _GENERATED_ID.fullmatch(call_id) or not call_id else call_id
