"""
Read `Annotated`: descriptions, limits, validators, and codecs that are written in the annotation itself.

Metadata can come from annotated-types, pydantic and msgspec. It is applied in the order in which it is written, as
pydantic does. None of these packages is imported unless an annotation holds one of its validators. Unknown metadata is
ignored.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Annotated, Any, get_args

from ...errors import DefinitionError
from ..schemas.validator import check_schema
from ..schemas.vocabulary import ANNOTATION_KEYWORDS
from .base import Codec, CodecRules, HintReader, Schema
from .definitions import assemble_schema
from .limits import (
    Limit,
    append_note,
    apply_limits,
    build_digits_limit,
    build_pattern_limit,
    build_predicate_limit,
    iter_bound_limits,
    iter_length_limits,
    iter_multiple_limits,
)
from .metadata import flatten_metadata, known_name, needs_pydantic, read_whole
from .refusals import RefusedMetadata, Undescribable
from .schema_first import make_strict_codec
from .validators import (
    REPLACEMENTS,
    SERIALIZERS,
    VALIDATORS,
    apply_serializer,
    apply_validator,
    build_opaque_codec,
    json_text_codec,
)
from .value_limits import (
    apply_text_options,
    build_instance_limit,
    build_path_limit,
    build_timezone_limit,
    build_version_limit,
    iter_value_limits,
    list_text_options,
)

__all__ = ["RULES", "apply_metadata"]


def _read_annotated(hint: Any, reader: HintReader) -> Codec:
    if not get_args(hint):
        raise Undescribable("Annotated alone says nothing; write a type and what is said of it in brackets")
    inner, *metadata = get_args(hint)
    codec = next((item for item in metadata if isinstance(item, Codec)), None)
    if codec is not None:
        reader.encodes_exactly = False
    if any(map(needs_pydantic, items := list(flatten_metadata(metadata)))):
        if codec is not None:
            raise RefusedMetadata("pydantic cannot read a type that has a Codec beside it; leave one of the two out")
        reader.encodes_exactly, reader.has_metadata = False, True
        own = [item for item in metadata if _is_read_by_pydantic(item)]
        base = read_whole(inner, own, reader)
        return apply_metadata(base, [item for item in metadata if not _is_read_by_pydantic(item)], reader)
    base = _read_inner(inner, items, reader) if codec is None else make_strict_codec(codec)
    return apply_metadata(base, metadata, reader, inner=inner, items=items)


def _read_inner(inner: Any, items: Sequence[Any], reader: HintReader) -> Codec:
    """Return the codec of *inner*. A class without a JSON form needs none if a function takes its place."""
    try:
        return reader.codec(inner)
    except Undescribable:
        if not isinstance(inner, type) or not any(known_name(item) in REPLACEMENTS for item in items):
            raise
        return build_opaque_codec(inner)


def _is_read_by_pydantic(item: Any) -> bool:
    """Return whether pydantic acts on *item* itself."""
    if known_name(item) in ("Meta", "Timezone", "Unit"):
        return False
    return any(True for _ in flatten_metadata([item]))


def apply_metadata(
    base: Codec, metadata: Sequence[Any], reader: HintReader, *, inner: Any = Any, items: Sequence[Any] | None = None
) -> Codec:
    """
    Return *base*, the codec of *inner*, with the descriptions, limits and validators that *metadata* states.

    *items* is the metadata that counts, if the caller has flattened it.
    """
    codec = base
    waiting: list[Any] = []
    is_changed = False
    items = list(flatten_metadata(metadata)) if items is None else items
    if items:
        reader.encodes_exactly, reader.has_metadata = False, True
    for item in items:
        name = known_name(item) or ""
        _check_discriminator(base, item, reader)
        if (step := _STEPS.get(name)) is not None:
            codec = _apply_limits(codec, waiting, reader, inner, is_changed=is_changed)
            codec, waiting, is_changed = step(codec, item, name, reader), [], True
            continue
        if list_text_options([item]) and any(known_name(other) == "Predicate" for other in waiting):
            # The predicate was written first, so it is about the text before the change.
            codec, waiting = _apply_limits(codec, waiting, reader, inner, is_changed=is_changed), []
        waiting.append(item)
    codec = _apply_limits(codec, waiting, reader, inner, is_changed=is_changed)
    return _describe(codec, metadata, items, reader)


# Limits.


def _apply_limits(codec: Codec, items: Sequence[Any], reader: HintReader, inner: Any, *, is_changed: bool) -> Codec:
    """Return *codec* with the limits that *items* state. With *is_changed*, a validator ran before them."""
    limits: list[Limit] = []
    for item in items:
        limits += iter_value_limits(codec, item) if is_changed else _iter_limits(codec, item)
        limits += _iter_special_limits(codec, item, inner)
    on_output = reader.for_output
    options = list_text_options(items)
    if not options:
        return apply_limits(codec, limits, on_output=on_output) if limits else codec
    on_text = [limit for limit in limits if not limit.on_decoded]
    on_value = [limit for limit in limits if limit.on_decoded]
    codec = apply_limits(codec, on_text, on_output=on_output) if on_text else codec
    codec = apply_text_options(codec, options, on_text, on_output=on_output)
    return apply_limits(codec, on_value, on_output=on_output) if on_value else codec


def _iter_limits(codec: Codec, item: Any) -> Iterator[Limit]:
    def iter_attributes(*names: str) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name in names if (value := getattr(item, name, None)) is not None)

    for name, value in iter_attributes("ge", "gt", "le", "lt"):
        yield from iter_bound_limits(codec, name, value)
    for name, value in iter_attributes("min_length", "max_length"):
        if value or name == "max_length":
            yield from iter_length_limits(codec, name, value)
    for _, value in iter_attributes("multiple_of"):
        yield from iter_multiple_limits(codec, value)
    for name, value in iter_attributes("max_digits", "decimal_places"):
        yield build_digits_limit(name, value)
    for _, value in iter_attributes("pattern"):
        yield build_pattern_limit(value)
    if known_name(item) == "Predicate":
        yield build_predicate_limit(codec, item.func)


def _iter_special_limits(codec: Codec, item: Any, inner: Any) -> Iterator[Limit]:
    """Yield the limits that only one class of metadata states."""
    match known_name(item):
        case "Timezone":
            yield build_timezone_limit(codec, item.tz)
        case "Meta" if item.tz is not None:
            yield build_timezone_limit(codec, ... if item.tz else None)
        case "Not":
            yield build_predicate_limit(codec, item)
        case "PathType":
            yield build_path_limit(codec, item.path_type)
        case "UuidVersion":
            yield build_version_limit(codec, item.uuid_version)
        case "InstanceOf":
            yield build_instance_limit(codec, inner)
        case "PydanticGeneralMetadata" if getattr(item, "ascii_only", None):
            yield replace(build_pattern_limit("^[\\x00-\\x7f]*$"), message="text of ASCII characters only")


# Metadata that replaces a part of the codec.


def _take_schema(codec: Codec, item: Any, name: str, reader: HintReader) -> Codec:
    if getattr(item, "mode", None) not in (None, "serialization" if reader.for_output else "validation"):
        return codec
    if not isinstance(getattr(item, "json_schema", None), dict):
        raise RefusedMetadata("WithJsonSchema has no schema, and what the schema does not show is refused; write one")
    _check_written_schema(item.json_schema, "WithJsonSchema")
    return _replace_schema(codec, item.json_schema, reader)


def _check_written_schema(schema: Schema, subject: str) -> None:
    """Raise `RefusedMetadata` if *schema*, which the author wrote, cannot be a part of the tool's schema."""
    if '"$ref":' in json.dumps(schema):
        raise RefusedMetadata(f"{subject}: a `$ref` has no meaning inside another schema; write that part in its place")
    try:
        check_schema(schema, subject)
    except DefinitionError as error:
        raise RefusedMetadata(str(error)) from error


