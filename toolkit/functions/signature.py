"""
Read the signature of a callable into the codec of its arguments.

This module and `parameters` handle every kind of signature: positional-only and keyword-only parameters, `*args`,
`**kwargs`, partials, bound methods, wrappers, forward references. A model sends one JSON object. `bind` turns its
decoded form into the arguments of a call.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from inspect import Parameter
from types import FunctionType, MethodDescriptorType
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

from .._lazy_names import LazyModule
from .._plumbing.records import record
from ..access import Access
from ..docstrings.parsing import Docstring
from ..errors import DefinitionError
from ..values.codecs.base import Codec, Schema
from ..values.codecs.definitions import assemble_schema
from ..values.codecs.objects import build_encoder, object_codec
from ..values.codecs.rules import create_hint_reader
from ..values.schemas.vocabulary import stated_types
from .callables import bind_call_method, find_executed_function, unwrap, unwrap_binding
from .namespaces import Scope
from .outputs import OutputDescription, read_output
from .parameters import Parameters
from .unsent_parameters import Omission, ParameterOptions, describe_missing_types
from .wrappers import VARIADIC, needs_positions, refuse_opaque_wrapper

if TYPE_CHECKING:
    from . import flat_records
else:  # few tools take their arguments as one record
    flat_records = LazyModule(f"{__package__}.flat_records")

__all__ = [
    "NOTHING_INJECTED",
    "Binder",
    "BoundArguments",
    "Signature",
    "Style",
    "read_signature",
    "refuse_taken_name",
    "style_of",
]

Style: TypeAlias = Literal["sync", "async", "generator", "async_generator"]

BoundArguments: TypeAlias = tuple[list[Any], dict[str, Any]]
"""The positional and the keyword arguments of a call."""

NOTHING_INJECTED: Mapping[str, Any] = {}


class Binder(Protocol):
    """Converts decoded arguments, and the values injected beside them, to positional and keyword arguments."""

    def __call__(self, values: dict[str, Any], injected: Mapping[str, Any] = NOTHING_INJECTED, /) -> BoundArguments:
        """Return the arguments of the call."""


@record(frozen=True, slots=True, kw_only=True)
class Signature:
    """
    The arguments and the result of a callable.

    Attributes:
        codec: Converts a JSON object of arguments to a dictionary of decoded arguments with defaults filled in.
        schema: The schema of that object, complete in itself.
        returns: What the return annotation says about the result.
        injected: The parameters that are injected and not sent, with the type that each asks for.
        bind: Converts decoded and injected arguments to positional and keyword arguments.
        style: How the callable runs.
        by_keyword: Whether every argument is passed by keyword.
        secrets: The parameters whose values are never shown.
        accesses: The parameters that say what a call is about to touch.
        unsent: The parameters that keep their default, because they are hidden or have no JSON form.
        omissions: What the schemas leave out, because it has no JSON form or is not stated.
    """

    codec: Codec
    schema: Schema
    returns: OutputDescription
    injected: Mapping[str, Any]
    bind: Binder
    style: Style
    by_keyword: bool = False
    secrets: frozenset[str] = frozenset()
    accesses: Mapping[str, type[Access]]
    unsent: frozenset[str] = frozenset()
    omissions: Sequence[Omission] = ()

    @property
    def output(self) -> Codec | None:
        """The codec of the return value; None if the return annotation is missing or not usable."""
        return self.returns.codec


def read_signature(
    scope: Scope,
    docstring: Docstring,
    options: ParameterOptions,
    *,
    subject: str,
    unbound: bool = False,
    handwritten: Schema | None = None,
    added: Parameter | None = None,
    is_complete: bool = True,
) -> Signature:
    """
    Read the signature of the function of *scope*.

    Args:
        options: What the tool's options say about its parameters.
        subject: The name of the function in errors.
        unbound: Whether to leave out the first parameter (`self`).
        handwritten: The schema, if the author wrote it. Then the annotations need not say what a model sends.
        added: A further parameter that the model sends and the function does not have. `bind` passes it on.
        is_complete: Whether *options* can be checked, because it is known whether the first parameter is `self`.

    Raises:
        DefinitionError: A parameter that has to be sent has no JSON form.
        Unresolved: A name is not defined yet.
    """
    parameters, returns, bound = _inspect_function(scope.function, subject)
    if unbound and parameters and parameters[0].kind not in VARIADIC:
        del parameters[0]
    if handwritten is None:
        refuse_opaque_wrapper(scope.function, parameters, options.hidden, subject)
    if is_complete:
        options.check(parameters, bound, subject)
    reader = create_hint_reader(scope.global_names, scope.local_names())
    reading = Parameters(docstring, reader, subject, bound, options)
    _read_parameters(reading, scope.function, parameters, handwritten)
    is_flat = options.flat and is_complete
    flat = flat_records.find_flat_record(reading, parameters, docstring, subject) if is_flat else None
    if added is not None:
        _add_parameter(reading, added, bound, flat, subject)
    codec = _build_codec(reading, bound) if flat is None else flat.build_codec(reading.fields[1:])
    bind = _choose_binder(scope.function, parameters, reading, subject, has_object=unbound)
    output = _read_result(returns, scope, subject)
    schema = _complete_schema(codec, reading)
    if is_complete:
        schema = options.describe(schema, subject, is_handwritten=handwritten is not None)
    return Signature(
        codec=codec,
        schema=schema,
        returns=output,
        injected=reading.injected,
        bind=bind if flat is None else _build_record_binder(bind, flat),
        style=style_of(scope.function),
        by_keyword=bind is _bind_by_keyword and flat is None,
        secrets=frozenset(reading.secrets),
        accesses=reading.accesses,
        unsent=frozenset(reading.unsent),
        omissions=[*_list_omissions(reading, parameters, handwritten), *output.omissions],
    )


def _read_parameters(
    reading: Parameters, function: Any, parameters: Sequence[Parameter], handwritten: Schema | None
) -> None:
    """Read *parameters* into *reading*. What a hand-written schema does not let through needs no JSON form."""
    reading.bound_items = _count_bound_items(function)
    reading.is_cached = isinstance(unwrap(function, unwrap_binding), type(functools.cache(len)))
    sendable_names = None if handwritten is None else _list_sendable_names(handwritten)
    for parameter in parameters:
        if sendable_names is None or parameter.name in sendable_names or parameter.default is Parameter.empty:
            reading.add(parameter)
        else:
            reading.add_unsent(parameter)


def _list_sendable_names(schema: Schema) -> Collection[str] | None:
    """Return the names that can be sent, or None if the hand-written *schema* allows other names too."""
    is_closed = schema.get("additionalProperties") is False and not schema.get("patternProperties")
    return schema.get("properties", {}).keys() if is_closed else None


def _add_parameter(
    reading: Parameters, added: Parameter, bound: set[str], flat: flat_records.FlatRecord | None, subject: str
) -> None:
    """Read a parameter that the function does not have. No other argument may have its name."""
    names = {field.name for field in reading.fields} | reading.injected.keys() | reading.unsent | bound
    refuse_taken_name(added.name, names if flat is None else flat.parts.attributes, subject)
    reading.add(added)


def _complete_schema(codec: Codec, reading: Parameters) -> Schema:
    schema = assemble_schema(codec.schema, reading.reader.definitions)
    if reading.extras is not None and "additionalProperties" not in schema:
        # Left open, a schema may be closed for a provider; `**fields` is meant to be sent.
        schema = {**schema, "additionalProperties": True}
    return schema


def _read_result(annotation: Any, scope: Scope, subject: str) -> OutputDescription:
    """Return what the return annotation says. That of a function that yields must not say that it returns no list."""
    output = read_output(annotation, scope, subject)
    is_list = "array" in (stated_types(output.schema or {}) or ("array",))
    if not is_list and style_of(scope.function).endswith("generator"):
        raise DefinitionError(
            f"{subject}: it yields, so its result is a list, but its return annotation says otherwise, so every call "
            f"would fail after it ran; write `Iterator[T]` with the type of an item (`AsyncIterator[T]` if it is async)"
        )
    return output


def _list_omissions(reading: Parameters, parameters: Sequence[Parameter], handwritten: Schema | None) -> list[Omission]:
    """Return what the schema of the arguments leaves out, or does not state."""
    omissions = reading.describe_omissions()
    if handwritten is None:
        unsent = reading.unsent | reading.injected.keys()
        omissions += describe_missing_types([parameter for parameter in parameters if parameter.name not in unsent])
    return omissions


def _build_codec(reading: Parameters, bound: set[str]) -> Codec:
    """Return the codec of all arguments. What is injected, keeps its default or is *bound* cannot be sent."""
    unsendable = reading.injected.keys() | reading.unsent | bound
    return object_codec(
        reading.fields,
        dict,
        # Not a method of `reading`, which would keep all that was needed to read the parameters.
        build_encoder(reading.fields, reading.extras),
        extras=reading.extras,
        forbidden=frozenset(unsendable - {field.name for field in reading.fields}),
        as_dict=True,
    )


def refuse_taken_name(fact: str, names: Collection[str], subject: str) -> None:
    """Raise `DefinitionError` if one of *names* is that of the parameter that *fact* adds to the tool."""
    if fact in names:
        raise DefinitionError(
            f"{subject}: the fact `{fact}` adds a parameter `{fact}`, and the tool has one already; rename yours, or "
            f"leave the fact out and start the work in the function"
        )


def _inspect_function(function: Any, subject: str) -> tuple[list[Parameter], Any, set[str]]:
    """Return the parameters that are left to send, the return annotation, and the names that partials have bound."""
    args: tuple[Any, ...] = ()
    keywords: dict[str, Any] = {}
    inner = function
    while isinstance(inner, functools.partial):
        args, keywords = inner.args + args, {**inner.keywords, **keywords}
        inner = inner.func
    called = inner if hasattr(inner, "__signature__") or hasattr(inner, "__wrapped__") else bind_call_method(inner)
    try:
        whole = inspect.signature(called)
        # The partial is made again, because after `update_wrapper` it would show the signature of the wrapped function.
        signature = whole if inner is function else inspect.signature(functools.partial(called, *args, **keywords))
    except (ValueError, TypeError) as error:
        raise DefinitionError(
            f"{subject}: its signature cannot be read ({error}); wrap it in a function with annotated parameters"
        ) from None
    remaining = [
        parameter
        for name, parameter in signature.parameters.items()
        if name not in keywords or parameter.kind is Parameter.POSITIONAL_ONLY
    ]
    if remaining and remaining[0].name == "self" and isinstance(inner, MethodDescriptorType):
        # `str.upper` has no annotation for its `self`, but it is a method of `str`.
        remaining[0] = remaining[0].replace(annotation=inner.__objclass__)
    returns = inner if isinstance(inner, type) else signature.return_annotation  # its `__init__` returns None
    bound = set() if inner is function else keywords.keys() | (whole.parameters.keys() - signature.parameters.keys())
    return remaining, returns, bound


def _count_bound_items(function: Any) -> int:
    """Return how many of the arguments that partials bind by position belong to `*args`."""
    count = 0
    while isinstance(function, functools.partial):
        count += len(function.args)
        function = function.func
    if count == 0:
        return 0
    kinds = [parameter.kind for parameter in inspect.signature(function).parameters.values()]
    named = kinds.count(Parameter.POSITIONAL_ONLY) + kinds.count(Parameter.POSITIONAL_OR_KEYWORD)
    return max(0, count - named)


def _bind_by_keyword(values: dict[str, Any], injected: Mapping[str, Any] = NOTHING_INJECTED) -> BoundArguments:
    return [], {**values, **injected} if injected else values


def _is_singledispatch(function: Any) -> bool:
    """Return whether `functools.singledispatch` chooses by the first argument, which it then requires by position."""
    return isinstance(function, FunctionType) and hasattr(function, "registry") and hasattr(function, "dispatch")


def _choose_binder(
    function: Any, parameters: list[Parameter], reading: Parameters, subject: str, *, has_object: bool
) -> Binder:
    """Return the function that passes decoded arguments to *function* in the way that its code takes them."""
    count = 1 if _is_singledispatch(function) else 0
    names = [*(field.name for field in reading.fields), *reading.injected]
    values = {parameter.name: () for parameter in parameters if parameter.name in names}

    def bind(by_position: bool) -> BoundArguments:
        return _build_binder(parameters, len(parameters) if by_position else count)(dict(values))

    by_position = needs_positions(function, bind, subject, has_object=has_object)
    return _build_binder(parameters, len(parameters) if by_position else count)


def _build_record_binder(bind: Binder, flat: flat_records.FlatRecord) -> Binder:
    """Return a binder that passes the record of the arguments on, in place of its fields."""

    def bind_record(values: dict[str, Any], injected: Mapping[str, Any] = NOTHING_INJECTED) -> BoundArguments:
        return bind({flat.name: flat.find_record(values)}, injected)

    return bind_record


def _build_binder(parameters: list[Parameter], count: int = 0) -> Binder:
    """
    Return a function that passes decoded arguments on: by keyword, except where Python requires positions.

    The first *count* parameters are passed by position too, as far as they can be.
    """
    kinds = [parameter.kind for parameter in parameters]
    if not (count or Parameter.POSITIONAL_ONLY in kinds or Parameter.VAR_POSITIONAL in kinds):
        return _bind_by_keyword
    variadic = next((parameter.name for parameter in parameters if parameter.kind is Parameter.VAR_POSITIONAL), None)
    positional = {
        parameter.name: parameter.default
        for index, parameter in enumerate(parameters)
        if parameter.kind is Parameter.POSITIONAL_ONLY
        or (parameter.kind is Parameter.POSITIONAL_OR_KEYWORD and (variadic or index < count))
    }
    if not positional and variadic is None:
        return _bind_by_keyword

    def bind(values: dict[str, Any], injected: Mapping[str, Any] = NOTHING_INJECTED) -> BoundArguments:
        rest = {**values, **injected}
        args = [
            # Only an injected argument can be missing. Python fills in its default only for a keyword argument.
            rest.pop(name) if default is Parameter.empty else rest.pop(name, default)
            for name, default in positional.items()
        ]
        if variadic is not None:
            args += rest.pop(variadic, ())  # it may be left out
        return args, rest

    return bind


def style_of(function: Callable[..., Any]) -> Style:
    """Return whether *function* is sync or async, and whether it streams."""
    running = find_executed_function(function)
    if inspect.isasyncgenfunction(running):
        return "async_generator"
    if inspect.iscoroutinefunction(running):
        return "async"
    return "generator" if inspect.isgeneratorfunction(running) else "sync"
