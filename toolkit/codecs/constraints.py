"""
`Annotated`: descriptions, limits, and codecs given on the spot.

Limits are understood from annotated-types, pydantic's `Field` and msgspec's
`Meta` without importing any of them. A limit that JSON Schema can say goes
into the schema; one that it cannot (a least date, a predicate) is held
against the decoded value. Unknown metadata is ignored.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any, get_args

from ..errors import Problem
from ..patterns import compile_pattern
from ..strictjson import show
from .base import FORMS, Codec, Reader, Refusal, Undescribable
from .writer import Writer

__all__ = ["FieldNotes", "annotated_codec", "field_notes"]

_FAMILIES = ("annotated_types", "pydantic", "msgspec")

_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool], str, str]] = {
    "ge": ("minimum", operator.ge, ">=", "at least"),
    "gt": ("exclusiveMinimum", operator.gt, ">", "more than"),
    "le": ("maximum", operator.le, "<=", "at most"),
    "lt": ("exclusiveMaximum", operator.lt, "<", "less than"),
}
_LENGTHS = {
    "min_length": (("minLength", "minItems", "minProperties"), operator.ge, ">=", "at least"),
    "max_length": (("maxLength", "maxItems", "maxProperties"), operator.le, "<=", "at most"),
}
_SIZED = (("string", "str", "characters"), ("array", "list", "items"), ("object", "dict", "entries"))


@dataclass(frozen=True, slots=True)
class Limit:
    """
    One limit, held against the JSON value or against what was decoded from it.

    Attributes:
        keywords: How JSON Schema says it; empty if it cannot.
        holds: The check itself.
        message: What would be right.
        on_decoded: Whether `holds` looks at the decoded value.
        source: The check as an expression over `{0}`, for generated code; without it jsonschema decides.
    """

    keywords: dict[str, Any]
    holds: Callable[[Any], bool]
    message: str
    on_decoded: bool = False
    source: Callable[[Writer, str], str] | None = None


@dataclass(frozen=True, slots=True)
class FieldNotes:
    """What a pydantic `FieldInfo` given as a default says besides its limits."""

    has_default: bool
    default: Any = None
    factory: Callable[[], Any] | None = None


def field_notes(value: Any) -> FieldNotes | None:
    """The default inside a pydantic `Field(...)`; None if *value* is not one."""
    if type(value).__name__ != "FieldInfo" or not type(value).__module__.startswith("pydantic"):
        return None
    if value.default_factory is not None:
        return FieldNotes(has_default=True, factory=value.default_factory)
    if value.is_required():
        return FieldNotes(has_default=False)
    return FieldNotes(has_default=True, default=value.default)


def annotated_codec(base: Codec, metadata: Sequence[Any]) -> Codec:
    """*base* with the descriptions and limits that *metadata* states."""
    for item in metadata:
        if isinstance(item, Codec):
            base = item
    limits = [limit for item in _flattened(metadata) for limit in _limits(base, item)]
    if limits:
        base = _limited(base, limits)
    description = next(filter(None, map(_description, metadata)), None)
    examples = next((item.examples for item in metadata if _family(item) and getattr(item, "examples", None)), None)
    extra: dict[str, Any] = {"description": description} if description else {}
    if examples:
        extra["examples"] = list(examples)
    return (
        replace(base, schema={**base.schema, **extra}, description=description or base.description) if extra else base
    )


def _annotated(hint: Any, reader: Reader) -> Codec:
    inner, *metadata = get_args(hint)
    given = next((item for item in metadata if isinstance(item, Codec)), None)
    return annotated_codec(given or reader.codec(inner), metadata)


def _family(item: Any) -> bool:
    return type(item).__module__.partition(".")[0] in _FAMILIES


def _description(item: Any) -> str | None:
    if isinstance(item, str):
        text: Any = item
    else:
        # `Doc` and annotated-types' DocInfo say documentation; Field and Meta say description.
        text = getattr(item, "documentation", None) or (getattr(item, "description", None) if _family(item) else None)
    return text.strip() or None if isinstance(text, str) else None


def _flattened(metadata: Sequence[Any]) -> Iterator[Any]:
    for item in metadata:
        if _family(item):
            yield item
            if isinstance(inner := getattr(item, "metadata", None), (list, tuple)):
                yield from inner


def _limits(codec: Codec, item: Any) -> Iterator[Limit]:
    for name in _BOUNDS:
        if (bound := getattr(item, name, None)) is not None:
            yield _bound(codec, name, bound)
    for name in _LENGTHS:
        length = getattr(item, name, None)
        if isinstance(length, int) and (length or name == "max_length"):
            yield from _length(codec, name, length)
    if (factor := getattr(item, "multiple_of", None)) is not None:
        yield _multiple(codec, factor)
    if (pattern := getattr(item, "pattern", None)) is not None:
        yield _pattern(getattr(pattern, "pattern", pattern))
    if type(item).__name__ == "Predicate" and callable(function := getattr(item, "func", None)):
        name = getattr(function, "__qualname__", repr(function))
        message = "a value its author's check accepts" if "<lambda>" in name else f"a value for which {name} holds"
        yield Limit({}, function, message, on_decoded=True, source=_call(function))


def _is_number(codec: Codec) -> bool:
    """Whether limits can be held against the JSON number itself, whatever else the value may be."""
    return (bool(codec.kinds & {"integer", "number"}) and "string" not in codec.kinds) or "anyOf" in codec.schema


def _call(function: Callable[[Any], Any]) -> Callable[[Writer, str], str]:
    return lambda writer, value: f"{writer.constant(function)}({value})"


def _bound(codec: Codec, name: str, bound: Any) -> Limit:
    keyword, compare, sign, words = _BOUNDS[name]
    message = f"{words} {bound}"
    if not _is_number(codec):
        keywords = {keyword: float(bound)} if codec.kinds & {"integer", "number"} else {}
        return Limit(
            keywords, lambda value: compare(value, bound), message, on_decoded=True, source=_compare(sign, bound)
        )
    limit = bound if type(bound) in (int, float) else float(bound)
    if limit - limit != 0:
        return Limit({}, lambda value: True, message, source=lambda writer, value: "True")

    def holds(value: Any) -> bool:
        return not isinstance(value, (int, float)) or isinstance(value, bool) or compare(value, limit)

    only = codec.kinds <= {"integer", "number"}
    return Limit({keyword: limit}, holds, message, source=_compare(sign, limit) if only else _call(holds))


def _compare(sign: str, bound: Any) -> Callable[[Writer, str], str]:
    return lambda writer, value: f"{value} {sign} {writer.constant(bound)}"


def _length(codec: Codec, name: str, length: int) -> Iterator[Limit]:
    keywords, compare, sign, words = _LENGTHS[name]
    if codec.type in (bytes, bytearray):
        # The base64 text is longer than the bytes it stands for.
        message = f"{words} {length} bytes"
        yield Limit({}, lambda value: compare(len(value), length), message, on_decoded=True)
        return
    for keyword, (kind, python, unit) in zip(keywords, _SIZED, strict=True):
        if kind in codec.kinds or ("anyOf" in codec.schema or "$ref" in codec.schema):
            only = codec.kinds == {kind}

            def source(writer: Writer, value: str, python: str = python, only: bool = only) -> str:
                check = f"len({value}) {sign} {length}"
                return check if only else f"(type({value}) is not {python} or {check})"

            kinds = {"string": str, "array": list, "object": dict}[kind]
            yield Limit(
                {keyword: length},
                lambda value, kinds=kinds: not isinstance(value, kinds) or compare(len(value), length),  # type: ignore[misc]
                f"{words} {length} {unit}",
                source=source,
            )


def _multiple(codec: Codec, factor: Any) -> Limit:
    factor = factor if type(factor) in (int, float) else float(factor)

    def holds(value: Any) -> bool:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            return True
        if isinstance(factor, int) and isinstance(value, int):
            return value % factor == 0
        quotient = value / factor
        return bool(quotient - quotient == 0 and int(quotient) == quotient)

    def source(writer: Writer, value: str) -> str:
        # For floats jsonschema has its own way of rounding; it decides.
        return f"type({value}) is int and {value} % {factor!r} == 0" if isinstance(factor, int) else "False"

    return Limit({"multipleOf": factor}, holds, f"a multiple of {factor}", source=source)


def _pattern(source: str) -> Limit:
    try:
        pattern = compile_pattern(source)
    except ValueError as error:
        raise Undescribable(str(error)) from None

    def holds(value: Any) -> bool:
        return not isinstance(value, str) or pattern.search(value)

    return Limit({"pattern": source}, holds, f"text that matches {source}", source=_call(holds))


def _limited(base: Codec, limits: Sequence[Limit]) -> Codec:
    keywords = {name: value for limit in limits for name, value in limit.keywords.items()}

    def decode(value: Any) -> Any:
        decoded = base.decode(value)
        failed = [limit for limit in limits if not limit.holds(decoded if limit.on_decoded else value)]
        if failed:
            raise Refusal(*(Problem(f"expected {limit.message}, got {show(value)}") for limit in failed))
        return decoded

    def emit(writer: Writer, value: str) -> str:
        decoded = writer.convert(base, value)
        if any(limit.on_decoded for limit in limits):
            result = writer.fresh()
            writer.line(f"{result} = {decoded}")
            decoded = result
        for limit in limits:
            subject = decoded if limit.on_decoded else value
            source = limit.source or _call(limit.holds)
            writer.unless(source(writer, subject))
        return decoded

    return replace(
        base,
        schema={**base.schema, **keywords},
        decode=decode,
        breadth=(base.breadth[0] - 0.5, *base.breadth[1:]),
        emit=emit if base.emit is not None else None,
    )


FORMS[Annotated] = _annotated
