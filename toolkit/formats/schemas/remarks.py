"""Remarks: what a schema that is sent cannot express, in words at the end of a description."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ...spec import Tool
from ..base import Note
from .merging import flatten_top_level

__all__ = ["add_remarks", "prepare_schema"]

_UNMENTIONED = frozenset(["$schema", "$id", "$anchor", "$comment", "$vocabulary", "$dynamicAnchor"])
_PHRASES = {
    "default": "default: {}",
    "examples": "for example: {}",
    "format": "format: {}",
    "pattern": "has to match the regular expression {}",
    "minLength": "characters at least: {}",
    "maxLength": "characters at most: {}",
    "minimum": "at least {}",
    "maximum": "at most {}",
    "exclusiveMinimum": "greater than {}",
    "exclusiveMaximum": "less than {}",
    "multipleOf": "a multiple of {}",
    "minItems": "items at least: {}",
    "maxItems": "items at most: {}",
    "minProperties": "properties at least: {}",
    "maxProperties": "properties at most: {}",
    "const": "always {}",
    "enum": "one of {}",
    "prefixItems": "its items, in this order, have to fit {}",
    "contentEncoding": "encoded as {}",
    "contentMediaType": "media type: {}",
}
_FLAGS = {"uniqueItems": "no two items alike", "deprecated": "deprecated", "readOnly": "read-only"}


def prepare_schema(tool: Tool, notes: list[Note]) -> dict[str, Any]:
    """Return the schema of *tool* to send. If the schema had to be changed, add a note to *notes*."""
    flat, left_out = flatten_top_level(tool.schema)
    if not left_out:
        return tool.schema
    notes.append(Note(tool.name, f"{', '.join(left_out)} may not stand at the top of a schema; said in words"))
    return add_remarks(flat, left_out)


def add_remarks(schema: dict[str, Any], dropped_keywords: Mapping[str, Any], *, max_chars: int = 500) -> dict[str, Any]:
    """
    Return *schema* with the keywords *dropped_keywords* in words at the end of its description.

    The value of each keyword is cut after *max_chars* characters.
    """
    phrases = [phrase for keyword, value in dropped_keywords.items() if (phrase := _phrase(keyword, value, max_chars))]
    if not phrases:
        return schema
    words = f"({'; '.join(phrases)})"
    description = schema.get("description")
    return {**schema, "description": f"{description} {words}" if description else words}


def _phrase(keyword: str, value: Any, max_chars: int) -> str:
    if keyword in _UNMENTIONED or (keyword in _FLAGS and value is not True):
        return ""
    if keyword in _FLAGS:
        return _FLAGS[keyword]
    text = value if keyword in ("format", "contentEncoding", "contentMediaType") else _dump_json(value, max_chars)
    return _PHRASES.get(keyword, f"has to fit `{keyword}`: {{}}").replace("{}", str(text))


def _dump_json(value: Any, max_chars: int) -> str:
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= max_chars else f"{text[:max_chars]}..."