def _replace_schema(codec: Codec, schema: Schema, reader: HintReader) -> Codec:
    """Return *codec* with another schema, which decides before the codec does."""
    new_codec = replace(codec, schema=dict(schema), type=None, choices=None, tags=None, members=(), emit=None)
    if reader.for_output:
        return new_codec
    strict_codec = make_strict_codec(new_codec, lambda: assemble_schema(schema, reader.definitions))
    return replace(strict_codec, type=codec.type)


_STEPS: dict[str, Callable[[Codec, Any, str, HintReader], Codec]] = {
    **dict.fromkeys(VALIDATORS, apply_validator),
    **dict.fromkeys(SERIALIZERS, apply_serializer),
    # As in pydantic, a result is written as it is, and not as text.
    "Json": lambda codec, item, name, reader: codec if reader.for_output else json_text_codec(codec),
    "WithJsonSchema": _take_schema,
}
"""What an object of each class does to a codec. Limits that follow it are checked against the new value."""


def _check_discriminator(base: Codec, item: Any, reader: HintReader) -> None:
    """Raise `RefusedMetadata` if the field that should tell the records of a union apart is not in all of them."""
    field = getattr(item, "discriminator", None)
    if not isinstance(field, str) or "$ref" in base.schema:
        return
    records = [reader.dereference(member) for member in base.members]
    missing = [record for record in records if record.tags is not None and field not in record.tags]
    if missing or (not records and "anyOf" not in base.schema):
        name = missing[0].type.__name__ if missing and missing[0].type else "the type"
        raise RefusedMetadata(
            f"the discriminator `{field}` tells records of a union apart, but {name} has no such Literal field; "
            f"give each record one, or leave the discriminator out"
        )


