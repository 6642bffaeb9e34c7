"""
Read `Annotated`: descriptions, limits, and codecs that are written in the annotation itself.

Limits can come from annotated-types, pydantic's `Field` and msgspec's `Meta`. None of these packages is imported.
Unknown metadata is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, get_args

from .base import Codec, CodecRules, HintReader, Undescribable
from .limits import (
    Limit,
    apply_limits,
    build_digits_limit,
    build_pattern_limit,
    build_predicate_limit,
    iter_bound_limits,
    iter_length_limits,
    iter_multiple_limits,
)
from .schema_first import make_strict_codec

__all__ = ["RULES", "FieldInfoDefault", "apply_metadata", "read_field_default"]

_PACKAGES = ("annotated_types", "pydantic", "msgspec")


@dataclass(frozen=True, slots=True)
class FieldInfoDefault:
    """The default that a pydantic `FieldInfo` states besides its limits."""

    has_default: bool
    default: Any = None
    factory: Callable[[], Any] | None = None


def read_field_default(value: Any) -> FieldInfoDefault | None:
    """Return the default inside a pydantic `Field(...)`, or None if *value* is not a `FieldInfo`."""
    if type(value).__name__ != "FieldInfo" or not type(value).__module__.startswith("pydantic"):
        return None
    if value.default_factory is not None:
        return FieldInfoDefault(has_default=True, factory=value.default_factory)
    if value.is_required():
        return FieldInfoDefault(has_default=False)
    return FieldInfoDefault(has_default=True, default=value.default)


def apply_metadata(base: Codec, metadata: Sequence[Any]) -> Codec:
    """Return *base* with the descriptions and limits that *metadata* states."""
    limits = [limit for item in _flatten_metadata(metadata) for limit in _iter_limits(base, item)]
    if limits:
        base = apply_limits(base, limits)
    description = next(filter(None, map(_find_description, metadata)), None)
    examples = next(
        (item.examples for item in metadata if _is_from_known_package(item) and getattr(item, "examples", None)), None
    )
    extra: dict[str, Any] = {}
    if description:
        # The type's own description, such as the names of flags, is kept too.
        own = None if base.description else base.schema.get("description")
        extra["description"] = f"{description} {own}" if own else description
    if examples:
        extra["examples"] = list(examples)
    if not extra:
        return base
    return replace(base, schema={**base.schema, **extra}, description=description or base.description, members=())


def _read_annotated(hint: Any, reader: HintReader) -> Codec:
    if not get_args(hint):
        raise Undescribable("Annotated alone says nothing; write a type and what is said of it in brackets")
    inner, *metadata = get_args(hint)
    codec = next((item for item in metadata if isinstance(item, Codec)), None)
    if codec is not None:
        reader.encodes_exactly = False
    return apply_metadata(reader.codec(inner) if codec is None else make_strict_codec(codec), metadata)


def _is_from_known_package(item: Any) -> bool:
    """Return whether *item* comes from one of the packages, or its class derives from a class of annotated-types."""
    own, *bases = (cls.__module__.partition(".")[0] for cls in type(item).__mro__)
    return own in _PACKAGES or "annotated_types" in bases


def _has_base_named(item: Any, name: str) -> bool:
    return any(cls.__name__ == name for cls in type(item).__mro__)


def _find_description(item: Any) -> str | None:
    if isinstance(item, str):
        text: Any = item
    else:
        # `Doc` and annotated-types' DocInfo call the text `documentation`; Field and Meta call it `description`.
        text = getattr(item, "documentation", None) or (
            getattr(item, "description", None) if _is_from_known_package(item) else None
        )
    return text.strip() or None if isinstance(text, str) else None


def _flatten_metadata(metadata: Sequence[Any]) -> Iterator[Any]:
    for item in metadata:
        if not _is_from_known_package(item):
            continue
        if _has_base_named(item, "GroupedMetadata"):
            yield from _flatten_metadata(list(item))
        else:
            yield item
            if isinstance(inner := getattr(item, "metadata", None), (list, tuple)):
                yield from _flatten_metadata(inner)


def _iter_limits(codec: Codec, item: Any) -> Iterator[Limit]:
    def iter_attributes(*names: str) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name in names if (value := getattr(item, name, None)) is not None)

    for name, value in iter_attributes("ge", "gt", "le", "lt"):
        yield from iter_bound_limits(codec, name, value)
    for name, value in iter_attributes("min_length", "max_length"):
        if value or name == "max_length":
            yield from iter_length_limits(codec, name, value)
    for _, value in iter_attributes("multiple_of"):
        yield from iter_multiple_limits(codec, value)
    for name, value in iter_attributes("max_digits", "decimal_places"):
        yield build_digits_limit(name, value)
    for _, value in iter_attributes("pattern"):
        yield build_pattern_limit(value)
    if _has_base_named(item, "Predicate"):
        yield build_predicate_limit(codec, item.func)


RULES = CodecRules({Annotated: _read_annotated})
