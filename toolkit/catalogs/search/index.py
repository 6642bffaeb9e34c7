"""
The search index: it returns the tools that fit some words, the best first.

When a tool is added, only the places of its words are noted. The weight of a word in each tool is computed by the
first query that has the word; see `postings`. So adding or removing a tool touches only the words of that tool.

The words of a query select tools, the rarest words first. When these have led to many tools, the common words are
looked up only for the best of them. Neighbouring words, and the exact forms of words, then decide between the best.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterable
from heapq import nsmallest
from itertools import islice
from typing import NamedTuple

from ..._plumbing.forks import unlock_in_children
from .documents import Document
from .fusion import Ranker, blend_of, blend_scores, score_with_ranker
from .postings import Postings, Use, read_stems
from .query import ParsedQuery, parse_query
from .words import normalise_name

__all__ = ["Hit", "Index"]

MAX_LOOKUPS, MIN_FOUND_TOOLS = 600, 50
"""After so many lookups, if they led to so many tools, the other words are looked up only for these tools."""

MAX_FURTHER_LOOKUPS, MAX_RANKED_TOOLS = 5_000, 200
"""If that would still be so many lookups, the other words are looked up only for so many tools, the best."""

MAX_COMPARED_TERMS = 8
"""The most words of a query for which the tools of the rarest word are compared with those of each other word."""

MAX_REFINED_TOOLS = 20
"""The number of tools whose neighbouring words and exact forms of words are compared, unless the caller wants more."""

MIN_SHARE_OF_BEST = 0.2
"""A tool whose score is a smaller part of the best tool's score is not a hit either."""

SCORE_DIGITS = 9
"""The digits that a score is rounded to. Smaller differences come only from the order in which numbers were added."""

MAX_NAME_CHARS = 200
"""The most characters of a query that is compared with the names of tools. A longer query is not a name."""


class Hit(NamedTuple):
    """
    A tool that fits a query.

    Attributes:
        name: The name of the tool.
        score: The share of the query's full score that the tool has, 0 to 1. It is 1 only if the query is the tool's
            name. With a ranker, it is the tool's share of the best scores of both rankings.
        words: The words of the query that the tool has, as they were written and in their order. A word that was
            completed or repaired shows this: "wether -> weather".
    """

    name: str
    score: float
    words: tuple[str, ...]


class _Match(NamedTuple):
    """A tool, and its share of the query's full score."""

    name: str
    score: float


