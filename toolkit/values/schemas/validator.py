"""
Make jsonschema safe for untrusted schemas and values.

Nothing is fetched. A `$ref` that the schema itself does not resolve is refused. A `$ref` that leads back to itself
without going deeper into the value is refused too. `format` is only an annotation, as the draft says. The module
`keywords` defines how its keywords check a value; all other keywords are jsonschema's own.
"""

from __future__ import annotations

import graphlib
from collections.abc import Iterator, Mapping
from typing import Any

from ...errors import DefinitionError
from ..patterns import compile_pattern
from ..strictjson.checks import show_value
from .drafts import LATEST, find_draft
from .engine import SchemaValidator, iter_mappings
from .keywords import MAX_UNEVALUATED_KEY_CHARS, IndexedChoices
from .metaschema import check_against_metaschema
from .vocabulary import (
    ANNOTATION_KEYWORDS,
    JSON_TYPES,
    KEYWORDS_FOR_SAME_VALUE,
    is_mapping,
    iter_subschemas,
    map_subschemas,
)

__all__ = ["DIALECT", "check_schema", "compile_schema"]

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_REMEDIES = {
    "type": f"; write one of {', '.join(JSON_TYPES)}, or a list of some of them",
    "items": "; draft 2020-12 has `prefixItems` for a list of schemas",
    "exclusiveMinimum": "; draft 2020-12 has a number here",
    "exclusiveMaximum": "; draft 2020-12 has a number here",
}
"""What to write instead of a value that older drafts allow, or that the meta-schema refuses without a reason."""

_ADDRESS_KEYWORDS = frozenset(["$id", "$ref", "$dynamicRef"])
_PART_KEYWORDS = _ADDRESS_KEYWORDS | {"$schema", "pattern", "patternProperties"}
"""The keywords whose values need more than the meta-schema. Most schemas have none of them."""

_NEVER_APPLIED = ("contentSchema", "dependencies")
# No check uses the schemas under these keywords, so they need not be enforceable. A `$ref` may still lead to them.


def compile_schema(schema: Any) -> SchemaValidator:
    """Compile a validator for *schema*. jsonschema is imported here, when the first validator is needed."""
    return SchemaValidator(schema if _has_reference_into_annotations(schema) else _optimize_schema(schema))


def check_schema(schema: Any, subject: str) -> None:
    """Raise `DefinitionError` unless *schema* is a 2020-12 schema that can be enforced without the network."""
    from jsonschema.exceptions import SchemaError

    if isinstance(schema, Mapping):
        _check_dialect(schema, subject)
    try:
        # The meta-schema only requires that a pattern is a regular expression; the code below checks the same.
        check_against_metaschema(schema)
        if any(not _PART_KEYWORDS.isdisjoint(part) for part in iter_mappings(schema)):
            _check_parts(schema, subject)
    except SchemaError as error:
        place = "/".join(map(str, error.absolute_path)) or "the top"
        remedy = _REMEDIES.get((error.absolute_path or [""])[-1], "")
        raise DefinitionError(f"{subject}: not a valid schema at {place}: {error.message[:200]}{remedy}") from None
    except ValueError as error:
        raise DefinitionError(f"{subject}: an `$id` or `$ref` of the schema is not an address: {error}") from None
    except RecursionError:
        raise DefinitionError(f"{subject}: the schema is nested too deeply to be enforced") from None


def _check_dialect(part: Mapping[str, Any], subject: str) -> None:
    dialect = part.get("$schema", DIALECT)
    if dialect != DIALECT and find_draft(dialect) is not LATEST:
        raise DefinitionError(
            f"{subject}: the schema is written for {dialect}; draft 2020-12 is enforced here, so adapt it and "
            f"leave `$schema` out"
        )


