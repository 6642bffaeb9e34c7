"""
Find where a callable was written, whether two callables are the same, and how an async one behaves.

Partials, methods, wrappers and callable objects are layers around a plain function. Names, files and lines are those of
the innermost function.
"""

from __future__ import annotations

import contextlib
import dis
import functools
import inspect
import re
from collections.abc import Callable
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType
from typing import Any

__all__ = [
    "MAX_LAYERS",
    "bind_call_method",
    "derive_name",
    "find_call_method",
    "find_executed_function",
    "find_source_location",
    "find_wrapped_function",
    "get_qualname",
    "is_coroutine_function",
    "is_redefinition",
    "is_same_callable",
    "makes_context_manager",
    "may_suspend",
    "subject_of",
    "unwrap",
    "unwrap_binding",
    "unwrap_function",
    "unwrap_wrapper",
]

_MANAGER_CODES = (contextlib.contextmanager(iter).__code__, contextlib.asynccontextmanager(aiter).__code__)
"""The code of the functions that these decorators return. All of them share it."""

MAX_LAYERS = 100
"""The most layers that are unwrapped. A wrapper may claim to wrap itself, and no honest wrapper is that deep."""


def unwrap(function: Any, *steps: Callable[[Any], Any]) -> Any:
    """Return the innermost function to which *steps* lead. Of several steps that lead on, the first is taken."""
    for _ in range(MAX_LAYERS):
        inner = next((inner for step in steps if (inner := step(function)) is not None), None)
        if inner is None:
            break
        function = inner
    return function


def unwrap_function(function: Any) -> Any:
    """Return the plain function inside partials, methods, wrappers and callable objects."""
    return unwrap(function, unwrap_binding, unwrap_wrapper, find_call_method)


def find_executed_function(function: Any) -> Any:
    """Return the function that runs when *function* is called: of a wrapper, the wrapper itself."""
    return unwrap(function, unwrap_binding, find_call_method)


def makes_context_manager(function: Any) -> bool:
    """Return whether *function* was decorated with `contextlib.contextmanager` or `asynccontextmanager`."""
    code = getattr(find_executed_function(function), "__code__", None)
    return isinstance(code, CodeType) and code in _MANAGER_CODES


def find_wrapped_function(function: Any) -> Any:
    """Return the innermost function that *function* claims to wrap, or *function* itself."""
    return unwrap(function, lambda layer: getattr(layer, "__wrapped__", None))


def unwrap_binding(function: Any) -> Any:
    """Return the function that a partial or a method calls, or None."""
    if isinstance(function, functools.partial):
        return function.func
    return function.__func__ if isinstance(function, (MethodType, staticmethod, classmethod)) else None


def unwrap_wrapper(function: Any) -> Any:
    """Return the function that a wrapper claims to wrap, or None."""
    return None if hasattr(function, "__signature__") else getattr(function, "__wrapped__", None)


def find_call_method(function: Any) -> Any:
    """Return the method that runs when a callable object is called, or None."""
    if isinstance(function, (FunctionType, type)) or not callable(function):
        return None
    call = type(function).__call__
    call = call.__func__ if isinstance(call, MethodType) else call  # a class method is bound already
    return call if isinstance(call, FunctionType) or hasattr(call, "__wrapped__") else None


def bind_call_method(function: Any) -> Any:
    """Return what a call of *function* runs, if its `__call__` takes no `self`, and *function* itself otherwise."""
    call = inspect.getattr_static(type(function), "__call__", None)
    return call.__get__(function, type(function)) if isinstance(call, (staticmethod, classmethod)) else function


def get_qualname(function: Any) -> str:
    """Return the name with its owners, or empty text if there is no such name or it is not a string."""
    name = getattr(function, "__qualname__", None)
    return name if isinstance(name, str) else ""


def derive_name(function: Any) -> str:
    """Return the name of a tool that is *function*. A callable object gets the name of its class."""
    while isinstance(function, functools.partial) and "__name__" not in vars(function):
        function = function.func
    if isinstance(function, (staticmethod, classmethod)):
        function = function.__func__
    name = getattr(function, "__name__", None)
    if not isinstance(name, str):
        return _in_snake_case(type(function).__name__)
    if name == "__call__":
        return _in_snake_case(get_qualname(function).removesuffix(".__call__").rpartition(".")[2])
    return name


