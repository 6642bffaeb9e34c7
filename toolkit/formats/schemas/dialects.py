"""
The subsets of JSON Schema that the providers accept, as data: keywords, requirements and limits.

The data was read from the providers' documentation in November 2026. The numbers change.
"""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ANTHROPIC", "GEMINI", "OPENAI", "Dialect"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """
    A subset of JSON Schema.

    Attributes:
        strict: Whether a whole schema has to be within the subset. Otherwise a part that is not may be left open.
        all_required: Whether every property has to be required. An optional property is then made nullable.
        recursive: Whether a definition may contain itself.
        wraps: Whether a reference with a description becomes a union with one member. Otherwise the referenced schema
            replaces the reference.
        keeps: The keywords that may stay, besides those that make the structure.
        formats: The values of `format` that may stay, or None for all values.
        least_items: The values of `minItems` that may stay, or None for all values.
        choices: The types of values that `enum` may have.
        constants: Whether `const` may stay. Otherwise it becomes an `enum` with one value.
        tuples: Whether `prefixItems` may stay.
        most_properties: The most properties in the whole schema.
        most_levels: The most levels that objects and arrays may nest.
        most_choices: The most values that all `enum`s may have together.
        most_name_characters: The most characters that all names of properties and definitions and all choices may have
            together.
        large_choice: The number of values above which an `enum` of texts counts as large, and the most characters that
            these values may have together.
    """

    strict: bool
    all_required: bool = False
    recursive: bool = True
    wraps: bool = True
    keeps: frozenset[str] = frozenset()
    formats: frozenset[str] | None = None
    least_items: frozenset[int] | None = None
    choices: tuple[type, ...] = (str, int, float, bool, type(None))
    constants: bool = True
    tuples: bool = False
    most_properties: int | None = None
    most_levels: int | None = None
    most_choices: int | None = None
    most_name_characters: int | None = None
    large_choice: tuple[int, int] | None = None


_FORMATS = frozenset(
    ["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"],
)
_RANGES = frozenset(["minimum", "maximum"])

# https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas
OPENAI = Dialect(
    strict=True,
    all_required=True,
    keeps=_RANGES | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "pattern"},
    formats=_FORMATS,
    most_properties=5000,
    most_levels=10,
    most_choices=1000,
    most_name_characters=120_000,
    large_choice=(250, 15_000),
)

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
ANTHROPIC = Dialect(
    strict=True,
    recursive=False,
    wraps=False,  # Anthropic limits the number of unions
    keeps=frozenset(["default", "minItems"]),
    formats=_FORMATS | {"uri"},
    least_items=frozenset([0, 1]),
)

# https://ai.google.dev/api/generate-content, `responseJsonSchema`: the same keywords as for parameters.
GEMINI = Dialect(
    strict=False,
    keeps=_RANGES | {"minItems", "maxItems", "additionalProperties"},
    formats=frozenset(["date-time", "date", "time"]),
    choices=(str, int, float),
    constants=False,
    tuples=True,
)
