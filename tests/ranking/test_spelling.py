"""
A misspelt word finds the one that was meant, and only words that are near.
"""

from __future__ import annotations

import pytest

from toolkit.ranking.spelling import TOO_COMMON, Spelling, distance

KNOWN = ["weather", "whether", "forecast", "calendar", "mail", "recommendation", "recommend"]


@pytest.mark.parametrize(
    ("misspelt", "meant"),
    [
        ("wather", ["weather"]),
        ("weeather", ["weather"]),
        ("xeather", ["weather"]),
        ("ewather", ["weather"]),
        ("weahter", ["weather"]),
        ("weathes", ["weather"]),
        ("wether", ["weather", "whether"]),
        ("mial", ["mail"]),
        ("recomendaton", ["recommendation"]),
        ("rceommendatoin", ["recommendation"]),
        ("forecast", ["forecast"]),
    ],
)
def test_the_nearest_words_are_found(misspelt, meant):
    """A letter wrong, missing, too many or swapped, the first one too; two of them in a long word."""
    assert sorted(Spelling(KNOWN).nearest(misspelt)[1]) == meant


@pytest.mark.parametrize("word", ["mal", "maail1", "wxyther", "qwerty", "", "m", "x" * 30, "ma il"])
def test_what_is_near_to_nothing_is_left_alone(word):
    """Short words, words with digits, endless ones, and two edits in a short word are not repaired."""
    assert Spelling([*KNOWN, "x" * 29]).nearest(word)[1] == []


def test_a_forgotten_word_is_not_found():
    """What no tool uses any longer is not suggested, and what is like it still is."""
    spelling = Spelling(KNOWN)
    spelling.forget("weather")
    assert spelling.nearest("wether") == (1, ["whether"])
    for word in [*KNOWN[1:]]:
        spelling.forget(word)
    assert spelling.nearest("wether")[1] == []
    assert not spelling._under
    assert not spelling._letters


def test_words_that_all_begin_alike_say_nothing():
    """A beginning that too many words share is passed over, or a hostile catalog could make every search slow."""
    crowd = [f"aaaaaaa{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(TOO_COMMON + 1)]
    assert Spelling(crowd).nearest("aaaaaaazzz")[1] == []
    assert Spelling(crowd[:10]).nearest("aaaaaaazaz")[1] != []


def test_nearer_words_replace_farther_ones():
    """With one edit and with two from known words, only the nearer ones are meant, in whatever order they come."""
    crowd = [f"calenda{letter}{letter}" for letter in "bcdefghijk"]
    assert Spelling([*crowd, "calendars"]).nearest("calendar") == (1, ["calendars"])


@pytest.mark.parametrize(
    ("one", "other", "edits"),
    [
        ("abcd", "abcd", 0),
        ("abcd", "abxd", 1),
        ("abcd", "acbd", 1),
        ("abcd", "abd", 1),
        ("abcd", "badc", 2),
        ("ab", "xyz", 3),
    ],
)
def test_distance_counts_edits(one, other, edits):
    """A swap of neighbours is one edit; what is beyond the limit is one more than it."""
    assert distance(one, other, 3) == distance(other, one, 3) == edits
    assert distance(one, other, 1) == min(edits, 2)
