"""
Convert containers with items of one kind: lists, tuples, sets and similar types.

A container is always built anew, so a function may change the container that it receives.
"""

from __future__ import annotations

import collections
import json
import typing
from collections import abc
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any, get_args, get_origin

import typing_extensions

from ..._lazy_names import lazy_pattern
from ..._plumbing.wording import format_count
from ...errors import Problem
from ..arrays import limit_items
from .base import MAX_PROBLEMS, Codec, CodecRules, HintReader, Schema, type_name
from .code_writer import CodeWriter, InlineEncode
from .ranks import CodecRank
from .refusals import Refusal, Undescribable, build_type_error, problems_below

__all__ = ["MAX_COLLISIONS", "RULES", "has_many_collisions", "order_forms"]

MAX_COLLISIONS = 1000
"""A number of items that does no harm, even if all of them have the same hash."""


def has_many_collisions(items: Iterable[Any]) -> bool:
    """
    Return whether more than a few of *items* share their hash with another item.

    An attacker cannot predict the hash of a string, but can predict the hash of a number. A list of long integers that
    all have the same hash takes minutes to become a set or the keys of a dictionary.
    """
    hashes = [hash(item) for item in items]
    return len(hashes) - len(set(hashes)) > MAX_COLLISIONS


def _list_codec(item: Codec, build: Callable[[Any], Any], takes: Any) -> Codec:
    """Return a codec for any number of *item*s, which *build* collects. Objects of the class *takes* can be encoded."""

    def decode(value: Any) -> Any:
        return build(_decode_items(value, lambda index: item))

    def encode(value: Any) -> list[Any]:
        if not isinstance(value, takes) or isinstance(value, (str, bytes)):
            raise build_type_error(value, takes.__name__)
        return [item.encode(element) for element in (limit_items(value) if takes is Iterable else value)]

    def emit(writer: CodeWriter, value: str) -> str:
        writer.require(f"type({value}) is list")
        result = _emit_items(writer, value, item)
        return result if build is list else f"{writer.constant(build)}({result})"

    def emit_encoding(writer: CodeWriter, value: str) -> str:
        kinds = [kind for kind in (list, tuple, collections.deque) if issubclass(kind, takes)]
        writer.require(" or ".join(f"type({value}) is {writer.constant(kind)}" for kind in kinds))
        return _emit_items(writer, value, item)

    return Codec(
        schema=_array_schema(item),
        decode=decode,
        encode=InlineEncode(encode, emit_encoding),
        type=build if isinstance(build, type) else None,
        breadth=(CodecRank.LIST, item.breadth),
        decisive=item.decisive,
        hashable=build is tuple and item.hashable,
        emit=emit,
    )


def _array_schema(item: Codec) -> Schema:
    return {"type": "array", "items": item.schema} if item.schema else {"type": "array"}


def _emit_items(writer: CodeWriter, value: str, item: Codec) -> str:
    """Write a loop over *value*, and return the name of the list of converted items."""
    result, element = writer.new_name(), writer.new_name()
    writer.line(f"{result} = []")
    with writer.block(f"for {element} in {value}:"):
        writer.line(f"{result}.append({writer.convert(item, element)})")
    return result


