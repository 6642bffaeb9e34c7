"""
The index: which tools fit some words, the best first.

What a word is worth in a tool was weighed when that was added, and how much it
counts is found when it is asked for. So adding and removing touch the words of
one tool and nothing else, and a search only looks up and sums.

Rare words choose, all words rank: when the rarest words and pairs of a query have
named enough tools, the common ones are looked up only for these, and if they are
many, only for the best of these.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterable
from heapq import nlargest, nsmallest
from itertools import compress
from typing import Any, NamedTuple

from ..._forks import renew_in_children
from .documents import Document, read_document
from .fusion import Ranker, fused, opinion
from .query import EXACT, Asked, ask
from .vocabulary import Vocabulary
from .words import spelt

__all__ = ["Hit", "Index"]

ENOUGH = 200
"""Lookups after which there are enough tools to choose from."""

CHOSEN = 50
"""Tools that are chosen then, if no more are wanted."""

CHOOSING = 4
"""Words that are looked up for all of them in the time that choosing takes."""

FEW = 1000
"""Scores that are sorted; of more than these, the best are looked for."""

CROWD = 500
"""Tools that are looked at at most, where many have the same words and choosing leaves more; if no more are wanted."""

NEARLY, NEARLY_ENOUGH, AS_MUCH = 0.7, 1 / (1 + EXACT), 1 - 1e-9
"""
What a tool needs of the last chosen one's score to be looked at as well: when common words may still lift it,
when only the forms of words may, and when only the order may in which the same was added up.
"""

LEAST_ASKED = 0.02
"""A tool with a smaller share of what was asked for is no hit."""

LEAST_BESIDE_BEST = 0.2
"""Nor is one whose score is a smaller part of the best one's."""

GRAINS = 1e9
"""Parts in which a score is counted; smaller ones only tell in what order it was added up."""

LONGEST_NAME = 200
"""A longer query is not the name of a tool."""


class Hit(NamedTuple):
    """
    A tool that fits a query.

    Attributes:
        name: Which one.
        score: The share of what was asked for that it has, 0 to 1; 1 only if it was asked for by name.
            Where a ranker had a say: how far in front both of them put it.
        words: The words of the query that it has, as they were written and in that order.
            One that was completed or repaired says so: "wether -> weather".
    """

    name: str
    score: float
    words: tuple[str, ...]


class _Found(NamedTuple):
    """A tool, the share of what was asked for that it has, and what its words are worth."""

    name: str
    score: float
    worth: dict[str, float]


