"""
Text is decoded as what it is, encoded again to the same bytes, and keeps its line endings.
"""

from __future__ import annotations

import codecs

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from toolkit.builtin.files.encodings import (
    UTF_8,
    EditableText,
    decode_text,
    detect_encoding,
    detect_line_ending,
    encode_like,
    why_unwritable,
    with_line_ending,
)

WORDS = "Grüße, 日本\r\nand more plain words to go by\n"
WESTERN = "Grüße “quoted” and more plain words\n"

texts = st.text(st.characters(codec="utf-8", exclude_characters="\0"))
lines = st.text(st.sampled_from("ab\n\r ü"))


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"", "UTF-8"),
        (b"plain", "UTF-8"),
        (WORDS.encode(), "UTF-8"),
        (b"\x1b[31mred\x1b[0m \x01", "UTF-8"),
        (codecs.BOM_UTF8 + WORDS.encode(), "UTF-8 with a byte order mark"),
        (WORDS.encode("utf-16"), "UTF-16 (little-endian)"),
        (codecs.BOM_UTF16_BE + WORDS.encode("utf-16-be"), "UTF-16 (big-endian)"),
        (WORDS.encode("utf-32"), "UTF-32 (little-endian)"),
        (codecs.BOM_UTF32_BE + WORDS.encode("utf-32-be"), "UTF-32 (big-endian)"),
        (WORDS.encode("utf-16-le"), "UTF-16 (little-endian, without a byte order mark)"),
        (WORDS.encode("utf-16-be"), "UTF-16 (big-endian, without a byte order mark)"),
        (WORDS.encode("utf-32-le"), "UTF-32 (little-endian, without a byte order mark)"),
        (WORDS.encode("utf-32-be"), "UTF-32 (big-endian, without a byte order mark)"),
        (WESTERN.encode("cp1252"), "Windows-1252"),
        ("Grüße \x81 and more".encode("latin-1"), "Latin-1"),
    ],
)
def test_an_encoding_is_found_from_the_bytes(data, name):
    """Marks first, then UTF-8, then patterns, then a guess; and the same bytes come back."""
    encoding = detect_encoding(data)
    assert encoding.name == name
    assert encoding.encode(encoding.decode(data)) == data
    assert encoding.is_guess == any(word in name for word in ("without", "1252", "Latin"))


@pytest.mark.parametrize(
    "data",
    [
        b"a\0b",
        b"\0\0\0\0\0\0\0\0",
        bytes(range(256)),
        codecs.BOM_UTF8 + b"a\0b",
        b"\xff\xfe\x00\xd8\x00",
        b"\xff\x01\x02",
        bytes(range(1, 32)) * 4 + b"\xff",
    ],
)
def test_binary_data_has_no_encoding(data):
    """NUL, broken UTF-16 and many control characters are signs of binary data."""
    assert detect_encoding(data) is None
    assert decode_text(data) is None


def test_a_sample_may_end_inside_a_character():
    """Only a whole file with such an end is broken."""
    sample = "Grüße".encode()[:3]
    assert detect_encoding(sample, is_whole=False) == UTF_8
    assert detect_encoding(sample) != UTF_8


@given(st.binary())
def test_decoded_text_is_encoded_to_the_same_bytes(data):
    """No byte that was left alone is ever lost."""
    decoded = decode_text(data)
    assume(decoded is not None)
    text, encoding = decoded
    assert encoding.encode(text) == data


@given(texts, st.sampled_from([WORDS.encode("utf-16"), WESTERN.encode("cp1252"), b"\xefx\xff", b"", b"\xef\xbb\xbf"]))
def test_text_encoded_like_a_file_is_read_back(text, old):
    """The old encoding is kept only if the text comes back from it."""
    assume(not text.startswith("\ufeff"))
    encoding = detect_encoding(old)
    data, used = encode_like(encoding, text)
    assert decode_text(data)[0] == text
    assert used in (encoding, UTF_8)


