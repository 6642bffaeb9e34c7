"""
`read` shows a page of numbered lines of any text file, and describes what is none.
"""

from __future__ import annotations

import io
import os
import struct
import tracemalloc
import zlib

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from toolkit import BadArgs, Catalog, Context, Dispatcher, Safety, Session, ToolError
from toolkit.builtin.files.changes import digest
from toolkit.builtin.files.encodings import UTF_8, detect_encoding
from toolkit.builtin.files.file_kinds import image_size, kind_of
from toolkit.builtin.files.line_pages import read_page, survey_file
from toolkit.builtin.files.read_tool import read_for
from toolkit.content import ImagePart, TextPart
from toolkit.workspace import Workspace

pytestmark = pytest.mark.anyio


@pytest.fixture
def call(tmp_path):
    """Call `read` on the files of a folder."""
    workspace = Workspace(tmp_path, max_read_bytes=3_000_000)
    catalog = Catalog()
    catalog.add(read_for(workspace))
    dispatcher = Dispatcher(catalog, safety=workspace.safety())

    async def read(path="a.txt", session=None, **arguments):
        return await dispatcher.call("read", {"path": path, **arguments}, session=session)

    return read


def png(width=2, height=3):
    def chunk(name, data):
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    rows = b"".join(b"\0" + b"\1\2\3" * width for _ in range(height))
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


JPEG = b"\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xc0\0\x11\x08\0\x05\0\x07\3\1\x22\0\2\x11\1\3\x11\1"
GIF = b"GIF89a\x07\0\x05\0\x80\0\0"
WEBP = b"RIFF\x24\0\0\0WEBP"
LOSSY = WEBP + b"VP8 \x18\0\0\0\x30\1\0\x9d\x01\x2a\x07\0\x05\0"
LOSSLESS = WEBP + b"VP8L\x18\0\0\0\x2f" + struct.pack("<I", 6 | 4 << 14)
EXTENDED = WEBP + b"VP8X\x0a\0\0\0\0\0\0\0" + b"\x06\0\0\x04\0\0"


# Facts.


def test_read_is_read_only():
    """So it runs in plan mode, and beside other calls."""
    tool = read_for(Workspace(os.getcwd()))
    assert tool.facts.read_only
    assert tool.facts.concurrency_safe
    assert tool.facts.group == "files"
    assert set(tool.schema["properties"]) == {"path", "offset", "limit"}
    assert tool.schema["required"] == ["path"]


# Text.


async def test_lines_are_numbered_and_their_total_is_reported(tmp_path, call):
    """A number, a tab, the line; then how many there are."""
    (tmp_path / "a.txt").write_text("one\n\n\tthree\n")
    assert (await call()).text == "1\tone\n2\t\n3\t\tthree\n(end of file: 3 lines in all)"


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"limit": 2}, "1\t1\n2\t2\n(lines 1-2; 5 lines in all; more: continue with offset=3)"),
        ({"offset": 4}, "4\t4\n5\t5\n(end of file: 5 lines in all)"),
        ({"offset": 3, "limit": 1}, "3\t3\n(lines 3-3; 5 lines in all; more: continue with offset=4)"),
        ({"offset": -2}, "4\t4\n5\t5\n(end of file: 5 lines in all)"),
        ({"offset": -3, "limit": 1}, "3\t3\n(lines 3-3; 5 lines in all; more: continue with offset=4)"),
        ({"offset": -99, "limit": 1}, "1\t1\n(lines 1-1; 5 lines in all; more: continue with offset=2)"),
        ({"offset": 5, "limit": 10**20}, "5\t5\n(end of file: 5 lines in all)"),
    ],
)
async def test_a_page_begins_and_ends_at_the_given_lines(tmp_path, call, arguments, text):
    """Offsets count from 1, or from the end. A note points to the rest."""
    (tmp_path / "a.txt").write_text("1\n2\n3\n4\n5\n")
    assert (await call(**arguments)).text == text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"offset": 0}, "offset: lines are counted from 1"),
        ({"limit": 0}, "limit: has to be at least 1, got 0"),
        ({"offset": 4}, "offset: there is no line 4; the file has 2 lines in all"),
        ({"offset": 10**30}, "the file has 2 lines in all"),
    ],
)
async def test_an_impossible_page_is_refused(tmp_path, call, arguments, words):
    """The message names the parameter and a right value."""
    (tmp_path / "a.txt").write_text("1\n2")
    result = await call(**arguments)
    assert result.kind == "bad_args"
    assert words in result.text


