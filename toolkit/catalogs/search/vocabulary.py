"""
The words that the tools use, and which of them an unknown word may stand for.

Words come and go with the tools that use them. What a lookup needs is made with
the first lookup, and kept up to date from then on.
"""

from __future__ import annotations

import sys
from bisect import bisect_left, bisect_right, insort
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Set as AbstractSet

from .spelling import Spelling

__all__ = ["Vocabulary"]

COMPLETED = 3
"""Letters that a word needs before it is completed; fewer begin too many words."""

MOST = 3
"""Words that one unknown word may stand for."""

SCANNED = 256
"""Words with the same beginning that are looked at."""

_NOBODY: dict[str, None] = {}


class Vocabulary:
    """Words as they are spelt, and the tools that use each."""

    def __init__(self) -> None:
        self._users: defaultdict[str, dict[str, None]] = defaultdict(dict)
        self._beginning: dict[str, list[str]] | None = None
        self._spelling: Spelling | None = None

    def add(self, tool: str, texts: Iterable[str]) -> None:
        """Let *tool* be one that uses these words."""
        users, beginning, spelling = self._users, self._beginning, self._spelling
        for text in texts:
            there = users[text]
            if not there:
                if beginning is not None:
                    insort(beginning.setdefault(_beginning(text), []), text)
                if spelling is not None:
                    spelling.learn(text)
            there[tool] = None

    def remove(self, tool: str, texts: Iterable[str]) -> None:
        """Let it be one no longer."""
        for text in texts:
            users = self._users[text]
            del users[tool]
            if not users:
                del self._users[text]
                if self._beginning is not None:
                    alike = self._beginning[_beginning(text)]
                    del alike[bisect_left(alike, text)]
                    if not alike:
                        del self._beginning[_beginning(text)]
                if self._spelling is not None:
                    self._spelling.forget(text)

    def users(self, text: str) -> AbstractSet[str]:
        """The tools that use the word in this very form."""
        return self._users.get(text, _NOBODY).keys()

    def instead_of(self, text: str) -> list[tuple[str, float]]:
        """The words that *text*, which no tool uses, may stand for, and what each counts, 0 to 1."""
        return self.completions(text) or self._repairs(text)

    def completions(self, text: str) -> list[tuple[str, float]]:
        """The commonest words that begin with *text*, if more tools use them than *text*, and what each counts."""
        if len(text) < COMPLETED and text.isascii():
            return []
        if self._beginning is None:
            beginning: dict[str, list[str]] = {}
            for word in sorted(self._users):
                beginning.setdefault(_beginning(word), []).append(word)
            self._beginning = beginning  # whole, because a forked child may see what another thread has come to
        alike = self._beginning.get(_beginning(text), [])
        start = bisect_right(alike, text)
        end = bisect_left(alike, text + chr(sys.maxunicode), start, min(start + SCANNED, len(alike)))
        least = len(self.users(text))
        longer = [word for word in alike[start:end] if len(self._users[word]) > least]
        return [(word, _likeness(len(word) - len(text), word)) for word in self._commonest(longer)]

    def _repairs(self, text: str) -> list[tuple[str, float]]:
        if self._spelling is None:
            self._spelling = Spelling(self._users)
        edits, near = self._spelling.nearest(text)
        return [(word, _likeness(edits, text)) for word in self._commonest(near)]

    def _commonest(self, words: list[str]) -> list[str]:
        return sorted(words, key=lambda word: (-len(self._users[word]), word))[:MOST]


def _beginning(word: str) -> str:
    """What *word* shares with all that it may be completed to."""
    beginning = word[:COMPLETED]
    return beginning if beginning.isascii() else word[0]


def _likeness(edits: int, word: str) -> float:
    """How much of *word* is right, squared: one letter of ten is a slip, one of four may well be another word."""
    return (1 - edits / len(word)) ** 2
