"""Schemas in the subsets that strict modes take."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import pytest
from annotated_types import Interval, MinLen

from tests.formats.tools import build_definitions, everything
from toolkit import Catalog, Tool, tool
from toolkit.formats.schemas.dialects import ANTHROPIC, GEMINI, OPENAI, Dialect
from toolkit.formats.schemas.rewriting import rewrite_schema


def rewrite(properties: Any, dialect: Dialect = OPENAI, required: Any = None, **more: Any) -> Any:
    """Return the properties of a closed object, all required unless told otherwise, as *dialect* has them."""
    required = list(properties) if required is None else required
    schema = {"type": "object", "properties": properties, "required": required, "additionalProperties": False, **more}
    result = rewrite_schema(schema, dialect)
    assert not result.obstacles
    return result.schema["properties"]


def parts(schema: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every schema in *schema*."""
    if isinstance(schema, Mapping):
        yield schema
        for key in ("properties", "$defs"):
            for part in schema.get(key, {}).values():
                yield from parts(part)
        for key in ("items", "additionalProperties"):
            yield from parts(schema.get(key))
        for part in schema.get("anyOf", ()):
            yield from parts(part)


def is_strict_for_openai(schema: Any) -> bool:
    """Return whether every object is as OpenAI asks."""
    objects = [part for part in parts(schema) if "properties" in part]
    return all(
        part["additionalProperties"] is False and part["required"] == list(part["properties"]) for part in objects
    )


@pytest.mark.parametrize("name", ["openai", "openai_responses", "mistral"])
def test_every_property_is_required_and_every_object_closed(name):
    """An optional property may be null."""
    definitions = build_definitions(name, everything(), strict=True)
    strict = [
        definition.get("function", definition)
        for definition in definitions
        if definition.get("function", definition).get("strict")
    ]
    assert [function["name"] for function in strict] == ["ping", "git--log", "plant", "send", "find_user"]
    assert all(is_strict_for_openai(function["parameters"]) for function in strict)
    log = strict[1]["parameters"]["properties"]
    assert log["path"] == {"type": "string", "description": "Where to look."}
    assert log["most"] == {"type": ["integer", "null"], "description": "How many. (default: 10)"}
    assert log["kind"]["enum"] == ["full", "short", None]
    assert log["since"]["type"] == ["string", "null"]


@pytest.mark.parametrize("name", ["openai", "openai_responses", "mistral", "anthropic", "bedrock"])
def test_a_tool_that_cannot_be_strict_is_sent_unchanged_with_a_note(name):
    """An object with unknown keys cannot be strict, and the note names it."""
    catalog = everything()
    definitions = build_definitions(name, catalog, strict=True)
    assert catalog["export"].schema in [
        definition.get("function", definition.get("toolSpec", definition)).get("parameters")
        or definition.get("toolSpec", {}).get("inputSchema", {}).get("json")
        or definition.get("input_schema")
        for definition in definitions
    ]
    [note] = [note for note in definitions.notes if note.tool == "export"]
    assert "variables is an object with any keys" in note.text
    assert "anything takes any value" in note.text


@pytest.mark.parametrize(
    ("schema", "sent"),
    [
        ({"type": "string"}, {"type": ["string", "null"]}),
        ({"type": ["string", "null"]}, {"type": ["string", "null"]}),
        ({"enum": ["a", "b"]}, {"type": ["string", "null"], "enum": ["a", "b", None]}),
        ({"const": 1}, {"type": ["integer", "null"], "enum": [1, None]}),
        ({"enum": ["a", None]}, {"type": ["string", "null"], "enum": ["a", None]}),
        (
            {"anyOf": [{"type": "string"}, {"type": "integer"}]},
            {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "null"}]},
        ),
        (
            {"oneOf": [{"type": "string"}, {"type": "null"}]},
            {"anyOf": [{"type": "string"}, {"type": "null"}]},
        ),
        ({"$ref": "#/$defs/x"}, {"anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}]}),
        (
            {"$ref": "#/$defs/x", "description": "An x."},
            {"anyOf": [{"$ref": "#/$defs/x"}, {"type": "null"}], "description": "An x."},
        ),
    ],
    ids=["type", "null", "enum", "const", "null-choice", "anyOf", "null-member", "reference", "described-reference"],
)
def test_an_optional_property_is_made_nullable_once(schema, sent):
    """Null is added in any form of the schema, and only if it is not there."""
    assert rewrite({"a": schema}, required=[], **{"$defs": {"x": {"type": "string"}}})["a"] == sent


