"""
Convert dictionaries and similar types.

The keys of a JSON object are text, so a key type must be readable from text.
"""

from __future__ import annotations

import collections
import functools
import json
from collections import abc
from collections.abc import Callable
from typing import Any, get_args, get_origin

from ..._plumbing.wording import format_count
from ...errors import Problem
from ..schemas.member_names import MEMBER_NAMES, MemberNames, get_member_names
from ..schemas.text_forms import INTEGER_KEY, NUMBER_KEY, TextForm
from .base import MAX_PROBLEMS, Codec, CodecRules, HintReader, Schema, type_name
from .code_writer import CodeWriter, InlineEncode
from .containers import MAX_COLLISIONS, has_many_collisions
from .ranks import CodecRank
from .refusals import Refusal, UnsendableType, build_type_error, problems_below
from .scalars import INTEGER

__all__ = ["RULES"]


def _dict_codec(key: Codec, item: Codec, build: Callable[[Any], Any], takes: Any) -> Codec:
    """Return a codec for an object with any keys. *build* makes the decoded value, and *takes* can be encoded."""
    names, read_key, write_key = _key_codec(key)
    schema: Schema = {"type": "object"}
    if names:
        schema["propertyNames"] = names
    if item.schema:
        schema["additionalProperties"] = item.schema

    def decode(value: Any) -> Any:
        return build(_decode_entries(value, read_key, item))

    def encode(value: Any) -> dict[str, Any]:
        if not isinstance(value, takes):
            raise build_type_error(value, takes.__name__)
        return {write_key(name): item.encode(value[name]) for name in value}

    def emit(writer: CodeWriter, value: str) -> str:
        result = _emit_dict(writer, value, read_key, item)
        return result if build is dict else f"{writer.constant(build)}({result})"

    def emit_encoding(writer: CodeWriter, value: str) -> str:
        result, name, item_value = writer.new_name(), writer.new_name(), writer.new_name()
        kinds = [kind for kind in (dict, collections.defaultdict) if issubclass(kind, takes)]
        writer.require(" or ".join(f"type({value}) is {writer.constant(kind)}" for kind in kinds) or "False")
        writer.line(f"{result} = {{}}")
        with writer.block(f"for {name}, {item_value} in {value}.items():"):
            if write_key is not _encode_text_key:
                writer.line(f"{name} = {writer.constant(write_key)}({name})")
            writer.require_text(name)
            writer.line(f"{result}[{name}] = {writer.convert(item, item_value)}")
        return result

    return Codec(
        schema=schema,
        decode=decode,
        encode=InlineEncode(encode, emit_encoding),
        type=build if isinstance(build, type) else None,
        breadth=(CodecRank.MAPPING, key.breadth, item.breadth),
        decisive=item.decisive and read_key is _return_unchanged,
        hashable=False,
        emit=emit,
    )


def _return_unchanged(name: Any) -> Any:
    return name


def _decode_entries(value: Any, read_key: Callable[[str], Any], item: Codec) -> dict[Any, Any]:
    """Decode the keys and items of *value*, or raise `Refusal` with all its problems."""
    if not isinstance(value, dict):
        raise Refusal.mismatch("an object", value)
    if _has_colliding_keys(value, read_key):
        raise Refusal(Problem("too many keys have the same hash"))
    entries: dict[Any, Any] = {}
    problems: list[Problem] = []
    for name, item_value in value.items():
        try:
            entries[read_key(name)] = item.decode(item_value)
        except Exception as error:  # noqa: BLE001 -- a constructor may raise anything; each exception is reported
            problems += problems_below(name, error)
            if len(problems) >= MAX_PROBLEMS:
                break
    if not problems and len(entries) != len(value):
        problems.append(
            Problem(f"{format_count(len(value) - len(entries), 'key')} would be equal to another key after conversion")
        )
    if problems:
        raise Refusal(*problems)
    return entries


def _has_colliding_keys(value: dict[str, Any], read_key: Callable[[str], Any]) -> bool:
    if len(value) <= MAX_COLLISIONS or read_key is _return_unchanged:
        return False
    try:
        return has_many_collisions(map(read_key, value))
    except Exception:  # noqa: BLE001 -- a key that cannot be read is found and reported later
        return False


