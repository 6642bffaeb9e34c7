"""
Parse a docstring into prose, parameters and the description of the result.

docstring-parser reads the parameters, in the styles of Google, NumPy, Sphinx and epydoc. It is imported at the first
docstring that needs it; a section in the style of Google with one line for each parameter does not. Parsing never
raises, for any text: a docstring that cannot be read is prose. Its time is linear in the length of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from .._lazy_names import lazy_pattern
from .._plumbing.records import record
from .markup import clean, collapse_gaps, join_lines
from .sections import find_sections, has_sections, read_simple_entries

if TYPE_CHECKING:
    import docstring_parser

__all__ = ["MAX_CHARACTERS", "Docstring", "parse", "words"]

# The longest docstring in numpy, scipy and transformers has 42,000 characters. A longer text is data, not a docstring.
MAX_CHARACTERS = 200_000
_MAX_CUT_CHARACTERS = 1_000
_WORD_EDGE = lazy_pattern(r"[\W_]++|(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z](?!s(?![a-z]))[a-z])")


Parsers = Mapping[str, Callable[[str], "docstring_parser.Docstring"]]


@record(frozen=True, slots=True)
class Docstring:
    """
    A parsed docstring.

    Attributes:
        description: The summary and paragraphs as written, without the sections.
        parameters: The text for each parameter, attribute or field. A text is never empty.
        returns: The text of the returns or yields section, or an empty string.
        raises: Each exception that the docstring names, with the text about it.
        is_too_long: Whether the text is longer than a docstring can be. Then only the beginning of it is here.
    """

    description: str
    parameters: Mapping[str, str]
    returns: str
    raises: tuple[str, ...] = ()
    is_too_long: bool = False


def parse(text: str | None, *, parsers: Callable[[], Parsers] | None = None) -> Docstring:
    """
    Parse *text*. A value that is not a string gives an empty `Docstring`.

    Args:
        text: The docstring.
        parsers: Returns the parser of each style; docstring-parser by default.
    """
    if not isinstance(text, str):
        return Docstring("", {}, "")
    if len(text) > MAX_CHARACTERS:
        return Docstring(_cut(clean(text[:MAX_CHARACTERS])), {}, "", is_too_long=True)
    text = clean(text)
    if not has_sections(text):
        return Docstring(text, {}, "")
    sections = find_sections(text)
    entries = sections.parameters
    if sections.pages:
        try:
            for style, page in sections.pages:
                if style == "simple":
                    entries += read_simple_entries(page)
                else:
                    entries += _read_entries((parsers or docstring_parsers)()[style]("\n" + page))
        except Exception:  # noqa: BLE001 -- the parser is not ours, and the text may be anything
            return Docstring(text, {}, "")
    parameters: dict[str, str] = {}
    for name, entry in entries:
        if entry:
            parameters.setdefault(name, entry)
    return Docstring(collapse_gaps("\n".join(sections.prose)), parameters, sections.returns, tuple(sections.raises))


def _cut(text: str) -> str:
    """Return the first paragraph of *text*, or its beginning if even that is too long for a description."""
    paragraph = text.partition("\n\n")[0]
    return paragraph if len(paragraph) <= _MAX_CUT_CHARACTERS else f"{paragraph[: _MAX_CUT_CHARACTERS - 3]}..."


@cache
def docstring_parsers() -> Parsers:
    """Import docstring-parser, and return its parser of each style."""
    from docstring_parser import google, numpydoc, rest

    # A parser that knows one title takes two thirds of the time of one that knows all.
    args = google.Section("Args", "param", google.SectionType.MULTIPLE)
    parameters = numpydoc.ParamSection("Parameters", "param")
    return {
        "google": google.GoogleParser([args]).parse,
        "numpy": numpydoc.NumpydocParser([parameters]).parse,  # type: ignore[arg-type]  # wrong annotation there
        "sphinx": rest.parse,
    }


def words(name: str) -> str:
    """Spell an identifier as a phrase: `getHTTPStatus` becomes "Get HTTP status"."""
    parts = _WORD_EDGE.sub(" ", name).split()
    # Two capital letters mark an acronym, unless the whole name is in capital letters.
    is_all_capitals = len(parts) > 1 and name.isupper()
    phrase = " ".join(
        part.lower() if is_all_capitals or len(part) < 2 or not part[:2].isupper() else part for part in parts
    )
    return phrase[:1].upper() + phrase[1:]


def _read_entries(page: docstring_parser.Docstring) -> Iterator[tuple[str, str]]:
    for item in page.params:
        text = item.description or ""
        text = join_lines("\n" + text) if "\n" in text else text.strip()
        for name in item.arg_name.split(","):
            bare = name.strip(" *`\\")
            if bare.isidentifier():
                yield bare, text
