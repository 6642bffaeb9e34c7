"""
The words that the tools use, and the words that an unknown word may stand for.

Words are added and removed together with the tools that have them. What a query needs to know about them is found out
by the first query that needs it: the stems of the words that begin as one of its words does, and the tables for words
that are unfinished or misspelt. From then on it follows the tools.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import chain

from .spelling import Spelling
from .words import find_root, stem

__all__ = ["Vocabulary", "WordForms"]

MIN_COMPLETED_LETTERS = 3
"""The fewest letters of a word that is completed. Too many words begin with fewer letters."""

MAX_ALTERNATIVES = 3
"""The most words that one unknown word may stand for."""

MAX_SCANNED = 256
"""The most words with the same beginning that are examined."""

_ENDINGS = ("ing", "es", "ed", "s")


class WordForms:
    """
    Words by their stems, and stems by their roots.

    A word, its stem and its root begin alike. So words are stemmed only when a stem that begins as they do is looked
    up: a large catalog has tens of thousands of words, and a query few.
    """

    def __init__(self) -> None:
        # A text is no work for the garbage collector. Few words have one stem, and few stems one root.
        self._words_by_stem: dict[str, str] = {}
        self._stems_by_root: dict[str, str] = {}
        self._unread: defaultdict[str, list[str]] = defaultdict(list)

    def __contains__(self, word_stem: str) -> bool:
        """Return whether a word has this stem."""
        if (start := _start_of(word_stem)) in self._unread:
            self._read(start)
        return word_stem in self._words_by_stem

    def __iter__(self) -> Iterator[str]:
        """Yield all words."""
        read = chain.from_iterable(map(str.split, self._words_by_stem.values()))
        return iter(dict.fromkeys(chain(read, *self._unread.values())))

    def add(self, word: str) -> None:
        """Add *word*, which is new."""
        self._unread[_start_of(word)].append(word)

    def remove(self, word: str) -> None:
        """Remove *word*."""
        self._read(_start_of(word))
        _discard(self._words_by_stem, word_stem := stem(word), word)
        if word_stem not in self._words_by_stem:
            _discard(self._stems_by_root, find_root(word_stem), word_stem)

    def words_with_stem(self, word_stem: str) -> list[str]:
        """Return the words that have this stem."""
        self._read(_start_of(word_stem))
        return self._words_by_stem.get(word_stem, "").split()

    def stems_with_root(self, root: str) -> list[str]:
        """Return the stems that have this root."""
        self._read(_start_of(root))
        return self._stems_by_root.get(root, "").split()

    def _read(self, start: str) -> None:
        if start not in self._unread:
            return
        # They are forgotten last: a search may be interrupted, or its process forked, between any two of them.
        for word in self._unread[start]:
            word_stem = stem(word)
            if word_stem not in self._words_by_stem:
                _append(self._stems_by_root, find_root(word_stem), word_stem)
            _append(self._words_by_stem, word_stem, word)
        del self._unread[start]


def _start_of(form: str) -> str:
    return form[:2].replace("y", "i")  # as at the end of a stem


class Vocabulary:
    """
    The words of the tools as they are spelt.

    Args:
        count_tools: A function that returns how many tools have a word.

    Attributes:
        forms: The words by their stems.
    """

    def __init__(self, count_tools: Callable[[str], int]) -> None:
        self._count_tools = count_tools
        self.forms = WordForms()
        self._sorted_words: list[str] | None = None
        self._spelling: Spelling | None = None

    def add(self, word: str) -> None:
        """Add *word*, which no tool had before."""
        self.forms.add(word)
        if self._sorted_words is not None:
            insort(self._sorted_words, word)
        if self._spelling is not None:
            self._spelling.add(word)

    def remove(self, word: str) -> None:
        """Remove *word*, which no tool has any more."""
        self.forms.remove(word)
        if self._sorted_words is not None:
            del self._sorted_words[bisect_left(self._sorted_words, word)]
        if self._spelling is not None:
            self._spelling.remove(word)

    def count_tools(self, word: str) -> int:
        """Return how many tools have *word* in exactly this form."""
        return self._count_tools(word)

    def find_relatives(self, word_stem: str) -> list[str]:
        """
        Return the most common other words of the family of words with this stem: `register` for `registration`.

        The other forms of the same word are left out: they have one stem.
        """
        family = self.forms.stems_with_root(find_root(word_stem))
        if family in ([], [word_stem]):
            return []
        others = [other for other in family if other != word_stem]
        return self._most_common([word for other in others for word in self.forms.words_with_stem(other)])

    def find_completions(self, text: str) -> list[tuple[str, float]]:
        """
        Return the most common words that begin with *text*, each with its weight from 0 to 1.

        Only words that more tools have than *text* are returned.
        """
        if len(text) < MIN_COMPLETED_LETTERS and text.isascii():
            return []
        words = self._sorted_words
        if words is None:
            self._sorted_words = words = sorted(self.forms)
        start = bisect_right(words, text)
        end = bisect_left(words, text + chr(sys.maxunicode), start, min(start + MAX_SCANNED, len(words)))
        if start == end:
            return []
        least = self.count_tools(text)
        longer = [word for word in words[start:end] if self.count_tools(word) > least]
        return [(word, _likeness(len(word) - len(text), word)) for word in self._most_common(longer)]

    def find_repairs(self, text: str) -> list[tuple[str, float]]:
        """Return the most common words that *text* may be a slip of, each with its weight from 0 to 1."""
        if self._spelling is None:
            self._spelling = Spelling(self.forms)
        edits, near = self._spelling.nearest(text)
        for ending in _ENDINGS if not near else ():  # a slip in `emails`, where the tools only have `email`
            if not near and text.endswith(ending):
                edits, near = self._spelling.nearest(text.removesuffix(ending))
        return [(word, _likeness(edits, text)) for word in self._most_common(near)]

    def _most_common(self, words: list[str]) -> list[str]:
        return sorted(words, key=lambda word: (-self.count_tools(word), word))[:MAX_ALTERNATIVES]


def _append(table: dict[str, str], key: str, word: str) -> None:
    """Add *word* to the words of *key*, unless it is one of them."""
    words = table.get(key)
    if words is None:
        table[key] = word
    elif word not in words.split():
        table[key] = f"{words} {word}"


def _discard(table: dict[str, str], key: str, word: str) -> None:
    words = [other for other in table.pop(key).split() if other != word]
    if words:
        table[key] = " ".join(words)


def _likeness(edits: int, word: str) -> float:
    """
    Return the correct part of *word*, squared.

    One wrong letter of ten is a slip. One wrong letter of four may well be another word.
    """
    return (1 - edits / len(word)) ** 2
