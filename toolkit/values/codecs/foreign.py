"""
Convert types that bring their own schema: types of pydantic and msgspec, and types that a user registers.

None of these packages is imported unless a signature uses one of its types.
"""

from __future__ import annotations

import importlib.util
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass, replace
from typing import Any, Literal, get_origin

from ..._lazy_names import lazy_pattern
from ...errors import DefinitionError, Problem
from ..schemas.validator import check_schema
from .base import Codec, CodecRules, HintReader, Schema, type_name
from .definitions import rewrite_schema
from .field_parts import iter_field_parts
from .foreign_parts import read_model_parts, read_struct_parts
from .refusals import Refusal, RefusedMetadata, Unresolved, UnsendableType
from .registered import REGISTERED_BASES, REGISTERED_FACTORIES
from .schema_first import make_strict_codec
from .validators import json_text_codec, problems_of_validation

__all__ = ["RULES", "read_with_pydantic", "register_codec"]

_PREFIX = "#/$defs/"


def register_codec(
    kind: type,
    *,
    encode: Callable[[Any], Any],
    schema: Schema | None = None,
    decode: Callable[[Any], Any] | None = None,
    subclasses: bool = False,
) -> Codec:
    """
    Teach every later `@tool` the JSON form of *kind*.

    With *encode* alone, tools can return objects of the class but not take them as arguments.

    Args:
        kind: The class that is used in signatures.
        encode: Converts the value to JSON.
        schema: The schema that a model sees, draft 2020-12. Without it, a result may be any JSON.
        decode: Converts JSON that fits the schema. A `ValueError` is reported as a problem of the call.
        subclasses: Whether *encode* is also for objects of subclasses. An argument of a subclass needs a codec of its
            own, because *decode* does not know the subclass.

    Raises:
        DefinitionError: *kind* is not a class, the schema cannot be used, or there is a *decode* without a schema.
    """
    if not isinstance(kind, type):
        raise DefinitionError(f"register_codec: expected a class, got {kind!r}")
    subject = f"register_codec({kind.__name__})"
    if decode is not None and schema is None:
        raise DefinitionError(f"{subject}: `decode` needs a `schema` that says what a model may send")
    schema = {} if schema is None else schema
    check_schema(schema, subject)
    rewrite_schema(schema, lambda part: _check_movable(part, schema, subject))
    own = {key: value for key, value in schema.items() if key != "$schema"}
    codec = Codec(schema=own, decode=decode or _refuse, encode=encode, type=kind, hashable=kind.__hash__ is not None)
    strict_codec = make_strict_codec(codec)
    has_references = _has_references(own)

    def factory(hint: Any, reader: HintReader) -> Codec:
        if not reader.for_output:
            _check_argument(hint, kind, can_decode=decode is not None)
        return _embed_codec(hint, reader, codec) if has_references else strict_codec

    REGISTERED_FACTORIES[kind] = factory
    REGISTERED_BASES.pop(kind, None)
    if subclasses:
        REGISTERED_BASES[kind] = factory
    return strict_codec


def _refuse(value: Any) -> Any:
    raise Refusal(Problem("no value of this type can be sent"))


def _check_argument(hint: Any, kind: type, *, can_decode: bool) -> None:
    """Raise `UnsendableType` if the codec that was registered for *kind* cannot decode an argument of type *hint*."""
    if not can_decode:
        raise UnsendableType(
            f"{type_name(hint)} is registered for results only; give `register_codec({kind.__name__}, ...)` "
            "a `schema` and a `decode` too"
        )
    if (get_origin(hint) or hint) is not kind:
        raise UnsendableType(
            f"{type_name(hint)} is a subclass of {kind.__name__}, whose registered codec decodes only "
            f"{kind.__name__} itself; call `register_codec` for {type_name(hint)}"
        )


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
    reader.encodes_exactly = False  # the schema and the function that encodes come from different sources
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
    """
    Return *part* without redundant keywords: `title` repeats the name, and `discriminator` is OpenAPI's.

    pydantic requires the property that a `discriminator` names, even if that property has a default.
    """
    rest = {key: value for key, value in part.items() if key not in ("title", "discriminator")}
    tag = part["discriminator"].get("propertyName") if isinstance(part.get("discriminator"), dict) else None
    return {**rest, "required": [tag]} if isinstance(tag, str) and "required" not in rest else rest


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


