"""
A query in the form in which it is looked up: its words, and the weight of each.

A word has more weight if fewer tools have it. The other words of its family, as `register` beside `registration`, are
looked up too, with less weight, and so are words that mean nearly the same, as `invoice` beside `bill`. A word that no
tool has still counts in the full score. The index looks for the words that it may stand for instead, and these have
less weight. Neighbouring words also count as a pair. They count as one word if a tool has such a word: "web hook" finds
`webhook`. A path or an address says where something is and not what it is, so a word that occurs only in a path or an
address has less weight.
"""

from __future__ import annotations

import re
from collections.abc import Container, Sequence
from functools import lru_cache
from heapq import nlargest
from itertools import islice
from math import log
from operator import itemgetter
from typing import NamedTuple

from .postings import Postings, Use
from .synonyms import find_synonyms
from .words import drop_encoded_data, read_run, split_runs, stem

__all__ = ["ParsedQuery", "Synonym", "parse_query"]

PAIR_WEIGHT = 0.3
"""The weight of a pair of words, relative to the sum of their weights. It is bounded, as that of a word is."""

EXACT_FORM_WEIGHT = 0.33
"""The extra weight, relative to the word's weight, if a tool has the word in exactly the form that the query has."""

RELATIVE_WEIGHT = 0.7
"""The weight of another word of the same family, relative to the word itself. A rarer relative has no more weight."""

SYNONYM_WEIGHT = 0.5
"""The weight of a word that means nearly the same, relative to the word itself."""

MAX_PLACES_OF_SYNONYM = 100
"""The most places of a synonym that counts. It says little about more tools, and takes time."""

MAX_RUNS_WITH_SYNONYMS = 25
"""The most words of a query whose synonyms count. A longer one says enough, and its words often mean something else."""

GROUP_FACTOR = 1.6
"""The factor for a word that names a group of tools, such as a service: it says where the tool is to be."""

PATH_FACTOR = 0.7
"""The factor for a word that occurs only in a path or an address."""

SHORT_QUERY_WORDS = 4
"""In a query of at most this many words, known words are completed as well: "repo" may mean `repository`."""

MAX_ABBREVIATION_LETTERS = 6
"""The most letters of a known word that is completed. A longer word means itself."""

MAX_CHARS_AT_START, MAX_CHARS_AT_END = 6_000, 2_000
"""
The characters of a longer query that are read. They hold more than a thousand words. What is asked may stand before or
after a long text that was pasted.
"""

MAX_RUNS = (MAX_CHARS_AT_START + MAX_CHARS_AT_END) // 2
"""The most runs of letters that are read. Normalisation can turn one character into a whole sentence."""

MAX_TERMS = 64
"""The most words that are looked up, and the most pairs: those with the greatest weights."""

MAX_UNKNOWN = 16
"""The most unknown words for which other words are looked up."""

MIN_SHARE_OF_FULL, MAX_MEASURED_WORDS = 0.02, 16
"""A tool with a smaller share of the full score, or of the score of so many rare words, is not a hit."""

MAX_COUNTED_UNKNOWN = 8
"""The most unknown words that count in the full score. So a long text that was pasted hides no known word."""


class Synonym(NamedTuple):
    """A word that tools have in place of a word of the query: its use, its weight, and the text to show for it."""

    use: Use
    weight: float
    text: str


class ParsedQuery(NamedTuple):
    """
    The parsed form of a query.

    Attributes:
        terms: The uses of the stems to look up, each with its weight. The stem that the fewest tools have is first.
        synonyms: For a word of the query, the tools that have it, and the words that mean nearly the same, the
            weightiest first. For a tool that does not have the word itself, the first that it has counts.
        pairs: The neighbouring stems, with a space around each, and the extra weight for them as neighbours.
        exact: For words as they were spelt: the tools that have this form, the weights of the stem, and the extra
            weight for exactly this form. Only words that some tools have in this form and others in another form are
            here.
        tools_by_text: The text of the query for each term that is a word, in the order of the query, and the tools that
            have the term. The text is "wether -> weather" if another word is meant.
        tools_by_joined_text: The same for two neighbouring words that are also looked up as one word, if a tool has the
            second of them as a word of its own.
        full_score: The score of a tool that has everything in the query.
        least_share: A tool with a smaller share of the full score is not a hit.
    """

    terms: list[tuple[Use, float]]
    synonyms: list[tuple[frozenset[str], list[Synonym]]]
    pairs: list[tuple[str, float]]
    exact: list[tuple[frozenset[str], dict[str, float], float]]
    tools_by_text: list[tuple[str, frozenset[str]]]
    tools_by_joined_text: list[tuple[str, frozenset[str]]]
    full_score: float
    least_share: float


