"""Convert typed dicts: JSON objects that stay dictionaries."""

from __future__ import annotations

from typing import Any, Never, get_args, get_origin

import typing_extensions

from .base import Codec, CodecRules, HintReader
from .class_hints import ClassHints, class_key, definition_name, field_descriptions, parse_class_docstring
from .code_writer import CodeWriter
from .encode_writer import InlineEncode
from .objects import ObjectField, object_codec

__all__ = ["RULES", "read_typed_dict_fields"]


_MAX_BRANCHES = 20
"""The most keys for which generated code compares names one after the other."""


def _read_typed_dict(hint: Any, reader: HintReader) -> Codec:
    cls: Any = get_origin(hint) or hint

    def make() -> Codec:
        fields, extras = read_typed_dict_fields(hint, reader)
        codecs = {field.name: field.codec for field in fields}

        def encode(value: Any) -> dict[str, Any]:
            if not isinstance(value, dict):
                raise TypeError(f"expected {cls.__name__}, got {type(value).__name__}")
            missing = [field.name for field in fields if field.required and field.name not in value]
            if missing:
                raise ValueError(f"{cls.__name__} needs the keys {', '.join(missing)}")
            encoded: dict[str, Any] = {}
            for name, item in value.items():
                codec = codecs.get(name, extras)
                if codec is None:
                    raise ValueError(f"{cls.__name__} has no key {name!r}")
                encoded[name] = codec.encode(item)
            return encoded

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
        return codec

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
    if extra in (None, Never, typing_extensions.Never) or "NoExtra" in repr(extra):
        return fields, None
    with hints.scope(hints.cls):
        return fields, reader.codec(extra)


def _requirement(annotation: Any) -> bool | None:
    """
    Return whether the type is marked `Required` (True) or `NotRequired` (False), also under other qualifiers.

    Return None if neither is there.
    """
    origin = get_origin(annotation)
    while origin is not None:
        if origin in (typing_extensions.Required, typing_extensions.NotRequired):
            return origin is typing_extensions.Required
        if origin is not typing_extensions.ReadOnly and not hasattr(annotation, "__metadata__"):
            break
        annotation = get_args(annotation)[0]
        origin = get_origin(annotation)
    return None


RULES = CodecRules(
    by_predicate=[
        (typing_extensions.is_typeddict, _read_typed_dict),
        (lambda hint: typing_extensions.is_typeddict(get_origin(hint)), _read_typed_dict),
    ]
)
