"""
Convert classes with named fields: dataclasses, named tuples, attrs classes, typed dicts.

All of them are JSON objects. Each kind of class is read into a list of `ObjectField`s. An exception that the
constructor of the class raises is a problem of the call. Typed dicts stay dictionaries.

As an argument, a record has the fields that its constructor takes. As a return value, it has the fields that its
objects keep, also those with `init=False`.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import is_dataclass, replace
from typing import Any, Never, get_args, get_origin

import typing_extensions

from .base import Codec, CodecRules, HintReader, RecordParts
from .class_hints import ClassHints, class_key, definition_name, field_descriptions, parse_class_docstring
from .code_writer import CodeWriter, InlineEncode, is_identifier
from .limits import Limit, apply_limits, iter_bound_limits, iter_length_limits
from .objects import MISSING, ObjectField, build_encoder, object_codec, read_field_default
from .refusals import RefusedMetadata, UnsendableType, build_type_error

__all__ = ["RULES", "read_typed_dict_fields"]


def _record_codec(hint: Any, reader: HintReader, fields_of: Callable[[ClassHints], list[ObjectField]]) -> Codec:
    """Return a codec for a class that takes its fields as keyword arguments and keeps them as attributes."""
    cls: Any = get_origin(hint) or hint
    fields: list[ObjectField] = []

    def encode(value: Any) -> dict[str, Any]:
        if not isinstance(value, cls):
            raise build_type_error(value, cls.__name__)
        form = {}
        for field in fields:
            if field.attribute is not None and (field.required or hasattr(value, field.attribute)):
                form[field.name] = field.codec.encode(getattr(value, field.attribute))
        return form

    def emit_encoding(writer: CodeWriter, value: str) -> str:
        """Write that every field is read. If a field that may be absent is absent, the answer is `UNSURE`."""
        writer.require(f"type({value}) is {writer.constant(cls)}")
        entries = []
        for field in fields:
            if field.attribute is not None:
                part = writer.new_name()
                name = field.attribute
                read = f"{value}.{name}" if is_identifier(name) else f"getattr({value}, {name!r})"
                writer.line(f"{part} = {read}")
                entries.append(f"{field.name!r}: {writer.convert(field.codec, part)}")
        return f"{{{', '.join(entries)}}}"

    def make() -> Codec:
        fields.extend(fields_of(ClassHints(hint, reader)))
        texts = field_descriptions(cls)
        for field in fields:
            if read_field_default(field.default) is not None:
                raise RefusedMetadata(
                    f"{cls.__name__}.{field.name}: `= Field(...)` counts only in a dataclass; "
                    f"write `Annotated[..., Field(...)]`"
                )
            field.describe(texts.get(field.attribute or field.name, "") or texts.get(field.name, ""))
        hashable = cls.__hash__ is not None
        if cls.__hash__ is tuple.__hash__:
            hashable = all(field.codec.hashable for field in fields)
        build = functools.partial(_build_record, cls) if reader.for_output else cls
        codec = object_codec(
            fields,
            build,
            InlineEncode(encode, emit_encoding),
            kind=cls,
            is_assignable=build is cls and _only_assigns(cls, fields),
            hashable=hashable,
        )
        if description := parse_class_docstring(cls).description:
            codec.schema["description"] = description
        return replace(codec, parts=_record_parts(hint, fields))

    return reader.define_codec(class_key(hint, reader), definition_name(hint, reader), make)


def _record_parts(hint: Any, fields: Sequence[ObjectField]) -> RecordParts:
    """Return how a record is taken apart that keeps *fields* as attributes."""
    attributes = {field.name: field.attribute for field in fields if field.attribute is not None}

    def read(record: Any) -> dict[str, Any]:
        return {name: getattr(record, attribute) for name, attribute in attributes.items()}

    return RecordParts(hint=hint, attributes=attributes, read=read, encode=build_encoder(fields, None))


def _build_record(cls: Any, /, **values: Any) -> Any:
    """Return a record made from those *values* that its constructor accepts. It computes the others itself."""
    parameters = inspect.signature(cls).parameters
    return cls(**{name: value for name, value in values.items() if name in parameters})


def _only_assigns(cls: Any, fields: Sequence[ObjectField]) -> bool:
    """Return whether the constructor of *cls* does nothing but assign *fields*, as in most dataclasses."""
    options = vars(cls).get("__dataclass_params__")
    if options is None or options.frozen or not options.init or hasattr(cls, "__post_init__"):
        return False
    declared = cls.__dataclass_fields__
    return (
        # `dataclass` writes constructors inside a function of this name, and keeps one that the class has.
        getattr(getattr(vars(cls).get("__init__"), "__code__", None), "co_qualname", None)
        == "__create_fn__.<locals>.__init__"
        and cls.__new__ is object.__new__
        and type(cls).__call__ is type.__call__
        and declared.keys() == {field.name for field in fields}
        and all(dc_field.init and _field_kind(dc_field) == "_FIELD" for dc_field in declared.values())
        and all(map(is_identifier, declared))
    )


# Dataclasses.


def _fields_of_dataclass(hints: ClassHints) -> list[ObjectField]:
    declared = hints.cls.__dataclass_fields__
    if hints.reader.for_output:
        return [_kept_field(hints, dc_field) for dc_field in declared.values() if _field_kind(dc_field) == "_FIELD"]
    init_fields = [
        dc_field for dc_field in declared.values() if dc_field.init and _field_kind(dc_field) != "_FIELD_CLASSVAR"
    ]
    code = getattr(hints.cls.__init__, "__code__", None)
    parameters = code.co_varnames[1 : code.co_argcount + code.co_kwonlyargcount] if code is not None else ()
    if list(parameters) != [
        dc_field.name for dc_field in sorted(init_fields, key=lambda dc_field: bool(dc_field.kw_only))
    ]:
        return [_parameter_field(hints, parameter) for parameter in inspect.signature(hints.cls).parameters.values()]
    return [_init_field(hints, dc_field) for dc_field in init_fields]


def _init_field(hints: ClassHints, dc_field: Any) -> ObjectField:
    field = ObjectField(
        name=dc_field.name,
        codec=hints.codec(dc_field.name),
        required=dc_field.default is NO_DEFAULT and dc_field.default_factory is NO_DEFAULT,
        default=MISSING if dc_field.default is NO_DEFAULT else dc_field.default,
        factory=None if dc_field.default_factory is NO_DEFAULT else dc_field.default_factory,
        attribute=dc_field.name if _field_kind(dc_field) == "_FIELD" else None,
    )
    return _with_description(field, dc_field.metadata.get("description"))


def _kept_field(hints: ClassHints, dc_field: Any) -> ObjectField:
    """Return a field of a return value. One that the constructor does not take may never have been set."""
    field = _init_field(hints, dc_field)
    field.required = field.required and dc_field.init
    return field


def _parameter_field(hints: ClassHints, parameter: inspect.Parameter) -> ObjectField:
    """Return the field for a parameter of a handwritten constructor. The class may have its annotation."""
    if parameter.kind not in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY):
        raise UnsendableType(f"{hints.cls.__name__}: its __init__ takes `{parameter}`; take plain parameters")
    name = parameter.name
    return ObjectField(
        name=name,
        codec=hints.codec(name, MISSING if parameter.annotation is parameter.empty else parameter.annotation),
        required=parameter.default is parameter.empty,
        default=MISSING if parameter.default is parameter.empty else parameter.default,
        attribute=name if name in hints.cls.__dataclass_fields__ else None,
    )


def _field_kind(field: Any) -> str:
    # Only this attribute tells InitVar and ClassVar pseudo-fields from real fields.
    return str(field._field_type.name)  # noqa: SLF001


def _with_description(field: ObjectField, text: Any) -> ObjectField:
    if isinstance(text, str) and text and not field.codec.description:
        schema = {**field.codec.schema, "description": text}
        field.codec = replace(field.codec, schema=schema, description=text, members=())
    return field


# Named tuples.


def _fields_of_named_tuple(hints: ClassHints) -> list[ObjectField]:
    defaults = hints.cls._field_defaults
    return [
        ObjectField(
            name=name,
            codec=hints.codec(name),
            required=name not in defaults,
            default=defaults.get(name, MISSING),
            attribute=name,
        )
        for name in hints.cls._fields
    ]


# attrs.


def _fields_of_attrs(hints: ClassHints) -> list[ObjectField]:
    attr = sys.modules["attr"]
    fields = []
    for attribute in hints.cls.__attrs_attrs__:
        if not attribute.init and not hints.reader.for_output:
            continue
        has_factory = isinstance(attribute.default, attr.Factory)
        has_default = attribute.default is not attr.NOTHING and not has_factory
        codec = hints.codec(attribute.name, Any if attribute.type is None else attribute.type)
        # A validator sees what a converter has made of the argument, and a handwritten constructor may call none.
        if attribute.converter is None and not hints.reader.for_output and not hasattr(hints.cls, "__attrs_init__"):
            codec = _limit_by_validator(codec, attribute.validator)
        field = ObjectField(
            name=attribute.alias,
            codec=codec,
            required=attribute.init and attribute.default is attr.NOTHING,
            # A factory that takes the unfinished object must be left to the constructor.
            default=attribute.default if has_default else MISSING,
            factory=attribute.default.factory if has_factory and not attribute.default.takes_self else None,
            attribute=attribute.name,
        )
        fields.append(_with_description(field, (attribute.metadata or {}).get("description")))
    return fields


_COMPARISONS = {">=": "ge", ">": "gt", "<=": "le", "<": "lt"}


def _limit_by_validator(codec: Codec, validator: Any) -> Codec:
    """Return *codec* with the limits that a *validator* of attrs states. The constructor checks the others alone."""
    limits = list(_iter_validator_limits(codec, validator))
    return apply_limits(codec, limits) if limits and "$ref" not in codec.schema else codec


def _iter_validator_limits(codec: Codec, validator: Any) -> Iterator[Limit]:
    kind = type(validator)
    if kind.__module__ not in ("attr.validators", "attr._make"):
        return
    match kind.__name__:
        case "_AndValidator":
            for inner in validator._validators:  # noqa: SLF001 -- attrs has no other way to read it
                yield from _iter_validator_limits(codec, inner)
        case "_OptionalValidator":
            yield from _iter_validator_limits(codec, validator.validator)
        case "_NumberValidator" if validator.compare_op in _COMPARISONS:
            yield from iter_bound_limits(codec, _COMPARISONS[validator.compare_op], validator.bound)
        case "_MinLengthValidator":
            yield from iter_length_limits(codec, "min_length", validator.min_length)
        case "_MaxLengthValidator":
            yield from iter_length_limits(codec, "max_length", validator.max_length)


# Typed dicts.

_MAX_BRANCHES = 20
"""The most keys for which generated code compares names one after the other."""


def _read_typed_dict(hint: Any, reader: HintReader) -> Codec:
    cls: Any = get_origin(hint) or hint

    def make() -> Codec:
        fields, extras = read_typed_dict_fields(hint, reader)
        names = {field.name: field.name for field in fields}
        encode_items = build_encoder(fields, extras)

        def encode(value: Any) -> dict[str, Any]:
            if not isinstance(value, dict):
                raise build_type_error(value, cls.__name__)
            missing = [field.name for field in fields if field.required and field.name not in value]
            if missing:
                raise ValueError(f"{cls.__name__} needs the keys {', '.join(missing)}")
            unknown = [name for name in value if extras is None and name not in names]
            if unknown:
                raise ValueError(f"{cls.__name__} has no key {unknown[0]!r}")
            return encode_items(value)

        def emit_encoding(writer: CodeWriter, value: str) -> str:
            result, name, item = writer.new_name(), writer.new_name(), writer.new_name()
            writer.require(f"type({value}) is dict")
            for field in fields:
                if field.required:
                    writer.require(f"{field.name!r} in {value}")
            writer.line(f"{result} = {{}}")
            with writer.block(f"for {name}, {item} in {value}.items():"):
                for index, field in enumerate(fields):
                    with writer.block(f"{'elif' if index else 'if'} {name} == {field.name!r}:"):
                        writer.line(f"{result}[{field.name!r}] = {writer.convert(field.codec, item)}")
                writer.line("else: return U" if fields else "return U")
            return result

        encoding = InlineEncode(encode, emit_encoding) if extras is None and len(fields) <= _MAX_BRANCHES else encode
        codec = object_codec(fields, dict, encoding, extras=extras, as_dict=True)
        if description := parse_class_docstring(cls).description:
            codec.schema["description"] = description
        parts = RecordParts(hint=hint, attributes=names, read=dict, encode=encode_items, is_open=extras is not None)
        return replace(codec, parts=parts)

    return reader.define_codec(class_key(hint, reader), definition_name(hint, reader), make)


def read_typed_dict_fields(hint: Any, reader: HintReader) -> tuple[list[ObjectField], Codec | None]:
    """Return the described fields of a typed dict, and the codec of its extra items, if it allows them."""
    hints = ClassHints(hint, reader)
    texts = field_descriptions(hints.cls)
    fields = []
    for name in hints.annotations:
        annotation = hints.evaluate(name)
        qualified = _requirement(annotation)
        required = name in hints.cls.__required_keys__ if qualified is None else qualified
        field = ObjectField(name=name, codec=hints.codec(name, annotation), required=required)
        fields.append(field.describe(texts.get(name, "")))
    extra: Any = getattr(hints.cls, "__extra_items__", None)
    if extra in (None, Never) or "NoExtra" in repr(extra):
        return fields, None
    with hints.scope(hints.cls):
        return fields, reader.codec(extra)


def _requirement(annotation: Any) -> bool | None:
    """Return whether the type is marked `Required` or `NotRequired`, also under other qualifiers; None if neither."""
    origin = get_origin(annotation)
    while origin is not None:
        if origin in (typing_extensions.Required, typing_extensions.NotRequired):
            return origin is typing_extensions.Required
        if origin is not typing_extensions.ReadOnly and not hasattr(annotation, "__metadata__"):
            break
        annotation = get_args(annotation)[0]
        origin = get_origin(annotation)
    return None


def _class_rule(
    recognises: Callable[[Any], bool], fields_of: Callable[[ClassHints], list[ObjectField]]
) -> tuple[Callable[[Any], bool], Callable[[Any, HintReader], Codec]]:
    """Return the rule for the classes that *recognises* accepts."""

    def is_record(hint: Any) -> bool:
        cls = get_origin(hint) or hint
        return isinstance(cls, type) and recognises(cls)

    return is_record, functools.partial(_record_codec, fields_of=fields_of)


RULES = CodecRules(
    by_predicate=[
        _class_rule(is_dataclass, _fields_of_dataclass),
        _class_rule(lambda cls: issubclass(cls, tuple) and hasattr(cls, "_fields"), _fields_of_named_tuple),
        _class_rule(lambda cls: hasattr(cls, "__attrs_attrs__"), _fields_of_attrs),
        (lambda hint: typing_extensions.is_typeddict(get_origin(hint) or hint), _read_typed_dict),
    ]
)
