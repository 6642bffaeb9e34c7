"""
Apply limits to values: bounds, lengths, multiples, patterns, predicates.

If JSON Schema can express a limit, the limit goes into the schema and is checked against the JSON value. If it cannot
(a least date, a predicate), the limit is checked against the decoded value. If a value may be of several types, a limit
applies only to the types with which it can be compared.
"""

from __future__ import annotations

import inspect
import operator
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ..._lazy_names import LazyModule, lazy_pattern
from ..._plumbing.records import record
from ..._plumbing.wording import format_count
from ...errors import Problem
from ..patterns import compile_pattern
from ..schemas.multiples import is_multiple
from ..schemas.vocabulary import JSON_TYPES, stated_types
from ..strictjson.checks import show_value
from .base import Codec, Schema
from .code_writer import CodeWriter
from .ranks import narrow_breadth
from .refusals import OutputRefusal, Refusal, RefusedMetadata, Undescribable

if TYPE_CHECKING:
    import decimal
    import numbers
else:
    decimal, numbers = LazyModule("decimal"), LazyModule("numbers")

__all__ = [
    "Limit",
    "append_note",
    "apply_limits",
    "build_digits_limit",
    "build_pattern_limit",
    "build_predicate_limit",
    "check_limits",
    "iter_bound_limits",
    "iter_length_limits",
    "iter_multiple_limits",
    "refuse_async",
    "write_pattern",
]

_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool], str]] = {
    "ge": ("minimum", operator.ge, "at least"),
    "gt": ("exclusiveMinimum", operator.gt, "more than"),
    "le": ("maximum", operator.le, "at most"),
    "lt": ("exclusiveMaximum", operator.lt, "less than"),
}
_LENGTHS = {
    "min_length": (("minLength", "minItems", "minProperties"), operator.ge, "at least"),
    "max_length": (("maxLength", "maxItems", "maxProperties"), operator.le, "at most"),
}
_SIZED_TYPES: tuple[tuple[str, Any, str], ...] = (
    ("string", str, "character"),
    ("array", list, "item"),
    ("object", dict, "entry"),
)
_NUMBER_TYPES = frozenset({"integer", "number"})


@record(frozen=True, slots=True)
class Limit:
    """
    One limit, which is checked against the JSON value or against the decoded value.

    Attributes:
        keywords: The limit in JSON Schema; empty if JSON Schema cannot express it.
        holds: The function that checks the value.
        message: A description of the values that would be right.
        on_decoded: Whether `holds` takes the decoded value.
        note: A sentence for the description in the schema, if no keyword can express the limit.
    """

    keywords: dict[str, Any]
    holds: Callable[[Any], bool]
    message: str
    on_decoded: bool = False
    note: str = ""


def _possible_types(schema: Mapping[str, Any]) -> frozenset[str]:
    """Return the JSON types that *schema* may accept: all of them if it does not say."""
    if "anyOf" in schema and "type" not in schema:
        return frozenset().union(*map(_possible_types, schema["anyOf"]))
    return frozenset(stated_types(schema) or JSON_TYPES)


def _json_number(number: Any) -> int | float:
    return number if type(number) in (int, float) else float(number)


def _accept_uncheckable(codec: Codec, holds: Callable[[Any], Any]) -> Callable[[Any], bool]:
    """Return *holds*, which accepts what it cannot check if the values may be of several types."""
    if codec.type is not None:
        return holds

    def check(value: Any) -> bool:
        try:
            return isinstance(value, bool) or bool(holds(value))
        except TypeError:
            return True

    return check