def _set_codec(item: Codec, build: type[set[Any] | frozenset[Any]]) -> Codec:
    """Return a codec for any number of *item*s, no two of which are equal."""

    def decode(value: Any) -> Any:
        items = _decode_items(value, lambda index: item)
        try:
            if len(items) > MAX_COLLISIONS and has_many_collisions(items):
                raise Refusal(Problem("too many items have the same hash"))
            built = build(items)
        except TypeError:  # only a value inside an item of type Any is noticed as late as this
            raise Refusal.mismatch("items that can be in a set, so no arrays or objects", value) from None
        if len(built) != len(items):
            equal_items = format_count(len(items) - len(built), "item")
            raise Refusal(Problem(f"{equal_items} would be equal to another item after conversion"))
        return built

    def encode(value: Any) -> list[Any]:
        if not isinstance(value, abc.Set):
            raise build_type_error(value, "Set")
        # A set has no order. Its JSON form has one, so that equal sets have equal forms.
        return order_forms((element, item.encode(element)) for element in value)

    def emit(writer: CodeWriter, value: str) -> str:
        writer.require(f"type({value}) is list")
        items, built = _emit_items(writer, value, item), writer.new_name()
        writer.line(f"if len({items}) > {MAX_COLLISIONS} and {writer.constant(has_many_collisions)}({items}): return U")
        writer.line(f"{built} = {writer.constant(build)}({items})")
        writer.require(f"len({built}) == len({value})")
        if item.type not in _EQUAL_BY_VALUE:
            writer.require(f"{writer.constant(_are_all_different)}({value})")
        return built

    return Codec(
        schema={**_array_schema(item), "uniqueItems": True},
        decode=decode,
        encode=encode,
        type=build,
        breadth=(CodecRank.SET, item.breadth),
        hashable=build is frozenset and item.hashable,
        emit=emit,
    )


def order_forms(pairs: Iterable[tuple[Any, Any]]) -> list[Any]:
    """
    Return the JSON forms in *pairs*, each of which is an item of a set and its form.

    Items that can be compared are in their natural order, and others in the order of the texts of their forms.
    """
    by_text = sorted(pairs, key=lambda pair: _sort_key(pair[1]))
    try:
        # The sort is stable and begins with a fixed order, so it also fixes the order of items that `<` leaves open.
        ordered = sorted(by_text, key=lambda pair: pair[0])
    except Exception:  # noqa: BLE001 -- most classes have no `<`, and one may raise anything
        ordered = by_text
    return [form for _, form in ordered]


def _sort_key(form: Any) -> str:
    return json.dumps(form, sort_keys=True)


_EQUAL_BY_VALUE = frozenset({str, int, float, bool})
_WHOLE_FLOAT = lazy_pattern(r"\.0|e\+")


def _are_all_different(items: list[Any]) -> bool:
    """Return whether all *items* surely differ as JSON. Objects of a class without `__eq__` always differ in Python."""
    texts = [_sort_key(item) for item in items]
    # 1.0 equals 1, although their texts differ, so jsonschema must decide.
    return len(set(texts)) == len(items) and not any(map(_WHOLE_FLOAT.search, texts))


def _decode_items(value: Any, codec_at: Callable[[int], Codec]) -> list[Any]:
    if not isinstance(value, list):
        raise Refusal.mismatch("an array", value)
    items: list[Any] = []
    problems: list[Problem] = []
    for index, item in enumerate(value):
        try:
            items.append(codec_at(index).decode(item))
        except Exception as error:  # noqa: BLE001 -- a constructor may raise anything; each exception is reported
            problems += problems_below(index, error)
            if len(problems) >= MAX_PROBLEMS:
                break
    if problems:
        raise Refusal(*problems)
    return items


def _sequence_factory(build: Callable[[Any], Any], takes: type) -> Callable[[Any, HintReader], Codec]:
    def factory(hint: Any, reader: HintReader) -> Codec:
        (item,) = reader.argument_codecs(hint, Any)
        return _list_codec(item, build, takes)

    return factory


def _set_factory(build: type[set[Any] | frozenset[Any]]) -> Callable[[Any, HintReader], Codec]:
    def factory(hint: Any, reader: HintReader) -> Codec:
        (item,) = reader.argument_codecs(hint, Any)
        if not item.hashable:
            raise Undescribable(f"{type_name(hint)}: its items cannot be hashed; use a list, or tuples as items")
        if item.breadth == (CodecRank.ANY,):
            # Arrays and objects cannot be in a set.
            item = replace(item, schema={**item.schema, "type": ["string", "number", "boolean", "null"]})
        return _set_codec(item, build)

    return factory


_BARE_TUPLES = (tuple, typing.Tuple)  # noqa: UP006 -- users may write the old spelling
_UNPACKS = (typing.Unpack, typing_extensions.Unpack)


