"""
The known words nearest to a misspelt one.

Two words that differ by one edit (a letter wrong, missing or too many, or two
swapped) become equal when each loses at most one letter. So every known word is
kept under what is left of it, and a misspelt one is looked up the same way: some
lookups, however many words there are. Two edits are forgiven a long word that
begins with the right two letters: those that begin so are gone through.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

__all__ = ["Spelling", "distance"]

SHORTEST, LONGEST = 4, 24
"""Letters of a word that can be repaired: too many shorter ones are one letter apart, and longer ones are no words."""

LONG = 8
"""From this length on, two edits are forgiven."""

TOO_COMMON = 64
"""Words under one rest; if there are more, it says nothing, and comparing each would take long."""

COMPARED = 300
"""Words that may be one edit away and are compared; only a hostile catalog has more."""

SCANNED = 500
"""Long words with the same first two letters whose letters are looked at."""


class Spelling:
    """Known words, and which of them a misspelt one was meant to be."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        # Under most rests there is a single word, which needs no set around it.
        self._under: dict[str, str | set[str]] = {}
        self._long: dict[str, dict[str, int]] = {}
        for word in known:
            self.learn(word)

    def learn(self, word: str) -> None:
        """Know *word*, which was not known, from now on."""
        if not _is_repairable(word):
            return
        under = self._under
        for rest in _rests(word):
            there = under.get(rest)
            if there is None:
                under[rest] = word
            elif isinstance(there, str):
                under[rest] = {there, word}
            else:
                there.add(word)
        if len(word) >= LONG:
            self._long.setdefault(word[:2], {})[word] = _letters(word)

    def forget(self, word: str) -> None:
        """Know *word*, which was known, no longer."""
        if not _is_repairable(word):
            return
        under = self._under
        for rest in _rests(word):
            there = under[rest]
            if not isinstance(there, str):
                there.discard(word)
            if there == word or not there:
                del under[rest]
        if len(word) >= LONG:
            alike = self._long[word[:2]]
            del alike[word]
            if not alike:
                del self._long[word[:2]]

    def nearest(self, word: str) -> tuple[int, list[str]]:
        """How many edits *word* is from the nearest known words, and these, in no order; none if all are too far."""
        if not _is_repairable(word):
            return 0, []
        similar = self._similar(word)
        if word in similar:
            return 0, [word]
        compared = similar if len(similar) <= COMPARED else sorted(similar)[:COMPARED]
        near = [other for other in compared if distance(word, other, 1) == 1]
        if near or len(word) < LONG:
            return 1, near
        return 2, [other for other in self._alike(word) if distance(word, other, 2) == 2]

    def _similar(self, word: str) -> set[str]:
        """The words that may be one edit away, and *word* itself if it is known."""
        found: set[str] = set()
        for rest in _rests(word):
            there = self._under.get(rest, ())
            if isinstance(there, str):
                found.add(there)
            elif len(there) <= TOO_COMMON:
                found.update(there)
        return found

    def _alike(self, word: str) -> list[str]:
        """The long words that may be two edits away."""
        letters = _letters(word)
        alike = islice(self._long.get(word[:2], {}).items(), SCANNED)
        # An edit changes at most two of the letters that a word has.
        return sorted(other for other, its in alike if (letters ^ its).bit_count() <= 4)[:TOO_COMMON]


def distance(one: str, other: str, most: int) -> int:
    """How many letters are wrong, missing, too many or swapped with a neighbour; *most* + 1 if more than *most*."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    if one == other:
        return 0
    if not most:
        return 1
    start, shorter = 0, min(len(one), len(other))
    while start < shorter and one[start] == other[start]:
        start += 1
    # The first letter that differs is wrong, too many, missing or swapped. So few edits are quicker tried than aligned.
    one, other = one[start:], other[start:]
    rests = [(one[1:], other[1:]), (one[1:], other), (one, other[1:])]
    if one[:2] == other[1::-1]:
        rests.append((one[2:], other[2:]))
    return 1 + min(distance(*rest, most - 1) for rest in rests)


def _is_repairable(word: str) -> bool:
    return SHORTEST <= len(word) <= LONGEST and word.isalpha()


def _letters(word: str) -> int:
    """Which letters *word* has, a bit for each and each time it comes; letters beyond the first 26 share some."""
    found = 0
    for letter in word:
        bit = 1 << (ord(letter) & 31)
        while found & bit:
            bit <<= 32
        found |= bit
    return found


def _rests(word: str) -> set[str]:
    """*word*, and what is left of it without one of its letters."""
    rests = {word[:at] + word[at + 1 :] for at in range(len(word))}
    rests.add(word)
    return rests
