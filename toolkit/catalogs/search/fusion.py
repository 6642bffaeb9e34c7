"""
Two rankings made one.

Scores of two rankers cannot be compared, places can: reciprocal rank fusion. A
tool that both put in front stays there, one that only one of them found is not
lost, and no score, however large, can push the others aside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import SupportsFloat

__all__ = ["Ranker", "fused", "opinion"]

Ranker = Callable[[str, Sequence[str]], Mapping[str, float]]
"""
Somebody else's ranking: `(query, names) -> scores` of any scale, higher is better, for the names that fit.

A name that it leaves out did not fit. One that it was not asked about, and a
score that is not finite, are passed over.
"""

SMOOTHING = 60
"""The customary constant: how little the first places differ from one another."""


def fused(ours: Sequence[str], theirs: Mapping[str, float]) -> dict[str, float]:
    """
    Each name's score from both rankings, 0 to 1; 1 is first in both.

    Args:
        ours: The best first.
        theirs: Scores; equal ones share a place.
    """
    scores = {name: _share(place) for place, name in enumerate(ours)}
    for name, place in _places(theirs).items():
        scores[name] = scores.get(name, 0.0) + _share(place)
    return scores


def opinion(ranker: Ranker, query: str, names: Sequence[str]) -> dict[str, float]:
    """What *ranker* thinks of *names*: only these, and only scores that can be compared. What it raises goes on."""
    try:
        scores = ranker(query, names)
    except Exception as error:
        error.add_note(f"raised by the ranker {_called(ranker)}, which was asked about {len(names):,} tools")
        raise
    if not isinstance(scores, Mapping):
        raise TypeError(
            f"the ranker {_called(ranker)} returned {type(scores).__name__}; "
            "it has to return a mapping of tool names to scores"
        )
    asked = set(names)
    found = {name: _number(ranker, name, score) for name, score in scores.items() if name in asked}
    return {name: score for name, score in found.items() if isfinite(score)}


def _share(place: int) -> float:
    return (SMOOTHING + 1) / (SMOOTHING + 1 + place) / 2


def _places(scores: Mapping[str, float]) -> dict[str, int]:
    places: dict[str, int] = {}
    last, place = float("inf"), 0
    for at, name in enumerate(sorted(scores, key=lambda name: -scores[name])):
        if scores[name] != last:
            last, place = scores[name], at
        places[name] = place
    return places


def _number(ranker: Ranker, name: str, score: SupportsFloat) -> float:
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"the ranker {_called(ranker)} gave `{name}` a score that is no number: {score!r:.80}"
        ) from error


def _called(ranker: Ranker) -> str:
    return getattr(ranker, "__qualname__", None) or type(ranker).__qualname__
