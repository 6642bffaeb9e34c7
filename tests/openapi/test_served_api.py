"""
`toolkit serve openapi.json --base-url ...`: an HTTP API is an MCP server, for a client of the official SDK.
"""

from __future__ import annotations

import json
import sys

import pytest
from mcp import Client, MCPError, StdioServerParameters, stdio_client

from tests.mcp.serving.kit import NO, YES, Person, text_of

from .styles_app import build_app, serving

pytestmark = [pytest.mark.anyio, pytest.mark.long]


@pytest.fixture(scope="module")
def address():
    with serving(build_app()) as address:
        yield address


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "openapi.json"
    path.write_text(json.dumps(build_app().openapi()))
    return path


def connect(path, address, person=None, *options):
    words = ["-m", "toolkit", "serve", str(path), "--base-url", address, *options]
    server = StdioServerParameters(command=sys.executable, args=words)
    # The default of `errlog` is the standard error of the moment at which the SDK was imported, perhaps in another test.
    return Client(stdio_client(server, errlog=sys.__stderr__), elicitation_callback=person)


async def test_a_client_lists_and_calls_the_operations(path, address):
    """Each request is asked about first, because it leaves the machine of the user."""
    person = Person(YES)
    async with connect(path, address, person) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        text = await client.call_tool("query_form_exploded_list", {"value": ["a b", "ä&"]})
        tree = {"name": "a", "children": [{"name": "b", "children": []}]}
        recursive = await client.call_tool("tree", tree)
        wrong = await client.call_tool("tree", {"name": 1})
    assert tools["tree"].input_schema["properties"]["children"]["items"] == {"$ref": "#/$defs/TreeBody-Input"}
    assert tools["query_form_exploded_list"].annotations.read_only_hint
    assert json.loads(text_of(text)) == {"value": ["a b", "ä&"]}
    assert recursive.structured_content == tree
    assert wrong.is_error
    assert "name: expected a string" in text_of(wrong)
    assert len(person.questions) == 2
    assert address in person.questions[0].message


async def test_a_refused_call_is_an_error_that_says_so(path, address):
    async with connect(path, address, Person(NO)) as client:
        refused = await client.call_tool("tree", {"name": "a"})
    assert refused.is_error
    assert "refused" in text_of(refused).lower() or "denied" in text_of(refused).lower()


async def test_a_rule_for_the_api_allows_calls_without_a_question(path, address):
    """A client that cannot ask is told this rule."""
    async with connect(path, address, None, "--rule", "allow openapi:Styles/session") as client:
        result = await client.call_tool("session", {"value": "s"})
        with pytest.raises(MCPError, match="a rule such as 'allow openapi:Styles/tree'"):
            await client.call_tool("tree", {"name": "a"})
    assert json.loads(text_of(result)) == {"value": "s"}
