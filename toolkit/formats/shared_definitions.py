"""
Definitions that a catalog keeps and gives to every caller that asks for them.

A caller may change the definitions that it gets, so each caller needs copies of its own. A thousand copies take 0.1 ms,
and a caller may only want to know whether the definitions have changed, so the copies are made when they are needed.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

from .._plumbing.forks import unlock_in_children
from .base import Definitions, WireObject

__all__ = ["SharedDefinitions"]

# A lock that its own thread may take again, because a copy may start the garbage collector, which may run any code.
_lock = unlock_in_children(threading.RLock())


class SharedDefinitions(Definitions):
    """
    Definitions that are shared until the caller reads one of them or adds to the list.

    Then the list gets copies of the definitions, and is a `Definitions` from there on.
    """

    def __radd__(self, other: list[WireObject]) -> list[WireObject]:
        return other + list(self)


def _copy_first(method: Callable[..., Any]) -> Callable[..., Any]:
    """Return a method that copies the definitions of its list and then does what *method* does."""

    def copy_and_call(definitions: Definitions, *args: Any, **options: Any) -> Any:
        with _lock:  # two threads must not get different copies of one definition
            if type(definitions) is SharedDefinitions:
                list.__setitem__(definitions, slice(None), list(map(dict.copy, list.__iter__(definitions))))
                cast("Any", definitions).__class__ = Definitions
        return method(definitions, *args, **options)

    return copy_and_call


# The methods of a list that give or take one of its items. The others compare, count or remove.
for _name in (
    *("__add__", "__getitem__", "__iadd__", "__imul__", "__iter__", "__mul__", "__reduce_ex__", "__reversed__"),
    *("__rmul__", "__setitem__", "append", "copy", "extend", "insert", "pop", "sort"),
):
    setattr(SharedDefinitions, _name, _copy_first(getattr(list, _name)))
