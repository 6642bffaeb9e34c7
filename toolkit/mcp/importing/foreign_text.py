"""
Cleans the texts that a server sends before a model or a person reads them.

Characters that a person does not see are removed, because a model would read them. So are marks that pose as a message
of the system or of the provider. What a text says in plain words stays: the program decides whether it trusts a server.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...values.schemas.vocabulary import map_subschemas

__all__ = ["clean_description", "clean_schema", "clean_text"]

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
"""Characters that a person does not see: controls, marks of direction, fillers, tags."""

_MARKS = re.compile(
    r"<\|[^|<>]{1,40}\|>|\[/?INST\]|<</?SYS>>|"
    r"</?(?:important|critical|system|system[-_ ]reminder|instructions?|assistant|developer|human|user|secret|hidden|"
    r"antml:[a-z_]{1,60}|function_calls?|function_results?|invoke|tool_use|tool_result|tool_call)\b[^<>]{0,100}>",
    re.IGNORECASE,
)
"""
Marks that models know from their training, by which a text could pose as a message of the system.

A mark ends with `>` or `]`. The character that opens it stands in it only at its start.
"""

_MAX_MARK_CHARS = 200
_PIECES = re.compile(r"[^>\]]*[>\]]|[^>\]]+")

_TEXT_KEYWORDS = frozenset({"description", "title", "$comment"})
_MAX_SCHEMA_TEXT_CHARS = 2000


def clean_text(text: str, max_chars: int) -> str:
    """Return foreign *text* without hidden characters and without long gaps, cut to *max_chars*."""
    # The text is cut first, so that a text of any length takes little time.
    visible = _HIDDEN.sub("", text[: 4 * max_chars].replace("\r\n", "\n").replace("\r", "\n"))
    short = re.sub(r"[ \t]{3,}", "  ", re.sub(r"\n{3,}", "\n\n", visible)).strip()
    return short if len(short) <= max_chars else f"{short[: max_chars - 4].rstrip()} ..."


def clean_description(text: str, max_chars: int) -> str:
    """Return foreign *text* as `clean_text` does, and without marks that pose as a message of the system."""
    return _remove_marks(clean_text(text, max_chars)).strip()


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


def clean_schema(schema: Any) -> Any:
    """
    Return a copy of a foreign *schema* whose descriptions and titles are clean. The values that it allows stay.

    Raises:
        RecursionError: The schema is nested too deeply.
    """
    if isinstance(schema, list):  # older drafts have a list of schemas under `items`
        return [clean_schema(item) for item in schema]
    if not isinstance(schema, Mapping):
        return schema
    own = {
        keyword: clean_description(value, _MAX_SCHEMA_TEXT_CHARS)
        if keyword in _TEXT_KEYWORDS and isinstance(value, str)
        else value
        for keyword, value in schema.items()
    }
    definitions = own.get("definitions")
    if isinstance(definitions, Mapping):  # the older name of `$defs`
        own["definitions"] = {name: clean_schema(item) for name, item in definitions.items()}
    try:
        cleaned = map_subschemas(own, clean_schema)
    except TypeError:
        return own
    # If the value of a keyword is of another type, it stays, and the check of the schema will say so.
    return {
        keyword: value if isinstance(value, list) is isinstance(own[keyword], list) else own[keyword]
        for keyword, value in cleaned.items()
    }
