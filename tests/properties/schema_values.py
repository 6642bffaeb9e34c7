"""
JSON values drawn from a schema, by a reader of JSON Schema that knows nothing of the library.

It reads the keywords that the library's own schemas have, and takes `format` for an annotation, as the draft says.
What no schema can say is in `FORMAT_EXCEPTIONS` and in the comments here: the list in `docs/types.md`.
"""

from __future__ import annotations

import datetime as dt
import fractions
import ipaddress
import json
import re
from collections.abc import Callable
from typing import Any

from hypothesis import strategies as st

from .values import json_values

__all__ = ["FORMAT_EXCEPTIONS", "values_of"]

Values = st.SearchStrategy[Any]

_CHARACTERS = st.characters(codec="utf-8")
_HUGE = st.sampled_from([2**53 + 1, 10**22, 10**308, -(10**300)])
_DIGITS = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_DAYS = {"W": 7, "D": 1, "H": fractions.Fraction(1, 24), "M": fractions.Fraction(1, 1440), "S": 0}


def _is_in_calendar(text: str) -> bool:
    year, month, day = (int(part) for part in text[:10].split("-"))
    lengths = [31, 29 if year % 4 == 0 and (year % 100 or year % 400 == 0) else 28, 31, 30, 31, 30]
    lengths += [31, 31, 30, 31, 30, 31]
    return year > 0 and day <= lengths[month - 1]


def _is_below_a_billion_days(text: str) -> bool:
    amounts = [fractions.Fraction(amount) for amount in _DIGITS.findall(text)]
    units = [letter for letter in text if letter in _DAYS]
    days = sum(amount * _DAYS[unit] for amount, unit in zip(amounts, units, strict=True))
    seconds = sum(amount for amount, unit in zip(amounts, units, strict=True) if unit == "S")
    return days + seconds / 86400 < dt.timedelta.max.days


def _has_no_host_bits(text: str) -> bool:
    interface = ipaddress.ip_interface(text.removesuffix("\n"))
    return interface.ip == interface.network.network_address


def _is_in_range(text: str) -> bool:
    return abs(complex(text)) < float("inf")


def _is_expression(text: str) -> bool:
    try:
        re.compile(text)
    except (re.error, OverflowError, RecursionError):
        return False
    return True


FORMAT_EXCEPTIONS: dict[str, Callable[[str], bool]] = {
    "date": _is_in_calendar,
    "date-time": _is_in_calendar,
    "duration": _is_below_a_billion_days,
    "complex": _is_in_range,
    "regex": _is_expression,
    "ipv4-network": _has_no_host_bits,
    "ipv6-network": _has_no_host_bits,
}
"""What a text of the format must be besides matching the pattern, because a pattern cannot say it."""


def values_of(schema: dict[str, Any]) -> Values:
    """Return a strategy for values of *schema*. Some of them may not fit, so the caller asks jsonschema."""
    return SchemaReader(schema.get("$defs", {})).read(schema)


