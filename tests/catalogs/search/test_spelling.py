"""
A misspelt word finds the one that was meant, and only words that are near.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.catalogs.search.spelling import MAX_COMPARED, MAX_SHARING_WORDS, Spelling, distance

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
        ("recmomendatoin", ["recommendation"]),
        ("forecast", ["forecast"]),
    ],
)
def test_the_nearest_words_are_found(misspelt, meant):
    """A letter wrong, missing, too many or swapped, the first one too; two of them after the beginning of a long word."""
    assert sorted(Spelling(KNOWN).nearest(misspelt)[1]) == meant


@pytest.mark.parametrize("word", ["mal", "maail1", "wxyzher", "qwerty", "", "m", "x" * 30, "ma il", "xecommendatixn"])
def test_a_word_without_a_near_word_is_not_corrected(word):
    """Such words are short, have digits, are very long, or have two edits of which one is in the first letter."""
    assert Spelling([*KNOWN, "x" * 29]).nearest(word)[1] == []


def test_a_rest_that_too_many_words_share_is_skipped():
    """Otherwise a hostile catalog could make every search slow."""
    alike = [chr(0x4E00 + n) + "aaaa" for n in range(MAX_SHARING_WORDS + 1)]
    assert Spelling(alike).nearest("zaaaa")[1] == []
    assert len(Spelling(alike[1:]).nearest("zaaaa")[1]) == MAX_SHARING_WORDS


def test_the_number_of_compared_words_one_edit_away_is_bounded():
    """Each rest of a word may have sixty words, and only some of all these are compared."""
    word = "abcdefghijklmnopqrst"
    rests = [word[:at] + word[at + 1 :] for at in range(len(word))]
    crowd = {rest[:at] + letter + rest[at:] for rest in rests for at in (0, 7, 14) for letter in "uvwxyz"}
    edits, near = Spelling(sorted(crowd)).nearest(word)
    assert edits == 1
    assert 0 < len(near) < sum(distance(word, other, 1) == 1 for other in crowd) <= MAX_COMPARED < len(crowd)


def test_the_number_of_compared_long_words_with_the_same_beginning_is_bounded():
    """Many words of a hostile catalog may be two edits away."""
    pairs = [chr(97 + n % 26) + chr(97 + n // 26) for n in range(26 * 26)]
    crowd = [f"recommend{letters}" for letters in pairs if "x" not in letters]
    nearest = Spelling(crowd).nearest("recommendxx")
    assert nearest[0] == 2
    assert 0 < len(nearest[1]) <= MAX_SHARING_WORDS


@given(st.data())
def test_any_single_slip_is_repaired(data):
    """For any word and any place of the slip, the word is among the nearest."""
    words = data.draw(st.lists(st.text("abcdefg", min_size=4, max_size=12), min_size=1, max_size=8, unique=True))
    word = data.draw(st.sampled_from(words))
    at = data.draw(st.integers(0, len(word) - 1))
    letter = data.draw(st.sampled_from("abcxyz"))
    slips = [
        word[:at] + letter + word[at + 1 :],
        word[:at] + letter + word[at:],
        word[:at] + word[at + 1 :],
        word[:at] + word[at : at + 2][::-1] + word[at + 2 :],
    ]
    slip = data.draw(st.sampled_from([slip_word for slip_word in slips if len(slip_word) >= 4]))
    edits, near = Spelling(words).nearest(slip)
    assert word in near or (edits == 0 and near == [slip])


def test_nearer_words_replace_farther_ones():
    """Words with two edits count only if no word has one edit, in whatever order the words come."""
    crowd = [f"calenda{letter}{letter}" for letter in "bcdefghijk"]
    assert Spelling([*crowd, "calendars"]).nearest("calendar") == (1, ["calendars"])


@given(st.text("abc", max_size=7), st.text("abc", max_size=7), st.integers(0, 3))
def test_distance_is_that_of_the_full_table(one, other, most):
    """Trying few edits gives what aligning all letters with all others does."""
    table = {(row, 0): row for row in range(len(one) + 1)} | {(0, column): column for column in range(len(other) + 1)}
    for row, letter in enumerate(one, 1):
        for column, against in enumerate(other, 1):
            edits = [table[row - 1, column] + 1, table[row, column - 1] + 1]
            edits.append(table[row - 1, column - 1] + (letter != against))
            if row > 1 and column > 1 and (one[row - 2], letter) == (against, other[column - 2]):
                edits.append(table[row - 2, column - 2] + 1)
            table[row, column] = min(edits)
    assert distance(one, other, most) == min(table[len(one), len(other)], most + 1)


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
