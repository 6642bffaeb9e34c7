"""
Enforce schemas that a user or another library wrote.

The functions of a codec with such a schema accept more than the schema allows. So `make_strict_codec` only converts
with them, and jsonschema checks the value against the schema first.

`build_schema_emitter` generates a check for such a schema. It understands the keywords that most schemas use. For any
other keyword that can refuse a value, the answer is `UNSURE`, and jsonschema decides.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ..._plumbing.records import record
from ..patterns import compile_pattern
from ..schemas.messages import explain_errors
from ..schemas.validator import compile_schema
from ..schemas.vocabulary import ANNOTATION_KEYWORDS, KEYWORDS_FOR_CHILDREN, KEYWORDS_FOR_SAME_VALUE, stated_types
from ..strictjson.checks import is_plain_json
from .base import UNKNOWN_BREADTH, Codec, Schema
from .code_writer import CodeWriter
from .ranks import CodecRank, narrow_breadth
from .refusals import Refusal
from .scalars import BOOLEAN, INTEGER, NULL, STRING

__all__ = ["build_schema_emitter", "make_strict_codec"]


class _UnsupportedSchema(Exception):  # noqa: N818 -- it steers the control flow, and is not an error
    pass


_SCALARS = {"string": STRING, "integer": INTEGER, "boolean": BOOLEAN, "null": NULL}
_TYPE_TESTS = {
    "string": "{0} is str",
    "integer": "{0} is int",
    "number": "{0} is float or {0} is int",
    "boolean": "{0} is bool",
    "null": "{0} is None.__class__",
    "array": "{0} is list",
    "object": "{0} is dict",
}
_LIMITS = {
    "minimum": ("number", "{0} >= {1}"),
    "exclusiveMinimum": ("number", "{0} > {1}"),
    "maximum": ("number", "{0} <= {1}"),
    "exclusiveMaximum": ("number", "{0} < {1}"),
    "minLength": ("string", "len({0}) >= {1}"),
    "maxLength": ("string", "len({0}) <= {1}"),
    "minItems": ("array", "len({0}) >= {1}"),
    "maxItems": ("array", "len({0}) <= {1}"),
    "minProperties": ("object", "len({0}) >= {1}"),
    "maxProperties": ("object", "len({0}) <= {1}"),
}
_STRUCTURE_KEYWORDS = frozenset(
    ["type", "enum", "const", "pattern", "items", "properties", "required", "additionalProperties"]
)
_UNSUPPORTED_KEYWORDS = (KEYWORDS_FOR_SAME_VALUE | KEYWORDS_FOR_CHILDREN).difference(_STRUCTURE_KEYWORDS) | {
    *("$ref", "$dynamicRef", "dependentRequired", "minContains", "maxContains", "multipleOf", "uniqueItems")
}
"""The other keywords that can refuse a value. A keyword that is in none of the tables is only an annotation."""


def build_schema_emitter(schema: Any) -> Callable[[CodeWriter, str], str] | None:
    """
    Return code that checks a value against *schema* and returns the value unchanged.

    Return None if a keyword is not understood.
    """
    try:
        _write_check(CodeWriter(), "value", schema)
    except (_UnsupportedSchema, RecursionError):
        return None

    return lambda writer, value: _emit_schema(writer, value, schema)


def _write_check(writer: CodeWriter, value: str, schema: Any) -> None:
    if schema is True or schema == {}:
        writer.require(f"{writer.constant(is_plain_json)}({value}, {writer.depth_expression})")
        return
    if not isinstance(schema, Mapping):
        raise _UnsupportedSchema
    keywords = schema.keys() & (_STRUCTURE_KEYWORDS | _LIMITS.keys())
    kinds = stated_types(schema)
    if not kinds or schema.keys() & _UNSUPPORTED_KEYWORDS:
        raise _UnsupportedSchema
    if "integer" in kinds and "number" in kinds:
        kinds.remove("integer")
    if len(kinds) == 1:
        _write_type_check(writer, value, kinds[0], schema, keywords)
    else:
        kind = writer.new_name()
        writer.line(f"{kind} = {value}.__class__")
        for index, json_type in enumerate(kinds):
            with writer.block(f"{'elif' if index else 'if'} {_TYPE_TESTS[json_type].format(kind)}:"):
                _write_type_check(writer, value, json_type, schema, keywords)
        writer.line("else: return U")
    if "const" in keywords or "enum" in keywords:
        _write_choice(writer, value, schema)


def _write_choice(writer: CodeWriter, value: str, schema: Mapping[str, Any]) -> None:
    choices = [schema["const"]] if "const" in schema else schema["enum"]
    if ("const" in schema and "enum" in schema) or any(type(choice) is not str for choice in choices):
        raise _UnsupportedSchema  # jsonschema decides whether numbers, booleans and containers are equal
    writer.require(f"{value} in {writer.constant(frozenset(choices))}")


def _write_type_check(writer: CodeWriter, value: str, kind: str, schema: Mapping[str, Any], keywords: Any) -> None:
    if kind in _SCALARS:
        writer.convert(_SCALARS[kind], value)
    elif kind == "number":
        # The codec of floats is not used, because it converts, and a limit is checked against the value that was sent.
        test = f"LOW < {value} < HIGH if type({value}) is int else {value} - {value} == 0.0"
        writer.require(f"(type({value}) is int or type({value}) is float) and ({test})")
    elif kind == "array":
        _write_array(writer, value, schema)
    else:
        _write_object(writer, value, schema)
    for keyword in keywords & _LIMITS.keys():
        applies, test = _LIMITS[keyword]
        if applies == kind or (applies == "number" and kind == "integer"):
            writer.require(test.format(value, writer.constant(schema[keyword])))
    if "pattern" in schema and kind == "string":
        writer.require(f"{writer.constant(compile_pattern(schema['pattern']).search)}({value})")


def _write_array(writer: CodeWriter, value: str, schema: Mapping[str, Any]) -> None:
    writer.require(f"type({value}) is list")
    item = writer.new_name()
    with writer.block(f"for {item} in {value}:"):
        _write_nested(writer, item, schema.get("items", True))


def _write_object(writer: CodeWriter, value: str, schema: Mapping[str, Any]) -> None:
    writer.require(f"type({value}) is dict")
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    for name in required:
        if name not in properties:
            writer.require(f"{name!r} in {value}")
    for name, subschema in properties.items():
        item = writer.new_name()
        if name in required:
            writer.line(f"{item} = {value}[{name!r}]")  # a KeyError means `UNSURE`
            _write_nested(writer, item, subschema)
        else:
            with writer.block(f"if {name!r} in {value}:"):
                writer.line(f"{item} = {value}[{name!r}]")
                _write_nested(writer, item, subschema)
    extra_schema = schema.get("additionalProperties", True)
    key, item = writer.new_name(), writer.new_name()
    declared = writer.constant(frozenset(properties))
    if extra_schema is False:
        writer.require(f"{value}.keys() <= {declared}")
        return
    with writer.block(f"for {key}, {item} in {value}.items():"), writer.block(f"if {key} not in {declared}:"):
        writer.require_text(key)
        _write_nested(writer, item, extra_schema)


def _write_nested(writer: CodeWriter, value: str, schema: Any) -> None:
    writer.convert(_SubschemaEmitter(lambda inner, name: _emit_schema(inner, name, schema)), value)


@record(frozen=True, slots=True, eq=False)
class _SubschemaEmitter:
    """A schema inside the schema. It has only the part of a codec that a writer needs."""

    emit: Callable[[CodeWriter, str], str]


def _emit_schema(writer: CodeWriter, value: str, schema: Any) -> str:
    _write_check(writer, value, schema)
    return value


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
    write_check = build_schema_emitter(codec.schema)

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
            raise TypeError(f"expected {codec.type.__name__}, got {type(value).__name__}")
        return codec.encode(value)

    def emit(writer: CodeWriter, value: str) -> str:
        assert write_check is not None  # noqa: S101 -- `emit` is used only in this case
        write_check(writer, value)
        return f"{writer.constant(codec.decode)}({value})"

    return replace(
        codec,
        decode=decode,
        encode=encode,
        breadth=codec.breadth if codec.breadth != UNKNOWN_BREADTH else _estimate_breadth(codec.schema),
        emit=None if write_check is None else emit,
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