def test_an_encoding_that_cannot_hold_a_text_gives_way():
    """Latin letters stay in Windows-1252; Japanese ones, and what would be read as UTF-8, do not."""
    old = detect_encoding(WESTERN.encode("cp1252"))
    assert encode_like(old, "é") == (b"\xe9", old)
    assert encode_like(old, "日") == ("日".encode(), UTF_8)
    assert encode_like(old, "Ã©") == ("Ã©".encode(), UTF_8)


@pytest.mark.parametrize(
    ("text", "words"),
    [("fine", None), ("", None), ("a\0", "NUL character at position 1"), ("ab\ud800", "surrogate pair at position 2")],
)
def test_a_character_that_no_file_can_hold_is_named_with_its_position(text, words):
    assert (why_unwritable(text) is None) if words is None else (words in why_unwritable(text))


@pytest.mark.parametrize(
    ("text", "ending"),
    [("", None), ("one", None), ("a\nb\n", "\n"), ("a\r\nb", "\r\n"), ("a\r\nb\n", None), ("a\rb", None)],
)
def test_the_line_ending_of_a_text_is_detected_if_all_lines_agree(text, ending):
    """A text without a newline has no line ending, and neither has a text with mixed ones."""
    assert detect_line_ending(text) == ending


@pytest.mark.parametrize(
    ("text", "ending", "converted"),
    [
        ("a\nb\n", "\r\n", "a\r\nb\r\n"),
        ("a\nb\n", "\n", "a\nb\n"),
        ("a\nb\n", None, "a\nb\n"),
        ("a\r\nb\n", "\r\n", "a\r\nb\n"),
    ],
)
def test_line_endings_are_kept(text, ending, converted):
    """The exception is a replacement text with carriage returns of its own."""
    assert with_line_ending(text, ending) == converted


@given(lines, st.data())
def test_replacing_a_span_with_itself_changes_nothing(text, data):
    """Places in the plain text correspond to places in the original text."""
    source = EditableText(text)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(source.plain))] * 2)))
    assume(detect_line_ending(text) or "\n" not in source.plain[start:end])
    assume("\r\n" not in source.plain[start:end])  # two returns before a newline are one after an edit
    assert source.replace_spans([(start, end, source.plain[start:end])]) == text


@given(lines, st.data())
def test_a_span_is_replaced_in_the_plain_text_too(text, data):
    """A reader who sees no carriage returns sees the replacement and nothing else."""
    source = EditableText(text)
    start, end = sorted(data.draw(st.tuples(*[st.integers(0, len(source.plain))] * 2)))
    # A lone return would become a part of a line's end, or one more before it.
    assume("\r" not in source.plain)
    new = source.replace_spans([(start, end, "x\ny")])
    assert EditableText(new).plain == source.plain[:start] + "x\ny" + source.plain[end:]


@pytest.mark.parametrize(
    ("text", "at", "changed"),
    [
        ("a\r\nb\nc", 0, "X\r\nY\r\nb\nc"),
        ("a\r\nb\nc", 2, "a\r\nX\nY\nc"),
        ("a\nb\r\nc", 4, "a\nb\r\nX\r\nY"),
        ("abc", 0, "X\nYbc"),
    ],
)
def test_new_lines_end_like_the_lines_around_them(text, at, changed):
    """In a file with mixed endings the changed line decides, or the one before."""
    assert EditableText(text).replace_spans([(at, at + 1, "X\nY")]) == changed


@given(lines, st.data())
def test_replacing_many_spans_at_once_is_equal_to_replacing_them_one_by_one(text, data):
    """Many of them may be on one line. One by one, the last span is replaced first."""
    plain = EditableText(text).plain
    cuts = sorted(data.draw(st.sets(st.integers(0, len(plain)), max_size=8)))
    spans = [
        (start, end, data.draw(st.sampled_from(["", "x", "x\ny", "\n"])))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False)
    ]
    # Without the end of its line, the one before it would be on another line.
    assume(not any("\n" in plain[start:end] for start, end, _ in spans) and "\r" not in plain)
    expected = text
    for span in reversed(spans):
        expected = EditableText(expected).replace_spans([span])
    assert EditableText(text).replace_spans(spans) == expected
