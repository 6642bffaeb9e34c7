"""
Checks that refuse an option of the wrong type or with an unknown name, where the option is given.

The message names the option, the value that was given, and what to write instead. Whether a value of the right type
makes sense is checked by the code that uses the option.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from .errors import nearest

__all__ = ["Kinds", "check_kinds", "kind_of", "one_of", "several"]

T = TypeVar("T")

Kinds: TypeAlias = Mapping[str, tuple[tuple[Any, ...], str]]
"""For each option, the classes that its value may have, and words for what to give instead."""


def check_kinds(given: Mapping[str, Any], kinds: Kinds) -> None:
    """Raise `TypeError` for the first option in *kinds* whose value in *given* has another type."""
    for option, (classes, remedy) in kinds.items():
        value = given[option]
        # In Python, True is an int; here it must not pass for a number.
        if not isinstance(value, classes) or (isinstance(value, bool) and bool not in classes):
            raise TypeError(f"{option} cannot be {kind_of(value)}; give {remedy}")


def several(given: Iterable[T], option: str, of: str = "") -> list[T]:
    """
    Return *given* as a list, or raise `TypeError` if it is a single value.

    A text would be read as a list of its letters, and the letter "/" as the whole disk.
    """
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes, os.PathLike)):
        return list(given)
    words = f"`{option}` is a list of {of}" if of else f"`{option}` is a list"
    if given is None:
        raise TypeError(f"{words}, got None; for none write []")
    raise TypeError(f"{words}, got one: write [{_written(given)}]")


def one_of(given: Any, known: Sequence[str]) -> str:
    """Return a message that *given* is not in *known*, with the name that was probably meant."""
    hint = nearest(given, known, most=1) if isinstance(given, str) else []
    remedy = f"did you mean `{hint[0]}`?" if hint else f"write one of {', '.join(known)}"
    return f"{given!r:.80} is not known; {remedy}"


def kind_of(value: object) -> str:
    """
    Return the type of *value* in a word or two.

    The value itself is left out, because it may hold data that must not appear in a message.
    """
    if value is None:
        return "None"
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _written(value: object) -> str:
    if isinstance(value, os.PathLike):
        return f"Path({os.fspath(value)!r})"  # a text may be read as a pattern; a path is never a pattern
    if isinstance(value, type):
        return f"{value.__name__}(...)"
    return f"{value!r:.80}" if isinstance(value, (str, bytes, int, float)) else f"{type(value).__name__}(...)"
