"""
Regular expressions that cannot stall the process.

`re` backtracks, and holds the interpreter while it does. Here every pattern
gets an upper bound of what `re` could cost on a text of a given length; within
it `re` answers, beyond it an automaton whose time is linear in the text. Both
give the same answer. Where neither can tell, `Undecidable` is raised.

    tree.py → cost.py → nfa.py → linear.py → pattern.py
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .pattern import Pattern, Undecidable

__all__ = ["Pattern", "Undecidable", "compile_pattern"]


def compile_pattern(source: str) -> Pattern:
    """*source*, ready to be searched for; `ValueError` if it is not a regular expression. Remembered."""
    from .pattern import compile_pattern as compiled  # the engines are loaded with the first pattern

    return compiled(source)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(".pattern", __name__), name)
