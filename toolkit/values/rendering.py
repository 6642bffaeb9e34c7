"""
Convert any value to strict JSON and to text.

`as_json` never fails. NaN, cycles, bytes and objects of unknown classes become something that can be sent and read.
`require_json` does the same for the results of tools, but raises `UnsendableValue` where `as_json` can only describe a
value in words. If a return annotation names a more specific type, the codec of that type encodes the value first.
"""

from __future__ import annotations

import base64
import collections
import copy
import dataclasses
import enum
import inspect
import itertools
import json
import reprlib
from collections.abc import AsyncIterable, Awaitable, Iterable, Iterator, Mapping, Sequence, ValuesView
from collections.abc import Set as AbstractSet
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import TYPE_CHECKING, Any

from .arrays import UNKNOWN, Shape, is_array_class, number_repeated, to_plain_value
from .codecs.registered import has_registered_codec
from .strictjson.checks import INT_LIMIT, class_name, is_valid_text
from .unsendable_value import UnsendableValue

if TYPE_CHECKING:
    from .codecs.base import Codec

__all__ = [
    "FINAL_TYPES",
    "as_json",
    "as_shown_json",
    "as_text",
    "copy_arguments",
    "describe_value",
    "dict_with_unique_keys",
    "is_async_stream",
    "is_stream",
    "is_strict_json",
    "is_unfinished",
    "may_have_json_form",
    "replace_surrogates",
    "require_json",
]

_MAX_DEPTH = 50
_MAX_CONTAINERS = 300_000
_TOO_MUCH = "<too much>"
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
# A `UserString` is a sequence whose items are such sequences again, without end.
_PLAIN: tuple[tuple[type, Any], ...] = (
    (str, str.__str__),
    (int, int.__int__),
    (float, float.__float__),
    (collections.UserString, str),
)
_TEXTS = frozenset({str})
_SCALARS = frozenset({str, int, float, bool, type(None)})
_BYTES = (bytes, bytearray, memoryview)
_ITEMS = (Sequence, AbstractSet, ValuesView, collections.deque)
_MORE_THAN_ITEMS = (str, int, float, enum.Enum, Mapping, *_BYTES, *_ITEMS)
_BUILTIN_CONTAINERS = (list, tuple, dict, set, frozenset)


def as_text(value: Any) -> str:
    """Return the text that a model reads: a string as it is, and any other strict JSON value as compact JSON."""
    return value if type(value) is str else _ENCODER.encode(value)


def as_json(value: Any) -> Any:
    """Convert *value* to strict JSON that stays as close as possible to its meaning."""
    return _Conversion().convert(value)


def require_json(value: Any, shape: Shape | None = None) -> Any:
    """
    Convert *value* to strict JSON, as `as_json` does, but describe no object in words.

    A table can be an array or an object. *shape* says which is wanted.

    Raises:
        UnsendableValue: *value*, or a value in it, has no JSON form.
    """
    return _StrictConversion(shape).convert(value)


def as_shown_json(value: Any) -> Any:
    """
    Convert *value* to strict JSON that tells a reader what it is, although it has no JSON form of its own.

    An object without a form is the name of its class, and one whose class has a form for other values is its text, such
    as `"NaN"` for a `Decimal`. This never fails.
    """
    return _ShowingConversion().convert(value)


def is_strict_json(value: Any) -> bool:
    """
    Return whether encoding *value* as JSON and decoding it gives the same value.

    *value* must be encodable as JSON. A tuple, or a key that is not a string, makes the answer False.
    """
    kind = type(value)
    if kind is list or kind is dict:
        if kind is dict and not _TEXTS.issuperset(map(type, value)):
            return False
        items = value if kind is list else value.values()
        return _SCALARS.issuperset(map(type, items)) or all(map(is_strict_json, items))
    return kind in _SCALARS


def is_stream(kind: type) -> bool:
    """Return whether objects of the class *kind* are iterators, which have a JSON form once their items are read."""
    return issubclass(kind, Iterator) and not _has_own_form(kind)


def is_async_stream(kind: type) -> bool:
    """Return the same as `is_stream`, for objects that `async for` reads."""
    return issubclass(kind, AsyncIterable) and not _has_own_form(kind)


def is_unfinished(value: Any) -> bool:
    """Return whether *value* has to be awaited or iterated over before it is the value of the call."""
    return inspect.isawaitable(value) or is_stream(type(value)) or is_async_stream(type(value))


FINAL_TYPES = frozenset({str, int, float, bool, type(None), dict, list, tuple})
"""The types of most values, which are never unfinished."""


_UNREAD = (Iterator, AsyncIterable, Awaitable)
_MANAGERS = (AbstractContextManager, AbstractAsyncContextManager)


