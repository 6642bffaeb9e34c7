"""
Turns the answer of a server into the result of a call: text, a structured value, and parts.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable
from typing import Any, TypeVar

import mcp_types as types

from ...content import AudioPart, FilePart, ImagePart, Part, ResourcePart, TextPart
from ...results import ToolResult
from .call_errors import UnusableAnswer
from .foreign_text import clean_text, explain_address

__all__ = ["build_result", "build_unusable_result"]

LabelT = TypeVar("LabelT", str, "str | None")
_MAX_TITLE_CHARS = 300
_ADVICE = "What it does is done, so do not call it again for that; tell the user."


def build_result(answer: types.CallToolResult, server: str) -> ToolResult:
    """
    Return the result for *answer*, which the server *server* sent.

    Raises:
        UnusableAnswer: Some content cannot be read.
    """
    parts = [_read_block(block, server) for block in answer.content]
    text = "\n".join(part.text for part in parts if isinstance(part, TextPart))
    kept = parts if any(not isinstance(part, TextPart) for part in parts) else []
    if answer.is_error:
        return ToolResult.failure("failed", text or f"the server {server} gives no reason", parts=kept)
    has_value = "structured_content" in answer.model_fields_set and answer.structured_content is not None
    if has_value:
        return ToolResult(text, answer.structured_content, parts=kept)
    # Without a text of its own, a result has the text of all its parts.
    return ToolResult("", None, parts=parts) if kept else ToolResult(text, text)


def build_unusable_result(problem: UnusableAnswer) -> ToolResult:
    """Return the result of a call that has happened, and whose answer cannot be used."""
    return ToolResult.failure("failed", str(problem), details={"ran": True}, cause=problem, advice=_ADVICE)


def _read_block(block: Any, server: str) -> Part:
    reader = _READERS.get(type(block))
    if reader is None:
        raise UnusableAnswer(f"the server {server} sent content of the type {block.type!r:.60}, which is not known")
    try:
        return reader(block)
    except ValueError as error:  # no base64, no media type or no URI
        reason = "it is not base64" if isinstance(error, binascii.Error) else clean_text(str(error), 200)
        raise UnusableAnswer(f"the server {server} sent content of the type {block.type!r}: {reason}") from None


def _decode(data: str) -> bytes:
    return base64.b64decode(data, validate=True)


def _read_resource(block: types.EmbeddedResource) -> Part:
    resource = block.resource
    body = resource.text if isinstance(resource, types.TextResourceContents) else _decode(resource.blob)
    return ResourcePart(_check_label(str(resource.uri)), body, _check_label(resource.mime_type))


def _read_link(block: types.ResourceLink) -> Part:
    title = clean_text(block.title or block.name, _MAX_TITLE_CHARS)
    return FilePart(_check_label(str(block.uri)), _check_label(block.mime_type), title)


def _check_label(label: LabelT) -> LabelT:
    """Return a URI or a media type as it is. Raise `ValueError` if it is not clean."""
    if label is not None and (problem := explain_address(label)):
        raise ValueError(f"its address or its media type {problem}")
    return label


_READERS: dict[type, Callable[[Any], Part]] = {
    types.TextContent: lambda block: TextPart(block.text),
    types.ImageContent: lambda block: ImagePart(_decode(block.data), _check_label(block.mime_type)),
    types.AudioContent: lambda block: AudioPart(_decode(block.data), _check_label(block.mime_type)),
    types.EmbeddedResource: _read_resource,
    types.ResourceLink: _read_link,
}
