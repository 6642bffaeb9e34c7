"""
Types that bring their own schema: pydantic's, msgspec's, and those a user registers.

None of these packages is imported unless a signature uses one of its types.
Their validators accept more than their schemas say, so here they only
convert; the schema is judged like any other.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, get_origin

from ..errors import DefinitionError, Problem
from ..jsonschemas import check_schema, validator
from ..wording import problems_of
from .base import FORMS, KINDS, Codec, Reader, Refusal, Schema, Undescribable, always, type_name
from .plain import plain_emitter
from .writer import Writer

__all__ = ["judged", "register_codec"]


def register_codec(kind: type, *, schema: Schema, decode: Callable[[Any], Any], encode: Callable[[Any], Any]) -> Codec:
    """
    Teach every later `@tool` the JSON form of *kind*.

    Args:
        kind: The class that stands in signatures.
        schema: What a model is told, draft 2020-12.
        decode: From JSON that fits the schema; a `ValueError` is a problem of the call.
        encode: Back to JSON.
    """
    if not isinstance(kind, type):
        raise DefinitionError(f"register_codec: expected a class, got {kind!r}")
    check_schema(schema, f"register_codec({kind.__name__})")
    codec = judged(Codec(schema=dict(schema), decode=decode, encode=encode, type=kind))
    FORMS[kind] = always(codec)
    return codec


def judged(codec: Codec, schema: Schema | None = None) -> Codec:
    """*codec* made strict: first its schema decides (or the given one, complete in itself), then its function."""
    whole = codec.schema if schema is None else schema
    write_check = plain_emitter(whole)

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

    return replace(codec, decode=decode, encode=encode, emit=None if write_check is None else emit)


def _adopted(name: str, whole: Schema, reader: Reader) -> Schema:
    """*whole* as part of the reader's schema: its definitions become the reader's, under free names."""
    definitions = whole.get("$defs", {})
    names = {each: each if each == name else reader.free_name(each) for each in definitions}

    def moved(part: Any) -> Any:
        if isinstance(part, list):
            return [moved(each) for each in part]
        if not isinstance(part, Mapping):
            return part
        made: dict[str, Any] = {}
        for key, each in part.items():
            if key == "$ref" and isinstance(each, str) and each.startswith("#/$defs/"):
                made[key] = f"#/$defs/{names[each.removeprefix('#/$defs/')]}"
            elif key == "properties":
                made[key] = {field: moved(schema) for field, schema in each.items()}
            elif key == "discriminator" or (key == "title" and isinstance(each, str)):
                continue  # a title repeats the name; a discriminator is OpenAPI's
            else:
                made[key] = moved(each)
        return made

    for each, schema in definitions.items():
        if each != name:
            reader.definitions[names[each]] = moved(schema)
    top = {key: each for key, each in whole.items() if key != "$defs"}
    if top.get("$ref") == f"#/$defs/{name}":
        top = definitions[name]
    result: Schema = moved(top)
    return result


def _foreign(
    hint: Any, reader: Reader, whole: Schema, decode: Callable[[Any], Any], encode: Callable[[Any], Any]
) -> Codec:
    kind = hint if isinstance(hint, type) else get_origin(hint)

    def make() -> Codec:
        codec = Codec(schema=_adopted(name, whole, reader), decode=decode, encode=encode, type=kind, breadth=(22,))
        return judged(codec, whole)

    name = getattr(hint, "__name__", type_name(hint))
    # pydantic names a generic model `Page[Item]`; a pointer should need no escaping.
    name = "".join(letter if letter.isalnum() or letter in "_.-" else "_" for letter in name)
    return reader.named(hint, name, make, inline=whole.get("type") != "object" and "$ref" not in whole)


def _pydantic(hint: Any, reader: Reader) -> Codec:
    from pydantic import TypeAdapter, ValidationError
    from pydantic.errors import PydanticUserError

    try:
        adapter: Any = TypeAdapter(hint)
        whole = adapter.json_schema(by_alias=True, mode="validation")
    except PydanticUserError as error:
        raise Undescribable(f"pydantic cannot describe {type_name(hint)}: {error.message}") from error

    def decode(value: Any) -> Any:
        try:
            # As JSON, not as Python: a strict model takes "2024-05-01" for a date only there.
            return adapter.validate_json(json.dumps(value))
        except ValidationError as error:
            raise Refusal(*(Problem(each["msg"], each["loc"]) for each in error.errors(include_url=False))) from None

    def encode(value: Any) -> Any:
        return adapter.dump_python(value, mode="json", by_alias=True)

    return _foreign(hint, reader, whole, decode, encode)


def _msgspec(hint: Any, reader: Reader) -> Codec:
    import msgspec

    try:
        whole = msgspec.json.schema(hint)
    except (TypeError, NameError) as error:
        raise Undescribable(f"msgspec cannot describe {type_name(hint)}: {error}") from error

    def decode(value: Any) -> Any:
        return msgspec.convert(value, hint)

    return _foreign(hint, reader, whole, decode, msgspec.to_builtins)


def _is_pydantic(hint: Any) -> bool:
    return isinstance(hint, type) and (
        hasattr(hint, "__get_pydantic_core_schema__") or hasattr(hint, "__pydantic_validator__")
    )


def _is_struct(hint: Any) -> bool:
    return hasattr(get_origin(hint) or hint, "__struct_fields__")


KINDS[:0] = [(_is_pydantic, _pydantic), (_is_struct, _msgspec)]
