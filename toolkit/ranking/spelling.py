"""
The known words nearest to a misspelt one.

Two words that differ by one edit (a letter wrong, missing or too many, or two
swapped) become equal when each loses at most one letter; with two edits, two
letters. So every known word is kept under what is left of it, and a misspelt
one is looked up the same way: some dozen lookups, however many words there are.
Only the beginning of a long word is thinned out, which bounds their number.
"""

from __future__ import annotations

from collections.abc import Iterable
from itertools import combinations

__all__ = ["Spelling", "distance"]

SHORTEST, LONGEST = 4, 24
"""Letters of a word that can be repaired: too many shorter ones are one letter apart, and longer ones are no words."""

LONG = 8
"""From this length on, two edits are forgiven."""

BEGINNING = 7
"""Letters of a word that are thinned out; at least two more than edits are forgiven."""

TOO_COMMON = 64
"""Words under one rest; if there are more, it says nothing, and looking at each would take long."""


class Spelling:
    """Known words, and which of them a misspelt one was meant to be."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        # Under most rests there is a single word, which needs no set around it.
        self._under: dict[str, str | set[str]] = {}
        self._letters: dict[str, int] = {}
        for word in known:
            self.learn(word)

    def learn(self, word: str) -> None:
        """Know *word*, which was not known, from now on."""
        if not _is_repairable(word):
            return
        self._letters[word] = _letters(word)
        under = self._under
        for rest in _rests(word):
            there = under.get(rest)
            if there is None:
                under[rest] = word
            elif isinstance(there, str):
                under[rest] = {there, word}
            else:
                there.add(word)

    def forget(self, word: str) -> None:
        """Know *word*, which was known, no longer."""
        if not _is_repairable(word):
            return
        del self._letters[word]
        under = self._under
        for rest in _rests(word):
            there = under[rest]
            if not isinstance(there, str):
                there.discard(word)
            if there == word or not there:
                del under[rest]

    def nearest(self, word: str) -> tuple[int, list[str]]:
        """How many edits *word* is from the nearest known words, and these, in no order; none if all are too far."""
        if not _is_repairable(word):
            return 0, []
        letters, known = _letters(word), self._letters
        fewest, found = _edits(word), list[str]()
        for other in self._similar(word):
            # An edit changes at most two of the letters that a word has.
            if (letters ^ known[other]).bit_count() > 2 * fewest:
                continue
            most = min(fewest, _edits(other))
            edits = distance(word, other, most)
            if edits <= most:
                if edits < fewest:
                    fewest, found = edits, []
                found.append(other)
        return fewest, found

    def _similar(self, word: str) -> set[str]:
        found: set[str] = set()
        for rest in _rests(word):
            there = self._under.get(rest, ())
            if isinstance(there, str):
                found.add(there)
            elif len(there) <= TOO_COMMON:
                found.update(there)
        return found


def distance(one: str, other: str, most: int) -> int:
    """How many letters are wrong, missing, too many or swapped with a neighbour; *most* + 1 if more than *most*."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    start, shorter = 0, min(len(one), len(other))
    while start < shorter and one[start] == other[start]:
        start += 1
    end = 0
    while end < shorter - start and one[-1 - end] == other[-1 - end]:
        end += 1
    return min(_aligned(one[start : len(one) - end], other[start : len(other) - end]), most + 1)


def _aligned(one: str, other: str) -> int:
    """The optimal string alignment distance, in full."""
    before: list[int] = []
    above = list(range(len(other) + 1))
    for row, letter in enumerate(one, 1):
        here = [row]
        for column, against in enumerate(other, 1):
            edits = min(above[column] + 1, here[-1] + 1, above[column - 1] + (letter != against))
            if row > 1 and column > 1 and letter == other[column - 2] and one[row - 2] == against:
                edits = min(edits, before[column - 2] + 1)
            here.append(edits)
        before, above = above, here
    return above[-1]


def _is_repairable(word: str) -> bool:
    return SHORTEST <= len(word) <= LONGEST and word.isalpha()


def _edits(word: str) -> int:
    """How many edits are forgiven."""
    return 2 if len(word) >= LONG else 1


def _letters(word: str) -> int:
    """Which letters *word* has, a bit for each; letters beyond the first 26 share one."""
    found = 0
    for letter in word:
        found |= 1 << (ord(letter) & 31)
    return found


def _rests(word: str) -> set[str]:
    """What is left of the beginning of *word* without as many letters as it may have edits."""
    beginning = word[:BEGINNING]
    shortest = len(beginning) - _edits(word)
    return {"".join(rest) for size in range(shortest, len(beginning) + 1) for rest in combinations(beginning, size)}
