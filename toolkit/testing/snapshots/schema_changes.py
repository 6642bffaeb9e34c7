"""
Find which values one schema takes and another refuses.

`find_narrowings(old, new)` is complete for the schemas that types make: if it finds nothing, every value that fits the
old schema fits the new one. A keyword that it cannot judge counts as narrower when it changes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ...values.schemas.validator import compile_schema
from ...values.schemas.vocabulary import ANNOTATION_KEYWORDS, UNION_KEYWORDS

__all__ = ["Narrowing", "find_narrowings"]

_Kind: TypeAlias = Literal["takes", "absent", "required", "new-required", "names", "limit"]

_LOWER_LIMITS = ("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties", "minContains")
_UPPER_LIMITS = ("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties", "maxContains")
_COMPARED = frozenset(
    ["type", "enum", "const", "properties", "required", "additionalProperties", "items", "prefixItems"]
)
_NOT_COMPARED = ANNOTATION_KEYWORDS | {"$defs", "definitions", "$schema", "$id", "$anchor", "discriminator"}
_TYPE_WORDS = {
    "": "other types",
    "array": "lists",
    "integer": "integers",
    "number": "numbers",
    "object": "objects",
    "string": "texts",
}
_Path: TypeAlias = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Narrowing:
    """
    Something that the old schema takes and the new one refuses.

    Attributes:
        path: Where it is: the names of the properties, and `[]` for the items of a list.
        kind: "takes": values or types that are gone. "absent": a property that the new schema does not have.
            "required": a property that could be missing. "new-required": the same for one that the old schema did not
            have. "names": properties of any name. "limit": a keyword that says more than before.
        details: The values or types, in words; for "limit" the keyword, the old value and the new value.
    """

    path: _Path
    kind: _Kind
    details: tuple[Any, ...] = ()


def find_narrowings(old: Any, new: Any) -> list[Narrowing]:
    """Return what fits the schema *old* and not the schema *new*; an empty list if everything still fits."""
    return list(_SchemaComparison(old, new).compare(old, new, ()))


class _SchemaComparison:
    """Compares parts of two schemas, which may refer to definitions at their roots."""

    def __init__(self, old_root: Any, new_root: Any) -> None:
        self._old_root = old_root
        self._new_root = new_root
        self._under_way: set[tuple[int, int]] = set()

    def compare(self, old: Any, new: Any, path: _Path) -> Iterator[Narrowing]:
        if (id(old), id(new)) in self._under_way:
            return  # a recursive type: the comparison that is under way finds what there is
        self._under_way.add((id(old), id(new)))
        options = _list_options(new, self._new_root)
        for option in _list_options(old, self._old_root):
            yield from self._compare_option(option, options, path)
        self._under_way.discard((id(old), id(new)))

    def _compare_option(
        self, old: Mapping[str, Any], options: Sequence[Mapping[str, Any]], path: _Path
    ) -> Iterator[Narrowing]:
        """Compare *old*, which is no union, with all that the new schema allows; report the option that is nearest."""
        values = _list_values(old)
        if values is not None:
            refused = [value for value in values if not any(_fits(value, option, self._new_root) for option in options)]
            if refused:
                yield Narrowing(path, "takes", tuple(map(json.dumps, refused)))
            return
        best: list[Narrowing] | None = None
        for option in options:
            narrowings = list(self._compare_plain(old, option, path))
            if not narrowings:
                return
            is_same_type = any(narrowing.kind != "takes" or narrowing.path != path for narrowing in narrowings)
            if best is None or (is_same_type and len(narrowings) <= len(best)):
                best = narrowings
        yield from best or [Narrowing(path, "takes", ("any value",))]

    def _compare_plain(self, old: Mapping[str, Any], new: Mapping[str, Any], path: _Path) -> Iterator[Narrowing]:
        """Compare two schemas without unions, of which *old* allows more than a few values."""
        old_type, new_type = old.get("type"), new.get("type")
        if new_type not in (None, old_type) and (old_type, new_type) != ("integer", "number"):
            is_number = (old_type, new_type) == ("number", "integer")
            yield Narrowing(path, "takes", ("fractions" if is_number else _TYPE_WORDS[old_type or ""],))
            return
        if "enum" in new or "const" in new:
            values = ", ".join(map(json.dumps, _list_values(new) or ()))
            yield Narrowing(path, "takes", (f"other values than {values}",))
            return
        yield from self._compare_keywords(old, new, path)
        if old_type in (None, "object"):
            yield from self._compare_properties(old, new, path)
        if old_type in (None, "array"):
            count = max(len(old.get("prefixItems", ())), len(new.get("prefixItems", ())))
            for index in range(min(count + 1, old.get("maxItems", count + 1))):
                yield from self.compare(_get_item(old, index), _get_item(new, index), (*path, "[]"))

    def _compare_keywords(self, old: Mapping[str, Any], new: Mapping[str, Any], path: _Path) -> Iterator[Narrowing]:
        for keyword, limit in new.items():
            former = old.get(keyword)
            if keyword in _COMPARED or keyword in _NOT_COMPARED or former == limit:
                continue
            is_limit = former is not None and keyword in _LOWER_LIMITS + _UPPER_LIMITS
            if not is_limit or (former < limit) != (keyword in _UPPER_LIMITS):
                yield Narrowing(path, "limit", (keyword, former, limit))

    def _compare_properties(self, old: Mapping[str, Any], new: Mapping[str, Any], path: _Path) -> Iterator[Narrowing]:
        old_properties, new_properties = old.get("properties", {}), new.get("properties", {})
        old_others, new_others = old.get("additionalProperties", True), new.get("additionalProperties", True)
        new_required = [name for name in new.get("required", ()) if name not in old.get("required", ())]
        for name in dict.fromkeys([*old_properties, *new_properties, *new_required]):
            old_value, new_value = old_properties.get(name, old_others), new_properties.get(name, new_others)
            is_new = name not in old_properties
            if name in new_required:
                yield Narrowing((*path, name), "new-required" if is_new else "required")
            if is_new and old_others is False:
                continue  # no old value has this property
            if name not in new_properties and new_others is False:
                yield Narrowing((*path, name), "absent", ("required",) if name in old.get("required", ()) else ())
                continue
            yield from self.compare(old_value, new_value, (*path, name))
        if old_others is not False and new_others is False:
            yield Narrowing(path, "names")
        elif old_others is not False:
            yield from self.compare(old_others, new_others, (*path, "*"))


def _list_options(schema: Any, root: Any) -> list[Mapping[str, Any]]:
    """Return the alternatives of *schema*: each without a reference, a union, and several types."""
    if isinstance(schema, bool):
        return [{}] if schema else []
    if "$ref" in schema:
        others = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        target = _resolve(schema["$ref"], root)
        return [{"unresolved": schema["$ref"]}] if target is None else _list_options(_merge(others, target), root)
    for keyword in UNION_KEYWORDS:
        if keyword in schema:
            others = {name: value for name, value in schema.items() if name != keyword}
            return [option for part in schema[keyword] for option in _list_options(_merge(others, part), root)]
    if isinstance(schema.get("type"), list) and "enum" not in schema:
        return [{**schema, "type": name} for name in schema["type"]]
    return [schema]


def _merge(others: Mapping[str, Any], part: Any) -> Any:
    """Return a schema with the keywords of both. Where both have one, that of *others* stays as `allOf`."""
    if isinstance(part, bool):
        return dict(others) if part else False
    overlap = {name: others[name] for name in others.keys() & part.keys() if name not in ANNOTATION_KEYWORDS}
    return {**others, **part, **({"allOf": [overlap, *part.get("allOf", ())]} if overlap else {})}


def _resolve(reference: str, root: Any) -> Any:
    """Return what *reference* names in *root*; None if it leads elsewhere."""
    if not reference.startswith("#"):
        return None
    target = root
    for step in reference[1:].split("/")[1:]:
        if not isinstance(target, Mapping):
            return None
        target = target.get(step.replace("~1", "/").replace("~0", "~"))
    return target


def _list_values(schema: Mapping[str, Any]) -> list[Any] | None:
    """Return all values of *schema* if there are few; None otherwise."""
    if "const" in schema:
        return [schema["const"]]
    if "enum" in schema:
        return list(schema["enum"])
    few: dict[Any, list[Any]] = {"boolean": [True, False], "null": [None]}
    return few.get(schema.get("type"))


def _fits(value: Any, option: Mapping[str, Any], root: Any) -> bool:
    if "unresolved" in option:
        return False
    definitions = {name: root[name] for name in ("$defs", "definitions") if isinstance(root, Mapping) and name in root}
    return bool(compile_schema({**definitions, **option}).is_valid(value))


def _get_item(schema: Mapping[str, Any], index: int) -> Any:
    prefix = schema.get("prefixItems", ())
    return prefix[index] if index < len(prefix) else schema.get("items", True)
