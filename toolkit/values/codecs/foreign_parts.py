"""Take apart the records that another library makes: models and dataclasses of pydantic, and structs of msgspec."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from .base import RecordParts

__all__ = ["read_model_parts", "read_struct_parts"]


def read_model_parts(hint: Any, cls: Any, adapter: Any) -> RecordParts | None:
    """
    Return how a model or a dataclass of pydantic is taken apart, which *adapter* writes.

    Return None if no field has a form of its own: the model is one value, or a function writes the whole of it.
    """
    decorators = getattr(cls, "__pydantic_decorators__", None)
    if getattr(cls, "__pydantic_root_model__", False) or (decorators is not None and decorators.model_serializers):
        return None
    infos = getattr(cls, "__pydantic_fields__", None) or getattr(cls, "model_fields", {})
    names = [field.name for field in fields(cls)] if is_dataclass(cls) else list(infos)
    unsent = {field.name for field in fields(cls) if not field.init} if is_dataclass(cls) else set()
    attributes = {_find_alias(infos.get(name), name): name for name in names if name not in unsent}
    config = getattr(cls, "model_config", None)
    is_open = isinstance(config, dict) and config.get("extra") == "allow"

    def read(record: Any) -> dict[str, Any]:
        values = {name: getattr(record, attribute) for name, attribute in attributes.items()}
        return {**values, **(record.model_extra or {})} if is_open else values

    def encode(values: Mapping[str, Any]) -> dict[str, Any]:
        return {name: encode_value(attributes.get(name), value) for name, value in values.items()}

    def encode_value(attribute: str | None, value: Any) -> Any:
        """Encode one value in a record that has no other, and was never checked, so that the serializer of it runs."""
        blank = object.__new__(cls)
        for name in names:
            object.__setattr__(blank, name, value if name == attribute else None)
        if hasattr(cls, "__pydantic_extra__"):
            object.__setattr__(blank, "__pydantic_extra__", {})
        form = adapter.dump_python(blank, mode="json", by_alias=True, include={attribute or ""}, warnings="error")
        if form:
            return form.popitem()[1]
        from pydantic_core import to_jsonable_python  # the model does not write this value

        return to_jsonable_python(value)

    return RecordParts(hint=hint, attributes=attributes, read=read, encode=encode, is_open=is_open)


def _find_alias(info: Any, name: str) -> str:
    """Return the name of the field *name* in the schema: its first alias that is a plain name, or its own name."""
    alias = getattr(info, "validation_alias", None)
    return next(choice for choice in (alias, *getattr(alias, "choices", ()), name) if isinstance(choice, str))


def read_struct_parts(hint: Any, cls: Any) -> RecordParts:
    """Return how a struct of msgspec is taken apart. The field that tells tagged structs apart is an argument too."""
    import msgspec

    config = cls.__struct_config__
    attributes = dict(zip(cls.__struct_encode_fields__, cls.__struct_fields__, strict=True))
    tag = {} if config.tag_field is None else {config.tag_field: config.tag}

    def read(record: Any) -> dict[str, Any]:
        values = {name: getattr(record, attribute) for name, attribute in attributes.items()}
        return {**tag, **{name: value for name, value in values.items() if value is not msgspec.UNSET}}

    names = {name: name for name in tag} | attributes
    return RecordParts(hint=hint, attributes=names, read=read, encode=msgspec.to_builtins)
