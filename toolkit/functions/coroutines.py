"""Inspect the code of an async function to learn how its calls behave."""

from __future__ import annotations

import dis
import functools
import inspect
from collections.abc import Callable
from types import CodeType
from typing import Any

__all__ = ["is_coroutine_function", "may_suspend"]


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
