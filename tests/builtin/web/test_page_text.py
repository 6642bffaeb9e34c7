"""
What came is read in the right encoding, and taken for what it is.
"""

from __future__ import annotations

import codecs
import gzip

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.builtin.web.page_text import MediaType, parse_media_type, read_page_text

URL = "https://example.org/a/"


def read(data: bytes, header: str = "text/plain", **options):
    return read_page_text(data, parse_media_type(header), url=URL, **options)


@pytest.mark.parametrize(
    ("header", "name", "charset"),
    [
        ("text/html", "text/html", ""),
        ("Text/HTML; Charset=UTF-8", "text/html", "UTF-8"),
        ('text/html;charset="koi8-r"; x=y', "text/html", "koi8-r"),
        ("text/html; charset='utf-8'", "text/html", "utf-8"),
        ("", "", ""),
        ("html", "", ""),
        ("text/html, text/plain", "text/html", ""),
        ("\u00ff/\u00ff", "", ""),
        ("text/html; charset*=utf-8''x", "text/html", ""),
    ],
)
def test_a_content_type_is_read(header, name, charset):
    """Type and charset come out of the header, also if it is malformed."""
    media_type = parse_media_type(header)
    assert (media_type.name, media_type.charset) == (name, charset)


@pytest.mark.parametrize(
    "header",
    ["application/json", "application/ld+json", "text/css", "application/xml", "image/svg+xml", "application/x-sh"],
)
def test_a_text_that_is_not_html_is_not_changed(header):
    """Every blank stays."""
    assert read(b' { "a":  1 }\n', header).text == ' { "a":  1 }\n'


def test_html_is_made_readable():
    """A page has a title, a text and absolute links."""
    page = read(b"<title>T</title><p>a <a href=b>b</a>", "text/html")
    assert (page.title, page.text) == ("T", "a [b](https://example.org/a/b)")


@pytest.mark.parametrize("header", ["", "application/octet-stream", "nonsense"])
def test_a_page_without_a_stated_type_is_recognised_by_its_bytes(header):
    assert read(b"<!doctype html><p>a", header).text == "a"
    assert read(b"<!-- hello --> <html><p>a", header).text == "a"
    assert read("grüße".encode(), header).text == "grüße"
    assert "no text" in read(bytes(range(256)), header).text


def test_plain_text_that_looks_like_a_page_stays_text():
    assert read(b"<html><p>a", "text/plain").text == "<html><p>a"


@pytest.mark.parametrize(
    ("data", "header", "expected"),
    [
        (b"%PDF-1.7 \xe2\xe3", "text/html", "(text/html, which looks like a PDF document, 11 bytes"),
        (b"%PDF-1.7 ...", "application/pdf", "(application/pdf, which looks like a PDF document, 12 bytes"),
        (b"\x89PNG\r\n\x1a\n....", "text/html", "(text/html, which looks like a PNG image, 12 bytes"),
        (b"PK\x03\x04........", "application/json", "(application/json, which looks like a ZIP archive"),
        (b"<html><p>x", "image/png", "(image/png, which looks like an HTML page, 10 bytes"),
        (b"whatever", "video/mp4", "(video/mp4, 8 bytes"),
        (b"a\x00b" * 10, "text/plain", "(text/plain, 30 bytes"),
        (b"\x7fELF" + bytes(20), "", "(something of an unknown type, which looks like a program"),
        (gzip.compress(b"x", mtime=0), "text/plain", "(text/plain, which looks like a gzip archive"),
    ],
)
def test_a_binary_page_is_described(data, header, expected):
    """The description has its type and size, and its real type if that of the server is wrong."""
    assert read(data, header).text.startswith(expected)


@pytest.mark.parametrize("text", ["MZ is how programs begin", "OTTO was here", "ID3 tags", "PAR1", "BZh"])
def test_a_text_that_begins_like_something_else_stays_text(text):
    """A magic word alone makes no program."""
    assert read(text.encode(), "text/plain").text == text


def test_a_binary_page_that_was_cut_has_more_bytes():
    assert "more than 4 bytes" in read(b"\x00\x01\x02\x03", "video/mp4", is_cut=True).text