def test_the_function_itself_refuses_too(tmp_path):
    """Called by hand there is no dispatcher that checks."""
    tool = read_for(Workspace(tmp_path))
    with pytest.raises(BadArgs, match="counted from 1"):
        tool.function("a.txt", offset=0, context=Context(facts=tool.facts))


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
async def test_the_result_says_that_a_file_is_empty(tmp_path, call, content):
    """This holds also if there is only a byte order mark."""
    (tmp_path / "a.txt").write_bytes(content)
    assert (await call()).text.startswith("(the file is empty")


async def test_a_note_says_that_the_newline_at_the_end_is_missing(tmp_path, call):
    """The model has to know this before it edits the last line."""
    (tmp_path / "a.txt").write_text("one\ntwo")
    assert (await call()).text.endswith("2\ttwo\n(end of file: 2 lines in all; no newline at the end)")


@pytest.mark.parametrize(
    ("content", "note"),
    [
        ("Grüße\r\nalle\r\n".encode(), "lines end in CRLF"),
        ("Grüße\r\nalle\n".encode(), "some lines end in CRLF, others in LF"),
        ("Grüße\nalle\n".encode("utf-8-sig"), "encoding: UTF-8 with a byte order mark"),
        ("Grüße\nalle\n".encode("utf-16"), "encoding: UTF-16 (little-endian)"),
        ("Grüße\nalle\n".encode("utf-32"), "encoding: UTF-32 (little-endian)"),
        ("Grüße\nalle\n".encode("cp1252"), "encoding: Windows-1252, which is a guess"),
    ],
)
async def test_other_encodings_and_line_endings_are_read_with_a_note(tmp_path, call, content, note):
    """The lines are the same, and the note says what the file is like."""
    (tmp_path / "a.txt").write_bytes(content)
    assert (await call()).text == f"1\tGrüße\n2\talle\n(end of file: 2 lines in all; {note})"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=60))
async def test_a_page_without_its_numbers_has_the_lines_of_the_file(tmp_path, call, text):
    """Only the line endings may differ."""
    (tmp_path / "a.txt").write_bytes(text.encode())
    page = (await call()).text
    numbered = page.split("\n")[:-1]
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").split("\n")
    lines = lines[:-1] if lines[-1] == "" else lines
    assert numbered == [f"{number}\t{line}" for number, line in enumerate(lines, 1)]


@given(st.lists(st.sampled_from([b"a", b"\n", b"\r\n", "ü".encode(), b"x" * 100]), max_size=80), st.integers(1, 30))
def test_pages_are_the_same_from_every_mark(pieces, first):
    """A survey only makes it quicker."""
    data = b"".join(pieces) * 4000
    file = io.BytesIO(data)
    survey = survey_file(file, UTF_8, on_progress=lambda count: None)
    lines = data.split(b"\n")
    lines = lines[:-1] if lines[-1] == b"" else lines
    assert (survey.line_count, survey.sha256) == (len(lines), digest(data))
    first = max(1, survey.line_count - first)
    options = {"first_line": first, "max_lines": 3, "max_bytes": 10**9, "on_progress": lambda count: None}
    quick, slow = read_page(file, UTF_8, checkpoints=survey.checkpoints, **options), read_page(file, UTF_8, **options)
    assert quick.lines == slow.lines
    assert quick.is_last == slow.is_last == (first + 3 > survey.line_count)
    assert [line.text for line in slow.lines if not line.bytes_if_cut] == [
        line.removesuffix(b"\r").decode() for line in lines[first - 1 : first + 2] if len(line.decode()) <= 2000
    ]


