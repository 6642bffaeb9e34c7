"""
Codecs whose schema somebody else wrote.

The functions of such a codec accept more than its schema says, so here they
only convert: the schema is judged first, as jsonschema judges it.
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
    """*codec* made strict: first its schema decides (or the given one, complete in itself), then its function."""
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
        assert write_check is not None  # noqa: S101 -- used only then
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
    # What a further keyword says about the values makes it narrower than its bare type.
    return (_BREADTH.get(kind, 50) - (0.5 if schema.keys() - _REMARKS else 0),)
