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
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, ClassVar, get_args

__all__ = ["Access", "Command", "Reads", "Url", "Writes", "accesses_in", "marked_access"]


class Access:
    """
    Something that a call is about to touch.

    Attributes:
        kind: What sort of thing it is; rules and checks go by it.
        target: Which one: a path, a command, an address.
    """

    __slots__ = ("target",)
    kind: ClassVar[str] = "other"

    def __init__(self, target: str | os.PathLike[str]) -> None:
        self.target = os.fspath(target) if isinstance(target, os.PathLike) else str(target)

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


def marked_access(hint: Any) -> type[Access] | None:
    """The kind of access that *hint* marks, at the top or anywhere inside: `list[Annotated[Path, Reads]]`."""
    if isinstance(hint, type) and issubclass(hint, Access):
        return hint
    return next(filter(None, map(marked_access, get_args(hint))), None)


def accesses_in(value: Any, kind: Callable[[Any], Access]) -> Iterator[Access]:
    """One access for each target in a decoded argument; None is none, and a collection has several."""
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, (list, tuple, AbstractSet)):
        for each in value:
            yield from accesses_in(each, kind)
    elif value is not None:
        yield kind(value)
