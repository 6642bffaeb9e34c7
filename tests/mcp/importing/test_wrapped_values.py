"""Values that are no objects, from our server to our client: they are wrapped on the way, and arrive as they were."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client

from toolkit import Catalog, Dispatcher, ImagePart, Permissions, TextPart
from toolkit.formats.mcp import unwrap_output_schema
from toolkit.mcp import RemoteServer, Servers, build_server

pytestmark = pytest.mark.anyio

PNG = b"\x89PNG\r\n\x1a\n"
NUMBERS = {"type": "object", "properties": {"result": {"type": "array", "items": {"$ref": "#/$defs/N"}}}}
NUMBERS |= {"$defs": {"N": {"anyOf": [{"type": "integer"}, {"$ref": "#/properties/result"}]}}}


@pytest.fixture
def shop():
    """Tools whose values are no objects, and one whose value looks wrapped."""
    catalog = Catalog()

    @catalog.tool(read_only=True)
    def count() -> int:
        """Count."""
        return 3

    @catalog.tool(read_only=True)
    def names() -> list[str]:
        """Name."""
        return ["a"]

    @catalog.tool(read_only=True)
    def mixed(wraps: bool) -> dict[str, int] | int:
        """Return one or the other."""
        return {"a": 1} if wraps else 3

    @catalog.tool(read_only=True)
    def untyped() -> Any:
        """Return a list, and promise nothing."""
        return [1]

    @catalog.tool(read_only=True)
    def own() -> dict[str, int]:
        """Return an object that has the key of the wrapper."""
        return {"result": 3}

    @catalog.tool(read_only=True)
    def image() -> ImagePart:
        """Draw."""
        return ImagePart(PNG)

    @catalog.tool(read_only=True)
    def captioned() -> list[TextPart | ImagePart]:
        """Draw, and say what."""
        return [TextPart("a cat"), ImagePart(PNG)]

    return catalog


@pytest.mark.parametrize(
    ("name", "arguments", "value"),
    [
        ("count", {}, 3),
        ("names", {}, ["a"]),
        ("mixed", {"wraps": True}, {"a": 1}),
        ("mixed", {"wraps": False}, 3),
        ("untyped", {}, [1]),
        ("own", {}, {"result": 3}),
    ],
)
async def test_a_wrapped_value_arrives_unchanged(shop, name, arguments, value):
    async with Servers(None, {"shop": RemoteServer(build_server(Dispatcher(shop)))}) as tools:
        assert tools.problems == []
        result = await Dispatcher(tools, permissions=Permissions("bypass")).call(f"shop_{name}", arguments)
    assert (result.kind, result.value) == ("ok", value)


async def test_an_image_alone_is_sent_alone(shop):
    """A text of the tool is sent beside it, and one that only names the image is not."""
    async with Client(build_server(Dispatcher(shop))) as client:
        alone, captioned = await client.call_tool("image"), await client.call_tool("captioned")
    assert [block.type for block in alone.content] == ["image"]
    assert [block.type for block in captioned.content] == ["text", "image"]


def test_references_of_a_wrapped_schema_are_moved_back():
    inner, is_wrapped = unwrap_output_schema({**NUMBERS, "x-fastmcp-wrap-result": True})
    assert is_wrapped
    assert inner["items"] == {"$ref": "#/$defs/N"}
    assert inner["$defs"]["N"]["anyOf"][1] == {"$ref": "#"}


@pytest.mark.parametrize(
    "schema",
    [
        None,
        NUMBERS,
        {"x-fastmcp-wrap-result": True},
        {"x-fastmcp-wrap-result": True, "properties": 1},
        {"x-fastmcp-wrap-result": True, "properties": {"result": {"anyOf": 5}}},
    ],
)
def test_a_schema_that_wraps_no_value_is_not_changed(schema):
    assert unwrap_output_schema(schema) == (schema, False)
