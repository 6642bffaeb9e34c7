"""
The parts of a result that the model gets: its text, its images, its value.

The text says everything. Images are sent with the text if the provider accepts them. A value is sent instead of the
text only if the text says the same: a text that was cut, framed or changed by a hook must stay so.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .._option_checks import require_list
from ..content import ImagePart
from ..results import ToolResult
from ..values.strictjson.checks import is_plain_json, loads
from .call_ids import sent_id

__all__ = [
    "ResultImage",
    "check_results",
    "encode_base64",
    "get_found_names",
    "get_provider_id",
    "images_of",
    "text_of",
    "value_of",
]

_NOTHING = "(no output)"
_WAITING_TEXT = (
    "It has not run: a person has to agree first. Do not call it again, and do not take it for done; "
    "go on with what does not depend on it, or tell the user that it waits."
)
_GENERATED_ID = re.compile(r"call_\d+")
_SIGNATURES: tuple[tuple[re.Pattern[bytes], str], ...] = (
    (re.compile(rb"\x89PNG\r\n\x1a\n"), "png"),
    (re.compile(rb"\xff\xd8\xff"), "jpeg"),
    (re.compile(rb"GIF8[79]a"), "gif"),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "webp"),
)


@dataclass(frozen=True, slots=True)
class ResultImage:
    """
    An image that providers can show to a model.

    Attributes:
        image_format: "png", "jpeg", "gif" or "webp", as the first bytes of the image say.
    """

    data: bytes
    image_format: str

    @property
    def media_type(self) -> str:
        return f"image/{self.image_format}"

    @property
    def base64(self) -> str:
        return encode_base64(self.data)

    @property
    def url(self) -> str:
        return f"data:{self.media_type};base64,{self.base64}"


def check_results(results: Iterable[ToolResult]) -> list[ToolResult]:
    """
    Return the results of a turn as a list.

    Raises:
        TypeError: *results* is not a list of results.
    """
    items = require_list(results, "results", "ToolResult")
    for place, item in enumerate(items):
        if not isinstance(item, ToolResult):
            raise TypeError(
                f"results[{place}] cannot be {type(item).__name__}; give what `Dispatcher.call_many` returned"
            )
    return items


def text_of(result: ToolResult, *, shows_all: bool = False) -> str:
    """
    Return the text that the model reads. It is never empty, because some providers refuse an empty text.

    The text says how many images cannot be shown. With *shows_all*, it does not, because the format accepts every kind
    of image.
    """
    # A hook may leave half of a surrogate pair in the text, and no client could send that.
    text = result.text.encode("utf-8", "replace").decode() if result.text.strip() else _NOTHING
    unreadable_count = sum(
        isinstance(part, ImagePart) and _detect_image_format(part.data) is None for part in result.parts
    )
    if unreadable_count and not shows_all:
        text = f"{text}\n({unreadable_count} of the images cannot be shown: only PNG, JPEG, GIF and WebP can)"
    return f"{text}\n{_WAITING_TEXT}" if result.kind == "waiting" else text


def images_of(result: ToolResult) -> list[ResultImage]:
    """
    Return the images that a provider accepts.

    The kind of an image is read from its own bytes. A provider refuses the whole request if the media type is wrong,
    and some clients read the file of that name if base64 text happens to be a path.
    """
    images = ((part.data, _detect_image_format(part.data)) for part in result.parts if isinstance(part, ImagePart))
    return [ResultImage(data, form) for data, form in images if form is not None]


def value_of(result: ToolResult) -> Any:
    """Return the structured value if the text is exactly this value; otherwise None."""
    if result.kind != "ok" or not isinstance(result.value, (dict, list)):
        return None
    try:
        return result.value if loads(result.text) == result.value and is_plain_json(result.value) else None
    except ValueError:
        return None


def get_found_names(result: ToolResult) -> list[str] | None:
    """Return the names of the tools that our own `tool_search` found, or None for any other result."""
    if result.tool != "tool_search" or result.kind != "ok" or not isinstance(result.value, Mapping):
        return None
    tools = result.value.get("tools")
    if not isinstance(tools, list):
        return None
    names = [tool.get("name") for tool in tools if isinstance(tool, Mapping)]
    return [name for name in names if isinstance(name, str)]


def get_provider_id(result: ToolResult) -> str | None:
    """
    Return the id that the model gave to its call, or None if it gave none.

    The dispatcher makes an id for a call without one. This function returns None for such an id.
    """
    call_id = sent_id(result.call_id)
    return None if _GENERATED_ID.fullmatch(call_id) or not call_id else call_id


def encode_base64(data: bytes) -> str:
    """Return *data* as base64 text, the form for JSON."""
    return base64.b64encode(data).decode()


def _detect_image_format(data: bytes) -> str | None:
    return next((form for signature, form in _SIGNATURES if signature.match(data)), None)
