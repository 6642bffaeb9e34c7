"""
The combination of two rankings into one.

The scores of each ranking are scaled so that its best tool has 1, and then added with their weights. A tool that is
best in both has score 1. A tool that only one of them found is not lost. No score, however large, can push the other
ranking aside.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import SupportsFloat

__all__ = ["Ranker", "blend_of", "blend_scores", "score_with_ranker"]

Ranker = Callable[[str, Sequence[str]], Mapping[str, float]]
"""
A caller's own ranking function: `(query, names) -> scores` for the names that fit. The scores may have any scale;
higher is better.

A name that the result leaves out does not fit. A name that was not in *names*, and a score that is not finite, are
ignored.
"""

BLEND = 0.4
"""The weight of a ranker's scores, from 0 to 1, if the ranker has no number of its own as its attribute `blend`."""


def blend_scores(ours: Mapping[str, float], theirs: Mapping[str, float], blend: float) -> dict[str, float]:
    """Return the score of each name from both rankings, 0 to 1. The scores of *theirs* have the weight *blend*."""
    scores = {name: (1 - blend) * score for name, score in _scale(ours).items()}
    for name, score in _scale(theirs).items():
        scores[name] = scores.get(name, 0.0) + blend * score
    return scores


def blend_of(ranker: Ranker) -> float:
    """
    Return the weight of the scores of *ranker*.

    Raises:
        ValueError: Its attribute `blend` is not a number from 0 to 1.
    """
    blend = getattr(ranker, "blend", BLEND)
    if not isinstance(blend, int | float) or not 0 <= blend <= 1:
        raise ValueError(f"the ranker {_ranker_name(ranker)}: blend has to be a number from 0 to 1, got {blend!r:.40}")
    return float(blend)


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


def _scale(scores: Mapping[str, float]) -> dict[str, float]:
    """Return *scores* between 0 and 1. The best score becomes 1; 0 stays 0, unless there are scores below it."""
    if not scores:
        return {}
    highest, lowest = max(scores.values()), min(0.0, *scores.values())
    if highest == lowest:
        return dict.fromkeys(scores, 1.0)
    # The halves keep the difference of two very large numbers finite.
    span = highest / 2 - lowest / 2
    return {name: (score / 2 - lowest / 2) / span for name, score in scores.items()}


def _to_float(ranker: Ranker, name: str, score: SupportsFloat) -> float:
    try:
        return float(score)
    except (TypeError, ValueError, OverflowError) as error:
        raise TypeError(
            f"the ranker {_ranker_name(ranker)} gave `{name}` a score that is no number: {score!r:.80}"
        ) from error


def _ranker_name(ranker: Ranker) -> str:
    return getattr(ranker, "__qualname__", None) or type(ranker).__qualname__
