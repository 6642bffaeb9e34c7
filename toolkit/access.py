"""
What a call is about to touch, stated before it runs.

A parameter says so with a marker, `path: Annotated[Path, Writes]`; a tool's
`preflight=` returns the same things as values, `[Writes("notes.txt")]`. Each is
judged before anything happens. A kind of your own is a subclass:

    class Table(Access):
        kind = "table"
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import suppress
from enum import Enum
from typing import Any, ClassVar, get_args, get_origin

from typing_extensions import TypeAliasType

__all__ = ["Access", "Command", "Reads", "Url", "Writes", "access_kinds", "accesses_in", "marked_access"]


class Access:
    """
    Something that a call is about to touch.

    Attributes:
        kind: What sort of thing it is; rules and checks go by it.
        target: Which one: a path, a command, an address.
    """

    __slots__ = ("target",)
    kind: ClassVar[str] = "other"

    def __init_subclass__(cls) -> None:
        for base in cls.__bases__:
            if base is not Access and issubclass(base, Access) and base.kind != cls.kind:
                # Checks go by the kind, and would not look at it any more.
                raise TypeError(
                    f"{cls.__name__} is a {base.__name__}, so its kind is {base.kind!r}; "
                    f"derive it from Access to give it a kind of its own"
                )

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self.target = _text(target, type(self).__name__)

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
    """A file or folder that is made, changed or removed."""

    __slots__ = ()
    kind = "write"


class Command(Access):
    """A command line for a shell."""

    __slots__ = ()
    kind = "command"


class Url(Access):
    """An address that is reached."""

    __slots__ = ()
    kind = "url"


def access_kinds() -> tuple[str, ...]:
    """Return every kind of access that a class was defined for, those of the user included."""
    kinds: dict[str, None] = {}
    classes: list[type[Access]] = Access.__subclasses__()
    while classes:
        kind = classes.pop(0)
        kinds[kind.kind] = None
        classes += kind.__subclasses__()
    return tuple(name for name in kinds if name != Access.kind)


def _text(target: Any, kind: str) -> str:
    """*target* as whoever opens it will read it; what has no text of its own could be judged as something else."""
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


def marked_access(hint: Any) -> type[Access] | None:
    """
    The kind of access that *hint* marks, at the top or anywhere inside: `list[Annotated[Path, Reads]]`.

    `ValueError` if it marks several: only one of them would count. `TypeError` for a value in place of a class.
    """
    found = list(dict.fromkeys(_markers(hint, set())))
    if len(found) > 1:
        names = " and ".join(f"`{each.__name__}`" for each in found)
        raise ValueError(f"it is marked as {names}; mark it as one, and return the other from `preflight=`")
    return found[0] if found else None


def _markers(hint: Any, seen: set[int]) -> Iterator[type[Access]]:
    if isinstance(hint, Access):
        name = type(hint).__name__
        raise TypeError(f"{hint!r} marks nothing; write the class: `Annotated[Path, {name}]`")
    if isinstance(hint, type) and issubclass(hint, Access):
        yield hint
    alias = hint if isinstance(hint, TypeAliasType) else get_origin(hint)
    if isinstance(alias, TypeAliasType) and id(alias) not in seen:
        seen.add(id(alias))
        with suppress(NameError):  # a name that is not known yet; the parameter is read again when it is
            yield from _markers(alias.__value__, seen)
    for each in get_args(hint):
        yield from _markers(each, seen)


def accesses_in(value: Any, kind: Callable[[Any], Access]) -> Iterator[Access]:
    """One access for each target in a decoded argument; None is none, and a collection has several."""
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, Collection) and not isinstance(value, (str, bytes, bytearray, os.PathLike)):
        for each in value:
            yield from accesses_in(each, kind)
    elif value is not None:
        yield kind(value)
