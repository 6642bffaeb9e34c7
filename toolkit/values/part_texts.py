"""Parts as text, for models and people that get nothing else."""

from __future__ import annotations

from .._plumbing.wording import format_count
from ..content import AudioPart, ImagePart, JsonPart, Part, ResourcePart, TextPart
from .rendering import as_text

__all__ = ["describe_resource", "has_text", "render_part"]


def render_part(part: Part) -> str:
    """
    Return *part* as text.

    A resource is a line with its URI. If its content is text, the content follows. Other content is described.
    """
    match part:
        case TextPart(text=text):
            return text
        case JsonPart(value=value):
            return as_text(value)
        case ImagePart(data=data, media_type=media_type) | AudioPart(data=data, media_type=media_type):
            return f"[{media_type}, {format_count(len(data), 'byte')}]"
        case ResourcePart(content=str() as text):
            return f"{describe_resource(part)}\n{text}"
        case ResourcePart():
            return describe_resource(part)
        case _:
            return f"[file {part.uri}]"


def describe_resource(part: ResourcePart) -> str:
    """Return the line that names a resource: its URI, its media type, and how many bytes it has if it has bytes."""
    size = format_count(len(part.content), "byte") if isinstance(part.content, bytes) else None
    return f"[resource {', '.join(filter(None, (part.uri, part.media_type, size)))}]"


def has_text(part: Part) -> bool:
    """Return whether the content of *part* is text or JSON, so that it counts as text of a result."""
    return isinstance(part, (TextPart, JsonPart)) or (isinstance(part, ResourcePart) and isinstance(part.content, str))
