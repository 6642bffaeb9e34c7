"""
Make the fields of one record the arguments of a tool.

A function with the option `flat` has one parameter that is sent, and the type of this parameter is a record. A call
sends the fields of the record. Rules, hooks, previews and the functions that are options see the fields as the
arguments. The function gets the record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from inspect import Parameter
from typing import Annotated, Any, get_args, get_origin

from .._plumbing.records import record
from ..access import find_access_marker
from ..context import is_secret
from ..docstrings.parsing import Docstring
from ..errors import DefinitionError, Problem
from ..values.codecs.aliases import substitute_variables
from ..values.codecs.base import Codec, RecordParts, Schema, type_name
from ..values.codecs.class_hints import field_descriptions
from ..values.codecs.code_writer import CodeWriter
from ..values.codecs.field_parts import read_field_hints
from ..values.codecs.objects import ObjectField, decode_fields
from ..values.codecs.refusals import Refusal, Undescribable, problems_of
from .parameters import Parameters

__all__ = ["FlatArguments", "FlatRecord", "find_flat_record"]

_RECORDS = "a dataclass, a pydantic model, an attrs class, a msgspec struct, a TypedDict or a named tuple"


class FlatArguments(dict[str, Any]):
    """The decoded fields of a record by their names in JSON, and the record itself, which the function gets."""

    __slots__ = ("record",)
    record: Any

    def __init__(self, values: Mapping[str, Any], record: Any) -> None:
        super().__init__(values)
        self.record = record


@record(frozen=True, slots=True, kw_only=True)
class FlatRecord:
    """
    The parameter whose fields are the arguments.

    Attributes:
        name: The name of the parameter.
        codec: The codec of its record.
        parts: How the record is taken apart.
        schema: The schema of the fields.
        ignores_names: Whether the record ignores names that it does not have, which the schema refuses.
    """

    name: str
    codec: Codec
    parts: RecordParts
    schema: Schema
    ignores_names: bool

    def build_codec(self, added: Sequence[ObjectField]) -> Codec:
        """Return the codec of the arguments: the fields of the record, and *added* parameters that have defaults."""
        parts, added_names = self.parts, frozenset(field.name for field in added)
        properties = self.schema["properties"] | {field.name: field.schema for field in added}
        names, defaults = frozenset(properties), decode_fields({}, added)[0]

        def decode(value: Any) -> FlatArguments:
            if not isinstance(value, dict):
                raise Refusal.mismatch("an object", value)
            added_values, problems = decode_fields(value, added)
            problems += [Problem("unknown key", (name,)) for name in value if self.ignores_names and name not in names]
            own = {name: item for name, item in value.items() if name not in added_names} if added else value
            try:
                taken = self.codec.decode(own)
            except Exception as error:  # noqa: BLE001 -- a constructor may raise anything; each exception is reported
                problems += problems_of(error)
            if problems:
                raise Refusal(*problems)
            return FlatArguments(parts.read(taken) | added_values, taken)

        def encode(values: Mapping[str, Any]) -> dict[str, Any]:
            unknown = [] if parts.is_open else [name for name in values if name not in names]
            if unknown:
                raise ValueError(f"`{unknown[0]}` is not a parameter")
            own = {name: value for name, value in values.items() if name not in added_names}
            others = {field.name: field.codec.encode(values[field.name]) for field in added if field.name in values}
            return parts.encode(own) | others

        def take_apart(taken: Any) -> FlatArguments:
            return FlatArguments(parts.read(taken) | defaults, taken)

        def emit(writer: CodeWriter, value: str) -> str:
            writer.require(f"type({value}) is dict")
            if added:
                writer.require(f"{writer.constant(added_names)}.isdisjoint({value})")
            if self.ignores_names:
                writer.require(f"{writer.constant(names)}.issuperset({value})")
            return f"{writer.constant(take_apart)}({writer.convert(self.codec, value)})"

        return Codec(schema={**self.schema, "properties": properties}, decode=decode, encode=encode, emit=emit)

    def find_record(self, values: dict[str, Any]) -> Any:
        """Return the record of which *values* are the fields."""
        if isinstance(values, FlatArguments):
            return values.record
        return self.codec.decode(self.parts.encode(values))  # a copy of decoded arguments has lost it


def find_flat_record(
    reading: Parameters, parameters: Sequence[Parameter], docstring: Docstring, subject: str
) -> FlatRecord:
    """
    Return the parameter whose fields are the arguments, and note the markers of its fields.

    Raises:
        DefinitionError: The parameter is not the only one, its type is not a record, or a field is not kept.
    """
    field = _find_only_field(reading, parameters, subject)
    hint, parts = reading.hints[field.name], field.codec.parts
    definition = reading.reader.schema_of(field.codec)
    place = f"{subject}: parameter `{field.name}`: `flat=True` makes the fields of a record the arguments"
    if parts is None or definition.get("type") != "object":
        raise DefinitionError(
            f"{place}, and {type_name(hint)} has no fields to send one by one; annotate it with {_RECORDS}, "
            f"or leave `flat` out"
        )
    if not field.required:
        raise DefinitionError(
            f"{place}, so its default would never be used; give the fields their defaults, and `{field.name}` none"
        )
    cls = get_origin(parts.hint) or parts.hint
    # pydantic lists what a dataclass computes itself, and would ignore what is sent for it.
    computed = {own.name for own in fields(cls) if not own.init} if is_dataclass(cls) else ()
    properties = {name: part for name, part in definition.get("properties", {}).items() if name not in computed}
    lost = [name for name in properties if name not in parts.attributes]
    if lost:
        raise DefinitionError(
            f"{place}, but {type_name(parts.hint)} does not keep `{lost[0]}`, so no rule and no preview could see it; "
            f"make it a plain field, or leave `flat` out"
        )
    _collect_markers(reading, field.name, hint, parts, subject)
    schema = {**definition, **{key: value for key, value in field.schema.items() if key != "$ref"}}
    schema["properties"] = _describe_fields(properties, parts, docstring)
    if not parts.is_open:
        schema["additionalProperties"] = False
    ignores_names = not parts.is_open and definition.get("additionalProperties") is not False
    return FlatRecord(name=field.name, codec=field.codec, parts=parts, schema=schema, ignores_names=ignores_names)


def _find_only_field(reading: Parameters, parameters: Sequence[Parameter], subject: str) -> ObjectField:
    variadic = {parameter.name for parameter in parameters if parameter.kind is Parameter.VAR_POSITIONAL}
    names = [f"*{field.name}" if field.name in variadic else field.name for field in reading.fields]
    if reading.extras is not None:
        names += [f"**{parameter.name}" for parameter in parameters if parameter.kind is Parameter.VAR_KEYWORD]
    if len(names) == 1 and names[0] in reading.hints:
        return reading.fields[0]
    sent = f"a model sends {', '.join(f'`{name}`' for name in names)}" if names else "a model sends nothing"
    raise DefinitionError(
        f"{subject}: `flat=True` makes the fields of one parameter the arguments, and {sent}; "
        f"take one parameter that is a record, or leave `flat` out"
    )


def _collect_markers(reading: Parameters, name: str, hint: Any, parts: RecordParts, subject: str) -> None:
    """Note which fields are secret, and which say what a call is about to touch."""
    cls = get_origin(parts.hint) or parts.hint
    variables = dict(zip(getattr(cls, "__parameters__", ()), get_args(parts.hint), strict=False))
    hints = read_field_hints(cls)
    try:
        for argument, attribute in parts.attributes.items():
            reading.collect_markers(argument, substitute_variables(hints.get(attribute, Any), variables))
    except (Undescribable, TypeError, ValueError) as error:
        raise DefinitionError(f"{subject}: parameter `{name}`: field `{argument}`: {error}") from error
    metadata = getattr(hint, "__metadata__", ())
    if any(map(is_secret, metadata)):
        reading.secrets |= parts.attributes.keys()
    if metadata and (marker := find_access_marker(Annotated[(Any, *metadata)])) is not None:
        raise DefinitionError(
            f"{subject}: parameter `{name}`: it is marked `{marker.__name__}`, and its fields are the arguments; "
            f"mark the field that names the target"
        )


def _describe_fields(properties: Mapping[str, Any], parts: RecordParts, docstring: Docstring) -> dict[str, Any]:
    """Return *properties*; one that has no description gets that of the function's docstring, or of the class's."""
    texts = field_descriptions(get_origin(parts.hint) or parts.hint)
    described = {}
    for name, schema in properties.items():
        text = docstring.parameters.get(name) or texts.get(parts.attributes[name])
        described[name] = {**schema, "description": text} if text and "description" not in schema else schema
    return described
