"""
The parts that a result may have besides its text.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any, TypeAlias

from ._plumbing.records import record

__all__ = ["PART_TYPES", "FilePart", "ImagePart", "JsonPart", "Part", "TextPart", "part_from_json"]


@record(frozen=True, slots=True)
class TextPart:
    """Text for the model."""

    text: str

    def to_json(self) -> dict[str, Any]:
        return {"type": "text", "text": self.text}


@record(frozen=True, slots=True)
class JsonPart:
    """A structured value for the model."""

    value: Any

    def to_json(self) -> dict[str, Any]:
        return {"type": "json", "value": self.value}


@record(frozen=True, slots=True)
class ImagePart:
    """An image, as bytes."""

    data: bytes
    media_type: str = "image/png"

    def to_json(self) -> dict[str, Any]:
        return {"type": "image", "data": base64.b64encode(self.data).decode(), "media_type": self.media_type}


@record(frozen=True, slots=True)
class FilePart:
    """A file that the model or the user can be pointed to."""

    uri: str
    media_type: str | None = None
    name: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"type": "file", "uri": self.uri, "media_type": self.media_type, "name": self.name}


Part: TypeAlias = TextPart | JsonPart | ImagePart | FilePart

PART_TYPES = (TextPart, JsonPart, ImagePart, FilePart)

_PART_BUILDERS: dict[str, Any] = {
    "text": lambda data: TextPart(data["text"]),
    "json": lambda data: JsonPart(data["value"]),
    "image": lambda data: ImagePart(base64.b64decode(data["data"], validate=True), data["media_type"]),
    "file": lambda data: FilePart(data["uri"], data.get("media_type"), data.get("name")),
}


def part_from_json(data: Mapping[str, Any]) -> Part:
    """
    Return the part that *data* describes. This is the inverse of a part's `to_json`.

    Raises:
        ValueError: *data* does not describe a part.
    """
    kind = data.get("type") if isinstance(data, Mapping) else None
    if not isinstance(kind, str) or kind not in _PART_BUILDERS:
        raise ValueError(f"a part of type {kind!r} cannot be read; known are {', '.join(_PART_BUILDERS)}")
    try:
        part: Part = _PART_BUILDERS[kind](data)
    except KeyError as missing:
        raise ValueError(f"a part of type {kind!r} lacks {missing}") from None
    return part