def may_have_json_form(kind: type) -> bool:
    """
    Return whether an object of the class *kind*, or of a subclass that exists already, may have a JSON form.

    A stream has none inside another value: only the result of a call is read.
    """
    if kind in _MANAGERS:
        return False
    if issubclass(kind, _UNREAD):
        return issubclass(kind, _MORE_THAN_ITEMS) or has_registered_codec(kind) or bool(_list_fields(kind))
    if inspect.isabstract(kind) or getattr(kind, "_is_protocol", False) or kind is object:
        return True  # the class of the value is another one
    if issubclass(kind, type):
        return has_registered_codec(kind)  # a metaclass has the methods of its objects, which are classes
    return (
        issubclass(kind, (*_MORE_THAN_ITEMS, BaseException))
        or has_registered_codec(kind)
        or is_array_class(kind)
        or bool(_list_fields(kind))
        or (hasattr(kind, "keys") and hasattr(kind, "__getitem__"))
        or any(map(_read_codec, kind.__mro__[:-1]))
        or any(map(may_have_json_form, type.__subclasses__(kind)))
    )


def _has_own_form(kind: type) -> bool:
    """Return whether an object of *kind* is more than its items. A file is: the program may still need it."""
    return (
        issubclass(kind, _MORE_THAN_ITEMS)
        or hasattr(kind, "read")
        or has_registered_codec(kind)
        or bool(_list_fields(kind))
    )


def describe_value(value: Any) -> str:
    """Describe *value* in words, even if its own methods raise."""
    try:
        # The text of a builtin container would be as deep and as long as the container itself.
        text = "" if type(value) in _BUILTIN_CONTAINERS else str.__str__(str(value))
    except (Exception, SystemExit):  # noqa: BLE001 -- a broken __str__ must not lose the call
        text = ""
    name = type(value).__name__
    if issubclass(type(value), BaseException):
        text = f"{name}: {text}" if text else name
    return replace_surrogates(text or f"<{name}>")


def replace_surrogates(text: str) -> str:
    """Return *text* in a form that can be sent: lone surrogates become question marks."""
    return text if text.isascii() or is_valid_text(text) else text.encode("utf-8", "replace").decode()


