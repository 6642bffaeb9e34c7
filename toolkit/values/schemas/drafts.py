"""Name the keywords of the older drafts of JSON Schema, and where each draft has schemas inside schemas."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from ..._plumbing.records import record
from .vocabulary import is_mapping

__all__ = ["DRAFTS", "LATEST", "Draft", "find_draft", "is_schema"]


@record(frozen=True, slots=True, kw_only=True)
class Draft:
    """
    One draft of JSON Schema.

    Attributes:
        name: The name that people know it by.
        address: What `$schema` says, without the scheme and the last `#`.
        identifier: The keyword that gives a schema its address.
        values: The keywords whose value is a schema.
        lists: The keywords whose value is a list of schemas, or may be one.
        mappings: The keywords whose value is a mapping of names to schemas.
        checks: The keywords without a schema that can refuse a value.
        ref_is_alone: Whether all keywords beside a `$ref` are ignored. Then an identifier may also be an anchor.
        keywords: All keywords that can refuse a value, and those that hold schemas for references.
    """

    name: str
    address: str
    identifier: str = "$id"
    values: frozenset[str]
    lists: frozenset[str] = frozenset(["allOf", "anyOf", "items", "oneOf"])
    mappings: frozenset[str]
    checks: frozenset[str]
    ref_is_alone: bool = False
    keywords: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "keywords", self.values | self.lists | self.mappings | self.checks)


_VALUES_04 = frozenset(["additionalItems", "additionalProperties", "items", "not"])
_VALUES_06 = _VALUES_04 | {"contains", "propertyNames"}
_VALUES_07 = _VALUES_06 | {"if", "then", "else"}
_VALUES_2019 = _VALUES_07 | {"contentSchema", "unevaluatedItems", "unevaluatedProperties"}
_MAPPINGS_04 = frozenset(["definitions", "dependencies", "patternProperties", "properties"])
_MAPPINGS_2019 = frozenset(["$defs", "definitions", "dependentSchemas", "patternProperties", "properties"])
_CHECKS_04 = frozenset(
    [
        *("$ref", "type", "enum", "required", "pattern", "uniqueItems", "multipleOf"),
        *("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"),
    ]
)
_CHECKS_06 = _CHECKS_04 | {"const"}
_CHECKS_2019 = _CHECKS_06 | {"$recursiveRef", "dependentRequired", "maxContains", "minContains"}

LATEST = Draft(
    name="draft 2020-12",
    address="json-schema.org/draft/2020-12/schema",
    values=_VALUES_2019 - {"additionalItems"},
    lists=frozenset(["allOf", "anyOf", "oneOf", "prefixItems"]),
    mappings=_MAPPINGS_2019,
    checks=(_CHECKS_2019 - {"$recursiveRef"}) | {"$dynamicRef"},
)


def _early_draft(number: str, values: frozenset[str], checks: frozenset[str], *, identifier: str = "$id") -> Draft:
    return Draft(
        name=f"draft {number}",
        address=f"json-schema.org/draft-{number}/schema",
        identifier=identifier,
        values=values,
        mappings=_MAPPINGS_04,
        checks=checks,
        ref_is_alone=True,
    )


DRAFTS = (
    _early_draft("04", _VALUES_04, _CHECKS_04, identifier="id"),
    _early_draft("06", _VALUES_06, _CHECKS_06),
    _early_draft("07", _VALUES_07, _CHECKS_06),
    Draft(
        name="draft 2019-09",
        address="json-schema.org/draft/2019-09/schema",
        values=_VALUES_2019,
        mappings=_MAPPINGS_2019,
        checks=_CHECKS_2019,
    ),
    LATEST,
)
"""The drafts that are understood, the oldest first."""

_BY_ADDRESS = {draft.address: draft for draft in DRAFTS}


def find_draft(dialect: object) -> Draft | None:
    """Return the draft that a `$schema` names, or None if it is not understood."""
    if not isinstance(dialect, str):
        return None
    return _BY_ADDRESS.get(dialect.removeprefix("https://").removeprefix("http://").removesuffix("#"))


def is_schema(value: Any) -> bool:
    """Return whether *value* has the form of a schema: a mapping, true or false."""
    return is_mapping(value) or isinstance(value, bool)
