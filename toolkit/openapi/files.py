"""
Files in the schemas of a document: which values are bytes, how a model writes them, and which parts of a form they are.

A document says that a value is bytes with `format: binary`, since 3.1 also with a `contentMediaType` that is not text
and without a `contentEncoding`, and in Swagger 2.0 with `type: file`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..values.schemas.vocabulary import is_mapping, stated_types
from .documents import ApiDocument

__all__ = ["BINARY", "find_files", "is_text_type", "rewrite_file"]

BINARY = {"type": "string", "contentEncoding": "base64", "contentMediaType": "application/octet-stream"}
"""Bytes: a model writes them in base64, and they are sent as they are."""

_TEXT_ENDINGS = ("json", "xml", "yaml", "javascript", "csv")
_COMBINERS = ("allOf", "anyOf", "oneOf")


def is_text_type(media_type: str) -> bool:
    """Return whether *media_type*, without parameters, is one of text."""
    return media_type.startswith("text/") or media_type.endswith(_TEXT_ENDINGS)


def rewrite_file(converted: dict[str, Any], schema: Mapping[str, Any]) -> None:
    """Write in *converted* that bytes, or a text that *schema* has in base64, are given in base64."""
    if _is_file(schema):
        converted.pop("format", None)
        converted |= {**BINARY, **{key: converted[key] for key in ("contentMediaType",) if key in converted}}
        if isinstance(schema.get("type"), list):
            converted["type"] = schema["type"]
    elif schema.get("format") == "byte" and _may_be_text(schema):  # base64 in the request too
        converted["contentEncoding"] = "base64"
        del converted["format"]


def _is_file(schema: Mapping[str, Any]) -> bool:
    """Return whether *schema* itself says that a value is bytes, which are sent as they are."""
    if schema.get("format") == "binary" or _has_file_type(schema):
        return _may_be_text(schema)
    return schema.get("type") == "file"


def _has_file_type(schema: Mapping[str, Any]) -> bool:
    media_type = schema.get("contentMediaType")
    if not isinstance(media_type, str) or "contentEncoding" in schema:
        return False
    return not is_text_type(media_type.partition(";")[0].strip().lower())


def _may_be_text(schema: Mapping[str, Any]) -> bool:
    return "type" not in schema or "string" in stated_types(schema)


def find_files(document: ApiDocument, schema: Any) -> frozenset[str]:
    """Return the properties of the form *schema*, as *document* has it, that are files, lists of files or null."""
    parts = document.iter_parts(schema, _COMBINERS)
    properties = [part["properties"] for part in parts if is_mapping(part.get("properties"))]
    return frozenset(
        name
        for items in properties
        for name, item in items.items()
        if any(_is_file(part) for part in document.iter_parts(item, (*_COMBINERS, "items")))
    )
