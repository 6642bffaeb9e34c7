"""
One tool as the search sees it: its texts, and the weight of each of its words.

A word has more weight in a more important field, more in a short field than in a long one, and less at its second
occurrence than at its first (BM25F). The length of a field is compared with the usual length of that field, not with
the other tools. So a tool's weights never change when other tools are added or removed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

__all__ = ["FIELDS", "GROUP", "Document", "list_texts", "sum_to_worth", "weigh_word"]


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


FIELDS = (NAME, GROUP, HINT, DESCRIPTION, PARAMETERS, TEXTS)

WORTH_STEPS = 250
_WORTHS = [step / WORTH_STEPS for step in range(WORTH_STEPS + 1)]
_UNIT = 1 << 32
"""Weights are added as whole multiples of 1 / `_UNIT`, so that their sum does not depend on their order."""


def list_texts(document: Document) -> tuple[str, ...]:
    """Return the text of each of `FIELDS` in *document*."""
    return (
        "\n".join((document.name, *document.aliases)),
        document.group,
        document.hint,
        document.description,
        "\n".join(document.parameters),
        "\n".join(document.texts),
    )


@lru_cache(maxsize=1 << 10)
def weigh_word(field: DocumentField, word_count: int) -> int:
    """Return the weight of one word in *field* if the field has *word_count* words."""
    weight, usual, _, least = field
    return round(_UNIT * weight / (1 - LENGTH_IMPORTANCE + LENGTH_IMPORTANCE * max(word_count, least) / usual))


@lru_cache(maxsize=1 << 13)
def sum_to_worth(total: int) -> float:
    """Return the worth, 0 to 1, of a word whose occurrences in a tool have weights of this *total*."""
    return _WORTHS[WORTH_STEPS * total // (int(SATURATION * _UNIT) + total)]