def _emit_dict(writer: CodeWriter, value: str, read_key: Callable[[str], Any], item: Codec) -> str:
    """Write the code that does what `_decode_entries` does, and return the name of the new dictionary."""
    result, name, item_value = writer.new_name(), writer.new_name(), writer.new_name()
    read = name
    writer.require(f"type({value}) is dict")
    if read_key is not _return_unchanged:
        reader = writer.constant(read_key)
        writer.line(f"if {writer.constant(_has_colliding_keys)}({value}, {reader}): return U")
        read = f"{reader}({name})"
    writer.line(f"{result} = {{}}")
    with writer.block(f"for {name}, {item_value} in {value}.items():"):
        writer.require_text(name)
        writer.line(f"{result}[{read}] = {writer.convert(item, item_value)}")
    writer.require(f"len({result}) == len({value})")
    return result


def _key_codec(key: Codec) -> tuple[Schema, Callable[[str], Any], Callable[[Any], str]]:
    """Return the schema for the property names of an object, and the functions that read and write one name."""
    if key.schema in ({}, {"type": "string"}) and key.breadth in ((CodecRank.TEXT,), (CodecRank.ANY,)):
        return {}, _return_unchanged, _encode_text_key
    if key.kinds in ({"string"}, {"string", "number"}):  # the second is Decimal
        return {name: rule for name, rule in key.schema.items() if name != "type"}, key.decode, key.encode
    if key.choices is not None:
        texts = [form if isinstance(form, str) else json.dumps(form) for form in key.choices]
        if len(set(texts)) == len(texts):
            forms = dict(zip(texts, key.choices, strict=True))
            return (
                {"enum": texts, **_key_names(key.schema)},
                lambda name: key.decode(forms[name]),
                lambda value: _as_text(key.encode(value)),
            )
    if key.kinds in ({"integer"}, {"number"}):
        form, read = (INTEGER_KEY, int) if key.kinds == {"integer"} else (NUMBER_KEY, json.loads)
        parse = functools.partial(_parse_number_key, form, read)
        return form.schema, lambda name: key.decode(parse(name)), lambda value: _as_text(key.encode(value))
    raise UnsendableType(
        "the keys of a JSON object are text; use str, int, an enum, UUID or date as keys, or a list of records"
    )


def _key_names(schema: Schema) -> Schema:
    """Return the names of the members of an enum as they are known for keys, which are texts; empty for others."""
    names = get_member_names(schema, MEMBER_NAMES)
    if names is None:
        return {}
    key_names = MemberNames({name: _as_text(form) for name, form in names.items()})
    return {"description": schema["description"], MEMBER_NAMES: key_names}


def _encode_text_key(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"expected str as a key, got {type(name).__name__}")
    return str.__str__(name)


def _parse_number_key(form: TextForm, read: Callable[[str], Any], name: str) -> Any:
    try:
        number = read(name) if form.matches(name) else None
    except ValueError:  # the number has more digits than Python reads
        number = None
    if number is None or number - number != 0:
        raise Refusal.mismatch(form.expectation, name)
    return number


def _as_text(form: Any) -> str:
    return form if isinstance(form, str) else json.dumps(form)


def _mapping_factory(build: Callable[[Any], Any], takes: type) -> Callable[[Any, HintReader], Codec]:
    def factory(hint: Any, reader: HintReader) -> Codec:
        key, item = reader.argument_codecs(hint, str, Any)
        return _dict_codec(key, item, build, takes)

    return factory


def _read_default_dict(hint: Any, reader: HintReader) -> Codec:
    item = get_args(hint)[-1] if get_args(hint) else None
    factory = get_origin(item) or item
    try:
        if factory is not None:
            factory()
    except Exception:  # noqa: BLE001 -- if the constructor raises anything, it cannot make a default
        raise UnsendableType(f"{type_name(hint)}: the default for a missing key is not known; use dict") from None

    def build(entries: dict[Any, Any]) -> Any:
        return collections.defaultdict(factory, entries)

    return _mapping_factory(build, collections.defaultdict)(hint, reader)


def _read_counter(hint: Any, reader: HintReader) -> Codec:
    (key,) = reader.argument_codecs(hint, str)
    return _dict_codec(key, INTEGER, collections.Counter, collections.Counter)


RULES = CodecRules(
    {
        dict: _mapping_factory(dict, dict),
        abc.Mapping: _mapping_factory(dict, abc.Mapping),
        abc.MutableMapping: _mapping_factory(dict, abc.MutableMapping),
        collections.OrderedDict: _mapping_factory(collections.OrderedDict, collections.OrderedDict),
        collections.defaultdict: _read_default_dict,
        collections.Counter: _read_counter,
    }
)
