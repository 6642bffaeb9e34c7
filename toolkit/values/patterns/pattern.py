"""
Search for a pattern with the engine that is sure to finish.

`re` is used if it is affordable. Each pattern has one number for that: the length of the longest affordable text.
Generated code may make that comparison itself.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from .automaton import MAX_STATES, LazyDfa, SearchExhausted, count_states, find_irregular
from .backtracking import longest_affordable
from .syntax_tree import Node, read_tree

__all__ = ["MAX_SOURCE_CHARS", "Pattern", "Undecidable", "compile_pattern"]

MAX_SOURCE_CHARS = 20_000


class Undecidable(ValueError):  # noqa: N818 -- named after what happened, like all our errors
    """No engine can decide in bounded time whether the pattern occurs in this text."""


class Pattern:
    """
    A regular expression in Python's syntax. `compile_pattern` makes it.

    Attributes:
        source: The expression as written.
        fast_limit: The length of the longest text for which `fast_search` may be called.
        fast_search: The search function of `re`, for callers that compare the length themselves:
            `fast_search(text) if len(text) <= fast_limit else pattern.search(text)`.
    """

    __slots__ = ("_automaton", "_tree", "fast_limit", "fast_search", "source")

    def __init__(self, tree: Node, compiled: re.Pattern[str]) -> None:
        self.source = compiled.pattern
        self.fast_limit = longest_affordable(tree, compiled.groups)
        self.fast_search: Callable[[str], re.Match[str] | None] = compiled.search
        self._tree = tree
        # The automaton is built when it is first needed. Most patterns never meet a text that is too long for `re`.
        self._automaton: LazyDfa | None = None

    def __repr__(self) -> str:
        return f"compile_pattern({self.source!r})"

    def search(self, text: str) -> bool:
        """
        Return whether the pattern occurs anywhere in *text*, with the same answer as `re.search`.

        Raises:
            Undecidable: No engine can decide in bounded time.
        """
        if len(text) <= self.fast_limit:
            return self.fast_search(text) is not None
        return self._search_slowly(text)

    def _search_slowly(self, text: str) -> bool:
        if self._automaton is None:
            self._automaton = LazyDfa(self._regular_tree(text))
        try:
            return self._automaton.search(text)
        except SearchExhausted:
            raise self._build_undecidable(
                text, "it keeps too many possibilities open at once; make its repeats shorter"
            ) from None

    def _regular_tree(self, text: str) -> Node:
        if construct := find_irregular(self._tree):
            raise self._build_undecidable(
                text, f"all possibilities would have to be tried, because it has {construct}; do without that"
            )
        if count_states(self._tree) > MAX_STATES:
            raise self._build_undecidable(text, "its repeats, written out, are too long; make them shorter")
        return self._tree

    def _build_undecidable(self, text: str, reason: str) -> Undecidable:
        # A limit of a few characters would not help the reader.
        remedy = f", or keep the text to {self.fast_limit:,} characters" if self.fast_limit > 20 else ""
        return Undecidable(
            f"cannot tell in bounded time whether {_shorten_source(self.source)} occurs in a text of "
            f"{len(text):,} characters: {reason}{remedy}"
        )


# The cache is for callers that get the source with every text, as in `re.compile`. The analysis takes half a
# millisecond.
@functools.lru_cache(maxsize=256)
def compile_pattern(source: str) -> Pattern:
    """
    Read *source*, and find out what a search for it may cost.

    Raises:
        ValueError: *source* is not a regular expression, or it is not of a reasonable size.
    """
    if len(source) > MAX_SOURCE_CHARS:
        raise ValueError(_invalid_message(source, f"it is longer than {MAX_SOURCE_CHARS:,} characters"))
    try:
        # The tree is read first, because it shows whether `re` can compile the source without delay.
        tree = read_tree(source)
        return Pattern(tree, re.compile(source))
    except RecursionError:
        raise ValueError(_invalid_message(source, "its groups are nested too deeply")) from None
    except (re.error, ValueError, OverflowError, MemoryError, Warning) as error:
        # A warning arrives here if warnings are errors. `re` warns of syntax whose meaning may change.
        raise ValueError(_invalid_message(source, str(error))) from error


def _invalid_message(source: str, reason: str) -> str:
    return f"{_shorten_source(source)} is not a regular expression: {reason}"


def _shorten_source(source: str) -> str:
    return repr(source if len(source) <= 80 else source[:79] + "…")
