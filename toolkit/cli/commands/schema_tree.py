"""
Show schemas to people: a type in a few words, a call as a signature, and a whole schema as a tree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from ...spec import Tool
from ...values.schemas.messages import expectation
from ...values.strictjson.checks import show
from ..output import shown

__all__ = ["schema_tree", "signature_of", "type_of"]

_DEEPEST = 6
_MOST_CHOICES = 6
_LIMITS = {
    "minimum": ">= {}",
    "exclusiveMinimum": "> {}",
    "maximum": "<= {}",
    "exclusiveMaximum": "< {}",
    "multipleOf": "a multiple of {}",
    "minLength": "at least {} characters",
    "maxLength": "at most {} characters",
    "pattern": "matches {}",
    "minItems": "at least {} items",
    "maxItems": "at most {} items",
    "uniqueItems": "no item twice",
    "minProperties": "at least {} entries",
    "maxProperties": "at most {} entries",
}


def type_of(schema: Any) -> str:
    """Return in a few words the type that *schema* describes: `integer`, `"DE" | "FR"`, `list of string`."""
    if not isinstance(schema, Mapping) or not schema:
        return "never" if schema is False else "any"
    if "const" in schema:
        return show(schema["const"], most=30)
    if "enum" in schema:
        choices = schema["enum"]
        ellipsis = ["..."] if len(choices) > _MOST_CHOICES else []
        return " | ".join([*(show(choice, most=30) for choice in choices[:_MOST_CHOICES]), *ellipsis])
    for word in ("anyOf", "oneOf"):
        if word in schema:
            return " | ".join(dict.fromkeys(map(type_of, schema[word])))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    kinds = schema.get("type")
    kind_list = [kinds] if isinstance(kinds, str) else kinds or []
    return " | ".join(_one_type(kind, schema) for kind in kind_list) or expectation(schema)


def _one_type(kind: str, schema: Mapping[str, Any]) -> str:
    if kind == "array":
        first = schema.get("prefixItems")
        items = ", ".join(map(type_of, first)) if first else ""
        return f"[{items}]" if items else f"list of {type_of(schema['items'])}" if "items" in schema else "list"
    if kind == "string" and "format" in schema:
        return str(schema["format"])
    return kind


def signature_of(tool: Tool) -> Text:
    """Return how a model calls *tool*: the names, types and defaults of the parameters, and the type of the result."""
    schema = tool.schema
    required = schema.get("required") or ()
    parameters = []
    for name, subschema in _properties(schema):
        has_default = isinstance(subschema, Mapping) and "default" in subschema
        default = f" = {show(subschema['default'], most=30)}" if has_default else ""
        parameters.append(f"{name}{'' if name in required or default else '?'}: {type_of(subschema)}{default}")
    output = tool.output_schema
    return_text = "" if output is None else f" -> {type_of(output)}"
    return Text.assemble((tool.name, "bold"), shown(f"({', '.join(parameters)}){return_text}"))


def schema_tree(title: Text, schema: Mapping[str, Any]) -> RenderableType:
    """Return a tree of the properties that *schema* describes, with their types, limits and descriptions."""
    tree = Tree(title, guide_style="dim")
    _grow(tree, schema, 0)
    definitions = schema.get("$defs")
    if not isinstance(definitions, Mapping) or not definitions:
        return tree
    branches = []
    for name, definition in definitions.items():
        branch = Tree(_label(name, definition, is_required=True), guide_style="dim")
        _grow(branch, definition, 0)
        branches.append(branch)
    return Group(tree, *branches)


def _grow(tree: Tree, schema: Any, depth: int) -> None:
    if depth >= _DEEPEST or not isinstance(schema, Mapping):
        return
    required = schema.get("required") or ()
    for name, subschema in _properties(schema):
        _grow(tree.add(_label(name, subschema, is_required=name in required)), subschema, depth + 1)
    for label, subschema in _parts(schema):
        _grow(tree.add(_label(label, subschema, is_required=True)), subschema, depth + 1)


def _parts(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the schemas nested in *schema* besides properties, if they say more than a type."""
    labelled_schemas = [("each item", schema.get("items")), ("each value", schema.get("additionalProperties"))]
    labelled_schemas += [
        (f"item {index}", subschema) for index, subschema in enumerate(schema.get("prefixItems") or ())
    ]
    members = [*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())]
    labelled_schemas += [(f"or {index}" if index else "either", subschema) for index, subschema in enumerate(members)]
    for label, subschema in labelled_schemas:
        if isinstance(subschema, Mapping) and _has_details(subschema):
            yield label, subschema


def _has_details(schema: Mapping[str, Any]) -> bool:
    return bool(_properties(schema) or schema.get("description") or any(_limits(schema))) or any(
        True for _ in _parts(schema)
    )


def _label(name: str, schema: Any, *, is_required: bool) -> Text:
    label = Text.assemble(shown(name, "cyan"), shown("" if is_required else "?"), ": ", shown(type_of(schema), "green"))
    if not isinstance(schema, Mapping):
        return label
    if "default" in schema:
        label.append_text(shown(f" = {show(schema['default'], most=40)}"))
    if limits := ", ".join(_limits(schema)):
        label.append_text(shown(f" ({limits})", "dim"))
    if isinstance(description := schema.get("description"), str):
        label.append("  ").append_text(shown(description, "italic"))
    return label


def _limits(schema: Mapping[str, Any]) -> Iterator[str]:
    for word, text in _LIMITS.items():
        if schema.get(word) not in (None, False):
            yield text.format(show(schema[word], most=40))


def _properties(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    properties = schema.get("properties")
    return list(properties.items()) if isinstance(properties, Mapping) else []
