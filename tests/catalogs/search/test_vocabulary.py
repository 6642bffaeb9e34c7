"""
What an unknown word may stand for: a longer one, or one that is spelt otherwise.
"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolkit.catalogs.search import words as words_module
from toolkit.catalogs.search.vocabulary import MAX_ALTERNATIVES, Vocabulary, WordForms
from toolkit.catalogs.search.words import find_root, stem

ENDINGS = sorted(
    {ending for endings in words_module._ENDINGS.values() for ending, _, _ in endings}
    | {ending for ending, _, _ in words_module._FAMILY_ENDINGS}
)
FORMS = st.builds(
    str.__add__, st.text("abdeilsty東é", max_size=4), st.lists(st.sampled_from(ENDINGS), max_size=3).map("".join)
)


def vocabulary(**counts):
    words = Vocabulary(lambda word: counts.get(word, 0))
    for word in counts:
        words.add(word)
    return words


def test_a_beginning_stands_for_the_commonest_longer_words():
    """The words that most tools use count."""
    words = vocabulary(temperature=5, template=3, temporary=2, temper=1, tempo=1)
    assert [word for word, _ in words.find_completions("temp")] == ["temperature", "template", "temporary"]
    assert len(words.find_completions("temp")) == MAX_ALTERNATIVES


def test_the_commonest_of_two_hundred_words_with_the_same_beginning_is_found():
    """A catalog of ten thousand tools has as many words with the beginning "con"."""
    words = {f"con{one}{other}": 1 for one in "abcdefghijklmn" for other in "abcdefghijklmno"}
    assert vocabulary(**words, control=2).find_completions("con")[0][0] == "control"


def test_the_more_is_missing_the_less_a_completion_counts():
    """A word that lacks one letter is nearly written out."""
    words = dict(vocabulary(documents=1, documentation=1).find_completions("document"))
    assert 0 < words["documentation"] < words["documents"] < 1


@pytest.mark.parametrize("text", ["t", "te"])
def test_a_beginning_of_one_or_two_letters_has_no_completions(text):
    """It begins too many words."""
    assert vocabulary(temperature=1).find_completions(text) == []


def test_one_chinese_character_is_completed():
    """There a single character is a word."""
    assert [word for word, _ in vocabulary(東京=1).find_completions("東")] == ["東京"]


def test_a_known_word_is_completed_only_by_commoner_ones():
    """A rare abbreviation stands for the usual word, never the other way round."""
    words = vocabulary(repo=2, repository=5, report=1)
    assert [word for word, _ in words.find_completions("repo")] == ["repository"]


def test_a_removed_word_is_not_completed_or_repaired():
    """Lookups follow the tools that come and go, also after the first lookup built its tables."""
    words = vocabulary(weather=2)
    assert [word for word, _ in words.find_repairs("weahter")] == ["weather"]
    assert [word for word, _ in words.find_completions("weath")] == ["weather"]
    words.remove("weather")
    assert words.find_repairs("weahter") == words.find_completions("weath") == []
    words.add("weather")
    assert [word for word, _ in words.find_repairs("weahter")] == ["weather"]
    assert [word for word, _ in words.find_completions("weath")] == ["weather"]


def test_a_slip_in_a_long_word_counts_less_against_it():
    """One wrong letter of four may make another word, but hardly one of twelve."""
    words = vocabulary(mail=1, subscription=1)
    assert words.find_repairs("mial")[0][1] < words.find_repairs("subscriptoin")[0][1] < 1


@given(st.lists(st.text("abé東", min_size=1, max_size=5), unique=True), st.text("abé東", min_size=1, max_size=4))
def test_completions_are_the_words_with_that_beginning(words, text):
    """This holds for any script, and for words that came or went after the first lookup."""
    removed, early, late = words[::3], words[1::3], words[2::3]
    completing = Vocabulary(lambda word: word in early + late)
    for word in removed + early:
        completing.add(word)
    completing.find_completions("abc")
    for word in removed:
        completing.remove(word)
    for word in late:
        completing.add(word)
    longer = [word for word in early + late if word.startswith(text) and word != text]
    expected = longer if text not in early + late and (len(text) >= 3 or not text.isascii()) else []
    assert [word for word, _ in completing.find_completions(text)] == sorted(expected)[:MAX_ALTERNATIVES]


@given(st.lists(FORMS.filter(bool), unique=True), st.data())
def test_words_are_found_by_their_stems_and_stems_by_their_roots(words, data):
    """This holds for words that are added and removed between the lookups."""
    forms, kept = WordForms(), []
    for word in words:
        forms.add(word)
        kept.append(word)
        if data.draw(st.booleans()):
            assert stem(word) in forms
        if data.draw(st.booleans()):
            forms.remove(removed := kept.pop(data.draw(st.integers(0, len(kept) - 1))))
            assert (stem(removed) in forms) == any(stem(other) == stem(removed) for other in kept)
    assert sorted(forms) == sorted(kept)
    for word in kept:
        word_stem = stem(word)
        assert forms.words_with_stem(word_stem) == [other for other in kept if stem(other) == word_stem]
        root = find_root(word_stem)
        assert set(forms.stems_with_root(root)) == {stem(other) for other in kept if find_root(stem(other)) == root}
