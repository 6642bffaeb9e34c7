"""
The ids of calls: each id is unique in a batch, and is sent back as the provider gave it.

A server may give two calls of one turn the same id. The dispatcher runs the second call as `t1~repeat-2`, so that
approvals, hooks and results can tell the calls apart. A format sends `t1` again, because the message that the results
answer has no other id.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from .._lazy_names import lazy_pattern

__all__ = ["sent_id", "unique_ids"]

_REPEAT = lazy_pattern(r"~repeat-[0-9]+\Z")


def unique_ids(ids: Sequence[str]) -> list[str]:
    """Return *ids* with a number added to each id that occurred before. An empty id stays empty."""
    used_ids = set(ids)
    earlier_ids: set[str] = set()
    numbers: dict[str, Iterator[int]] = {}
    numbered: list[str] = []
    for call_id in ids:
        if call_id and call_id in earlier_ids:
            # The counter of each id continues where it stopped, because a server may repeat one id thousands of times.
            counter = numbers.setdefault(call_id, itertools.count(2))
            names = (f"{call_id}~repeat-{number}" for number in counter)
            call_id = next(name for name in names if name not in used_ids)  # noqa: PLW2901 -- this id is used from here on
            used_ids.add(call_id)
        earlier_ids.add(call_id)
        numbered.append(call_id)
    return numbered


def sent_id(call_id: str) -> str:
    """Return the id that the provider gave, without the number that `unique_ids` may have added."""
    return _REPEAT.sub("", call_id)
