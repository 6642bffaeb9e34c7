"""Checks that the schema does not state, and that refuse every drawn value, are named with what they say."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

import pytest
from annotated_types import Predicate
from hypothesis import Phase, given, settings

from toolkit.spec import Tool
from toolkit.testing import Unsupported, arguments


def is_the_word(text: str) -> bool:
    return text == "only this"


@dataclass
class Word:
    text: str

    def __post_init__(self) -> None:
        if not is_the_word(self.text):
            raise ValueError(f"{self.text!r} is not the word")


def by_limit(text: Annotated[str, Predicate(lambda text: text == "only this")]) -> None:
    """Take a word."""


def by_named_limit(texts: tuple[Annotated[str, Predicate(is_the_word)]]) -> None:
    """Take a word."""


def by_class(word: Word) -> None:
    """Take a word."""


def by_format_or_validate(text: str) -> None:
    """Take a word."""


def find_refusal(function: Callable[..., Any], **options: Any) -> Unsupported:
    """Return the error for the tool that *function* becomes with *options*."""

    @settings(max_examples=100, database=None, deadline=None, phases=[Phase.generate])
    @given(arguments(Tool.described(function, **options)))
    def draw(value: Any) -> None: ...

    with pytest.raises(Unsupported) as caught:
        draw()
    return caught.value


@pytest.mark.parametrize(
    ("function", "options", "keyword", "place", "reason"),
    [
        (by_limit, {}, "decode", "#/text", "text: expected a value its author's check accepts, got \""),
        (by_named_limit, {}, "decode", "#/texts/0", "texts[0]: expected a value for which is_the_word holds, got "),
        (by_class, {}, "decode", "#/word", "is not the word"),
        (by_limit, {"validate": lambda values: "no"}, "decode", "#/text", "its author's check"),
        (by_format_or_validate, {"validate": lambda values: "never"}, "validate", "#/", "never"),
    ],
    ids=["limit", "named limit", "class", "limit before validate", "validate"],
)
def test_a_check_that_refuses_every_drawn_value_is_named_with_a_value(
    function: Callable[..., Any], options: dict[str, Any], keyword: str, place: str, reason: str
) -> None:
    refusal = find_refusal(function, **options)
    assert (refusal.keyword, refusal.place) == (keyword, place)
    assert f"most of them were refused by {keyword}, as here: " in str(refusal)
    assert reason in str(refusal)
    assert "Give the tool `examples=`" in str(refusal)


def test_the_examples_of_a_tool_are_drawn_where_nothing_else_fits() -> None:
    """That is the remedy which the error names."""
    drawn = []

    @settings(max_examples=20, database=None, deadline=None, phases=[Phase.generate])
    @given(arguments(Tool.described(by_limit, examples=[{"text": "only this"}])))
    def draw(value: Any) -> None:
        drawn.append(value)

    draw()
    assert drawn[0] == {"text": "only this"}
