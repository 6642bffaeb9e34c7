"""
Where a callable was written, and whether two callables are the same one.

Partials, methods, wrappers and callable objects are layers around a plain
function; names, files and lines are those of the function at the bottom.
"""

from __future__ import annotations

import functools
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any

__all__ = ["is_same", "is_written_again", "place_of", "qualified_name", "run_by", "subject_of", "underlying"]

_MOST_LAYERS = 100
"""A wrapper may claim to wrap itself; no honest one is that deep."""


def underlying(function: Any) -> Any:
    """The plain function at the bottom of partials, methods, wrappers and callable objects."""
    for _ in range(_MOST_LAYERS):
        inner = _bound(function)
        if inner is None:
            inner = _wrapped(function)
        if inner is None:
            inner = _called(function)
        if inner is None:
            break
        function = inner
    return function


def run_by(function: Any) -> Any:
    """What runs when *function* is called: a wrapper itself, not what it wraps and may run in another way."""
    while (inner := _bound(function)) is not None or (inner := _called(function)) is not None:
        function = inner
    return function


def _bound(function: Any) -> Any:
    """What a partial or a method calls."""
    if isinstance(function, functools.partial):
        return function.func
    return function.__func__ if isinstance(function, (MethodType, staticmethod, classmethod)) else None


def _wrapped(function: Any) -> Any:
    """What a wrapper says it wraps."""
    return None if hasattr(function, "__signature__") else getattr(function, "__wrapped__", None)


def _called(function: Any) -> Any:
    """The method that runs when a callable object is called."""
    if isinstance(function, (FunctionType, type)) or not callable(function):
        return None
    call = type(function).__call__
    return call if isinstance(call, FunctionType) or hasattr(call, "__wrapped__") else None


def qualified_name(function: Any) -> str:
    """The name with its owners; empty for what has none, or claims to have something else."""
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else ""


def subject_of(function: Any) -> str:
    """The function's name as its author would look for it."""
    plain = underlying(function)
    module = getattr(plain, "__module__", None)
    name = qualified_name(plain) or type(plain).__qualname__
    return f"{module}.{name}" if isinstance(module, str) else name


def place_of(function: Any) -> tuple[str, int]:
    """File and line where *function* was written."""
    code = getattr(underlying(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else (f"<{subject_of(function)}>", 1)


def is_same(a: Any, b: Any) -> bool:
    """Whether two callables are one. Python makes a new bound method each time somebody asks for it."""
    if isinstance(a, MethodType) and isinstance(b, MethodType):
        return a.__self__ is b.__self__ and a.__func__ is b.__func__
    if isinstance(a, BuiltinFunctionType) and isinstance(b, BuiltinFunctionType):
        return a.__self__ is b.__self__ and a.__name__ == b.__name__
    return a is b


def is_written_again(old: Any, new: Any) -> bool:
    """
    Whether *new* is *old* from a later run of the same source: a notebook cell, a reloaded module.

    The same file and qualified name, and not one closure of many; the same in every layer around it.
    """
    if is_same(old, new):
        return True
    if isinstance(old, functools.partial) and isinstance(new, functools.partial):
        return _binds_the_same(old, new) and is_written_again(old.func, new.func)
    if isinstance(old, MethodType) and isinstance(new, MethodType):
        return _is_class_again(old.__self__, new.__self__) and is_written_again(old.__func__, new.__func__)
    if _wrapped(old) is not None and _wrapped(new) is not None:
        return _is_code_again(old, new) and is_written_again(_wrapped(old), _wrapped(new))
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        is_closure = "<locals>" in old.__qualname__ + old.__code__.co_qualname
        return old.__qualname__ == new.__qualname__ and _is_code_again(old, new) and not is_closure
    calls = _called(old), _called(new)
    return None not in calls and _is_class_again(old, new) and is_written_again(*calls)


def _binds_the_same(old: functools.partial[Any], new: functools.partial[Any]) -> bool:
    try:
        return bool(old.args == new.args and old.keywords == new.keywords)
    except Exception:  # noqa: BLE001 -- what was bound may compare in any way; then it is not known to be the same
        return False


def _is_class_again(old: Any, new: Any) -> bool:
    """Whether two objects, or two classes, are of a class that was defined twice; two objects of one class are two."""
    a, b = (each if isinstance(each, type) else type(each) for each in (old, new))
    return a is not b and (a.__module__, a.__qualname__) == (b.__module__, b.__qualname__)


def _is_code_again(old: Any, new: Any) -> bool:
    a, b = getattr(old, "__code__", None), getattr(new, "__code__", None)
    if a is None or b is None:
        return type(old) is type(new)
    # A notebook gives every run of a cell a file name of its own.
    is_one_file = a.co_filename == b.co_filename or old.__module__ == "__main__"
    return bool(is_one_file and a.co_qualname == b.co_qualname and old.__module__ == new.__module__)
