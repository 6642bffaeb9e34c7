"""
Name the keywords of the older drafts of JSON Schema, and where each draft has schemas inside schemas.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import Any

from ..._plumbing.records import record
from .vocabulary import is_mapping

__all__ = ["DRAFTS", "LATEST", "Draft", "find_draft", "is_schema", "iter_parts"]


@record(frozen=True, slots=True, kw_only=True)
class Draft:
    """
    One draft of JSON Schema.

    Attributes:
        name: The name that people know it by.
        address: What `$schema` says, without the scheme and the last `#`.
        identifier: The keyword that gives a schema its address.
        values: The keywords whose value is a schema.
        lists: The keywords whose value is a list of schemas.
        mappings: The keywords whose value is a mapping of names to schemas.
        checks: The keywords without a schema that can refuse a value.
        ref_is_alone: Whether all keywords beside a `$ref` are ignored. Then an identifier may also be an anchor.
        keywords: All keywords that can refuse a value, and those that hold schemas for references.
    """

    name: str
    address: str
    identifier: str = "$id"
    values: frozenset[str]
    lists: frozenset[str] = frozenset(["allOf", "anyOf", "oneOf"])
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
        "$ref",
        "enum",
        "exclusiveMaximum",
        "exclusiveMinimum",
        "maxItems",
        "maxLength",
        "maxProperties",
        "maximum",
        "minItems",
        "minLength",
        "minProperties",
        "minimum",
        "multipleOf",
        "pattern",
        "required",
        "type",
        "uniqueItems",
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

DRAFTS = (
    Draft(
        name="draft 04",
        address="json-schema.org/draft-04/schema",
        identifier="id",
        values=_VALUES_04,
        mappings=_MAPPINGS_04,
        checks=_CHECKS_04,
        ref_is_alone=True,
    ),
    Draft(
        name="draft 06",
        address="json-schema.org/draft-06/schema",
        values=_VALUES_06,
        mappings=_MAPPINGS_04,
        checks=_CHECKS_06,
        ref_is_alone=True,
    ),
    Draft(
        name="draft 07",
        address="json-schema.org/draft-07/schema",
        values=_VALUES_07,
        mappings=_MAPPINGS_04,
        checks=_CHECKS_06,
        ref_is_alone=True,
    ),
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


def iter_parts(schema: Mapping[str, Any], draft: Draft) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """
    Yield each schema directly inside *schema*, as *draft* reads it, with the steps that lead to it.

    A value that should be a schema and is none is left out.
    """
    for keyword, value in schema.items():
        if keyword in draft.mappings:
            if is_mapping(value):
                yield from (((keyword, name), item) for name, item in value.items() if is_schema(item))
        elif isinstance(value, list):
            if keyword in draft.lists or (keyword == "items" and draft is not LATEST):
                yield from (((keyword, index), item) for index, item in enumerate(value) if is_schema(item))
        elif keyword in draft.values and is_schema(value):
            yield (keyword,), value


def is_schema(value: Any) -> bool:
    """Return whether *value* has the form of a schema: a mapping, true or false."""
    return is_mapping(value) or isinstance(value, bool)
