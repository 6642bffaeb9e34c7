"""Parts become content blocks of MCP, and blocks become parts again."""

from __future__ import annotations

import json

import mcp.types
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.formats import sdks
from tests.parts import AUDIO_PARTS, RESOURCE_PARTS
from toolkit import AudioPart, FilePart, ImagePart, ProviderError, ResourcePart, TextPart, ToolResult
from toolkit.formats import mcp as format_mcp
from toolkit.values.part_texts import render_part

PARTS = st.lists(AUDIO_PARTS | RESOURCE_PARTS | st.builds(ImagePart, st.binary(max_size=9)), max_size=4)


@given(PARTS)
def test_parts_come_back_from_blocks(parts):
    """They may come from JSON, or from the objects of the SDK."""
    (answer,) = format_mcp.results([ToolResult("see", parts=parts)])
    assert sdks.messages("mcp", [answer]) == [answer]
    sent = json.loads(json.dumps(answer))
    assert format_mcp.read_content(sent["content"]) == [TextPart("see"), *parts]
    received = mcp.types.CallToolResult.model_validate(sent)
    assert format_mcp.read_content(received.content) == [TextPart("see"), *parts]


TEXTS = st.lists(st.builds(TextPart, st.text("ab\n", max_size=3)), max_size=3)


@given(TEXTS, AUDIO_PARTS | RESOURCE_PARTS, TEXTS)
def test_parts_among_texts_keep_their_places(before, part, after):
    """A part between two texts is sent once, and between them."""
    parts = [*before, part, *after]
    text = "\n".join(map(render_part, parts))  # as the dispatcher makes it
    (answer,) = format_mcp.results([ToolResult(text, parts=parts)])
    assert format_mcp.read_content(answer["content"]) == parts


def test_each_part_has_its_block():
    """Sound is audio, content is embedded, and a resource without content is a link."""
    parts = [
        AudioPart(b"abc", "audio/wav"),
        ResourcePart("memo:1", "Hello.", "text/plain"),
        ResourcePart("memo:2", b"abc"),
        ResourcePart("memo:3", None, "text/html"),
    ]
    (answer,) = format_mcp.results([ToolResult("see", parts=parts)])
    assert answer["content"][1:] == [
        {"type": "audio", "data": "YWJj", "mimeType": "audio/wav"},
        {"type": "resource", "resource": {"uri": "memo:1", "text": "Hello.", "mimeType": "text/plain"}},
        {"type": "resource", "resource": {"uri": "memo:2", "blob": "YWJj"}},
        {"type": "resource_link", "uri": "memo:3", "name": "memo:3", "mimeType": "text/html"},
    ]


def test_the_text_of_a_resource_is_sent_once():
    """The text block names the resource, and the block of the resource has its text."""
    text = "before\n[resource memo:1]\nHello.\nafter"
    (answer,) = format_mcp.results([ToolResult(text, parts=[ResourcePart("memo:1", "Hello.")])])
    assert answer["content"][0]["text"] == "before\n[resource memo:1]\nafter"
    assert json.dumps(answer).count("Hello.") == 1


@pytest.mark.parametrize(
    ("link", "part"),
    [
        ({"uri": "memo:1", "name": "Notes", "mimeType": "text/plain"}, FilePart("memo:1", "text/plain", "Notes")),
        ({"uri": "memo:1", "name": "memo:1"}, ResourcePart("memo:1")),
        ({"uri": "memo:1", "mimeType": ""}, ResourcePart("memo:1")),
    ],
    ids=["name", "uri as name", "no name"],
)
def test_a_link_with_a_name_is_a_file(link, part):
    """A resource part has no name, and the name of the server is not lost."""
    assert format_mcp.read_content([{"type": "resource_link", **link}]) == [part]


@pytest.mark.parametrize(
    ("block", "message"),
    [
        ({"type": "video"}, r"content\[1\]: a block of type 'video' cannot be read; known are text, image, audio"),
        ("text", "a block of type None cannot be read"),
        ({"type": ["text"]}, "cannot be read"),
        ({"type": "text"}, "'text' is not valid: `text` is missing"),
        ({"type": "text", "text": 5}, "`text` is no text but int"),
        ({"type": "image", "data": "!", "mimeType": "image/png"}, "`data` is not base64"),
        ({"type": "image", "data": ""}, "`mimeType` is missing"),
        ({"type": "audio", "data": "", "mimeType": "image/png"}, "expected an audio type"),
        ({"type": "resource"}, "`uri` is missing"),
        ({"type": "resource", "resource": {"uri": "memo:1"}}, "`text` is missing"),
        ({"type": "resource", "resource": {"uri": "memo:1", "text": "a", "blob": ""}}, "both `text` and `blob`"),
        ({"type": "resource", "resource": {"uri": "memo:1", "blob": "ü"}}, "`blob` is not base64"),
        ({"type": "resource", "resource": {"uri": "notes", "text": "a"}}, "'notes' is not a URI"),
        ({"type": "resource", "resource": {"uri": "memo:1", "text": "a", "mimeType": 5}}, "media_type: expected text"),
        ({"type": "resource_link", "uri": "notes", "name": "a"}, "'notes' is not a URI"),
        ({"type": "resource_link", "uri": "memo:1", "name": 5}, "`name` is no text but int"),
    ],
)
def test_a_block_that_is_not_valid_is_refused(block, message):
    """The error names the place of the block, and what is wrong with it."""
    with pytest.raises(ProviderError, match=message):
        format_mcp.read_content([{"type": "text", "text": "fine"}, block])


VALUES = st.none() | st.integers() | st.sampled_from(["memo:1", "YWJj", "audio/wav", "notes"]) | st.text(max_size=5)
FIELDS = dict.fromkeys(["text", "data", "blob", "uri", "name", "mimeType"], VALUES)
BLOCKS = st.fixed_dictionaries(
    {"type": st.sampled_from(["text", "image", "audio", "resource", "resource_link", "video"])},
    optional={**FIELDS, "resource": VALUES | st.fixed_dictionaries({}, optional=FIELDS)},
)


@given(st.lists(BLOCKS, max_size=2))
def test_any_blocks_are_read_or_refused(blocks):
    """No block makes reading fail otherwise than by saying that it is not valid."""
    try:
        parts = format_mcp.read_content(blocks)
    except ProviderError:
        return
    assert len(parts) == len(blocks)
