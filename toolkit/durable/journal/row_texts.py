"""
Texts of the journal: JSON in ASCII, keys of a bounded length, and checksums.

JSON is written with escapes, so that every text of Python can be kept in every database: a NUL, and half of a surrogate
pair. A checksum tells a row that was damaged from a row as it was written. It is no signature: it does not stop a
person who can write to the database.
"""

from __future__ import annotations

import hashlib
import json
import math
import zlib
from collections.abc import Mapping
from typing import Any

from ...values.strictjson.checks import copy_and_check
from ..errors import DurableError

__all__ = [
    "MAX_ID_CHARS",
    "DamagedRowError",
    "check_id",
    "check_number",
    "check_text",
    "compute_checksum",
    "dump_json",
    "escape_text",
    "is_same_json",
    "load_json",
    "shorten_key",
]

MAX_ID_CHARS = 200
"""The most characters of a run's id."""

_MAX_KEY_CHARS = 400
_KEPT_KEY_CHARS = 300

_ENCODER = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


class DamagedRowError(Exception):
    """A row of the database differs from what was written there; the message says which one."""


def check_id(run_id: Any) -> str:
    """Return *run_id* if it can be the id of a run; raise `DurableError` otherwise."""
    if not isinstance(run_id, str) or not run_id:
        raise DurableError(f"the id of a run has to be a text that is not empty, not {run_id!r}", why="id")
    if len(run_id) > MAX_ID_CHARS:
        raise DurableError(
            f"the id {run_id[:40] + '...'!r} has {len(run_id):,} characters; an id has at most {MAX_ID_CHARS}", why="id"
        )
    if not _can_be_stored(run_id):
        raise DurableError(
            f"the id {run_id!r} has a character that no database keeps: a NUL or half of a surrogate pair; "
            "give another id",
            why="id",
        )
    return str(run_id)


def check_text(text: Any, subject: str) -> str:
    """Return *text* if a database can keep it; raise `DurableError` otherwise. *subject* names it in the message."""
    if not isinstance(text, str) or not _can_be_stored(text):
        raise DurableError(
            f"{subject} has to be a text without a NUL and without half of a surrogate pair, not {text!r}", why="value"
        )
    return str(text)


def escape_text(text: str) -> str:
    """Return *text*, which people read, with escapes for what a database cannot keep."""
    return text.replace("\0", "\\0").encode(errors="backslashreplace").decode()


def check_number(number: Any, subject: str) -> float:
    """Return *number* as a float; raise `DurableError` if it is not finite. *subject* names it in the message."""
    if not isinstance(number, (int, float)) or not math.isfinite(number):
        raise DurableError(f"{subject} has to be a finite number, not {number!r}", why="value")
    return float(number) + 0.0  # SQLite keeps no negative zero.


def _can_be_stored(text: str) -> bool:
    if "\0" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shorten_key(key: str) -> str:
    """
    Return the key under which the step *key* is kept: *key* itself, or a text with its digest.

    The ids of calls come from a model. One that is too long for an index, or that no database can keep, is replaced.
    """
    if len(key) <= _MAX_KEY_CHARS and _can_be_stored(key):
        return str(key)
    digest = hashlib.sha256(key.encode(errors="surrogatepass")).hexdigest()
    beginning = key[:_KEPT_KEY_CHARS].replace("\0", "?").encode(errors="replace").decode()
    return f"{beginning}~{digest}"


def dump_json(value: Mapping[str, Any], subject: str) -> str:
    """Return *value* as JSON text in ASCII; raise `DurableError` with the flaws of *subject* if it is not JSON."""
    try:
        text = _ENCODER.encode(dict(value))
        _check_keys(value)  # The encoder has refused a circle, which would have no end here.
    except (TypeError, ValueError, RecursionError) as error:
        _, problems = copy_and_check(value)
        flaws = "; ".join(map(str, problems)) or str(error)
        raise DurableError(f"{subject} is not JSON: {flaws}", why="value") from None
    return text


def _check_keys(value: Any) -> None:
    """Raise `TypeError` for a key that is no text. The encoder of Python would make a text of it."""
    waiting = [value]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Mapping):
            for key in part:
                if not isinstance(key, str):
                    raise TypeError(f"the key {key!r} is not a text")
            part = part.values()
        waiting += [item for item in part if isinstance(item, (dict, list, tuple))]


def load_json(text: Any, subject: str) -> Any:
    """Return the object that *text* states; raise `DamagedRowError` that names *subject* if it states none."""
    try:
        value = json.loads(text)
    except (TypeError, ValueError, RecursionError) as error:
        raise DamagedRowError(f"{subject} cannot be read: {error}") from None
    if not isinstance(value, dict):
        raise DamagedRowError(f"{subject} is no object")
    return value


def is_same_json(value: Any, other: Any) -> bool:
    """Return whether two values have the same JSON, but for the order of the keys."""
    return json.dumps(value, sort_keys=True) == json.dumps(other, sort_keys=True)


def compute_checksum(*fields: object) -> int:
    """Return a checksum of *fields*, in which a text, a number and None differ from each other."""
    checksum = 0
    for field in fields:
        text = f"{len(field)}:{field}" if isinstance(field, str) else f"{field!r};"
        checksum = zlib.crc32(text.encode(errors="surrogatepass"), checksum)
    return checksum
