"""
One tool as the search sees it: its texts, and the weight of each of its words.

A word has more weight in a more important field, more in a short field than in a long one, and less at its second
occurrence than at its first (BM25F). The length of a field is compared with the usual length of that field, not with
the other tools. So a tool's weights never change when other tools are added or removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import NamedTuple

from .words import RunReading, normalise_name, read_run, split_runs

__all__ = ["Document", "IndexEntry", "read_document"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """
    The texts of one tool that can be searched.

    Attributes:
        name: The name under which the tool is found.
        aliases: The tool's other names.
        group: The group of the tool, such as the service that it is for. A query that names it means such tools.
        hint: Words by which the tool's author wants it to be found.
        description: A text that says what the tool does.
        parameters: The names of the parameters.
        texts: The descriptions of the parameters and the values that they may have.
        is_imported: Whether the tool was imported. At equal scores, an imported tool comes after one that was not
            imported.
    """

    name: str
    aliases: tuple[str, ...] = ()
    group: str = ""
    hint: str = ""
    description: str = ""
    parameters: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    is_imported: bool = False


class IndexEntry(NamedTuple):
    """
    A document after its words were read.

    Attributes:
        worth: The weight of each stem in the document, 0 to 1.
        phrases: The stems of the name, the hint and the description in their order, with a space around each.
        texts: The document's words as they are spelt, each once.
        names: The document's name and aliases in the form in which names are compared.
        group: The stems of the document's group.
    """

    worth: dict[str, float]
    phrases: str
    texts: tuple[str, ...]
    names: tuple[str, ...]
    group: tuple[str, ...]


class DocumentField(NamedTuple):
    """
    A field of a document.

    Attributes:
        weight: The weight of a word in this field.
        usual_words: The usual number of words in this field.
        is_phrase: Whether neighbouring words count as pairs.
        min_words: The smallest number of words that the field is counted with.
    """

    weight: float
    usual_words: int
    is_phrase: bool
    min_words: int = 1


NAME = DocumentField(3.0, 4, True)
GROUP = DocumentField(3.0, 4, False, min_words=4)
HINT = DocumentField(1.5, 6, True, min_words=6)  # a hint of one word, a category, says no more than a word among six
DESCRIPTION = DocumentField(1.1, 16, True)
PARAMETERS = DocumentField(0.7, 6, False)
TEXTS = DocumentField(0.4, 40, False)

LENGTH_IMPORTANCE = 0.9
"""How much the length of a field matters: 0 is not at all, 1 is in proportion to the length."""

SATURATION = 2.2
"""The sum of weights at which a word reaches half of its greatest possible worth."""


def read_document(document: Document) -> IndexEntry:
    """Return the entry for *document*, with the weight of each word."""
    names = (document.name, *document.aliases)
    fields = (
        (NAME, "\n".join(names)),
        (GROUP, document.group),
        (HINT, document.hint),
        (DESCRIPTION, document.description),
        (PARAMETERS, "\n".join(document.parameters)),
        (TEXTS, "\n".join(document.texts)),
    )
    sums: dict[str, float] = {}
    get = sums.get
    phrases: list[str] = []
    all_readings: list[RunReading] = []
    # Maps and chains are faster than loops. This code takes most of the time of building an index.
    for (weight, usual, is_phrase, least), text in fields:
        if not text:
            continue
        readings: list[RunReading] = list(filter(None, map(read_run, split_runs(text))))
        all_readings += readings
        stems = list(chain.from_iterable(map(_get_stems, readings)))
        if is_phrase:
            phrases.append(" ".join(stems))
        word_weight = weight / (1 - LENGTH_IMPORTANCE + LENGTH_IMPORTANCE * max(len(stems), least) / usual)
        stems += filter(None, map(_get_whole, readings))
        for stem in stems:
            sums[stem] = get(stem, 0.0) + word_weight
    worth = {stem: _ROUNDED_WORTHS[int(WORTH_STEPS * total / (SATURATION + total))] for stem, total in sums.items()}
    texts = tuple(dict.fromkeys(chain.from_iterable(map(_get_texts, all_readings))))
    spellings = tuple(dict.fromkeys(map(normalise_name, names)))
    group = tuple(chain.from_iterable(map(_get_stems, filter(None, map(read_run, split_runs(document.group))))))
    return IndexEntry(worth, f" {' | '.join(phrases)} ", texts, spellings, group)


WORTH_STEPS = 250
_ROUNDED_WORTHS = [step / WORTH_STEPS for step in range(WORTH_STEPS + 1)]

_get_texts, _get_stems, _get_whole = map(itemgetter, range(3))
