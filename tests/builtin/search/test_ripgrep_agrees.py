"""ripgrep clears no file in which our own search finds a line."""

from __future__ import annotations

import re
import shutil

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builtin.trees import plant, run_by_hand
from toolkit.builtin.search.grep_syntax import build_query
from toolkit.builtin.search.grep_tool import grep_for
from toolkit.builtin.search.line_search import FileMatches, search_file
from toolkit.builtin.search.ripgrep import Ripgrep
from toolkit.builtin.time_limit import TimeLimit

from .programs import RG, XARGS, needs_rg

ATOMS = [
    "a",
    "b",
    "K",
    "k",
    "s",
    "é",
    "ſ",
    "İ",
    ".",
    "\\w",
    "\\W",
    "\\d",
    "\\s",
    "\\S",
    "\\b",
    "\\B",
    "^",
    "$",
    "[ab]",
    "[^a]",
    "[^é]",
    "[a-zé-ü]",
    "\ufffd",
    "\\x41",
    " ",
    "\\.",
    "\\r",
]


REPEATS = ["", "", "", "*", "+", "?", "{2}", "{0,2}", "{1,}", "*?"]


def _patterns(inner):
    return st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(inner, st.sampled_from(REPEATS)).map(lambda two: f"(?:{two[0]}){two[1]}"),
    )


PATTERNS = st.recursive(st.sampled_from(ATOMS), _patterns, max_leaves=6)


PIECES = [
    b"a",
    b"b",
    b"k",
    b"K",
    b"s",
    b"A",
    b" ",
    b".",
    b"1",
    b"\n",
    b"\n",
    b"\r\n",
    b"\r",
    "é".encode(),
    "É".encode(),
    "\u212a".encode(),
    "ſ".encode(),
    "ı".encode(),
    "İ".encode(),
    b"\xff",
    b"\xc3",
    b"\xe2\x84",
    b"\0",
    "\ufeff".encode(),
    "\ufffd".encode(),
    "\U0001f600".encode(),
]


FILES = st.lists(st.lists(st.sampled_from(PIECES), max_size=12).map(b"".join), min_size=1, max_size=12)


MARKS = st.sampled_from([b"", b"", b"", "\ufeff".encode(), b"\xff\xfe", b"\xfe\xff"])


@pytest.mark.long
@pytest.mark.unmeasured
@needs_rg
@given(pattern=PATTERNS, files=FILES, mark=MARKS, ignore_case=st.booleans(), fixed=st.booleans())
@settings(max_examples=3 * settings().max_examples)
def test_ripgrep_clears_no_file_in_which_we_find_a_line(tmp_path_factory, pattern, files, mark, ignore_case, fixed):
    """This holds for all letters, invalid bytes, line endings and byte order marks."""
    root = tmp_path_factory.mktemp("sieve")
    workspace = plant(root, {str(number): mark + content for number, content in enumerate(files)})
    try:
        query = build_query(pattern, fixed=fixed, ignore_case=ignore_case)
        entries, watch = list(workspace.walk()), TimeLimit(60, lambda: False)
        sieve = Ripgrep(workspace, rg=RG, xargs=XARGS, bwrap=None)
        cleared = sieve.find_files_without_match(query, entries, watch)
        matching = {entry.path for entry in entries if search_file(workspace, entry, query, watch) != FileMatches()}
        assert not sieve.is_broken
        assert not cleared & matching
    finally:
        shutil.rmtree(root)


@pytest.mark.unmeasured
@needs_rg
@given(pattern=PATTERNS, files=FILES, ignore_case=st.booleans())
@settings(max_examples=15)
@pytest.mark.long
def test_the_answer_is_the_same_with_and_without_ripgrep(tmp_path_factory, pattern, files, ignore_case):
    root = tmp_path_factory.mktemp("same")
    workspace = plant(root, {f"{number % 3}/{number}": content for number, content in enumerate(files)})
    try:
        without_ripgrep, with_ripgrep = (
            run_by_hand(grep_for(workspace, ripgrep=with_program), pattern, ignore_case=ignore_case, context_lines=1)
            for with_program in (False, True)
        )
        assert without_ripgrep == with_ripgrep
    finally:
        shutil.rmtree(root)


@given(pattern=PATTERNS, text=st.text(alphabet="abkKséſı A1.\r", max_size=30), ignore_case=st.booleans())
def test_grep_finds_the_same_lines_as_re(tmp_path_factory, pattern, text, ignore_case):
    """The shortcuts before the search change nothing: a text that every match holds, and the whole file at once."""
    root = tmp_path_factory.mktemp("re")
    workspace = plant(root, {"x": f"{text}\nother\n"})
    try:
        (entry,) = workspace.walk()
        matches = search_file(
            workspace, entry, build_query(pattern, ignore_case=ignore_case), TimeLimit(60, lambda: False)
        )
        flags = re.IGNORECASE if ignore_case else re.NOFLAG
        lines = [text.removesuffix("\r"), "other"]
        assert list(matches.hits) == [number for number, line in enumerate(lines) if re.search(pattern, line, flags)]
    finally:
        shutil.rmtree(root)


@needs_rg
def test_ripgrep_clears_files_that_surely_do_not_match(tmp_path):
    """Otherwise it would be of no use."""
    workspace = plant(tmp_path, {"a": "alpha", "b": "beta", "c": "é", "in/~x": "gamma", "in/ d\n": "delta"})
    entries = [entry for entry in workspace.walk() if entry.kind == "file"]
    sieve = Ripgrep(workspace, rg=RG, xargs=XARGS, bwrap=None)
    assert sieve.find_files_without_match(build_query("al\\w+"), entries, TimeLimit(60, lambda: False)) == {
        "b",
        "c",
        "in/~x",
        "in/ d\n",
    }
