"""
Decide about return annotations: whether they describe a value or content, and whether encoding keeps to the schema.
"""

from __future__ import annotations

import types
from collections import abc
from typing import Annotated, Any, ForwardRef, Union, get_args, get_origin

from .._records import record
from ..content import PART_TYPES
from ..results import ToolResult
from ..values.codecs import Codec, HintReader, Schema
from ..values.schemas.vocabulary import ANNOTATION_KEYWORDS, iter_subschemas

__all__ = ["OutputDescription", "keeps_to_schema", "returns_content"]


@record(frozen=True, slots=True)
class OutputDescription:
    """
    What a return annotation says about the result.

    Attributes:
        codec: The codec of the return value; None if there is no annotation, or none that can be used.
        schema: The schema of the return value, complete in itself.
        is_exact: Whether everything that the codec encodes fits the schema.
        has_metadata: Whether limits or validators in the annotation check what the codec encodes.
        has_undefined_names: Whether the annotation has a name that is not defined yet.
    """

    codec: Codec | None = None
    schema: Schema | None = None
    is_exact: bool = False
    has_metadata: bool = False
    has_undefined_names: bool = False


_CONTENT = (*PART_TYPES, ToolResult)
_TRANSPARENT = (Union, types.UnionType, Annotated, list, tuple, abc.Sequence, abc.Iterable, abc.Collection)


def returns_content(hint: Any, reader: HintReader) -> bool:
    """
    Return whether *hint* names parts or results: alone, as a member of a union, or as the items of a list or tuple.

    A tool with such an annotation may return content that is no JSON value, such as an image. It has no output schema.
    """
    if isinstance(hint, (str, ForwardRef)):
        hint = reader.resolve(hint if isinstance(hint, str) else hint.__forward_arg__)
    if isinstance(hint, type) and issubclass(hint, _CONTENT):
        return True
    if hasattr(hint, "__value__"):  # an alias that was defined with `type`
        return returns_content(hint.__value__, reader)
    origin = get_origin(hint)
    if origin not in _TRANSPARENT:
        return False
    arguments = get_args(hint)[:1] if origin is Annotated else get_args(hint)
    return any(returns_content(argument, reader) for argument in arguments)


_EXACT_KEYWORDS = ANNOTATION_KEYWORDS | {
    "$defs",
    "$ref",
    "additionalProperties",
    "anyOf",
    "const",
    "contentEncoding",
    "enum",
    "format",
    "items",
    "prefixItems",
    "properties",
    "propertyNames",
    "required",
    "type",
}
"""The keywords that say no more than the types do. What a codec of the library encodes always fits them."""


def keeps_to_schema(schema: Schema, reader: HintReader) -> bool:
    """Return whether every value that the codecs of *reader* can encode fits *schema*, so that no check is needed."""
    return reader.encodes_exactly and _has_only_exact_keywords(schema)


def _has_only_exact_keywords(schema: Any) -> bool:
    if isinstance(schema, bool):
        return True
    keywords = schema.keys() - _EXACT_KEYWORDS
    if "prefixItems" in schema:
        keywords -= {"minItems", "maxItems"}
    return not keywords and all(_has_only_exact_keywords(inner) for _, inner in iter_subschemas(schema))
