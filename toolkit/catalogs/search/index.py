"""
The search index: it returns the tools that fit some words, the best first.

The weight of a word in a tool is computed when the tool is added. The weight of a word in a query is computed at the
search. So adding or removing a tool touches only the words of that tool, and a search only looks up and adds numbers.

The words of a query select tools, the rarest words first. When these have led to many tools, the common words are
looked up only for the best of them. Neighbouring words, and the exact forms of words, then decide between the best.
"""

from __future__ import annotations

import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from heapq import nlargest, nsmallest
from typing import Any, NamedTuple

from ..._plumbing.forks import unlock_in_children
from .documents import Document, read_document
from .fusion import Ranker, blend_of, blend_scores, score_with_ranker
from .query import ParsedQuery, parse_query
from .vocabulary import Vocabulary
from .words import normalise_name

__all__ = ["Hit", "Index"]

MAX_LOOKUPS, MIN_FOUND_TOOLS = 600, 50
"""After so many lookups, if they led to so many tools, the other words are looked up only for these tools."""

MAX_FURTHER_LOOKUPS, MAX_RANKED_TOOLS = 5_000, 200
"""If that would still be so many lookups, the other words are looked up only for so many tools, the best."""

MAX_REFINED_TOOLS = 20
"""The number of tools whose neighbouring words and exact forms of words are compared, unless the caller wants more."""

