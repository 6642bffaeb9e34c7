"""
Make codecs strict if a user or another library wrote their schema.

The functions of such a codec accept more than its schema allows. So here they only convert, and jsonschema checks the
value against the schema first.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from ..schemas.messages import explain_errors
from ..schemas.validator import compile_schema
from ..schemas.vocabulary import ANNOTATION_KEYWORDS
from ..strictjson.checks import is_plain_json
from .base import UNKNOWN_BREADTH, Codec, Schema
from .code_writer import CodeWriter
from .ranks import CodecRank, narrow_breadth
from .refusals import Refusal, build_type_error

__all__ = ["make_strict_codec"]

_RANKS_BY_TYPE = {
    "null": CodecRank.NULL,
    "boolean": CodecRank.BOOLEAN,
    "integer": CodecRank.INTEGER,
    "number": CodecRank.NUMBER,
    "string": CodecRank.TEXT,
    "array": CodecRank.LIST,
    "object": CodecRank.MAPPING,
}


def make_strict_codec(codec: Codec, schema: Schema | Callable[[], Schema] | None = None) -> Codec:
    """
    Return a strict form of *codec*: its schema decides first, and then its function converts.

    If *schema* is given, it decides instead of the codec's schema. It must be complete in itself. It may be a function,
    which is called when a value is checked for the first time and all definitions are complete.
    """

    @functools.cache
    def get_validator() -> Any:
        return compile_schema(schema() if callable(schema) else codec.schema if schema is None else schema)

    def decode(value: Any) -> Any:
        errors = list(get_validator().iter_errors(value))
        if errors:
            raise Refusal(*explain_errors(errors))
        return codec.decode(value)

    def encode(value: Any) -> Any:
        if codec.type is not None and not isinstance(value, codec.type):
            raise build_type_error(value, codec.type.__name__)
        return codec.encode(value)

    def emit(writer: CodeWriter, value: str) -> str:
        writer.require(f"{writer.constant(is_plain_json)}({value}, {writer.depth_expression})")
        return f"{writer.constant(decode)}({value})"

    return replace(
        codec,
        decode=decode,
        encode=encode,
        breadth=codec.breadth if codec.breadth != UNKNOWN_BREADTH else _estimate_breadth(codec.schema),
        emit=emit,
    )


def _estimate_breadth(schema: Schema) -> tuple[Any, ...]:
    kind = schema.get("type")
    if not isinstance(kind, str):
        return UNKNOWN_BREADTH
    if kind == "object" and "properties" in schema:
        return (CodecRank.FOREIGN_RECORD,)
    breadth = (_RANKS_BY_TYPE.get(kind, CodecRank.UNKNOWN),)
    # A further keyword that constrains the values makes the schema narrower than its bare type.
    if schema.keys() - ANNOTATION_KEYWORDS - {"type"}:
        return narrow_breadth(breadth)
    return (CodecRank.CONVERTED_TEXT,) if kind == "string" else breadth
