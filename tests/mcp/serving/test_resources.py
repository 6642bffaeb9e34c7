"""Resources: what a client lists and reads by URI."""

from __future__ import annotations

import base64
import re
from typing import Literal

import mcp_types as types
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import MCPError

from tests.example_counts import limit_examples
from toolkit import AudioPart, Catalog, Context, Dispatcher, FilePart, ImagePart, ResourcePart, ToolError, tool
from toolkit.errors import DefinitionError
from toolkit.mcp import build_server
from toolkit.mcp.serving.resources import ResourceBook

from .kit import MODES, Person, connected

pytestmark = pytest.mark.anyio


@tool(catalog=None, read_only=True)
def read_day(day: int, part: Literal["am", "pm"]) -> dict[str, object]:
    """
    Read the notes of a day.

    Args:
        day: The number of the day.
        part: Which half of it.
    """
    return {"day": day + 1, "part": part}


@tool(catalog=None, read_only=True)
def read_all() -> list[ResourcePart | ImagePart | AudioPart | FilePart]:
    """Read parts of all kinds."""
    return [
        ResourcePart("memo://inner", "inside", "text/markdown"),
        ImagePart(b"png"),
        AudioPart(b"wav", "audio/wav"),
        FilePart("file:///a"),
    ]


@tool(catalog=None, read_only=True)
async def read_secret(context: Context) -> str:
    """Read what needs a word."""
    return f"open {await context.ask('word', 'Which word?')}"


@tool(catalog=None, read_only=True)
def read_broken() -> str:
    """Fail."""
    raise ToolError("the disk is full")


RESOURCES = {
    "memo://today": "buy milk",
    "memo://logo": b"\x00\x01",
    "memo://page": ResourcePart("memo://page", "# Title", "text/markdown"),
    "memo://days/{day}/{part}": read_day,
    "memo://all": read_all,
    "memo://secret": read_secret,
    "memo://broken": read_broken,
}


def serving(mode, person=None):
    """Open a client of a server with the resources above."""
    return connected(Dispatcher(Catalog()), mode, person, resources=RESOURCES)


@pytest.mark.parametrize("mode", MODES)
async def test_resources_and_templates_are_listed_apart(mode):
    """A client sees fixed URIs in one list and templates in another."""
    async with serving(mode) as client:
        fixed = (await client.list_resources()).resources
        [template] = (await client.list_resource_templates()).resource_templates

    assert [(item.uri, item.name, item.mime_type, item.size) for item in fixed[:3]] == [
        ("memo://today", "today", "text/plain", 8),
        ("memo://logo", "logo", "application/octet-stream", 2),
        ("memo://page", "page", "text/markdown", 7),
    ]
    assert [item.uri for item in fixed[3:]] == ["memo://all", "memo://secret", "memo://broken"]
    assert fixed[3].description == "Read parts of all kinds."
    assert (template.uri_template, template.name) == ("memo://days/{day}/{part}", "read_day")


@pytest.mark.parametrize("mode", MODES)
async def test_texts_and_bytes_are_read(mode):
    """A text arrives as text, bytes as base64, each with its media type."""
    async with serving(mode) as client:
        [text] = (await client.read_resource("memo://today")).contents
        [data] = (await client.read_resource("memo://logo")).contents

    assert (text.uri, text.text, text.mime_type) == ("memo://today", "buy milk", "text/plain")
    assert (base64.b64decode(data.blob), data.mime_type) == (b"\x00\x01", "application/octet-stream")


@pytest.mark.parametrize("mode", MODES)
async def test_a_template_calls_its_function(mode):
    """The values in the URI become arguments of their types, and the result the content under that URI."""
    async with serving(mode) as client:
        [entry] = (await client.read_resource("memo://days/7/pm")).contents
        with pytest.raises(MCPError, match="part"):
            await client.read_resource("memo://days/7/noon")

    assert (entry.uri, entry.text, entry.mime_type) == ("memo://days/7/pm", '{"day":8,"part":"pm"}', "application/json")


@pytest.mark.parametrize("mode", MODES)
async def test_parts_of_all_kinds_are_contents(mode):
    """A part with a URI of its own keeps it; the others have the URI that was read."""
    async with serving(mode) as client:
        inner, image, sound, link = (await client.read_resource("memo://all")).contents

    assert (inner.uri, inner.text) == ("memo://inner", "inside")
    assert (image.uri, image.mime_type, base64.b64decode(image.blob)) == ("memo://all", "image/png", b"png")
    assert sound.mime_type == "audio/wav"
    assert (link.text, link.mime_type) == ("file:///a", "text/uri-list")