MIN_SHARE_OF_FULL = 0.02
"""A tool with a smaller share of the query's full score is not a hit."""

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
    """A tool, its share of the query's full score, and the weights of its words."""

    name: str
    score: float
    worth: dict[str, float]


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
        # These tables have the names of tools as keys. One record for each tool would be an object that every full
        # garbage collection visits; the collector does not visit dictionaries and tuples that hold only text and
        # numbers.
        self._words: dict[str, dict[str, float]] = {}
        self._phrases: dict[str, str] = {}
        self._texts: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._groups: dict[str, tuple[str, ...]] = {}
        self._foreign: set[str] = set()
        # These tables have words as keys, and are built from the tables above.
        self._worth_by_word: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._tools_by_name: dict[str, dict[str, None]] = {}
        self._group_words: Counter[str] = Counter()
        self._vocabulary = Vocabulary()
        for document in documents:
            self.add(document)

    def __len__(self) -> int:
        return len(self._words)

    def __contains__(self, name: object) -> bool:
        return name in self._words

    def add(self, document: Document) -> None:
        """Add *document*, or replace the document of the same name."""
        name, (words, phrases, texts, names, group) = document.name, read_document(document)
        with self._lock:
            if name in self._words:
                self._forget(name)
            self._words[name], self._phrases[name], self._texts[name], self._names[name] = words, phrases, texts, names
            if document.aliases:
                self._aliases[name] = document.aliases
            if group:
                self._groups[name] = group
                self._group_words.update(group)
            if document.is_imported:
                self._foreign.add(name)
            worth_by_word = self._worth_by_word
            for key, worth in words.items():
                worth_by_word[key][name] = worth
            for spelling in names:
                self._tools_by_name.setdefault(spelling, {})[name] = None
            self._vocabulary.add(texts)

    def remove(self, name: str) -> None:
        """
        Remove the tool with this name.

        Raises:
            KeyError: No tool in the index has this name.
        """
        with self._lock:
            if name not in self._words:
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
            words, foreign = self._words.copy(), self._foreign.copy()
        names = [name for name in words if predicate is None or predicate(name)]
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
        return _hits([_Match(name, scores[name], words[name]) for name in best], parsed)

    def _find(self, query: str, max_tools: int | None) -> tuple[ParsedQuery, list[_Match]]:
        """Return the parsed *query*, and in order the best *max_tools* tools that have part of it, or all of them."""
        literal = query.strip()
        with self._lock:
            words, foreign = self._words, self._foreign
            parsed = parse_query(query, self._worth_by_word, self._vocabulary, len(words), self._group_words)
            scores = self._score_by_words(parsed, max_tools)
            self._add_synonyms(scores, parsed)
            shares = self._refine(self._choose_best(scores, max_tools, MAX_REFINED_TOOLS), parsed)
            named = self._tools_by_name.get(normalise_name(literal), ()) if len(literal) <= MAX_NAME_CHARS else ()
            shares.update(dict.fromkeys(named, 1.0))
            inexact_names = {name for name in named if literal not in (name, *self._aliases.get(name, ()))}
            places = [(-share, name in inexact_names, name in foreign, name) for name, share in shares.items()]
            places.sort()
            return parsed, [_Match(name, -share, words[name]) for share, _, _, name in places[:max_tools]]

    def _score_by_words(self, parsed: ParsedQuery, max_tools: int | None) -> dict[str, float]:
        """Return the score of each tool by its words. With *max_tools*, a tool that has only common words may miss."""
        scores: dict[str, float] = {}
        lookups = 0
        for number, (key, weight) in enumerate(parsed.terms):
            worth_by_tool = self._worth_by_word[key]
            lookups += len(worth_by_tool)
            if max_tools is not None and lookups > MAX_LOOKUPS and len(scores) >= max(max_tools, MIN_FOUND_TOOLS):
                if len(scores) * (len(parsed.terms) - number) > MAX_FURTHER_LOOKUPS:
                    scores = self._choose_best(scores, max_tools, MAX_RANKED_TOOLS)
                worth_by_tool = {name: worth_by_tool[name] for name in scores.keys() & worth_by_tool.keys()}
            if scores:
                for name, worth in worth_by_tool.items():
                    scores[name] = scores.get(name, 0.0) + worth * weight
            else:
                scores = {name: worth * weight for name, worth in worth_by_tool.items()}
        return scores

    def _add_synonyms(self, scores: dict[str, float], parsed: ParsedQuery) -> None:
        """Add to *scores*, for a word that a tool does not have, what the best of its synonyms is worth there."""
        for word, synonyms in parsed.synonyms.items():
            best: dict[str, float] = {}
            for key, weight, _ in synonyms:
                for name, worth in self._worth_by_word[key].items():
                    best[name] = max(worth * weight, best.get(name, 0.0))
            for name in best.keys() - self._worth_by_word.get(word, {}).keys():
                scores[name] = scores.get(name, 0.0) + best[name]

    def _choose_best(self, scores: dict[str, float], max_tools: int | None, usual_count: int) -> dict[str, float]:
        """Return the best *usual_count* of *scores*, or *max_tools* if that is more, or all of them if it is None."""
        count = len(scores) if max_tools is None else max(max_tools, usual_count)
        if len(scores) <= count:
            return scores
        least = nlargest(count, scores.values())[-1]
        foreign = self._foreign
        best = sorted((-score, name in foreign, name) for name, score in scores.items() if score >= least)
        return {name: -score for score, _, name in best[:count]}

    def _refine(self, scores: dict[str, float], parsed: ParsedQuery) -> dict[str, float]:
        """Return the shares of the full score, after neighbouring words and exact forms of words have been added."""
        shares: dict[str, float] = {}
        for name, score in scores.items():
            phrases, extra = self._phrases[name], 0.0
            for pair, weight in parsed.pairs:
                if pair in phrases:
                    extra += weight
            for text, key, weight in parsed.exact:
                if text in self._texts[name]:
                    extra += self._words[name][key] * weight
            share = round((score + extra) / parsed.full_score, SCORE_DIGITS)
            if share >= MIN_SHARE_OF_FULL:
                shares[name] = share
        return shares

    def _forget(self, name: str) -> None:
        self._foreign.discard(name)
        self._aliases.pop(name, None)
        self._group_words -= Counter(self._groups.pop(name, ()))
        del self._phrases[name]
        _discard(self._worth_by_word, self._words.pop(name), name)
        _discard(self._tools_by_name, self._names.pop(name), name)
        self._vocabulary.remove(self._texts.pop(name))


def _discard(table: dict[str, dict[str, Any]], keys: Iterable[str], name: str) -> None:
    for key in keys:
        tools = table[key]
        del tools[name]
        if not tools:
            del table[key]


def _drop_weak_matches(matches: list[_Match]) -> list[_Match]:
    """Return the tools whose score is not too small compared with the best score."""
    if not matches:
        return matches
    least = matches[0].score * MIN_SHARE_OF_BEST
    return [match for match in matches if match.score >= least]


def _hits(matches: list[_Match], parsed: ParsedQuery) -> list[Hit]:
    hits: list[Hit] = []
    for name, score, worth in matches:
        matched_words = dict.fromkeys(text for key, text in parsed.text_by_term.items() if key in worth)
        for word, synonyms in parsed.synonyms.items():
            if word not in worth:
                matched_words |= dict.fromkeys(synonym.text for synonym in synonyms if synonym.key in worth)
        # A tool that has the single words usually has the joined word from its name as well. So the joined word is
        # reported only for a tool that has no other word of the query.
        joined_words = (text for key, text in parsed.text_by_joined_word.items() if key in worth)
        hits.append(Hit(name, score, tuple(matched_words or joined_words)))
    return hits
