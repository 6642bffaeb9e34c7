"""
Read parameters, one after the other, into fields that a model can send.

Parameters that are injected, and that the model does not send, are noted separately. So are the markers: secrets, and
what a call is about to touch.
"""

from __future__ import annotations

import typing
from contextlib import suppress
from inspect import Parameter
from typing import Annotated, Any, ForwardRef, get_args, get_origin

import typing_extensions
from typing_extensions import is_typeddict

from ..access import Access, marked_access
from ..context import is_secret, wanted_resource
from ..docstrings.parsing import Docstring
from ..errors import DefinitionError
from ..values.codecs import (
    MISSING,
    Codec,
    Field,
    Reader,
    Undescribable,
    Unresolved,
    annotated_codec,
    field_notes,
    typed_dict_fields,
)
from .field_markers import markers_in_fields, own_markers

__all__ = ["Parameters"]

_UNPACKS = (typing.Unpack, typing_extensions.Unpack)


class Parameters:
    """
    The parameters that were read so far.

    Attributes:
        fields: The parameters that the model sends.
        extras: The codec of the values in `**kwargs`; None if there is no `**kwargs`.
        wanted: The parameters that are injected and not sent, with the type that each asks for.
        secrets: The parameters whose values are never shown.
        accesses: The parameters that say what a call is about to touch.
    """

    def __init__(self, docstring: Docstring, reader: Reader, subject: str, bound: set[str]) -> None:
        self.fields: list[Field] = []
        self.extras: Codec | None = None
        self.wanted: dict[str, Any] = {}
        self.secrets: set[str] = set()
        self.accesses: dict[str, type[Access]] = {}
        self.reader = reader
        self._texts = docstring.parameters
        self._subject = subject
        self._bound = bound

    def take(self, parameter: Parameter) -> None:
        """Read one more parameter, or raise `DefinitionError` if it has no JSON form."""
        try:
            hint = Any if parameter.annotation is Parameter.empty else parameter.annotation
            if isinstance(hint, str):
                hint = self.reader.resolve(hint)
            resource = wanted_resource(hint, self.reader.resolve)
            if resource is not None:
                self._take_resource(parameter, resource)
            elif parameter.kind is Parameter.VAR_KEYWORD:
                self._take_keywords(parameter.name, hint)
            else:
                self.fields.append(self._field(parameter, hint))
        except (Undescribable, TypeError, ValueError) as error:
            # A hint with too few or too many arguments (`dict[int]`) may fail in any code that takes it apart.
            raise DefinitionError(f"{self._subject}: parameter `{parameter.name}`: {error}") from error
        except RecursionError:
            raise DefinitionError(
                f"{self._subject}: parameter `{parameter.name}`: its type contains itself without end; "
                f"name it with `TypeAliasType`, or make it a record"
            ) from None

    def take_unsent(self, parameter: Parameter) -> None:
        """
        Read a parameter that the model does not send.

        It may still ask for a resource. Otherwise it keeps its default.
        """
        hint = parameter.annotation
        with suppress(Unresolved, Undescribable, TypeError, ValueError, RecursionError):
            resource = wanted_resource(
                self.reader.resolve(hint) if isinstance(hint, str) else hint, self.reader.resolve
            )
            if resource is not None:
                self._take_resource(parameter, resource)

    def encode(self, values: Any) -> dict[str, Any]:
        """Convert decoded arguments back to their JSON form."""
        codecs = {field.name: field.codec for field in self.fields}
        encoded = {}
        for name, value in values.items():
            codec = codecs.get(name, self.extras)
            if codec is None:
                raise ValueError(f"`{name}` is not a parameter")
            encoded[name] = codec.encode(value)
        return encoded

    def _take_resource(self, parameter: Parameter, resource: Any) -> None:
        if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            raise Undescribable("only one is given, so take it as a parameter without * or **")
        self.wanted[parameter.name] = resource

    def _take_keywords(self, name: str, hint: Any) -> None:
        if get_origin(hint) not in _UNPACKS:
            if marked_access(hint) is not None or markers_in_fields(hint) or is_secret(hint):
                raise Undescribable("a marker counts on a parameter that has a name; write it out")
            codec = self.reader.codec(hint)
            text = self._texts.get(name)
            self.extras = codec if not text or codec.description else annotated_codec(codec, [text])
            return
        inner = get_args(hint)[0]
        while isinstance(inner, (str, ForwardRef)):
            inner = self.reader.resolve(inner if isinstance(inner, str) else inner.__forward_arg__)
        if not is_typeddict(get_origin(inner) or inner):
            raise Undescribable(f"Unpack wants a TypedDict here, got {inner!r}")
        for key, field_hint in own_markers(get_origin(inner) or inner).items():
            self._mark(key, field_hint)
        fields, self.extras = typed_dict_fields(inner, self.reader)
        used_names = {field.name for field in self.fields} | self.wanted.keys()
        for field in fields:
            if field.name in used_names:
                raise Undescribable(f"its key `{field.name}` is also a parameter; rename one")
            if text := self._texts.get(field.name):
                field.described(text)
        self.fields += [field for field in fields if field.name not in self._bound]

    def _mark(self, name: str, hint: Any) -> None:
        """Note the markers in *hint*, which is the type of the parameter *name*."""
        if type(hint) is type and hint.__module__ == "builtins":
            return
        hidden = markers_in_fields(hint)
        if is_secret(hint) or any(map(is_secret, hidden)):
            self.secrets.add(name)
        access = marked_access(hint)
        if access is not None:
            self.accesses[name] = access
        stray = next((marker for marker in hidden if not is_secret(marker)), None)
        if stray is not None:
            word = getattr(stray, "__name__", type(stray).__name__)
            raise Undescribable(
                f"`{word}` counts on a parameter, not in a field of a record; take it as a parameter of its own, "
                f"or return it from `preflight=`"
            )

    def _field(self, parameter: Parameter, hint: Any) -> Field:
        self._mark(parameter.name, hint)
        text = self._texts.get(parameter.name, "")
        if parameter.kind is Parameter.VAR_POSITIONAL:
            codec = self.reader.codec(list[hint])
            return Field(name=parameter.name, codec=codec, required=False, factory=list).described(text)
        codec = self.reader.codec(hint)
        default = MISSING if parameter.default is Parameter.empty else parameter.default
        notes = field_notes(default)
        if notes is not None:
            codec = annotated_codec(codec, [default])
        elif default is MISSING:
            notes = next(filter(None, map(field_notes, _metadata(hint))), None)
        factory = None
        if notes is not None:
            factory = notes.factory
            default = notes.default if notes.has_default and factory is None else MISSING
        required = default is MISSING and factory is None
        field = Field(name=parameter.name, codec=codec, required=required, default=default, factory=factory)
        return field.described(text)


def _metadata(hint: Any) -> tuple[Any, ...]:
    return get_args(hint)[1:] if get_origin(hint) is Annotated else ()
