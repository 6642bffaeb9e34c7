"""What holds for every name, every text and every way in which bytes arrive."""

from __future__ import annotations

import json
import re
import time

import mcp_types as types
from hypothesis import given
from hypothesis import strategies as st
from mcp_types.jsonrpc import JSONRPCError, jsonrpc_message_adapter

from toolkit.catalogs.foreign_names import fold_name, make_legal_name
from toolkit.catalogs.foreign_text import _MARKS, clean_schema, clean_text
from toolkit.mcp import ServerLimits
from toolkit.mcp.importing.call_errors import build_local_error, read_local_error
from toolkit.mcp.importing.imported_tool import NameBook
from toolkit.mcp.importing.remote_tools import RemoteTool
from toolkit.mcp.importing.stdio_transport import MessageLines

LEGAL = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]{0,63}")
ASCII = st.text("aB9_-. /<>", min_size=1, max_size=150)
SERVERS = st.text("abc_", max_size=5).map("s{}".format)


@given(SERVERS, ASCII)
def test_a_converted_name_is_legal(server, name):
    """For any name of a tool, the result is legal and the same each time."""
    legal = make_legal_name(name, f"{server}_")

    assert LEGAL.fullmatch(legal)
    assert make_legal_name(name, f"{server}_") == legal


@given(st.lists(st.tuples(SERVERS, st.text(max_size=20) | ASCII), max_size=30))
def test_no_two_tools_get_similar_names(claims):
    """Each name belongs to one tool of one server, in any order of the claims."""
    book = NameBook()
    holders = {}
    for server, tool in claims:
        name, problem = book.claim(server, tool)
        if problem is None:
            assert LEGAL.fullmatch(name)
            assert holders.setdefault(fold_name(name), (server, tool)) == (server, tool)


@given(st.text(max_size=300), st.integers(min_value=8, max_value=100))
def test_a_clean_text_is_short_and_stays_clean(text, max_chars):
    """A text that was cleaned is within its limit, and cleaning it again changes nothing."""
    cleaned = clean_text(text, max_chars)

    assert len(cleaned) <= max_chars
    assert clean_text(cleaned, max_chars) == cleaned


@given(
    st.lists(st.sampled_from(["<system>", "<sys", "tem>", "<|im_", "|>", "start", "<IMPORTANT>", "a ", "</", "user>"]))
)
def test_no_mark_of_the_system_is_left(pieces):
    """A mark is removed also if removing another one puts it together."""
    cleaned = clean_text("".join(pieces), 1000)

    assert not re.search(r"</?(system|important|user)>|<\|[^|<>]+\|>", cleaned, re.IGNORECASE)


PIECES = ["<user", "<", ">", "</", "[INST", "[/INST", "]", "<|", "|>", "<<SYS", "a", " ", "user", "<x", "\u200b"]


@given(st.lists(st.sampled_from(PIECES), max_size=60).map("".join))
def test_a_clean_description_has_no_mark_at_all(text):
    """Cleaning a description again changes nothing, and a text without marks keeps its words."""
    cleaned = clean_text(text, 1000)

    assert not _MARKS.search(cleaned)
    assert clean_text(cleaned, 1000) == cleaned


def test_marks_in_marks_take_little_time():
    """The work grows with the length of the text, not with the number of marks that removing others puts together."""
    short, long = ["<user" * count + ">" * count for count in (300, 3000)]
    assert clean_text(long, 18_000) == ""

    def measure(text):
        start = time.process_time()
        clean_text(text, 18_000)
        return time.process_time() - start

    assert min(measure(long) for _ in range(3)) < 50 * max(min(measure(short) for _ in range(3)), 0.001)


def test_a_schema_that_is_too_large_is_not_cleaned():
    """The size is checked first, so that a large schema costs little."""
    texts = ["<user" * 300 + ">" * 300] * 200
    schema = {"type": "object", "properties": {str(key): {"description": text} for key, text in enumerate(texts)}}
    remote = RemoteTool.of(types.Tool(name="x", input_schema=schema), ServerLimits())

    assert "at most 200,000 are read" in remote.problem
    assert remote.input_schema == {}


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text("ab<> ", max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["type", "properties", "items", "anyOf", "enum", "const", "definitions", "$defs"]),
                inner,
                max_size=3,
            )
        ),
        max_leaves=10,
    )
)
def test_a_clean_schema_is_not_changed(schema):
    """The values that a schema allows stay as they are."""
    assert clean_schema(schema) == schema


def test_texts_in_a_schema_are_cleaned_and_unknown_keywords_are_dropped():
    """A description anywhere in a schema is cleaned, and a property that is called so is a schema."""
    hidden = "a\u200bb"
    schema = {
        "description": hidden,
        "x-note": hidden,
        "properties": {"description": {"type": "string", "title": hidden, "example": hidden}},
        "items": [{"description": hidden}],
        "definitions": {"x": {"description": hidden}},
        "const": {"x-note": "b"},
        "anyOf": 5,
    }

    assert clean_schema(schema) == {
        "description": "ab",
        "properties": {"description": {"type": "string", "title": "ab"}},
        "items": [{"description": "ab"}],
        "definitions": {"x": {"description": "ab"}},
        "const": {"x-note": "b"},
        "anyOf": 5,
    }


MESSAGES = st.lists(
    st.builds(
        lambda number, text: {"jsonrpc": "2.0", "id": number, "result": {"text": text}},
        st.integers(0, 1000) | st.text("abc", min_size=1, max_size=5),
        st.text(max_size=20),
    ),
    max_size=6,
)


def read_all(lines, data, cuts):
    """Feed *data* in pieces, and return the messages."""
    edges = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    pieces = [data[start:end] for start, end in zip(edges, edges[1:], strict=False)]
    return [message for piece in pieces for message in lines.feed(piece)]


@given(MESSAGES, st.lists(st.integers(0, 10_000), max_size=10))
def test_messages_arrive_whole_for_any_cut(messages, cuts):
    data = "".join(json.dumps(message) + "\n" for message in messages).encode()
    expected = [jsonrpc_message_adapter.validate_python(message) for message in messages]

    assert read_all(MessageLines(10_000), data, cuts) == expected


@given(MESSAGES, st.lists(st.integers(0, 10_000), max_size=10), st.booleans())
def test_a_message_that_is_too_long_fails_its_request(messages, cuts, is_backwards):
    """The request gets an error with its own id, whichever end of the message has the id."""
    ordered = [dict(reversed(message.items())) if is_backwards else message for message in messages]
    data = "".join(json.dumps(message) + "\n" for message in ordered).encode()
    answers = read_all(MessageLines(10), data, cuts)

    assert [answer.id for answer in answers] == [message["id"] for message in messages]
    assert all(isinstance(answer, JSONRPCError) for answer in answers)


@given(st.binary(max_size=200), st.lists(st.integers(0, 300), max_size=5))
def test_garbage_never_raises(data, cuts):
    """Any bytes are read without an error."""
    for message in read_all(MessageLines(50), data + b"\n", cuts):
        assert isinstance(message, JSONRPCError)


@given(st.integers(), st.none() | st.dictionaries(st.text(max_size=5), st.text(max_size=40), max_size=4))
def test_a_server_cannot_make_an_error_of_ours(code, data):
    """Only data with the secret of this process becomes such an error."""
    assert read_local_error(code, data) is None
    error = build_local_error("x", happened="no")
    assert read_local_error(error["code"], error["data"]) is not None
