"""
Read parameters, one after the other, into fields that a model can send.

Parameters that are injected, and that the model does not send, are noted separately. So are the markers: secrets, and
what a call is about to touch.
"""

from __future__ import annotations

import typing
from collections import abc
from contextlib import suppress
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, ForwardRef, get_args, get_origin

import typing_extensions
from typing_extensions import is_typeddict

from .._lazy_names import LazyModule
from ..access import Access, find_access_marker
from ..context import Injected, Secret, is_secret
from ..docstrings.parsing import Docstring
from ..errors import DefinitionError
from ..values.codecs.annotation_texts import evaluate_running
from ..values.codecs.base import Codec, HintReader, type_name
from ..values.codecs.objects import MISSING, ObjectField, read_field_default
from ..values.codecs.plain_hints import plain_key
from ..values.codecs.refusals import RefusedMetadata, Undescribable, Unresolved, UnsendableType
from .injected_types import find_injected_type
from .unsent_parameters import Omission, ParameterOptions, describe_omissions, describe_refusal, is_optional

if TYPE_CHECKING:
    from ..values.codecs import annotated, field_parts, records
else:  # most parameters have plain types, which have no fields and no metadata
    annotated = LazyModule("toolkit.values.codecs.annotated")
    records = LazyModule("toolkit.values.codecs.records")
    field_parts = LazyModule("toolkit.values.codecs.field_parts")

__all__ = ["Parameters", "find_field_markers"]

_UNPACKS = (typing.Unpack, typing_extensions.Unpack)