def iter_bound_limits(codec: Codec, name: str, limit: Any) -> Iterator[Limit]:
    """Yield the limits for a least or largest value. *name* is `ge`, `gt`, `le` or `lt`."""
    keyword, compare, words = _BOUNDS[name]
    message, kinds = f"{words} {limit}", _possible_types(codec.schema)
    if kinds & _NUMBER_TYPES and isinstance(limit, (numbers.Real, decimal.Decimal)) and limit - limit == 0:
        number = _json_number(limit)

        def fits(value: Any) -> bool:
            return not isinstance(value, (int, float)) or isinstance(value, bool) or compare(value, number)

        yield Limit({keyword: number}, fits, message)
        if kinds <= _NUMBER_TYPES | {"boolean", "null"}:
            return
    # The author means 0.1, not 0.1000000000000000055.
    exact = decimal.Decimal(repr(limit)) if type(limit) is float else limit

    def holds(value: Any) -> bool:
        return compare(value, exact if isinstance(value, decimal.Decimal) else limit)

    yield Limit({}, _accept_uncheckable(codec, holds), message, on_decoded=True)


def iter_length_limits(codec: Codec, name: str, count: int) -> Iterator[Limit]:
    """Yield the limits for a least or largest length. *name* is `min_length` or `max_length`."""
    keywords, compare, words = _LENGTHS[name]
    if any("contentEncoding" in schema for schema in (codec.schema, *codec.schema.get("anyOf", ()))):
        # The base64 text is longer than the bytes that it encodes.
        check = _accept_uncheckable(codec, lambda value: compare(len(value), count))
        yield Limit({}, check, f"{words} {format_count(count, 'byte')}", on_decoded=True)
        return
    for keyword, (kind, python, unit) in zip(keywords, _SIZED_TYPES, strict=True):
        if kind in _possible_types(codec.schema):

            def fits(value: Any, python: Any = python) -> bool:
                return not isinstance(value, python) or compare(len(value), count)

            yield Limit({keyword: count}, fits, f"{words} {format_count(count, unit)}")


def iter_multiple_limits(codec: Codec, factor: Any) -> Iterator[Limit]:
    """Yield the limits that make the value a multiple of *factor*, a number or an amount such as a `timedelta`."""
    message, kinds = f"a multiple of {factor}", _possible_types(codec.schema)
    if kinds & _NUMBER_TYPES and isinstance(factor, (numbers.Real, decimal.Decimal)):
        number = _json_number(factor)

        def fits(value: Any) -> bool:
            return not isinstance(value, (int, float)) or isinstance(value, bool) or is_multiple(value, number)

        yield Limit({"multipleOf": number}, fits, message)
        if kinds <= _NUMBER_TYPES | {"boolean", "null"}:
            return
    exact = decimal.Decimal(repr(factor)) if isinstance(factor, float) else factor

    def holds(value: Any) -> bool:
        return isinstance(value, (str, bytes, int, float)) or not value % exact

    yield Limit({}, _accept_uncheckable(codec, holds), message, on_decoded=True)


def build_digits_limit(name: str, max_count: int) -> Limit:
    """Return a limit for the digits of a decimal number: all (`max_digits`), or those after the point."""

    def holds(value: Any) -> bool:
        if not isinstance(value, decimal.Decimal):
            return True
        whole, _, fraction = f"{abs(value):f}".partition(".")
        places = len(fraction.rstrip("0"))
        return places + (len(whole.lstrip("0")) if name == "max_digits" else 0) <= max_count

    where = "" if name == "max_digits" else " after the point"
    return Limit({}, holds, f"at most {format_count(max_count, 'digit')}{where}", on_decoded=True)


def build_pattern_limit(source: str | re.Pattern[str]) -> Limit:
    """Return the limit that a regular expression must be found in the text."""
    text = source if isinstance(source, str) else write_pattern(source)
    try:
        compiled = compile_pattern(text)
    except ValueError as error:
        raise Undescribable(str(error)) from None

    def holds(value: Any) -> bool:
        return not isinstance(value, str) or compiled.search(value)

    return Limit({"pattern": text}, holds, f"text that matches {text}")


