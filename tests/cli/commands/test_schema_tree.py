"""
Schemas as a person reads them.
"""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console
from rich.text import Text

from tests.properties.written_schemas import schemas
from toolkit.cli.argument_values import arguments_of
from toolkit.cli.commands.show import describe_type, render_schema_tree, render_signature
from toolkit.errors import BadArgs, DefinitionError
from toolkit.spec import Tool


def draw_schema(schema):
    """Draw the tree of a schema, and return its lines."""
    file = io.StringIO()
    Console(file=file, width=200).print(render_schema_tree(Text("arguments"), schema))
    return file.getvalue().splitlines()


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({}, "any"),
        (True, "any"),
        (False, "never"),
        ({"type": "integer"}, "integer"),
        ({"type": ["string", "null"]}, "string | null"),
        ({"type": "string", "format": "date"}, "date"),
        ({"const": 5}, "5"),
        ({"enum": ["a", 1, None]}, '"a" | 1 | null'),
        ({"enum": list(range(9))}, "0 | 1 | 2 | 3 | 4 | 5 | ..."),
        ({"anyOf": [{"type": "integer"}, {"type": "integer"}, {"type": "null"}]}, "integer | null"),
        ({"oneOf": [{"$ref": "#/$defs/Item"}, {"type": "string"}]}, "Item | string"),
        ({"type": "array"}, "list"),
        ({"type": "array", "items": {"type": "array", "items": {}}}, "list of list of any"),
        ({"type": "array", "prefixItems": [{"type": "string"}, {"type": "integer"}]}, "[string, integer]"),
        ({"required": ["a"]}, 'an object with "a"'),
    ],
)
def test_a_type_is_a_few_words(schema, words):
    """It is as short as possible."""
    assert describe_type(schema) == words


def test_a_tree_has_properties_limits_defaults_and_definitions():
    """The tree has all that a caller has to know."""
    schema = {
        "properties": {
            "count": {
                "type": "integer",
                "minimum": 1,
                "exclusiveMaximum": 9,
                "default": 3,
                "description": "How\nmany.",
            },
            "names": {"type": "array", "items": {"type": "string", "maxLength": 5}, "uniqueItems": True},
            "pair": {"type": "array", "prefixItems": [{"type": "string"}, {"type": "object", "properties": {"x": {}}}]},
            "table": {"type": "object", "additionalProperties": {"type": "array", "items": {"minimum": 1}}},
            "either": {
                "anyOf": [{"type": "integer", "description": "A number."}, {"type": "null", "description": "None."}]
            },
            "item": {"$ref": "#/$defs/Item"},
            "any": True,
        },
        "required": ["count", "any"],
        "$defs": {"Item": {"type": "object", "properties": {"next": {"$ref": "#/$defs/Item"}}}},
    }
    assert draw_schema(schema) == [
        "arguments",
        r"├── count: integer = 3 (>= 1, < 9)  How\nmany.",
        "├── names?: list of string (no item twice)",
        "│   └── each item: string (at most 5 characters)",
        "├── pair?: [string, object]",
        "│   └── item 1: object",
        "│       └── x?: any",
        "├── table?: object",
        "│   └── each value: list of another value",
        "│       └── each item: another value (>= 1)",
        "├── either?: integer | null",
        "│   ├── either: integer  A number.",
        "│   └── or 1: null  None.",
        "├── item?: Item",
        "└── any: any",
        "Item: object",
        "└── next?: Item",
    ]


def test_the_tree_of_a_deep_schema_is_cut():
    schema = {"type": "object"}
    for _ in range(40):
        schema = {"type": "object", "properties": {"a": schema}}
    assert len(draw_schema(schema)) == 7


def test_an_optional_parameter_without_a_default_is_marked():
    schema = {
        "type": "object",
        "properties": {"a": {"type": "string"}, "b": {"type": "string"}, "c": {"type": "string", "default": "x"}},
        "required": ["a"],
    }
    tool = Tool.from_schema("f", "Do it.", schema, lambda arguments: None)
    assert render_signature(tool).plain == 'f(a: string, b?: string, c: string = "x")'


@given(schemas(), st.dictionaries(st.sampled_from(["a", "b", "type"]), st.sampled_from(["5", "x", "null", "[1]", "{"])))
def test_every_schema_can_be_shown_and_typed(schema, words):
    """This holds for every schema of an author that a tool can be built from."""
    try:
        tool = Tool.from_schema("f", "Do it.", schema, lambda arguments: None)
        _ = tool.schema
    except DefinitionError:
        return
    assert draw_schema(tool.schema)[0] == "arguments"
    assert render_signature(tool).plain.startswith("f(")
    try:
        decoded = arguments_of([f"{name}={value}" for name, value in words.items()], tool.schema)
    except BadArgs:
        return
    assert set(decoded) == set(words)