class Parameters:
    """
    The parameters that were read so far.

    Attributes:
        fields: The parameters that the model sends.
        extras: The codec of the values in `**kwargs`; None if there is no `**kwargs`.
        injected: The parameters that are injected and not sent, with the type that each asks for.
        secrets: The parameters whose values are never shown.
        accesses: The parameters that say what a call is about to touch.
        unsent: The parameters that keep their default, because they are hidden or have no JSON form.
        hints: The type of each parameter that the model sends, if the fields of one are the arguments.
        bound_items: How many of the arguments in `*args` a partial has bound.
        is_cached: Whether `functools.lru_cache` hashes the arguments of each call.
    """

    def __init__(
        self, docstring: Docstring, reader: HintReader, subject: str, bound_names: set[str], options: ParameterOptions
    ) -> None:
        self.fields: list[ObjectField] = []
        self.extras: Codec | None = None
        self.injected: dict[str, Any] = {}
        self.secrets: set[str] = set()
        self.accesses: dict[str, type[Access]] = {}
        self.unsent: set[str] = set()
        self.hints: dict[str, Any] = {}
        self._left_out: dict[str, str] = {}
        self._narrowed: dict[str, list[str]] = {}
        self._options = options
        self.bound_items = 0
        self.is_cached = False
        self.reader = reader
        self._descriptions = docstring.parameters
        self._subject = subject
        self._bound_names = bound_names

    def add(self, parameter: Parameter) -> None:
        """Read one more parameter. One without a JSON form is left out if it is optional, and otherwise an error."""
        name = parameter.name
        if name in self._options.hidden:
            self._add_hidden(parameter)
            return
        hint = Any if parameter.annotation is Parameter.empty else parameter.annotation
        if name in self._options.inject:
            hint = Annotated[self._options.inject[name], Injected()]
        omitted: list[str] = []
        self.reader.omitted_members = omitted
        try:
            if isinstance(hint, str):
                hint = self.reader.resolve(hint)
            resource = None if plain_key(hint) else find_injected_type(hint, self.reader.resolve)
            if resource is not None:
                self._add_resource(parameter, resource)
            elif parameter.kind is Parameter.VAR_KEYWORD:
                self._add_keywords(parameter.name, hint)
            else:
                self.fields.append(self._build_field(parameter, hint))
            if omitted:
                self._narrowed[name] = list(dict.fromkeys(omitted))
        except UnsendableType as error:
            if self._leave_out(parameter, error.reason):
                return
            text = describe_refusal(parameter, hint, error.reason) if error.is_unknown else str(error)
            raise DefinitionError(f"{self._subject}: parameter `{name}`: {text}") from error
        except (Undescribable, RefusedMetadata, TypeError, ValueError) as error:
            # A hint with too few or too many arguments (`dict[int]`) may fail in any code that takes it apart.
            raise DefinitionError(f"{self._subject}: parameter `{name}`: {error}") from error
        except RecursionError:
            if self._leave_out(parameter, "its type contains itself without end"):
                return
            raise DefinitionError(
                f"{self._subject}: parameter `{name}`: its type contains itself without end; "
                f"name it with `TypeAliasType`, or make it a record"
            ) from None

    def _leave_out(self, parameter: Parameter, reason: str) -> bool:
        """Leave a parameter out that has no JSON form, and return whether that is possible."""
        name = parameter.name
        has_effect = name in self.accesses or read_field_default(parameter.default) is not None
        if has_effect or not is_optional(parameter):
            return False
        self._left_out[name] = reason
        self.unsent.add(name)
        self.secrets.discard(name)
        return True

    def add_unsent(self, parameter: Parameter) -> None:
        """Read a parameter that the model does not send. It asks for a resource, or keeps its default."""
        if parameter.name in self._options.inject:
            self.add(parameter)
            return
        self.unsent.add(parameter.name)
        hint = parameter.annotation
        with suppress(Unresolved, Undescribable, RefusedMetadata, TypeError, ValueError, RecursionError):
            resource = find_injected_type(
                self.reader.resolve(hint) if isinstance(hint, str) else hint, self.reader.resolve
            )
            if resource is not None:
                self._add_resource(parameter, resource)
                self.unsent.remove(parameter.name)

    def _add_hidden(self, parameter: Parameter) -> None:
        """Note a parameter that the option `hidden` names. Its type need not be known, and is not imported."""
        self.unsent.add(parameter.name)
        hint, marker = parameter.annotation, None
        with suppress(Exception):  # the annotation may be any text
            if isinstance(hint, str):
                hint = evaluate_running(hint, self.reader.namespaces)
            marker = find_access_marker(hint)
        if marker is not None:
            raise DefinitionError(
                f"{self._subject}: parameter `{parameter.name}`: it is marked `{marker.__name__}`, and the check would "
                f"not see its default if it were hidden; return the access from `preflight=` and take the marker away"
            )

    def describe_omissions(self) -> list[Omission]:
        """Return what the schema leaves out, with the parameters and the remedy."""
        return describe_omissions(self._left_out, self._narrowed)

    def _add_resource(self, parameter: Parameter, resource: Any) -> None:
        if parameter.kind in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD):
            raise Undescribable("only one is given, so take it as a parameter without * or **")
        from ..values.codecs.type_checking_names import MissingName  # most tools get no resource

        if isinstance(resource, MissingName):
            raise Undescribable(f"{resource.__name__} is not known ({resource.reason}); import it for the program too")
        self.injected[parameter.name] = resource

    def _add_keywords(self, name: str, hint: Any) -> None:
        if get_origin(hint) not in _UNPACKS:
            if find_access_marker(hint) is not None or find_field_markers(hint) or is_secret(hint):
                raise Undescribable("a marker counts on a parameter that has a name; write it out")
            codec = self.reader.codec(hint)
            text = self._descriptions.get(name)
            self.extras = (
                codec if not text or codec.description else annotated.apply_metadata(codec, [text], self.reader)
            )
            return
        inner = self._resolve_unpacked(hint)
        if not is_typeddict(get_origin(inner) or inner):
            raise Undescribable(f"Unpack wants a TypedDict here, got {inner!r}")
        for key, field_hint in field_parts.read_field_hints(get_origin(inner) or inner).items():
            self.collect_markers(key, field_hint)
        fields, self.extras = records.read_typed_dict_fields(inner, self.reader)
        used_names = {field.name for field in self.fields} | self.injected.keys()
        for field in fields:
            if field.name in used_names:
                raise Undescribable(f"its key `{field.name}` is also a parameter; rename one")
            if text := self._descriptions.get(field.name):
                field.describe(text)
        self.fields += [field for field in fields if field.name not in self._bound_names]

    def collect_markers(self, name: str, hint: Any) -> None:
        """Note the markers in *hint*, which is the type of the parameter *name*."""
        if plain_key(hint) or (type(hint) is type and hint.__module__ == "builtins"):
            return
        hidden = find_field_markers(hint)
        if is_secret(hint) or any(map(is_secret, hidden)):
            self.secrets.add(name)
        access = find_access_marker(hint)
        if access is not None:
            self.accesses[name] = access
        stray = next((marker for marker in hidden if not is_secret(marker)), None)
        if stray is not None:
            word = getattr(stray, "__name__", type(stray).__name__)
            raise Undescribable(
                f"`{word}` counts on a parameter, not in a field of a record; take it as a parameter of its own, "
                f"or return it from `preflight=`"
            )

    def _build_field(self, parameter: Parameter, hint: Any) -> ObjectField:
        name, default = parameter.name, parameter.default
        if self._options.flat:  # its fields have the markers
            self.hints[name] = hint
        else:
            self.collect_markers(name, hint)
        text = self._descriptions.get(name, "")
        if parameter.kind is Parameter.VAR_POSITIONAL:
            return self._build_positional_field(name, hint).describe(text)
        codec = self.reader.codec(hint)
        if self.is_cached and (kind := _find_unhashable(hint)) is not None:
            raise Undescribable(
                f"`functools.lru_cache` looks its arguments up by their hash, and {type_name(kind)} has none, so every "
                f"call would fail; take a tuple, a frozenset or a frozen record, or use the hook `Cache` instead"
            )
        if default is Parameter.empty:
            default = MISSING
        notes = read_field_default(default)
        if notes is not None:
            codec = annotated.apply_metadata(codec, [default], self.reader)
        elif default is MISSING:
            notes = next(filter(None, map(read_field_default, getattr(hint, "__metadata__", ()))), None)
        factory = None
        if notes is not None:
            notes = notes.checked_by(codec)
            default, factory = notes.default, notes.factory
        required = default is MISSING and factory is None
        field = ObjectField(name=name, codec=codec, required=required, default=default, factory=factory)
        return field.describe(text)

    def _build_positional_field(self, name: str, hint: Any) -> ObjectField:
        """Return the field for `*args`, whose annotation is the type of one argument or an unpacked tuple."""
        is_unpacked = get_origin(hint) in _UNPACKS
        if not is_unpacked and not getattr(hint, "__unpacked__", False):
            return ObjectField(name=name, codec=self.reader.codec(list[hint]), required=False, factory=list)
        inner = self._resolve_unpacked(hint) if is_unpacked else hint
        if isinstance(inner, (typing.TypeVarTuple, typing_extensions.TypeVarTuple)):
            inner = tuple[Any, ...]
        if get_origin(inner) is not tuple:
            raise Undescribable(f"Unpack wants a tuple here, got {type_name(inner)}; write the type of one argument")
        items = get_args(inner)
        if len(items) == 2 and items[1] is Ellipsis:
            return self._build_positional_field(name, items[0])
        items = items[self.bound_items :]
        try:
            codec = self.reader.codec(tuple[items])  # type: ignore[valid-type]  # the items are known only at run time
        except UnsendableType as error:
            raise Undescribable(str(error)) from error  # the items are required, so they cannot be left out
        return ObjectField(name=name, codec=codec, required=bool(items), factory=None if items else tuple)

    def _resolve_unpacked(self, hint: Any) -> Any:
        """Return the type in the brackets of `Unpack`, where a forward reference is resolved."""
        inner = get_args(hint)[0]
        while isinstance(inner, (str, ForwardRef)):
            inner = self.reader.resolve(inner)
        return inner


_LISTS = (abc.Sequence, abc.MutableSequence, abc.Iterable, abc.Collection)


def _find_unhashable(hint: Any) -> Any:
    """Return *hint* without its metadata if its values cannot be hashed, and None otherwise."""
    while get_origin(hint) is Annotated:
        hint = get_args(hint)[0]
    kind = get_origin(hint) or hint
    return hint if kind in _LISTS or (isinstance(kind, type) and kind.__hash__ is None) else None


def find_field_markers(hint: Any) -> list[Any]:
    """Return the markers in the fields of records in *hint*. An `Access` has no effect there, but a `Secret` has."""
    return [
        part
        for _, part in field_parts.iter_field_parts(hint)
        if isinstance(part, (Access, Secret))
        or (isinstance(part, type) and (issubclass(part, Access) or is_secret(part)))
    ]