@pytest.mark.parametrize("codec", ["utf-16", "utf-32", "utf-16-le"])
def test_wide_text_is_found_across_chunks(codec):
    """A character that is cut in two by a chunk's end is whole again."""
    text = "".join(f"line {number} \U0001f600\n" for number in range(60_000))
    data = ("x" + text).encode(codec)
    file, encoding = io.BytesIO(data), detect_encoding(data)
    survey = survey_file(file, encoding, on_progress=lambda count: None)
    assert survey.line_count == 60_000
    assert survey.sha256 == digest(data)
    page = read_page(file, encoding, first_line=50_001, max_lines=2, max_bytes=999, on_progress=lambda count: None)
    assert [line.text for line in page.lines] == ["line 50000 \U0001f600", "line 50001 \U0001f600"]


def test_half_a_character_at_the_end_is_not_a_line():
    """It may stand alone in the last chunk."""
    encoding = detect_encoding("four letters".encode("utf-32-le"))
    file = io.BytesIO("x\n".encode("utf-32-le") * 32768 + b"y\0")
    assert survey_file(file, encoding, on_progress=lambda count: None).line_count == 32768
    page = read_page(file, encoding, first_line=32768, max_lines=5, max_bytes=99, on_progress=lambda count: None)
    assert [line.text for line in page.lines] == ["x"]
    assert page.is_last


@pytest.mark.parametrize(("tail", "lines"), [(b"", 40_000), (b"\n", 40_001), (b"end", 40_001)])
def test_a_page_past_the_end_says_how_many_lines_there_are(tail, lines):
    file = io.BytesIO(b"some line\n" * 40_000 + tail)
    page = read_page(file, UTF_8, first_line=10**6, max_lines=1, max_bytes=9, on_progress=lambda count: None)
    assert (page.lines, page.lines_before, page.is_last) == ([], lines, True)


async def test_a_long_line_is_cut_visibly(tmp_path, call):
    """The result says its length, and the next line has the right number."""
    (tmp_path / "a.txt").write_text("ü" * 5000 + "\nnext\n" + "y" * 2000 + "\n")
    lines = (await call()).text.split("\n")
    assert lines[0] == "1\t" + "ü" * 2000 + "... [cut: the line has 10,000 bytes]"
    assert lines[1] == "2\tnext"
    assert lines[2] == "3\t" + "y" * 2000


async def test_a_page_fits_into_a_result(tmp_path, call):
    """It ends early with a pointer to the rest, so the dispatcher does not cut it."""
    (tmp_path / "a.txt").write_text(("x" * 1990 + "\n") * 100)
    result = await call()
    assert not result.truncated
    assert 30_000 < len(result.text) < 40_000
    assert "more: continue with offset=17)" in result.text


async def test_a_note_says_that_bytes_are_not_text(tmp_path, call):
    """The beginning of a large file may be UTF-8 and a later line may not."""
    (tmp_path / "a.txt").write_bytes(b"fine\n" * 100_000 + b"bad \xff\n" + b"\xef\xbf\xbd honest\n")
    bad = await call(offset=-2, limit=1)
    assert bad.text.startswith("100001\tbad \ufffd\n")
    assert "some bytes are not text" in bad.text
    assert "some bytes" not in (await call(offset=-1)).text


# Large files.


def fill(path, data, *, times=1, size=None):
    """Make a large file; what is beyond the data is a hole."""
    with open(path, "wb") as file:
        for _ in range(times):
            file.write(data)
        if size is not None:
            file.truncate(size)


