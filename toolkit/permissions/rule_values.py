"""
Values of a call that a rule is compared with, and the way in which each is compared.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from enum import Enum, Flag
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from .._lazy_names import LazyModule
from ..access import Access, Command, Reads, Url, Writes
from ..spec import Tool
from .judge import PermissionRequest

if TYPE_CHECKING:
    import pathlib
else:  # few calls need it
    pathlib = LazyModule("pathlib")

__all__ = [
    "Kind",
    "RuleValue",
    "could_be",
    "kind_of",
    "kind_of_access",
    "kind_of_name",
    "list_parameters",
    "values_of",
    "values_of_access",
]

Kind: TypeAlias = Literal["command", "url", "path", "text", "null"]

_KINDS: list[tuple[type[Access], Kind]] = [(Command, "command"), (Url, "url"), (Reads, "path"), (Writes, "path")]
# A parameter with one of these names is compared as this kind, also without a marker. As plain text, `src/*` would
# match `src/../x`.
_KIND_BY_NAME: dict[str, Kind] = {"path": "path", "read": "path", "write": "path", "url": "url", "command": "command"}


_SIMPLE_TYPES = frozenset({"string", "integer", "number", "boolean", "null"})


class RuleValue(NamedTuple):
    """
    One value of a call.

    Attributes:
        text: The value as a rule writes it.
        kind: The kind as which it is compared; "null" for None.
        is_float: Whether it is a `float`, to which other numbers may have been rounded.
    """

    text: str
    kind: Kind
    is_float: bool = False


def values_of(
    request: PermissionRequest, argument: str | None, pattern_kind: Kind | None, *, widely: bool
) -> list[RuleValue]:
    """
    Return the values that a rule about *argument* is compared with; return an empty list if there are none.

    *pattern_kind* is the kind that the pattern looks like. *widely* is true for rules that should rather match too much
    than too little. For these, the value of a parameter is not enough: the accesses of that kind that the call states
    are compared too, a text may be a command, and each argument of a tool without parameters may be the first one.
    """
    if argument is None:
        values = _values_of_first_kind(request.accesses)
        first = list_parameters(request.tool)[:1] or (tuple(request.arguments) if widely else ())
        if not values:
            values = [value for name in first for value in _values_of_parameter(request, name, pattern_kind, widely)]
        if widely and pattern_kind == "command":
            values += [value._replace(kind=pattern_kind) for value in values if value.kind == "text"]
        return values
    values = []
    is_declared = argument in list_parameters(request.tool)
    if argument in request.arguments:
        values = _values_of_parameter(request, argument, pattern_kind, widely)
    if widely or not is_declared:
        values += values_of_access(request, argument)
    return values


def values_of_access(request: PermissionRequest, access: str) -> list[RuleValue]:
    """Return the targets that the call states for this kind of *access*; "path" means reads and writes."""
    values = [(stated.kind, RuleValue(stated.target, kind_of(type(stated)))) for stated in request.accesses]
    return [value for kind, value in values if access == kind or (access == "path" and value.kind == "path")]


def list_parameters(tool: Tool) -> tuple[str, ...]:
    """Return the names of the parameters that a model can send, in order."""
    return tuple(tool.signature.schema.get("properties", ()))


def could_be(text: str, schema: Any) -> bool:
    """
    Return whether a parameter with this *schema* could have a value that a rule writes as *text*.

    Only simple schemas are judged; any other could have it.
    """
    types = schema.get("type", ()) if isinstance(schema, Mapping) else ()
    types = {types} if isinstance(types, str) else set(types)
    if not types or not types <= _SIMPLE_TYPES or any("$" in key for key in schema):
        return True
    from jsonschema import Draft202012Validator  # few programs have rules about values

    values: list[Any] = [text]
    if text == text.strip():
        with contextlib.suppress(ValueError, RecursionError):
            values.append(json.loads(text))
    return any(map(Draft202012Validator(dict(schema)).is_valid, values))


def kind_of(access: type[Access]) -> Kind:
    """Return the kind as which the target of an access of this class is compared."""
    return next((kind for base, kind in _KINDS if issubclass(access, base) or access.kind == base.kind), "text")


def kind_of_access(access: str) -> Kind:
    """Return the kind as which the target of an access rule is compared."""
    return _KIND_BY_NAME.get(access, "text")


def kind_of_name(argument: str | None) -> Kind | None:
    """Return the kind as which the argument of a rule is compared if its name alone decides that; else None."""
    return None if argument is None else _KIND_BY_NAME.get(argument)


def _values_of_first_kind(accesses: Iterable[Access]) -> list[RuleValue]:
    """
    Return the accesses of the first kind that is present: commands, else URLs, else paths, else others.

    The first kind says what the call does; accesses of the later kinds only say where.
    """
    values = [RuleValue(access.target, kind_of(type(access))) for access in accesses]
    for kind in ("command", "url", "path", "text"):
        if matches := [value for value in values if value.kind == kind]:
            return matches
    return []


def _values_of_parameter(
    request: PermissionRequest, name: str, pattern_kind: Kind | None, widely: bool
) -> list[RuleValue]:
    value = request.arguments.get(name)
    if value is None and not widely:
        return []
    leaves = list(_leaves(value))
    marked = request.tool.signature.accesses.get(name)
    kind = _KIND_BY_NAME.get(name, "text") if marked is None else kind_of(marked)
    if kind == "text" and any(isinstance(leaf, pathlib.PurePath) for leaf in leaves):
        kind = "path"
    if kind == "text" and pattern_kind == "url":
        kind = pattern_kind
    if not all(leaf is None or isinstance(leaf, pathlib.PurePath) or type(leaf) is str for leaf in leaves):
        flags = [part.value for leaf in leaves if widely and isinstance(leaf, Flag) for part in leaf]
        leaves = [*_leaves(request.tool.encode({name: value})[name]), *flags]
    return [RuleValue(_text_of(leaf), "null" if leaf is None else kind, isinstance(leaf, float)) for leaf in leaves]


def _leaves(value: Any) -> Iterator[Any]:
    """Yield each item of a collection, keys included, and the value of a secret of pydantic, whose JSON is a mask."""
    if callable(reveal := getattr(value, "get_secret_value", None)):
        value = reveal()
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray, PathLike, Enum)):
        for item in value:
            yield from _leaves(item)
    else:
        yield value


def _text_of(value: Any) -> str:
    """Return the text of a JSON value that is no collection, as a rule writes it."""
    if type(value) is int:
        return repr(value)
    if isinstance(value, (str, pathlib.PurePath)):
        return str(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)  # 5.0 is the same number as 5, so a rule about 5 has to match it.
    return json.dumps(value)