def _read_tuple(hint: Any, reader: HintReader) -> Codec:
    arguments = get_args(hint)
    if hint in _BARE_TUPLES:
        arguments = (Any, ...)
    if len(arguments) == 2 and arguments[1] is Ellipsis:
        return _list_codec(reader.codec(arguments[0]), tuple, tuple)
    arguments = tuple(item for argument in arguments for item in _unpack_fixed_tuple(argument))
    if any(map(_is_unpacked, arguments)):
        raise Undescribable(
            f"{type_name(hint)}: a tuple of changing length in a tuple; use tuple[T, ...] or a dataclass"
        )
    return _tuple_codec([reader.codec(argument) for argument in arguments])


def _is_unpacked(argument: Any) -> bool:
    return get_origin(argument) in _UNPACKS or getattr(argument, "__unpacked__", False)


def _unpack_fixed_tuple(argument: Any) -> tuple[Any, ...]:
    """Return the items of an unpacked tuple that has a fixed number of them, or *argument* alone."""
    inner = get_args(argument)[0] if get_origin(argument) in _UNPACKS else argument
    items = get_args(inner)
    if not _is_unpacked(argument) or get_origin(inner) is not tuple or Ellipsis in items:
        return (argument,)
    return tuple(item for part in items for item in _unpack_fixed_tuple(part))


def _tuple_codec(items: list[Codec]) -> Codec:
    count = len(items)
    schema: Schema = {"type": "array", "maxItems": count}
    if items:
        schema = {"type": "array", "prefixItems": [item.schema for item in items], "minItems": count, "maxItems": count}

    def decode(value: Any) -> tuple[Any, ...]:
        if not isinstance(value, list) or len(value) != count:
            raise Refusal.mismatch(f"an array of exactly {format_count(count, 'item')}", value)
        return tuple(_decode_items(value, items.__getitem__))

    def emit_elements(writer: CodeWriter, value: str) -> list[str]:
        parts = []
        for index, item in enumerate(items):
            part = writer.new_name()
            writer.line(f"{part} = {value}[{index}]")
            parts.append(writer.convert(item, part))
        return parts

    def encode(value: Any) -> list[Any]:
        if not isinstance(value, tuple) or len(value) != count:
            raise TypeError(f"expected a tuple of {format_count(count, 'item')}")
        return [item.encode(element) for item, element in zip(items, value, strict=True)]

    def emit(writer: CodeWriter, value: str) -> str:
        writer.require(f"type({value}) is list and len({value}) == {count}")
        parts = emit_elements(writer, value)
        return f"({', '.join(parts)},)" if parts else "()"

    def emit_encoding(writer: CodeWriter, value: str) -> str:
        writer.require(f"type({value}) is tuple and len({value}) == {count}")
        return f"[{', '.join(emit_elements(writer, value))}]"

    return Codec(
        schema=schema,
        decode=decode,
        encode=InlineEncode(encode, emit_encoding),
        type=tuple,
        breadth=(CodecRank.TUPLE, *(item.breadth for item in items)),
        decisive=all(item.decisive for item in items),
        hashable=all(item.hashable for item in items),
        emit=emit,
    )


RULES = CodecRules(
    {
        list: _sequence_factory(list, list),
        abc.Sequence: _sequence_factory(list, abc.Sequence),
        abc.MutableSequence: _sequence_factory(list, abc.MutableSequence),
        abc.Collection: _sequence_factory(list, abc.Collection),
        abc.Iterable: _sequence_factory(list, abc.Iterable),
        abc.Container: _sequence_factory(list, abc.Collection),
        abc.Reversible: _sequence_factory(list, abc.Sequence),
        collections.deque: _sequence_factory(collections.deque, collections.deque),
        tuple: _read_tuple,
        set: _set_factory(set),
        frozenset: _set_factory(frozenset),
        abc.Set: _set_factory(set),
        abc.MutableSet: _set_factory(set),
    }
)