async def test_a_large_file_is_not_held(tmp_path, call):
    """A page out of the middle of 60 MB takes a few megabytes at most, and its size is said."""
    fill(tmp_path / "a.txt", (b"0123456789" * 9 + b"\n") * 11_000, times=60)
    await call(limit=1)
    tracemalloc.start()
    result = await call(offset=400_000, limit=2)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert result.text.split("\t")[0] == "400000"
    assert f"lines 400000-400001; {660_000 * 91:,} bytes in all; more: continue with offset=400002" in result.text
    assert most < 8_000_000
    assert "660,000 lines in all" in (await call(offset=-1)).text
    assert "the file has 660,000 lines in all" in (await call(offset=700_000)).text


async def test_a_file_that_is_one_long_line_is_not_held_in_memory(tmp_path, call):
    """The file has no newline and is mostly a hole."""
    fill(tmp_path / "a.txt", b"x" * 1_000_000, size=300_000_000)
    tracemalloc.start()
    result = await call()
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert "[cut: the line has 300,000,000 bytes]" in result.text
    assert most < 8_000_000


@pytest.mark.long
def test_a_long_search_gives_signs_of_life(tmp_path):
    """The caller learns how far the search for a distant line has come."""
    fill(tmp_path / "a.txt", b"x\n" * 200_000, size=600_000_000)
    events = []
    tool = read_for(Workspace(tmp_path))
    with pytest.raises(BadArgs, match="200,001 lines in all"):
        tool.function("a.txt", offset=10**6, context=Context(facts=tool.facts, on_progress=events.append))
    assert [round(event.progress / (1 << 28)) for event in events] == [1, 2]
    assert {event.total for event in events} == {600_000_000}


def test_a_search_stops_when_the_caller_is_gone(tmp_path):
    """The thread must not go on reading gigabytes."""
    (tmp_path / "a.txt").write_text("x\n")
    tool = read_for(Workspace(tmp_path))
    context = Context(facts=tool.facts)
    context.stop.set()
    with pytest.raises(ToolError, match="stopped"):
        tool.function("a.txt", context=context)


# What is no text.


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (b"\x7fELF\2\1\1\0" + bytes(50), "program or library (ELF)"),
        (b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\nplain", "PDF document"),
        (b"PK\3\4\x14\0\0\0", "ZIP archive, or a document in one"),
        (b"\x1f\x8b\x08\0\0\0\0\0", "gzip archive"),
        (b"SQLite format 3\0", "SQLite database"),
        (bytes(257) + b"ustar\0", "tar archive"),
        (b"\0\1\2\3", "binary file of no known kind"),
    ],
)
async def test_a_binary_file_is_described_by_its_kind_and_size(tmp_path, call, data, name):
    """None of its content is shown."""
    (tmp_path / "a.txt").write_bytes(data)
    result = await call()
    assert result.text == f"a.txt: {name}, {len(data)} bytes; its content is not shown, because it is not text"


@pytest.mark.parametrize(
    ("data", "name", "media_type", "pixels"),
    [
        (png(), "PNG image", "image/png", (2, 3)),
        (JPEG, "JPEG image", "image/jpeg", (7, 5)),
        (GIF, "GIF image", "image/gif", (7, 5)),
        (LOSSY, "WebP image", "image/webp", (7, 5)),
        (LOSSLESS, "WebP image", "image/webp", (7, 5)),
        (EXTENDED, "WebP image", "image/webp", (7, 5)),
    ],
)
async def test_reading_an_image_returns_an_image_and_a_description(tmp_path, call, data, name, media_type, pixels):
    (tmp_path / "a.txt").write_bytes(data)
    result = await call()
    words = f"a.txt: {name}, {len(data)} bytes, {pixels[0]} x {pixels[1]} pixels"
    assert list(result.parts) == [TextPart(words), ImagePart(data, media_type)]


@pytest.mark.parametrize("data", [png()[:18], JPEG[:5], JPEG[:20] + b"\0", GIF[:7], LOSSY[:20], WEBP + b"ODD "])
async def test_a_broken_image_has_no_size(tmp_path, call, data):
    """It may be cut short or state a wrong size, and reading it does not fail."""
    assert image_size(data) is None
    (tmp_path / "a.txt").write_bytes(data + b"\0\xff")
    assert "pixels" not in (await call()).text


