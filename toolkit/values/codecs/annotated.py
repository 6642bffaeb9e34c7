"""
Read `Annotated`: descriptions, limits, and codecs that are written in the annotation itself.

Limits can come from annotated-types, pydantic's `Field` and msgspec's `Meta`. None of these packages is imported.
Unknown metadata is ignored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, get_args

from .base import FORMS, Codec, Reader, Undescribable
from .limits import Limit, bound, digits, length, limited, multiple, pattern, predicate
from .schema_first import judged

__all__ = ["FieldNotes", "annotated_codec", "field_notes"]

_FAMILIES = ("annotated_types", "pydantic", "msgspec")


@dataclass(frozen=True, slots=True)
class FieldNotes:
    """The default that a pydantic `FieldInfo` states besides its limits."""

    has_default: bool
    default: Any = None
    factory: Callable[[], Any] | None = None


def field_notes(value: Any) -> FieldNotes | None:
    """Return the default inside a pydantic `Field(...)`, or None if *value* is not a `FieldInfo`."""
    if type(value).__name__ != "FieldInfo" or not type(value).__module__.startswith("pydantic"):
        return None
    if value.default_factory is not None:
        return FieldNotes(has_default=True, factory=value.default_factory)
    if value.is_required():
        return FieldNotes(has_default=False)
    return FieldNotes(has_default=True, default=value.default)


def annotated_codec(base: Codec, metadata: Sequence[Any]) -> Codec:
    """Return *base* with the descriptions and limits that *metadata* states."""
    limits = [limit for item in _flatten_metadata(metadata) for limit in _limits(base, item)]
    if limits:
        base = limited(base, limits)
    description = next(filter(None, map(_description, metadata)), None)
    examples = next((item.examples for item in metadata if _has_family(item) and getattr(item, "examples", None)), None)
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


def _read_annotated(hint: Any, reader: Reader) -> Codec:
    if not get_args(hint):
        raise Undescribable("Annotated alone says nothing; write a type and what is said of it in brackets")
    inner, *metadata = get_args(hint)
    codec = next((item for item in metadata if isinstance(item, Codec)), None)
    return annotated_codec(reader.codec(inner) if codec is None else judged(codec), metadata)


def _has_family(item: Any) -> bool:
    """Return whether *item* comes from one of the packages, or its class derives from a class of annotated-types."""
    own, *bases = (cls.__module__.partition(".")[0] for cls in type(item).__mro__)
    return own in _FAMILIES or "annotated_types" in bases


def _is_a(item: Any, name: str) -> bool:
    return any(cls.__name__ == name for cls in type(item).__mro__)


def _description(item: Any) -> str | None:
    if isinstance(item, str):
        text: Any = item
    else:
        # `Doc` and annotated-types' DocInfo call the text `documentation`; Field and Meta call it `description`.
        text = getattr(item, "documentation", None) or (
            getattr(item, "description", None) if _has_family(item) else None
        )
    return text.strip() or None if isinstance(text, str) else None


def _flatten_metadata(metadata: Sequence[Any]) -> Iterator[Any]:
    for item in metadata:
        if not _has_family(item):
            continue
        if _is_a(item, "GroupedMetadata"):
            yield from _flatten_metadata(list(item))
        else:
            yield item
            if isinstance(inner := getattr(item, "metadata", None), (list, tuple)):
                yield from _flatten_metadata(inner)


def _limits(codec: Codec, item: Any) -> Iterator[Limit]:
    def said(*names: str) -> Iterator[tuple[str, Any]]:
        return ((name, value) for name in names if (value := getattr(item, name, None)) is not None)

    for name, value in said("ge", "gt", "le", "lt"):
        yield from bound(codec, name, value)
    for name, value in said("min_length", "max_length"):
        if value or name == "max_length":
            yield from length(codec, name, value)
    for _, value in said("multiple_of"):
        yield from multiple(codec, value)
    for name, value in said("max_digits", "decimal_places"):
        yield digits(name, value)
    for _, value in said("pattern"):
        yield pattern(value)
    if _is_a(item, "Predicate"):
        yield predicate(codec, item.func)


FORMS[Annotated] = _read_annotated
