"""
Remember decoded values while the arguments of one call are decoded.

A union tries its members in turn. If records contain themselves, each member decodes the inner values again, so the
work doubles at every level. For this reason, the value that a recursive record decoded is kept until all arguments are
decoded.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["memoize_decode", "use_decode_cache"]


class _DecodeCache(threading.local):
    results: dict[tuple[int, int], tuple[bool, Any]] | None = None


_CACHE = _DecodeCache()


@contextmanager
def use_decode_cache() -> Iterator[None]:
    """Keep the results of `memoize_decode` functions, by the identity of the JSON value, until the end of the block."""
    outer = _CACHE.results
    _CACHE.results = {}
    try:
        yield
    finally:
        _CACHE.results = outer


def memoize_decode(decode: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Wrap *decode* so that it decodes each array and object only once inside a `use_decode_cache` block."""

    def decode_once(value: Any) -> Any:
        results = _CACHE.results
        if results is None or not isinstance(value, (dict, list)):
            return decode(value)
        place = id(decode), id(value)
        if place not in results:
            try:
                results[place] = True, decode(value)
            except Exception as error:  # noqa: BLE001 -- a constructor may raise anything; it would raise it again
                results[place] = False, error
        fine, result = results[place]
        if fine:
            return result
        raise result.with_traceback(None)

    return decode_once
