"""
Search with regular expressions that cannot stall the process.

`re` backtracks, and it blocks the interpreter while it does. For every pattern this package computes an upper bound of
what `re` could cost on a text of a given length. Within a fixed limit, `re` searches the text. Beyond it, an automaton
does, whose time is linear in the length of the text. Both give the same answer. If neither can decide, the search
raises `Undecidable`.

    syntax_tree.py → backtracking.py → nfa.py → automaton.py → pattern.py
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .pattern import Pattern, Undecidable

__all__ = ["Pattern", "Undecidable", "compile_pattern"]


def compile_pattern(source: str) -> Pattern:
    """
    Compile *source* for searching, and remember the result.

    Raises:
        ValueError: *source* is not a regular expression.
    """
    from .pattern import compile_pattern as compiled  # the engines are loaded with the first pattern

    return compiled(source)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(".pattern", __name__), name)
