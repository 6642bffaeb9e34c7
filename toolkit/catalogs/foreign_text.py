"""
The one door for what a server or a document says: free text is cleaned, and names and values are checked.

Characters that a person does not see are removed from free text, because a model would read them. So are marks that
pose as a message of the system or of the provider. What a text says in plain words stays: the program decides whether
it trusts a server. A name or a value is sent back as it is, so one with such characters or marks is refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import Any

from ..errors import DefinitionError
from ..values.schemas.drafts import LATEST
from ..values.schemas.vocabulary import ANNOTATION_KEYWORDS, KEYWORDS_WITH_MAPPING, SUBSCHEMA_KEYWORDS

__all__ = ["clean_schema", "clean_text", "explain_address", "explain_name", "is_clean", "is_plain_link"]

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that a person does not see: controls, marks of direction, fillers, tags."""

_HIDDEN_CATEGORIES = frozenset(["Cf", "Co", "Cs", "Zl", "Zp"])
"""The categories of Unicode whose characters have no form of their own, or one that only some fonts know."""

_MARKS = re.compile(
    r"<\|[^|<>]{1,40}\|>|\[/?INST\]|<</?SYS>>|"
    r"<\s*+/?\s*+(?:important|critical|instructions?|secret|hidden|invoke|(?:start|end)_of_turn|"
    r"(?:system|assistant|developer|human|user)(?:_(?:prompt|message|reminder|instructions?|turn))?|"
    r"antml:[a-z_]{1,60}|function_(?:calls?|results?)|tool_(?:use|results?|calls?))\b[^<>]*+>",
    re.IGNORECASE,
)
"""
Marks that models know from their training, by which a text could pose as a message of the system.

A mark ends with `>` or `]`. The character that opens it stands in it only at its start.
"""

_MAX_MARK_CHARS = 200
"""The characters of a mark that is removed as one. A text with a longer one loses every character that opens a mark."""

_PIECES = re.compile(r"[^>\]]*[>\]]|[^>\]]+")

_TEXT_KEYWORDS = frozenset(["description", "title", "$comment"])
_KNOWN_KEYWORDS = (LATEST.keywords | SUBSCHEMA_KEYWORDS | ANNOTATION_KEYWORDS).union(
    ["$anchor", "$dynamicAnchor", "$id", "$schema", "contentEncoding", "contentMediaType", "format"]
)
"""The keywords that have a meaning in draft 2020-12, or had one in an older draft."""

_MAX_SCHEMA_TEXT_CHARS = 2000
_MAX_NAME_CHARS = 256
_MAX_ADDRESS_CHARS = 8192
_UNCLEAN = "has hidden characters, or poses as a message of the system"


def clean_text(text: str, max_chars: int) -> str:
    """Return foreign *text* without hidden characters, marks of the system and long gaps, cut to *max_chars*."""
    # The text is cut first, so that a text of any length takes little time.
    visible = _remove_hidden(text[: 4 * max_chars].replace("\r\n", "\n").replace("\r", "\n"))
    short = _shorten_gaps(visible)
    plain = short if short.isascii() else _shorten_gaps(_remove_hidden(unicodedata.normalize("NFKC", short)))
    if _MARKS.search(plain):  # also one in letters of another width
        short = _shorten_gaps(_remove_marks(plain))
        if _MARKS.search(short):  # it has more characters than are looked back at
            short = _shorten_gaps(re.sub(r"[<>\[\]]", "", short))
    is_whole = len(short) <= max_chars and len(text) <= 4 * max_chars
    return short if is_whole else f"{short[: max_chars - 4].rstrip()} ..."


def is_clean(text: str) -> bool:
    """Return whether *text* has neither hidden characters nor marks of the system, so it can be used as it is."""
    plain = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return _remove_hidden(text) == text and not _MARKS.search(plain)


def explain_name(name: str, max_chars: int = _MAX_NAME_CHARS) -> str | None:
    """Return why a foreign *name* cannot be used; None if it can."""
    if len(name) > max_chars:
        return f"has {len(name):,} characters; at most {max_chars:,} are taken"
    return None if is_clean(name) and "\n" not in name and "\t" not in name else _UNCLEAN


