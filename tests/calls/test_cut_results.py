"""Results that are cut to their limit."""

import json

import pytest

from toolkit import Catalog
from toolkit.calls.truncation import truncate_result
from toolkit.content import AudioPart, FilePart, ImagePart, JsonPart, ResourcePart, TextPart
from toolkit.dispatcher import Dispatcher
from toolkit.results import ToolResult
from toolkit.session import Session
from toolkit.values.text_limits import TextLimit

pytestmark = pytest.mark.filterwarnings("ignore::toolkit.ToolkitWarning")


def cut(text, most, value=None, parts=()):
    result = ToolResult(text, value, parts=parts)
    truncate_result(result, TextLimit(most, 2**62))
    assert result.truncated
    return result


def test_a_long_text_ends_with_a_note_about_the_cut():
    """The text is not longer than the limit."""
    result = cut("x" * 1000, 100)
    assert result.text == "x" * 58 + "...\n[truncated: 58 of 1,000 characters]"
    assert len(result.text) <= 100


def test_a_text_value_is_cut_with_the_text():
    """Both are the same text. A structured value stays whole."""
    assert cut("x" * 1000, 100, "x" * 1000).value.endswith("[truncated: 58 of 1,000 characters]")
    assert cut("[" + "1," * 500 + "1]", 100, [1] * 501).value == [1] * 501


def test_a_limit_smaller_than_the_words_leaves_the_words():
    """There is always something to read."""
    assert cut("x" * 1000, 5).text == "[truncated: 0 of 1,000 characters]"


CHARACTERS = {
    "accent": "e\u0301",
    "joined": "\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "coloured": "\U0001f44d\U0001f3fd",
    "variation": "\u2764\ufe0f",
    "flag": "\U0001f1e9\U0001f1ea",
    "newline": "\r\n",
}


@pytest.mark.parametrize("character", CHARACTERS.values(), ids=CHARACTERS.keys())
@pytest.mark.parametrize("offset", range(-4, 5))
def test_no_visible_character_is_split(character, offset):
    """Such characters have accents, are joined or coloured, or are flags."""
    text = ("x" * (58 + offset) + character).ljust(1000, "y")
    start = cut(text, 100).text.rpartition("[truncated: ")[0].removesuffix("...\n")
    assert start in (text[: len(start)], text)
    assert character in start or not any(start.endswith(character[:length]) for length in range(1, len(character)))


def test_a_base_letter_with_thousands_of_accents_is_cut():
    result = cut("e" + "\u0301" * 5000, 100)
    assert result.text.endswith("[truncated: 58 of 5,001 characters]")


def test_parts_are_cut_with_the_text():
    """Texts and values count; images and files stay. What would be broken JSON becomes text."""
    parts = [TextPart("a" * 40), ImagePart(b"x"), JsonPart(["b" * 100]), TextPart("c" * 100), FilePart("f")]
    result = cut("x" * 1000, 100, parts=parts)
    kinds = [type(part).__name__ for part in result.parts]
    assert kinds == ["TextPart", "ImagePart", "TextPart", "FilePart"]
    assert result.parts[0] == parts[0]
    assert result.parts[2].text.startswith('["bbb')
    assert result.parts[2].text.endswith("[truncated: 22 of 104 characters]")


def test_several_texts_are_cut_between_their_records():
    """A server sends each text in a separate part, and all of them are in the text of the result."""
    parts = [TextPart("a,b\n1,2\n3,4\n"), TextPart(json.dumps(list(range(100)))), TextPart("left out")]
    result = cut("\n".join(part.text for part in parts), 100, parts=parts)
    assert result.text.splitlines()[-1] == "[truncated: 62 of 412 characters]"
    assert [part.text.splitlines()[-1] for part in result.parts] == ["3,4", "[truncated: 15 of 100 items]"]


