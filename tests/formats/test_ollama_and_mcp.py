"""What Ollama's client would lose, and what MCP's clients want to know."""

from __future__ import annotations

import pytest
from jsonschema import Draft202012Validator

from tests.formats import sdks
from tests.formats.tools import TreeNode, build_definitions, everything
from toolkit import Catalog, Tool, tool
from toolkit.formats import mcp


def send_to_ollama(schema):
    """Return the one parameter of a tool in the form that Ollama gets."""
    whole = {"type": "object", "properties": {"a": schema}, "$defs": {"x": {"type": "string", "minLength": 2}}}
    definitions = build_definitions("ollama", Catalog(Tool.from_schema("act", "Act.", whole, lambda arguments: None)))
    assert sdks.tools("ollama", definitions) == sdks.plain(definitions)
    return definitions[0]["function"]["parameters"]["properties"]["a"]


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "string", "enum": ["a"]}, {"type": "string", "enum": ["a"]}),
        ({"type": "array", "items": {"type": "string"}}, {"type": "array", "items": {"type": "string"}}),
        ({"type": "integer", "minimum": 1}, {"type": "integer", "description": "(at least 1)"}),
        (
            {"anyOf": [{"type": "string"}, {"$ref": "#/$defs/x"}, {"type": "null"}]},
            {
                "type": ["string", "null"],
                "description": '(has to fit `anyOf`: [{"type": "string"}, {"$ref": "#/$defs/x"}, {"type": "null"}])',
            },
        ),
        ({"$ref": "#/$defs/x"}, {"type": "string", "description": "(characters at least: 2)"}),
        ({"oneOf": [True]}, {"description": "(has to fit `oneOf`: [true])"}),
        (
            {"type": "object", "properties": {"b": {"type": "string"}}, "description": "An object."},
            {"type": "object", "description": 'An object. (has to fit `properties`: {"b": {"type": "string"}})'},
        ),
        (True, {}),
    ],
)
def test_keywords_that_the_client_of_ollama_drops_move_into_the_description(schema, sent):
    """Its types keep only four keywords of a parameter."""
    assert send_to_ollama(schema) == sent


def test_shared_definitions_are_kept_for_ollama():
    """Its client passes on only a few keywords."""
    [definition] = build_definitions("ollama", Catalog(everything()["plant"]))
    assert "TreeNode" in definition["function"]["parameters"]["$defs"]
    assert definition["function"]["parameters"]["properties"]["node"]["type"] == "object"


def test_the_top_of_a_schema_is_described_to_ollama():
    """The words about all arguments go into the description of the tool."""
    schema = {"type": "object", "properties": {}, "description": "All or nothing.", "minProperties": 1}
    [definition] = build_definitions("ollama", Catalog(Tool.from_schema("act", "Act.", schema, lambda arguments: None)))
    assert definition["function"]["description"] == "Act. All or nothing. (properties at least: 1)"


def list_for_mcp(function):
    """Return the definition of a function for an MCP client."""
    definitions = build_definitions("mcp", Catalog(function))
    assert sdks.tools("mcp", definitions) == sdks.plain(definitions)
    return definitions[0]


def test_facts_are_hints_for_mcp():
    """All four are stated, because the defaults of the protocol differ from ours."""

    @tool(read_only=True, open_world=True, catalog=None)
    def look() -> str:
        """Look."""
        return ""

    assert list_for_mcp(look)["annotations"] == {
        "readOnlyHint": True,
        "destructiveHint": False,
        "idempotentHint": True,
        "openWorldHint": True,
    }


def no_promise():
    """Act."""


def text() -> str:
    """Act."""


def table() -> dict[str, int]:
    """Act."""


def tree() -> TreeNode:
    """Act."""


def trees() -> list[TreeNode]:
    """Act."""


def either() -> dict[str, int] | str:
    """Act."""


def test_an_output_schema_describes_an_object():
    """
    Another value is wrapped in an object, as `results` sends it. A schema for several types promises only an
    object.
    """
    assert "outputSchema" not in list_for_mcp(no_promise)
    wrapped = {"type": "object", "properties": {"result": {"type": "string"}}, "required": ["result"]}
    wrapped["x-fastmcp-wrap-result"] = True  # FastMCP and our client give their program the value itself
    assert list_for_mcp(text)["outputSchema"] == wrapped
    assert list_for_mcp(table)["outputSchema"] == {"type": "object", "additionalProperties": {"type": "integer"}}
    assert list_for_mcp(tree)["outputSchema"]["type"] == "object"
    assert "$defs" in list_for_mcp(tree)["outputSchema"]
    assert list_for_mcp(trees)["outputSchema"]["properties"]["result"]["items"] == {"$ref": "#/$defs/TreeNode"}
    assert "TreeNode" in list_for_mcp(trees)["outputSchema"]["$defs"]
    assert list_for_mcp(either)["outputSchema"] == {"type": "object"}


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "array", "items": {"$ref": "#"}}, [[], [[]]], [[1]]),
        ({"type": "array", "prefixItems": [{"type": "integer"}, {"$ref": "#/prefixItems/0"}]}, [1, 2], [1, "b"]),
        ({"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"type": "integer"}}}, [1], ["a"]),
        ({"type": "array", "items": {"$ref": "#/$defs/a"}, "$defs": {"a": {"$ref": "#"}}}, [[[]]], [1]),
        ({"type": "array", "items": {"$ref": "#/definitions/a"}, "definitions": {"a": {"$ref": "#"}}}, [[]], [1]),
        ({"type": "array", "items": {"$ref": "#n"}, "$defs": {"a": {"$anchor": "n", "type": "null"}}}, [None], [1]),
        (
            {
                "$id": "https://a.example/s",
                "type": "array",
                "items": {"$ref": "#/$defs/a"},
                "$defs": {"a": {"not": {}}},
            },
            [],
            [1],
        ),
    ],
)
def test_a_wrapped_schema_keeps_its_references(schema, good, bad):
    """Clients check them inside the wrapper."""
    tool = Tool.from_schema("walk", "Walk.", {"type": "object"}, lambda arguments: None, output_schema=schema)
    [definition] = mcp.definitions(Catalog(tool))
    validator = Draft202012Validator(definition["outputSchema"])

    assert Draft202012Validator(schema).is_valid(good)
    assert validator.is_valid({"result": good})
    assert not validator.is_valid({"result": bad})
