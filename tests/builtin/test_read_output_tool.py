"""`read_output` pages through a result that was cut, and finds lines in it."""

from __future__ import annotations

import json
import re
import tempfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.example_counts import limit_examples
from toolkit import Catalog, Dispatcher, Session
from toolkit.builtin import Workspace, grep_for, read_output_for
from toolkit.calls.kept_outputs import output_memory
from toolkit.context import Context

LOG = "\n".join(f"line {number} of the log" for number in range(1000))
NOTE = re.compile(
    r"\n\(characters ([\d,]+) to ([\d,]+) of ([\d,]+) of `t`; (?:more: continue with offset=(\d+)|this is the end)\)$"
)


READER = read_output_for()


def read(session: Session, handle: str, **arguments):
    context = Context(facts=READER.facts)
    context.call.session = session
    return READER.function(handle, **arguments, context=context)


def keep_output(text: str, *, max_chars: int = 1000) -> tuple[Session, str]:
    session = Session()
    return session, output_memory.keep(session, text, tool="t", max_chars=max_chars)


@given(
    st.text(st.characters(codec="utf-8"), min_size=1, max_size=3000),
    st.integers(250, 900),
    st.none() | st.integers(1, 400),
)
@settings(max_examples=limit_examples(30))
def test_the_pages_are_the_whole_text(text, max_chars, limit):
    """`read_output(handle, offset, limit)` pages through it: the pages together are the text, each within the limit."""
    session, handle = keep_output(text, max_chars=max_chars)
    pages, offset = [], 0
    while offset is not None:
        page = read(session, handle, offset=offset, limit=limit)
        assert len(page) <= max(max_chars, 300)
        start, end, total, more = NOTE.search(page).groups()
        pages.append(NOTE.sub("", page))
        assert limit is None or len(pages[-1]) <= limit
        assert (int(start.replace(",", "")), int(total.replace(",", ""))) == (offset, len(text))
        offset = None if more is None else int(more)
    assert "".join(pages) == text


@pytest.mark.parametrize(
    ("text", "separator"),
    [
        (json.dumps([{"id": number, "text": "x" * (number % 50)} for number in range(300)]), ","),
        (json.dumps({f"key{number}": [1, 2, {"a": number}] for number in range(300)}), ","),
        ("\n".join(json.dumps({"id": number}) for number in range(300)), "\n"),
        ("\n".join(f"2026-01-01 00:00:00 entry {number}\n  more about it" for number in range(300)), "\n"),
        ("id,text\n" + "".join(f'{number},"two\nlines"\n' for number in range(300)), '"\n'),
        ("# Title\n\n" + "".join(f"Paragraph {number}\nof two lines.\n\n" for number in range(300)), ".\n\n"),
        (LOG, "\n"),
    ],
    ids=["list", "object", "json lines", "log", "table", "markdown", "lines"],
)
def test_a_page_ends_between_two_records(text, separator):
    session, handle = keep_output(text)
    pages, more = [], "0"
    while more is not None:
        page = read(session, handle, offset=int(more))
        more = NOTE.search(page)[4]
        pages.append(NOTE.sub("", page))
    assert "".join(pages) == text
    assert len(pages) > 3
    assert all(page.endswith(separator) for page in pages[:-1])
    assert all(page.startswith(("2026-", "{", " ", "line", "Para", '"')) or page[0].isdigit() for page in pages[1:-1])


def test_the_end_can_be_read_directly():
    """A negative offset counts from the end."""
    session, handle = keep_output(LOG)
    assert read(session, handle, offset=-12).startswith("9 of the log\n(characters 19,877 to 19,889 of 19,889")


def test_read_output_runs_through_a_dispatcher():
    """Wrong arguments have an error with the right range."""
    session, handle = keep_output(LOG)
    dispatcher = Dispatcher(Catalog(read_output_for()))
    assert dispatcher.call_sync("read_output", {"handle": handle}, session=session).text.startswith(
        "line 0 of the log\n"
    )
    wrong = {"offset": 10**9}, {"limit": 0}, {"pattern": "(?<=x)y"}
    kinds = [
        dispatcher.call_sync("read_output", {"handle": handle, **arguments}, session=session).kind
        for arguments in wrong
    ]
    assert kinds == ["bad_args"] * 3
    beyond = dispatcher.call_sync("read_output", {"handle": handle, "offset": 10**9}, session=session)
    assert beyond.error.message == "offset: expected less than 19889, got 1000000000; 19,889 characters are there"


