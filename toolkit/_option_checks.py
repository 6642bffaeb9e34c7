"""
Checks that refuse an option of the wrong type or with an unknown name, where the option is given.

The message names the option, the value that was given, and what to write instead. Whether a value of the right type
makes sense is checked by the code that uses the option.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NoReturn, TypeAlias, TypeVar

from .errors import find_nearest

__all__ = [
    "OptionTypes",
    "OtherWord",
    "add_other_words",
    "check_option_names",
    "check_option_types",
    "describe_type",
    "explain_unknown_choice",
    "require_list",
]

T = TypeVar("T")

OptionTypes: TypeAlias = Mapping[str, tuple[tuple[Any, ...], str]]
"""For each option, the classes that its value may have, and words for what to give instead."""


class OtherWord:
    """
    An attribute that other libraries have, and a class of ours has not. Reading it raises `AttributeError`.

    The error says what to write here.
    """

    def __init__(self, name: str, remedy: str) -> None:
        self._message = f"there is no `{name}`; {remedy}"

    def __get__(self, instance: object, owner: type | None = None) -> NoReturn:
        raise AttributeError(self._message)


def add_other_words(owner: type, words: Mapping[str, str]) -> None:
    """Give *owner* an `OtherWord` for each of *words*, with what to write here. A type checker does not know them."""
    for name, remedy in words.items():
        setattr(owner, name, OtherWord(f"{owner.__name__}.{name}", remedy))


def check_option_names(
    options: Iterable[str], names: Iterable[str], other_words: Mapping[str, str], subject: str
) -> None:
    """
    Raise `TypeError` for the first option that is not in *names*.

    *other_words* has what other libraries call an option of *subject*, and what to write here.
    """
    names = list(names)
    for name in options:
        if name in other_words:
            raise TypeError(f"{subject}: there is no option {name!r}; {other_words[name]}")
        if name not in names:
            raise TypeError(f"{subject}: the option {explain_unknown_choice(name, names)}")


def check_option_types(options: Mapping[str, Any], types: OptionTypes) -> None:
    """Raise `TypeError` for the first option in *types* whose value in *options* has another type."""
    for option, (classes, remedy) in types.items():
        value = options[option]
        # In Python, True is an int; here it must not pass for a number.
        if not isinstance(value, classes) or (isinstance(value, bool) and bool not in classes):
            raise TypeError(f"{option} cannot be {describe_type(value)}; give {remedy}")


def require_list(values: Iterable[T], option: str, item_noun: str = "") -> list[T]:
    """
    Return *values* as a list, or raise `TypeError` if it is a single value.

    A text would be read as a list of its letters, and the letter "/" as the whole disk.
    """
    if isinstance(values, Iterable) and not isinstance(values, (str, bytes, os.PathLike)):
        return list(values)
    words = f"`{option}` is a list of {item_noun}" if item_noun else f"`{option}` is a list"
    if values is None:
        raise TypeError(f"{words}, got None; for none write []")
    raise TypeError(f"{words}, got one: write [{_format_value(values)}]")


def explain_unknown_choice(value: Any, choices: Sequence[str]) -> str:
    """Return a message that *value* is not in *choices*, with the name that was probably meant."""
    hint = find_nearest(value, choices, max_items=1) if isinstance(value, str) else []
    remedy = f"did you mean `{hint[0]}`?" if hint else f"write one of {', '.join(choices)}"
    return f"{value!r:.80} is not known; {remedy}"


def describe_type(value: object) -> str:
    """
    Return the type of *value* in a word or two.

    The value itself is left out, because it may hold data that must not appear in a message.
    """
    if value is None:
        return "None"
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _format_value(value: object) -> str:
    if isinstance(value, os.PathLike):
        return f"Path({os.fspath(value)!r})"  # a text may be read as a pattern; a path is never a pattern
    if isinstance(value, type):
        return f"{value.__name__}(...)"
    return f"{value!r:.80}" if isinstance(value, (str, bytes, int, float)) else f"{type(value).__name__}(...)"
