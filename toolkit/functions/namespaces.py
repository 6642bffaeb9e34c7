"""
Where a function's annotations mean something.

A string annotation is looked up where the function was written: in its
module, in what it closes over, and in the functions and classes that were
being run when it was decorated.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Mapping
from types import FrameType
from typing import Any, get_origin

from .callables import qualified_name, underlying

__all__ = ["Scope", "is_in_class_body"]


class Scope:
    """
    Where a function's annotations are looked up: its module, what it closes over, what stood around it.

    It holds the frames of the enclosing functions, so whoever keeps it lets go once all names were found.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._plain = underlying(function)
        self._frames = _enclosing_frames(self._plain)

    @property
    def module(self) -> Mapping[str, Any]:
        """The names at the top of the function's module."""
        names = getattr(self._plain, "__globals__", None)
        if isinstance(names, dict):
            return names
        home = getattr(self._plain, "__module__", None)
        return vars(sys.modules.get(home if isinstance(home, str) else "", sys.modules["builtins"]))

    def local(self) -> dict[str, Any]:
        """The names of the functions and classes around it, as they are now."""
        names: dict[str, Any] = {}
        for frame in reversed(self._frames):
            # A class may have a method `list` beside a parameter of type `list[str]`.
            kept = _may_be_hint if _is_class_body(frame) else _anything
            names.update((name, value) for name, value in frame.f_locals.items() if kept(value))
        code = getattr(self._plain, "__code__", None)
        for name, cell in zip(
            getattr(code, "co_freevars", ()), getattr(self._plain, "__closure__", None) or (), strict=False
        ):
            try:
                names[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        for parameter in getattr(self._plain, "__type_params__", ()):
            names[parameter.__name__] = parameter
        return names


def is_in_class_body(function: Any) -> bool:
    """Whether *function* is a method of a class that is being defined right now."""
    plain = underlying(function)
    owner = qualified_name(plain).rpartition(".")[0]
    if not owner or owner.endswith("<locals>"):
        return False
    return any(frame.f_code.co_qualname == owner and _is_class_body(frame) for frame in _enclosing_frames(plain))


def _enclosing_frames(function: Any) -> list[FrameType]:
    """The frames of the functions and classes in whose bodies *function* is being defined, the nearest first."""
    name, module = qualified_name(function), getattr(function, "__globals__", None)
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


def _is_class_body(frame: FrameType) -> bool:
    return not frame.f_code.co_flags & inspect.CO_OPTIMIZED


def _may_be_hint(value: Any) -> bool:
    return isinstance(value, type) or get_origin(value) is not None or type(value).__module__.startswith("typing")


def _anything(value: Any) -> bool:
    return True
