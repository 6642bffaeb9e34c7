"""
Schemas of an OpenAPI document as schemas of draft 2020-12.

A reference becomes a reference to `$defs`, so recursion stays recursion, and each tool carries the definitions that it
uses and no others. A definition that is used once stands where it is used. Every definition is converted once for each
direction: a request does not ask for what is `readOnly`, and a response does not promise what is `writeOnly`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from typing import Any, Literal, TypeAlias

from ..catalogs.foreign_text import clean_schema
from ..errors import DefinitionError
from ..formats.schemas.merging import definition_name, iter_definition_names
from ..values.schemas.vocabulary import ANNOTATION_KEYWORDS, KEYWORDS_WITH_MAPPING, SUBSCHEMA_KEYWORDS, is_mapping
from .discriminators import find_value_schema
from .documents import ApiDocument, split_pointer
from .files import rewrite_file
from .patterns import translate_pattern

__all__ = ["Direction", "SchemaConverter", "write_links_as_text"]

Direction: TypeAlias = Literal["request", "response"]
Json: TypeAlias = Any

_LEFT_OUT = {"request": "readOnly", "response": "writeOnly"}
_MAX_EXAMPLE_CHARS = 200
_LINK = re.compile(r"\[([^\[\]]+)\]\(https?://[^()\s]*(?:\([^()\s]*\)[^()\s]*)*\)")
_WHOLE = ("allOf", "anyOf", "oneOf", "then", "else")
"""The keywords whose schemas are about the same value as the schema that they stand in, and demand something of it."""

_NO_NAMES: frozenset[str] = frozenset()
_Source: TypeAlias = tuple[str, frozenset[str]]
"""A reference, and the properties that do not exist where it stands."""

_DROPPED = frozenset(
    [
        *("discriminator", "xml", "externalDocs", "nullable", "example", "collectionFormat", "allowEmptyValue"),
        *("readOnly", "writeOnly"),
    ]
)
_MAX_NESTED_DEFINITIONS = 4
"""A chain of definitions that are used once would be nested as deeply as it is long."""


class SchemaConverter:
    """Converts the schemas of *document* for one direction. It keeps the definitions that it has converted."""

    def __init__(self, document: ApiDocument, direction: Direction) -> None:
        self._document = document
        self._left_out = _LEFT_OUT[direction]
        self._name_by_source: dict[_Source, str] = {}
        self._source_by_name: dict[str, _Source] = {}
        self._definitions: dict[str, Json] = {}
        self._uses: dict[str, Counter[str]] = {}

    def convert(self, schema: Json, place: str) -> Json:
        """Return *schema* for draft 2020-12. Its references name definitions that `add_definitions` adds."""
        return self._convert_checked(schema, place, _NO_NAMES)

    def _convert_checked(self, schema: Json, place: str, absent: frozenset[str]) -> Json:
        try:
            return clean_schema(self._convert(schema, place, absent))
        except DefinitionError as error:
            raise DefinitionError(f"{place}: {error}" if place not in str(error) else str(error)) from None
        except RecursionError:
            raise DefinitionError(f"{place}: the schema is nested too deeply") from None

    def add_definitions(self, schema: Json, max_definitions: int | None = None) -> Json:
        """Return *schema* with the definitions that it uses, directly or through others: at most *max_definitions*."""
        uses = Counter(iter_definition_names(schema))
        names: set[str] = set()
        open_names = list(uses)
        while open_names:
            name = open_names.pop()
            if name not in names:
                names.add(name)
                if max_definitions is not None and len(names) > max_definitions:
                    raise DefinitionError(f"it has more than {max_definitions} definitions")
                self._define(name)
                uses.update(self._uses[name])
                open_names += self._uses[name]
        try:
            return self._insert_single_uses(schema, names, {name for name in names if uses[name] == 1})
        except RecursionError:
            raise DefinitionError("the schema is nested too deeply") from None

    def _insert_single_uses(self, schema: Json, names: set[str], once: set[str]) -> Json:
        """Return *schema* with the definitions *names*. Those that are used *once* stand where they are used."""
        inserted: dict[str, Json] = {}
        for _ in range(_MAX_NESTED_DEFINITIONS):
            inserted |= {
                name: _insert(self._definitions[name], inserted)
                for name in once - inserted.keys()
                if once & self._uses[name].keys() <= inserted.keys()
            }
        schema = _insert(schema, inserted)
        definitions = {name: _insert(self._definitions[name], inserted) for name in sorted(names - inserted.keys())}
        return {**schema, "$defs": definitions} if definitions else schema

    def inline(self, schema: Json) -> Json:
        """Return *schema*, or the definition that it names if it is a plain reference."""
        visited: set[str] = set()
        while isinstance(schema, Mapping) and schema.keys() == {"$ref"}:
            (name,) = iter_definition_names(schema)
            if name in visited:
                raise DefinitionError(f"the schema {name!r} is defined by itself")
            visited.add(name)
            self._define(name)
            schema = self._definitions[name]
        return schema

    def _define(self, name: str) -> None:
        """Convert the definition *name*, once."""
        if name not in self._definitions:
            reference, absent = self._source_by_name[name]
            schema = self._convert_checked(self._document.find(reference), reference, absent)
            self._definitions[name] = schema
            self._uses[name] = Counter(iter_definition_names(schema))

    def _convert(self, schema: Json, place: str, absent: frozenset[str] = _NO_NAMES) -> Json:
        """Return *schema* converted. Other parts of the same whole leave the properties *absent* out."""
        if isinstance(schema, bool):
            return schema
        if not is_mapping(schema):
            raise DefinitionError(f"{place}: a schema is an object, got {type(schema).__name__}")
        if isinstance(schema.get("$ref"), str):
            return self._convert_reference(schema, place, absent)
        if "properties" in schema or "allOf" in schema:
            absent |= self._find_absent(schema)
        converted = {
            keyword: self._convert_keyword(keyword, value, place, absent if keyword in _WHOLE else _NO_NAMES)
            for keyword, value in schema.items()
            if keyword not in _DROPPED and not keyword.startswith("x-")
        }
        _rewrite_limits(converted, schema)
        if "oneOf" in schema or "discriminator" in schema:
            self._rewrite_alternatives(converted, schema)
        rewrite_file(converted, schema)
        _rewrite_annotations(converted, schema)
        self._leave_out_properties(converted, schema, absent)
        return _rewrite_nullable(converted, schema)

    def _convert_keyword(self, keyword: str, value: Json, place: str, absent: frozenset[str]) -> Json:
        if keyword in KEYWORDS_WITH_MAPPING and isinstance(value, Mapping):
            items = {name: self._convert(item, f"{place}/{keyword}/{name}") for name, item in value.items()}
            for item in items.values():
                if isinstance(item, dict) and isinstance(item.get("title"), str):
                    del item["title"]  # the name stands there already
            return items
        if keyword in SUBSCHEMA_KEYWORDS:
            if isinstance(value, list):
                return [self._convert(item, f"{place}/{keyword}/{index}", absent) for index, item in enumerate(value)]
            return self._convert(value, f"{place}/{keyword}", absent)
        if keyword == "pattern" and isinstance(value, str):
            return translate_pattern(value)
        return value

    def _convert_reference(self, schema: Mapping[str, Any], place: str, absent: frozenset[str]) -> Json:
        reference = schema["$ref"]
        definition = self._document.find(reference)  # a wrong reference is reported at its place
        # Before 3.1, what stands beside a reference is ignored.
        is_alone = len(schema) == 1 or self._document.version.startswith(("2.", "3.0"))
        if not is_alone:
            absent |= self._find_absent(schema)
        # Other users of the definition may have what is absent here, so it gets another name.
        name = self._name_of(reference, absent if self._demands(definition, absent) else _NO_NAMES)
        converted = {"$ref": f"#/$defs/{name}"}
        if is_alone:
            return converted
        beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
        return converted | self._convert(beside, place, absent)

    def _rewrite_alternatives(self, converted: dict[str, Any], schema: Mapping[str, Any]) -> None:
        """
        Write `oneOf` as `anyOf`, and the values of the discriminator into each alternative.

        Documents have `oneOf` for a choice, also where a value fits several alternatives. A response shows its value.
        """
        for keyword in ("oneOf", "anyOf"):
            alternatives = converted.get(keyword)
            if self._left_out == "readOnly" and "discriminator" in schema and isinstance(alternatives, list):
                for number, alternative in enumerate(schema[keyword]):
                    values = find_value_schema(self._document, schema["discriminator"], alternative, self._left_out)
                    if values is not None and "properties" not in alternatives[number]:
                        alternatives[number] = alternatives[number] | values
        if "oneOf" in converted:
            if "anyOf" in converted:
                converted["allOf"] = [*converted.get("allOf", ()), {"anyOf": converted.pop("oneOf")}]
            else:
                converted["anyOf"] = converted.pop("oneOf")

    def _name_of(self, reference: str, absent: frozenset[str]) -> str:
        name = self._name_by_source.get((reference, absent))
        if name is None:
            steps = split_pointer(reference)
            base = name = re.sub(r"[^\w.-]", "_", steps[-1]) if steps else "document"  # it needs no escapes
            number = 2
            while name in self._source_by_name:
                name, number = f"{base}_{number}", number + 1
            self._name_by_source[reference, absent] = name
            self._source_by_name[name] = reference, absent
        return name

    def _find_absent(self, schema: Mapping[str, Any]) -> frozenset[str]:
        """Return the properties that *schema*, with all parts of its `allOf`, says do not exist in this direction."""
        is_whole = is_mapping(schema) and "allOf" not in schema and "$ref" not in schema  # as most are
        parts = [schema] if is_whole else self._document.iter_parts(schema, ("allOf",))
        owners = [part.get("properties") for part in parts]
        return frozenset(
            name
            for properties in owners
            if isinstance(properties, Mapping)
            for name, item in properties.items()
            if self._is_absent(item)
        )

    def _is_absent(self, item: Json) -> bool:
        """Return whether a property with the schema *item* does not exist in this direction."""
        if not is_mapping(item):
            return False
        if "$ref" not in item and "allOf" not in item:  # as most are
            return item.get(self._left_out) is True
        return any(part.get(self._left_out) is True for part in self._document.iter_parts(item, ("allOf",)))

    def _demands(self, definition: Json, names: frozenset[str]) -> bool:
        """Return whether *definition* demands one of *names*, which it does not leave out itself."""
        if not names:
            return False
        names -= self._find_absent(definition)
        demands = [part.get("required") for part in self._document.iter_parts(definition, _WHOLE)]
        return any(isinstance(required, list) and not names.isdisjoint(required) for required in demands)

    def _leave_out_properties(
        self, converted: dict[str, Any], schema: Mapping[str, Any], absent: frozenset[str]
    ) -> None:
        """Remove the properties that do not exist in this direction, and a `required` that names none."""
        properties, required = schema.get("properties"), converted.get("required")
        if isinstance(properties, Mapping):
            for name in absent & properties.keys():
                if self._is_absent(properties[name]):
                    del converted["properties"][name]
        if isinstance(required, list) and not absent.isdisjoint(required):
            required = converted["required"] = [name for name in required if name not in absent]
        if "required" in converted and (not isinstance(required, list) or not required):
            del converted["required"]  # drafts before 4 had a boolean in the property itself


def write_links_as_text(text: str) -> str:
    """Return *text* with the text of each Markdown link in its place: a model does not open it to fill in a field."""
    return _LINK.sub(r"\1", text) if "](http" in text else text


def _insert(node: Json, definitions: Mapping[str, Json]) -> Json:
    """Return *node* with *definitions* in the places of the references to them."""
    if isinstance(node, list):
        return [_insert(item, definitions) for item in node]
    if not definitions or not is_mapping(node):
        return node
    beside = {keyword: value if type(value) is str else _insert(value, definitions) for keyword, value in node.items()}
    reference = node.get("$ref")
    if not isinstance(reference, str) or (name := definition_name(reference)) not in definitions:
        return beside
    del beside["$ref"]
    definition = definitions[name]
    if beside.keys() <= ANNOTATION_KEYWORDS and is_mapping(definition):
        return {**definition, **beside}
    if beside.keys() == {"properties"} and is_mapping(definition) and (merged := _merge_properties(definition, beside)):
        return {**definition, "properties": merged}
    return {**beside, "allOf": [definition, *beside.get("allOf", ())]}


def _merge_properties(definition: Mapping[str, Any], beside: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the properties of *definition* with the values that *beside* states for some, or None if it says more."""
    merged = dict(definition.get("properties", {}))
    for name, item in beside["properties"].items():
        other = merged.get(name)
        if not isinstance(other, Mapping) or not isinstance(item, Mapping) or not item.keys() <= {"const", "enum"}:
            return None
        if not other.keys().isdisjoint(("$ref", "const", "enum")):
            return None
        merged[name] = {**other, **item}
    return merged