class Index:
    """
    An index of tools that can be found by words.

    One thread may search while another adds or removes tools. A search uses the tools that were in the index at one
    moment. Predicates and rankers run outside the lock, so they may use the index themselves.

    Example:
        >>> index = Index([Document(name="get_forecast", description="The weather of the next days.")])
        >>> index.search("wether tomorrow")
        [Hit(name='get_forecast', score=0.1..., words=('wether -> weather',))]
    """

    def __init__(self, documents: Iterable[Document] = ()) -> None:
        # A child that is forked during a change has to make a new index.
        self._lock = unlock_in_children(threading.Lock())
        self._postings = Postings()
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._tools_by_name: dict[str, tuple[str, ...]] = {}
        self._group_words: Counter[str] = Counter()
        self._postings.add(map(self._name, documents))

    def __len__(self) -> int:
        return len(self._postings.texts)

    def __contains__(self, name: object) -> bool:
        return name in self._postings.texts

    def add(self, document: Document) -> None:
        """Add *document*, or replace the document of the same name."""
        with self._lock:
            self._postings.add([self._name(document)])

    def _name(self, document: Document) -> Document:
        """Return *document*, after its names and its group were added, and a document of the same name was removed."""
        if document.name in self:
            self._forget(document.name)
        if document.aliases:
            self._aliases[document.name] = document.aliases
        if document.group:
            self._group_words.update(read_stems(document.group))
        for spelling in dict.fromkeys(map(normalise_name, (document.name, *document.aliases))):
            self._tools_by_name[spelling] = (*self._tools_by_name.get(spelling, ()), document.name)
        return document

    def remove(self, name: str) -> None:
        """
        Remove the tool with this name.

        Raises:
            KeyError: No tool in the index has this name.
        """
        with self._lock:
            if name not in self:
                raise KeyError(f"no tool named `{name}` in the index")
            self._forget(name)

    def search(
        self,
        query: str,
        limit: int = 10,
        *,
        predicate: Callable[[str], bool] | None = None,
        ranker: Ranker | None = None,
    ) -> list[Hit]:
        """
        Return the tools that fit *query*, the best first. The list is empty if no tool fits.

        A tool whose name or alias is the query comes first. Among tools with equal scores, a tool that was imported
        comes after one that was not. After that, the order of the names decides.

        Args:
            query: The words to search for.
            limit: The most tools to return.
            predicate: A function that says whether the tool with this name may be shown. A tool that may not be shown
                does not count towards *limit*, and the other tools are not measured against its score.
            ranker: The caller's own ranking. See `Ranker`.
        """
        if limit < 1:
            return []
        if ranker is not None:
            return self._search_with_ranker(query, limit, predicate, ranker)
        parsed, matches = self._find(query, limit if predicate is None else 2 * limit)
        if predicate is not None:
            allowed = [match for match in matches if predicate(match.name)]
            if len(allowed) < min(limit, len(matches)):
                # Some of the best tools may not be shown. The tools that take their places may not have been selected
                # yet.
                parsed, matches = self._find(query, None)
                allowed = [match for match in matches if predicate(match.name)]
            matches = allowed
        return _hits(_drop_weak_matches(matches)[:limit], parsed)

    def _search_with_ranker(
        self, query: str, limit: int, predicate: Callable[[str], bool] | None, ranker: Ranker
    ) -> list[Hit]:
        with self._lock:
            all_names, foreign = list(self._postings.texts), self._postings.foreign.copy()
        names = [name for name in all_names if predicate is None or predicate(name)]
        parsed, matches = self._find(query, None)
        allowed = set(names)
        ours = {
            match.name: match.score
            for match in _drop_weak_matches([match for match in matches if match.name in allowed])
        }
        named = {name: index for index, (name, score) in enumerate(ours.items()) if score == 1.0}
        blend = blend_of(ranker)
        theirs = score_with_ranker(ranker, query, names)
        scores = blend_scores(ours, theirs, blend) if theirs else ours
        least = MIN_SHARE_OF_BEST * max(scores.values(), default=0.0)
        scores = {name: score for name, score in scores.items() if score >= least}
        scores.update(dict.fromkeys(named, 1.0))

        def sort_key(name: str) -> tuple[float, int, bool, str]:
            return -scores[name], named.get(name, 0), name in foreign, name

        best = nsmallest(limit, scores, key=sort_key)
        return _hits([_Match(name, scores[name]) for name in best], parsed)

    def _find(self, query: str, max_tools: int | None) -> tuple[ParsedQuery, list[_Match]]:
        """Return the parsed *query*, and in order the best *max_tools* tools that have part of it, or all of them."""
        literal = query.strip()
        with self._lock:
            foreign = self._postings.foreign
            parsed = parse_query(query, self._postings, len(self), self._group_words)
            scores = self._score_by_words(parsed, max_tools)
            self._add_synonyms(scores, parsed)
            shares = self._refine(self._choose_best(scores, max_tools, MAX_REFINED_TOOLS), parsed)
            named = self._tools_by_name.get(normalise_name(literal), ()) if len(literal) <= MAX_NAME_CHARS else ()
            shares.update(dict.fromkeys(named, 1.0))
            inexact_names = {name for name in named if literal not in (name, *self._aliases.get(name, ()))}
            places = [(-share, name in inexact_names, name in foreign, name) for name, share in shares.items()]
            places.sort()
            return parsed, [_Match(name, -share) for share, _, _, name in places[:max_tools]]

    def _score_by_words(self, parsed: ParsedQuery, max_tools: int | None) -> dict[str, float]:
        """Return the score of each tool by its words. With *max_tools*, a tool that has only common words may miss."""
        scores = {} if max_tools is None else _score_by_rarest(parsed.terms, max(max_tools, MAX_REFINED_TOOLS))
        if scores:
            return scores
        lookups = 0
        for number, (use, weight) in enumerate(parsed.terms):
            lookups += len(use.tools)
            worth = use.worth
            if max_tools is not None and lookups > MAX_LOOKUPS and len(scores) >= max(max_tools, MIN_FOUND_TOOLS):
                if len(scores) * (len(parsed.terms) - number) > MAX_FURTHER_LOOKUPS:
                    scores = self._choose_best(scores, max_tools, MAX_RANKED_TOOLS)
                worth = {name: worth[name] for name in scores.keys() & use.tools}
            if scores:
                for name, value in worth.items():
                    scores[name] = scores.get(name, 0.0) + value * weight
            else:
                scores = {name: value * weight for name, value in worth.items()}
        return scores

    @staticmethod
    def _add_synonyms(scores: dict[str, float], parsed: ParsedQuery) -> None:
        """Add to *scores*, for a word that a tool does not have, what the first of its synonyms is worth there."""
        for tools_of_word, synonyms in parsed.synonyms:
            tools = set(tools_of_word)
            for use, weight, _ in synonyms:
                for name in use.tools - tools:
                    scores[name] = scores.get(name, 0.0) + use.worth[name] * weight
                tools |= use.tools

    def _choose_best(self, scores: dict[str, float], max_tools: int | None, usual_count: int) -> dict[str, float]:
        """Return the best *usual_count* of *scores*, or *max_tools* if that is more, or all of them if it is None."""
        count = len(scores) if max_tools is None else max(max_tools, usual_count)
        if len(scores) <= count:
            return scores
        least = sorted(scores.values(), reverse=True)[count - 1]
        foreign = self._postings.foreign
        best = sorted((-score, name in foreign, name) for name, score in scores.items() if score >= least)
        return {name: -score for score, _, name in best[:count]}

    def _refine(self, scores: dict[str, float], parsed: ParsedQuery) -> dict[str, float]:
        """Return the shares of the full score, after neighbouring words and exact forms of words have been added."""
        shares: dict[str, float] = {}
        for name, score in scores.items():
            phrases, extra = self._postings.phrases_of(name), 0.0
            for pair, weight in parsed.pairs:
                if pair in phrases:
                    extra += weight
            for tools, worth, weight in parsed.exact:
                if name in tools:
                    extra += worth[name] * weight
            share = round((score + extra) / parsed.full_score, SCORE_DIGITS)
            if share >= parsed.least_share:
                shares[name] = share
        return shares

    def _forget(self, name: str) -> None:
        self._group_words -= Counter(read_stems(self._postings.group_of(name)))
        for spelling in dict.fromkeys(map(normalise_name, (name, *self._aliases.pop(name, ())))):
            tools = tuple(tool for tool in self._tools_by_name.pop(spelling) if tool != name)
            if tools:
                self._tools_by_name[spelling] = tools
        self._postings.remove(name)


