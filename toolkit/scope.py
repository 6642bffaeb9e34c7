"""
Where a function's annotations mean something.

A string annotation is looked up where the function was written: in its
module, in what it closes over, and in the functions and classes that were
being run when it was decorated.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Mapping
from types import FrameType, MethodType
from typing import Any

__all__ = ["Scope", "is_in_class_body", "underlying"]


class Scope:
    """
    Where a function's annotations are looked up: its module, what it closes over, what stood around it.

    It holds the frames of the enclosing functions, so whoever keeps it lets go once all names were found.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        plain = underlying(function)
        self.module: Mapping[str, Any] = getattr(plain, "__globals__", None) or vars(
            sys.modules.get(getattr(plain, "__module__", None) or "builtins", sys.modules["builtins"])
        )
        self.waits_for: Any = None
        self._function = plain
        self._frames = _enclosing_frames(plain)

    def local(self) -> dict[str, Any]:
        names: dict[str, Any] = {}
        for frame in reversed(self._frames):
            names.update(frame.f_locals)
        code = getattr(self._function, "__code__", None)
        for name, cell in zip(
            getattr(code, "co_freevars", ()), getattr(self._function, "__closure__", None) or (), strict=False
        ):
            try:
                names[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        for parameter in getattr(self._function, "__type_params__", ()):
            names[parameter.__name__] = parameter
        return names


def _enclosing_frames(function: Any) -> list[FrameType]:
    """The frames of the functions and classes in whose bodies *function* is being defined."""
    name, module = getattr(function, "__qualname__", ""), getattr(function, "__globals__", None)
    outer = set()
    while "." in name:
        name = name.rpartition(".")[0].removesuffix(".<locals>")
        outer.add(name)
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1) if outer else None  # noqa: SLF001 -- the way to an enclosing scope
    while frame is not None:
        if frame.f_code.co_qualname in outer and frame.f_globals is module:
            frames.append(frame)
        frame = frame.f_back
    return frames


def is_in_class_body(function: Any) -> bool:
    """Whether *function* is a method of a class that is being defined right now."""
    owner = getattr(underlying(function), "__qualname__", "").rpartition(".")[0]
    if not owner or owner.endswith("<locals>"):
        return False
    return any(frame.f_code.co_qualname == owner for frame in _enclosing_frames(underlying(function)))


def underlying(function: Any) -> Any:
    """The plain function at the bottom of partials, methods, wrappers and callable objects."""
    for _ in range(100):  # a wrapper may claim to wrap itself
        if isinstance(function, functools.partial):
            function = function.func
        elif isinstance(function, (MethodType, staticmethod, classmethod)):
            function = function.__func__
        elif hasattr(function, "__wrapped__") and not hasattr(function, "__signature__"):
            function = function.__wrapped__
        elif callable(function) and not hasattr(function, "__code__") and not isinstance(function, type):
            call = type(function).__call__
            if not hasattr(call, "__code__") and not hasattr(call, "__wrapped__"):
                break
            function = call
        else:
            break
    return function
