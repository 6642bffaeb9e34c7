"""The error for a value that has no JSON form. It says where the value is, of which class it is, and what to do."""

from __future__ import annotations

import functools
import types
from collections.abc import AsyncIterable, Awaitable, Iterator

from ..errors import Problem

__all__ = ["UnsendableValue"]


class UnsendableValue(TypeError):  # noqa: N818 -- named after what it says about the value
    """
    A value without a JSON form.

    Attributes:
        path: The keys and indices that lead to the value from the value that was to be converted.
        reason: What the value is, and what to return instead.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.path: tuple[str | int, ...] = ()

    @classmethod
    def of_class(cls, kind: type) -> UnsendableValue:
        """Return the error for a value of the class *kind*."""
        return cls(f"{_describe_class(kind)} has no JSON form; {_find_remedy(kind)}")

    def below(self, key: str | int) -> UnsendableValue:
        """Return this error with *key* added to the front of its path."""
        self.path = (key, *self.path)
        return self

    def __str__(self) -> str:
        return str(Problem(self.reason, self.path))


def _describe_class(kind: type) -> str:
    """Return the name of *kind* with its module, without the functions in which it was defined."""
    module, name = kind.__module__, kind.__qualname__.rpartition("<locals>.")[2]
    return f"a `{name}`" if module == "builtins" or not isinstance(module, str) else f"a `{module}.{name}`"


_PROGRAM_PARTS = (
    type,
    types.ModuleType,
    types.FunctionType,
    types.BuiltinFunctionType,
    types.MethodType,
    functools.partial,
)


def _find_remedy(kind: type) -> str:
    if hasattr(kind, "read"):  # a file
        return "read it in the tool, and return its text"
    if issubclass(kind, Iterator):
        return "return a list of its items"
    if issubclass(kind, (Awaitable, AsyncIterable)):
        return "await it in the tool, and return what it gives"
    if issubclass(kind, _PROGRAM_PARTS):
        return "return its name, or a dictionary that describes it"
    return (
        "return a dictionary, a dataclass or a text instead, "
        f"or define its form with `register_codec({kind.__name__}, encode=...)`"
    )