def _score_by_rarest(terms: list[tuple[Use, float]], count: int) -> dict[str, float]:
    """
    Return the scores of the tools that have the first of *terms* and can be among the best *count*.

    These are the tools that have another term too, and those in which the first term has the greatest weight. The
    result is empty if other terms select tools as well, or if going through all tools of the first term is quicker.
    """
    if not 0 < len(terms) <= MAX_COMPARED_TERMS:
        return {}
    (use, weight), *others = terms
    lookups = len(use.tools) + (len(others[0][0].tools) if others else MAX_LOOKUPS)
    if len(use.tools) < max(count, MIN_FOUND_TOOLS) or lookups <= MAX_LOOKUPS:
        return {}
    scores = {name: worth * weight for name, worth in islice(use.worth.items(), count)}
    for other, other_weight in others:
        for name in use.tools & other.tools:
            score = scores.get(name)
            scores[name] = (use.worth[name] * weight if score is None else score) + other.worth[name] * other_weight
    return scores


def _drop_weak_matches(matches: list[_Match]) -> list[_Match]:
    """Return the tools whose score is not too small compared with the best score."""
    if not matches:
        return matches
    least = matches[0].score * MIN_SHARE_OF_BEST
    return [match for match in matches if match.score >= least]


def _hits(matches: list[_Match], parsed: ParsedQuery) -> list[Hit]:
    hits: list[Hit] = []
    for name, score in matches:
        matched_words = dict.fromkeys(text for text, tools in parsed.tools_by_text if name in tools)
        for tools, synonyms in parsed.synonyms:
            if name not in tools:
                matched_words |= dict.fromkeys(synonym.text for synonym in synonyms if name in synonym.use.tools)
        # A tool that has the single words usually has the joined word from its name as well. So the joined word is
        # reported only for a tool that has no other word of the query.
        joined_words = (text for text, tools in parsed.tools_by_joined_text if name in tools)
        hits.append(Hit(name, score, tuple(matched_words or joined_words)))
    return hits
