"""
Formats on random tools: what is sent takes what the tool takes, and calls come back as they were meant.
"""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from tests.formats import sdks
from tests.formats.tools import build_definitions, module
from tests.parts import AUDIO_PARTS, RESOURCE_PARTS
from toolkit import Catalog, Tool, ToolCall, ToolResult
from toolkit.content import FilePart, ImagePart, JsonPart, TextPart
from toolkit.errors import ProviderError
from toolkit.formats.schemas.dialects import ANTHROPIC, GEMINI, OPENAI, Dialect
from toolkit.formats.schemas.forced_nulls import remove_forced_nulls
from toolkit.formats.schemas.merging import flatten_top_level
from toolkit.formats.schemas.rewriting import rewrite_schema
from toolkit.results import KINDS
from toolkit.values.schemas.engine import iter_mappings

from .signatures import Case, cases
from .values import json_objects, json_values
from .written_schemas import reference, schemas

KEYWORDS = {"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const", "$ref"}
KEYWORDS |= {"title", "description"}
ALLOWED = {
    "openai": KEYWORDS | OPENAI.kept_keywords | {"format", "$defs"},
    "anthropic": KEYWORDS | ANTHROPIC.kept_keywords | {"format", "$defs"},
    "gemini": KEYWORDS | GEMINI.kept_keywords | {"format", "$defs", "prefixItems"},
}
CONTAINED = {"properties", "additionalProperties", "patternProperties", "unevaluatedProperties", "items", "prefixItems"}
# A fourth of the usual, eight times over.
FEW = settings(max_examples=max(3, settings.default.max_examples // 4))
DIALECTS = {"openai": OPENAI, "anthropic": ANTHROPIC, "gemini": GEMINI}


def build_tool(schema: dict[str, Any]) -> Tool:
    """Make a tool with a hand-written schema."""
    return Tool.from_schema("written.tool", "Made of keywords.", schema, lambda arguments: arguments)


def parts(schema: Any) -> list[dict[str, Any]]:
    """Return every schema in a schema that a dialect has made."""
    if not isinstance(schema, dict):
        return []
    inner = [*schema.get("properties", {}).values(), *schema.get("$defs", {}).values(), *schema.get("anyOf", ())]
    inner += [schema.get("items"), schema.get("additionalProperties"), *schema.get("prefixItems", ())]
    return [schema, *(part for inner_schema in inner for part in parts(inner_schema))]


def fill_nulls(value: Any, schema: Any, whole: dict[str, Any]) -> Any:
    """Return *value* as a model has to send it where every property is required: with null for what was left out."""
    if not isinstance(schema, dict):
        return value
    if "$ref" in schema:
        return fill_nulls(value, whole["$defs"][schema["$ref"].removeprefix("#/$defs/")], whole)
    for member in schema.get("anyOf", ()):
        candidate = fill_nulls(value, member, whole)
        if Draft202012Validator({**member, "$defs": whole.get("$defs", {})}).is_valid(candidate):
            return candidate
    if isinstance(value, dict) and "properties" in schema:
        properties = schema["properties"]
        return {
            **dict.fromkeys(properties),
            **{name: fill_nulls(member_value, properties.get(name), whole) for name, member_value in value.items()},
        }
    if isinstance(value, list) and "items" in schema:
        return [fill_nulls(item, schema["items"], whole) for item in value]
    return value


def without_nulls(value: Any) -> Any:
    """Return *value* without the nulls in objects, wherever they come from."""
    if isinstance(value, dict):
        return {key: without_nulls(member) for key, member in value.items() if member is not None}
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("strict", [False, True], ids=["usual", "strict"])
@FEW
@pytest.mark.parametrize("name", sdks.FORMATS)
@given(schema=schemas())
def test_the_definition_of_any_schema_fits_the_types_of_the_sdk(name, strict, schema):
    """The types of the SDK lose no part of the definition."""
    definitions = build_definitions(name, Catalog(build_tool(schema)), strict=strict)
    assert sdks.tools(name, definitions) == sdks.plain(definitions)


@pytest.mark.parametrize("name", DIALECTS)
@given(schema=schemas())
def test_a_rewritten_schema_is_a_valid_schema_of_the_subset(name, schema):
    """No keyword that the provider refuses is left."""
    rewritten = rewrite_schema(schema, DIALECTS[name])
    Draft202012Validator.check_schema(rewritten.schema)
    assert all(ALLOWED[name].issuperset(part) for part in parts(rewritten.schema))
    if name != "gemini" and not rewritten.obstacles:
        objects = [part for part in parts(rewritten.schema) if "properties" in part]
        assert all(part["additionalProperties"] is False for part in objects)
        assert name == "anthropic" or all(part["required"] == list(part["properties"]) for part in objects)


@given(schema=schemas(), arguments=json_objects())
def test_arguments_that_fit_the_tool_fit_the_schema_for_gemini(schema, arguments):
    """This holds if the schema of the tool says for which types it is meant."""
    assume(not flatten_top_level(schema)[1])
    assume(all("type" in part or CONTAINED.isdisjoint(part) for part in iter_mappings(schema)))
    if reference(schema, arguments):
        assert reference(rewrite_schema(schema, GEMINI).schema, arguments) is not False


@pytest.mark.parametrize("dialect", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
@given(case=cases())
def test_arguments_that_fit_the_tool_fit_the_strict_schema(case: Case, dialect: Dialect):
    """They come back from it unchanged."""
    tool = case.tool
    rewritten = rewrite_schema(tool.schema, dialect)
    assume(not rewritten.obstacles)
    # Of a tuple the subset does not say which item is which, so what is left out of one cannot be filled in here.
    assume(not dialect.all_required or not any("prefixItems" in part for part in iter_mappings(tool.schema)))
    encoded = tool.encode(case.arguments)
    sent = fill_nulls(encoded, rewritten.schema, rewritten.schema) if dialect.all_required else encoded
    assert reference(rewritten.schema, sent) is not False
    received = remove_forced_nulls(sent, tool)
    assert tool.about.checker.validator.is_valid(received)
    assert without_nulls(received) == without_nulls(encoded)


@given(schema=schemas(), arguments=json_objects())
def test_arguments_that_fit_are_never_changed(schema, arguments):
    """Only invalid arguments are repaired, and the repair only removes nulls."""
    tool = build_tool(schema)
    received = remove_forced_nulls(arguments, tool)
    if reference(schema, arguments):
        assert received is arguments
    assert without_nulls(received) == without_nulls(arguments)


@pytest.mark.one_case_in(3)
@FEW
@pytest.mark.parametrize("name", sdks.FORMATS)
@given(case=cases())
def test_a_call_comes_back_unchanged(name, case: Case):
    """
    The definition, the call in the type of the provider, and the call that is read from it have one name and one
    meaning.
    """
    tool = case.tool.renamed("drawn.tool")
    catalog = Catalog(tool)
    build_definitions(name, catalog)
    arguments = tool.encode(case.arguments)
    response = sdks.reply(name, [(module(name).NAMING.wire(tool.name), arguments, "id1")])
    [call] = module(name).calls(response, catalog)
    assert call.name == "drawn.tool"
    assert tool.check(call.arguments) == tool.check(arguments)


@pytest.mark.one_case_in(3)
@FEW
@pytest.mark.parametrize("name", sdks.FORMATS)
@given(
    response=json_values()
    | st.fixed_dictionaries(
        {},
        optional=dict.fromkeys(
            ["content", "choices", "output", "candidates", "message", "parts", "params", "name", "tool_calls"],
            json_values(),
        ),
    )
)
def test_any_response_is_read_or_refused_in_words(name, response):
    """No response makes reading fail otherwise than by saying that it is none."""
    try:
        calls = module(name).calls(response, Catalog(build_tool({"type": "object"})))
    except ProviderError:
        return
    assert all(isinstance(call, ToolCall) and isinstance(call.name, str) for call in calls)


IMAGES = st.sampled_from([b"\x89PNG\r\n\x1a\nx", b"\xff\xd8\xffx", b"GIF87ax", b"RIFF1234WEBPx", b"none", b""])
PARTS = st.one_of(
    st.builds(TextPart, st.text()),
    st.builds(JsonPart, json_values()),
    st.builds(ImagePart, IMAGES),
    st.builds(FilePart, st.just("file:///x"), st.none() | st.just("text/plain"), st.none() | st.just("x")),
    AUDIO_PARTS,
    RESOURCE_PARTS,
)
RESULTS = st.builds(
    ToolResult,
    st.text(),
    json_values(),
    st.sampled_from(sorted(KINDS)),
    call_id=st.from_regex(r"call_[0-9]{1,4}", fullmatch=True),
    tool=st.sampled_from(["git.log", "read", "tool_search"]),
    parts=st.lists(PARTS, max_size=3),
)


@pytest.mark.one_case_in(3)
@FEW
@pytest.mark.parametrize("name", sdks.FORMATS)
@given(results=st.lists(RESULTS, max_size=3))
def test_any_results_fit_the_types_of_the_sdk(name, results):
    """Every result of a turn is answered, and the types of the SDK lose no part of it."""
    sent = module(name).results(results)
    assert sdks.messages(name, sent) == sdks.plain(sent)
    for result in results:
        assert name in ("gemini", "ollama", "mcp") or result.call_id in str(sent)
