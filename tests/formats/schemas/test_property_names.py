"""Names of parameters, where a provider takes plain ones only."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats import sdks
from tests.formats.tools import build_definitions, module
from toolkit import Catalog, Tool
from toolkit.formats.schemas.property_names import restore_own_names, use_plain_names

PLAIN = re.compile(r"[a-zA-Z0-9_.-]{1,64}")


def tool_of(*names, **more):
    """Return a tool with these parameters, all required."""
    properties = {name: {"type": "integer"} for name in names}
    schema = {"type": "object", "properties": properties, "required": list(names), "additionalProperties": False}
    return Tool.from_schema("act", "Act.", {**schema, **more}, lambda arguments: arguments)


def schema_in(definition):
    """Return the schema in a definition of Anthropic's or Bedrock's."""
    return definition["input_schema"] if "input_schema" in definition else definition["toolSpec"]["inputSchema"]["json"]


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("name", ["anthropic", "bedrock"])
def test_a_name_that_the_provider_refuses_is_sent_as_a_plain_one(name, strict):
    """One such name would make the provider refuse the whole request. The note has both names."""
    definitions = build_definitions(name, Catalog(tool_of("größe", "filter[id]", "n" * 80, "plain")), strict=strict)
    sent = schema_in(definitions[0])
    assert all(PLAIN.fullmatch(key) for key in sent["properties"])
    assert sent["required"] == list(sent["properties"])
    assert "`filter[id]` as `filter_id_`" in str(definitions.notes[0])
    assert sdks.tools(name, definitions) == sdks.plain(list(definitions))


@pytest.mark.parametrize("name", ["anthropic", "bedrock"])
def test_arguments_come_back_under_the_names_of_the_tool(name):
    catalog = Catalog(tool_of("größe", "gr__e", "n"))
    sent = schema_in(build_definitions(name, catalog)[0])
    arguments = dict(zip(sent["properties"], [1, 2, 3], strict=True))
    [call] = module(name).calls(sdks.reply(name, [("act", arguments, "c1")]), catalog)
    assert call.arguments == {"größe": 1, "gr__e": 2, "n": 3}


@pytest.mark.parametrize("name", ["openai", "openai_responses", "gemini", "mistral", "ollama", "mcp"])
def test_other_providers_get_the_names_unchanged(name):
    assert "größe" in str(list(build_definitions(name, Catalog(tool_of("größe")))))


def test_a_schema_with_plain_names_is_sent_unchanged():
    tool = tool_of("a", "b.c", "d-e")
    assert use_plain_names(tool.schema, tool, []) is tool.schema


def test_a_schema_without_required_properties_is_changed_as_well():
    """Without `required` there is nothing more to rename."""
    schema = {"properties": {"a b": {}}}
    assert use_plain_names(schema, tool_of(), []) == {"properties": {"a_b": {}}}


@pytest.mark.parametrize("arguments", ["{cut", None, [1], {"größe": 1}])
def test_arguments_that_need_no_own_names_are_not_changed(arguments):
    """They are not an object, or have the own names of the tool already."""
    assert restore_own_names(arguments, tool_of("größe")) is arguments


@given(st.lists(st.text(min_size=1, max_size=70), unique=True, max_size=6))
def test_any_names_are_distinguished_and_come_back(names):
    """No two names are sent as one."""
    tool = tool_of(*names)
    sent = use_plain_names(tool.schema, tool, [])
    assert all(PLAIN.fullmatch(key) for key in sent["properties"])
    assert len(sent["properties"]) == len(names)
    arguments = {key: number for number, key in enumerate(sent["properties"])}
    assert restore_own_names(arguments, tool) == {name: number for number, name in enumerate(names)}
