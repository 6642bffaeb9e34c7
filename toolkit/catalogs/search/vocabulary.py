"""
The words that the tools use, and the words that an unknown word may stand for.

Words are added and removed together with the tools that use them. The first lookup after a change builds the table that
it needs.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterable

from .spelling import Spelling
from .words import find_root, stem

__all__ = ["Vocabulary"]

MIN_COMPLETED_LETTERS = 3
"""The fewest letters of a word that is completed. Too many words begin with fewer letters."""

MAX_ALTERNATIVES = 3
"""The most words that one unknown word may stand for."""

MAX_SCANNED = 256
"""The most words with the same beginning that are examined."""

_ENDINGS = ("ing", "es", "ed", "s")


class Vocabulary:
    """The words as they are spelt, and how many tools use each of them."""

    def __init__(self) -> None:
        self._tool_counts: dict[str, int] = {}
        self._drop_tables()

    def _drop_tables(self) -> None:
        self._words_by_beginning: dict[str, list[str]] | None = None
        self._spelling: Spelling | None = None
        self._words_by_root: dict[str, tuple[str, ...]] | None = None

    def add(self, texts: Iterable[str]) -> None:
        """Record that one more tool uses these words."""
        counts, known_count = self._tool_counts, len(self._tool_counts)
        for text in texts:
            counts[text] = counts.get(text, 0) + 1
        if len(counts) != known_count:
            self._drop_tables()

    def remove(self, texts: Iterable[str]) -> None:
        """Record that one tool does not use these words any more."""
        for text in texts:
            self._tool_counts[text] -= 1
            if not self._tool_counts[text]:
                del self._tool_counts[text]
                self._drop_tables()

    def count_tools(self, text: str) -> int:
        """Return how many tools use the word in exactly this form."""
        return self._tool_counts.get(text, 0)

    def find_relatives(self, text: str) -> list[str]:
        """
        Return the most common other words of the family of *text*: `register` for `registration`.

        The other forms of the same word are left out: they have one stem.
        """
        if self._words_by_root is None:
            families: dict[str, tuple[str, ...]] = {}
            for word in self._tool_counts:
                root = find_root(word)
                families[root] = (*families.get(root, ()), word)
            self._words_by_root = families
        own_stem = stem(text)
        family = self._words_by_root.get(find_root(text), ())
        return self._most_common([word for word in family if stem(word) != own_stem]) if family else []

    def find_completions(self, text: str) -> list[tuple[str, float]]:
        """
        Return the most common words that begin with *text*, each with its weight from 0 to 1.

        Only words that more tools use than *text* are returned.
        """
        if len(text) < MIN_COMPLETED_LETTERS and text.isascii():
            return []
        if self._words_by_beginning is None:
            beginning: dict[str, list[str]] = {}
            for word in sorted(self._tool_counts):
                beginning.setdefault(_beginning(word), []).append(word)
            # The table is assigned only when it is complete, because a forked child may see the state that another
            # thread has reached.
            self._words_by_beginning = beginning
        words = self._words_by_beginning.get(_beginning(text), [])
        start = bisect_right(words, text)
        end = bisect_left(words, text + chr(sys.maxunicode), start, min(start + MAX_SCANNED, len(words)))
        least = self.count_tools(text)
        longer = [word for word in words[start:end] if self._tool_counts[word] > least]
        return [(word, _likeness(len(word) - len(text), word)) for word in self._most_common(longer)]

    def find_repairs(self, text: str) -> list[tuple[str, float]]:
        """Return the most common words that *text* may be a slip of, each with its weight from 0 to 1."""
        if self._spelling is None:
            self._spelling = Spelling(self._tool_counts)
        edits, near = self._spelling.nearest(text)
        for ending in _ENDINGS if not near else ():  # a slip in `emails`, where the tools only have `email`
            if not near and text.endswith(ending):
                edits, near = self._spelling.nearest(text.removesuffix(ending))
        return [(word, _likeness(edits, text)) for word in self._most_common(near)]

    def _most_common(self, words: list[str]) -> list[str]:
        return sorted(words, key=lambda word: (-self._tool_counts[word], word))[:MAX_ALTERNATIVES]


def _beginning(word: str) -> str:
    """Return the beginning that *word* shares with every word that it may be completed to."""
    beginning = word[:MIN_COMPLETED_LETTERS]
    return beginning if beginning.isascii() else word[0]


def _likeness(edits: int, word: str) -> float:
    """
    Return the correct part of *word*, squared.

    One wrong letter of ten is a slip. One wrong letter of four may well be another word.
    """
    return (1 - edits / len(word)) ** 2
