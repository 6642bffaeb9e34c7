"""
The parts that a result may have besides its text.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from ._plumbing.records import record

__all__ = [
    "PART_TYPES",
    "AudioPart",
    "FilePart",
    "ImagePart",
    "JsonPart",
    "Part",
    "ResourcePart",
    "TextPart",
    "is_uri",
    "part_from_json",
]


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
    """
    An image, as bytes.

    Attributes:
        data: The bytes of a whole file, such as a PNG file.
        media_type: A media type such as "image/png".
    """

    data: bytes
    media_type: str = "image/png"

    def to_json(self) -> dict[str, Any]:
        return {"type": "image", "data": base64.b64encode(self.data).decode(), "media_type": self.media_type}


@record(frozen=True, slots=True)
class FilePart:
    """
    A file that the model or the user can be pointed to.

    Attributes:
        uri: The address of the file.
        media_type: The type of its content, if it is known.
        name: A name for people.
    """

    uri: str
    media_type: str | None = None
    name: str | None = None

    def to_json(self) -> dict[str, Any]:
        return {"type": "file", "uri": self.uri, "media_type": self.media_type, "name": self.name}


@record(frozen=True, slots=True)
class AudioPart:
    """
    Sound, as bytes.

    Attributes:
        data: The bytes of a whole file, such as a WAV or MP3 file.
        media_type: A media type such as "audio/wav".

    Raises:
        TypeError: *data* is not bytes, or *media_type* is not text.
        ValueError: *media_type* is not an audio type.
    """

    data: bytes
    media_type: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "data", _copy_bytes(self.data, "AudioPart: data"))
        _check_media_type(self.media_type, "AudioPart")
        if not self.media_type.lower().startswith("audio/"):
            raise ValueError(
                f"AudioPart: media_type: expected an audio type such as 'audio/wav', got {self.media_type!r}; "
                "for an image use ImagePart, for other bytes use ResourcePart"
            )

    def to_json(self) -> dict[str, Any]:
        return {"type": "audio", "data": base64.b64encode(self.data).decode(), "media_type": self.media_type}


@record(frozen=True, slots=True)
class ResourcePart:
    """
    Something that has a URI, such as a document, a record or a page, with its content or without it.

    Attributes:
        uri: The URI of the resource. It may have any scheme.
        content: The text or the bytes of the resource; None for a link to it.
        media_type: The media type of the content, such as "text/markdown", if it is known.

    Raises:
        TypeError: A field is of another type.
        ValueError: *uri* is not a URI, or *media_type* is not a media type.
    """

    uri: str
    content: str | bytes | None = None
    media_type: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.uri, str):
            raise TypeError(f"ResourcePart: uri: expected text, got {type(self.uri).__name__}; a path has `as_uri()`")
        if not is_uri(self.uri):
            raise ValueError(
                f"ResourcePart: uri: {self.uri[:100]!r} is not a URI; write one with a scheme and without spaces, "
                "such as 'https://example.com/a' or 'memo:1'; a path has `as_uri()`"
            )
        if self.content is not None and not isinstance(self.content, str):
            content = _copy_bytes(self.content, "ResourcePart: content", "text, bytes or None")
            object.__setattr__(self, "content", content)
        if self.media_type is not None:
            _check_media_type(self.media_type, "ResourcePart")

    def to_json(self) -> dict[str, Any]:
        content = self.content
        return {
            "type": "resource",
            "uri": self.uri,
            "media_type": self.media_type,
            "text": content if isinstance(content, str) else None,
            "blob": base64.b64encode(content).decode() if isinstance(content, bytes) else None,
        }


Part: TypeAlias = TextPart | JsonPart | ImagePart | FilePart | AudioPart | ResourcePart

PART_TYPES = (TextPart, JsonPart, ImagePart, FilePart, AudioPart, ResourcePart)


def is_uri(text: str) -> bool:
    """
    Return whether *text* is an absolute URI: a scheme, a colon, and no space, control character or backslash.

    Characters outside ASCII are accepted. A scheme of one letter is not, because it is the drive of a Windows path.
    """
    return re.fullmatch(r"[A-Za-z][A-Za-z0-9+.\-]+:[^\x00-\x20\x7f-\xa0<>\"\\^`{|}\ud800-\udfff]+", text) is not None


def _check_media_type(media_type: str, owner: str) -> None:
    if not isinstance(media_type, str):
        raise TypeError(f"{owner}: media_type: expected text such as 'audio/wav', got {type(media_type).__name__}")
    if re.fullmatch(r"[\w!#$&^.+-]+/[\w!#$&^.+-]+( *;[\x20-\x7e]*)?", media_type, re.ASCII) is None:
        raise ValueError(
            f"{owner}: media_type: {media_type[:100]!r} is not a media type; write one such as 'text/plain'"
        )


def _copy_bytes(value: Any, place: str, kinds: str = "bytes") -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{place}: expected {kinds}, got {type(value).__name__}; read a file with `read_bytes()`")
    return bytes(value)


_PART_BUILDERS: dict[str, Any] = {
    "text": lambda data: TextPart(data["text"]),
    "json": lambda data: JsonPart(data["value"]),
    "image": lambda data: ImagePart(base64.b64decode(data["data"], validate=True), data["media_type"]),
    "file": lambda data: FilePart(data["uri"], data.get("media_type"), data.get("name")),
    "audio": lambda data: AudioPart(base64.b64decode(data["data"], validate=True), data["media_type"]),
    "resource": lambda data: ResourcePart(data["uri"], _read_content(data), data.get("media_type")),
}


def _read_content(data: Mapping[str, Any]) -> str | bytes | None:
    text, blob = data.get("text"), data.get("blob")
    if text is not None and blob is not None:
        raise ValueError("it has both 'text' and 'blob'; a resource has one of them, or none")
    if text is not None and not isinstance(text, str):
        raise TypeError(f"'text' cannot be {type(text).__name__}")
    return text if blob is None else base64.b64decode(blob, validate=True)


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
    except (TypeError, ValueError) as error:
        raise ValueError(f"a part of type {kind!r} cannot be read: {error}") from error
    return part
