"""
Parts as content blocks of the Model Context Protocol, in both directions.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterable
from typing import Any

from ..content import AudioPart, FilePart, ImagePart, Part, ResourcePart, TextPart
from ..errors import ProviderError
from .media import encode_base64
from .responses import get_field

__all__ = ["build_block", "read_content"]


def build_block(part: Part) -> dict[str, Any] | None:
    """Return the content block for *part*; None for texts and values, which the text of a result has."""
    match part:
        case ImagePart(data=data, media_type=media_type):
            return {"type": "image", "data": encode_base64(data), "mimeType": media_type}
        case AudioPart(data=data, media_type=media_type):
            return {"type": "audio", "data": encode_base64(data), "mimeType": media_type}
        case FilePart(uri=uri, media_type=media_type, name=name):
            return _add_media_type({"type": "resource_link", "uri": uri, "name": name or uri}, media_type)
        case ResourcePart(uri=uri, content=None, media_type=media_type):
            return _add_media_type({"type": "resource_link", "uri": uri, "name": uri}, media_type)
        case ResourcePart(uri=uri, content=str() as text, media_type=media_type):
            return {"type": "resource", "resource": _add_media_type({"uri": uri, "text": text}, media_type)}
        case ResourcePart(uri=uri, content=bytes() as data, media_type=media_type):
            blob = {"uri": uri, "blob": encode_base64(data)}
            return {"type": "resource", "resource": _add_media_type(blob, media_type)}
        case _:
            return None


def _add_media_type(block: dict[str, Any], media_type: str | None) -> dict[str, Any]:
    return block if media_type is None else {**block, "mimeType": media_type}


def read_content(blocks: Iterable[Any]) -> list[Part]:
    """
    Return the parts that content blocks of a server describe: objects of the SDK, or JSON.

    A link whose name is not its URI becomes a `FilePart`, which has a name. Any other link becomes a `ResourcePart`
    without content.

    Raises:
        ProviderError: A block is not valid. The error names its place.
    """
    parts = []
    for index, block in enumerate(blocks):
        kind = get_field(block, "type")
        if not isinstance(kind, str) or kind not in _READERS:
            raise ProviderError(
                f"mcp: content[{index}]: a block of type {kind!r} cannot be read; known are {', '.join(_READERS)}"
            )
        try:
            parts.append(_READERS[kind](block))
        except (TypeError, ValueError) as error:
            raise ProviderError(f"mcp: content[{index}]: a block of type {kind!r} is not valid: {error}") from error
    return parts


def _read_resource(block: Any) -> ResourcePart:
    resource = get_field(block, "resource")
    uri, media_type = _read_text(resource, "uri"), _get_media_type(resource)
    if get_field(resource, "blob") is None:
        return ResourcePart(uri, _read_text(resource, "text"), media_type)
    if get_field(resource, "text") is not None:
        raise ValueError("its resource has both `text` and `blob`")
    return ResourcePart(uri, _read_base64(resource, "blob"), media_type)


def _read_link(block: Any) -> Part:
    uri, name, media_type = _read_text(block, "uri"), get_field(block, "name"), _get_media_type(block)
    link = ResourcePart(uri, None, media_type)
    return link if name in (None, "", uri) else FilePart(uri, media_type, _read_text(block, "name"))


_READERS: dict[str, Callable[[Any], Part]] = {
    "text": lambda block: TextPart(_read_text(block, "text")),
    "image": lambda block: ImagePart(_read_base64(block, "data"), _read_text(block, "mimeType", "mime_type")),
    "audio": lambda block: AudioPart(_read_base64(block, "data"), _read_text(block, "mimeType", "mime_type")),
    "resource": _read_resource,
    "resource_link": _read_link,
}


def _read_text(holder: Any, *names: str) -> str:
    """Return the text under the first of *names* that *holder* has. The SDK has other names than JSON."""
    value = next((value for name in names if (value := get_field(holder, name)) is not None), None)
    if not isinstance(value, str):
        raise TypeError(f"`{names[0]}` is {'missing' if value is None else f'no text but {type(value).__name__}'}")
    return value


def _read_base64(holder: Any, name: str) -> bytes:
    try:
        return base64.b64decode(_read_text(holder, name), validate=True)
    except ValueError as error:
        raise ValueError(f"`{name}` is not base64: {error}") from error


def _get_media_type(holder: Any) -> str | None:
    return get_field(holder, "mimeType") or get_field(holder, "mime_type") or None
