"""
Convert JSON objects with known properties.

A record class, a typed dict and the parameters of a function are all read into the same list of `ObjectField`s.
`object_codec` makes the codec from that list.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Mapping, Sequence
from dataclasses import field as dataclass_field
from dataclasses import replace
from itertools import takewhile
from typing import Any

from ..._plumbing.records import record
from ...errors import Problem
from .base import MAX_PROBLEMS, Codec, Schema
from .code_writer import CodeWriter, is_identifier
from .ranks import CodecRank
from .refusals import Refusal, RefusedMetadata, problems_below

__all__ = ["MISSING", "ObjectField", "build_encoder", "decode_fields", "object_codec", "read_field_default"]


class _Missing:
    __slots__ = ()

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Any = _Missing()
"""The value that means that there is no default."""


@record(slots=True, kw_only=True, eq=False)
class ObjectField:
    """
    One property of a JSON object, and the place of its value in the Python object.

    Attributes:
        name: The name of the property.
        codec: The codec of its values.
        required: Whether the property must be present.
        default: The value that is used if the property is absent. With `MISSING`, the constructor decides.
        factory: Makes the default if it must be new each time.
        attribute: The attribute in which an object keeps the value; None if the object does not keep it.
        schema: The schema that a model sees: the codec's schema with description and default.
    """

    name: str
    codec: Codec
    required: bool = True
    default: Any = MISSING
    factory: Callable[[], Any] | None = None
    attribute: str | None = None
    schema: Schema = dataclass_field(default_factory=dict)

    def describe(self, text: str = "") -> ObjectField:
        """Complete `schema` with the description *text*, unless the annotation has one, and with the default."""
        self.schema = dict(self.codec.schema)
        if self.default is not MISSING:
            try:
                form = self.codec.encode(self.default)
                # A default that can be encoded but would be refused must not be shown to a model.
                self.codec.decode(form)
                self.schema["default"] = form
            except Exception:  # noqa: BLE001, S110 -- a sentinel or a hostile object is passed through, but not shown
                pass
        if text and not self.codec.description:
            own = self.codec.schema.get("description")
            self.schema["description"] = f"{text} {own}" if own else text
        return self


def _object_schema(fields: Sequence[ObjectField], extras: Codec | None) -> Schema:
    """Return the schema of an object with *fields*. Without the codec *extras*, no further properties are allowed."""
    schema: Schema = {"type": "object", "properties": {field.name: field.schema for field in fields}}
    required = [field.name for field in fields if field.required]
    if required:
        schema["required"] = required
    if extras is None:
        schema["additionalProperties"] = False
    elif extras.schema:
        schema["additionalProperties"] = extras.schema
    return schema


def object_codec(
    fields: Sequence[ObjectField],
    build: Callable[..., Any],
    encode: Callable[[Any], Any],
    *,
    kind: type | None = None,
    extras: Codec | None = None,
    forbidden: frozenset[str] = frozenset(),
    as_dict: bool = False,
    is_assignable: bool = False,
    hashable: bool = False,
) -> Codec:
    """
    Return the codec of an object with *fields*.

    *build* gets the values as keyword arguments. With *as_dict*, *build* is not called, and the decoded dictionary is
    the value. With *is_assignable*, *build* is a class whose constructor only assigns its arguments. The names in
    *forbidden* are refused even if *extras* are allowed. Only decoding refuses them; no schema shows them to a model.
    """
    schema = _object_schema(fields, extras)

    def decode(value: Any) -> Any:
        if not isinstance(value, dict):
            raise Refusal.mismatch("an object", value)
        values, problems = decode_fields(value, fields)
        extra_values, extra_problems = _decode_extras(value, {field.name for field in fields}, extras, forbidden)
        if problems or extra_problems:
            raise Refusal(*problems, *extra_problems)
        values |= extra_values
        return values if as_dict else build(**values)

    def emit(writer: CodeWriter, value: str) -> str:
        results, maybe_absent, extra_values = _emit_fields(writer, value, fields, extras, forbidden)
        if is_assignable and not extra_values and not maybe_absent:
            return _emit_assignments(writer, build, {field.name: results[field.name] for field in fields})
        return _emit_build(writer, fields, build, results, maybe_absent, extra_values, as_dict)

    return Codec(
        schema=schema,
        decode=decode,
        encode=encode,
        type=kind,
        breadth=_measure_breadth(fields, extras, fills=not as_dict),
        decisive=all(field.codec.decisive for field in fields) and (extras is None or extras.decisive),
        hashable=hashable,
        tags=_find_tags(fields),
        emit=emit,
    )


def build_encoder(fields: Sequence[ObjectField], extras: Codec | None) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
    """Return a function that converts the decoded values of *fields*, all or some of them, back to their JSON form."""

    def encode(values: Mapping[str, Any]) -> dict[str, Any]:
        codecs = {field.name: field.codec for field in fields}
        encoded = {}
        for name, value in values.items():
            codec = codecs.get(name, extras)
            if codec is None:
                raise ValueError(f"`{name}` is not a parameter")
            encoded[name] = codec.encode(value)
        return encoded

    return encode


def decode_fields(value: dict[str, Any], fields: Sequence[ObjectField]) -> tuple[dict[str, Any], list[Problem]]:
    """Decode *fields* from *value* with defaults filled in; also return the problems."""
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for field in fields:
        if field.name in value:
            try:
                values[field.name] = field.codec.decode(value[field.name])
            except Exception as error:  # noqa: BLE001 -- a constructor may raise anything; each exception is reported
                problems += problems_below(field.name, error)
        elif field.required:
            problems.append(Problem("required, but missing", (field.name,)))
        elif field.factory is not None:
            values[field.name] = field.factory()
        elif field.default is not MISSING:
            values[field.name] = field.default
    return values, problems


def _decode_extras(
    value: dict[str, Any], declared: Container[str], extras: Codec | None, forbidden: frozenset[str]
) -> tuple[dict[str, Any], list[Problem]]:
    """Decode the keys that are not *declared* with *extras*; also return the problems."""
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, item in value.items():
        if len(problems) >= MAX_PROBLEMS:
            break
        if name in declared:
            continue
        if extras is None:
            problems.append(Problem("unknown key", (name,)))
        elif name in forbidden:
            problems.append(Problem("not yours to give; use another key", (name,)))
        else:
            try:
                values[name] = extras.decode(item)
            except Exception as error:  # noqa: BLE001 -- as above
                problems += problems_below(name, error)
    return values, problems


def _measure_breadth(fields: Sequence[ObjectField], extras: Codec | None, *, fills: bool) -> tuple[Any, ...]:
    """
    Return how much JSON an object accepts, so that a union reads back what it wrote.

    A record writes all its fields. Another record that accepts them and fills in more fields would write more the next
    time. So records that fill in nothing come first, then records with fewer fields, then records whose fields accept
    less.
    """
    filled = len(fields) if fills and not all(field.required for field in fields) else 0
    by_name = sorted(fields, key=lambda field: field.name)
    rank = CodecRank.RECORD if extras is None else CodecRank.OPEN_RECORD
    return rank, filled, tuple(field.codec.breadth for field in by_name)


def _find_tags(fields: Sequence[ObjectField]) -> Mapping[str, frozenset[str]]:
    return {
        field.name: frozenset(field.codec.choices)
        for field in fields
        if field.codec.choices and all(isinstance(choice, str) for choice in field.codec.choices)
    }


def _emit_fields(
    writer: CodeWriter, value: str, fields: Sequence[ObjectField], extras: Codec | None, forbidden: frozenset[str]
) -> tuple[dict[str, str], list[str], str]:
    """
    Write the checks of all fields.

    Return the names of the converted values by field, the fields that may be absent, and the name of the dictionary of
    extra values, if there is one.
    """
    writer.require(f"type({value}) is dict")
    required = [field for field in fields if field.required]
    optional = [field for field in fields if not field.required]
    # If every key is required, comparing lengths finds unknown keys. Otherwise the known keys are counted.
    results: dict[str, str] = {}
    for field in required:
        name = writer.new_name()
        writer.line(f"{name} = {value}[{field.name!r}]")  # a KeyError means `UNSURE`
        results[field.name] = writer.convert(field.codec, name)
    if optional or extras is not None:
        count = writer.new_name()
        writer.line(f"{count} = {len(required)}")
    maybe_absent: list[str] = []
    for field in optional:
        result = writer.new_name()
        with writer.block(f"if {field.name!r} in {value}:"):
            writer.line(f"{count} += 1")
            writer.line(f"{result} = {value}[{field.name!r}]")
            writer.line(f"{result} = {writer.convert(field.codec, result)}")
        with writer.block("else:"):
            if field.factory is not None:
                writer.line(f"{result} = {writer.constant(field.factory)}()")
            elif field.default is not MISSING:
                writer.line(f"{result} = {writer.constant(field.default)}")
            else:
                maybe_absent.append(field.name)
                writer.line(f"{result} = U")
        results[field.name] = result
    extra_values = ""
    if extras is None:
        writer.require(f"len({value}) == {count if optional else len(required)}")
    else:
        extra_values = _emit_extras(writer, value, fields, extras, forbidden, count)
    return results, maybe_absent, extra_values


def _emit_assignments(writer: CodeWriter, cls: Any, results: Mapping[str, str]) -> str:
    """Write what the constructor of *cls* does. Calling the constructor would take twice as long."""
    built = writer.new_name()
    writer.line(f"{built} = {writer.constant(object.__new__)}({writer.constant(cls)})")
    for name, result in results.items():
        writer.line(f"{built}.{name} = {result}")
    return built


def _emit_build(
    writer: CodeWriter,
    fields: Sequence[ObjectField],
    build: Callable[..., Any],
    results: Mapping[str, str],
    maybe_absent: Collection[str],
    extra_values: str,
    as_dict: bool,
) -> str:
    """Write the call of *build*, or the dictionary that stands for it."""
    if not as_dict and not extra_values and not maybe_absent and all(is_identifier(field.name) for field in fields):
        arguments = ", ".join(f"{field.name}={results[field.name]}" for field in fields)
        return f"{writer.constant(build)}({arguments})"
    # The dictionary keeps the order of the fields, even if some fields are absent.
    leading_fields = list(takewhile(lambda field: field.name not in maybe_absent, fields))
    literal = f"{{{', '.join(f'{field.name!r}: {results[field.name]}' for field in leading_fields)}}}"
    if as_dict and not extra_values and not maybe_absent:
        return literal
    values = writer.new_name()
    writer.line(f"{values} = {literal}")
    for field in fields[len(leading_fields) :]:
        condition = f"if {results[field.name]} is not U: " if field.name in maybe_absent else ""
        writer.line(f"{condition}{values}[{field.name!r}] = {results[field.name]}")
    if extra_values:
        writer.line(f"{values}.update({extra_values})")
    return values if as_dict else f"{writer.constant(build)}(**{values})"


def _emit_extras(
    writer: CodeWriter, value: str, fields: Sequence[ObjectField], extras: Codec, forbidden: frozenset[str], count: str
) -> str:
    extra_values, key, item = writer.new_name(), writer.new_name(), writer.new_name()
    declared = writer.constant(frozenset(field.name for field in fields))
    writer.line(f"{extra_values} = {{}}")
    with (
        writer.block(f"if len({value}) != {count}:"),
        writer.block(f"for {key}, {item} in {value}.items():"),
        writer.block(f"if {key} not in {declared}:"),
    ):
        writer.require_text(key)
        if forbidden:
            writer.line(f"if {key} in {writer.constant(forbidden)}: return U")
        writer.line(f"{extra_values}[{key}] = {writer.convert(extras, item)}")
    return extra_values


@record(frozen=True, slots=True)
class FieldInfoDefault:
    """
    The default that a pydantic `FieldInfo` states besides its limits.

    Attributes:
        default: The default; `MISSING` if there is none, or if a factory makes it.
        factory: Makes the default.
        is_checked: Whether the default has to pass the same checks as a value that is sent.
    """

    default: Any = MISSING
    factory: Callable[[], Any] | None = None
    is_checked: bool = False

    def checked_by(self, codec: Codec) -> FieldInfoDefault:
        """Return the same default, checked by *codec* if that was asked for."""
        if not self.is_checked:
            return self
        if self.factory is not None:
            factory = self.factory
            return replace(self, factory=lambda: codec.decode(codec.encode(factory())))
        try:
            return replace(self, default=codec.decode(codec.encode(self.default)))
        except (TypeError, ValueError) as error:
            raise RefusedMetadata(f"Field(validate_default=True): the default is refused: {error}") from error


def read_field_default(value: Any) -> FieldInfoDefault | None:
    """Return the default inside a pydantic `Field(...)`, or None if *value* is not a `FieldInfo`."""
    if type(value).__name__ != "FieldInfo" or not type(value).__module__.startswith("pydantic"):
        return None
    if value.is_required():
        return FieldInfoDefault()
    is_checked = bool(value.validate_default)
    if value.default_factory is not None:
        return FieldInfoDefault(factory=value.default_factory, is_checked=is_checked)
    return FieldInfoDefault(value.default, is_checked=is_checked)
