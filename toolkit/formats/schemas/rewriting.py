"""
The rewriting of a tool's schema into a provider's subset of JSON Schema.

The result accepts everything that the tool accepts, in the form that the provider wants. What the subset cannot express
is put in words, and the dispatcher still checks it. Some things cannot be expressed at all, for example an object whose
keys are not known in advance. Such a thing is an obstacle: a tool with an obstacle cannot be strict.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ...values.schemas.text_forms import find_text_form
from ...values.schemas.vocabulary import ANNOTATION_KEYWORDS, UNION_KEYWORDS
from .dialects import Dialect
from .merging import definition_name, definition_of, flatten_top_level, merge_schemas
from .remarks import add_remarks
from .shapes import (
    find_conditional_properties,
    find_exceeded_limits,
    find_recursive_definition,
    infer_types,
    make_nullable,
)

__all__ = ["RewrittenSchema", "rewrite_schema"]

_COMBINING_KEYWORDS = frozenset(["$ref", "$defs", "allOf", *UNION_KEYWORDS])
_CONTAINER_KEYWORDS = frozenset(
    ["properties", "required", "additionalProperties", "patternProperties", "items", "prefixItems"]
)
_STRUCTURE = _COMBINING_KEYWORDS | _CONTAINER_KEYWORDS | {"type", "enum", "const", "title", "description"}
_MAX_PARTS = 20_000
_MAX_SHOWN_OBSTACLES = 3
# Lookaround, back references and word boundaries: the providers' regular expression engines do not support these.
_UNSUPPORTED_PATTERN = re.compile(r"\(\?(?!:)|\\[1-9bBAZzGkKpP]")


@dataclass(slots=True)
class RewrittenSchema:
    """
    A schema in the form that a provider accepts.

    Attributes:
        schema: The rewritten schema.
        obstacles: The reasons why it cannot be strict, each with its place. The list is empty if it can be strict.
    """

    schema: dict[str, Any]
    obstacles: list[str] = field(default_factory=list)

    @property
    def why_not(self) -> str:
        """The first few obstacles, in one line."""
        more = len(self.obstacles) - _MAX_SHOWN_OBSTACLES
        return "; ".join(self.obstacles[:_MAX_SHOWN_OBSTACLES]) + (f"; and {more} more" if more > 0 else "")


def rewrite_schema(schema: Mapping[str, Any], dialect: Dialect) -> RewrittenSchema:
    """Return *schema*, which describes arguments, in the subset *dialect*."""
    flat, left_out = flatten_top_level(schema)
    rewriter = _Rewriter(dialect, flat.get("$defs", {}))
    conditions = {keyword: left_out[keyword] for keyword in ("if", "then", "else") if keyword in left_out}
    dropped = {keyword: value for keyword, value in left_out.items() if keyword not in conditions}
    try:
        result = add_remarks(rewriter.rewrite({**flat, **conditions}, ""), dropped)
        definitions = rewriter.rewrite_definitions()
        if definitions:
            result["$defs"] = definitions
        return RewrittenSchema(result, rewriter.obstacles or find_exceeded_limits(result, dialect))
    except RecursionError:
        return RewrittenSchema(add_remarks(flat, left_out), ["the whole nests too deeply"])


class _Rewriter:
    """The state of the rewriting of one schema: the definitions that it needs, and its obstacles."""

    def __init__(self, dialect: Dialect, definitions: Mapping[str, Any]) -> None:
        self.obstacles: list[str] = []
        self._dialect = dialect
        self._definitions = definitions
        self._rewritten_definitions: dict[str, Any] = {}
        self._waiting: list[str] = []
        self._resolving: set[str] = set()
        self._parts = 0

    def rewrite_definitions(self) -> dict[str, Any]:
        """Return the rewritten definitions that the schema refers to, in the order in which they were met."""
        while self._waiting:
            name = self._waiting.pop(0)
            self._rewritten_definitions[name] = self.rewrite(self._definitions[name], f"$defs.{name}")
        if (
            not self._dialect.allows_recursion
            and (recursive_name := find_recursive_definition(self._rewritten_definitions)) is not None
        ):
            self._refuse(f"$defs.{recursive_name}", "contains itself")
        return self._rewritten_definitions

    def rewrite(self, schema: Any, place: str) -> dict[str, Any]:
        """Return the rewritten form of one schema inside the whole schema; *place* says where it is."""
        if self._is_too_much():
            return {}
        if not isinstance(schema, Mapping):
            if schema is False:
                self._refuse(place, "takes no value")
            return self._accept_anything(place)
        if "$ref" in schema or "allOf" in schema:
            return self._rewrite_combination(schema, place)
        union = next((union for union in UNION_KEYWORDS if union in schema), None)
        result: dict[str, Any] = {key: schema[key] for key in ("title", "description") if key in schema}
        dropped = {key: value for key, value in schema.items() if key not in _STRUCTURE}
        types = infer_types(schema)
        if union is not None and not types:
            result["anyOf"] = [
                self.rewrite(member, f"{place}|{number}") for number, member in enumerate(schema[union], 1)
            ]
            dropped.update(
                {keyword: schema[keyword] for keyword in UNION_KEYWORDS if keyword in schema and keyword != union}
            )
        else:
            # If the schema also states a type, its union only says which of the properties go together.
            dropped.update({keyword: schema[keyword] for keyword in UNION_KEYWORDS if keyword in schema})
            self._add_type_keywords(schema, types, result, dropped, place)
        for key in [key for key in dropped if self._may_stay(key, dropped[key])]:
            result[key] = dropped.pop(key)
        form = find_text_form(schema) if "pattern" in dropped else None
        if form is not None:
            # The name of the form and an example say more to a model than a regular expression in words.
            del dropped["pattern"]
            if "format" not in result:
                dropped.setdefault("examples", [form.example])
        return add_remarks(result, dropped)

    def _add_type_keywords(
        self, schema: Mapping[str, Any], types: list[str], result: dict[str, Any], dropped: dict[str, Any], place: str
    ) -> None:
        if not types:
            self._accept_anything(place)
        elif len(types) == 1:
            result["type"] = types[0]
        else:
            result["type"] = types
        self._add_choices(schema, result, dropped)
        if "object" in types:
            self._add_object_keywords(schema, result, dropped, place)
        if "array" in types:
            self._add_array_keywords(schema, result, dropped, place)

    def _add_choices(self, schema: Mapping[str, Any], result: dict[str, Any], dropped: dict[str, Any]) -> None:
        keyword = "const" if "const" in schema else "enum"
        if keyword not in schema:
            return
        values = [schema["const"]] if keyword == "const" else list(schema["enum"])
        if any(type(value) not in self._dialect.enum_types for value in values):
            dropped[keyword] = schema[keyword]
        elif keyword == "const" and self._dialect.allows_const:
            result["const"] = schema["const"]
        else:
            result["enum"] = values

    def _add_object_keywords(
        self, schema: Mapping[str, Any], result: dict[str, Any], dropped: dict[str, Any], place: str
    ) -> None:
        properties: Mapping[str, Any] = schema.get("properties", {})
        required = [name for name in schema.get("required", ()) if name in properties]
        if properties or self._dialect.strict:
            result["properties"] = {
                name: self.rewrite(property_schema, f"{place}.{name}" if place else name)
                for name, property_schema in properties.items()
            }
        missing = [name for name in schema.get("required", ()) if name not in properties]
        if missing:
            dropped["required"] = missing
        if self._dialect.all_required:
            optional = [name for name in properties if name not in required]
            result["properties"].update({name: make_nullable(result["properties"][name]) for name in optional})
            required = list(properties)
        if required or self._dialect.all_required:
            result["required"] = required
        rest = schema.get("additionalProperties")
        if "additionalProperties" in self._dialect.kept_keywords:
            if isinstance(rest, Mapping):
                result["additionalProperties"] = self.rewrite(rest, f"{place}.*" if place else "*")
            elif rest is not None:
                result["additionalProperties"] = rest
            if "patternProperties" in schema:
                dropped["patternProperties"] = schema["patternProperties"]
            return
        is_open = "patternProperties" in schema or rest not in (None, False) or (rest is None and not properties)
        if is_open:
            self._refuse(place, "is an object with any keys")
        elif rest is None and (conditional_names := find_conditional_properties(schema, self._definitions)):
            self._refuse(place, f"takes `{conditional_names[0]}` only under a condition")
        result["additionalProperties"] = False

    def _add_array_keywords(
        self, schema: Mapping[str, Any], result: dict[str, Any], dropped: dict[str, Any], place: str
    ) -> None:
        prefix_schemas, item_place = schema.get("prefixItems"), f"{place}[]"
        members = [self.rewrite(item, item_place) for item in prefix_schemas or ()]
        rest = self.rewrite(schema["items"], item_place) if isinstance(schema.get("items"), Mapping) else None
        if prefix_schemas is None or self._dialect.allows_tuples:
            if prefix_schemas is not None:
                result["prefixItems"] = members
            if rest is not None:
                result["items"] = rest
            elif prefix_schemas is None and self._dialect.strict:
                self._refuse(place, "is an array of anything")
            return
        members += [] if rest is None else [rest]
        distinct = [item for number, item in enumerate(members) if item not in members[:number]]
        result["items"] = distinct[0] if len(distinct) == 1 else {"anyOf": distinct}
        if len(distinct) > 1:
            dropped["prefixItems"] = prefix_schemas
        if schema.get("items") is False:
            dropped.setdefault("maxItems", len(prefix_schemas))

    def _rewrite_combination(self, schema: Mapping[str, Any], place: str) -> dict[str, Any]:
        """
        Return the rewritten form of a schema with a reference or `allOf`.

        A reference without other keywords stays a reference, because it may not have any beside it. Otherwise the
        reference is put in a union with one member, or the referenced schema and the other keywords are joined into one
        schema.
        """
        siblings = {key: value for key, value in schema.items() if key not in ("$ref", "$defs")}
        reference = schema.get("$ref")
        if reference is not None and definition_of(reference, self._definitions) is None:
            self._refuse(place, f"refers to {reference}, which is not in `$defs`")
            return self._accept_anything(place)
        if reference is not None and not siblings:
            return self._refer_to(reference)
        if reference in self._resolving or (
            reference is not None and self._dialect.wraps_references and siblings.keys() <= ANNOTATION_KEYWORDS
        ):
            merged = {"anyOf": [self._refer_to(reference)]}
            merged.update({key: siblings.pop(key) for key in ("title", "description") if key in siblings})
            return add_remarks(merged, siblings)
        inside_before, parts = set(self._resolving), list(self._expand_references(schema))
        merged, dropped = merge_schemas(parts)
        result = add_remarks(self.rewrite(merged, place), dropped)
        self._resolving = inside_before
        return result

    def _expand_references(self, schema: Any) -> Iterator[dict[str, Any]]:
        """Yield the schemas that all hold for one value, without references and `allOf`."""
        if not isinstance(schema, Mapping) or self._is_too_much():
            return
        yield {key: value for key, value in schema.items() if key not in ("$ref", "$defs", "allOf")}
        target = definition_of(schema.get("$ref"), self._definitions)
        if target is not None:
            self._resolving.add(schema["$ref"])
            yield from self._expand_references(target)
        for part in schema.get("allOf", ()):
            yield from self._expand_references(part)

    def _refer_to(self, reference: str) -> dict[str, Any]:
        name = definition_name(reference)
        if name not in self._rewritten_definitions:
            self._rewritten_definitions[name] = {}
            self._waiting.append(name)
        return {"$ref": reference}

    def _may_stay(self, keyword: str, value: Any) -> bool:
        if keyword == "format":
            return self._dialect.formats is None or value in self._dialect.formats
        if keyword not in self._dialect.kept_keywords:
            return False
        if keyword == "minItems" and self._dialect.kept_min_items is not None:
            return value in self._dialect.kept_min_items
        return keyword != "pattern" or _UNSUPPORTED_PATTERN.search(value) is None

    def _is_too_much(self) -> bool:
        """
        Count one more schema, and return whether there are too many.

        A few definitions that use each other twice would unfold into an endless number of schemas.
        """
        self._parts += 1
        if self._parts > _MAX_PARTS:
            self._refuse("", f"unfolds to more than {_MAX_PARTS:,} schemas")
        return self._parts > _MAX_PARTS

    def _accept_anything(self, place: str) -> dict[str, Any]:
        if self._dialect.strict:
            self._refuse(place, "takes any value")
        return {}

    def _refuse(self, place: str, why: str) -> None:
        obstacle = f"{place or 'the whole'} {why}"
        if obstacle not in self.obstacles:
            self.obstacles.append(obstacle)
