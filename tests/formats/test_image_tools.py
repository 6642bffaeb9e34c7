"""A tool that returns images says so in its annotation, and its images reach every provider."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from typing import Annotated, Any

import pytest

from tests.formats import sdks
from tests.formats.tools import PNG, module
from toolkit import Catalog, Dispatcher, ImagePart, TextPart, Tool, ToolResult
from toolkit.content import Part
from toolkit.formats import FORMATS

pytestmark = pytest.mark.anyio


def draw() -> ImagePart:
    """Draw a picture."""
    return ImagePart(PNG)


def draw_many() -> list[ImagePart]:
    """Draw pictures."""
    return [ImagePart(PNG), ImagePart(PNG)]


def draw_and_tell() -> tuple[str, ImagePart]:
    """Draw a picture and say what it is."""
    return "a cat", ImagePart(PNG)


def draw_or_tell() -> ImagePart | str:
    """Draw a picture, or say why not."""
    return ImagePart(PNG)


def draw_any() -> list[Part]:
    """Give content of any kind."""
    return [TextPart("a cat"), ImagePart(PNG)]


def draw_described() -> Annotated[ImagePart, "The picture."]:
    """Draw a picture."""
    return ImagePart(PNG)


def draw_stream() -> Iterator[ImagePart]:
    """Draw one picture after another."""
    yield ImagePart(PNG)


def draw_later() -> list[Picture]:
    """Draw a picture of a type that is defined below."""
    return [ImagePart(PNG)]


def draw_result() -> ToolResult:
    """Make the result itself."""
    return ToolResult("a cat", {"cats": 1}, parts=[ImagePart(PNG)])


def draw_result_or_tell() -> dict[str, int] | ToolResult:
    """Make the result itself, or give a table."""
    return ToolResult("a cat", parts=[ImagePart(PNG)])


Picture = ImagePart | TextPart

TOOLS = [
    draw,
    draw_many,
    draw_and_tell,
    draw_or_tell,
    draw_any,
    draw_described,
    draw_stream,
    draw_later,
    draw_result,
    draw_result_or_tell,
]


@pytest.mark.one_case_in(3)
@pytest.mark.parametrize("function", TOOLS, ids=lambda function: function.__name__)
@pytest.mark.parametrize("name", FORMATS)
async def test_a_returned_image_reaches_every_provider(name, function):
    """The bytes are beside the text, as the SDK takes them."""
    async with Dispatcher(Catalog(function)) as dispatcher:
        result = await dispatcher.call(function.__name__, id="call_7")
    assert result.kind == "ok"
    sent = module(name).results([result])
    assert sdks.messages(name, sent) == sdks.plain(sent)
    assert base64.b64encode(PNG).decode() in json.dumps(sdks.plain(sent))


@pytest.mark.parametrize("function", TOOLS, ids=lambda function: function.__name__)
async def test_a_tool_annotated_with_a_part_promises_no_structured_content(function):
    """An MCP client refuses a result without the structured content that the tool promised."""
    catalog = Catalog(function)
    (definition,) = module("mcp").definitions(catalog)
    assert "outputSchema" not in definition
    assert Tool.of(function).output_schema is None
    async with Dispatcher(catalog) as dispatcher:
        (answer,) = module("mcp").results([await dispatcher.call(function.__name__)])
    assert ("structuredContent" in answer) == (function is draw_result)


def keep() -> dict[str, ImagePart]:
    """Give a table of pictures."""
    return {"cat": ImagePart(b"abc")}


async def test_an_image_inside_a_value_is_part_of_the_value():
    """Only parts at the top are content. A dictionary of them is JSON, and its output schema says so."""
    result = await Dispatcher(Catalog(keep)).call("keep")
    assert result.value == {"cat": {"data": "YWJj", "media_type": "image/png"}}
    assert Tool.of(keep).output_schema["additionalProperties"]["required"] == ["data"]


def lie() -> dict[str, int]:
    """Promise a table, and draw."""
    picture: Any = ImagePart(PNG)
    return picture


async def test_a_tool_that_promised_a_value_cannot_return_an_image():
    """The error says what to write in the annotation."""
    result = await Dispatcher(Catalog(lie)).call("lie")
    assert result.kind == "failed"
    assert "a tool that returns parts says so: `-> ImagePart`" in result.error.message