def _rewrite_limits(converted: dict[str, Any], schema: Mapping[str, Any]) -> None:
    for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(value := schema.get(exclusive), bool):
            del converted[exclusive]
            if value and plain in converted:
                converted[exclusive] = converted.pop(plain)


def _rewrite_annotations(converted: dict[str, Any], schema: Mapping[str, Any]) -> None:
    """
    Write an example as one of `examples`, and the links of a description as text.

    What poses as a message of the system is left out, because no call depends on it.
    """
    if isinstance(text := converted.get("description"), str):
        converted["description"] = write_links_as_text(text)
    example = schema.get("example")
    if example is not None and "examples" not in converted and len(str(example)) <= _MAX_EXAMPLE_CHARS:
        converted["examples"] = [example]
    for keyword in {"default", "examples"} & converted.keys():
        try:
            clean_schema({keyword: converted[keyword]})
        except DefinitionError:
            del converted[keyword]
    if not isinstance(converted.get("examples", []), list):
        del converted["examples"]


def _rewrite_nullable(converted: dict[str, Any], schema: Mapping[str, Any]) -> Json:
    if schema.get("nullable") is not True and schema.get("x-nullable") is not True:
        return converted
    if isinstance(enum := converted.get("enum"), list) and None not in enum:
        converted["enum"] = [*enum, None]
    kind = converted.get("type")
    if isinstance(kind, str):
        converted["type"] = [kind, "null"]
        return converted
    if any(keyword in converted for keyword in ("allOf", "anyOf", "oneOf", "$ref")):
        return {"anyOf": [converted, {"type": "null"}]}
    return converted
