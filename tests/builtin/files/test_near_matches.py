"""The help for a text that does not appear: the place that is nearest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.builtin.files.near_matches import describe_near_match

from .code_sample import CODE


@pytest.mark.parametrize(
    ("old", "words"),
    [
        ("5\tdef g():\n6\t    return 1", "it would without the line numbers of `read`"),
        ("def g():\\n    return 1", "it would with one backslash less"),
        ("  g():\n", "it would without the blank space around it"),
        ("def f():  \n    return 1", "only the blank space at the ends of lines differs"),
        ("def g():\n\treturn 1", "only the indentation differs"),
        ("def  g ():\n    return 1", "only the blank space differs"),
        ("def g():\n    return\u00a01", "only the blank space differs"),
        ("def g():\n    ret\u200burn 1", "only quotes, dashes, accents or invisible characters differ"),
        ("Def G():\n    return 1", "only capitals differ"),
        ("def gg(x):\n    return 1", "this is the nearest"),
    ],
)
def test_a_slip_is_named_and_the_place_is_shown(old, words):
    """The place is shown as `read` shows it, so that the next try is right."""
    description = describe_near_match(CODE, old)
    assert words in description
    assert "The file has:\n" in description
    assert ":\n5\tdef g():" in description or ":\n1\tdef f():" in description


def test_typographic_quotes_are_recognised():
    """A model, or a web page, has made them."""
    assert "only quotes" in describe_near_match("say('it')\n", "say(\u2018it\u2019)")


@pytest.mark.parametrize(("text", "old"), [(CODE, "%%%%%%"), ("", "x"), (CODE, "\n \n")])
def test_without_a_near_match_only_the_advice_to_look_again_is_shown(text, old):
    assert describe_near_match(text, old) == ", nor anything near it; read the file again"


def test_the_description_of_a_near_match_is_bounded():
    """Long lines are cut, and so are many lines."""
    description = describe_near_match(("x" * 1000 + "\n") * 100, ("X" * 1000 + "\n") * 100)
    assert description.count("\n") == 12
    assert len(description) < 5000


def test_the_work_is_bounded():
    """A large file is not compared at all."""
    assert "too large to look for what is near" in describe_near_match("some line\n" * 300_000, "some lime")


@given(st.text(max_size=80), st.text(max_size=30))
def test_help_never_fails(text, old):
    """This holds for every text that is looked for, in every file."""
    assert describe_near_match(text, old)
