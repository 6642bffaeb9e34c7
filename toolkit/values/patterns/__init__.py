"""
Search with regular expressions that cannot stall the process.

`re` backtracks, and it blocks the interpreter while it does. For every pattern this package computes an upper bound of
what `re` could cost on a text of a given length. Within a fixed limit, `re` searches the text. Beyond it, an automaton
does, whose time is linear in the length of the text. Both give the same answer. If neither can decide, the search
raises `Undecidable`.

    syntax_tree.py → backtracking.py → automaton.py → pattern.py
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ..._lazy_names import lazy_getattr as _lazy_getattr

if TYPE_CHECKING:
    from .pattern import Pattern, Undecidable

__all__ = ["Pattern", "Undecidable", "compile_pattern"]

__getattr__ = _lazy_getattr(__name__, {"Pattern": "pattern", "Undecidable": "pattern"})


def compile_pattern(source: str) -> Pattern:
    """
    Compile *source* for searching, and remember the result.

    Raises:
        ValueError: *source* is not a regular expression.
    """
    from .pattern import compile_pattern as compiled  # the engines are loaded with the first pattern

    return compiled(source)