class Index:
    """
    Tools that can be found by words.

    One thread may search while another adds or removes: a search answers from
    the tools that were there at one moment. *keep* and rankers run outside the
    lock, and may use the index themselves.

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
        # By the names of tools. One record for each tool would be an object that every full garbage collection visits;
        # dictionaries and tuples of text are not visited.
        self._words: dict[str, dict[str, float]] = {}
        self._texts: dict[str, tuple[str, ...]] = {}
        self._names: dict[str, tuple[str, ...]] = {}
        self._aliases: dict[str, tuple[str, ...]] = {}
        self._foreign: set[str] = set()
        # By words, made of the above.
        self._worth: defaultdict[str, dict[str, float]] = defaultdict(dict)
        self._named: dict[str, dict[str, None]] = {}
        self._vocabulary = Vocabulary()

    def renew_after_fork(self) -> None:
        """Make anew what another thread was changing: nothing goes on with that in a forked child."""
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
        """Let *document* be found, in place of one of the same name if there is one."""
        entry, name = read_document(document), document.name
        with self._lock:
            self._is_changing = True
            if name in self._words:
                self._forget(name)
            self._put(name, entry.worth, entry.texts, entry.names)
            if document.aliases:
                self._aliases[name] = document.aliases
            if document.foreign:
                self._foreign.add(name)
            self._is_changing = False

    def _put(self, name: str, words: dict[str, float], texts: tuple[str, ...], names: tuple[str, ...]) -> None:
        self._words[name], self._texts[name], self._names[name] = words, texts, names
        everywhere = self._worth
        for key, worth in words.items():
            everywhere[key][name] = worth
        for spelling in names:
            self._named.setdefault(spelling, {})[name] = None
        self._vocabulary.add(name, texts)

    def remove(self, name: str) -> None:
        """Let the tool of this name be found no longer."""
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
        keep: Callable[[str], bool] | None = None,
        ranker: Ranker | None = None,
    ) -> list[Hit]:
        """
        The tools that fit *query*, the best first; none if none fits.

        A tool whose name or alias is the query comes first. Of equals, one that
        was imported comes after one that was not, then names decide.

        Args:
            limit: At most so many.
            keep: Whether a tool of this name may be shown. One that may not takes no place and sets no standard.
            ranker: Somebody else's opinion, which counts as much as ours. See `Ranker`.
        """
        if limit < 1:
            return []
        if ranker is not None:
            return self._fused(query, limit, keep, ranker)
        asked, found = self._find(query, limit if keep is None else max(limit, CHOSEN))
        if keep is not None:
            kept = [each for each in found if keep(each.name)]
            if len(kept) < min(limit, len(found)):
                # Of the best some may not be shown; what is to stand in their place was perhaps not even chosen.
                asked, found = self._find(query, None)
                kept = [each for each in found if keep(each.name)]
            found = kept
        return _hits(_passing(found)[:limit], asked)

    def _fused(self, query: str, limit: int, keep: Callable[[str], bool] | None, ranker: Ranker) -> list[Hit]:
        with self._lock:
            words, foreign = self._words.copy(), self._foreign.copy()
        names = [name for name in words if keep is None or keep(name)]
        asked, found = self._find(query, None)
        allowed = set(names)
        ours = {each.name: each.score for each in _passing([each for each in found if each.name in allowed])}
        named = {name: at for at, (name, score) in enumerate(ours.items()) if score == 1.0}
        scores = fused(list(ours), opinion(ranker, query, names))
        scores.update(dict.fromkeys(named, 1.0))

        def place(name: str) -> tuple[float, int, bool, str]:
            return -scores[name], named.get(name, 0), name in foreign, name

        best = nsmallest(limit, scores, key=place)
        return _hits([_Found(name, scores[name], words[name]) for name in best], asked)

    def _find(self, query: str, most: int | None) -> tuple[Asked, list[_Found]]:
        """What *query* asks for, and in order the *most* tools that have something of it, or all that have."""
        literal = query.strip()
        with self._lock:
            words, foreign = self._words, self._foreign
            asked = ask(query, self._worth, self._vocabulary, len(words))
            shares = self._shares(asked, most)
            named = self._named.get(spelt(literal), ()) if len(literal) <= LONGEST_NAME else ()
            shares.update(dict.fromkeys(named, 1.0))
            aside = {name for name in named if literal not in (name, *self._aliases.get(name, ()))}
            places = [(-share, name in aside, name in foreign, name) for name, share in shares.items()]
            places.sort()
            return asked, [_Found(name, -share, words[name]) for share, _, _, name in places[:most]]

    def _shares(self, asked: Asked, most: int | None) -> dict[str, float]:
        """The share of what was asked for of each tool that may be among the *most*."""
        scores = self._scores(asked.terms, most)
        if asked.exact:
            nearly = _least(scores, most, NEARLY_ENOUGH)
            scores = {name: score for name, score in scores.items() if score >= nearly}
            for text, key, weight in asked.exact:
                there = self._worth[key]
                for name in scores.keys() & self._vocabulary.users(text):
                    scores[name] += there[name] * weight
        full = asked.full
        least = max(LEAST_ASKED * full, _least(scores, most, AS_MUCH))
        scale = GRAINS / full  # `round` takes four times as long
        return {name: int(score * scale + 0.5) / GRAINS for name, score in scores.items() if score >= least}

    def _scores(self, terms: list[tuple[str, float]], most: int | None) -> dict[str, float]:
        """What each tool has of what was asked for; if only some are wanted, only of those that may be among them."""
        lists = [(self._worth[key], weight) for key, weight in terms]
        wanted, looked_up = 0, 0
        for there, _ in lists:
            looked_up += len(there)
            if wanted and looked_up > ENOUGH and most is not None:
                break
            wanted += 1
        scores = _summed(lists[:wanted])
        if len(lists) - wanted > CHOOSING:
            least = _least(scores, most and max(most, CHOSEN), NEARLY)
            scores = {name: score for name, score in scores.items() if score >= least}
            if most is not None and len(scores) > max(most, CROWD):
                ordered = sorted((-score, name in self._foreign, name) for name, score in scores.items())
                scores = {name: -score for score, _, name in ordered[: max(most, CROWD)]}
        for there, weight in lists[wanted:]:
            for name in scores.keys() & there.keys():
                scores[name] += there[name] * weight
        return scores

    def _forget(self, name: str) -> None:
        self._foreign.discard(name)
        self._aliases.pop(name, None)
        _discard(self._worth, self._words.pop(name), name)
        _discard(self._named, self._names.pop(name), name)
        self._vocabulary.remove(name, self._texts.pop(name))


def _discard(where: dict[str, dict[str, Any]], keys: Iterable[str], name: str) -> None:
    for key in keys:
        there = where[key]
        del there[name]
        if not there:
            del where[key]


def _summed(lists: list[tuple[dict[str, float], float]]) -> dict[str, float]:
    """What each tool has in all of *lists*, each counting by its weight."""
    # The longest first: into an empty dictionary they go in half the time.
    (longest, weight), *others = sorted(lists, key=lambda each: -len(each[0])) or [({}, 0.0)]
    scores = {name: worth * weight for name, worth in longest.items()}
    for there, weight in others:
        for name, worth in there.items():
            if name in scores:
                scores[name] += worth * weight
            else:
                scores[name] = worth * weight
    return scores


def _least(scores: dict[str, float], most: int | None, share: float) -> float:
    """What a tool needs, beside the *most* best: this *share* of the last one's score."""
    if most is None or len(scores) <= most:
        return 0.0
    values = scores.values()
    # Sorting a few is quicker than looking for the best of them.
    return (sorted(values)[-most] if len(scores) < FEW else nlargest(most, values)[-1]) * share


def _passing(found: list[_Found]) -> list[_Found]:
    """Those that can stand beside the best."""
    if not found:
        return found
    least = found[0].score * LEAST_BESIDE_BEST
    return [each for each in found if each.score >= least]


def _hits(found: list[_Found], asked: Asked) -> list[Hit]:
    keys, texts = list(asked.shown), list(asked.shown.values())
    is_once = len(set(texts)) == len(texts)
    hits: list[Hit] = []
    for name, score, worth in found:
        words = compress(texts, map(worth.__contains__, keys))
        had = tuple(words if is_once else dict.fromkeys(words))
        # Whoever has the words has the joint of a name; it says something only of whoever has nothing else.
        hits.append(Hit(name, score, had or tuple(text for key, text in asked.joints.items() if key in worth)))
    return hits