def dict_with_unique_keys(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Build a dictionary from *pairs* without losing a value: a repeated key gets a number, such as `a (2)`."""
    all_pairs = list(pairs)
    result = dict(all_pairs)
    if len(result) == len(all_pairs):
        return result
    return dict(zip(number_repeated([key for key, _ in all_pairs]), [value for _, value in all_pairs], strict=True))


class _Conversion:
    """The state of one conversion: the objects around the current value, and how many containers may still be made."""

    def __init__(self, shape: Shape | None = None) -> None:
        self._ancestor_ids: set[int] = set()
        self._containers_left = _MAX_CONTAINERS
        self._codecs: dict[type, Codec | None] = {}
        self._shape = shape

    def convert(self, value: Any) -> Any:
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return replace_surrogates(value)
        if kind is int:
            return value if -INT_LIMIT < value < INT_LIMIT else hex(value)
        if kind is float:
            return value if value - value == 0 else str(value)
        identity = id(value)
        if identity in self._ancestor_ids:
            return "<the same object again>"
        if len(self._ancestor_ids) >= _MAX_DEPTH:
            return "<too deep>"
        self._containers_left -= 1
        if self._containers_left < 0:
            return _TOO_MUCH
        self._ancestor_ids.add(identity)
        try:
            return self._convert_structure(value, kind)
        except UnsendableValue:
            raise
        except (Exception, SystemExit):  # noqa: BLE001 -- a broken __iter__ or __dict__; its text is still of use
            return self.describe(value)
        finally:
            self._ancestor_ids.discard(identity)

    def describe(self, value: Any) -> str:
        """Return words for a *value* that has no JSON form."""
        return describe_value(value)

    def _convert_structure(self, value: Any, kind: type) -> Any:
        shape, self._shape = self._shape, None  # it is about the outermost value
        if kind is list or kind is tuple:
            return self._convert_items(value)
        if kind is dict:
            return self._convert_pairs(value.items())
        if has_registered_codec(kind):
            return self._convert_object(value, kind)
        # The type is checked, because an object may report a false `__class__`.
        if issubclass(kind, enum.Enum):
            return self.convert(value.value)
        for plain, exact in _PLAIN:
            if issubclass(kind, plain):
                return self.convert(exact(value))
        if issubclass(kind, _BYTES):
            return base64.b64encode(bytes(value)).decode()
        if issubclass(kind, Mapping):
            return self._convert_pairs(_limit_items(value.items(), kind, (_TOO_MUCH, _TOO_MUCH)))
        if issubclass(kind, _ITEMS) and not _list_fields(kind):
            items = list(_limit_items(value, kind, _TOO_MUCH))
            forms = self._convert_items(items)
            return _order_forms(items, forms) if issubclass(kind, AbstractSet) else forms
        return self._convert_object(value, kind, shape)

    def _convert_items(self, items: Iterable[Any]) -> list[Any]:
        converted: list[Any] = []
        try:
            converted.extend(map(self.convert, items))
        except UnsendableValue as error:
            error.below(len(converted))
            raise
        return converted

    def _convert_pairs(self, pairs: Iterable[tuple[Any, Any]]) -> dict[str, Any]:
        converted: list[tuple[str, Any]] = []
        for key, item in pairs:
            name = as_text(self.convert(key))
            try:
                converted.append((name, self.convert(item)))
            except UnsendableValue as error:
                error.below(name)
                raise
        return dict_with_unique_keys(converted)

    def _convert_object(self, value: Any, kind: type, shape: Shape | None = None) -> Any:
        if not has_registered_codec(kind):
            plain_value = to_plain_value(value, shape)
            if plain_value is not UNKNOWN:
                return self.convert(plain_value)
        codec = self._find_codec(kind)
        if codec is not None:
            try:
                encoded = codec.encode(value)
            except (Exception, SystemExit):  # noqa: BLE001 -- it breaks its own annotations; its fields are of use
                encoded = value
            if encoded is not value:
                return self.convert(encoded)
        if fields := _list_fields(kind):
            return self._convert_pairs(
                (name, getattr(value, attribute)) for name, attribute in fields if hasattr(value, attribute)
            )
        if hasattr(kind, "keys") and hasattr(kind, "__getitem__"):  # the rows of a database
            pairs = ((key, value[key]) for key in value.keys())  # noqa: SIM118 -- it may have no `__iter__`
            return self._convert_pairs(_limit_items(pairs, kind, (_TOO_MUCH, _TOO_MUCH)))
        return describe_value(value) if issubclass(kind, BaseException) else self.describe(value)

    def _find_codec(self, kind: type) -> Codec | None:
        """Return the codec of *kind*, or of the nearest base that has one, as `datetime` is for a subclass of it."""
        if kind not in self._codecs:
            bases = [base for base in kind.__mro__[1:-1] if not has_registered_codec(base)]
            self._codecs[kind] = next(filter(None, map(_read_codec, [kind, *bases])), None)
        return self._codecs[kind]


class _StrictConversion(_Conversion):
    """A conversion that raises `UnsendableValue` for a value that could only be described in words."""

    def describe(self, value: Any) -> str:
        if self._find_codec(type(value)) is not None:  # as for an infinite `Decimal`
            shown = reprlib.repr(value)
            raise UnsendableValue(
                f"{shown} has no JSON form, unlike other values of its class; return another, or None"
            )
        raise UnsendableValue.of_class(type(value))


class _ShowingConversion(_Conversion):
    """A conversion that shows an object without a JSON form as the name of its class, never as its text in memory."""

    def convert(self, value: Any) -> Any:
        try:
            return super().convert(value)
        except UnsendableValue:  # an array of too many items
            return f"<{class_name(value)}>"

    def describe(self, value: Any) -> str:
        return describe_value(value) if self._find_codec(type(value)) is not None else f"<{class_name(value)}>"


def _order_forms(items: list[Any], forms: list[Any]) -> list[Any]:
    from .codecs.containers import order_forms  # few values are sets

    return order_forms(zip(items, forms, strict=True))


def _read_codec(kind: type) -> Codec | None:
    from .codecs.rules import create_hint_reader  # the first result of a class loads it

    try:
        return create_hint_reader(for_output=True).codec(kind)
    except Exception:  # noqa: BLE001 -- the class has no codec, or it is broken
        return None


def _limit_items(items: Iterable[Any], kind: type, mark: Any) -> Iterable[Any]:
    """
    Return *items*. If *kind* is not a builtin class, they are cut to a limit, because other iterators may never end.

    *mark* then stands for the rest.
    """
    if kind in _BUILTIN_CONTAINERS:
        return items
    iterator = iter(items)
    return itertools.chain(itertools.islice(iterator, _MAX_CONTAINERS), (mark for _ in itertools.islice(iterator, 1)))


def _list_fields(kind: Any) -> list[tuple[str, str]]:
    """Return the fields of a record class, each with its name in JSON and the name of its attribute."""
    if dataclasses.is_dataclass(kind):
        return [(field.name, field.name) for field in dataclasses.fields(kind)]
    if hasattr(kind, "__attrs_attrs__"):
        return [(getattr(field, "alias", None) or field.name, field.name) for field in kind.__attrs_attrs__]
    if isinstance(names := getattr(kind, "__struct_fields__", None), tuple):
        return list(zip(kind.__struct_encode_fields__, names, strict=True))
    if isinstance(fields := getattr(kind, "model_fields", None), dict):
        shown = {name: field for name, field in fields.items() if getattr(field, "exclude", None) is not True}
        shown |= getattr(kind, "model_computed_fields", {})
        return [
            (getattr(field, "serialization_alias", None) or getattr(field, "alias", None) or name, name)
            for name, field in shown.items()
        ]
    if isinstance(names := getattr(kind, "_fields", None), (tuple, dict)):
        return [(name, name) for name in names if isinstance(name, str)]
    return []


def copy_arguments(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Copy decoded *arguments* as deeply as Python can, so that the receiver may change the copy."""
    try:
        return copy.deepcopy(dict(arguments))
    except (Exception, SystemExit):  # noqa: BLE001 -- an object that cannot be copied is shared
        return dict(arguments)
