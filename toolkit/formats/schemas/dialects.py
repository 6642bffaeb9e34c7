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
        allows_recursion: Whether a definition may contain itself.
        wraps_references: Whether a reference with a description becomes a union with one member. Otherwise the
            referenced schema replaces the reference.
        kept_keywords: The keywords that may stay, besides those that make the structure.
        formats: The values of `format` that may stay, or None for all values.
        kept_min_items: The values of `minItems` that may stay, or None for all values.
        enum_types: The types of values that `enum` may have.
        allows_const: Whether `const` may stay. Otherwise it becomes an `enum` with one value.
        allows_tuples: Whether `prefixItems` may stay.
        max_properties: The most properties in the whole schema.
        max_levels: The most levels that objects and arrays may nest.
        max_choices: The most values that all `enum`s may have together.
        max_name_chars: The most characters that all names of properties and definitions and all choices may have
            together.
        large_enum_limits: The number of values above which an `enum` of texts counts as large, and the most characters
            that these values may have together.
    """

    strict: bool
    all_required: bool = False
    allows_recursion: bool = True
    wraps_references: bool = True
    kept_keywords: frozenset[str] = frozenset()
    formats: frozenset[str] | None = None
    kept_min_items: frozenset[int] | None = None
    enum_types: tuple[type, ...] = (str, int, float, bool, type(None))
    allows_const: bool = True
    allows_tuples: bool = False
    max_properties: int | None = None
    max_levels: int | None = None
    max_choices: int | None = None
    max_name_chars: int | None = None
    large_enum_limits: tuple[int, int] | None = None


_FORMATS = frozenset(["date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"])
_RANGES = frozenset(["minimum", "maximum"])

# https://developers.openai.com/api/docs/guides/structured-outputs#supported-schemas
OPENAI = Dialect(
    strict=True,
    all_required=True,
    kept_keywords=_RANGES | {"exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minItems", "maxItems", "pattern"},
    formats=_FORMATS,
    max_properties=5000,
    max_levels=10,
    max_choices=1000,
    max_name_chars=120_000,
    large_enum_limits=(250, 15_000),
)

# https://platform.claude.com/docs/en/build-with-claude/structured-outputs#json-schema-limitations
ANTHROPIC = Dialect(
    strict=True,
    allows_recursion=False,
    wraps_references=False,  # Anthropic limits the number of unions
    kept_keywords=frozenset(["default", "minItems"]),
    formats=_FORMATS | {"uri"},
    kept_min_items=frozenset([0, 1]),
)

# https://ai.google.dev/api/generate-content, `responseJsonSchema`: the same keywords as for parameters.
GEMINI = Dialect(
    strict=False,
    kept_keywords=_RANGES | {"minItems", "maxItems", "additionalProperties"},
    formats=frozenset(["date-time", "date", "time"]),
    enum_types=(str, int, float),
    allows_const=False,
    allows_tuples=True,
)