# What the schema says to people.


def _describe(codec: Codec, metadata: Sequence[Any], items: Sequence[Any], reader: HintReader) -> Codec:
    schema = dict(codec.schema)
    for item in items:
        for option in ("json_schema_extra", "extra_json_schema"):
            if written := getattr(item, option, None):
                _check_written_schema(written, option)
                schema.update(written)
        if isinstance(title := getattr(item, "title", None), str) and title:
            schema["title"] = title
        if deprecated := getattr(item, "deprecated", None):
            schema["deprecated"] = True
            if isinstance(deprecated, str):
                append_note(schema, deprecated)
        if known_name(item) == "Unit":
            append_note(schema, f"Unit: {item.unit}.")
    if schema != codec.schema:
        changed = {key for key in schema if schema[key] != codec.schema.get(key)}
        if changed <= ANNOTATION_KEYWORDS:
            codec = replace(codec, schema=schema, members=())
        else:
            codec = _replace_schema(codec, schema, reader)
    description = next(filter(None, map(_find_description, metadata)), None)
    examples = next((item.examples for item in items if getattr(item, "examples", None)), None)
    extra: dict[str, Any] = {}
    if description:
        # The type's own description, such as the names of flags, is kept too.
        own = None if codec.description else codec.schema.get("description")
        extra["description"] = f"{description} {own}" if own else description
    if examples:
        extra["examples"] = list(examples)
    if not extra:
        return codec
    return replace(codec, schema={**codec.schema, **extra}, description=description or codec.description, members=())


def _find_description(item: Any) -> str | None:
    if isinstance(item, str):
        text: Any = item
    else:
        # `Doc` and annotated-types' DocInfo call the text `documentation`; Field and Meta call it `description`.
        text = getattr(item, "documentation", None) or (
            getattr(item, "description", None) if known_name(item) is not None else None
        )
    return text.strip() or None if isinstance(text, str) else None


RULES = CodecRules({Annotated: _read_annotated})