def test_unknown_data_has_no_kind():
    assert kind_of(b"") is None
    assert kind_of(b"hello") is None


@given(st.binary(max_size=60), st.sampled_from([b"\x89PNG", b"\xff\xd8\xff", b"GIF89a", WEBP, WEBP + b"VP8X"]))
def test_no_image_can_make_its_reader_fail(tail, head):
    """Any bytes may follow the first ones."""
    image_size(head + tail)


async def test_an_image_that_is_too_large_is_only_described(tmp_path, call):
    """No provider would accept it."""
    (tmp_path / "a.txt").write_bytes(png() + bytes(4_000_000))
    result = await call()
    assert "too large to be shown, the limit is 3,750,000 bytes" in result.text
    assert not result.parts


# What cannot be read.


async def test_a_missing_file_is_answered_with_near_names(tmp_path, call):
    """The names include their folder, so that they can be used as they are."""
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "reader.py").touch()
    assert "'src/readr.py' does not exist; did you mean 'src/reader.py'?" in (await call("src/readr.py")).text
    assert "'src/zzzzzz' does not exist; look for it with `glob`" in (await call("src/zzzzzz")).text
    assert "nor does the folder 'lib'; look for it with `glob`" in (await call("lib/reader.py")).text


async def test_the_error_says_that_a_link_leads_to_no_file(tmp_path, call):
    """The nearest name would be that of the link itself."""
    (tmp_path / "dead").symlink_to("nowhere")
    assert "'dead' is a link that leads to nothing" in (await call("dead")).text


@pytest.mark.parametrize("path", ["folder", "folder/", "."])
async def test_reading_a_folder_fails_and_names_glob(tmp_path, call, path):
    (tmp_path / "folder").mkdir()
    result = await call(path)
    assert result.kind == "failed"
    assert "is a folder, and `read` reads files; list it with `glob`" in result.text


async def test_a_pipe_is_refused_at_once(tmp_path, call):
    """The call does not wait for a writer."""
    os.mkfifo(tmp_path / "a.txt")
    result = await call()
    assert result.kind == "failed"
    assert "only files can be read" in result.text


@pytest.mark.parametrize("path", ["../secret", "/etc/passwd", ".env", "link"])
async def test_a_path_that_is_outside_or_protected_is_refused(tmp_path, call, path):
    """The checks or the workspace refuse the path, and the content is not in the answer."""
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "link").symlink_to("/etc/passwd")
    result = await call(path)
    assert result.kind == "safety"
    assert "root:" not in result.text


@pytest.mark.parametrize("path", [".env", "link", "/etc/passwd"])
def test_the_read_tool_refuses_an_unsafe_path_without_a_dispatcher(tmp_path, path):
    """The workspace itself checks the path."""
    (tmp_path / ".env").write_text("KEY=1")
    (tmp_path / "link").symlink_to("/etc/passwd")
    tool = read_for(Workspace(tmp_path))
    with pytest.raises(Safety):
        tool.function(path, context=Context(facts=tool.facts))


# What the session remembers.


async def test_a_read_leaves_a_stamp(tmp_path, call):
    """The stamp is stored under the one real name of the file. A page or an image leaves one, too."""
    (tmp_path / "a.txt").write_text("one\ntwo\n")
    (tmp_path / "link").symlink_to("a.txt")
    (tmp_path / "b.png").write_bytes(png())
    session = Session()
    await call("link", session=session, limit=1)
    await call("b.png", session=session)
    stamps = session.state["toolkit.read_stamps"]
    assert stamps == {str(tmp_path / "a.txt"): digest(b"one\ntwo\n"), str(tmp_path / "b.png"): digest(png())}


async def test_a_file_that_is_too_large_to_change_leaves_none(tmp_path, call):
    """A survey would take long to build, and no call could use it."""
    (tmp_path / "a.txt").write_bytes(b"x\n" * 2_000_000)
    session = Session()
    await call(session=session, limit=1)
    assert "toolkit.read_stamps" not in session.state
