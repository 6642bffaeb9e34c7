"""Line endings: a file keeps the ones it has."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.errors import ToolError
from toolkit.workspace import with_line_endings_of


@pytest.mark.parametrize(
    ("old", "new", "data"),
    [
        (b"a\nb\n", "x\ny\n", b"x\ny\n"),
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\rb\r", "x\ny\n", b"x\ry\r"),
        (b"a\r\nb\n", "x\ny\n", b"x\ny\n"),
        (b"", "x\ny\n", b"x\ny\n"),
        (b"one line", "x\ny", b"x\ny"),
        (b"a\r\n", "x\r\ny\n", b"x\r\ny\n"),
        (b"a\n", "\u00e9\n", b"\xc3\xa9\n"),
        (b"a\n", "\udcff\n", b"\xff\n"),
    ],
)
def test_new_text_ends_its_lines_as_the_old_did(old, new, data):
    """One kind of ending is kept; a mixture, or an ending that the model wrote itself, is left alone."""
    assert with_line_endings_of(old, new) == data


def test_half_a_character_is_refused():
    """A lone surrogate that stands for no byte is told with its place."""
    with pytest.raises(ToolError, match="half a character at position 2"):
        with_line_endings_of(b"", "ab\ud800")


@given(
    lines=st.lists(st.text(st.characters(blacklist_characters="\r\n", blacklist_categories=["Cs"]))),
    ending=st.sampled_from(["\n", "\r\n", "\r"]),
)
def test_nothing_but_the_endings_changes(lines, ending):
    """Taking the old endings back out gives the new text."""
    new = "\n".join(lines)
    data = with_line_endings_of(f"a{ending}b".encode(), new)
    assert data.decode() == ending.join(lines)
