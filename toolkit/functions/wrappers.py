"""
Compare the parameters that a wrapper shows with those that its own code takes.

A wrapper made with `functools.wraps` shows the parameters of the function that it wraps, or those in a `__signature__`.
A call reaches the code of the wrapper, which may have other names for them. A wrapper without `functools.wraps` shows
only `*args` and `**kwargs`.
"""

from __future__ import annotations

import dis
import functools
import inspect
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from inspect import Parameter
from types import CodeType, FunctionType, MethodType
from typing import Any, ParamSpecArgs, ParamSpecKwargs

from ..errors import DefinitionError
from .callables import (
    MAX_LAYERS,
    bind_call_method,
    find_call_method,
    find_executed_function,
    unwrap,
    unwrap_binding,
    unwrap_wrapper,
)

__all__ = ["VARIADIC", "needs_positions", "refuse_opaque_wrapper"]

VARIADIC = (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)
_PARAM_SPEC = re.compile(r"[\w.]+\.(args|kwargs)")
_ANYTHING = (Parameter.empty, Any, object, "Any", "typing.Any", "t.Any", "object")
_MAX_SHOWN = 80


def refuse_opaque_wrapper(
    function: Any, parameters: Sequence[Parameter], hidden: Collection[str], subject: str
) -> None:
    """Raise `DefinitionError` if *function* only passes its arguments on, apart from those that are *hidden*."""
    # A wrapper of a method has its `self` when it is decorated in the class, where its name does not tell.
    shown = [parameter for parameter in parameters if parameter.name not in (*hidden, "self", "cls")]
    if any(map(_is_param_spec, shown)) or (_takes_anything(shown) and _passes_on_all(function)):
        names = " and ".join(
            f"`{str(parameter.replace(annotation=Parameter.empty))[:_MAX_SHOWN]}`" for parameter in shown
        )
        raise DefinitionError(
            f"{subject}: it passes {names} on to another function, so a model cannot know what to send; "
            f"put `@functools.wraps(...)` above the wrapper in its decorator, or write the parameters out"
        )


def _is_param_spec(parameter: Parameter) -> bool:
    hint = parameter.annotation
    if parameter.kind not in VARIADIC:
        return False
    # The text decides, because inside a function the name of the `ParamSpec` may be out of reach.
    return isinstance(hint, (ParamSpecArgs, ParamSpecKwargs)) or (
        isinstance(hint, str) and _PARAM_SPEC.fullmatch(hint) is not None
    )


def _takes_anything(parameters: Sequence[Parameter]) -> bool:
    return bool(parameters) and all(
        parameter.kind in VARIADIC
        and any(parameter.annotation is hint or parameter.annotation == hint for hint in _ANYTHING)
        for parameter in parameters
    )


def _passes_on_all(function: Any) -> bool:
    """Return whether the function whose parameters are shown holds another one, and calls it with `*` or `**`."""
    # `functools.wraps` shows the parameters of the wrapped function, so its code decides, and not that of the wrapper.
    function = unwrap(function, unwrap_binding, unwrap_wrapper)
    code = getattr(find_executed_function(function), "__code__", None)
    if code is None or not _calls_with_stars(code):
        return False
    return any(callable(value) and not isinstance(value, type) for value in _iter_held_values(function))


def _calls_with_stars(code: CodeType) -> bool:
    """Return whether *code*, or that of a function or a comprehension inside it, calls something with `*` or `**`."""
    return any(line.opname.startswith("CALL_FUNCTION_EX") for line in dis.get_instructions(code)) or any(
        isinstance(inner, CodeType) and _calls_with_stars(inner) for inner in code.co_consts
    )


def _iter_held_values(function: Any) -> Iterator[Any]:
    """Yield what a closure keeps for its calls, and the functions that a callable object keeps."""
    if find_call_method(function) is not None:
        slots = [name for cls in type(function).__mro__ for name in getattr(cls, "__slots__", ())]
        values = [*getattr(function, "__dict__", {}).values(), *(getattr(function, name, None) for name in slots)]
        yield from filter(inspect.isroutine, values)  # a mock keeps other mocks
    for cell in getattr(function, "__closure__", None) or ():
        try:
            yield cell.cell_contents
        except ValueError:  # not assigned yet
            continue


def needs_positions(
    function: Any, bind: Callable[[bool], tuple[Sequence[Any], dict[str, Any]]], subject: str, *, has_object: bool
) -> bool:
    """
    Return whether the arguments of a wrapper have to be passed by position, because it has other names for them.

    Args:
        function: The callable that may be a wrapper.
        bind: Returns the arguments of a call: as a function with the shown names takes them, or with True by position.
        subject: The name of the function in errors.
        has_object: Whether calls get an object before these arguments, because the function is a method.

    Raises:
        DefinitionError: No call with the shown parameters would reach the function.
    """
    layers = list(_iter_layers(function, 1 if has_object else 0))
    if not layers or (len(layers) == 1 and not hasattr(unwrap(function, unwrap_binding), "__signature__")):
        return False
    for by_position in (False, True):
        if all(_accepts(layer, count, keywords, bind(by_position)) for layer, count, keywords in layers):
            return by_position
    shown, own = (str(signature)[:_MAX_SHOWN] for signature in (inspect.signature(function), _read_own(layers[0][0])))
    raise DefinitionError(
        f"{subject}: it shows the parameters {shown} and takes {own}, so every call would fail; "
        f"write a function with the parameters that a model should send, and call it there"
    )


def _iter_layers(function: Any, count: int) -> Iterator[tuple[FunctionType, int, frozenset[str]]]:
    """
    Yield the functions that a call runs through, down to the one whose parameters are shown.

    Each comes with how many arguments before those of the call are bound, and with the names that are bound.
    """
    keywords: frozenset[str] = frozenset()
    for _ in range(MAX_LAYERS):
        if isinstance(function, functools.partial):
            count, keywords = count + len(function.args), keywords | function.keywords.keys()
            function = function.func
            continue
        if isinstance(function, MethodType):
            count, function = count + 1, function.__func__
            continue
        call, bound = find_call_method(function), bind_call_method(function)
        if isinstance(function, FunctionType):
            yield function, count, keywords
        elif isinstance(call, FunctionType):
            yield call, count if isinstance(bound, FunctionType) else count + 1, keywords
        inner = unwrap_wrapper(function)
        if inner is None:
            return
        function = inner


def _accepts(
    layer: FunctionType, count: int, names: Collection[str], call: tuple[Sequence[Any], dict[str, Any]]
) -> bool:
    args, keywords = call
    try:
        _read_own(layer).bind(*[None] * count, *args, **{**dict.fromkeys(names), **keywords})
    except TypeError:
        return False
    return True


def _read_own(layer: FunctionType) -> inspect.Signature:
    """Return the signature of the code of *layer* itself, without the attributes that show another one."""
    copy = FunctionType(layer.__code__, {}, layer.__name__, layer.__defaults__, layer.__closure__)
    copy.__kwdefaults__ = layer.__kwdefaults__
    return inspect.signature(copy)
