"""
Find the namespaces in which the annotations of a function are resolved.

A string annotation is looked up where the function was written: in its module, in its closure, and in the functions and
classes that were running when it was decorated.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections import ChainMap
from collections.abc import Callable, Mapping
from itertools import repeat
from operator import is_
from types import FrameType
from typing import Any, get_origin

from .callables import find_wrapped_function, get_qualname, unwrap_function

__all__ = ["Scope", "is_being_defined", "is_decorated_in_class_body", "is_in_class_body"]


class Scope:
    """
    The namespaces for a function's annotations: its module, its closure, and the functions and classes around it.

    A scope holds the frames of the enclosing functions. So its owner must drop it once all names are found.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self._plain = unwrap_function(function)
        self._frames = _enclosing_frames(self._plain)

    @property
    def global_names(self) -> Mapping[str, Any]:
        """Return the global names of the function's module."""
        names = getattr(self._plain, "__globals__", None)
        if isinstance(names, dict):
            inner = getattr(find_wrapped_function(self._plain), "__globals__", names)
            # A wrapper with a `__signature__` usually shows the annotations of the function that it wraps.
            return names if inner is names or not isinstance(inner, dict) else ChainMap(inner, names)
        home = getattr(self._plain, "__module__", None)
        return vars(sys.modules.get(home if isinstance(home, str) else "", sys.modules["builtins"]))

    def local_names(self) -> dict[str, Any]:
        """Return the names of the functions and classes around the function, with their current values."""
        names: dict[str, Any] = {}
        for frame in reversed(self._frames):
            # A class may have a method named `list` and a parameter of type `list[str]`.
            takes_all = not _is_class_body(frame)
            names.update((name, value) for name, value in frame.f_locals.items() if takes_all or _may_be_hint(value))
        code = getattr(self._plain, "__code__", None)
        for name, cell in zip(
            getattr(code, "co_freevars", ()), getattr(self._plain, "__closure__", None) or (), strict=False
        ):
            try:
                names[name] = cell.cell_contents
            except ValueError:  # not assigned yet
                continue
        parameters = getattr(self._plain, "__type_params__", ())
        # `type` has a descriptor there, because the classes it makes have the attribute.
        for parameter in parameters if isinstance(parameters, tuple) else ():
            names[parameter.__name__] = parameter
        return names


def is_in_class_body(function: Any) -> bool:
    """Return whether *function* is a method of a class that is being defined right now."""
    plain = unwrap_function(function)
    owner = get_qualname(plain).rpartition(".")[0]
    if not owner or owner.endswith("<locals>"):
        return False
    return any(frame.f_code.co_qualname == owner and _is_class_body(frame) for frame in _enclosing_frames(plain))


def is_being_defined(function: Any) -> bool:
    """Return whether *function* is being decorated where it is written. An object such as a partial never is."""
    name = get_qualname(function)
    if not name or isinstance(function, functools.partial):
        return False
    frame = _find_decorating_frame(function)
    spaces: list[Mapping[str, Any]] = [] if frame is None else [frame.f_globals, frame.f_locals]
    is_wrapper = hasattr(function, "__wrapped__")
    home = getattr(unwrap_function(function) if is_wrapper else function, "__globals__", None)
    if isinstance(home, dict):
        spaces.append(home)
    owners = name.rpartition("<locals>.")[2].split(".")[:-1]
    for space in {id(space): space for space in spaces}.values():
        values = list(space.values())  # a copy, because other threads may change the namespace
        if any(map(is_, values, repeat(function))):
            return False
        if owners and _find_member(space, owners, name.rpartition(".")[2]) is function:
            return False
    return True


def is_decorated_in_class_body(function: Any) -> bool:
    """Return whether the code that decorates *function* now is the body of a class."""
    frame = _find_decorating_frame(function)
    return frame is not None and _is_class_body(frame) and frame.f_code.co_name != "<module>"


def _find_decorating_frame(function: Any) -> FrameType | None:
    """Return the frame that gave *function* to a decorator, behind the functions that took it as an argument."""
    frame: FrameType | None = sys._getframe(2)  # noqa: SLF001 -- the only way to the decorating code
    while frame is not None:
        code, variables = frame.f_code, frame.f_locals
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        if not any(map(is_, map(variables.get, names), repeat(function))):
            break
        frame = frame.f_back
    return frame


def _find_member(space: Mapping[str, Any], owners: list[str], name: str) -> Any:
    """Return the function that the class *owners*, found in *space*, has under *name*; None if there is none."""
    owner: Any = space.get(owners[0])
    for attribute in (*owners[1:], name):
        owner = inspect.getattr_static(owner, attribute, None)
    return owner.__func__ if isinstance(owner, (staticmethod, classmethod)) else owner


def _enclosing_frames(function: Any) -> list[FrameType]:
    """Return the frames of the functions and classes in which *function* is being defined, the nearest first."""
    name, module = get_qualname(function), getattr(function, "__globals__", None)
    outer = set()
    while "." in name:
        name = name.rpartition(".")[0].removesuffix(".<locals>")
        outer.add(name)
    frames: list[FrameType] = []
    frame: FrameType | None = sys._getframe(1) if outer else None  # noqa: SLF001 -- the only way to an enclosing scope
    while frame is not None:
        if frame.f_code.co_qualname in outer and frame.f_globals is module:
            frames.append(frame)
        frame = frame.f_back
    return frames


def _is_class_body(frame: FrameType) -> bool:
    return not frame.f_code.co_flags & inspect.CO_OPTIMIZED


def _may_be_hint(value: Any) -> bool:
    return isinstance(value, type) or get_origin(value) is not None or type(value).__module__.startswith("typing")
