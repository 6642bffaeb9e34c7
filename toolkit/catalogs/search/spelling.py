"""
The known words that are nearest to a misspelt word.

One edit is a letter that is wrong, missing or too many, or two letters that are swapped. Two words that differ by one
edit become equal when each loses at most one letter. So every known word is stored under each text that remains after
one letter is removed, and a misspelt word is looked up in the same way. The number of lookups does not depend on the
number of known words. Two edits are allowed in a longer word whose first letter is right. For these, the known longer
words with the same first letter are compared one by one.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

__all__ = ["Spelling", "distance"]

MIN_LETTERS, MAX_LETTERS = 4, 24
"""
The fewest and the most letters of a word that can be repaired. Too many shorter words differ by one letter only, and
longer runs are not words.
"""

MIN_LETTERS_FOR_TWO_EDITS = 6
"""The length from which on two edits are allowed."""

MAX_SHARING_WORDS = 64
"""
The most words that share one remaining text. With more, the text says nothing, and comparing every word would take too
long. Also the most words that are compared as two edits away.
"""

MAX_COMPARED = 300
"""The most words that are compared as one edit away. Only a hostile catalog has more."""

MAX_SCANNED = 3_000
"""The most longer words with the same first letter whose letters are compared."""


class Spelling:
    """The known words, with a search for those that a misspelt word may stand for."""

    def __init__(self, words: Iterable[str]) -> None:
        # Most of these texts have a single word, which is stored without a set.
        self._words_by_rest: dict[str, str | set[str]] = {}
        self._long_words: dict[str, dict[str, int]] = {}
        for word in words:
            self.add(word)

    def add(self, word: str) -> None:
        """Add *word* to the known words."""
        if not _is_repairable(word):
            return
        for rest in _rests(word):
            words = self._words_by_rest.get(rest)
            if words is None:
                self._words_by_rest[rest] = word
            elif isinstance(words, str):
                self._words_by_rest[rest] = {words, word}
            else:
                words.add(word)
        if len(word) >= MIN_LETTERS_FOR_TWO_EDITS:
            self._long_words.setdefault(word[:1], {})[word] = _letters(word)

    def remove(self, word: str) -> None:
        """Remove *word* from the known words."""
        if not _is_repairable(word):
            return
        for rest in _rests(word):
            words = self._words_by_rest[rest]
            if not isinstance(words, str):
                words.discard(word)
            if not words or words == word:
                del self._words_by_rest[rest]
        if len(word) >= MIN_LETTERS_FOR_TWO_EDITS:
            del self._long_words[word[:1]][word]
            if not self._long_words[word[:1]]:
                del self._long_words[word[:1]]

    def nearest(self, word: str) -> tuple[int, list[str]]:
        """
        Return the number of edits between *word* and the nearest known words, and these words in no order.

        The list is empty if all known words are too far away.
        """
        if not _is_repairable(word):
            return 0, []
        similar = self._similar(word)
        if word in similar:
            return 0, [word]
        compared = similar if len(similar) <= MAX_COMPARED else sorted(similar)[:MAX_COMPARED]
        near = [other for other in compared if distance(word, other, 1) == 1]
        if near or len(word) < MIN_LETTERS_FOR_TWO_EDITS:
            return 1, near
        return 2, [other for other in self._words_two_edits_away(word) if distance(word, other, 2) == 2]

    def _similar(self, word: str) -> set[str]:
        """Return the words that may be one edit away, and *word* itself if it is known."""
        similar_words: set[str] = set()
        for rest in _rests(word):
            words = self._words_by_rest.get(rest, ())
            if isinstance(words, str):
                similar_words.add(words)
            elif len(words) <= MAX_SHARING_WORDS:
                similar_words.update(words)
        return similar_words

    def _words_two_edits_away(self, word: str) -> list[str]:
        """Return the long words that may be two edits away."""
        letters = _letters(word)
        long_words = islice(self._long_words.get(word[:1], {}).items(), MAX_SCANNED)
        # One edit changes at most two of a word's letters.
        return sorted(other for other, other_letters in long_words if (letters ^ other_letters).bit_count() <= 4)[
            :MAX_SHARING_WORDS
        ]


def distance(one: str, other: str, max_edits: int) -> int:
    """
    Return how many letters are wrong, missing, too many or swapped with a neighbour.

    Return *max_edits* + 1 if there are more than *max_edits* such edits.
    """
    if abs(len(one) - len(other)) > max_edits:
        return max_edits + 1
    if one == other:
        return 0
    if not max_edits:
        return 1
    start, shorter = 0, min(len(one), len(other))
    while start < shorter and one[start] == other[start]:
        start += 1
    # The first letter that differs is wrong, too many, missing or swapped. For so few edits, trying these cases is
    # quicker than a full alignment.
    one, other = one[start:], other[start:]
    rests = [(one[1:], other[1:]), (one[1:], other), (one, other[1:])]
    if one[:2] == other[1::-1]:
        rests.append((one[2:], other[2:]))
    return 1 + min(distance(*rest, max_edits - 1) for rest in rests)


def _is_repairable(word: str) -> bool:
    return MIN_LETTERS <= len(word) <= MAX_LETTERS and word.isalpha()


def _letters(word: str) -> int:
    """Return the letters of *word* as bits, one for each time that a letter occurs. Letters may share a bit."""
    bits = 0
    for letter in word:
        bit = 1 << (ord(letter) & 31)
        while bits & bit:
            bit <<= 32
        bits |= bit
    return bits


def _rests(word: str) -> set[str]:
    """Return *word*, and each text that remains when one of its letters is removed."""
    rests = {word[:at] + word[at + 1 :] for at in range(len(word))}
    rests.add(word)
    return rests
