"""A dictionary that does not grow for ever."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from typing import TypeVar

__all__ = ["NewestItems"]

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


class NewestItems(OrderedDict[KeyT, ValueT]):
    """A dictionary of at most *max_items* entries. The entry that was set longest ago makes room for a new one."""

    def __init__(self, max_items: int) -> None:
        super().__init__()
        self._max_items = max_items

    def __setitem__(self, key: KeyT, value: ValueT) -> None:
        super().__setitem__(key, value)
        self.move_to_end(key)
        while len(self) > self._max_items:
            with contextlib.suppress(KeyError):  # another thread may just have removed the last entry
                self.popitem(last=False)
