"""
The families of words: a verb and the nouns that are made from it.

A stem joins the forms of one word: `file`, `files`, `filed`. The root of a family joins different words for one action:
`register` and `registration`, `pay` and `payment`. A root is only a key; it need not be a word.
"""

from __future__ import annotations

from functools import lru_cache

from .words import stem

__all__ = ["find_root"]


@lru_cache(maxsize=1 << 13)
def find_root(word: str) -> str:
    """Return the root of the family of *word*, which is in lower case. Most words are alone: their root is the stem."""
    root = stem(word)
    if not root.isascii():
        return root
    for _ in range(_MAX_ENDINGS):
        if not root.endswith(_ENDING_TEXTS):
            break
        root = _remove_ending(root)
    return root[:-1] + "i" if root.endswith("y") else root  # as in a stem: `deployment` has the root of `deploy`


def _remove_ending(root: str) -> str:
    for ending, replacement, least in _ENDINGS:
        if root.endswith(ending) and len(root) - len(ending) + len(replacement) >= least:
            return root[: len(root) - len(ending)] + replacement
    return root


_MAX_ENDINGS = 3
"""The most endings of one word: `categorization` has three, by the table below."""

_ENDINGS = (
    ("payment", "pai", 3),
    ("submission", "submit", 6),
    ("version", "vert", 6),  # conversion, convert; but `version` is a word of its own
    ("scription", "scrib", 7),  # subscription, subscribe
    ("ificat", "ifi", 5),  # notification, notify
    ("plicat", "pli", 5),  # application, apply
    ("alysis", "alyz", 5),
    ("alytic", "alyz", 5),
    ("alys", "alyz", 5),
    ("ariz", "ari", 6),  # summarize, summary
    ("oriz", "ori", 6),  # categorize, category
    ("ement", "", 4),  # management, manage
    ("ment", "", 4),  # shipment, ship
    ("val", "v", 5),  # removal, remove
    ("strat", "st", 5),  # registration, register
    ("llat", "l", 5),  # cancellation, cancel
    ("at", "", 5),  # recommendation, recommend
    ("ion", "", 5),  # deletion, delete
    ("is", "iz", 6),  # optimise, optimize
)
"""The endings of stems, the longest first: the ending, its replacement, and the number of letters that must remain."""

_ENDING_TEXTS = tuple(ending for ending, _, _ in _ENDINGS)
