"""
The search index: it returns the tools that fit some words, the best first.

The weight of a word in a tool is computed when the tool is added. The weight of a word in a query is computed at the
search. So adding or removing a tool touches only the words of that tool, and a search only looks up and adds numbers.

The rare words of a query select tools, and all its words rank them. When the rarest words and pairs have selected
enough tools, the common words are looked up only for these tools. If these are many, the common words are looked up
only for the best of them.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from heapq import nlargest, nsmallest
from typing import Any, NamedTuple

from ..._plumbing.forks import renew_in_children
from .documents import Document, read_document
from .fusion import Ranker, blend_of, blend_scores, score_with_ranker
from .query import EXACT_FORM_WEIGHT, ParsedQuery, parse_query
from .vocabulary import Vocabulary
from .words import normalise_name

__all__ = ["Hit", "Index"]

CANDIDATE_LOOKUPS = 600
"""The number of lookups after which there are enough tools to choose from."""

CANDIDATES = 50
"""The number of tools that are chosen then, unless the caller wants more."""

MAX_COMMON_WORDS_FOR_ALL = 4
"""
If at most this many common words remain, they are looked up for all selected tools. Choosing the best tools first would
take as long.
"""

MAX_RANKED_TOOLS = 500
"""
The most tools that are ranked if many tools have the same words and more remain after choosing, unless the caller wants
more.
"""

# The share of the last chosen tool's score that another tool needs to be considered as well: while common words may
# still raise a score, when only the exact forms of words may, and when only the order of adding makes a difference.
MIN_RATIO_BEFORE_COMMON_WORDS = 0.7
MIN_RATIO_BEFORE_EXACT_FORMS = 1 / (1 + EXACT_FORM_WEIGHT)
MIN_RATIO_OF_TIES = 1 - 1e-9

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
        self._lock = threading.Lock()
        self._is_changing = False
        self._clear()
        for document in documents:
            self.add(document)
        renew_in_children(self)

    def _clear(self) -> None:
        # These tables have the names of tools as keys. One record for each tool would be an object that every full
        # garbage collection visits; the collector does not visit dictionaries and tuples that hold only text and
        # numbers.
        self._words: dict[str, dict[str, float]] = {}
        self._texts: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._foreign: set[str] = set()
        # These tables have words as keys, and are built from the tables above.
        self._worth_by_word: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._tools_by_name: dict[str, dict[str, None]] = {}
        self._vocabulary = Vocabulary()

    def renew_after_fork(self) -> None:
        """Rebuild tables that another thread was changing: no thread continues that change in a forked child."""
        self._lock = threading.Lock()
        if not self._is_changing:
            return
        self._is_changing = False
        words, texts, names, aliases, foreign = self._words, self._texts, self._names, self._aliases, self._foreign
        self._clear()
        for name in [name for name in words if name in texts and name in names]:
            self._put(name, words[name], texts[name], names[name])
            if name in aliases:
                self._aliases[name] = aliases[name]
            if name in foreign:
                self._foreign.add(name)

    def __len__(self) -> int:
        return len(self._words)

    def __contains__(self, name: object) -> bool:
        return name in self._words

    def add(self, document: Document) -> None:
        """Add *document*, or replace the document of the same name."""
        entry, name = read_document(document), document.name
        with self._lock:
            self._is_changing = True
            if name in self._words:
                self._forget(name)
            self._put(name, entry.worth, entry.texts, entry.names)
            if document.aliases:
                self._aliases[name] = document.aliases
            if document.is_imported:
                self._foreign.add(name)
            self._is_changing = False

    def _put(self, name: str, words: dict[str, float], texts: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._words[name], self._texts[name], self._names[name] = words, texts, names
        worth_by_word = self._worth_by_word
        for key, worth in words.items():
            worth_by_word[key][name] = worth
        for spelling in names:
            self._tools_by_name.setdefault(spelling, {})[name] = None
        self._vocabulary.add(name, texts)

    def remove(self, name: str) -> None:
        """
        Remove the tool with this name.

        Raises:
            KeyError: No tool in the index has this name.
        """
        with self._lock:
            if name not in self._words:
                raise KeyError(f"no tool named `{name}` in the index")
            self._is_changing = True
            self._forget(name)
            self._is_changing = False

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
        parsed, matches = self._find(query, limit if predicate is None else max(limit, CANDIDATES))
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
            parsed = parse_query(query, self._worth_by_word, self._vocabulary, len(words))
            shares = self._shares(parsed, max_tools)
            named = self._tools_by_name.get(normalise_name(literal), ()) if len(literal) <= MAX_NAME_CHARS else ()
            shares.update(dict.fromkeys(named, 1.0))
            inexact_names = {name for name in named if literal not in (name, *self._aliases.get(name, ()))}
            places = [(-share, name in inexact_names, name in foreign, name) for name, share in shares.items()]
            places.sort()
            return parsed, [_Match(name, -share, words[name]) for share, _, _, name in places[:max_tools]]

    def _shares(self, parsed: ParsedQuery, max_tools: int | None) -> dict[str, float]:
        """Return the share of the full score for each tool that may be among the best *max_tools*."""
        scores = self._scores(parsed.terms, max_tools)
        if parsed.exact:
            least_before_exact = _min_score(scores, max_tools, MIN_RATIO_BEFORE_EXACT_FORMS)
            scores = {name: score for name, score in scores.items() if score >= least_before_exact}
            for text, key, weight in parsed.exact:
                worth_by_tool = self._worth_by_word[key]
                for name in scores.keys() & self._vocabulary.tools_using(text):
                    scores[name] += worth_by_tool[name] * weight
        full = parsed.full_score
        least = max(MIN_SHARE_OF_FULL * full, _min_score(scores, max_tools, MIN_RATIO_OF_TIES))
        return {name: round(score / full, SCORE_DIGITS) for name, score in scores.items() if score >= least}

    def _scores(self, terms: list[tuple[str, float]], max_tools: int | None) -> dict[str, float]:
        """Return the score of each tool. With *max_tools*, tools that cannot be among so many best may be left out."""
        lists = [(self._worth_by_word[key], weight) for key, weight in terms]
        scores: dict[str, float] = {}
        rare_count, looked_up = 0, 0
        for worth_by_tool, weight in lists:
            looked_up += len(worth_by_tool)
            if max_tools is not None and looked_up > CANDIDATE_LOOKUPS and len(scores) >= max(max_tools, CANDIDATES):
                break
            if not scores:
                scores = {name: worth * weight for name, worth in worth_by_tool.items()}
            else:
                for name, worth in worth_by_tool.items():
                    scores[name] = scores.get(name, 0.0) + worth * weight
            rare_count += 1
        if len(lists) - rare_count > MAX_COMMON_WORDS_FOR_ALL:
            least = _min_score(scores, max_tools and max(max_tools, CANDIDATES), MIN_RATIO_BEFORE_COMMON_WORDS)
            scores = {name: score for name, score in scores.items() if score >= least}
            if max_tools is not None and len(scores) > max(max_tools, MAX_RANKED_TOOLS):
                ordered = sorted((-score, name in self._foreign, name) for name, score in scores.items())
                scores = {name: -score for score, _, name in ordered[: max(max_tools, MAX_RANKED_TOOLS)]}
        for worth_by_tool, weight in lists[rare_count:]:
            for name in scores.keys() & worth_by_tool.keys():
                scores[name] += worth_by_tool[name] * weight
        return scores

    def _forget(self, name: str) -> None:
        self._foreign.discard(name)
        self._aliases.pop(name, None)
        _discard(self._worth_by_word, self._words.pop(name), name)
        _discard(self._tools_by_name, self._names.pop(name), name)
        self._vocabulary.remove(name, self._texts.pop(name))


def _discard(table: dict[str, dict[str, Any]], keys: Iterable[str], name: str) -> None:
    for key in keys:
        tools = table[key]
        del tools[name]
        if not tools:
            del table[key]


def _min_score(scores: dict[str, float], max_tools: int | None, share: float) -> float:
    """Return the score that a tool needs beside the best *max_tools*: *share* times the lowest score of these."""
    if max_tools is None or len(scores) <= max_tools:
        return 0.0
    return nlargest(max_tools, scores.values())[-1] * share


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
        # A tool that has the single words usually has the joined word from its name as well. So the joined word is
        # reported only for a tool that has no other word of the query.
        joined_words = (text for key, text in parsed.text_by_joined_word.items() if key in worth)
        hits.append(Hit(name, score, tuple(matched_words or joined_words)))
    return hits
