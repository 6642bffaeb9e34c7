"""
The ids of calls: each its own in a batch, and sent back as the provider gave it.

A server may give two calls of one turn the same id. The dispatcher runs the
second as `t1~repeat-2`, so that approvals, hooks and results can tell the calls
apart. A format writes `t1` again, because the message that the results answer has
no other id.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

__all__ = ["sent_id", "unique_ids"]

_REPEAT = re.compile(r"~repeat-[0-9]+\Z")


def unique_ids(ids: Sequence[str]) -> list[str]:
    """Return *ids* with a number added to each that stands before it already; an empty one stays empty."""
    taken = set(ids)
    seen: set[str] = set()
    numbered: list[str] = []
    for call_id in ids:
        if call_id and call_id in seen:
            call_id = _numbered(call_id, taken)  # noqa: PLW2901 -- the id that counts from here on
            taken.add(call_id)
        seen.add(call_id)
        numbered.append(call_id)
    return numbered


def sent_id(call_id: str) -> str:
    """Return the id that the provider gave, for one that `unique_ids` may have numbered."""
    return _REPEAT.sub("", call_id)


def _numbered(call_id: str, taken: Iterable[str]) -> str:
    number = 2
    while (name := f"{call_id}~repeat-{number}") in taken:
        number += 1
    return name