def read_with_pydantic(hint: Any, reader: HintReader) -> Codec:
    """Return the codec for a *hint* that pydantic describes, checks and writes."""
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    try:
        adapter: Any = TypeAdapter(hint)
        # What is sent back may differ from what is accepted: it has the computed fields, and not the excluded ones.
        schema = adapter.json_schema(by_alias=True, mode="serialization" if reader.for_output else "validation")
    except PydanticUserError as error:
        if error.code == "class-not-fully-defined":
            raise Unresolved(type_name(hint)) from error
        raise UnsendableType(
            f"pydantic cannot describe {type_name(hint)}: {error.message}; use a type that it can, or `register_codec`"
        ) from error
    except Exception as error:
        raise UnsendableType(f"pydantic cannot describe {type_name(hint)}: {error}") from error

    _refuse_ignored_metadata(hint, "pydantic")

    def decode(value: Any) -> Any:
        try:
            # The value is validated as JSON, because a strict model accepts "2024-05-01" as a date only in JSON.
            return adapter.validate_json(json.dumps(_convert_whole_floats(value)))
        except ValidationError as error:
            raise Refusal(*problems_of_validation(error)) from None

    def encode(value: Any) -> Any:
        return adapter.dump_python(value, mode="json", by_alias=True, warnings="error")

    # A class that only tells pydantic how to treat it may stand for values of another class, as EmailStr does for str.
    cls = get_origin(hint) or hint
    kind = cls if hasattr(cls, "__pydantic_validator__") or is_dataclass(cls) else None
    hashable = kind is None or kind.__hash__ is not None
    codec = Codec(
        schema=rewrite_schema(schema, _drop_redundant),
        decode=decode,
        encode=encode,
        type=kind,
        hashable=hashable,
        parts=None if kind is None else read_model_parts(hint, kind, adapter),
    )
    return _embed_codec(hint, reader, codec)


def _is_pydantic(hint: Any) -> bool:
    cls = get_origin(hint) or hint
    return (
        isinstance(cls, type)
        and (any(hasattr(cls, name) for name in _PYDANTIC_ATTRIBUTES) or _has_pydantic_checks(cls))
        and importlib.util.find_spec("pydantic") is not None
    )


_PYDANTIC_ATTRIBUTES = (
    "__pydantic_validator__",
    "__get_pydantic_core_schema__",
    "__pydantic_config__",
    "__pydantic_decorators__",
)


def _has_pydantic_checks(cls: type) -> bool:
    """
    Return whether a plain dataclass has checks that only pydantic runs: `field_validator`, or `x: int = Field(gt=0)`.

    Its own constructor would ignore them.
    """
    dc_fields: Mapping[str, Any] = getattr(cls, "__dataclass_fields__", {})
    attributes = [value for base in cls.__mro__ for value in vars(base).values()] if dc_fields else []
    return any(type(dc_field.default).__name__ == "FieldInfo" for dc_field in dc_fields.values()) or any(
        type(value).__name__ == "PydanticDescriptorProxy" for value in attributes
    )


def _is_json_text(hint: Any) -> bool:
    """Return whether *hint* is pydantic's `Json` without brackets. pydantic would not write it as text again."""
    return isinstance(hint, type) and hint.__name__ == "Json" and hint.__module__ == "pydantic.types"


# msgspec.


def _read_msgspec(hint: Any, reader: HintReader) -> Codec:
    import msgspec

    try:
        schema = msgspec.json.schema(hint)
    except NameError as error:
        raise Unresolved(error.name or type_name(hint)) from error
    except TypeError as error:
        raise UnsendableType(
            f"msgspec cannot describe {type_name(hint)}: {' '.join(str(error).split())}; "
            f"use types that it can, or `register_codec`"
        ) from error

    _refuse_ignored_metadata(hint, "msgspec")

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
        parts=read_struct_parts(hint, kind),
    )
    return _embed_codec(hint, reader, codec)


_STEP = lazy_pattern(r"\.([^.\[]+)|\[(\d+)\]")


def _parse_message(message: str) -> Problem:
    """Split msgspec's message, such as `too big - at `$.items[1]``, into a message and a path."""
    text, mark, place = message.rpartition(" - at `$")
    if not mark or not place.endswith("`"):
        return Problem(message)
    # msgspec does not say which entry of a dictionary it means: `$.items[...].x`.
    path = place[:-1].partition("[...]")[0]
    steps = [int(index) if index else name for name, index in _STEP.findall(path)]
    return Problem(text, steps)


# Metadata that the library which reads a class would ignore. msgspec knows only its own `Meta`, and pydantic knows
# neither that nor `Timezone`. A check that never runs is refused, as it would be on a parameter.

_REMEDIES = {
    "msgspec": "use `msgspec.Meta`, or check the value in `__post_init__`",
    "pydantic": "use a validator or a type of pydantic",
}


_IGNORES: Mapping[str, Callable[[str, str], bool]] = {
    "msgspec": lambda package, name: package in ("annotated_types", "pydantic"),
    "pydantic": lambda package, name: (package, name) in (("msgspec", "Meta"), ("annotated_types", "Timezone")),
}


def _refuse_ignored_metadata(hint: Any, library: Literal["msgspec", "pydantic"]) -> None:
    """Raise `RefusedMetadata` if a field of *hint*, or of a class in it, has a check that *library* ignores."""
    for place, part in iter_field_parts(hint):
        cls = part if isinstance(part, type) else type(part)
        if _IGNORES[library](cls.__module__.partition(".")[0], cls.__name__):
            raise RefusedMetadata(f"{place}: {library} ignores {cls.__name__}; {_REMEDIES[library]}")


RULES = CodecRules(
    by_predicate=[
        (_is_json_text, lambda hint, reader: json_text_codec(reader.codec(Any))),
        (_is_pydantic, read_with_pydantic),
        (lambda hint: hasattr(get_origin(hint) or hint, "__struct_fields__"), _read_msgspec),
    ]
)
