"""
The combination of two rankings into one.

The scores of two rankers cannot be compared, but the places in their rankings can: this is reciprocal rank fusion. A
tool that both rankers put first stays first. A tool that only one of them found is not lost. No score, however large,
can push the other tools aside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import SupportsFloat

__all__ = ["Ranker", "fuse_rankings", "score_with_ranker"]

Ranker = Callable[[str, Sequence[str]], Mapping[str, float]]
"""
A caller's own ranking function: `(query, names) -> scores` for the names that fit. The scores may have any scale;
higher is better.

A name that the result leaves out does not fit. A name that was not in *names*, and a score that is not finite, are
ignored.
"""

SMOOTHING = 60
"""The usual constant of reciprocal rank fusion. A larger number makes the first places differ less from one another."""


def fuse_rankings(ours: Sequence[str], theirs: Mapping[str, float]) -> dict[str, float]:
    """
    Return the score of each name from both rankings, 0 to 1. A name that is first in both has score 1.

    Args:
        ours: The names in the ranking of the index, the best first.
        theirs: The scores from the caller's ranker. Names with equal scores share a place.
    """
    scores = {name: _score_of_place(place) for place, name in enumerate(ours)}
    for name, place in _places(theirs).items():
        scores[name] = scores.get(name, 0.0) + _score_of_place(place)
    return scores


def score_with_ranker(ranker: Ranker, query: str, names: Sequence[str]) -> dict[str, float]:
    """
    Return the scores that *ranker* gives to *names*.

    Other names, and scores that are not finite, are left out. An error that the ranker raises is passed on with a note.

    Raises:
        TypeError: The ranker returned no mapping, or a score that is not a number.
    """
    try:
        scores = ranker(query, names)
    except Exception as error:
        error.add_note(f"raised by the ranker {_ranker_name(ranker)}, which was asked about {len(names):,} tools")
        raise
    if not isinstance(scores, Mapping):
        raise TypeError(
            f"the ranker {_ranker_name(ranker)} returned {type(scores).__name__}; "
            "it has to return a mapping of tool names to scores"
        )
    offered_names = set(names)
    numbers = {name: _to_float(ranker, name, score) for name, score in scores.items() if name in offered_names}
    return {name: score for name, score in numbers.items() if isfinite(score)}


def _score_of_place(place: int) -> float:
    return (SMOOTHING + 1) / (SMOOTHING + 1 + place) / 2


def _places(scores: Mapping[str, float]) -> dict[str, int]:
    places: dict[str, int] = {}
    last_score, place = float("inf"), 0
    for index, name in enumerate(sorted(scores, key=lambda name: -scores[name])):
        if scores[name] != last_score:
            last_score, place = scores[name], index
        places[name] = place
    return places


def _to_float(ranker: Ranker, name: str, score: SupportsFloat) -> float:
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"the ranker {_ranker_name(ranker)} gave `{name}` a score that is no number: {score!r:.80}"
        ) from error


def _ranker_name(ranker: Ranker) -> str:
    return getattr(ranker, "__qualname__", None) or type(ranker).__qualname__
