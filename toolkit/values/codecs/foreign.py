"""
Convert types that bring their own schema: types of pydantic and msgspec, and types that a user registers.

None of these packages is imported unless a signature uses one of its types.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_origin

from ...errors import DefinitionError, Problem
from ..schemas.validator import check_schema
from .base import (
    REGISTERED_FACTORIES,
    Codec,
    CodecRules,
    HintReader,
    NoJsonForm,
    Refusal,
    Schema,
    Unresolved,
    constant_factory,
    type_name,
)
from .definitions import rewrite_schema
from .schema_first import make_strict_codec

__all__ = ["RULES", "register_codec"]

_PREFIX = "#/$defs/"


def register_codec(kind: type, *, schema: Schema, decode: Callable[[Any], Any], encode: Callable[[Any], Any]) -> Codec:
    """
    Teach every later `@tool` the JSON form of *kind*.

    Args:
        kind: The class that is used in signatures.
        schema: The schema that a model sees, draft 2020-12.
        decode: Converts JSON that fits the schema. A `ValueError` is reported as a problem of the call.
        encode: Converts the value back to JSON.
    """
    if not isinstance(kind, type):
        raise DefinitionError(f"register_codec: expected a class, got {kind!r}")
    subject = f"register_codec({kind.__name__})"
    check_schema(schema, subject)
    rewrite_schema(schema, lambda part: _check_movable(part, schema, subject))
    own = {key: value for key, value in schema.items() if key != "$schema"}
    codec = Codec(schema=own, decode=decode, encode=encode, type=kind, hashable=kind.__hash__ is not None)
    strict_codec = make_strict_codec(codec)
    REGISTERED_FACTORIES[kind] = (
        (lambda hint, reader: _embed_codec(hint, reader, codec))
        if _has_references(own)
        else constant_factory(strict_codec)
    )
    return strict_codec


def _check_movable(part: Schema, whole: Schema, subject: str) -> Schema:
    """Return *part*, or raise `DefinitionError` if its reference would be lost inside a larger schema."""
    reference = part.get("$ref", "#")
    if "$dynamicRef" in part or (reference != "#" and reference.removeprefix(_PREFIX) not in whole.get("$defs", {})):
        raise DefinitionError(f"{subject}: the schema refers to {reference!r}; refer to `#` or `#/$defs/NAME`")
    return part


def _has_references(schema: Schema) -> bool:
    return '"$ref":' in json.dumps(schema)


def _embed_codec(hint: Any, reader: HintReader, codec: Codec) -> Codec:
    """Return *codec*, whose schema is a document of its own, as a part of the reader's document."""
    whole = codec.schema
    name = reader.free_name(re.sub(r"[^A-Za-z0-9_.-]", "_", getattr(hint, "__name__", type_name(hint))))

    def make() -> Codec:
        schema = _adopt_definitions(name, whole, reader)
        return make_strict_codec(replace(codec, schema=schema, tags=_find_tags(schema)), whole)

    return reader.define_codec(hint, name, make, inline=whole.get("type") != "object" and not _has_references(whole))


def _find_tags(schema: Schema) -> Mapping[str, frozenset[str]] | None:
    """Return the properties that hold one constant, or None. A union uses them to tell its members apart."""
    properties = schema.get("properties", {})
    constants = {
        name: subschema["const"]
        for name, subschema in properties.items()
        if isinstance(subschema, dict) and "const" in subschema
    }
    return {name: frozenset({tag}) for name, tag in constants.items() if isinstance(tag, str)} or None


def _adopt_definitions(name: str, whole: Schema, reader: HintReader) -> Schema:
    """Return *whole* as the definition *name*, and add its own definitions to the reader under free names."""
    definitions: dict[str, Schema] = whole.get("$defs", {})
    # A document that only holds a reference means the definition behind it.
    root = whole["$ref"].removeprefix(_PREFIX) if whole.keys() == {"$ref", "$defs"} else ""
    names = {"#": name, _PREFIX + root: name}
    others = [other for other in definitions if other != root]
    for other in others:
        names[_PREFIX + other] = reader.free_name(other)
        reader.definitions[names[_PREFIX + other]] = {}

    def rename_reference(part: Schema) -> Schema:
        return {**part, "$ref": _PREFIX + names[part["$ref"]]} if isinstance(part.get("$ref"), str) else part

    for other in others:
        reader.definitions[names[_PREFIX + other]] = rewrite_schema(definitions[other], rename_reference)
    top = definitions[root] if root else {key: value for key, value in whole.items() if key != "$defs"}
    definition: Schema = rewrite_schema(top, rename_reference)
    return definition


