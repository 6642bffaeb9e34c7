"""
Schemas of an OpenAPI document as schemas of draft 2020-12.

A reference becomes a reference to `$defs`, so recursion stays recursion, and each tool carries the definitions that it
uses and no others. A definition that is used once stands where it is used. Every definition is converted once for each
direction: a request does not ask for what is `readOnly`, and a response does not promise what is `writeOnly`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Literal, TypeAlias

from ..catalogs.foreign_text import clean_schema
from ..errors import DefinitionError
from ..values.schemas.vocabulary import KEYWORDS_WITH_MAPPING, SUBSCHEMA_KEYWORDS
from .documents import ApiDocument, split_pointer
from .patterns import translate_pattern

__all__ = ["BINARY", "Direction", "SchemaConverter", "is_binary"]

Direction: TypeAlias = Literal["request", "response"]
Json: TypeAlias = Any

_LEFT_OUT = {"request": "readOnly", "response": "writeOnly"}
_MAX_EXAMPLE_CHARS = 200
_DROPPED = frozenset(
    [
        *("discriminator", "xml", "externalDocs", "nullable", "example", "collectionFormat", "allowEmptyValue"),
        *("readOnly", "writeOnly"),
    ]
)
_MAX_NESTED_DEFINITIONS = 4
"""A chain of definitions that are used once would be nested as deeply as it is long."""

_ANNOTATIONS = frozenset(["title", "description", "default", "examples", "deprecated"])
BINARY = {"type": "string", "contentEncoding": "base64", "contentMediaType": "application/octet-stream"}
"""Bytes: a model writes them in base64, and they are sent as they are."""


class SchemaConverter:
    """Converts the schemas of *document* for one direction. It keeps the definitions that it has converted."""

    def __init__(self, document: ApiDocument, direction: Direction) -> None:
        self._document = document
        self._left_out = _LEFT_OUT[direction]
        self._name_by_reference: dict[str, str] = {}
        self._reference_by_name: dict[str, str] = {}
        self._definitions: dict[str, Json] = {}
        self._uses: dict[str, Counter[str]] = {}
        self._errors: dict[str, DefinitionError] = {}

    def convert(self, schema: Json, place: str) -> Json:
        """Return *schema* for draft 2020-12. Its references name definitions that `add_definitions` adds."""
        try:
            return clean_schema(self._convert(schema, place))
        except DefinitionError as error:
            raise DefinitionError(f"{place}: {error}" if place not in str(error) else str(error)) from None
        except RecursionError:
            raise DefinitionError(f"{place}: the schema is nested too deeply") from None

    def add_definitions(self, schema: Json, max_definitions: int | None = None) -> Json:
        """Return *schema* with the definitions that it uses, directly or through others: at most *max_definitions*."""
        uses = Counter(_find_names(schema))
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
            (name,) = _find_names(schema)
            if name in visited:
                raise DefinitionError(f"the schema {name!r} is defined by itself")
            visited.add(name)
            self._define(name)
            schema = self._definitions[name]
        return schema

    def _define(self, name: str) -> None:
        """Convert the definition *name*, once."""
        if name in self._definitions:
            return
        if name in self._errors:
            raise self._errors[name]
        reference = self._reference_by_name[name]
        try:
            schema = self.convert(self._document.find(reference), reference)
        except DefinitionError as error:
            self._errors[name] = error
            raise
        self._definitions[name] = schema
        self._uses[name] = Counter(_find_names(schema))

    def _convert(self, schema: Json, place: str) -> Json:
        if isinstance(schema, bool):
            return schema
        if not isinstance(schema, Mapping):
            raise DefinitionError(f"{place}: a schema is an object, got {type(schema).__name__}")
        if isinstance(schema.get("$ref"), str):
            return self._convert_reference(schema, place)
        converted = {
            keyword: self._convert_keyword(keyword, value, place)
            for keyword, value in schema.items()
            if keyword not in _DROPPED and not keyword.startswith("x-")
        }
        for rewrite in (_rewrite_limits, _rewrite_file, _rewrite_required, _rewrite_example, _leave_out_unclean):
            rewrite(converted, schema)
        self._leave_out_properties(converted, schema)
        return _rewrite_nullable(converted, schema)

    def _convert_keyword(self, keyword: str, value: Json, place: str) -> Json:
        if keyword in KEYWORDS_WITH_MAPPING and isinstance(value, Mapping):
            items = {name: self._convert(item, f"{place}/{keyword}/{name}") for name, item in value.items()}
            for item in items.values():
                if isinstance(item, dict) and isinstance(item.get("title"), str):
                    del item["title"]  # the name stands there already
            return items
        if keyword in SUBSCHEMA_KEYWORDS:
            if isinstance(value, list):
                return [self._convert(item, f"{place}/{keyword}/{index}") for index, item in enumerate(value)]
            return self._convert(value, f"{place}/{keyword}")
        if keyword == "pattern" and isinstance(value, str):
            return translate_pattern(value)
        return value

    def _convert_reference(self, schema: Mapping[str, Any], place: str) -> Json:
        reference = schema["$ref"]
        self._document.find(reference)  # a wrong reference is reported at its place
        converted: dict[str, Any] = {"$ref": f"#/$defs/{_escape(self._name_of(reference))}"}
        if not self._document.version.startswith(
            ("2.", "3.0")
        ):  # before 3.1, what stands beside a reference is ignored
            beside = {keyword: value for keyword, value in schema.items() if keyword != "$ref"}
            converted |= self._convert(beside, place)
        return converted

    def _name_of(self, reference: str) -> str:
        name = self._name_by_reference.get(reference)
        if name is None:
            steps = split_pointer(reference)
            base = name = steps[-1] if steps else "document"
            number = 2
            while name in self._reference_by_name:
                name, number = f"{base}_{number}", number + 1
            self._name_by_reference[reference] = name
            self._reference_by_name[name] = reference
        return name

    def _leave_out_properties(self, converted: dict[str, Any], schema: Mapping[str, Any]) -> None:
        """Remove the properties that do not exist in this direction."""
        properties = schema.get("properties")
        if not isinstance(properties, Mapping):
            return
        names = {
            name
            for name, item in properties.items()
            for node in (item, self._document.follow(item))
            if isinstance(node, Mapping) and node.get(self._left_out) is True
        }
        if names:
            converted["properties"] = {
                name: item for name, item in converted["properties"].items() if name not in names
            }
            if isinstance(required := converted.get("required"), list):
                converted["required"] = [name for name in required if name not in names]
                if not converted["required"]:
                    del converted["required"]


def is_binary(schema: Json) -> bool:
    """Return whether *schema*, which was converted, describes bytes that are sent as they are."""
    return isinstance(schema, Mapping) and all(schema.get(keyword) == value for keyword, value in BINARY.items())


def _find_names(schema: Json) -> Iterator[str]:
    """Yield the names of the definitions that *schema* refers to."""
    open_nodes = [schema]
    while open_nodes:
        node = open_nodes.pop()
        if isinstance(node, list):
            open_nodes += node
        elif isinstance(node, Mapping):
            reference = node.get("$ref")
            if isinstance(reference, str) and reference.startswith("#/$defs/"):
                yield _name_in(reference)
            open_nodes += [value for value in node.values() if isinstance(value, dict | list)]


def _insert(node: Json, definitions: Mapping[str, Json]) -> Json:
    """Return *node* with *definitions* in the places of the references to them."""
    if not definitions:
        return node
    if isinstance(node, list):
        return [_insert(item, definitions) for item in node]
    if not isinstance(node, Mapping):
        return node
    reference = node.get("$ref")
    beside = {keyword: _insert(value, definitions) for keyword, value in node.items()}
    if not isinstance(reference, str) or (name := _name_in(reference)) not in definitions:
        return beside
    definition = definitions[name]
    del beside["$ref"]
    if beside.keys() <= _ANNOTATIONS and isinstance(definition, Mapping):
        return {**definition, **beside}
    return {**beside, "allOf": [definition, *beside.get("allOf", ())]}


def _name_in(reference: str) -> str:
    return reference.removeprefix("#/$defs/").replace("~1", "/").replace("~0", "~")


def _escape(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _rewrite_limits(converted: dict[str, Any], schema: Mapping[str, Any]) -> None:
    for exclusive, plain in (("exclusiveMinimum", "minimum"), ("exclusiveMaximum", "maximum")):
        if isinstance(value := schema.get(exclusive), bool):
            del converted[exclusive]
            if value and plain in converted:
                converted[exclusive] = converted.pop(plain)


def _rewrite_file(converted: dict[str, Any], schema: Mapping[str, Any]) -> None:
    if schema.get("type") not in ("string", "file"):
        return
    media_type = schema.get("contentMediaType") if "contentEncoding" not in schema else None
    if schema["type"] == "file" or schema.get("format") == "binary" or media_type == BINARY["contentMediaType"]:
        converted.pop("format", None)
        converted |= BINARY
    elif schema.get("format") == "byte":  # base64 in the request too
        converted["contentEncoding"] = "base64"
        del converted["format"]


def _rewrite_required(converted: dict[str, Any], schema: Mapping[str, Any]) -> None:
    if "required" in converted and not isinstance(schema["required"], list):
        del converted["required"]  # drafts before 4 had a boolean in the property itself


def _rewrite_example(converted: dict[str, Any], schema: Mapping[str, Any]) -> None:
    example = schema.get("example")
    if example is not None and "examples" not in converted and len(str(example)) <= _MAX_EXAMPLE_CHARS:
        converted["examples"] = [example]
    elif not isinstance(converted.get("examples", []), list):
        del converted["examples"]


def _leave_out_unclean(converted: dict[str, Any], schema: Mapping[str, Any]) -> None:
    """Remove a default and examples that pose as a message of the system: no call depends on them."""
    for keyword in ("default", "examples"):
        if keyword in converted:
            try:
                clean_schema({keyword: converted[keyword]})
            except DefinitionError:
                del converted[keyword]


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
