"""
Many of one kind: lists, tuples, sets, dictionaries and their cousins.

A container is always built anew, so a function may change what it was given.
Dictionary keys are text in JSON; a key type has to be readable from text.
"""

from __future__ import annotations

import collections
import json
from collections import abc
from collections.abc import Callable
from typing import Any, get_args, get_origin

from typing_extensions import Unpack

from ..errors import Problem
from .base import FORMS, Codec, Reader, Refusal, Schema, Undescribable, below, type_name
from .scalars import ANY, INTEGER
from .writer import Writer

__all__ = ["dict_codec", "list_codec"]


def list_codec(
    item: Codec, *, build: Callable[[Any], Any] = list, takes: Any = list, unique: bool = False, breadth: int = 12
) -> Codec:
    """A codec for any number of *item*s, gathered by *build*; *unique* if no two may be equal."""
    schema: Schema = {"type": "array", "items": item.schema} if item.schema else {"type": "array"}
    if unique:
        schema["uniqueItems"] = True

    def decode(value: Any) -> Any:
        items = _decode_items(value, lambda index: item)
        made = build(items)
        if unique and len(made) != len(items):
            raise Refusal(Problem(f"expected items that differ, but {len(items) - len(made)} equal another once read"))
        return made

    def encode(value: Any) -> list[Any]:
        if not isinstance(value, takes) or isinstance(value, (str, bytes)):
            raise TypeError(f"expected {takes.__name__}, got {type(value).__name__}")
        items = [item.encode(each) for each in value]
        # A set has no order; its JSON form has one, so that equal sets look equal.
        return sorted(items, key=_canonical) if unique else items

    def emit(writer: Writer, value: str) -> str:
        result, each = writer.fresh(), writer.fresh()
        writer.unless(f"type({value}) is list")
        writer.line(f"{result} = []")
        with writer.block(f"for {each} in {value}:"):
            writer.line(f"{result}.append({writer.convert(item, each)})")
        if build is list:
            return result
        made = writer.fresh()
        writer.line(f"{made} = {writer.constant(build)}({result})")
        if unique:
            writer.unless(f"len({made}) == len({value})")
        return made

    return Codec(
        schema=schema,
        decode=decode,
        encode=encode,
        type=build if isinstance(build, type) else None,
        breadth=(breadth, item.breadth),
        decisive=item.decisive and not unique,
        hashable=build in (tuple, frozenset) and item.hashable,
        emit=emit,
    )


def _canonical(form: Any) -> str:
    return json.dumps(form, sort_keys=True)


def _decode_items(value: Any, codec_at: Callable[[int], Codec]) -> list[Any]:
    if not isinstance(value, list):
        raise Refusal.expected("an array", value)
    items: list[Any] = []
    problems: list[Problem] = []
    for index, each in enumerate(value):
        try:
            items.append(codec_at(index).decode(each))
        except Exception as error:  # noqa: BLE001 -- a constructor may raise anything; all of it is reported
            problems += below(index, error)
    if problems:
        raise Refusal(*problems)
    return items


def _sequence(build: Callable[[Any], Any], takes: type, breadth: int = 12) -> Callable[[Any, Reader], Codec]:
    def factory(hint: Any, reader: Reader) -> Codec:
        (item,) = reader.arguments(hint)
        return list_codec(item, build=build, takes=takes, breadth=breadth)

    return factory


def _set(build: Callable[[Any], Any]) -> Callable[[Any, Reader], Codec]:
    def factory(hint: Any, reader: Reader) -> Codec:
        (item,) = reader.arguments(hint)
        if not item.hashable:
            raise Undescribable(f"{type_name(hint)}: its items cannot be hashed; use a list, or tuples as items")
        return list_codec(item, build=build, takes=abc.Set, unique=True, breadth=11)

    return factory


