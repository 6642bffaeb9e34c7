"""
Statements of what a call is about to touch, made before the call runs.

A parameter states it with a marker, `path: Annotated[Path, Writes]`. A tool's `preflight=` function returns the same
classes as values, `[Writes("notes.txt")]`. Every access is judged before the tool runs. To add your own kind, write a
subclass:

    class Table(Access):
        kind = "table"
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from typing import Any, ClassVar, get_args, get_origin

__all__ = ["Access", "Command", "Reads", "Url", "Writes", "access_kinds", "accesses_in", "find_access_marker"]


class Access:
    """
    A thing that a call is about to touch.

    Attributes:
        kind: What sort of thing it is. Rules and checks select by the kind.
        target: Which thing it is: a path, a command or an address.
    """

    __slots__ = ("target",)
    kind: ClassVar[str] = "other"

    def __init_subclass__(cls) -> None:
        for base in cls.__bases__:
            if base is not Access and issubclass(base, Access) and base.kind != cls.kind:
                # Checks select by the kind, so they would no longer look at an access of this class.
                raise TypeError(
                    f"{cls.__name__} is a {base.__name__}, so its kind is {base.kind!r}; "
                    f"derive it from Access to give it a kind of its own"
                )

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self.target = _target_text(target, type(self).__name__)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.target!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Access) and (self.kind, self.target) == (other.kind, other.target)

    def __hash__(self) -> int:
        return hash((self.kind, self.target))


class Reads(Access):
    """A file or folder whose content is read."""

    __slots__ = ()
    kind = "read"


class Writes(Access):
    """A file or folder that is created, changed or removed."""

    __slots__ = ()
    kind = "write"


class Command(Access):
    """A command line for a shell."""

    __slots__ = ()
    kind = "command"


class Url(Access):
    """A network address that the call connects to."""

    __slots__ = ()
    kind = "url"


def access_kinds() -> tuple[str, ...]:
    """Return every kind of access that has a class, including the classes that users define."""
    kinds: dict[str, None] = {}
    classes: list[type[Access]] = Access.__subclasses__()
    while classes:
        kind = classes.pop(0)
        kinds[kind.kind] = None
        classes += kind.__subclasses__()
    return tuple(name for name in kinds if name != Access.kind)


def _target_text(target: Any, kind: str) -> str:
    """
    Return *target* as the text that the code which opens it will read.

    An object without a text of its own raises `TypeError`, because it could be judged as one thing and opened as
    another.
    """
    if isinstance(target, Enum):
        target = target.value
    if isinstance(target, os.PathLike):
        target = os.fspath(target)
    if isinstance(target, (bytes, bytearray)):
        return os.fsdecode(bytes(target))
    if type(target).__str__ is _NO_TEXT and not isinstance(target, (int, float)):
        raise TypeError(f"{kind} wants a text or a path, got {type(target).__name__}; return it from `preflight=`")
    return str(target)


_NO_TEXT: Any = object.__str__


def find_access_marker(hint: Any) -> type[Access] | None:
    """
    Return the access class that *hint* carries, at the top or anywhere inside: `list[Annotated[Path, Reads]]`.

    Return None if there is none.

    Raises:
        ValueError: *hint* carries several access classes, of which only one would count.
        TypeError: *hint* carries an access object instead of a class.
    """
    markers = list(dict.fromkeys(_iter_markers(hint, set())))
    if len(markers) > 1:
        names = " and ".join(f"`{marker.__name__}`" for marker in markers)
        raise ValueError(f"it is marked as {names}; mark it as one, and return the other from `preflight=`")
    return markers[0] if markers else None


def _iter_markers(hint: Any, visited: set[int]) -> Iterator[type[Access]]:
    if isinstance(hint, Access):
        name = type(hint).__name__
        raise TypeError(f"{hint!r} marks nothing; write the class: `Annotated[Path, {name}]`")
    if isinstance(hint, type) and issubclass(hint, Access):
        yield hint
    alias = hint if _is_alias(hint) else get_origin(hint)
    if _is_alias(alias) and id(alias) not in visited:
        visited.add(id(alias))
        with suppress(NameError):  # the name is not defined yet; the parameter is read again once it is
            yield from _iter_markers(alias.__value__, visited)
    for argument in get_args(hint):
        yield from _iter_markers(argument, visited)


def _is_alias(hint: Any) -> bool:
    """Return whether *hint* is a `TypeAliasType`, without loading the modules that define it."""
    modules = map(sys.modules.get, ("typing", "typing_extensions"))
    return any(isinstance(hint, getattr(module, "TypeAliasType", ())) for module in modules)


def accesses_in(value: Any, kind: Callable[[Any], Access]) -> Iterator[Access]:
    """
    Yield one access for each target in a decoded argument.

    None has no target, and a collection has several.
    """
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray, os.PathLike)):
        for item in value:
            yield from accesses_in(item, kind)
    elif value is not None:
        yield kind(value)