@pytest.mark.parametrize(
    ("data", "header", "expected"),
    [
        ("é".encode(), "text/plain; charset=utf-8", "é"),
        ("é".encode("latin-1"), "text/plain; charset=iso-8859-1", "é"),
        (b"\x93q\x94", "text/plain; charset=iso-8859-1", "\u201cq\u201d"),
        ("привет".encode("koi8-r"), "text/plain; charset=KOI8-R", "привет"),
        ("日本".encode("shift_jis"), "text/plain; charset=Shift_JIS", "日本"),
        ("中文".encode("gb18030"), "text/plain; charset=gb2312", "中文"),
        (codecs.BOM_UTF8 + "é".encode(), "text/plain; charset=latin-1", "é"),
        (codecs.BOM_UTF16_LE + "é".encode("utf-16-le"), "text/plain; charset=utf-8", "é"),
        (codecs.BOM_UTF16_BE + "é".encode("utf-16-be"), "text/html", "é"),
        (b"<meta charset=windows-1251>" + "да".encode("cp1251"), "text/html", "да"),
        (
            b"<meta http-equiv=x content='text/html; charset=windows-1251'>" + "да".encode("cp1251"),
            "text/html",
            "да",
        ),
        (b"<meta charset=utf-16>" + "é".encode(), "text/html", "é"),
        (b"<?xml version='1.0' encoding='koi8-r'?>" + "да".encode("koi8-r"), "application/xhtml+xml", "да"),
        ("é".encode(), "text/plain", "é"),
        (b"", "text/plain", ""),
        (b"", "", ""),
    ],
)
def test_the_encoding_is_found(data, header, expected):
    """Byte order mark, header, page, and then the bytes themselves."""
    assert read(data, header).text == expected


def test_a_note_says_that_the_encoding_is_a_guess():
    page = read("é l'été".encode("latin-1"))
    assert page.text == "é l'été"
    assert page.notes == ("the encoding is a guess: Windows-1252",)


@pytest.mark.parametrize(
    "name", ["zlib", "hex", "idna", "punycode", "unicode_escape", "utf-7", "rot13", "x-nope", "mbcs"]
)
def test_an_unknown_or_unsafe_encoding_is_noted_and_not_used(name):
    """Some codecs of Python unfold, stall or run backwards, so a server may not choose them."""
    page = read(b"plain \\u0041", f"text/plain; charset={name}")
    assert page.text == "plain \\u0041"
    assert page.notes == (f"the header names an encoding that is not known, {name!r}",)


def test_bad_bytes_are_replaced_with_a_note():
    page = read(b"a\xffb", "text/plain; charset=utf-8")
    assert page.text == "a\ufffdb"
    assert page.notes == ("some bytes are no valid utf-8 and were replaced by \ufffd",)


def test_a_character_cut_in_two_is_left_out():
    """The body was cut there, so it is not a sign of a bad encoding."""
    page = read("aé".encode()[:-1], "text/plain; charset=utf-8", is_cut=True)
    assert (page.text, page.notes) == ("a", ())


@pytest.mark.parametrize(("data", "header"), [(b"x" * 100, "text/plain"), (b"<p>x" * 100, "text/html")])
def test_a_long_text_is_cut_with_a_note(data, header):
    page = read(data, header, max_chars=50)
    assert len(page.text) < 300
    assert page.notes == ("cut after about 50 characters",)


@given(st.binary(max_size=500), st.text(max_size=60), st.booleans())
def test_any_body_under_any_header_is_read(data, header, is_cut):
    """No body and no header of a server breaks the reading."""
    page = read(data, header, is_cut=is_cut)
    assert isinstance(page.text, str)


@given(st.text(max_size=200), st.sampled_from(["utf-8", "utf-16-le", "gb18030", "utf-32-be"]))
def test_text_comes_back_from_its_encoding(text, codec):
    """Reading is the inverse of encoding if the header is right, unless the bytes look like something else."""
    data = text.encode(codec)
    page = read_page_text(data, MediaType("text/plain", codec), url=URL)
    assert (
        page.text == text.removeprefix("\ufeff") or "looks like" in page.text or data[:2] in (b"\xff\xfe", b"\xfe\xff")
    )