def _check_parts(schema: Any, subject: str) -> None:
    """Check every schema inside *schema*, including those that only a reference leads to."""
    from referencing.jsonschema import DRAFT202012

    parts: dict[int, Mapping[str, Any]] = {}
    in_place_schemas: dict[int, list[Any]] = {}
    patterns: list[str] = []
    # Most schemas refer to nothing, and a resolver takes longer than all else that is done here.
    has_addresses = any(not _ADDRESS_KEYWORDS.isdisjoint(part) for part in iter_mappings(schema))
    resolver = SchemaValidator(schema).resolver if has_addresses else None
    waiting: list[tuple[str, Any, Any]] = [("", schema, resolver)]
    referenced: list[tuple[str, Any, Any]] = []
    while waiting or referenced:
        is_referenced = not waiting
        place, part, resolver = (waiting or referenced).pop()
        if not is_mapping(part) or id(part) in parts:
            continue
        if is_referenced:
            # This part is under an unknown keyword, so the meta-schema has not checked it.
            check_against_metaschema(part)
        parts[id(part)] = part
        where = f"{subject}: {place or 'the top'}"
        _check_dialect(part, where)
        if "$id" in part:
            resolver = resolver.in_subresource(DRAFT202012.create_resource(part))
        patterns += _collect_key_patterns(part, where)
        has_none = resolver is None or _ADDRESS_KEYWORDS.isdisjoint(part)
        targets = [] if has_none else list(_resolve_references(part, resolver, where))
        referenced += [(f"{place}/{keyword}", target, inside) for keyword, target, inside in targets]
        inner = [(steps, subschema) for steps, subschema in iter_subschemas(part) if steps[0] not in _NEVER_APPLIED]
        waiting += [("/".join([place, *map(str, steps)]), subschema, resolver) for steps, subschema in inner]
        in_place_schemas[id(part)] = [target for _, target, _ in targets]
        in_place_schemas[id(part)] += [subschema for steps, subschema in inner if steps[0] in KEYWORDS_FOR_SAME_VALUE]
    if has_addresses:
        _check_loops(in_place_schemas, subject)
    if any("unevaluatedProperties" in part for part in parts.values()):
        _check_key_patterns(patterns, subject)


def _resolve_references(part: Mapping[str, Any], resolver: Any, subject: str) -> Iterator[tuple[str, Any, Any]]:
    import referencing.exceptions

    for keyword in ("$ref", "$dynamicRef"):
        reference = part.get(keyword)
        if isinstance(reference, str):
            try:
                resolved = resolver.lookup(reference)
            except (referencing.exceptions.Unresolvable, referencing.exceptions.NoSuchResource, ValueError):
                raise DefinitionError(
                    f"{subject}: {keyword} {reference!r} is not answered by the schema itself; nothing is fetched, "
                    f"so put the definition under `$defs`"
                ) from None
            if not isinstance(resolved.contents, (Mapping, bool)):
                raise DefinitionError(
                    f"{subject}: {keyword} {reference!r} leads to {show_value(resolved.contents)}, which is not a "
                    f"schema; refer to a definition under `$defs`"
                )
            yield keyword, resolved.contents, resolved.resolver


def _collect_key_patterns(part: Mapping[str, Any], subject: str) -> list[str]:
    """Return the patterns of keys in *part*, after a check that all its patterns are regular expressions."""
    keys = list(part.get("patternProperties", ()))
    for source in keys + ([part["pattern"]] if "pattern" in part else []):
        try:
            compile_pattern(source)
        except ValueError as error:
            raise DefinitionError(f"{subject}: {error}") from None
    return keys


def _check_key_patterns(patterns: list[str], subject: str) -> None:
    for source in patterns:
        if compile_pattern(source).fast_limit < MAX_UNEVALUATED_KEY_CHARS:
            raise DefinitionError(
                f"{subject}: beside unevaluatedProperties the pattern {source!r} in patternProperties could take for "
                f"ever; write it without nested or neighbouring repetitions"
            )


def _check_loops(in_place_schemas: Mapping[int, list[Any]], subject: str) -> None:
    """Refuse a schema that refers back to itself for the same value."""
    graph = {key: [id(part) for part in parts] for key, parts in in_place_schemas.items() if parts}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError:
        raise DefinitionError(
            f"{subject}: a `$ref` leads back to itself without going deeper into the value, so checking would never end"
        ) from None


def _optimize_schema(schema: Any) -> Any:
    """Return a copy of *schema* without the keywords that only people read, and with choices that are indexed."""
    if not isinstance(schema, Mapping):
        return schema
    rest = {keyword: value for keyword, value in schema.items() if keyword not in ANNOTATION_KEYWORDS}
    if "enum" in rest:
        rest["enum"] = IndexedChoices(rest["enum"])
    return map_subschemas(rest, _optimize_schema)


def _has_reference_into_annotations(schema: Any) -> bool:
    """Return whether a reference may lead into a part that `_optimize_schema` would remove."""
    references = [part["$ref"] for part in iter_mappings(schema) if isinstance(part.get("$ref"), str)]
    return any(not ANNOTATION_KEYWORDS.isdisjoint(reference.split("/")[1:]) for reference in references)