@pytest.mark.parametrize(
    ("dialect", "schema", "sent"),
    [
        (
            OPENAI,
            {"type": "integer", "minimum": 1, "multipleOf": 2},
            {"type": "integer", "minimum": 1, "multipleOf": 2},
        ),
        (ANTHROPIC, {"type": "integer", "minimum": 1}, {"type": "integer", "description": "(at least 1)"}),
        (GEMINI, {"type": "integer", "exclusiveMinimum": 1}, {"type": "integer", "description": "(greater than 1)"}),
        (OPENAI, {"type": "string", "minLength": 3}, {"type": "string", "description": "(characters at least: 3)"}),
        (OPENAI, {"type": "string", "format": "uuid"}, {"type": "string", "format": "uuid"}),
        (OPENAI, {"type": "string", "format": "uri"}, {"type": "string", "description": "(format: uri)"}),
        (ANTHROPIC, {"type": "string", "format": "uri"}, {"type": "string", "format": "uri"}),
        (OPENAI, {"type": "string", "pattern": "^[a-z]+$"}, {"type": "string", "pattern": "^[a-z]+$"}),
        (
            OPENAI,
            {"type": "string", "pattern": r"^(?!x)\w+$"},
            {"type": "string", "description": r'(has to match the regular expression "^(?!x)\\w+$")'},
        ),
        (ANTHROPIC, {"type": "string", "default": "x"}, {"type": "string", "default": "x"}),
        (OPENAI, {"type": "string", "default": "x"}, {"type": "string", "description": '(default: "x")'}),
        (
            OPENAI,
            {"type": "array", "items": {"type": "string"}, "uniqueItems": True, "minItems": 2},
            {"type": "array", "items": {"type": "string"}, "minItems": 2, "description": "(no two items alike)"},
        ),
        (
            ANTHROPIC,
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "maxItems": 3},
            {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "(items at most: 3)"},
        ),
        (
            ANTHROPIC,
            {"type": "array", "items": {"type": "string"}, "minItems": 2},
            {"type": "array", "items": {"type": "string"}, "description": "(items at least: 2)"},
        ),
        (GEMINI, {"const": "x"}, {"type": "string", "enum": ["x"]}),
        (GEMINI, {"const": True}, {"type": "boolean", "description": "(always true)"}),
        (GEMINI, {"enum": ["a", None]}, {"type": ["string", "null"], "description": '(one of ["a", null])'}),
        (
            OPENAI,
            {"type": "object", "properties": {"b": {"type": "string"}}, "required": ["b", "c"], "minProperties": 1},
            {
                "type": "object",
                "properties": {"b": {"type": "string"}},
                "required": ["b"],
                "additionalProperties": False,
                "description": '(properties at least: 1; has to fit `required`: ["c"])',
            },
        ),
        (
            OPENAI,
            {"type": "string", "not": {"const": "x"}, "$comment": "hush", "uniqueItems": False, "deprecated": True},
            {"type": "string", "description": '(has to fit `not`: {"const": "x"}; deprecated)'},
        ),
        (
            OPENAI,
            {"type": "array", "prefixItems": [{"type": "integer"}, {"type": "integer"}], "items": False},
            {"type": "array", "items": {"type": "integer"}, "maxItems": 2},
        ),
        (
            OPENAI,
            {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
            {
                "type": "array",
                "items": {"anyOf": [{"type": "integer"}, {"type": "string"}]},
                "description": '(its items, in this order, have to fit [{"type": "integer"}])',
            },
        ),
        (
            GEMINI,
            {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
            {"type": "array", "prefixItems": [{"type": "integer"}], "items": {"type": "string"}},
        ),
        (GEMINI, {"type": "array"}, {"type": "array"}),
        (GEMINI, {"type": "object", "additionalProperties": True}, {"type": "object", "additionalProperties": True}),
        (
            GEMINI,
            {"additionalProperties": {"const": "x"}, "patternProperties": {"^a": {}}},
            {
                "type": "object",
                "additionalProperties": {"type": "string", "enum": ["x"]},
                "description": '(has to fit `patternProperties`: {"^a": {}})',
            },
        ),
        (GEMINI, True, {}),
        (
            OPENAI,
            {"allOf": [{"type": "string"}, {"minLength": 1, "type": "integer"}], "title": "T"},
            {"title": "T", "type": "string", "description": '(characters at least: 1) (has to fit `type`: "integer")'},
        ),
        (
            OPENAI,
            {
                "type": "object",
                "properties": {"b": {"type": "string"}},
                "required": ["b"],
                "anyOf": [{}],
                "oneOf": [{}],
            },
            {
                "type": "object",
                "properties": {"b": {"type": "string"}},
                "required": ["b"],
                "additionalProperties": False,
                "description": "(has to fit `anyOf`: [{}]; has to fit `oneOf`: [{}])",
            },
        ),
        (
            OPENAI,
            {"anyOf": [{"type": "string"}], "oneOf": [{"type": "string"}]},
            {"anyOf": [{"type": "string"}], "description": '(has to fit `oneOf`: [{"type": "string"}])'},
        ),
    ],
)
def test_a_keyword_outside_the_subset_moves_into_the_description(dialect, schema, sent):
    assert rewrite({"a": schema}, dialect)["a"] == sent


def test_our_words_follow_the_description_of_the_author():
    """A long value is cut."""
    schema = {"type": "string", "description": "A name.", "examples": ["x" * 1000]}
    text = rewrite({"a": schema})["a"]["description"]
    assert text.startswith('A name. (for example: ["xxx')
    assert len(text) < 600


@pytest.mark.parametrize(
    ("property_schema", "why"),
    [
        (True, "a takes any value"),
        (False, "a takes no value"),
        ({}, "a takes any value"),
        ({"description": "Whatever."}, "a takes any value"),
        ({"enum": [{"x": 1}]}, "a takes any value"),
        ({"type": "object"}, "a is an object with any keys"),
        ({"type": "object", "additionalProperties": {"type": "string"}}, "a is an object with any keys"),
        ({"type": "object", "patternProperties": {"^x": {"type": "string"}}}, "a is an object with any keys"),
        ({"type": "array"}, "a is an array of anything"),
        ({"type": "array", "items": True}, "a is an array of anything"),
        ({"type": "array", "items": {}}, "a[] takes any value"),
        ({"anyOf": [{"type": "string"}, {}]}, "a|2 takes any value"),
        ({"$ref": "#/properties/b"}, "a refers to #/properties/b, which is not in `$defs`"),
    ],
)
@pytest.mark.parametrize("dialect", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def test_an_obstacle_to_strictness_is_named_with_its_place(dialect, property_schema, why):
    schema = {
        "type": "object",
        "properties": {"a": property_schema, "b": {"type": "string"}},
        "additionalProperties": False,
    }
    assert why in rewrite_schema(schema, dialect).obstacles


def test_a_note_is_short_for_any_number_of_obstacles():
    """It names three of them."""
    schema = {"type": "object", "properties": {f"p{number}": {} for number in range(100)}}
    tool = Tool.from_schema("act", "Act.", schema, lambda arguments: None)
    [note] = build_definitions("openai", Catalog(tool), strict=True).notes
    assert note.text == "not strict: p0 takes any value; p1 takes any value; p2 takes any value; and 97 more"


def test_a_part_that_gemini_cannot_describe_is_sent_as_open():
    """There is nothing to fall back to, so that part is open, and a note says so."""
    schema = {"type": "object", "properties": {"a": {"$ref": "#/properties/b"}, "b": {"type": "string"}}}
    tool = Tool.from_schema("act", "Act.", schema, lambda arguments: None)
    definitions = build_definitions("gemini", Catalog(tool))
    assert definitions[0]["functionDeclarations"][0]["parametersJsonSchema"]["properties"]["a"] == {}
    assert "a refers to #/properties/b" in str(definitions.notes[0])


def test_gemini_wants_no_schema_for_no_parameters():
    """An object without properties is refused there."""
    [definition] = build_definitions("gemini", Catalog(everything()["ping"].function))
    assert definition["functionDeclarations"] == [{"name": "ping", "description": "Say that you are there."}]


def test_definitions_that_contain_themselves_are_kept_for_openai():
    """Recursion is legal there; a reference with a description is wrapped, because it has to stand alone."""
    schema = rewrite_schema(everything()["plant"].schema, OPENAI).schema
    assert schema["properties"]["node"] == {"anyOf": [{"$ref": "#/$defs/TreeNode"}], "description": "The root of it."}
    assert schema["$defs"]["TreeNode"]["properties"]["children"]["items"] == {"$ref": "#/$defs/TreeNode"}
    assert is_strict_for_openai(schema)


def test_definitions_that_contain_themselves_are_an_obstacle_for_anthropic():
    """Recursion is illegal there; a reference to anything else stays, or is put in its place."""
    assert rewrite_schema(everything()["plant"].schema, ANTHROPIC).obstacles == ["$defs.TreeNode contains itself"]
    sent = rewrite(
        {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x", "description": "Mine."}},
        ANTHROPIC,
        **{"$defs": {"x": {"type": "string", "description": "An x."}, "unused": {"type": "string"}}},
    )
    assert sent == {"a": {"$ref": "#/$defs/x"}, "b": {"type": "string", "description": "Mine. An x."}}


def test_a_recursive_reference_with_further_keywords_ends():
    """The inner one stays a reference, because it would be inlined without end."""
    node = {"type": "object", "properties": {"next": {"$ref": "#/$defs/n", "minProperties": 1}}}
    schema = {"type": "object", "properties": {"a": {"$ref": "#/$defs/n", "minProperties": 2}}, "$defs": {"n": node}}
    sent = rewrite_schema(schema, GEMINI).schema["properties"]["a"]
    assert sent["properties"]["next"] == {"anyOf": [{"$ref": "#/$defs/n"}], "description": "(properties at least: 1)"}


def test_limits_of_annotations_reach_the_model_in_both_ways():
    """They are keywords for a provider that accepts them, and words for any other."""
    catalog = Catalog()

    @tool(catalog=catalog)
    def act(size: Annotated[int, Interval(ge=1, le=9)], name: Annotated[str, MinLen(2)]) -> None:
        """Act."""

    sent = build_definitions("openai", catalog, strict=True)[0]["function"]["parameters"]["properties"]
    assert sent == {
        "size": {"type": "integer", "minimum": 1, "maximum": 9},
        "name": {"type": "string", "description": "(characters at least: 2)"},
    }
    sent = build_definitions("anthropic", catalog, strict=True)[0]["input_schema"]["properties"]
    assert sent["size"] == {"type": "integer", "description": "(at least 1; at most 9)"}


CONDITIONS = {
    "oneOf": [{"properties": {"x": {"type": "integer"}}, "required": ["x"]}, {"properties": {"kind": {"const": "b"}}}],
    "anyOf": [{"$ref": "#/$defs/more"}, {"allOf": [{"properties": {"x": {}}}]}],
    "if": {"properties": {"kind": {"const": "a"}}, "then": {"properties": {"x": {}}}},
    "dependentSchemas": {"kind": {"properties": {"x": {"type": "integer"}}}},
}


@pytest.mark.parametrize("dialect", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
@pytest.mark.parametrize("keyword", list(CONDITIONS))
def test_an_object_that_takes_more_under_a_condition_is_not_closed(keyword, dialect):
    """Strict, it would have no room for what the condition asks for, and no call could ever be right."""
    inner = {"type": "object", "properties": {"kind": {"type": "string"}}, keyword: CONDITIONS[keyword]}
    schema = {
        "type": "object",
        "properties": {"q": inner},
        "additionalProperties": False,
        "$defs": {"more": {"properties": {"x": {}}}},
    }
    assert rewrite_schema(schema, dialect).obstacles == ["q takes `x` only under a condition"]


def test_a_condition_at_the_top_is_an_obstacle_too():
    """The properties of a union's members are offered there; those of a condition are not."""
    schema = {"type": "object", "properties": {"kind": {"type": "string"}}, "then": {"properties": {"x": {}}}, "if": {}}
    result = rewrite_schema(schema, OPENAI)
    assert result.obstacles == ["the whole takes `x` only under a condition"]
    assert result.schema["description"].count("`then`") == 1


def test_a_condition_on_declared_properties_moves_into_the_description():
    """It hides no property, so the tool stays strict."""
    kinds = [{"properties": {"kind": {"const": "a"}}}, {"required": ["kind"]}]
    inner = {"type": "object", "properties": {"kind": {"type": "string"}}, "required": ["kind"], "anyOf": kinds}
    assert "`anyOf`" in rewrite({"q": inner})["q"]["description"]


@pytest.mark.parametrize("format_", ["openai", "openai_responses", "anthropic", "mistral"])
def test_a_tool_that_takes_any_keyword_is_not_closed(format_):
    """`**fields` without a type takes any name, and a strict schema would let the model send none."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def change(isbn: str, **fields):
        """Change a book."""

    definitions = catalog.definitions(format_, strict=True)
    assert "additionalProperties': False" not in str(list(definitions))
    assert [note for note in definitions.notes if "any keys" in str(note)]
