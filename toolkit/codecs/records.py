"""
Classes with named fields: dataclasses, typed dicts, named tuples, attrs classes.

All are JSON objects. Each kind of class is read into a list of `Field`s. What
the class's constructor raises is a problem of the call.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import MISSING as NO_DEFAULT
from dataclasses import is_dataclass
from typing import Any, Never, get_args, get_origin

import typing_extensions

from ..docstrings import Docstring, attribute_docstrings
from ..docstrings import parse as parse_docstring
from .aliases import substituted
from .base import KINDS, Codec, Reader, type_name
from .objects import MISSING, Field, object_codec

__all__ = ["class_description"]


class _Hints:
    """The annotations of a class, each read as it is meant where it was written."""

    def __init__(self, hint: Any, reader: Reader) -> None:
        self.cls: Any = get_origin(hint) or hint
        self.reader = reader
        self.written: dict[str, tuple[Any, type]] = {}
        for owner in reversed(self.cls.__mro__):
            for name, annotation in inspect.get_annotations(owner).items():
                self.written[name] = (annotation, owner)
        self.variables = _variables(self.cls, [substituted(each, reader.variables) for each in get_args(hint)])

    @contextmanager
    def scope(self, owner: Any) -> Iterator[None]:
        module = vars(sys.modules[owner.__module__]) if owner.__module__ in sys.modules else {}
        parameters = {each.__name__: each for each in getattr(owner, "__parameters__", ())}
        local = [self.reader.local] if "<locals>" in owner.__qualname__ else []
        # A field's own name may hide a type (`date: date = ...`), so the class body is asked last.
        names = [vars(owner), {owner.__name__: owner}, module, *local, parameters]
        with self.reader.inside(*names, variables=self.variables.get(owner, {})):
            yield

    def codec(self, name: str, annotation: Any = MISSING) -> Codec:
        written, owner = self.written.get(name, (Any, self.cls))
        with self.scope(owner):
            return self.reader.codec(written if annotation is MISSING else annotation)

    def evaluated(self, name: str) -> Any:
        written, owner = self.written[name]
        if isinstance(written, (str, typing_extensions.ForwardRef)):
            with self.scope(owner):
                return self.reader.resolve(written if isinstance(written, str) else written.__forward_arg__)
        return written


def _variables(cls: Any, arguments: Sequence[Any]) -> dict[Any, dict[Any, Any]]:
    """What the type variables of *cls* and of its bases stand for."""
    own = dict(zip(getattr(cls, "__parameters__", ()), arguments, strict=False))
    found: dict[Any, dict[Any, Any]] = {cls: own}
    for base in cls.__dict__.get("__orig_bases__", cls.__bases__):
        origin = get_origin(base) or base
        if isinstance(origin, type):
            found.update(_variables(origin, [substituted(each, own) for each in get_args(base)]))
    return found


def class_description(cls: type) -> Docstring:
    """What the author wrote about a class; what Python makes up itself (`Point(x, y)`) does not count."""
    text = cls.__dict__.get("__doc__") or ""
    return parse_docstring(None if text.startswith(f"{cls.__name__}(") else text)


def _texts(cls: type) -> tuple[str, Mapping[str, str]]:
    own = class_description(cls)
    texts: dict[str, str] = {}
    for owner in reversed(cls.__mro__[:-1]):
        texts.update(class_description(owner).parameters)
    texts.update(attribute_docstrings(cls))
    return own.description, texts


def _record(hint: Any, reader: Reader, fields_of: Callable[[_Hints], list[Field]], **options: Any) -> Codec:
    """A codec for a class that is made from its fields by keyword, and keeps them as attributes."""
    cls: Any = get_origin(hint) or hint

    fields: list[Field] = []

    def encode(value: Any) -> dict[str, Any]:
        if not isinstance(value, cls):
            raise TypeError(f"expected {cls.__name__}, got {type(value).__name__}")
        return {
            field.name: field.codec.encode(getattr(value, field.attribute))
            for field in fields
            if field.attribute is not None
        }

    def make() -> Codec:
        fields.extend(fields_of(_Hints(hint, reader)))
        description, texts = _texts(cls)
        for field in fields:
            field.described(texts.get(field.attribute or field.name, "") or texts.get(field.name, ""))
        codec = object_codec(fields, cls, encode, kind=cls, hashable=cls.__hash__ is not None, **options)
        if description:
            codec.schema["description"] = description
        return codec

    return reader.named(_identity(hint, reader), _definition_name(hint), make)


def _identity(hint: Any, reader: Reader) -> Any:
    return get_origin(hint) or hint, tuple(substituted(each, reader.variables) for each in get_args(hint))


def _definition_name(hint: Any) -> str:
    cls: Any = get_origin(hint) or hint
    words = [cls.__name__, *(type_name(argument) for argument in get_args(hint))]
    return re.sub(r"[^A-Za-z0-9_.-]+", "_", "_".join(words)).strip("_") or "Record"


# Dataclasses.


def _dataclass(hint: Any, reader: Reader) -> Codec:
    return _record(hint, reader, _dataclass_fields)


def _dataclass_fields(hints: _Hints) -> list[Field]:
    cls = hints.cls
    # A hand-written constructor may order its parameters as it likes; the generated one has the fields' order.
    generated = getattr(getattr(cls.__init__, "__code__", None), "co_filename", "") == "<string>"
    stored = {name for name, each in cls.__dataclass_fields__.items() if _field_kind(each) == "_FIELD"}
    fields = []
    for name, each in cls.__dataclass_fields__.items():
        if _field_kind(each) == "_FIELD_CLASSVAR" or not each.init:
            continue
        codec = hints.codec(name)
        described = each.metadata.get("description")
        field = Field(
            name=name,
            codec=codec,
            required=each.default is NO_DEFAULT and each.default_factory is NO_DEFAULT,
            default=MISSING if each.default is NO_DEFAULT else each.default,
            factory=None if each.default_factory is NO_DEFAULT else each.default_factory,
            attribute=name if name in stored else None,
            positional=generated and not each.kw_only,
        )
        fields.append(_with_description(field, described))
    return fields


def _field_kind(field: Any) -> str:
    # dataclasses tells InitVar and ClassVar pseudo-fields apart only by this attribute.
    return str(field._field_type.name)  # noqa: SLF001


def _with_description(field: Field, text: Any) -> Field:
    if isinstance(text, str) and text and not field.codec.description:
        field.codec = _described_codec(field.codec, text)
    return field


def _described_codec(codec: Codec, text: str) -> Codec:
    from dataclasses import replace

    return replace(codec, schema={**codec.schema, "description": text}, description=text)


# Named tuples.


def _named_tuple(hint: Any, reader: Reader) -> Codec:
    return _record(hint, reader, _named_tuple_fields)


def _named_tuple_fields(hints: _Hints) -> list[Field]:
    defaults = hints.cls._field_defaults
    return [
        Field(
            name=name,
            codec=hints.codec(name),
            required=name not in defaults,
            default=defaults.get(name, MISSING),
            attribute=name,
            positional=hints.cls.__new__.__code__.co_filename.startswith("<"),
        )
        for name in hints.cls._fields
    ]


# attrs.


def _attrs(hint: Any, reader: Reader) -> Codec:
    return _record(hint, reader, _attrs_fields)


def _attrs_fields(hints: _Hints) -> list[Field]:
    attr = sys.modules["attr"]
    fields = []
    for each in hints.cls.__attrs_attrs__:
        if not each.init:
            continue
        made = isinstance(each.default, attr.Factory)
        known = each.default is not attr.NOTHING and not made
        field = Field(
            name=each.alias,
            codec=hints.codec(each.name, Any if each.type is None else each.type),
            required=each.default is attr.NOTHING,
            # A factory that looks at the object under way has to be left to the constructor.
            default=each.default if known else MISSING,
            factory=each.default.factory if made and not each.default.takes_self else None,
            attribute=each.name,
        )
        fields.append(_with_description(field, (each.metadata or {}).get("description")))
    return fields


# Typed dicts.


def _typed_dict(hint: Any, reader: Reader) -> Codec:
    cls: Any = get_origin(hint) or hint

    def make() -> Codec:
        fields, extras = typed_dict_fields(hint, reader)
        by_name = {field.name: field for field in fields}

        def encode(value: Any) -> dict[str, Any]:
            if not isinstance(value, dict):
                raise TypeError(f"expected {cls.__name__}, got {type(value).__name__}")
            missing = [field.name for field in fields if field.required and field.name not in value]
            unknown = [] if extras else [name for name in value if name not in by_name]
            if missing or unknown:
                raise ValueError(f"the keys do not fit {cls.__name__}: {', '.join(map(str, missing + unknown))}")
            return {
                name: (by_name[name].codec if name in by_name else extras or by_name[name].codec).encode(each)
                for name, each in value.items()
            }

        codec = object_codec(fields, dict, encode, extras=extras, as_dict=True)
        description = class_description(cls).description
        if description:
            codec.schema["description"] = description
        return codec

    return reader.named(_identity(hint, reader), _definition_name(hint), make)


def typed_dict_fields(hint: Any, reader: Reader) -> tuple[list[Field], Codec | None]:
    """The described fields of a typed dict, and the codec of further items if it has any."""
    hints = _Hints(hint, reader)
    # A typed dict's bases are erased; what their variables stand for is known only together.
    everything = {variable: meant for each in _typed_dict_variables(hint, reader) for variable, meant in each.items()}
    hints.variables = dict.fromkeys(hints.variables, everything)
    _, texts = _texts(hints.cls)
    fields = []
    for name in hints.written:
        annotation = hints.evaluated(name)
        qualified = _requirement(annotation)
        required = name in hints.cls.__required_keys__ if qualified is None else qualified
        field = Field(name=name, codec=hints.codec(name, annotation), required=required)
        fields.append(field.described(texts.get(name, "")))
    extra: Any = getattr(hints.cls, "__extra_items__", None)
    if extra in (None, Never, typing_extensions.Never) or "NoExtra" in repr(extra):
        return fields, None
    with hints.scope(hints.cls):
        return fields, reader.codec(extra)


def _typed_dict_variables(hint: Any, reader: Reader) -> list[dict[Any, Any]]:
    cls: Any = get_origin(hint) or hint
    return list(_variables(cls, [substituted(each, reader.variables) for each in get_args(hint)]).values())


def _requirement(annotation: Any) -> bool | None:
    """Whether `Required` or `NotRequired` stands around the type, under other qualifiers."""
    origin = get_origin(annotation)
    while origin is not None:
        if origin in (typing_extensions.Required, typing_extensions.NotRequired):
            return origin is typing_extensions.Required
        if origin is not typing_extensions.ReadOnly and not hasattr(annotation, "__metadata__"):
            break
        annotation = get_args(annotation)[0]
        origin = get_origin(annotation)
    return None


def _is_record(question: Callable[[Any], bool]) -> Callable[[Any], bool]:
    def recognises(hint: Any) -> bool:
        cls = get_origin(hint) or hint
        return isinstance(cls, type) and question(cls)

    return recognises


KINDS += [
    (typing_extensions.is_typeddict, _typed_dict),
    (lambda hint: typing_extensions.is_typeddict(get_origin(hint)), _typed_dict),
    (_is_record(is_dataclass), _dataclass),
    (_is_record(lambda cls: issubclass(cls, tuple) and hasattr(cls, "_fields")), _named_tuple),
    (_is_record(lambda cls: "__attrs_attrs__" in vars(cls)), _attrs),
]