def write_pattern(value: re.Pattern[Any]) -> str:
    """Return the text that compiles to *value*, with its flags at the start."""
    if not isinstance(value.pattern, str):
        raise TypeError("expected a pattern for str, got one for bytes")
    if re.compile(value.pattern).flags == value.flags:
        return value.pattern
    letters = "".join(letter for letter, flag in _FLAGS if value.flags & flag)
    return (f"(?{letters})" if letters else "") + _OWN_FLAGS.sub("", value.pattern)


_OWN_FLAGS = lazy_pattern(r"\A\(\?[aimsux]+\)")
_FLAGS = [("a", re.ASCII), ("i", re.IGNORECASE), ("m", re.MULTILINE), ("s", re.DOTALL), ("x", re.VERBOSE)]


def build_predicate_limit(codec: Codec, function: Callable[[Any], Any]) -> Limit:
    """Return a limit that calls the author's own function with the decoded value."""
    refuse_async("Predicate", function)
    name = getattr(function, "__qualname__", repr(function))
    message = "a value its author's check accepts" if "<lambda>" in name else f"a value for which {name} holds"
    return Limit({}, _accept_uncheckable(codec, function), message, on_decoded=True)


def refuse_async(name: str, function: Any) -> None:
    """Raise `RefusedMetadata` if *function*, which the metadata *name* holds, is async."""
    # An object is called through the method of its class.
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__):
        raise RefusedMetadata(
            f"{name} has an async function, which never runs while arguments are checked; make it a plain function, "
            f"or await the check in the tool"
        )


def append_note(schema: Schema, note: str) -> None:
    """Add the sentence *note* to the description in *schema*."""
    own = schema.get("description")
    schema["description"] = f"{own} {note}" if own else note


def check_limits(limits: Sequence[Limit], form: Any, decoded: Any, error: type[Refusal] = Refusal) -> None:
    """Raise *error* with the *limits* that do not hold for the JSON value *form*, which is *decoded* in Python."""
    failed = [limit for limit in limits if not limit.holds(decoded if limit.on_decoded else form)]
    if failed:
        raise error(*(Problem(f"expected {limit.message}, got {show_value(form)}") for limit in failed))


def apply_limits(base: Codec, limits: Sequence[Limit], *, on_output: bool = False) -> Codec:
    """Return *base* restricted to values within *limits*. With *on_output*, a value is also checked when encoded."""
    schema = dict(base.schema)
    for limit in limits:
        if limit.note:
            append_note(schema, limit.note)
        # A format informs only, so a narrower one takes the place of the type's own.
        if schema.keys() & limit.keywords.keys() - {"format"}:
            schema["allOf"] = [*schema.get("allOf", ()), limit.keywords]
        else:
            schema.update(limit.keywords)

    def decode(value: Any) -> Any:
        decoded = base.decode(value)
        check_limits(limits, value, decoded)
        return decoded

    def encode_checked(value: Any) -> Any:
        form = base.encode(value)
        check_limits(limits, form, value, OutputRefusal)
        return form

    def emit(writer: CodeWriter, value: str) -> str:
        sent = value
        if "number" in _possible_types(base.schema):
            # The code of floats converts in place, and a limit is checked against the value that was sent.
            sent = writer.new_name()
            writer.line(f"{sent} = {value}")
        decoded = writer.convert(base, value)
        if any(limit.on_decoded for limit in limits):
            result = writer.new_name()
            writer.line(f"{result} = {decoded}")
            decoded = result
        for limit in limits:
            writer.require(f"{writer.constant(limit.holds)}({decoded if limit.on_decoded else sent})")
        return decoded

    return replace(
        base,
        schema=schema,
        decode=decode,
        encode=encode_checked if on_output else base.encode,
        # The value of a result must not be taken for its own JSON form, because then no check would run.
        type=None if on_output else base.type,
        breadth=narrow_breadth(base.breadth),
        members=(),
        emit=emit if base.emit is not None else None,
    )
