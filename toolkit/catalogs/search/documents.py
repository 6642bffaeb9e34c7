"""
One tool, as it is searched: its texts, and what each of its words is worth.

A word is worth more in a weightier field, more in a short field than in a long
one, and the second time less than the first (BM25F). Lengths are measured
against what is usual for a field, not against the other tools, so that a tool's
worth never changes when others come and go.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain, pairwise
from operator import itemgetter
from typing import NamedTuple

from .words import Reading, read, runs, spelt

__all__ = ["Document", "Entry", "read_document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """
    What can be searched of one tool.

    Attributes:
        name: Under which it is found.
        aliases: Other names.
        hint: Words by which its author wants it found.
        description: What it does.
        parameters: Their names.
        texts: Their descriptions and the values they may have.
        foreign: Whether it was imported; such a tool loses a tie to one that was not.
    """

    name: str
    aliases: tuple[str, ...] = ()
    hint: str = ""
    description: str = ""
    parameters: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    foreign: bool = False


class Entry(NamedTuple):
    """
    A document, read.

    Attributes:
        document: What was read.
        worth: What each stem is worth in it, 0 to 1; a pair of neighbouring stems 1.
        texts: Its words as they are spelt, each once.
        names: Its name and aliases as they are compared.
    """

    document: Document
    worth: dict[str, float]
    texts: tuple[str, ...]
    names: tuple[str, ...]


class Field(NamedTuple):
    """
    A field of a tool.

    Attributes:
        weight: What a word in it weighs.
        usual: How many words it usually has.
        is_paired: Whether neighbours count as pairs.
        least: How many words it is counted with, at least.
    """

    weight: float
    usual: int
    is_paired: bool
    least: int = 1


NAME = Field(3.0, 4, True)
HINT = Field(1.5, 6, True, least=6)  # the one word of a category says no more than any of six
DESCRIPTION = Field(1.1, 16, True)
PARAMETERS = Field(0.7, 6, False)
TEXTS = Field(0.4, 40, False)

LENGTH = 0.9
"""How much the length of a field matters: 0 not at all, 1 in proportion."""

SATURATION = 2.2
"""The sum at which a word reaches half of what it can be worth."""


def read_document(document: Document) -> Entry:
    """*document*, its words weighed."""
    names = (document.name, *document.aliases)
    fields = (
        (NAME, "\n".join(names)),
        (HINT, document.hint),
        (DESCRIPTION, document.description),
        (PARAMETERS, "\n".join(document.parameters)),
        (TEXTS, "\n".join(document.texts)),
    )
    sums: dict[str, float] = {}
    get = sums.get
    pairs: list[str] = []
    seen: list[Reading] = []
    # Maps and chains instead of loops: this is most of what building an index costs.
    for (weight, usual, is_paired, least), text in fields:
        if not text:
            continue
        readings: list[Reading] = list(filter(None, map(read, runs(text))))
        seen += readings
        stems = list(chain.from_iterable(map(_STEMS, readings)))
        if is_paired:
            pairs += map(" ".join, pairwise(stems))
        each = weight / (1 - LENGTH + LENGTH * max(len(stems), least) / usual)
        stems += filter(None, map(_WHOLE, readings))
        for stem in stems:
            sums[stem] = get(stem, 0.0) + each
    worth = {stem: _STEPS[int(STEPS * total / (SATURATION + total))] for stem, total in sums.items()}
    worth.update(dict.fromkeys(pairs, 1.0))
    texts = tuple(dict.fromkeys(chain.from_iterable(map(_TEXTS, seen))))
    return Entry(document, worth, texts, tuple(dict.fromkeys(map(spelt, names))))


STEPS = 250
_STEPS = [step / STEPS for step in range(STEPS + 1)]

_TEXTS, _STEMS, _WHOLE = map(itemgetter, range(3))
