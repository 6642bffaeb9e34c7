"""
Options of the wrong kind or name, refused where they are given.

The words name the option, what was given, and what to write. Whether a value of
the right kind is a sensible one is for whoever takes it to say.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from .errors import nearest

__all__ = ["Kinds", "check_kinds", "kind_of", "one_of", "several"]

T = TypeVar("T")

Kinds: TypeAlias = Mapping[str, tuple[tuple[Any, ...], str]]
"""For each option the classes it may have, and what to give."""


def check_kinds(given: Mapping[str, Any], kinds: Kinds) -> None:
    """Raise `TypeError` for the first of *kinds* that is something else in *given*."""
    for option, (classes, remedy) in kinds.items():
        value = given[option]
        # To Python, and to nobody else, True is a number.
        if not isinstance(value, classes) or (isinstance(value, bool) and bool not in classes):
            raise TypeError(f"{option} cannot be {kind_of(value)}; give {remedy}")


def several(given: Iterable[T], option: str, of: str = "") -> list[T]:
    """*given* as a list; `TypeError` for one alone. Text would be taken for a list of letters, and "/" for the disk."""
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, os.PathLike)):
        return list(given)
    words = f"`{option}` is a list of {of}" if of else f"`{option}` is a list"
    if given is None:
        raise TypeError(f"{words}, got None; for none write []")
    raise TypeError(f"{words}, got one: write [{_written(given)}]")


def one_of(given: Any, known: Sequence[str]) -> str:
    """That *given* is none of *known*, and what was probably meant."""
    hint = nearest(given, known, most=1) if isinstance(given, str) else []
    remedy = f"did you mean `{hint[0]}`?" if hint else f"write one of {', '.join(known)}"
    return f"{given!r:.80} is not known; {remedy}"


def kind_of(value: object) -> str:
    """What *value* is, in a word or two; not the value, which may hold what nobody should read in a message."""
    if value is None:
        return "None"
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _written(value: object) -> str:
    if isinstance(value, os.PathLike):
        return f"Path({os.fspath(value)!r})"  # text may be a pattern, where a path is none
    if isinstance(value, type):
        return f"{value.__name__}(...)"
    return f"{value!r:.80}" if isinstance(value, (str, bytes, int, float)) else f"{type(value).__name__}(...)"
