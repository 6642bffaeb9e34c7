"""`toolkit show`: show all that is known about one tool, with its schema as a tree."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from rich.console import Group, RenderableType
from rich.text import Text
from rich.tree import Tree

from ..._plumbing.wording import format_count
from ...catalogs.snapshot import describe_place, is_foreign
from ...catalogs.tool_reports import describe_facts, tool_to_json
from ...spec import Tool
from ...values.rendering import as_json
from ...values.schemas.messages import describe_expectation
from ...values.schemas.text_forms import find_text_form
from ...values.schemas.vocabulary import UNION_KEYWORDS, stated_types
from ...values.strictjson.checks import show_value
from ...values.visible import make_visible
from ..command import subcommand, target_argument, tool_argument, undecorated_option
from ..output import Output, to_safe_text
from ..user_extensions import open_extended_target

__all__ = ["command", "describe_type", "render_schema_tree", "render_signature"]

_MAX_DEPTH = 6
_MAX_CHOICES = 6
_LIMITS = {
    "minimum": (">= {}", ""),
    "exclusiveMinimum": ("> {}", ""),
    "maximum": ("<= {}", ""),
    "exclusiveMaximum": ("< {}", ""),
    "multipleOf": ("a multiple of {}", ""),
    "minLength": ("at least {}", "character"),
    "maxLength": ("at most {}", "character"),
    "pattern": ("matches {}", ""),
    "minItems": ("at least {}", "item"),
    "maxItems": ("at most {}", "item"),
    "uniqueItems": ("no item twice", ""),
    "minProperties": ("at least {}", "entry"),
    "maxProperties": ("at most {}", "entry"),
}
"""How each limit is worded, and the noun that is counted."""


@subcommand("show")
@target_argument
@tool_argument
@undecorated_option
def command(output: Output, target: str, name: str, undecorated: bool) -> None:
    """Show one tool: signature, description, schema, examples.

    NAME is a tool of TARGET, or an alias of one. Loading TARGET runs its code.

    \b
    Examples:
      toolkit show tools.py free_days
      toolkit show builtin edit
    """
    with open_extended_target(target, output, unless=name, undecorated=undecorated) as loaded_target:
        tool = loaded_target.catalog[name]
        if output.is_json:
            output.json(tool_to_json(tool))
            return
        output.show(render_signature(tool), Text())
        output.show(Text(make_visible(tool.description)), Text())
        output.show(render_schema_tree(to_safe_text("arguments", "bold"), tool.schema))
        if tool.output_schema is not None:
            title = Text.assemble(("result: ", "bold"), to_safe_text(describe_type(tool.output_schema), "green"))
            output.show(Text(), render_schema_tree(title, tool.output_schema))
        if tool.facts.examples:
            output.show(Text("\nexamples", "bold"))
        for example in tool.facts.examples:
            output.show(to_safe_text(f"  {json.dumps(as_json(example), ensure_ascii=False)}"))
        output.show(Text())
        for label, text in _label_facts(tool).items():
            output.show(Text.assemble((f"{label}: ", "dim"), to_safe_text(text)))


def _label_facts(tool: Tool) -> dict[str, str]:
    facts = tool.facts
    texts = {
        "facts": describe_facts(tool),
        "aliases": ", ".join(facts.aliases),
        "group": facts.group or "",
        "search hint": facts.search_hint or "",
        "version": facts.version or "",
        "origin": tool.origin if is_foreign(tool) else "",
        "from": describe_place(tool),
    }
    return {label: text for label, text in texts.items() if text}


def describe_type(schema: Any) -> str:
    """Return in a few words the type that *schema* describes: `integer`, `"DE" | "FR"`, `list of string`."""
    if not isinstance(schema, Mapping) or not schema:
        return "never" if schema is False else "any"
    if "const" in schema:
        return show_value(schema["const"], max_chars=30)
    if "enum" in schema:
        choices = schema["enum"]
        ellipsis = ["..."] if len(choices) > _MAX_CHOICES else []
        return " | ".join([*(show_value(choice, max_chars=30) for choice in choices[:_MAX_CHOICES]), *ellipsis])
    for word in UNION_KEYWORDS:
        if word in schema:
            return " | ".join(dict.fromkeys(map(describe_type, schema[word])))
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    return " | ".join(_describe_one_type(kind, schema) for kind in stated_types(schema)) or describe_expectation(schema)


def _describe_one_type(kind: str, schema: Mapping[str, Any]) -> str:
    if kind == "array":
        first = schema.get("prefixItems")
        items = ", ".join(map(describe_type, first)) if first else ""
        return f"[{items}]" if items else f"list of {describe_type(schema['items'])}" if "items" in schema else "list"
    if kind == "string" and "format" in schema:
        return str(schema["format"])
    return kind


def render_signature(tool: Tool) -> Text:
    """Return how a model calls *tool*: the names, types and defaults of the parameters, and the type of the result."""
    schema = tool.schema
    required = schema.get("required") or ()
    parameters = []
    for name, subschema in _properties(schema):
        has_default = isinstance(subschema, Mapping) and "default" in subschema
        default = f" = {show_value(subschema['default'], max_chars=30)}" if has_default else ""
        parameters.append(f"{name}{'' if name in required or default else '?'}: {describe_type(subschema)}{default}")
    output = tool.output_schema
    return_text = "" if output is None else f" -> {describe_type(output)}"
    return Text.assemble((tool.name, "bold"), to_safe_text(f"({', '.join(parameters)}){return_text}"))


def render_schema_tree(title: Text, schema: Mapping[str, Any]) -> RenderableType:
    """Return a tree of the properties that *schema* describes, with their types, limits and descriptions."""
    tree = Tree(title, guide_style="dim")
    _add_branches(tree, schema, 0)
    definitions = schema.get("$defs")
    if not isinstance(definitions, Mapping) or not definitions:
        return tree
    branches = []
    for name, definition in definitions.items():
        branch = Tree(_label(name, definition, is_required=True), guide_style="dim")
        _add_branches(branch, definition, 0)
        branches.append(branch)
    return Group(tree, *branches)


def _add_branches(tree: Tree, schema: Any, depth: int) -> None:
    if depth >= _MAX_DEPTH or not isinstance(schema, Mapping):
        return
    required = schema.get("required") or ()
    for name, subschema in _properties(schema):
        _add_branches(tree.add(_label(name, subschema, is_required=name in required)), subschema, depth + 1)
    for label, subschema in _iter_nested_schemas(schema):
        _add_branches(tree.add(_label(label, subschema, is_required=True)), subschema, depth + 1)


def _iter_nested_schemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield the schemas nested in *schema* besides properties, if they say more than a type."""
    labelled_schemas = [("each item", schema.get("items")), ("each value", schema.get("additionalProperties"))]
    labelled_schemas += [
        (f"item {index}", subschema) for index, subschema in enumerate(schema.get("prefixItems") or ())
    ]
    members = [member for word in UNION_KEYWORDS for member in schema.get(word) or ()]
    labelled_schemas += [(f"or {index}" if index else "either", subschema) for index, subschema in enumerate(members)]
    for label, subschema in labelled_schemas:
        if isinstance(subschema, Mapping) and _has_details(subschema):
            yield label, subschema


