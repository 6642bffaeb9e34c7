"""
A query, as it is looked up: which words, and how much each of them counts.

The fewer tools have a word, the more it counts. A word that no tool has counts
in what was asked for, and is looked for as the words it may stand for, which
count less. Neighbouring words also count as a pair, and as one word if there is
such a word: "web hook" finds `webhook`. A path or an address says where, not what,
so a word that stands only there counts less.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Sized
from functools import lru_cache
from heapq import nlargest
from itertools import islice
from math import log
from operator import itemgetter
from typing import NamedTuple

from .vocabulary import Vocabulary
from .words import read, runs, stem

__all__ = ["Asked", "ask"]

PAIR = 0.3
"""What a pair counts, beside a word that is as rare."""

EXACT = 0.33
"""What it counts, beside the word, that a tool has it in the very form in which it was written."""

WHERE = 0.7
"""What a word counts that stands only in a path or an address."""

SHORT = 4
"""Words of a query in which also words that are known are completed: "repo" may mean `repository`."""

ABBREVIATED = 6
"""Letters of a known word that is completed; a longer one means itself."""

MAX_CHARS = 8_000
"""Characters of a query that are read: more than a thousand words."""

MAX_RUNS = MAX_CHARS // 2
"""Runs of letters that are read: one character may stand for a whole sentence."""

MAX_TERMS = 64
"""Words and pairs that are looked up, those that count most."""

MAX_UNKNOWN = 16
"""Unknown words that others are looked up for."""


class Asked(NamedTuple):
    """
    What a query asks for.

    Attributes:
        terms: What to look up and how much it counts, what the fewest tools have first.
        exact: The words as they were spelt, under which term each is looked up, and how much the very form counts,
            where some tools have a word in this form and others in another.
        shown: The words among the terms as they were written, in that order; "wether -> weather" if another is meant.
        joints: Neighbouring words that are also looked up as one, where others have the second alone; as they were
            written.
        full: What a tool would have that is everything that was asked for.
    """

    terms: list[tuple[str, float]]
    exact: list[tuple[str, str, float]]
    shown: dict[str, str]
    joints: dict[str, str]
    full: float


def ask(query: str, tools_with: Mapping[str, Sized], vocabulary: Vocabulary, tools: int) -> Asked:
    """
    Read *query*.

    Args:
        tools_with: The tools that have each stem, and each pair.
        tools: How many tools there are.
    """
    factors: dict[str, float] = {}
    spelt: dict[str, str] = {}
    shown: dict[str, str] = {}
    joints: dict[str, str] = {}
    unknown: set[str] = set()
    last_run = last_text = last_stem = ""
    query = query[:MAX_CHARS]
    found = runs(query)[:MAX_RUNS]
    where = _only_in_paths(query, found) if "/" in query else ()
    for run in found:
        reading = read(run)
        if not reading:
            continue
        texts, stems, whole = reading
        if whole and whole in tools_with and whole not in factors:
            factors[whole] = 1.0
            shown[whole] = run
        for text, each in zip(texts, stems):  # noqa: B905 -- a proper name has one more text
            instead: Sequence[tuple[str, float]] = ()
            if each in tools_with:
                spelt[text] = each
                factor = WHERE if run in where else 1.0
                if factors.get(each, 0.0) < factor:
                    factors[each] = factor
                    shown[each] = run
                if len(found) <= SHORT and len(text) <= ABBREVIATED:
                    instead = vocabulary.completions(text)
            elif each not in unknown and not each.isdigit():
                unknown.add(each)
                if len(unknown) <= MAX_UNKNOWN:
                    instead = vocabulary.instead_of(text)
            for other, factor in instead:
                key = stem(other)
                if factors.get(key, 0.0) < factor:
                    factors[key] = factor
                    shown[key] = f"{run} -> {other}"
            both, joined = f"{last_stem} {each}", last_text + each  # no stem has a space in it
            if both in tools_with:
                factors[both] = PAIR
            if joined in tools_with and joined != each:
                factors[joined] = 1.0
                written = run if run is last_run else f"{last_run} {run}"
                (joints if each in tools_with else shown).setdefault(joined, written)
            last_run, last_text, last_stem = run, text, each
    weights = {key: factor * _rarity(len(tools_with[key]), tools) for key, factor in factors.items()}
    full = sum(weights.values()) + len(unknown) * _rarity(0, tools)
    exact: list[tuple[str, str, float]] = []
    for text, key in islice(spelt.items(), MAX_TERMS):
        weight = EXACT * weights[key]
        full += weight
        using = len(vocabulary.users(text))
        if using == len(tools_with[key]):
            weights[key] += weight  # nobody has the word in another form
        elif using:
            exact.append((text, key, weight))
    terms = list(weights.items()) if len(weights) <= MAX_TERMS else nlargest(MAX_TERMS, weights.items(), itemgetter(1))
    terms.sort(key=lambda term: len(tools_with[term[0]]))
    return Asked(terms, exact, shown, joints, full or 1.0)


# A scheme is tried where a word begins, and not at each letter of a long one.
_PATH = re.compile(r"(?<!\w)\w+://\S+|(?<![\w/])[~.]{0,2}/\w[\w./-]*")


def _only_in_paths(query: str, found: Iterable[str]) -> set[str]:
    return set(found).difference(runs(_PATH.sub(" ", query)))


@lru_cache(maxsize=4096)
def _rarity(having: int, tools: int) -> float:
    """How much a word counts that so many of the tools have."""
    return log(1 + (tools - having + 0.5) / (having + 0.5))
