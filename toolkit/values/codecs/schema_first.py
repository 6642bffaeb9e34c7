"""
Make codecs strict if a user or another library wrote their schema.

The functions of such a codec accept more than its schema allows. So here they only convert, and jsonschema checks the
value against the schema first.
"""

from __future__ import annotations

import functools
from dataclasses import replace
from typing import Any

from ..schemas.messages import problems_of
from ..schemas.validator import validator
from .base import UNKNOWN, Codec, Refusal, Schema
from .code_writer import Writer
from .schema_code import plain_emitter

__all__ = ["judged"]

_BREADTH = {"null": 0, "boolean": 2, "integer": 3, "number": 4, "string": 8, "array": 12, "object": 30}
_REMARKS = frozenset({"type", "title", "description", "default", "examples", "$comment", "deprecated"})


def judged(codec: Codec, schema: Schema | None = None) -> Codec:
    """
    Return a strict form of *codec*: its schema decides first, and then its function converts.

    If *schema* is given, it decides instead of the codec's schema. It must be complete in itself.
    """
    whole = codec.schema if schema is None else schema
    write_check = plain_emitter(codec.schema)

    @functools.cache
    def judge() -> Any:
        return validator(whole)

    def decode(value: Any) -> Any:
        errors = list(judge().iter_errors(value))
        if errors:
            raise Refusal(*problems_of(errors))
        return codec.decode(value)

    def encode(value: Any) -> Any:
        if codec.type is not None and not isinstance(value, codec.type):
            raise TypeError(f"expected {codec.type.__name__}, got {type(value).__name__}")
        return codec.encode(value)

    def emit(writer: Writer, value: str) -> str:
        assert write_check is not None  # noqa: S101 -- `emit` is used only in this case
        write_check(writer, value)
        return f"{writer.constant(codec.decode)}({value})"

    return replace(
        codec,
        decode=decode,
        encode=encode,
        breadth=codec.breadth if codec.breadth != UNKNOWN else _breadth(codec.schema),
        emit=None if write_check is None else emit,
    )


def _breadth(schema: Schema) -> tuple[float]:
    kind = schema.get("type")
    if not isinstance(kind, str):
        return UNKNOWN
    if kind == "object" and "properties" in schema:
        return (22,)
    # A further keyword that constrains the values makes the schema narrower than its bare type.
    return (_BREADTH.get(kind, 50) - (0.5 if schema.keys() - _REMARKS else 0),)