def test_read_output_is_read_only():
    """So it runs in every mode. It is deferred only on request."""
    facts = read_output_for().facts
    assert (facts.read_only, facts.concurrency_safe, facts.defer, read_output_for(defer=True).facts.defer) == (
        True,
        True,
        False,
        True,
    )


def test_the_result_says_that_an_output_was_not_kept_whole(monkeypatch):
    """The end of the kept text is not the end of the output."""
    monkeypatch.setattr(output_memory, "_max_session_bytes", 1000)
    session, handle = keep_output("a" * 5000, max_chars=5000)
    assert read(session, handle).endswith("(characters 0 to 900 of 5,000 of `t`; the rest was too large to be kept)")
    assert read(session, handle, pattern="b") == "(nothing matches)\n(only the first 900 of 5,000 characters were kept)"


# Search.


def test_lines_that_match_come_with_their_offset():
    """A search in an output shows where to read on."""
    session, handle = keep_output(LOG)
    lines = read(session, handle, pattern=r"line 5\d\d ", limit=120).splitlines()
    assert lines[0] == f"{LOG.index('line 500')}: line 500 of the log"
    offset = int(re.fullmatch(r"\(more lines match; continue with offset=(\d+)\)", lines[-1])[1])
    assert read(session, handle, offset=offset).startswith(f"line {500 + len(lines) - 1} of the log")
    assert read(session, handle, pattern="line 999$", offset=-100).splitlines() == ["(nothing matches)"]


@given(st.integers(0, 4000), st.integers(0, 4000))
@settings(max_examples=limit_examples(30))
def test_a_match_is_found_at_any_place(length, place):
    """It may be in a line of thousands of characters, and across the edges of the pieces that are searched."""
    text = ("ab c" * 1000)[:length]
    text = f"{text[:place]}NEEDLE{text[place:]}"
    session, handle = keep_output(text)
    match = re.fullmatch(r"(\d+): (.*?)(\.\.\.)?", read(session, handle, pattern="NEEDLE"), re.DOTALL)
    offset, excerpt = int(match[1]), match[2]
    assert "NEEDLE" in excerpt
    assert text[offset:].startswith(excerpt)


def test_json_in_one_line_can_be_searched():
    """A structured result is often a single line."""
    session, handle = keep_output(json.dumps([{"id": number, "name": f"user{number}"} for number in range(500)]))
    text = read(session, handle, pattern="user4[0-4][0-9]\\b", limit=500)
    assert text.count('"user4') >= 2


@pytest.fixture
def grep():
    """Make a dispatcher with `grep` in an empty folder."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Workspace(folder)
        yield Dispatcher(Catalog(grep_for(workspace, ripgrep=False)), safety=workspace.safety())


def test_grep_takes_a_handle(grep):
    """`grep` on it: the path of `grep` may be a handle, and the numbers are offsets for `read_output`."""
    session, handle = keep_output(LOG)
    text = grep.call_sync("grep", {"pattern": "LINE 77 ", "path": handle, "ignore_case": True}, session=session).text
    assert text == f"{handle}:{LOG.index('line 77 ')}: line 77 of the log"
    text = grep.call_sync("grep", {"pattern": "line", "path": handle, "limit": 2}, session=session).text
    assert text.splitlines()[-1] == f"(more lines match; continue with read_output and offset={LOG.index('line 2 ')})"
    assert (
        grep.call_sync("grep", {"pattern": "line.", "path": handle, "fixed": True}, session=session).text
        == "(nothing matches)"
    )


def test_grep_refuses_an_option_that_does_not_apply_to_an_output(grep):
    """The option is not dropped silently."""
    session, handle = keep_output(LOG)
    arguments = {"pattern": "x", "path": handle, "glob": "*.py", "context_lines": 2}
    result = grep.call_sync("grep", arguments, session=session)
    assert result.kind == "bad_args"
    assert [problem in result.text for problem in ("glob:", "context_lines:")] == [True, True]


def test_grep_of_another_session_finds_a_missing_file(grep):
    """The handle of another session is no path."""
    _, handle = keep_output(LOG)
    result = grep.call_sync("grep", {"pattern": "line", "path": handle}, session=Session())
    assert (result.kind, "does not exist" in result.text) == ("failed", True)