def parse_query(query: str, postings: Postings, tool_count: int, group_words: Container[str] = ()) -> ParsedQuery:
    """
    Parse *query* into the terms to look up.

    *group_words* has the stems of the names of groups.
    """
    if len(query) > MAX_CHARS_AT_START + MAX_CHARS_AT_END:
        query = f"{query[:MAX_CHARS_AT_START]} {query[-MAX_CHARS_AT_END:]}"
    query = drop_encoded_data(query)
    runs = split_runs(query)[:MAX_RUNS]
    path_runs = set(runs).difference(split_runs(_PATH.sub(" ", query))) if "/" in query else ()
    reader = _TermReader(postings, len(runs))
    for run in runs:
        reader.add_run(run, PATH_FACTOR if run in path_runs else 1.0)

    uses = {key: postings.find(key) for key in (*reader.factors, *reader.word_by_relative)}

    def rarity(key: str) -> float:
        return _rarity(len((uses.get(key) or postings.find(key)).tools), tool_count)

    weights = _take_weightiest(
        {
            key: factor * rarity(key) * (GROUP_FACTOR if key in group_words else 1.0)
            for key, factor in reader.factors.items()
        }
    )
    rarest = _rarity(1, tool_count)
    pairs = _take_weightiest({pair: PAIR_WEIGHT * min(sum(map(rarity, pair.split())), rarest) for pair in reader.pairs})
    full_score = sum(weights.values()) + sum(pairs.values())
    full_score += min(len(reader.unknown), MAX_COUNTED_UNKNOWN) * _rarity(0, tool_count)
    for key, word in reader.word_by_relative.items():
        if key not in weights:
            weights[key] = RELATIVE_WEIGHT * min(rarity(key), rarity(word))
    synonyms: dict[str, list[Synonym]] = {}
    for key, (word, text) in reader.word_by_synonym.items():
        if key not in weights:
            weight = SYNONYM_WEIGHT * min(rarity(key), rarity(word))
            synonyms.setdefault(word, []).append(Synonym(postings.find(key), weight, text))
    exact: list[tuple[frozenset[str], dict[str, float], float]] = []
    for text, key in islice(reader.stem_by_text.items(), MAX_TERMS):
        if key not in weights:
            continue
        weight = EXACT_FORM_WEIGHT * weights[key]
        full_score += weight
        users, use = postings.tools_with_word(text), uses[key]
        if len(users) == len(use.tools):
            weights[key] += weight  # no tool has another form of it
        elif users:
            exact.append((users, use.worth, weight))
    terms = [(uses[key], weight) for key, weight in _take_weightiest(weights).items()]
    terms.sort(key=lambda term: len(term[0].tools))
    shown, shown_joined = (
        [(text, uses[key].tools) for key, text in texts.items()]
        for texts in (reader.text_by_term, reader.text_by_joined_word)
    )
    ordered = [(postings.find(word).tools, _order_synonyms(others)) for word, others in synonyms.items()]
    full_score = full_score or 1.0
    least_share = MIN_SHARE_OF_FULL * min(1.0, MAX_MEASURED_WORDS * rarest / full_score)
    return ParsedQuery(terms, ordered, list(pairs.items()), exact, shown, shown_joined, full_score, least_share)


def _order_synonyms(synonyms: list[Synonym]) -> list[Synonym]:
    return sorted(synonyms, key=lambda synonym: synonym.weight, reverse=True)


def _take_weightiest(weights: dict[str, float]) -> dict[str, float]:
    return weights if len(weights) <= MAX_TERMS else dict(nlargest(MAX_TERMS, weights.items(), itemgetter(1)))


