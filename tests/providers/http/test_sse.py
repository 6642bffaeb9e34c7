"""Server-sent events, cut anywhere."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.providers.http.sse import EventParser


def parse_chunks(*chunks, **options):
    parser = EventParser(**options)
    return [event for chunk in chunks for event in parser.feed(chunk)] + parser.close()


@pytest.mark.parametrize(
    ("stream", "events"),
    [
        (b"data: a\n\n", ["a"]),
        (b"data: a\r\n\r\n", ["a"]),
        (b"data: a\r\r", ["a"]),
        (b"event: x\ndata: a\n\ndata: b\n\n", ["a", "b"]),
        (b"data: a\ndata: b\n\n", ["a\nb"]),
        (b"data:a\ndata\ndata:  c\n\n", ["a\n\n c"]),
        (b": a comment\ndata: a\nid: 7\nretry: 5\nnonsense\n\n", ["a"]),
        (b"event: lonely\n\ndata: a\n\n", ["a"]),
        (b"\xef\xbb\xbfdata: a\n\n", ["a"]),
        ("data: ü世🎉\n\n".encode(), ["ü世🎉"]),
        (b"data: \xff\n\n", ["\ufffd"]),
        (b"data: a: b\n\n", ["a: b"]),
        (b"data: a\n", ["a"]),
        (b"data: a", ["a"]),
        (b"data:\n\n", []),
        (b"", []),
        (b"\n\n\n", []),
    ],
)
def test_a_stream_is_read_as_the_standard_says(stream, events):
    """Line ends of all kinds, several lines of data, comments, a byte order mark; an end that was forgotten."""
    assert parse_chunks(stream) == events


def test_an_event_is_there_as_soon_as_its_last_line_is():
    """A carriage return ends a line, whether or not a line feed follows in the next chunk."""
    parser = EventParser()
    assert parser.feed(b"data: a\r\n\r") == ["a"]
    assert parser.feed(b"\n") == []
    assert parser.feed(b"") == []
    assert parser.feed(b"data: b\r") == []
    assert parser.feed(b"\n\ndata: c\r") == ["b"]
    assert parser.feed(b"\n\r\n") == ["c"]


lines = st.sampled_from(["data: ü世🎉", "data: b", "data", "event: x", ": c", "", "id: 1"])


@given(
    text=st.lists(lines, max_size=12),
    ends=st.lists(st.sampled_from(["\n", "\r", "\r\n"]), min_size=12, max_size=12),
    cuts=st.lists(st.integers(0, 200), max_size=8),
)
def test_a_stream_is_read_the_same_for_any_cut(text, ends, cuts):
    """A cut may be within a letter, or between the two halves of a line end."""
    stream = "".join(line + end for line, end in zip(text, ends, strict=False)).encode()
    places = sorted({0, len(stream), *(min(cut, len(stream)) for cut in cuts)})
    chunks = [stream[start:stop] for start, stop in zip(places, places[1:], strict=False)]
    whole = parse_chunks(stream)
    assert parse_chunks(*chunks) == whole
    assert parse_chunks(*(stream[place : place + 1] for place in range(len(stream)))) == whole


@pytest.mark.parametrize(
    "chunks",
    [
        [b"data: " + b"x" * 100],
        [b"data: ", *[b"x"] * 100],
        [b"data: xxxxxxx\n"] * 10,
        [b": comment\n"] * 20,
        [b"data: " + b"x" * 100 + b"\n\n"],
    ],
    ids=["at once", "in drops", "in lines", "of comments", "whole"],
)
def test_an_event_without_end_is_refused(chunks):
    """A server cannot fill the memory with one event."""
    with pytest.raises(ValueError, match="more than 50 bytes"):
        parse_chunks(*chunks, max_bytes=50)


def test_events_of_any_number_are_read():
    """The bound is on one event, not on the stream."""
    assert len(parse_chunks(*[b"data: xxxxxxxxxx\n\n"] * 100, max_bytes=20)) == 100
    assert parse_chunks(b"data: xxxxxxxxxx", max_bytes=20) == ["xxxxxxxxxx"]
