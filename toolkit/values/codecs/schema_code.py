"""
Generate checks for schemas that were written by hand.

Such a schema has no codec that could write its fast path. This module understands the keywords that most schemas use.
For any other keyword that can refuse a value, the answer is `UNSURE`, and jsonschema decides.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from ..patterns import compile_pattern
from ..strictjson.checks import is_plain
from .code_writer import Writer
from .scalars import INTEGER, NULL, STRING, TRUTH

__all__ = ["plain_emitter"]


class _NotPlain(Exception):  # noqa: N818 -- it steers the control flow, and is not an error
    pass


_SCALARS = {"string": STRING, "integer": INTEGER, "boolean": TRUTH, "null": NULL}
_TESTS = {
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
_STRUCTURE = frozenset(["type", "enum", "const", "pattern", "items", "properties", "required", "additionalProperties"])
_NOT_UNDERSTOOD = frozenset(
    [
        "$dynamicRef",
        "$ref",
        "allOf",
        "anyOf",
        "contains",
        "dependentRequired",
        "dependentSchemas",
        "if",
        "multipleOf",
        "not",
        "oneOf",
        "patternProperties",
        "prefixItems",
        "propertyNames",
        "unevaluatedItems",
        "unevaluatedProperties",
        "uniqueItems",
    ]
)
"""The other keywords that can refuse a value. A keyword that is in none of the tables is only an annotation."""


def plain_emitter(schema: Any) -> Callable[[Writer, str], str] | None:
    """
    Return code that checks a value against *schema* and returns the value unchanged.

    Return None if a keyword is not understood.
    """
    try:
        _write(Writer(), "value", schema)
    except (_NotPlain, RecursionError):
        return None

    return lambda writer, value: _written(writer, value, schema)


def _write(writer: Writer, value: str, schema: Any) -> None:
    if schema is True or schema == {}:
        writer.unless(f"{writer.constant(is_plain)}({value}, {writer.level})")
        return
    if not isinstance(schema, Mapping):
        raise _NotPlain
    keywords = schema.keys() & (_STRUCTURE | _LIMITS.keys())
    kinds = schema.get("type")
    if kinds is None or schema.keys() & _NOT_UNDERSTOOD:
        raise _NotPlain
    kinds = [kinds] if isinstance(kinds, str) else list(kinds)
    if "integer" in kinds and "number" in kinds:
        kinds.remove("integer")
    if len(kinds) == 1:
        _write_kind(writer, value, kinds[0], schema, keywords)
    else:
        kind = writer.fresh()
        writer.line(f"{kind} = {value}.__class__")
        for index, json_type in enumerate(kinds):
            with writer.block(f"{'elif' if index else 'if'} {_TESTS[json_type].format(kind)}:"):
                _write_kind(writer, value, json_type, schema, keywords)
        writer.line("else: return U")
    if "const" in keywords or "enum" in keywords:
        _write_choice(writer, value, schema)


def _write_choice(writer: Writer, value: str, schema: Mapping[str, Any]) -> None:
    choices = [schema["const"]] if "const" in schema else schema["enum"]
    if ("const" in schema and "enum" in schema) or any(type(choice) is not str for choice in choices):
        raise _NotPlain  # jsonschema decides whether numbers, booleans and containers are equal
    writer.unless(f"{value} in {writer.constant(frozenset(choices))}")


def _write_kind(writer: Writer, value: str, kind: str, schema: Mapping[str, Any], keywords: Any) -> None:
    if kind in _SCALARS:
        writer.convert(_SCALARS[kind], value)
    elif kind == "number":
        # The codec of floats is not used, because it converts, and a limit is checked against the value that was sent.
        test = f"LOW < {value} < HIGH if type({value}) is int else {value} - {value} == 0.0"
        writer.unless(f"(type({value}) is int or type({value}) is float) and ({test})")
    elif kind == "array":
        _write_array(writer, value, schema)
    else:
        _write_object(writer, value, schema)
    for keyword in keywords & _LIMITS.keys():
        applies, test = _LIMITS[keyword]
        if applies == kind or (applies == "number" and kind == "integer"):
            writer.unless(test.format(value, writer.constant(schema[keyword])))
    if "pattern" in schema and kind == "string":
        writer.unless(f"{writer.constant(compile_pattern(schema['pattern']).search)}({value})")


def _write_array(writer: Writer, value: str, schema: Mapping[str, Any]) -> None:
    writer.unless(f"type({value}) is list")
    item = writer.fresh()
    with writer.block(f"for {item} in {value}:"):
        _write_nested(writer, item, schema.get("items", True))


def _write_object(writer: Writer, value: str, schema: Mapping[str, Any]) -> None:
    writer.unless(f"type({value}) is dict")
    properties = schema.get("properties", {})
    required = schema.get("required", ())
    for name in required:
        if name not in properties:
            writer.unless(f"{name!r} in {value}")
    for name, subschema in properties.items():
        item = writer.fresh()
        if name in required:
            writer.line(f"{item} = {value}[{name!r}]")  # a KeyError means `UNSURE`
            _write_nested(writer, item, subschema)
        else:
            with writer.block(f"if {name!r} in {value}:"):
                writer.line(f"{item} = {value}[{name!r}]")
                _write_nested(writer, item, subschema)
    extra_schema = schema.get("additionalProperties", True)
    key, item = writer.fresh(), writer.fresh()
    declared = writer.constant(frozenset(properties))
    if extra_schema is False:
        writer.unless(f"{value}.keys() <= {declared}")
        return
    with writer.block(f"for {key}, {item} in {value}.items():"), writer.block(f"if {key} not in {declared}:"):
        writer.text(key)
        _write_nested(writer, item, extra_schema)


def _write_nested(writer: Writer, value: str, schema: Any) -> None:
    writer.convert(_SubschemaEmitter(lambda inner, name: _written(inner, name, schema)), value)


@dataclass(frozen=True, slots=True, eq=False)
class _SubschemaEmitter:
    """A schema inside the schema. It has only the part of a codec that a writer needs."""

    emit: Callable[[Writer, str], str]


def _written(writer: Writer, value: str, schema: Any) -> str:
    _write(writer, value, schema)
    return value
