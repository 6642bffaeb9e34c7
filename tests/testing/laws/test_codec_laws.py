"""A codec refuses in the right words, does not raise, and writes what its schema allows."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

import pytest

from toolkit import BadArgs, Catalog, Codec, tool
from toolkit.spec import Tool
from toolkit.testing import LawsBroken, broken_laws, check_tool


class Deaf:
    """What is known of a tool whose check answers in its own way."""

    def __init__(self, about, answer):
        self._about = about
        self._answer = answer
        self.checker = self

    def __getattr__(self, name):
        return getattr(self._about, name)

    def check(self, arguments, validation="fast"):
        raise self._answer


@pytest.mark.long
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (BadArgs("no"), "was refused without its place: no"),
        (RuntimeError("oh"), "raised RuntimeError instead of BadArgs"),
    ],
    ids=["without a place", "something else"],
)
def test_a_refusal_says_where_in_the_right_words(answer, words):
    """A model cannot correct what it is not shown."""

    def plain(n: Annotated[int, "A number."]) -> None:
        """Take a number."""

    plain_tool = Tool.described(plain)
    violations = broken_laws(_only(replace(plain_tool, about=Deaf(plain_tool.about, answer))), examples=10)
    assert any(violation.rule == "refuses-mistakes" and words in violation.message for violation in violations)


def _only(tool):
    catalog = Catalog()
    catalog.add(tool)
    return catalog


def test_a_codec_that_raises_breaks_a_law():
    """An example is an `encode` that cannot write what `decode` read."""

    def write(value):
        raise OSError("no ink")

    @tool(catalog=None)
    def note(word: Annotated[str, Codec(schema={"type": "string"}, decode=str, encode=write), "A word."]) -> None:
        """Write a word down."""

    with pytest.raises(LawsBroken, match="decoding and encoding raised OSError: no ink"):
        check_tool(note, examples=5)


def test_the_output_of_a_codec_is_checked_against_the_output_schema():
    """A codec that writes what its schema does not allow breaks the promise to the reader of the result."""

    @tool(read_only=True, catalog=None)
    def measure() -> Annotated[int, Codec(schema={"type": "integer", "maximum": 3}, decode=int, encode=int)]:
        """Measure something."""
        return 4

    with pytest.raises(LawsBroken, match="output schema does not allow: expected at most 3, got 4"):
        check_tool(measure, examples=3)
