"""
The words that mean nearly the same as a word: a user says "bill", and the tool says "invoice".

`synonyms.txt` has them in groups. They are general English, and not taken from any catalog.
"""

from __future__ import annotations

from functools import cache
from itertools import permutations
from pathlib import Path

from .words import stem

__all__ = ["find_synonyms"]


def find_synonyms(word_stem: str) -> dict[str, str]:
    """Return the words that mean nearly the same as the word with this stem, by their own stems."""
    return _read_groups().get(word_stem, {})


@cache
def _read_groups() -> dict[str, dict[str, str]]:
    synonyms: dict[str, dict[str, str]] = {}
    for line in Path(__file__).with_suffix(".txt").read_text(encoding="utf-8").splitlines():
        words = () if line.startswith("#") else line.split()
        for word, other in permutations(words, 2):
            synonyms.setdefault(stem(word), {})[stem(other)] = other
    return synonyms