class _TermReader:
    """The terms of a query while its words are read: each with a factor for its weight, and the text to show for it."""

    def __init__(self, postings: Postings, run_count: int) -> None:
        self._postings = postings
        self._vocabulary = postings.vocabulary
        self._is_short = run_count <= SHORT_QUERY_WORDS
        self._has_synonyms = run_count <= MAX_RUNS_WITH_SYNONYMS
        self._last = "", "", ""  # the run, the text and the stem of the word before; no stem if no tool has it
        self.factors: dict[str, float] = {}
        self.pairs: dict[str, None] = {}
        self.stem_by_text: dict[str, str] = {}
        self.text_by_term: dict[str, str] = {}
        self.text_by_joined_word: dict[str, str] = {}
        self.word_by_relative: dict[str, str] = {}
        self.word_by_synonym: dict[str, tuple[str, str]] = {}  # with the text to show
        self.unknown: set[str] = set()

    def add_run(self, run: str, factor: float) -> None:
        """Add the words of *run*. Its words have *factor*."""
        reading = read_run(run)
        if not reading:
            return
        texts, stems, whole = reading
        if whole and whole in self._postings and whole not in self.factors:
            self._add_term(whole, 1.0, run)
        for text, word_stem in zip(texts, stems):  # noqa: B905 -- a proper name has one more text
            known_stem = word_stem if word_stem in self._postings else ""
            self._add_word(run, text, word_stem, factor, is_known=bool(known_stem))
            self._add_neighbours(run, text, word_stem, known_stem)

    def _add_term(self, key: str, factor: float, text: str) -> None:
        if self.factors.get(key, 0.0) < factor:
            self.factors[key] = factor
            self.text_by_term[key] = text

    def _add_word(self, run: str, text: str, word_stem: str, factor: float, *, is_known: bool) -> None:
        alternatives: Sequence[tuple[str, float]] = ()
        relatives = self._vocabulary.find_relatives(word_stem)
        for other in relatives:
            key = stem(other)
            self.word_by_relative.setdefault(key, word_stem)
            self.text_by_term.setdefault(key, f"{run} -> {other}")
        for key, other in (find_synonyms(word_stem) if self._has_synonyms else {}).items():
            if 0 < self._postings.count_places(key) <= MAX_PLACES_OF_SYNONYM:
                self.word_by_synonym.setdefault(key, (word_stem, f"{run} -> {other}"))
        if is_known:
            self.stem_by_text[text] = word_stem
            self._add_term(word_stem, factor, run)
            if self._is_short and len(text) <= MAX_ABBREVIATION_LETTERS:
                alternatives = self._vocabulary.find_completions(text)
        elif word_stem not in self.unknown and not word_stem.isdigit():
            self.unknown.add(word_stem)
            if len(self.unknown) <= MAX_UNKNOWN and not relatives:
                alternatives = self._vocabulary.find_completions(text) or self._find_repairs(text)
        for other, likeness in alternatives:
            self._add_term(stem(other), likeness, f"{run} -> {other}")

    def _find_repairs(self, text: str) -> list[tuple[str, float]]:
        """Return the words that *text* may be a slip of. They are what the user meant, so their exact form counts."""
        repairs = self._vocabulary.find_repairs(text)
        self.stem_by_text.update((other, stem(other)) for other, _ in repairs)
        return repairs

    def _add_neighbours(self, run: str, text: str, word_stem: str, known_stem: str) -> None:
        """Add the pair that this word makes with the word before it, and the two as one word, if a tool has them."""
        last_run, last_text, last_stem = self._last
        joined_word = last_text + word_stem
        if last_stem and known_stem:
            self.pairs[f" {last_stem} {known_stem} "] = None  # no stem contains a space
        if last_text and joined_word in self._postings:
            self.factors[joined_word] = 1.0
            shown = self.text_by_joined_word if known_stem else self.text_by_term
            shown.setdefault(joined_word, run if run is last_run else f"{last_run} {run}")
        self._last = run, text, known_stem


# The pattern tries to match a scheme only where a word begins, and not at each letter of a long word.
_PATH = re.compile(r"(?<!\w)\w+://\S+|(?<![\w/])[~.]{0,2}/\w[\w./-]*")


@lru_cache(maxsize=4096)
def _rarity(having_count: int, tool_count: int) -> float:
    """Return the weight of a word that *having_count* of *tool_count* tools have."""
    return log(1 + (tool_count - having_count + 0.5) / (having_count + 0.5))