@pytest.mark.parametrize("mode", MODES)
async def test_a_function_may_ask(mode):
    """A question of a resource reaches the user of the client."""
    person = Person(types.ElicitResult(action="accept", content={"answer": "sesame"}))
    async with serving(mode, person) as client:
        [entry] = (await client.read_resource("memo://secret")).contents

    assert entry.text == "open sesame"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("uri", ["memo://tomorrow", "memo://days/7", "memo://days/7/pm/x", "memo://days/{day}/{part}"])
async def test_an_unknown_resource_is_named(mode, uri):
    """The error has the URI that was asked for."""
    async with serving(mode) as client:
        with pytest.raises(MCPError) as failure:
            await client.read_resource(uri)

    assert failure.value.error.data == {"uri": uri} or "day" in failure.value.error.message


@pytest.mark.parametrize("mode", MODES)
async def test_a_function_that_fails_says_why(mode):
    """The reader learns why there is no content."""
    async with serving(mode) as client:
        with pytest.raises(MCPError, match="the disk is full") as failure:
            await client.read_resource("memo://broken")
    assert failure.value.code == types.INTERNAL_ERROR  # no argument is to blame


@pytest.mark.parametrize("mode", MODES)
async def test_arguments_of_a_template_are_completed(mode):
    """A client that completes a value of a template gets the choices of the parameter."""
    reference = types.ResourceTemplateReference(uri="memo://days/{day}/{part}")
    async with serving(mode) as client:
        answer = await client.complete(reference, {"name": "part", "value": ""})

    assert answer.completion.values == ["am", "pm"]


@pytest.mark.parametrize("mode", MODES)
async def test_bytes_of_a_function_are_a_blob(mode):
    """Their base64 is not a text."""

    @tool(catalog=None, read_only=True)
    def read_photo() -> bytes:
        """Read a photo."""
        return b"\x00\xff"

    async with connected(Dispatcher(Catalog()), mode, resources={"memo://photo": read_photo}) as client:
        [contents] = (await client.read_resource("memo://photo")).contents

    assert isinstance(contents, types.BlobResourceContents)
    assert base64.b64decode(contents.blob) == b"\x00\xff"
    assert contents.mime_type == "application/octet-stream"


async def test_a_server_without_resources_declares_none():
    """A client that asks for resources learns that the server has no such method."""
    async with connected(Dispatcher(Catalog()), MODES[0]) as client:
        assert client.server_capabilities.resources is None


@pytest.mark.parametrize(
    ("resources", "words"),
    [
        ({"no uri": "text"}, "no uri"),
        ({7: "text"}, "7"),
        ({"memo://{day}": "text"}, "a function"),
        ({"memo://a": 7}, "int"),
        ({"memo://{week}": read_day}, "week, day, part"),
        ({"memo://a": ResourcePart("memo://a")}, "a text"),
    ],
)
def test_wrong_resources_are_refused_at_once(resources, words):
    """The error names the resource and what it has to be."""
    with pytest.raises(DefinitionError, match=words):
        build_server(Dispatcher(Catalog()), resources=resources)


@settings(max_examples=limit_examples(30))
@given(st.text(alphabet=st.characters(codec="ascii", exclude_characters="/%"), min_size=1))
def test_a_template_returns_the_inserted_value(value):
    """Any text without slashes in the place of a parameter is its argument."""
    book = ResourceBook({"memo://days/{day}/{part}": read_day})
    function = book.find_function(f"memo://days/{value}/am")
    assert function is not None
    assert function[1] == {"day": value, "part": "am"}


def join_two(left: str, right: str) -> str:
    """Join two parts of a URI."""
    return left + right


@given(st.sampled_from(["", "-", "--", "/", "a"]), st.text("-/ab", max_size=8))
def test_a_template_divides_a_uri_as_a_regular_expression_would(between, text):
    """No value is empty or has a slash, and the first is as long as it can be."""
    function = ResourceBook({f"memo:{{left}}{between}{{right}}-": join_two}).find_function(f"memo:{text}")
    match = re.fullmatch(rf"([^/]+){between}([^/]+)-", text)
    assert (function and tuple(function[1].values())) == (match and match.groups())