class SchemaReader:
    """Makes strategies of the schemas of one document, whose definitions are *definitions*."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._known: dict[str, Values] = {}
        self._by_type: dict[str, Callable[[dict[str, Any]], Values]] = {
            "null": lambda schema: st.none(),
            "boolean": lambda schema: st.booleans(),
            "integer": self._integers,
            "number": self._numbers,
            "string": self._texts,
            "array": self._arrays,
            "object": self._objects,
        }

    def read(self, schema: Any) -> Values:
        """Return a strategy for values of *schema*."""
        if schema is True:
            return json_values()
        if "$ref" in schema:
            return self._definition(schema["$ref"].removeprefix("#/$defs/"))
        for keyword in ("anyOf", "oneOf"):
            if keyword in schema:
                return st.one_of([self.read(member) for member in schema[keyword]])
        if "const" in schema or "enum" in schema:
            return self._constants(schema.get("enum", [schema.get("const")]))
        kinds = schema.get("type")
        if kinds is None:
            return json_values()
        return st.one_of([self._by_type[kind](schema) for kind in ([kinds] if isinstance(kinds, str) else kinds)])

    def _definition(self, name: str) -> Values:
        if name not in self._known:
            self._known[name] = st.deferred(lambda: self.read(self._definitions[name]))
        return self._known[name]

    def _constants(self, choices: list[Any]) -> Values:
        # In JSON, 1 and 1.0 are one number.
        whole = [float(choice) for choice in choices if type(choice) is int and abs(choice) < 2**53]
        return st.sampled_from([*choices, *whole])

    def _integers(self, schema: dict[str, Any]) -> Values:
        low, high = _bounds(schema)
        step = schema.get("multipleOf", 1)
        numbers = st.integers(low, high).map(lambda number: number * step)
        if low is None and high is None:
            numbers |= _HUGE | st.sampled_from([10**999, -(10**999)])
        return numbers | numbers.filter(lambda number: abs(number) < 2**53).map(float)

    def _numbers(self, schema: dict[str, Any]) -> Values:
        low, high = _bounds(schema)
        # A number beyond the range of a float is one of the exceptions.
        numbers = st.floats(low, high, allow_nan=False, allow_infinity=False) | st.integers(low, high)
        return numbers | _HUGE if low is None and high is None else numbers

    def _texts(self, schema: dict[str, Any]) -> Values:
        if schema.get("contentMediaType") == "application/json":
            # Text that is not JSON is one of the exceptions.
            return self.read(schema.get("contentSchema", True)).map(json.dumps)
        if "pattern" in schema:
            texts: Values = st.from_regex(schema["pattern"], alphabet=_CHARACTERS)
        else:
            texts = st.text(_CHARACTERS, min_size=schema.get("minLength", 0), max_size=schema.get("maxLength"))
        form = schema.get("format")
        return texts.filter(FORMAT_EXCEPTIONS[form]) if form in FORMAT_EXCEPTIONS else texts

    def _arrays(self, schema: dict[str, Any]) -> Values:
        first = [self.read(item) for item in schema.get("prefixItems", ())]
        rest = self.read(schema.get("items", True))
        least, most = schema.get("minItems", 0), schema.get("maxItems", len(first) + 3)
        if schema.get("uniqueItems"):
            # Items that differ in JSON and are equal in Python are one of the exceptions: two texts may be one date,
            # and 1 and true are one value.
            return st.lists(rest, min_size=least, max_size=1) | st.lists(st.integers() | st.text(), max_size=3)
        more = st.lists(rest, min_size=max(least - len(first), 0), max_size=max(most - len(first), 0))
        return st.builds(lambda start, end: [*start, *end], st.tuples(*first), more)

    def _objects(self, schema: dict[str, Any]) -> Values:
        properties, required = schema.get("properties", {}), schema.get("required", ())
        named = st.fixed_dictionaries(
            {name: self.read(properties.get(name, True)) for name in required},
            optional={name: self.read(inner) for name, inner in properties.items() if name not in required},
        )
        extra = schema.get("additionalProperties", True)
        if extra is False:
            return named
        names = schema.get("propertyNames")
        if names is None:
            keys, most = st.text(_CHARACTERS, max_size=5), 3
        else:
            # Two keys that become equal in Python are one of the exceptions, and so is a number beyond the range of a
            # float.
            keys, most = self.read({"type": "string", **names}).filter(_is_no_infinity), 1
        others = st.dictionaries(keys, self.read(extra), max_size=most)
        return st.builds(lambda named_values, other: {**other, **named_values}, named, others)


def _bounds(schema: dict[str, Any]) -> tuple[Any, Any]:
    low = schema.get("minimum", schema.get("exclusiveMinimum"))
    return low, schema.get("maximum", schema.get("exclusiveMaximum"))


def _is_no_infinity(text: str) -> bool:
    try:
        return "e" not in text.lower() or abs(float(text)) < float("inf")
    except ValueError:
        return True