def _has_details(schema: Mapping[str, Any]) -> bool:
    return bool(_properties(schema) or schema.get("description") or any(_describe_limits(schema))) or any(
        True for _ in _iter_nested_schemas(schema)
    )


def _label(name: str, schema: Any, *, is_required: bool) -> Text:
    label = Text.assemble(
        to_safe_text(name, "cyan"),
        to_safe_text("" if is_required else "?"),
        ": ",
        to_safe_text(describe_type(schema), "green"),
    )
    if not isinstance(schema, Mapping):
        return label
    if "default" in schema:
        label.append_text(to_safe_text(f" = {show_value(schema['default'], max_chars=40)}"))
    if limits := ", ".join(_describe_limits(schema)):
        label.append_text(to_safe_text(f" ({limits})", "dim"))
    if isinstance(description := schema.get("description"), str):
        label.append("  ").append_text(to_safe_text(description, "italic"))
    return label


def _describe_limits(schema: Mapping[str, Any]) -> Iterator[str]:
    has_known_form = find_text_form(schema) is not None  # then its name says what the pattern says
    for word, (text, noun) in _LIMITS.items():
        limit = schema.get(word)
        if limit not in (None, False) and not (word == "pattern" and has_known_form):
            is_count = noun and isinstance(limit, int)
            yield text.format(format_count(limit, noun) if is_count else show_value(limit, max_chars=40))


def _properties(schema: Mapping[str, Any]) -> list[tuple[str, Any]]:
    properties = schema.get("properties")
    return list(properties.items()) if isinstance(properties, Mapping) else []