def _drop_redundant(part: Schema) -> Schema:
    """Return *part* without redundant keywords: `title` repeats the name, and `discriminator` is OpenAPI's."""
    return {key: value for key, value in part.items() if key not in ("title", "discriminator")}


def _convert_whole_floats(value: Any) -> Any:
    """Return *value* with 3 in place of 3.0. JSON Schema accepts 3.0 as an integer, but a strict parser does not."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_convert_whole_floats(item) for item in value]
    if isinstance(value, dict):
        return {key: _convert_whole_floats(item) for key, item in value.items()}
    return value


# pydantic.


def _read_pydantic(hint: Any, reader: HintReader) -> Codec:
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    try:
        adapter: Any = TypeAdapter(hint)
        schema = adapter.json_schema(by_alias=True, mode="validation")
    except ImportError as error:
        raise NoJsonForm(f"pydantic cannot describe {type_name(hint)}: {error}") from error
    except PydanticUserError as error:
        if error.code == "class-not-fully-defined":
            raise Unresolved(type_name(hint)) from error
        raise NoJsonForm(
            f"pydantic cannot describe {type_name(hint)}: {error.message}; use a type that it can, or `register_codec`"
        ) from error
    except Exception as error:
        raise NoJsonForm(f"pydantic cannot describe {type_name(hint)}: {error}") from error

    def decode(value: Any) -> Any:
        try:
            # The value is validated as JSON, because a strict model accepts "2024-05-01" as a date only in JSON.
            return adapter.validate_json(json.dumps(_convert_whole_floats(value)))
        except ValidationError as error:
            raise Refusal(
                *(Problem(detail["msg"], detail["loc"]) for detail in error.errors(include_url=False))
            ) from None

    def encode(value: Any) -> Any:
        return adapter.dump_python(value, mode="json", by_alias=True, warnings="error")

    # A class that only tells pydantic how to treat it may stand for values of another class, as EmailStr does for str.
    cls = get_origin(hint) or hint
    kind = cls if hasattr(cls, "__pydantic_validator__") else None
    hashable = kind is None or kind.__hash__ is not None
    codec = Codec(
        schema=rewrite_schema(schema, _drop_redundant), decode=decode, encode=encode, type=kind, hashable=hashable
    )
    return _embed_codec(hint, reader, codec)


def _is_pydantic(hint: Any) -> bool:
    cls = get_origin(hint) or hint
    return (
        isinstance(cls, type)
        and (hasattr(cls, "__pydantic_validator__") or hasattr(cls, "__get_pydantic_core_schema__"))
        and importlib.util.find_spec("pydantic") is not None
    )


# msgspec.


def _read_msgspec(hint: Any, reader: HintReader) -> Codec:
    import msgspec

    try:
        schema = msgspec.json.schema(hint)
    except NameError as error:
        raise Unresolved(error.name or type_name(hint)) from error
    except TypeError as error:
        raise NoJsonForm(
            f"msgspec cannot describe {type_name(hint)}: {' '.join(str(error).split())}; "
            f"use types that it can, or `register_codec`"
        ) from error

    def decode(value: Any) -> Any:
        try:
            return msgspec.convert(_convert_whole_floats(value), hint)
        except msgspec.ValidationError as error:
            raise Refusal(_parse_message(str(error))) from None

    kind = get_origin(hint) or hint
    codec = Codec(
        schema=rewrite_schema(schema, _drop_redundant),
        decode=decode,
        encode=msgspec.to_builtins,
        type=kind,
        hashable=kind.__hash__ is not None,
    )
    return _embed_codec(hint, reader, codec)


_PLACE = re.compile(r"(.*) - at `\$(.*)`", re.DOTALL)
_STEP = re.compile(r"\.([^.\[]+)|\[(\d+)\]")


def _parse_message(message: str) -> Problem:
    """Split msgspec's message, such as `too big - at `$.items[1]``, into a message and a path."""
    match = _PLACE.fullmatch(message)
    if match is None:
        return Problem(message)
    # msgspec does not say which entry of a dictionary it means: `$.items[...].x`.
    path = match[2].partition("[...]")[0]
    steps = [int(index) if index else name for name, index in _STEP.findall(path)]
    return Problem(match[1], steps)


def _is_struct(hint: Any) -> bool:
    return hasattr(get_origin(hint) or hint, "__struct_fields__")


RULES = CodecRules(by_predicate=[(_is_pydantic, _read_pydantic), (_is_struct, _read_msgspec)])