def explain_address(address: str) -> str | None:
    """Return why a foreign *address* or media type cannot be used; None if it can."""
    return explain_name(address, _MAX_ADDRESS_CHARS)


_LINK = re.compile(r"https?://(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?(?:[/?#][^\s\\]*)?", re.IGNORECASE)


def is_plain_link(address: str) -> bool:
    """
    Return whether a person who reads a foreign *address* sees where it leads, so that the person may be asked to open
    it.

    A name before an `@`, or letters of another alphabet, would make the host look like another one.
    """
    return explain_address(address) is None and _LINK.fullmatch(address) is not None


def _shorten_gaps(text: str) -> str:
    return re.sub(r"[ \t]{3,}", "  ", re.sub(r"\n{3,}", "\n\n", text)).strip()


def _remove_hidden(text: str) -> str:
    visible = _HIDDEN.sub("", text)
    if visible.isascii():
        return visible
    return "".join(letter for letter in visible if unicodedata.category(letter) not in _HIDDEN_CATEGORIES)


def _remove_marks(text: str) -> str:
    """
    Return *text* without marks, also those that appear when another mark is removed.

    The time grows with the length of the text alone: the text is read once, and each end of a mark looks back once.
    """
    if not _MARKS.search(text):
        return text
    kept: list[str] = []  # single characters; no part of them is a mark
    for piece in _PIECES.findall(text):
        kept.extend(piece)
        del kept[len(kept) - _measure_last_mark("".join(kept[-_MAX_MARK_CHARS:])) :]
    return "".join(kept)


def _measure_last_mark(text: str) -> int:
    """Return the length of the mark that *text* ends with; 0 if it ends with none."""
    start = text.rfind("[" if text.endswith("]") else "<")
    for position in (start - 1, start):  # `<<SYS>>` opens with two characters
        if position >= 0 and _MARKS.fullmatch(text, position):
            return len(text) - position
    return 0


def clean_schema(schema: Any, place: str = "") -> Any:
    """
    Return a copy of a foreign *schema* with clean texts, and without the keywords that draft 2020-12 does not know.

    Raises:
        DefinitionError: A name or a value in it is not clean. The message gives its place.
        RecursionError: The schema is nested too deeply.
    """
    if isinstance(schema, list):  # older drafts have a list of schemas under `items`
        return [clean_schema(item, f"{place}/{index}") for index, item in enumerate(schema)]
    if not isinstance(schema, Mapping):
        _check_data(schema, place)
        return schema
    return {
        keyword: _clean_keyword(keyword, value, f"{place}/{keyword}")
        for keyword, value in schema.items()
        if keyword in _KNOWN_KEYWORDS
    }


def _clean_keyword(keyword: str, value: Any, place: str) -> Any:
    if keyword in _TEXT_KEYWORDS and isinstance(value, str):
        return clean_text(value, _MAX_SCHEMA_TEXT_CHARS)
    if keyword in KEYWORDS_WITH_MAPPING and isinstance(value, Mapping):
        for name in value:
            _check_name(name, place)
        return {name: clean_schema(item, f"{place}/{name}") for name, item in value.items()}
    if keyword in SUBSCHEMA_KEYWORDS:
        return clean_schema(value, place)
    _check_data(value, place)
    return value


def _check_data(value: Any, place: str) -> None:
    """Raise `DefinitionError` unless all texts in *value* are clean."""
    if isinstance(value, str):
        if not is_clean(value):
            raise DefinitionError(f"the value at {place or '/'} of its schema {_UNCLEAN}: {value!a:.80}")
    elif isinstance(value, Mapping):
        for name, item in value.items():
            _check_name(name, place)
            _check_data(item, f"{place}/{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            _check_data(item, f"{place}/{index}")


def _check_name(name: str, place: str) -> None:
    if problem := explain_name(name):
        raise DefinitionError(f"a name at {place} of its schema {problem}: {name!a:.80}")