def _in_snake_case(name: str) -> str:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "_", name).lower()


def subject_of(function: Any) -> str:
    """Return the function's name in the form in which its author would look for it."""
    plain = unwrap_function(function)
    module = getattr(plain, "__module__", None)
    name = get_qualname(plain) or type(plain).__qualname__
    return f"{module}.{name}" if isinstance(module, str) else name


def find_source_location(function: Any) -> tuple[str, int]:
    """Return the file and line where *function* was written."""
    code = getattr(unwrap_function(function), "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else (f"<{subject_of(function)}>", 1)


def is_same_callable(a: Any, b: Any) -> bool:
    """Return whether two callables are the same. Python makes a new bound method for each access to it."""
    if isinstance(a, MethodType) and isinstance(b, MethodType):
        return a.__self__ is b.__self__ and a.__func__ is b.__func__
    if isinstance(a, BuiltinFunctionType) and isinstance(b, BuiltinFunctionType):
        return a.__self__ is b.__self__ and a.__name__ == b.__name__
    return a is b


def is_redefinition(old: Any, new: Any) -> bool:
    """
    Return whether *new* is *old* from a later run of the same source: a notebook cell, a reloaded module.

    Both must have the same file and qualified name, and must not be closures, because one source makes many closures.
    Every layer around them must be the same too.
    """
    if is_same_callable(old, new):
        return True
    if isinstance(old, functools.partial) and isinstance(new, functools.partial):
        return _has_same_bindings(old, new) and is_redefinition(old.func, new.func)
    if isinstance(old, MethodType) and isinstance(new, MethodType):
        return _is_redefined_class(old.__self__, new.__self__) and is_redefinition(old.__func__, new.__func__)
    if unwrap_wrapper(old) is not None and unwrap_wrapper(new) is not None:
        return _has_same_source(old, new) and is_redefinition(unwrap_wrapper(old), unwrap_wrapper(new))
    if isinstance(old, FunctionType) and isinstance(new, FunctionType):
        is_closure = "<locals>" in old.__qualname__ + old.__code__.co_qualname
        return old.__qualname__ == new.__qualname__ and _has_same_source(old, new) and not is_closure
    calls = find_call_method(old), find_call_method(new)
    return None not in calls and _is_redefined_class(old, new) and is_redefinition(*calls)


def _has_same_bindings(old: functools.partial[Any], new: functools.partial[Any]) -> bool:
    try:
        return bool(old.args == new.args and old.keywords == new.keywords)
    except Exception:  # noqa: BLE001 -- bound values may raise when compared; then they do not count as the same
        return False


def _is_redefined_class(old: Any, new: Any) -> bool:
    """Return whether two objects, or two classes, belong to a class that was defined twice."""
    a, b = (item if isinstance(item, type) else type(item) for item in (old, new))
    return a is not b and (a.__module__, a.__qualname__) == (b.__module__, b.__qualname__)


def _has_same_source(old: Any, new: Any) -> bool:
    a, b = getattr(old, "__code__", None), getattr(new, "__code__", None)
    if a is None or b is None:
        return type(old) is type(new)
    # A notebook gives each run of a cell its own file name.
    is_one_file = a.co_filename == b.co_filename or old.__module__ == "__main__"
    return bool(is_one_file and a.co_qualname == b.co_qualname and old.__module__ == new.__module__)


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Return whether every call of *function* returns a coroutine. It may be an `async def`, bound or partial."""
    code = _code_of(function)
    return code is not None and bool(code.co_flags & inspect.CO_COROUTINE)


def may_suspend(function: Callable[..., Any]) -> bool:
    """Return whether *function*, an `async def`, contains an `await`. Without one, it cannot be cancelled."""
    code = _code_of(function)
    return code is None or any(line.opname == "YIELD_VALUE" for line in dis.get_instructions(code))


def _code_of(function: Any) -> CodeType | None:
    while isinstance(function, functools.partial):
        function = function.func
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    return code if type(code) is CodeType else None  # a mock pretends to have a code object
