"""Wrapped lines are joined, and layout that carries meaning is kept."""

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.docstrings.markup import clean, join_lines

WORDS = st.text("abcdefgh,.", min_size=1, max_size=8)
PARAGRAPHS = st.lists(st.lists(WORDS, min_size=1, max_size=12).map(" ".join), min_size=1, max_size=3)


@given(PARAGRAPHS, st.integers(9, 40), st.integers(0, 8))
def test_wrapped_lines_of_a_paragraph_are_joined(paragraphs, width, indent):
    """Paragraphs that are wrapped at any width and indented are read back unchanged."""
    text = "\n\n".join(textwrap.fill(paragraph, width) for paragraph in paragraphs)

    assert join_lines("\n" + textwrap.indent(text, " " * indent)) == "\n\n".join(paragraphs)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One\n  two", "One two"),
        ("One of:\n- a\n- b,\n  c", "One of:\n- a\n- b, c"),
        ("As in\n```\na\n  b\n```\nso", "As in\n```\na\n  b\n```\nso"),
        ("As in\nthis:\n\n    a\n    b", "As in this:\n\n    a\n    b"),
        ("As in::\n\n        a\n          b\n\n    so", "As in::\n\n    a\n      b\n\nso"),
        ("As in::\n\n        a\n          b", "As in::\n\n    a\n      b"),
        ("One of:\n\n  - a\n      - b,\n        c\n  - d", "One of:\n\n- a\n    - b, c\n- d"),
        ("One of:\n- a\n  - b\n\nSo.\n\n  - c", "One of:\n- a\n  - b\n\nSo.\n\n  - c"),
        ("As in:\n  | x | y |\n  |---|---|\n  | 1 | 2 |\n  so\n  on", "As in:\n| x | y |\n|---|---|\n| 1 | 2 |\nso on"),
        ("As in\n  a | b\n  |c| here", "As in a | b |c| here"),
        ("", ""),
    ],
)
def test_lists_tables_and_code_keep_their_lines(text, expected):
    """Only wrapped lines are joined."""
    assert join_lines(text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A :class:`~a.B`.", "A `a.B`."),
        ("A.\n\n>>> a\n1\n\nB.", "A.\n\nB."),
        ("A.\n\n.. note:: B.", "A.\n\nNote: B."),
        ("A.\n\n.. math::\n\n   x\n\nB.", "A.\n\nB."),
        ("A.\n\n.. math::\n\n   y\n\n.. code-block:: c\n\n   x", "A.\n\n   x"),
        ("A.\n\n.. code-block:: c\n\n   x", "A.\n\n   x"),
        ("\tA.\r\n\tB.  \r\n", "A.\nB."),
    ],
)
def test_markup_is_removed(text, expected):
    """Roles, sessions, directives and margins are gone; notes and code are kept."""
    assert clean(text) == expected