def test_the_text_of_a_resource_counts():
    """It is cut like other texts, and a resource without room is a link. Sound and bytes do not count."""
    parts = [
        ResourcePart("memo:1", "x" * 60),
        ResourcePart("memo:2", "y" * 90, "text/plain"),
        ResourcePart("memo:3", "z"),
        ResourcePart("memo:4", b"b" * 500),
        AudioPart(b"a" * 500, "audio/wav"),
    ]
    assert list(cut("t" * 1000, 100, parts=parts).parts) == [
        parts[0],
        ResourcePart("memo:2", "y" * 4 + "...\n[truncated: 4 of 90 characters]", "text/plain"),
        ResourcePart("memo:3"),
        *parts[3:],
    ]


@pytest.mark.anyio
@pytest.mark.parametrize("session", [None, Session()], ids=["no session", "session"])
async def test_a_short_text_does_not_hide_a_long_resource(session):
    """A tool that writes its own text cannot send more than `max_chars` in resources; its other parts stay whole."""

    async def fetch() -> ToolResult:
        """Fetch a page."""
        return ToolResult("see", parts=[ResourcePart("memo:1", "x" * 500), JsonPart("j" * 500)])

    result = await Dispatcher(Catalog(fetch), max_chars=100).call("fetch", {}, session=session)
    assert (result.text, result.truncated) == ("see", True)
    assert list(result.parts) == [
        ResourcePart("memo:1", "x" * 62 + "...\n[truncated: 62 of 500 characters]"),
        JsonPart("j" * 500),
    ]
    result = await Dispatcher(Catalog(fetch), max_chars=500).call("fetch", {}, session=session)
    assert (result.parts[0].content, result.truncated) == ("x" * 500, False)


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("options", "facts", "max_chars", "max_bytes"),
    [
        ({}, {}, 40_000, 40_000),
        ({"max_chars": 60_000}, {}, 60_000, 180_000),
        ({"max_bytes": 60_000}, {}, 60_000, 60_000),
        ({}, {"max_bytes": 100}, 100, 100),
        ({"max_chars": 200}, {"max_bytes": 100}, 100, 100),
        ({"max_bytes": 100}, {"max_chars": 200}, 100, 100),
        ({"max_chars": 100, "max_bytes": 100}, {"max_chars": 200, "max_bytes": 200}, 200, 200),
    ],
)
@pytest.mark.parametrize("letter", ["x", "字"])
@pytest.mark.parametrize("returns", [str, list])
@pytest.mark.parametrize("has_session", [False, True])
async def test_the_smallest_limit_counts(options, facts, max_chars, max_bytes, letter, returns, has_session):
    """A number of the tool replaces that of the dispatcher. Without any, the limit is 10,000 tokens."""
    catalog = Catalog()

    @catalog.tool(read_only=True, **facts)
    async def shout(length: int):  # noqa: ANN202 -- the parameter says what it returns
        """Shout."""
        return letter * length if returns is str else [letter] * (length // 4)

    dispatcher, session = Dispatcher(catalog, **options), Session() if has_session else None
    result = await dispatcher.call("shout", {"length": 200_000}, session=session)
    assert result.truncated
    assert len(result.text) <= max_chars
    size = len(result.text.encode())
    assert size <= max_bytes
    if returns is str:
        assert size > 0.9 * min(max_bytes, max_chars * len(letter.encode())) - 60
    short = await dispatcher.call("shout", {"length": max_bytes // 4}, session=session)
    assert not short.truncated


@pytest.mark.anyio
async def test_a_page_of_a_kept_text_stays_below_the_byte_limit():
    """`read_output` reads all of it, although each character has three bytes."""
    from toolkit.builtin import read_output_for

    catalog, session, text = Catalog(read_output_for()), Session(), "字" * 2000

    @catalog.tool(read_only=True)
    async def shout() -> str:
        """Shout."""
        return text

    dispatcher = Dispatcher(catalog, max_bytes=1000)
    cut = await dispatcher.call("shout", {}, session=session)
    offset = int(cut.text.rpartition("offset=")[2].partition(")")[0])
    parts = [text[:offset]]
    while offset < len(text):
        arguments = {"handle": cut.metadata["output_handle"], "offset": offset}
        page = await dispatcher.call("read_output", arguments, session=session)
        assert (page.truncated, len(page.text.encode()) <= 1000) == (False, True)
        parts.append(page.text.partition("\n")[0])
        offset += len(parts[-1])
    assert "".join(parts) == text