def _tuple(hint: Any, reader: Reader) -> Codec:
    arguments = get_args(hint)
    if get_origin(hint) is None:  # bare `tuple`
        arguments = (Any, ...)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return list_codec(reader.codec(arguments[0]), build=tuple, takes=tuple)
    if any(get_origin(each) is Unpack or getattr(each, "__unpacked__", False) for each in arguments):
        raise Undescribable(
            f"{type_name(hint)}: a tuple of changing length in a tuple; use tuple[T, ...] or a dataclass"
        )
    return _fixed_tuple([reader.codec(each) for each in arguments])


def _fixed_tuple(items: list[Codec]) -> Codec:
    count = len(items)
    schema: Schema = {"type": "array", "maxItems": count}
    if items:
        schema = {"type": "array", "prefixItems": [item.schema for item in items], "minItems": count, "maxItems": count}

    def decode(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != count:
            raise Refusal.expected(f"an array of exactly {count} items", value)
        return tuple(_decode_items(value, items.__getitem__))

    def encode(value: Any) -> list[Any]:
        if not isinstance(value, tuple) or len(value) != count:
            raise TypeError(f"expected a tuple of {count} items")
        return [item.encode(each) for item, each in zip(items, value, strict=True)]

    def emit(writer: Writer, value: str) -> str:
        writer.unless(f"type({value}) is list and len({value}) == {count}")
        parts = []
        for index, item in enumerate(items):
            part = writer.fresh()
            writer.line(f"{part} = {value}[{index}]")
            parts.append(writer.convert(item, part))
        return f"({', '.join(parts)},)" if parts else "()"

    return Codec(
        schema=schema,
        decode=decode,
        encode=encode,
        type=tuple,
        breadth=(10, *(item.breadth for item in items)),
        decisive=all(item.decisive for item in items),
        hashable=all(item.hashable for item in items),
        emit=emit,
    )


# Dictionaries.


def dict_codec(key: Codec, item: Codec, *, build: Callable[[Any], Any] = dict, takes: Any = dict) -> Codec:
    """A codec for a JSON object of any keys."""
    names, read_key, write_key = _key_codec(key)
    schema: Schema = {"type": "object"}
    if names:
        schema["propertyNames"] = names
    if item.schema:
        schema["additionalProperties"] = item.schema

    def decode(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Refusal.expected("an object", value)
        made: dict[Any, Any] = {}
        problems: list[Problem] = []
        for name, each in value.items():
            try:
                made[read_key(name)] = item.decode(each)
            except Exception as error:  # noqa: BLE001 -- a constructor may raise anything; all of it is reported
                problems += below(name, error)
        if not problems and len(made) != len(value):
            problems.append(Problem(f"{len(value) - len(made)} of the keys equal another once read"))
        if problems:
            raise Refusal(*problems)
        return build(made)

    def encode(value: Any) -> dict[str, Any]:
        if not isinstance(value, takes):
            raise TypeError(f"expected {takes.__name__}, got {type(value).__name__}")
        return {write_key(name): item.encode(value[name]) for name in value}

    def emit(writer: Writer, value: str) -> str:
        result, name, each = writer.fresh(), writer.fresh(), writer.fresh()
        writer.unless(f"type({value}) is dict")
        writer.line(f"{result} = {{}}")
        with writer.block(f"for {name}, {each} in {value}.items():"):
            writer.text(name)
            read = name if read_key is _same else f"{writer.constant(read_key)}({name})"
            writer.line(f"{result}[{read}] = {writer.convert(item, each)}")
        writer.unless(f"len({result}) == len({value})")
        return result if build is dict else f"{writer.constant(build)}({result})"

    return Codec(
        schema=schema,
        decode=decode,
        encode=encode,
        type=build if isinstance(build, type) else None,
        breadth=(30, key.breadth, item.breadth),
        decisive=item.decisive and read_key is _same,
        hashable=False,
        emit=emit,
    )


def _same(name: Any) -> Any:
    return name


_INTEGER_KEY = "^-?(0|[1-9][0-9]*)$"


def _key_codec(key: Codec) -> tuple[Schema, Callable[[str], Any], Callable[[Any], str]]:
    """What the names of an object's properties have to be, and how to read and write one."""
    if key.schema in ({}, {"type": "string"}) and key.breadth in ((8,), (99,)):
        return {}, _same, _text_key
    if key.kinds == {"string"}:
        return {name: rule for name, rule in key.schema.items() if name != "type"}, key.decode, key.encode
    if key.choices is not None:
        texts = [form if isinstance(form, str) else json.dumps(form) for form in key.choices]
        if len(set(texts)) == len(texts):
            forms = dict(zip(texts, key.choices, strict=True))
            return {"enum": texts}, lambda name: key.decode(forms[name]), lambda value: _as_text(key.encode(value))
    if key.kinds and key.kinds <= {"integer", "number", "boolean"}:
        rules = {"pattern": _INTEGER_KEY} if key.kinds == {"integer"} else {}
        return rules, lambda name: key.decode(_from_text(name)), lambda value: _as_text(key.encode(value))
    if key.kinds == {"string", "number"}:  # Decimal
        return {}, key.decode, key.encode
    raise Undescribable(
        "the keys of a JSON object are text; use str, int, an enum, UUID or date as keys, or a list of records"
    )


def _text_key(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"expected str as a key, got {type(name).__name__}")
    return str(name)


def _from_text(name: str) -> Any:
    try:
        form = json.loads(name)
    except (ValueError, RecursionError):
        form = None
    if form is None or isinstance(form, (str, list, dict)) or json.dumps(form) != name:
        raise Refusal.expected("a key that is a number", name)
    return form


def _as_text(form: Any) -> str:
    return form if isinstance(form, str) else json.dumps(form)


def _mapping(build: Callable[[Any], Any], takes: type) -> Callable[[Any, Reader], Codec]:
    def factory(hint: Any, reader: Reader) -> Codec:
        key, item = reader.arguments(hint) if get_args(hint) else (reader.codec(str), ANY)
        return dict_codec(key, item, build=build, takes=takes)

    return factory


def _default_dict(hint: Any, reader: Reader) -> Codec:
    arguments = get_args(hint)
    factory = (get_origin(arguments[1]) or arguments[1]) if arguments else None
    if factory is not None and not callable(factory):
        raise Undescribable(f"{type_name(hint)}: what a missing key gets is not clear; use dict")

    def build(made: dict[Any, Any]) -> Any:
        return collections.defaultdict(factory, made)

    return _mapping(build, collections.defaultdict)(hint, reader)


def _counter(hint: Any, reader: Reader) -> Codec:
    (key,) = reader.arguments(hint, str)
    return dict_codec(key, INTEGER, build=collections.Counter, takes=collections.Counter)


FORMS.update(
    {
        list: _sequence(list, list),
        abc.Sequence: _sequence(list, abc.Sequence),
        abc.MutableSequence: _sequence(list, abc.MutableSequence),
        abc.Collection: _sequence(list, abc.Collection),
        abc.Iterable: _sequence(list, abc.Iterable),
        abc.Container: _sequence(list, abc.Collection),
        abc.Reversible: _sequence(list, abc.Sequence),
        collections.deque: _sequence(collections.deque, collections.deque),
        tuple: _tuple,
        set: _set(set),
        frozenset: _set(frozenset),
        abc.Set: _set(set),
        abc.MutableSet: _set(set),
        dict: _mapping(dict, dict),
        abc.Mapping: _mapping(dict, abc.Mapping),
        abc.MutableMapping: _mapping(dict, abc.MutableMapping),
        collections.OrderedDict: _mapping(collections.OrderedDict, collections.OrderedDict),
        collections.defaultdict: _default_dict,
        collections.Counter: _counter,
    }
)
