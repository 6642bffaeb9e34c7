"""
What the signature of a step says: the type that it takes, and the types that it returns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..errors import DefinitionError
from ..functions.injected_types import find_injected_type
from ..functions.namespaces import Scope
from ..functions.signature import style_of
from ..values.codecs.base import Codec
from ..values.codecs.refusals import Unresolved
from ..values.codecs.rules import create_hint_reader
from .step_options import StepSpec
from .value_types import TypeRef, read_hints

__all__ = ["StepHints", "count_data_parameters", "read_step_hints"]


@dataclass(frozen=True, slots=True)
class StepHints:
    """The types of one step. Its *parameter* gets the value, and *build_codec* reads the classes that it names."""

    parameter: str
    takes: TypeRef
    returns: tuple[TypeRef, ...]
    build_codec: Callable[[type], Codec]


def read_step_hints(spec: StepSpec, mistakes: list[str]) -> StepHints | None:
    """Return the types of a step, or None if they cannot be used. What is wrong with them is added to *mistakes*."""
    assert spec.scope is not None  # noqa: S101 -- it is dropped when the names were read
    reader = create_hint_reader(spec.scope.global_names, spec.scope.local_names())
    signature = inspect.signature(spec.function)
    before = len(mistakes)
    parameters = [
        parameter for parameter in signature.parameters.values() if not _is_filled(parameter, reader.resolve, spec)
    ]
    takes = _read_parameter(parameters, reader.resolve, mistakes)
    returns = _read_return(spec, signature.return_annotation, reader.resolve, mistakes)
    if len(mistakes) > before or takes is None:
        return None
    return StepHints(parameters[0].name, takes, returns, reader.codec)


def _is_filled(parameter: inspect.Parameter, resolve: Callable[[Any], Any], spec: StepSpec) -> bool:
    """Return whether *parameter* is filled by something else than the value: a resource, or its default."""
    options = {} if spec.tool is None else spec.tool.options
    if parameter.name in (options.get("inject") or {}) or parameter.name in (options.get("hidden") or ()):
        return True
    return _find_injected(parameter, resolve) is not None


def _find_injected(parameter: inspect.Parameter, resolve: Callable[[Any], Any]) -> Any:
    """Return the type that is injected for *parameter*; None if there is none."""
    if parameter.annotation is inspect.Parameter.empty:
        return None
    try:
        return find_injected_type(parameter.annotation, resolve)
    except (DefinitionError, Unresolved, TypeError, ValueError):
        return None


def _read_parameter(
    parameters: list[inspect.Parameter], resolve: Callable[[Any], Any], mistakes: list[str]
) -> TypeRef | None:
    if len(parameters) != 1:
        names = ", ".join(f"`{parameter.name}`" for parameter in parameters)
        mistakes.append(
            f"it has {len(parameters)} parameters for a value, {names}, and a step takes one value; put them into one "
            f"dataclass, or annotate what is no value as `Context` or `Inject[T]`"
            if parameters
            else "it has no parameter for a value; the type of its parameter says when the step runs"
        )
        return None
    parameter = parameters[0]
    if parameter.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
        mistakes.append(f"`{parameter}` takes any number of values, and a step takes one; leave out the stars")
        return None
    refs = _read_types(f"`{parameter.name}`", parameter.annotation, resolve, mistakes)
    if len(refs) > 1:
        names = " | ".join(ref.name for ref in refs)
        mistakes.append(f"`{parameter.name}` takes `{names}`, and a step takes one type; write a step for each of them")
    return refs[0] if len(refs) == 1 else None


def _read_return(
    spec: StepSpec, annotation: Any, resolve: Callable[[Any], Any], mistakes: list[str]
) -> tuple[TypeRef, ...]:
    if style_of(spec.function).endswith("generator"):
        mistakes.append("it yields values, and a step returns one; return a list, or a dataclass with a list in it")
        return ()
    if annotation is inspect.Signature.empty:
        mistakes.append(
            "the return value: has no annotation, and its type selects the next step; write `-> Plan | Rejected`"
        )
        return ()
    refs = tuple(dict.fromkeys(_read_types("the return value", annotation, resolve, mistakes)))
    lists = [ref.name for ref in refs if ref.is_list]
    if len(lists) > 1:
        mistakes.append(f"it returns {' or '.join(lists)}, which look the same if they are empty; return one of them")
    return refs


def _read_types(place: str, annotation: Any, resolve: Callable[[Any], Any], mistakes: list[str]) -> list[TypeRef]:
    try:
        return read_hints(annotation, resolve)
    except Unresolved as missing:
        mistakes.append(f"{place} names `{missing.name}`, which is not defined; define or import it")
    except DefinitionError as error:
        mistakes.append(f"{place}: {error}")
    return []


def count_data_parameters(function: Callable[..., Any]) -> tuple[int, int, dict[str, Any]]:
    """Return the fewest and the most values that a check or an undo takes, and the types to inject by parameter."""
    scope = Scope(function)
    reader = create_hint_reader(scope.global_names, scope.local_names())
    fewest = most = 0
    injected: dict[str, Any] = {}
    try:
        parameters = inspect.signature(function).parameters.values()
    except TypeError as error:
        raise ValueError(str(error)) from error
    for parameter in parameters:
        if (kind := _find_injected(parameter, reader.resolve)) is not None:
            injected[parameter.name] = kind
        elif parameter.kind is inspect.Parameter.VAR_POSITIONAL:
            most = 99
        elif parameter.kind in (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD):
            most += 1
            fewest += parameter.default is inspect.Parameter.empty
        elif parameter.kind is inspect.Parameter.KEYWORD_ONLY and parameter.default is inspect.Parameter.empty:
            raise ValueError(f"`{parameter.name}` is filled by nothing; annotate it `Context` or `Inject[T]`")
    return fewest, most, injected
