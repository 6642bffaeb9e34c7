"""
The types of the values that go from step to step, and their JSON form.

A value is stored with the name of its type: `{"type": "Plan", "value": {...}}`. The name selects the next step, and the
codec of the type reads the value again, in this process or in another one.
"""

from __future__ import annotations

import inspect
import reprlib
import types
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ForwardRef, TypeAlias, Union, get_args, get_origin, is_typeddict

from ..durable.errors import DurableError
from ..errors import DefinitionError
from ..values.codecs.base import Codec
from ..values.strictjson.checks import find_flaws

__all__ = ["FlowTypes", "FlowValue", "TypeRef", "read_hints"]

Resolve: TypeAlias = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class TypeRef:
    """A type that a step takes or returns: a class, or a list of objects of a class."""

    item: type
    is_list: bool = False

    @property
    def name(self) -> str:
        """The name under which values are stored."""
        return f"list[{item_name(self.item)}]" if self.is_list else item_name(self.item)


@dataclass(frozen=True, slots=True)
class FlowValue:
    """A value in JSON form, with the name of its type."""

    type: str
    value: Any

    def to_json(self) -> dict[str, Any]:
        return {"type": self.type, "value": self.value}

    @classmethod
    def from_json(cls, data: Any, place: str) -> FlowValue:
        """Return the value that was stored as *data*, or raise `DurableError` that names the *place*."""
        if not isinstance(data, Mapping) or data.keys() != {"type", "value"} or not isinstance(data["type"], str):
            raise DurableError(
                f'{place}: the record is not {{"type": ..., "value": ...}}, got {reprlib.repr(data)}; another version '
                f"of the program wrote it, so start the run again under a new id",
                why="changed",
            )
        return cls(data["type"], data["value"])


def item_name(item: type) -> str:
    """Return the name of a class in records and drawings."""
    return "None" if item is types.NoneType else item.__name__


def read_hints(hint: Any, resolve: Resolve) -> list[TypeRef]:
    """Return the types that *hint* names: one, or the members of a union. Raise `DefinitionError` if it has others."""
    hint = _resolve(hint, resolve)
    if get_origin(hint) in (Union, types.UnionType):
        return [ref for member in get_args(hint) for ref in read_hints(member, resolve)]
    if hasattr(hint, "__value__") and not isinstance(hint, type):  # an alias that was defined with `type`
        return read_hints(hint.__value__, resolve)
    if get_origin(hint) is list:
        return [TypeRef(_read_class(_resolve(get_args(hint)[0], resolve), "list[T] of a class T"), is_list=True)]
    return [TypeRef(_read_class(hint, "a class, or list[T] of a class"))]


def _resolve(hint: Any, resolve: Resolve) -> Any:
    if isinstance(hint, (str, ForwardRef)):
        hint = resolve(hint)
    return types.NoneType if hint is None else hint


_REMEDIES: list[tuple[Callable[[Any], bool], str]] = [
    (lambda hint: hint is inspect.Parameter.empty, "has no annotation"),
    (lambda hint: hint is Any or hint is object, "says nothing about the type, which selects the next step"),
    (lambda hint: hint in (list, tuple, set, frozenset), "does not say what it holds"),
    (is_typeddict, "has plain dictionaries as its values, which do not tell what they are"),
    (lambda hint: get_origin(hint) is Annotated, "has metadata, which belongs to a field of a class"),
    (lambda hint: getattr(hint, "_is_protocol", False), "is a protocol, and no value is exactly of this type"),
    (inspect.isabstract, "is abstract, and no value is exactly of this type"),
    (lambda hint: get_origin(hint) is not None or not isinstance(hint, type), "is not a class"),
]


def _read_class(hint: Any, wanted: str) -> type:
    for applies, reason in _REMEDIES:
        if applies(hint):
            shown = "it" if hint is inspect.Parameter.empty else f"`{_show_hint(hint)}`"
            raise DefinitionError(f"{shown} {reason}; write {wanted}, such as a dataclass with the value as a field")
    cls: type = hint
    return cls


def _show_hint(hint: Any) -> str:
    return hint.__name__ if isinstance(hint, type) and get_origin(hint) is None else str(hint).replace("typing.", "")


class FlowTypes:
    """The types of one flow, by name, with their codecs."""

    def __init__(self) -> None:
        self._codecs: dict[type, Codec] = {}
        self._refs: dict[str, TypeRef] = {}

    def add(self, ref: TypeRef, build_codec: Callable[[type], Codec]) -> None:
        """Add a type, whose codec *build_codec* returns; raise `DefinitionError` if another class has its name."""
        if ref.item not in self._codecs:
            self._codecs[ref.item] = build_codec(ref.item)
        known = self._refs.setdefault(ref.name, ref)
        if known.item is not ref.item:
            raise DefinitionError(
                f"two classes are called `{ref.name}`, {known.item.__module__}.{known.item.__qualname__} and "
                f"{ref.item.__module__}.{ref.item.__qualname__}, and values are stored by name; rename one"
            )

    def add_list(self, item: type) -> None:
        """Add the type of lists of *item*, which is the class of a type that was added."""
        ref = TypeRef(item, is_list=True)
        self._refs[ref.name] = ref

    def __contains__(self, name: str) -> bool:
        return name in self._refs

    def find_ref(self, value: Any, refs: Iterable[TypeRef]) -> TypeRef | None:
        """Return the one of *refs* that *value* is exactly of; None if it is of none of them."""
        for ref in refs:
            if ref.is_list:
                if type(value) is list and all(type(item) is ref.item for item in value):
                    return ref
            elif type(value) is ref.item:
                return ref
        return None

    def encode(self, value: Any, ref: TypeRef) -> FlowValue:
        """Return *value*, which is of the type *ref*, in its JSON form; raise `ValueError` if it has none."""
        encode = self._codecs[ref.item].encode
        try:
            form = [encode(item) for item in value] if ref.is_list else encode(value)
        except Exception as error:  # a user's codec may raise anything
            raise ValueError(f"this `{ref.name}` has no JSON form: {error}") from error
        if flaws := find_flaws(form):
            raise ValueError(f"this `{ref.name}` is not JSON: {'; '.join(map(str, flaws))}")
        return FlowValue(ref.name, form)

    def read(self, form: Any, ref: TypeRef) -> FlowValue:
        """Return the value of the type *ref* whose form comes from elsewhere; raise `ValueError` if it does not fit."""
        decode = self._codecs[ref.item].decode
        try:
            value = [decode(item) for item in form] if ref.is_list and isinstance(form, list) else decode(form)
        except Exception as error:  # a constructor may raise anything
            raise ValueError(f"it is no `{ref.name}`: {error}") from error
        if self.find_ref(value, [ref]) is None:
            raise ValueError(f"it is no `{ref.name}`")
        return self.encode(value, ref)

    def decode(self, value: FlowValue, place: str) -> Any:
        """Return the object that *value* describes; raise `DurableError` if its type is gone or has changed."""
        ref = self._refs.get(value.type)
        if ref is None:
            raise DurableError(
                f"{place}: the record is of the type `{value.type}`, and no step of this flow takes or returns it any "
                f"more; bring the type back, or start the run again under a new id",
                why="changed",
            )
        decode = self._codecs[ref.item].decode
        try:
            return [decode(item) for item in value.value] if ref.is_list else decode(value.value)
        except Exception as error:  # a constructor may raise anything
            raise DurableError(
                f"{place}: the record does not fit the type `{value.type}`, which has changed since: {error}; give new "
                f"fields a default, or start the run again under a new id",
                why="changed",
            ) from error
