"""
Describe a tool made of a schema and a handler, which takes the whole JSON object of a call as one argument.

A handler may have further parameters if they are annotated `Context` or `Inject[T]`, or if they have a default. A
handler that a call could not reach is refused when its tool is made.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from inspect import Parameter
from typing import Any, get_origin

from ..docstrings.parsing import parse, words
from ..errors import DefinitionError
from ..values.codecs.base import Codec, HintReader
from ..values.codecs.refusals import Unresolved
from ..values.codecs.rules import create_hint_reader
from ..values.strictjson.checks import copy_json
from .background_parameter import drop_background
from .callables import find_source_location, get_qualname, unwrap_function
from .description import Description, warn_of_missing_docstring
from .handwritten_schemas import copy_schema, find_secrets
from .injected_types import find_injected_type
from .namespaces import Scope
from .outputs import OutputDescription
from .signature import NOTHING_INJECTED, Binder, BoundArguments, Signature, style_of
from .unsent_parameters import NO_OPTIONS
from .wrappers import VARIADIC

__all__ = ["HandlerDescription", "read_handler"]

_BY_POSITION = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_NO_OBJECTS = (str, bytes, bool, int, float, list, tuple, set, frozenset)
"""Classes that a JSON object never is. Other annotations of the parameter are not checked."""


class HandlerDescription(Description):
    """The description of a tool made of a schema and a handler. Calls take the same path as for other tools."""

    __slots__ = ()

    def __init__(
        self,
        handler: Callable[..., Any],
        *,
        name: str,
        text: str | None,
        schema: Mapping[str, Any],
        output_schema: Mapping[str, Any] | None = None,
        examples: Sequence[Mapping[str, Any]] = (),
        background: bool = False,
        is_foreign: bool = False,
    ) -> None:
        self.subject = f"tool `{name}`"
        self.background = background
        self.docstring = parse(None)
        self.text = text or words(name)
        self.unbound = False
        function = None if is_foreign else handler
        own = self._copy_schema(schema, function)
        codec = Codec(schema=own, decode=copy_json, encode=lambda value: value)
        self._schema = own
        self._examples = examples
        self._parameter_options = NO_OPTIONS
        self._scope = None
        self._checker = None
        self._encode_output = None
        self._schema_copies = None
        injected, bind = read_handler(handler, self.subject)
        output = OutputDescription()
        if output_schema is not None:
            output = OutputDescription(
                schema=copy_schema(output_schema, self.subject, function, name="the output schema")
            )
        self._signature = Signature(
            codec=codec,
            schema=own,
            returns=output,
            injected=injected,
            secrets=find_secrets(own),
            accesses={},
            bind=drop_background(bind) if background else bind,
            style=style_of(handler),
        )
        if not text:
            warn_of_missing_docstring(self.subject, self.text, find_source_location(handler))
        if examples:
            self._check_examples(self.checker)


def read_handler(handler: Callable[..., Any], subject: str) -> tuple[dict[str, Any], Binder]:
    """
    Return the types to inject into *handler*, by parameter, and the function that binds its arguments.

    Raises:
        DefinitionError: The handler cannot be called with one JSON object.
    """
    try:
        parameters = list(inspect.signature(handler).parameters.values())
    except (ValueError, TypeError):  # a builtin without a readable signature
        return {}, _bind_object
    if isinstance(handler, functools.partial):  # what a partial has bound is not filled again
        parameters = [parameter for parameter in parameters if parameter.name not in handler.keywords]
    reading = _HandlerReading(handler, parameters, subject)
    injected = reading.find_injected()
    target = reading.find_target(injected)
    return injected, _build_handler_binder(parameters, target, injected) if injected else _bind_object


class _HandlerReading:
    """The parameters of one handler, and the words for what is wrong with them."""

    def __init__(self, handler: Any, parameters: list[Parameter], subject: str) -> None:
        self._handler = handler
        self._parameters = parameters
        self._subject = subject
        self._reader: HintReader | None = None  # most handlers have no annotation that has to be looked up

    def _read_hint(self, hint: Any) -> Any:
        if self._reader is None:
            scope = Scope(self._handler)
            self._reader = create_hint_reader(scope.global_names, scope.local_names())
        return self._reader.resolve(hint)

    def find_injected(self) -> dict[str, Any]:
        """Return the type that each parameter annotated `Context` or `Inject[T]` requests."""
        injected = {}
        for parameter in self._parameters:
            kind = self._find_injected_type(parameter)
            if kind is None:
                continue
            if parameter.kind in VARIADIC:
                raise self._refuse(f"only one {parameter.name} is given, so take it as a parameter without * or **")
            injected[parameter.name] = kind
        return injected

    def find_target(self, injected: Mapping[str, Any]) -> Parameter:
        """Return the parameter that receives the JSON object, or raise `DefinitionError` if it is not the only one."""
        data = [parameter for parameter in self._parameters if parameter.name not in injected]
        target = next(
            (parameter for parameter in data if parameter.kind in (*_BY_POSITION, Parameter.VAR_POSITIONAL)), None
        )
        if target is None:
            raise self._refuse("it needs one positional parameter for the object, as in `def call(self, arguments)`")
        others = [
            parameter.name
            for parameter in data
            if parameter is not target and parameter.kind not in VARIADIC and parameter.default is Parameter.empty
        ]
        if others:
            names = ", ".join(f"`{name}`" for name in others)
            raise self._refuse(
                "it is a method without its object; give the method of an instance"
                if target.name in ("self", "cls")
                else f"annotate {names} as `Context` or `Inject[T]`, or give a default; to take the arguments by name, "
                f"decorate a function with `@tool(schema=...)`"
            )
        kind = self._resolve(target.annotation)
        kind = get_origin(kind) or kind
        if kind in _NO_OBJECTS:
            raise self._refuse(
                f"`{target.name}` would be a dictionary and not {kind.__name__}; annotate it `dict[str, Any]`, "
                f"or decorate a function with `@tool(schema=...)` to take the arguments by name"
            )
        return target

    def _find_injected_type(self, parameter: Parameter) -> Any:
        annotation = parameter.annotation
        try:
            return None if annotation is Parameter.empty else find_injected_type(annotation, self._read_hint)
        except Unresolved as missing:
            if any(word in str(annotation) for word in ("Context", "Inject")):
                raise self._refuse(
                    f"the annotation of `{parameter.name}` names `{missing.name}`, which is not defined; "
                    f"define or import it before the tool is made"
                ) from None
        except (DefinitionError, TypeError, ValueError):  # the annotation has no meaning, so it requests nothing
            pass
        return None

    def _resolve(self, hint: Any) -> Any:
        try:
            return self._read_hint(hint) if isinstance(hint, str) else hint
        except (Unresolved, DefinitionError, TypeError, ValueError):
            return None

    def _refuse(self, remedy: str) -> DefinitionError:
        handler = self._handler
        name = get_qualname(handler) or get_qualname(unwrap_function(handler)) or type(handler).__qualname__
        shown = ", ".join(map(_show_parameter, self._parameters))
        return DefinitionError(
            f"{self._subject}: the handler `{name}({shown})` is called with one JSON object; {remedy}"
        )


def _show_parameter(parameter: Parameter) -> str:
    # The default is left out, because its text may be of any length.
    bare = str(parameter.replace(annotation=Parameter.empty, default=Parameter.empty))
    return bare if parameter.default is Parameter.empty else f"{bare}=..."


def _bind_object(values: dict[str, Any], injected: Mapping[str, Any] = NOTHING_INJECTED) -> BoundArguments:
    return [values], {}


def _build_handler_binder(parameters: list[Parameter], target: Parameter, injected_names: Mapping[str, Any]) -> Binder:
    """Return a function that passes the object in place of *target*, and the injected values to their parameters."""
    positional_only = [parameter for parameter in parameters if parameter.kind is Parameter.POSITIONAL_ONLY]
    count = max(parameters.index(target) + 1, len(positional_only))
    by_position = parameters[:count]
    by_keyword = [parameter.name for parameter in parameters[count:] if parameter.name in injected_names]

    def bind(values: dict[str, Any], injected: Mapping[str, Any] = NOTHING_INJECTED) -> BoundArguments:
        # A resource that is not provided leaves the default of its parameter.
        args = [
            values if parameter is target else injected.get(parameter.name, parameter.default)
            for parameter in by_position
        ]
        return args, {name: injected[name] for name in by_keyword if name in injected}

    return bind
